//! Compiled programs: their names, and their HLO if the profiler stored it.

use std::ops::Range;

use importer_common::names;
use importer_common::prelude::*;
use trace_model::ProgramBytes;
use trace_model::wire::{WireCursor, WireValue};

use super::known::Known;
use super::lines::LineOutline;
use super::ops::{ProgramNames, XPlaneEventMetadata, text};
use super::tables::{PlaneMetadata, StatValue};

/// Reads the HLO protos of the metadata plane, one per program.
///
/// The position of the program's id depends on the version of the writer: a stat, the key of the entry, or (one release
/// of libtpu has a wrong key) in parentheses at the end of the name.
pub(super) fn hlo_protos(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    programs: &mut ProgramNames,
) {
    for (row, message) in tables.event_messages().iter().enumerate() {
        let metadata = match XPlaneEventMetadata::read(tables.bytes(), message.clone()) {
            Ok(metadata) | Err((metadata, _)) => metadata,
        };
        let mut proto: Option<Range<usize>> = None;
        let mut stat_id = None;
        for (id, value) in &metadata.stats {
            match (tables.known(*id), value) {
                (Known::HloProto | Known::HloProtoMisspelt, StatValue::Bytes(range)) => {
                    proto = Some(range.clone());
                }
                (Known::ProgramId, value) => stat_id = tables.int(value).map(|id| id as u64),
                _ => {}
            }
        }
        let Some(proto) = proto else { continue };
        let name = text(builder, tables, metadata.name.clone());
        let (name, name_id) = names::program_name(&name);
        let id = stat_id.or(name_id).or_else(|| tables.event_key(row));
        if let Some(id) = id {
            programs.insert(id, name.to_owned());
        }
        let program = builder.program(name, id);
        // The bytes are copied, so that the file need not stay in memory for them.
        let copy = tables.slice(proto).to_vec();
        let all = 0..copy.len();
        builder.set_program_hlo(program, ProgramBytes::new(Arc::new(copy), all));
    }
}

/// Reads program names from the executions on a module line.
pub(super) fn names_from_modules(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    line: &LineOutline,
    programs: &mut ProgramNames,
) {
    let mut rows: Vec<usize> = Vec::new();
    let mut cursor = WireCursor::new(tables.bytes(), line.range.clone());
    while let Ok(Some(field)) = cursor.next() {
        let (4, WireValue::Bytes(range)) = field else {
            continue;
        };
        let mut event = WireCursor::new(tables.bytes(), range);
        while let Ok(Some((number, value))) = event.next() {
            if let (1, WireValue::Varint(id)) = (number, value) {
                rows.extend(tables.event_row(id));
                break;
            }
        }
    }
    rows.sort_unstable();
    rows.dedup();
    for row in rows {
        let Some(message) = tables.event_messages().get(row) else {
            continue;
        };
        let (Ok(metadata) | Err((metadata, _))) =
            XPlaneEventMetadata::read(tables.bytes(), message.clone());
        let name = text(builder, tables, metadata.name);
        if let (name, Some(id)) = names::program_name(&name) {
            let name = programs.entry(id).or_insert_with(|| name.to_owned());
            builder.program(name, Some(id));
        }
    }
}
