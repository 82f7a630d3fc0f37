//! The outline of a file: its planes and the positions of their parts. Only
//! tags and lengths are read here, so this costs little even for large files.
//!
//! ```text
//! XSpace  1 planes · 2 errors · 3 warnings · 4 hostnames
//! XPlane  1 id · 2 name · 3 lines · 4 event metadata · 5 stat metadata · 6 stats
//! ```
//!
//! Files get damaged: a full disk truncates them, or a tool replaces text without updating the enclosing lengths. A
//! plane with inconsistent lengths is read as far as possible; reading resumes at the next place that looks like the
//! start of a plane.

use std::ops::Range;

use importer_common::names;
use importer_common::prelude::*;
use trace_model::ImportLog;
use trace_model::wire::{BrokenMessage, WireCursor, WireValue};

use super::tables::map_entry;

/// The last field of `XSpace`, and a number above those that later versions will usually have.
const LAST: u32 = 4;
const USUAL: u32 = 64;
/// How often reading resumes after damage. This bounds the work on hostile files.
const MAX_RESUMED: usize = 100;

/// Maximum number of planes; the rest of a hostile file is left out.
const MAX_PLANES: usize = 1 << 14;

/// A part of a file that the importer reads. Bytes between these parts are damaged and not read.
#[derive(Debug)]
pub struct SpaceElement {
    /// Number of its field in `XSpace`; 1 is a plane.
    pub field: u32,
    /// All of it that is read, its tag and length included.
    pub whole: Range<usize>,
    /// Its content. Of a damaged plane, the fields before the damage.
    pub content: Range<usize>,
    /// The content of a line (field 3 of a plane) that is cut off by the damage; it ends where `whole` does.
    pub cut_line: Option<Range<usize>>,
}

/// Visits what the importer reads of a file, in the order of the file.
pub fn visit_xplane_elements(file: &[u8], mut visit: impl FnMut(SpaceElement)) {
    RawSpace::read_visiting(file, &mut ImportLog::default(), &mut visit);
}

/// Bytes of the events of devices in a file, and of all others.
pub(super) fn event_bytes(file: &[u8]) -> [u64; 2] {
    use names::PlaneKind::{Chip, Custom, Gpu, SparseCore, TensorCore};
    let space = RawSpace::read(file, &mut ImportLog::default());
    let is_of_device = |plane: &&RawPlane| {
        let kind = names::plane_kind(&plane.name);
        matches!(
            kind,
            TensorCore { .. } | SparseCore { .. } | Gpu { .. } | Chip | Custom
        )
    };
    let events = |plane: &RawPlane| {
        plane
            .lines
            .iter()
            .map(|line| line.len() as u64)
            .sum::<u64>()
    };
    let (devices, others): (Vec<_>, Vec<_>) = space.planes.iter().partition(is_of_device);
    [devices, others].map(|planes| planes.into_iter().map(events).sum())
}

/// The outline of a file.
#[derive(Debug, Default)]
pub(super) struct RawSpace {
    pub planes: Vec<RawPlane>,
    pub errors: Vec<Range<usize>>,
    pub warnings: Vec<Range<usize>>,
    pub hostnames: Vec<Range<usize>>,
    /// Position and kind of the first damage.
    pub broken: Option<BrokenMessage>,
}

/// The parts of a plane; chunks of one plane are joined. Planes of one name whose ids mean different things, as in
/// files that were concatenated, are not.
#[derive(Debug, Default)]
pub(super) struct RawPlane {
    pub name: String,
    /// Where each chunk of it begins in the file.
    pub starts: Vec<usize>,
    pub lines: Vec<Range<usize>>,
    pub event_metadata: Vec<Range<usize>>,
    pub stat_metadata: Vec<Range<usize>>,
    pub stats: Vec<Range<usize>>,
    /// Whether the file ends inside it: lines, or the names of its events, may be missing.
    pub is_cut: bool,
}

