//! A [`SampleSession`] as `XSpace` protobuf (`*.xplane.pb`).
//!
//! Field numbers are those of `tsl/profiler/protobuf/xplane.proto`:
//! <https://github.com/google/tsl/blob/main/tsl/profiler/protobuf/xplane.proto>.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use super::wire::ProtoMessage;
use crate::session::{SampleLine, SamplePlane, SampleSession, SampleStat, SampleValue};

/// The bytes of an `*.xplane.pb` file.
pub fn xspace_bytes(session: &SampleSession) -> Vec<u8> {
    let mut space = ProtoMessage::default();
    for plane in &session.planes {
        space.message(1, |out| write_plane(plane, out));
    }
    space.text(4, &session.host);
    space.into_bytes()
}

/// Writes an `*.xplane.pb` file of any size, with one plane in memory at a time.
///
/// # Errors
///
/// `out` cannot be written.
pub fn write_xspace(
    host: &str,
    planes: impl Iterator<Item = SamplePlane>,
    out: &mut impl Write,
) -> io::Result<()> {
    for plane in planes {
        let mut space = ProtoMessage::default();
        space.message(1, |out| write_plane(&plane, out));
        drop(plane);
        out.write_all(&space.into_bytes())?;
    }
    let mut end = ProtoMessage::default();
    end.text(4, host);
    out.write_all(&end.into_bytes())
}

/// Numbers of the stat names (and shared strings) of one plane.
type StatIds<'a> = BTreeMap<&'a str, u64>;

fn write_plane(plane: &SamplePlane, out: &mut ProtoMessage) {
    let ids = stat_ids(plane);
    out.int(1, plane.id);
    out.text(2, &plane.name);
    for line in &plane.lines {
        out.message(3, |out| write_line(line, plane, &ids, out));
    }
    for (index, metadata) in plane.metadata.iter().enumerate() {
        let id = metadata_id(plane, index);
        write_map_entry(4, id, out, |out| {
            out.int(1, id);
            out.text(2, &metadata.name);
            out.text(4, &metadata.display_name);
            write_stats(5, &metadata.stats, &ids, out);
        });
    }
    for (name, &id) in &ids {
        write_map_entry(5, id as i64, out, |out| {
            out.uint(1, id);
            out.text(2, name);
        });
    }
    write_stats(6, &plane.stats, &ids, out);
}

fn write_line(line: &SampleLine, plane: &SamplePlane, ids: &StatIds<'_>, out: &mut ProtoMessage) {
    out.int(1, line.id);
    out.text(2, &line.name);
    out.int(3, line.timestamp_ns);
    for event in &line.events {
        out.message(4, |out| {
            out.int(1, metadata_id(plane, event.metadata));
            out.present(2, event.offset_ps as u64);
            out.int(3, event.duration_ps);
            write_stats(4, &event.stats, ids, out);
        });
    }
    let end = line
        .events
        .iter()
        .map(|event| event.offset_ps + event.duration_ps)
        .max();
    out.int(9, end.unwrap_or(0));
}

fn metadata_id(plane: &SamplePlane, index: usize) -> i64 {
    plane.metadata[index].id.unwrap_or(index as i64 + 1)
}

fn write_map_entry(
    field: u32,
    key: i64,
    out: &mut ProtoMessage,
    value: impl FnOnce(&mut ProtoMessage),
) {
    out.message(field, |out| {
        out.int(1, key);
        out.message(2, value);
    });
}

fn write_stats(field: u32, stats: &[SampleStat], ids: &StatIds<'_>, out: &mut ProtoMessage) {
    for stat in stats {
        out.message(field, |out| {
            out.uint(1, ids[stat.name.as_str()]);
            match &stat.value {
                SampleValue::Double(value) => out.double(2, *value),
                SampleValue::Uint(value) => out.present(3, *value),
                SampleValue::Int(value) => out.present(4, *value as u64),
                SampleValue::Text(value) => out.bytes(5, value.as_bytes()),
                SampleValue::Bytes(value) => out.bytes(6, value),
                SampleValue::Ref(value) => out.present(7, ids[value.as_str()]),
            }
        });
    }
}

fn stat_ids(plane: &SamplePlane) -> StatIds<'_> {
    let on_metadata = plane.metadata.iter().flat_map(|metadata| &metadata.stats);
    let on_events = plane
        .lines
        .iter()
        .flat_map(|line| &line.events)
        .flat_map(|event| &event.stats);
    let mut names = BTreeSet::new();
    for stat in plane.stats.iter().chain(on_metadata).chain(on_events) {
        names.insert(stat.name.as_str());
        if let SampleValue::Ref(text) = &stat.value {
            names.insert(text);
        }
    }
    names.into_iter().zip(1..).collect()
}
