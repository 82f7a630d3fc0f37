//! How the bytes of a file are divided among what was recorded.

use std::ops::Range;

use hashbrown::HashSet;
use importer_common::names::{self, PlaneKind};
use importer_common::prelude::*;
use trace_model::ImportLog;
use trace_model::wire::{WireCursor, WireValue};

use super::space::{RawPlane, RawSpace};
use super::tables::{map_entry, name_of};

/// What the profiler recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ProfilePart {
    /// Events of devices.
    DeviceEvents,
    /// Names, costs and texts of the ops of devices.
    DeviceOps,
    /// Calls of Python functions.
    PythonCalls,
    /// All other events of host threads.
    HostEvents,
    /// Names of host events.
    HostNames,
    /// Programs of the compiler.
    Programs,
    /// Everything else.
    Other,
}

/// The size of one part.
#[derive(Debug)]
pub struct PartSize {
    pub part: ProfilePart,
    /// The line of devices (`XLA Ops`); empty for other parts.
    pub line: String,
    /// Number of events; 0 for parts that are not made of events.
    pub events: u64,
    pub bytes: u64,
}

/// Distinct lines that are told apart.
const MAX_LINES: usize = 256;

/// The parts of a file in the order of [`ProfilePart`], and the bytes of the whole file.
pub(super) fn part_sizes(file: &[u8]) -> Vec<PartSize> {
    let space = RawSpace::read(file, &mut ImportLog::default());
    let mut sizes = SizeCounter {
        file,
        parts: BTreeMap::new(),
    };
    for plane in &space.planes {
        sizes.plane(plane);
    }
    let known: u64 = sizes.parts.values().map(|(_, bytes)| bytes).sum();
    let rest = (file.len() as u64).saturating_sub(known);
    sizes.add(ProfilePart::Other, "", 0, rest);
    let parts = sizes.parts.into_iter();
    parts
        .map(|((part, line), (events, bytes))| PartSize {
            part,
            line,
            events,
            bytes,
        })
        .collect()
}

struct SizeCounter<'a> {
    file: &'a [u8],
    /// Events and bytes.
    parts: BTreeMap<(ProfilePart, String), (u64, u64)>,
}

impl SizeCounter<'_> {
    fn add(&mut self, part: ProfilePart, line: &str, events: u64, bytes: u64) {
        if bytes == 0 {
            return;
        }
        let mut key = (part, line.to_owned());
        if self.parts.len() >= MAX_LINES && !self.parts.contains_key(&key) {
            key.1.clear();
        }
        let sum = self.parts.entry(key).or_default();
        sum.0 += events;
        sum.1 += bytes;
    }

    fn plane(&mut self, plane: &RawPlane) {
        let metadata = [&plane.event_metadata, &plane.stat_metadata, &plane.stats];
        let metadata = metadata
            .into_iter()
            .flatten()
            .map(|range| range.len() as u64)
            .sum();
        match names::plane_kind(&plane.name) {
            PlaneKind::Host => {
                self.add(ProfilePart::HostNames, "", 0, metadata);
                let python = self.python_names(plane);
                for line in &plane.lines {
                    self.host_line(line.clone(), &python);
                }
            }
            PlaneKind::Metadata => self.add(ProfilePart::Programs, "", 0, metadata),
            PlaneKind::TaskEnvironment | PlaneKind::Other => {}
            _ => {
                self.add(ProfilePart::DeviceOps, "", 0, metadata);
                for line in &plane.lines {
                    let (name, events) = self.outline(line.clone());
                    let name = self.text(name).into_owned();
                    let bytes = line.len() as u64;
                    self.add(ProfilePart::DeviceEvents, &name, events, bytes);
                }
            }
        }
    }

    fn text(&self, range: Range<usize>) -> std::borrow::Cow<'_, str> {
        String::from_utf8_lossy(self.file.get(range).unwrap_or_default())
    }

    /// Ids of the calls of Python functions.
    fn python_names(&self, plane: &RawPlane) -> HashSet<u64> {
        let entries = plane.event_metadata.iter();
        let entries = entries.filter_map(|range| map_entry(self.file, range.clone()).ok());
        entries
            .filter(|(_, message)| {
                let name = name_of(self.file, message.clone());
                self.file
                    .get(name)
                    .is_some_and(|name| name.starts_with(b"$"))
            })
            .map(|(id, _)| id)
            .collect()
    }

    /// The name of a line, and the number of its events.
    fn outline(&self, line: Range<usize>) -> (Range<usize>, u64) {
        let (mut name, mut events) = (0..0, 0);
        let mut cursor = WireCursor::new(self.file, line);
        while let Ok(Some(field)) = cursor.next() {
            match field {
                (2, WireValue::Bytes(range)) => name = range,
                (4, WireValue::Bytes(_)) => events += 1,
                _ => {}
            }
        }
        (name, events)
    }

    fn host_line(&mut self, line: Range<usize>, python: &HashSet<u64>) {
        let whole = line.len() as u64;
        let ([mut calls, mut call_bytes], mut events) = ([0, 0], 0);
        let mut cursor = WireCursor::new(self.file, line);
        let mut begin = cursor.position();
        while let Ok(Some((number, value))) = cursor.next() {
            let end = cursor.position();
            if let (4, WireValue::Bytes(event)) = (number, value) {
                events += 1;
                let mut event = WireCursor::new(self.file, event);
                if let Ok(Some((1, WireValue::Varint(id)))) = event.next()
                    && python.contains(&id)
                {
                    calls += 1;
                    call_bytes += (end - begin) as u64;
                }
            }
            begin = end;
        }
        self.add(ProfilePart::PythonCalls, "", calls, call_bytes);
        self.add(
            ProfilePart::HostEvents,
            "",
            events - calls,
            whole - call_bytes,
        );
    }
}

#[cfg(test)]
mod tests {
    use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
    use sample_traces::write::xspace_bytes;

    use super::*;

    #[test]
    fn parts_add_up_to_the_file() {
        let file = xspace_bytes(&SyntheticRun::new(TrainingSpec::default()).session());
        let parts = part_sizes(&file);
        let bytes: u64 = parts.iter().map(|part| part.bytes).sum();
        assert_eq!(bytes, file.len() as u64);
        let ops = parts.iter().find(|part| part.line == "XLA Ops").unwrap();
        assert_eq!(ops.part, ProfilePart::DeviceEvents);
        assert!(ops.events > 100 && ops.bytes > 1000, "{ops:?}");
    }

    #[test]
    fn damaged_files_have_sizes_too() {
        let file = xspace_bytes(&SyntheticRun::new(TrainingSpec::default()).session());
        for end in (0..file.len()).step_by(file.len() / 50) {
            let bytes: u64 = part_sizes(&file[..end]).iter().map(|part| part.bytes).sum();
            assert_eq!(bytes, end as u64);
        }
    }
}