impl RawPlane {
    fn is_empty(&self) -> bool {
        self.lines.is_empty()
            && self.event_metadata.is_empty()
            && self.stat_metadata.is_empty()
            && self.stats.is_empty()
    }

    fn absorb(&mut self, other: Self) {
        self.starts.extend(other.starts);
        self.lines.extend(other.lines);
        self.event_metadata.extend(other.event_metadata);
        self.stat_metadata.extend(other.stat_metadata);
        self.stats.extend(other.stats);
        self.is_cut |= other.is_cut;
    }
}

impl RawSpace {
    /// Reads the outline of `file`; damage is logged.
    pub fn read(file: &[u8], log: &mut ImportLog) -> Self {
        Self::read_visiting(file, log, &mut |_| {})
    }

    fn read_visiting(
        file: &[u8],
        log: &mut ImportLog,
        visit: &mut dyn FnMut(SpaceElement),
    ) -> Self {
        let mut reader = SpaceReader {
            file,
            log,
            visit,
            space: Self::default(),
            by_name: HashMap::new(),
            meanings: HashMap::new(),
            resumed: 0,
        };
        let mut position = 0;
        while position < file.len() {
            position = reader.element(position);
        }
        reader.space
    }

    /// Whether there is anything to import: content, or a complete file without content.
    pub fn is_usable(&self) -> bool {
        let says_something =
            !(self.planes.is_empty() && self.hostnames.is_empty() && self.errors.is_empty());
        self.planes.iter().any(|plane| !plane.is_empty())
            || (says_something && self.broken.is_none())
    }
}

/// Reads one element after the other.
struct SpaceReader<'a> {
    file: &'a [u8],
    log: &'a mut ImportLog,
    visit: &'a mut dyn FnMut(SpaceElement),
    space: RawSpace,
    /// The last plane of each name.
    by_name: HashMap<String, usize>,
    /// The metadata of planes whose name was repeated.
    meanings: HashMap<usize, PlaneMeanings>,
    resumed: usize,
}

/// The messages of the ids of a plane.
#[derive(Default)]
struct PlaneMeanings {
    events: HashMap<u64, Range<usize>>,
    stats: HashMap<u64, Range<usize>>,
}

impl PlaneMeanings {
    fn add(&mut self, file: &[u8], plane: &RawPlane) {
        let entries = |entries: &[Range<usize>]| -> Vec<_> {
            entries
                .iter()
                .filter_map(|entry| map_entry(file, entry.clone()).ok())
                .collect()
        };
        self.events.extend(entries(&plane.event_metadata));
        self.stats.extend(entries(&plane.stat_metadata));
    }

    /// Whether no id means something else in `plane`.
    fn agree(&self, file: &[u8], plane: &RawPlane) -> bool {
        let agree = |known: &HashMap<u64, Range<usize>>, entries: &[Range<usize>]| {
            entries
                .iter()
                .filter_map(|entry| map_entry(file, entry.clone()).ok())
                .all(|(id, message)| {
                    known
                        .get(&id)
                        .is_none_or(|before| file.get(before.clone()) == file.get(message))
                })
        };
        agree(&self.stats, &plane.stat_metadata) && agree(&self.events, &plane.event_metadata)
    }
}

