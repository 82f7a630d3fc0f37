//! The outline of a file: which planes it has and where their parts lie. Only
//! tags and lengths are read here, so this costs little even for large files.
//!
//! ```text
//! XSpace  1 planes · 2 errors · 3 warnings · 4 hostnames
//! XPlane  1 id · 2 name · 3 lines · 4 event metadata · 5 stat metadata · 6 stats
//! ```
//!
//! Files get damaged on their way: cut off by a full disk, or edited by a tool
//! that replaces text without mending the lengths around it. A plane whose parts
//! do not add up is read as far as it goes; reading resumes at the next place
//! that looks like the beginning of a plane.

use std::ops::Range;

use hashbrown::HashMap;
use trace_model::{ImportLog, IssueKind};

use super::wire::{Broken, Cursor, Value};
use crate::names;

/// How often reading resumes after damage: bounds the work on hostile files.
const MAX_RESUMED: usize = 100;

/// What a file consists of.
#[derive(Debug, Default)]
pub(super) struct Space {
    pub(super) planes: Vec<Plane>,
    pub(super) errors: Vec<Range<usize>>,
    pub(super) warnings: Vec<Range<usize>>,
    pub(super) hostnames: Vec<Range<usize>>,
    /// The first place where something was wrong.
    pub(super) broken: Option<Broken>,
}

/// The parts of a plane; a plane that came in chunks is one.
#[derive(Debug, Default)]
pub(super) struct Plane {
    pub(super) name: String,
    pub(super) lines: Vec<Range<usize>>,
    pub(super) event_metadata: Vec<Range<usize>>,
    pub(super) stat_metadata: Vec<Range<usize>>,
    pub(super) stats: Vec<Range<usize>>,
}

impl Plane {
    fn is_empty(&self) -> bool {
        self.lines.is_empty()
            && self.event_metadata.is_empty()
            && self.stat_metadata.is_empty()
            && self.stats.is_empty()
    }

    fn absorb(&mut self, other: Self) {
        self.lines.extend(other.lines);
        self.event_metadata.extend(other.event_metadata);
        self.stat_metadata.extend(other.stat_metadata);
        self.stats.extend(other.stats);
    }

    /// Forgets what reaches past `end`, except a line, which is cut there.
    fn cut_off(&mut self, end: usize) {
        for part in [&mut self.event_metadata, &mut self.stat_metadata, &mut self.stats] {
            part.retain(|range| range.end <= end);
        }
        self.lines.retain(|range| range.start < end);
        for line in &mut self.lines {
            line.end = line.end.min(end);
        }
    }
}

impl Space {
    /// Reads the outline of `file`. What is damaged goes to `log`.
    pub(super) fn read(file: &[u8], log: &mut ImportLog) -> Self {
        let mut space = Self::default();
        let mut by_name: HashMap<String, usize> = HashMap::new();
        let (mut at, mut resumed) = (0, 0);
        while at < file.len() {
            let element = element(file, at);
            let broken = match element {
                Ok((1, range)) => {
                    let cut = range.end > file.len();
                    let (mut plane, broken) = plane(file, range.start..range.end.min(file.len()));
                    let next = broken.and_then(|_| next_plane(file, range.start)).filter(|_| resumed < MAX_RESUMED);
                    if let Some(next) = next {
                        plane.cut_off(next);
                    }
                    let name = plane.name.clone();
                    space.add(plane, &mut by_name, log);
                    at = next.unwrap_or(range.end);
                    resumed += usize::from(next.is_some());
                    match (broken, next) {
                        (None, _) if !cut => continue,
                        (Some(broken), Some(next)) => {
                            log.add(IssueKind::MalformedEvent, || {
                                format!("plane {name:?}, byte {}: {}; read on at byte {next}", broken.at, broken.why)
                            });
                            broken
                        }
                        (broken, _) if cut => {
                            log.add(IssueKind::TruncatedFile, || format!("in plane {name:?}, byte {}", file.len()));
                            broken.unwrap_or(Broken { at: file.len(), why: "the file ends inside a plane" })
                        }
                        (broken, _) => {
                            let broken = broken.unwrap_or(Broken { at, why: "damage" });
                            log.add(IssueKind::MalformedEvent, || {
                                format!("plane {name:?}, byte {}: {}; rest of it skipped", broken.at, broken.why)
                            });
                            broken
                        }
                    }
                }
                Ok((number, range)) if range.end <= file.len() => {
                    at = range.end;
                    match number {
                        2 => space.errors.push(range),
                        3 => space.warnings.push(range),
                        4 => space.hostnames.push(range),
                        _ => {}
                    }
                    continue;
                }
                Ok(_) => {
                    log.add(IssueKind::TruncatedFile, || format!("byte {}", file.len()));
                    at = file.len();
                    Broken { at, why: "the file ends inside a text" }
                }
                Err(broken) => {
                    let next = next_plane(file, at).filter(|_| resumed < MAX_RESUMED);
                    resumed += 1;
                    at = next.unwrap_or(file.len());
                    let kind = if next.is_some() { IssueKind::MalformedEvent } else { IssueKind::TruncatedFile };
                    log.add(kind, || format!("byte {}: {}", broken.at, broken.why));
                    broken
                }
            };
            space.broken.get_or_insert(broken);
        }
        space
    }

