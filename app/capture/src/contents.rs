//! What a received profile holds, without importing it: enough to say whether it is worth keeping.

use std::ops::Range;

use trace_model::wire::{BrokenMessage, WireCursor, WireValue};

/// What is in a serialized `XSpace`.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ProfileContents {
    /// Names of devices with at least one event, in the order of the file.
    pub devices: Vec<String>,
    /// Whether any plane has an event.
    pub has_events: bool,
    /// Name of the machine, as its profiler knows it.
    pub hostname: Option<String>,
    /// The process that was recorded, where the profiler says so.
    pub process: Option<i64>,
    /// Start of the recording by the clock of its machine, in nanoseconds since the Unix epoch; `None` where the profiler
    /// does not say it.
    pub started_unix_ns: Option<i64>,
    /// What the profiler reports as gone wrong.
    pub errors: Vec<String>,
    /// Whether a part of it is no `XSpace`, or is cut: then it may hold more than this.
    pub is_damaged: bool,
}

impl ProfileContents {
    /// Reads the outline of a profile. Damage ends the reading; the importer says where it is when the file is opened.
    pub fn of(profile: &[u8]) -> Self {
        let mut contents = Self::default();
        let text = |range: Range<usize>| String::from_utf8_lossy(&profile[range]).into_owned();
        let mut are_planes_whole = true;
        let read = fields(profile, 0..profile.len(), |number, range| match number {
            1 => {
                let plane = Plane::of(profile, range);
                are_planes_whole &= plane.is_whole;
                contents.has_events |= plane.has_events;
                contents.process = contents.process.or(plane.process);
                contents.started_unix_ns = contents.started_unix_ns.or(plane.started_unix_ns);
                if plane.has_events && plane.is_device() {
                    contents.devices.push(plane.name);
                }
            }
            2 => contents.errors.push(text(range)),
            4 if contents.hostname.is_none() => {
                contents.hostname = Some(text(range)).filter(|name| !name.is_empty());
            }
            _ => {}
        });
        contents.is_damaged = read.is_err() || !are_planes_whole;
        contents
    }
}

/// The part of an `XPlane` that is needed here.
#[derive(Default)]
struct Plane {
    name: String,
    has_events: bool,
    process: Option<i64>,
    started_unix_ns: Option<i64>,
    is_whole: bool,
}

/// The stats of planes that are read here.
const PROCESS: &[u8] = b"process_id";
const STARTED: &[u8] = b"profile_start_time";

impl Plane {
    fn of(profile: &[u8], range: Range<usize>) -> Self {
        let mut plane = Self::default();
        let (mut stats, mut ids) = (Vec::new(), [None; 2]);
        let read = fields(profile, range, |number, range| match number {
            2 => plane.name = String::from_utf8_lossy(&profile[range]).into_owned(),
            // Lines, whose field 4 holds events.
            3 => plane.has_events |= !plane.has_events && has_field(profile, range, 4),
            5 => {
                for (id, name) in ids.iter_mut().zip([PROCESS, STARTED]) {
                    *id = id.or_else(|| named(profile, range.clone(), name));
                }
            }
            6 => stats.push(range),
            _ => {}
        });
        let [process, started] = ids.map(|id| {
            let mut stats = stats.iter().cloned();
            stats.find_map(|range| number_of_stat(profile, range, id?))
        });
        plane.is_whole = read.is_ok();
        (plane.process, plane.started_unix_ns) = (process, started);
        plane
    }

    /// Whether it is a device, and not the host or what a program recorded of itself.
    fn is_device(&self) -> bool {
        self.name.starts_with("/device:") && !self.name.starts_with("/device:CUSTOM:")
    }
}

/// The id of a stat's metadata (an entry of the map `stat_metadata`) if it has this name.
fn named(profile: &[u8], entry: Range<usize>, name: &[u8]) -> Option<u64> {
    let (mut id, mut is_named) = (None, false);
    let mut cursor = WireCursor::new(profile, entry);
    while let Ok(Some(field)) = cursor.next() {
        match field {
            (1, WireValue::Varint(key)) => id = Some(key),
            (2, WireValue::Bytes(metadata)) => {
                let _ = fields(profile, metadata, |number, range| {
                    is_named |= number == 2 && &profile[range] == name;
                });
            }
            _ => {}
        }
    }
    id.filter(|_| is_named)
}