impl SpaceReader<'_> {
    /// Reads the element at `position` and returns where the next one starts.
    fn element(&mut self, position: usize) -> usize {
        let end = self.file.len();
        match element(self.file, position) {
            Ok((1, range)) => self.plane(position, range),
            Ok((number, range)) if range.end <= end => {
                let next = range.end;
                let (whole, content) = (position..next, range.clone());
                (self.visit)(SpaceElement {
                    field: number,
                    whole,
                    content,
                    cut_line: None,
                });
                match number {
                    2 => self.space.errors.push(range),
                    3 => self.space.warnings.push(range),
                    4 => self.space.hostnames.push(range),
                    _ => {}
                }
                next
            }
            Ok(_) => {
                self.log
                    .add(IssueKind::TruncatedFile, || format!("byte {end}"));
                self.space.broken.get_or_insert(BrokenMessage {
                    at: end,
                    why: "the file ends inside a string",
                });
                end
            }
            Err(broken) => {
                let next = self.resume(position);
                let what = || broken.to_string();
                match next {
                    Some(next) => self.log.add_skipped(next - position, what),
                    None => self.log.add(IssueKind::TruncatedFile, what),
                }
                self.space.broken.get_or_insert(broken);
                next.unwrap_or(end)
            }
        }
    }

    /// Reads the plane at `range`, which may reach past the end of the file. Its tag is at `position`.
    fn plane(&mut self, position: usize, range: Range<usize>) -> usize {
        let end = self.file.len();
        let mut read = PlaneFields::read(self.file, range.start..range.end.min(end));
        let (name, broken) = (read.plane.name.clone(), read.broken);
        let next = broken.and_then(|_| self.resume(range.start));
        match (broken, next) {
            (Some(broken), Some(next)) => {
                // What reaches past the next plane is left out, except a line, which is truncated there.
                read = PlaneFields::read(self.file, range.start..next);
                let rest = next.saturating_sub(read.whole_end());
                self.log.add_skipped(rest, || {
                    format!("plane {name:?}, {broken}; reading continues at byte {next}")
                });
            }
            _ if range.end > end => {
                self.log.add(IssueKind::TruncatedFile, || {
                    format!("in plane {name:?}, byte {end}")
                });
                self.space.broken.get_or_insert(BrokenMessage {
                    at: end,
                    why: "the file ends inside a plane",
                });
            }
            (Some(broken), None) => {
                let rest = range.end.saturating_sub(read.whole_end());
                self.log.add_skipped(rest, || {
                    format!("plane {name:?}, {broken}; rest of it skipped")
                });
            }
            (None, _) => {}
        }
        if let Some(broken) = broken {
            self.space.broken.get_or_insert(broken);
        }
        let whole = position..read.whole_end();
        let (content, cut_line) = (range.start..read.end, read.cut_line);
        (self.visit)(SpaceElement {
            field: 1,
            whole,
            content,
            cut_line,
        });
        read.plane.starts.push(position);
        read.plane.is_cut = range.end > end && next.is_none();
        self.add(read.plane);
        next.unwrap_or(range.end)
    }

    /// Where reading continues after damage at `from`; `None` if no plane follows.
    fn resume(&mut self, from: usize) -> Option<usize> {
        if self.resumed >= MAX_RESUMED {
            return None;
        }
        self.resumed += 1;
        next_plane(self.file, from)
    }

    fn add(&mut self, plane: RawPlane) {
        if plane.name.is_empty() && plane.is_empty() {
            return;
        }
        let same_name = self.by_name.get(&plane.name).copied();
        if let Some((index, first)) =
            same_name.and_then(|index| Some((index, self.space.planes.get_mut(index)?)))
        {
            self.log.add(IssueKind::ChunksMerged, || {
                format!("plane {:?}", plane.name)
            });
            let meanings = self.meanings.entry(index).or_insert_with(|| {
                let mut meanings = PlaneMeanings::default();
                meanings.add(self.file, first);
                meanings
            });
            if meanings.agree(self.file, &plane) {
                meanings.add(self.file, &plane);
                first.absorb(plane);
                return;
            }
        }
        if self.space.planes.len() >= MAX_PLANES {
            self.log.add(IssueKind::MalformedEvent, || {
                format!("plane {:?}: too many planes", plane.name)
            });
        } else {
            self.by_name
                .insert(plane.name.clone(), self.space.planes.len());
            self.space.planes.push(plane);
        }
    }
}