    fn add(&mut self, plane: Plane, by_name: &mut HashMap<String, usize>, log: &mut ImportLog) {
        if plane.name.is_empty() && plane.is_empty() {
            return;
        }
        match by_name.get(&plane.name).and_then(|&at| self.planes.get_mut(at)) {
            Some(first) => {
                log.add(IssueKind::ChunksMerged, || format!("plane {:?}", plane.name));
                first.absorb(plane);
            }
            None => {
                by_name.insert(plane.name.clone(), self.planes.len());
                self.planes.push(plane);
            }
        }
    }

    /// Whether there is anything to import.
    pub(super) fn is_usable(&self) -> bool {
        self.planes.iter().any(|plane| !plane.is_empty()) || !self.hostnames.is_empty() || !self.errors.is_empty()
    }
}

/// Number and content of the field at `at` of the file; the content of a field
/// of the space may reach past the end of the file.
fn element(file: &[u8], at: usize) -> Result<(u32, Range<usize>), Broken> {
    let mut cursor = Cursor::new(file, at..file.len());
    let tag = cursor.varint()?;
    if tag & 7 == 2 && (1..=4).contains(&(tag >> 3)) {
        let len = cursor.varint()?;
        let start = cursor.position();
        let end = usize::try_from(len).ok().and_then(|len| start.checked_add(len));
        let end = end.ok_or(Broken { at, why: "a length beyond any file" })?;
        return Ok(((tag >> 3) as u32, start..end));
    }
    let mut cursor = Cursor::new(file, at..file.len());
    let number = cursor.next()?.map_or(0, |(number, _)| number);
    // Unknown fields of later versions are small; larger numbers are damage.
    if (5..64).contains(&number) { Ok((number, at..cursor.position())) } else { Err(Broken { at, why: "no plane" }) }
}

/// The parts of the plane at `range`, as far as they can be told apart.
fn plane(file: &[u8], range: Range<usize>) -> (Plane, Option<Broken>) {
    let mut plane = Plane::default();
    let end = range.end;
    let mut cursor = Cursor::new(file, range);
    loop {
        let at = cursor.position();
        match cursor.next() {
            Ok(None) => return (plane, None),
            Ok(Some((number, Value::Bytes(range)))) => match number {
                2 => plane.name = String::from_utf8_lossy(file.get(range).unwrap_or_default()).into_owned(),
                3 => plane.lines.push(range),
                4 => plane.event_metadata.push(range),
                5 => plane.stat_metadata.push(range),
                6 => plane.stats.push(range),
                _ => {}
            },
            Ok(Some((2..=6, _))) => return (plane, Some(Broken { at, why: "a part of a plane that is a number" })),
            Ok(Some(_)) => {}
            Err(broken) => {
                let mut rest = Cursor::new(file, at..end);
                if rest.varint() == Ok(3 << 3 | 2) && rest.varint().is_ok() {
                    plane.lines.push(rest.position()..end);
                }
                return (plane, Some(broken));
            }
        }
    }
}

/// The first place after `from` that looks like the beginning of a plane.
fn next_plane(file: &[u8], from: usize) -> Option<usize> {
    let rest = file.get(from..)?;
    memchr::memchr_iter(1 << 3 | 2, rest).map(|i| from + i).find(|&at| begins_plane(file, at))
}

fn begins_plane(file: &[u8], at: usize) -> bool {
    let name = || -> Option<Range<usize>> {
        let mut cursor = Cursor::new(file, at + 1..file.len());
        cursor.varint().ok()?;
        match cursor.next().ok()?? {
            (1, Value::Varint(_)) => match cursor.next().ok()?? {
                (2, Value::Bytes(range)) => Some(range),
                _ => None,
            },
            (2, Value::Bytes(range)) => Some(range),
            _ => None,
        }
    };
    name().and_then(|range| file.get(range)).is_some_and(names::is_plane_name)
}