/// The integer of an `XStat` if its metadata has this id.
fn number_of_stat(profile: &[u8], stat: Range<usize>, wanted: u64) -> Option<i64> {
    let (mut id, mut value) = (None, None);
    let mut cursor = WireCursor::new(profile, stat);
    while let Ok(Some((number, WireValue::Varint(field)))) = cursor.next() {
        match number {
            1 => id = Some(field),
            3 | 4 => value = Some(field as i64),
            _ => {}
        }
    }
    value.filter(|_| id == Some(wanted))
}

fn has_field(profile: &[u8], range: Range<usize>, wanted: u32) -> bool {
    let mut cursor = WireCursor::new(profile, range);
    while let Ok(Some((number, _))) = cursor.next() {
        if number == wanted {
            return true;
        }
    }
    false
}

/// Calls `f` for each field that holds bytes.
fn fields(
    profile: &[u8],
    range: Range<usize>,
    mut f: impl FnMut(u32, Range<usize>),
) -> Result<(), BrokenMessage> {
    let mut cursor = WireCursor::new(profile, range);
    while let Some((number, value)) = cursor.next()? {
        if let WireValue::Bytes(range) = value {
            f(number, range);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sample_traces::write::ProtoMessage;

    use super::*;

    fn plane(name: &str, events: usize, process: Option<u64>) -> impl Fn(&mut ProtoMessage) {
        move |plane| {
            plane.text(2, name);
            plane.message(3, |line| {
                line.text(2, "line");
                (0..events).for_each(|_| line.bytes(4, b"\x08\x01"));
            });
            let Some(process) = process else { return };
            plane.message(5, |entry| {
                entry.uint(1, 7);
                entry.message(2, |metadata| {
                    metadata.uint(1, 7);
                    metadata.text(2, "process_id");
                });
            });
            plane.message(6, |stat| {
                stat.uint(1, 7);
                stat.uint(4, process);
            });
        }
    }

    fn space(planes: &[impl Fn(&mut ProtoMessage)]) -> Vec<u8> {
        let mut space = ProtoMessage::default();
        for plane in planes {
            space.message(1, plane);
        }
        space.text(2, "a tracer failed");
        space.text(4, "worker0");
        space.into_bytes()
    }

    #[test]
    fn devices_are_planes_of_devices_with_events() {
        let of = |planes: &[(&str, usize)]| {
            let planes: Vec<_> = planes
                .iter()
                .map(|&(name, events)| plane(name, events, None))
                .collect();
            let contents = ProfileContents::of(&space(&planes));
            (contents.devices.len(), contents.has_events)
        };
        assert_eq!(of(&[("/host:CPU", 3)]), (0, true));
        assert_eq!(of(&[("/host:CPU", 0), ("/device:TPU:0", 0)]), (0, false));
        assert_eq!(
            of(&[
                ("/device:TPU:0", 1),
                ("/device:TPU:1", 2),
                ("/device:TPU:2", 0)
            ]),
            (2, true)
        );
        assert_eq!(of(&[("/device:CUSTOM:Megascale Trace", 1)]), (0, true));
    }

    #[test]
    fn the_process_and_the_machine_are_named() {
        let contents = ProfileContents::of(&space(&[plane("/host:CPU", 1, Some(4321))]));
        assert_eq!(
            (contents.process, contents.hostname.as_deref()),
            (Some(4321), Some("worker0"))
        );
        assert_eq!(contents.errors, ["a tracer failed"]);
        assert_eq!(contents.started_unix_ns, None);
        assert_eq!(ProfileContents::of(b""), ProfileContents::default());
    }

    #[test]
    fn the_start_is_that_of_the_task_environment() {
        let mut space = ProtoMessage::default();
        space.message(1, |plane| {
            plane.text(2, "Task Environment");
            for (id, name) in [(1, "profile_start_time"), (2, "profile_stop_time")] {
                plane.message(5, |entry| {
                    entry.uint(1, id);
                    entry.message(2, |metadata| metadata.text(2, name));
                });
                plane.message(6, |stat| {
                    stat.uint(1, id);
                    stat.uint(3, 1_795_415_161_000_000_000 + id);
                });
            }
        });
        let contents = ProfileContents::of(&space.into_bytes());
        assert_eq!(contents.started_unix_ns, Some(1_795_415_161_000_000_001));
    }

    #[test]
    fn truncated_profile_is_read_to_its_end() {
        let whole = space(&[
            plane("/device:TPU:0", 2, None),
            plane("/host:CPU", 1, Some(1)),
        ]);
        let counts: Vec<usize> = (0..whole.len())
            .map(|to| ProfileContents::of(&whole[..to]).devices.len())
            .collect();
        assert!(
            counts.is_sorted() && counts.last() == Some(&1),
            "{counts:?}"
        );
    }
}