/// Number and content of the field at `position`; the content of a top-level field may extend past the end of the file.
fn element(file: &[u8], position: usize) -> Result<(u32, Range<usize>), BrokenMessage> {
    let mut cursor = WireCursor::new(file, position..file.len());
    let tag = cursor.varint()?;
    if tag & 7 == 2 && (1..=4).contains(&(tag >> 3)) {
        let len = cursor.varint()?;
        let start = cursor.position();
        let end = usize::try_from(len)
            .ok()
            .and_then(|len| start.checked_add(len));
        let end = end.ok_or(BrokenMessage {
            at: position,
            why: "a length larger than any file",
        })?;
        return Ok(((tag >> 3) as u32, start..end));
    }
    let mut cursor = WireCursor::new(file, position..file.len());
    let number = cursor.next()?.map_or(0, |(number, _)| number);
    let next = cursor.position();
    // Fields of later versions are skipped. Damage looks like a field, too, but rarely like one with another behind it.
    if number > LAST && (number < USUAL || next == file.len() || begins_element(file, next, number))
    {
        Ok((number, position..next))
    } else {
        Err(BrokenMessage {
            at: position,
            why: "no plane",
        })
    }
}

/// Whether a usual element begins here, or another one of this number.
fn begins_element(file: &[u8], position: usize, number: u32) -> bool {
    let mut cursor = WireCursor::new(file, position..file.len());
    let field = cursor.varint().map_or(0, |tag| tag >> 3);
    (1..u64::from(USUAL)).contains(&field) || field == u64::from(number)
}

/// What can be read of a plane.
#[derive(Default)]
struct PlaneFields {
    plane: RawPlane,
    /// Where its valid fields end.
    end: usize,
    cut_line: Option<Range<usize>>,
    broken: Option<BrokenMessage>,
}

impl PlaneFields {
    /// Where what is read of it ends.
    fn whole_end(&self) -> usize {
        let cut_line = self.cut_line.as_ref();
        cut_line.map_or(self.end, |line| line.end)
    }

    /// The parts of the plane at `range`, as far as they are valid.
    fn read(file: &[u8], range: Range<usize>) -> Self {
        let mut fields = Self {
            end: range.end,
            ..Self::default()
        };
        let plane = &mut fields.plane;
        let end = range.end;
        let mut cursor = WireCursor::new(file, range);
        loop {
            let position = cursor.position();
            match cursor.next() {
                Ok(None) => return fields,
                Ok(Some((number, WireValue::Bytes(range)))) => match number {
                    2 => {
                        plane.name = String::from_utf8_lossy(file.get(range).unwrap_or_default())
                            .into_owned();
                    }
                    3 => plane.lines.push(range),
                    4 => plane.event_metadata.push(range),
                    5 => plane.stat_metadata.push(range),
                    6 => plane.stats.push(range),
                    _ => {}
                },
                Ok(Some((2..=6, _))) => {
                    fields.end = position;
                    fields.broken = Some(BrokenMessage {
                        at: position,
                        why: "a number where a part of a plane is expected",
                    });
                    return fields;
                }
                Ok(Some(_)) => {}
                Err(broken) => {
                    let mut rest = WireCursor::new(file, position..end);
                    if rest.varint() == Ok(3 << 3 | 2) && rest.varint().is_ok() {
                        fields.cut_line = Some(rest.position()..end);
                        plane.lines.push(rest.position()..end);
                    }
                    fields.end = position;
                    fields.broken = Some(broken);
                    return fields;
                }
            }
        }
    }
}

/// The first place after `from` that looks like the beginning of a plane.
fn next_plane(file: &[u8], from: usize) -> Option<usize> {
    let rest = file.get(from..)?;
    memchr::memchr_iter(1 << 3 | 2, rest)
        .map(|i| from + i)
        .find(|&position| begins_plane(file, position))
}

fn begins_plane(file: &[u8], position: usize) -> bool {
    let name = || -> Option<Range<usize>> {
        let mut cursor = WireCursor::new(file, position + 1..file.len());
        cursor.varint().ok()?;
        match cursor.next().ok()?? {
            (1, WireValue::Varint(_)) => match cursor.next().ok()?? {
                (2, WireValue::Bytes(range)) => Some(range),
                _ => None,
            },
            (2, WireValue::Bytes(range)) => Some(range),
            _ => None,
        }
    };
    name()
        .and_then(|range| file.get(range))
        .is_some_and(names::is_plane_name)
}
