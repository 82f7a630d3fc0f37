//! Converts event metadata to labels and ops: everything that all executions of an op share is read only once.

use std::ops::Range;

use importer_common::names::{self, NO_NAME, is_null};
use importer_common::prelude::*;
use trace_model::wire::{BrokenMessage, WireCursor, WireValue};
use trace_model::{Access, MemoryAccess, MemorySpace};

use super::known::Known;
use super::tables::{PlaneMetadata, StatValue, stat};

/// Names of programs by id, from everywhere in the file.
pub(super) type ProgramNames = HashMap<u64, String>;

/// The label of every row of a plane's event metadata.
pub(super) fn labels(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    programs: &ProgramNames,
) -> Vec<LabelId> {
    let read = |builder: &mut TraceBuilder, message: &Range<usize>| {
        let metadata = XPlaneEventMetadata::read(tables.bytes(), message.clone()).unwrap_or_else(
            |(metadata, broken)| {
                builder.log(IssueKind::MalformedEvent, || format!("metadata, {broken}"));
                metadata
            },
        );
        label(builder, tables, &metadata, programs)
    };
    tables
        .event_messages()
        .iter()
        .map(|message| read(builder, message))
        .collect()
}

/// An `XEventMetadata` in place.
#[derive(Default)]
pub(super) struct XPlaneEventMetadata {
    pub name: Range<usize>,
    pub display_name: Range<usize>,
    pub stats: Vec<(u64, StatValue)>,
}

impl XPlaneEventMetadata {
    /// Reads the message at `range` of `bytes`; returns the part before any damage.
    pub fn read(bytes: &[u8], range: Range<usize>) -> Result<Self, (Self, BrokenMessage)> {
        let mut metadata = Self::default();
        let mut cursor = WireCursor::new(bytes, range);
        loop {
            match cursor.next() {
                Ok(None) => return Ok(metadata),
                Ok(Some((2, WireValue::Bytes(range)))) => metadata.name = range,
                Ok(Some((4, WireValue::Bytes(range)))) => metadata.display_name = range,
                Ok(Some((5, WireValue::Bytes(range)))) => match stat(bytes, range) {
                    Ok(stat) => metadata.stats.push(stat),
                    Err(broken) => return Err((metadata, broken)),
                },
                Ok(Some(_)) => {}
                Err(broken) => return Err((metadata, broken)),
            }
        }
    }
}

/// A text of the file; invalid UTF-8 is replaced and counted.
pub(super) fn text(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    range: Range<usize>,
) -> String {
    let position = range.start;
    match String::from_utf8_lossy(tables.slice(range)) {
        std::borrow::Cow::Borrowed(text) => text.to_owned(),
        std::borrow::Cow::Owned(text) => {
            builder.log(IssueKind::InvalidUtf8, || {
                format!("byte {position}: {text:?}")
            });
            text
        }
    }
}

fn label(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    metadata: &XPlaneEventMetadata,
    programs: &ProgramNames,
) -> LabelId {
    let name = text(builder, tables, metadata.name.clone());
    let shown =
        Some(text(builder, tables, metadata.display_name.clone())).filter(|shown| !is_null(shown));
    let shown = shown.unwrap_or_default();
    let hlo_name = names::op_name(&name);
    let is_op = hlo_name.is_some()
        || metadata
            .stats
            .iter()
            .any(|&(id, _)| matches!(tables.known(id), Known::Category | Known::SymbolId));
    let shown = if shown.is_empty() { &name } else { &shown };
    if !is_op {
        return builder.label(
            if shown.is_empty() || is_null(shown) {
                NO_NAME
            } else {
                shown
            },
            None,
        );
    }
    // The display name of an asynchronous op is generic; its text names the op.
    let op_name = hlo_name.unwrap_or(if is_null(shown) { NO_NAME } else { shown });
    let mut op = Op {
        name: builder.intern(op_name),
        ..Op::default()
    };
    op.hlo_text = hlo_name.map(|_| builder.intern(&name));
    for (id, value) in &metadata.stats {
        op_stat(builder, tables, &mut op, tables.known(*id), value, programs);
    }
    let op = builder.op(op);
    builder.label(op_name, Some(op))
}

fn op_stat(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    op: &mut Op,
    known: Known,
    value: &StatValue,
    programs: &ProgramNames,
) {
    let number = || tables.int(value);
    let unsigned = || number().and_then(|number| u64::try_from(number).ok());
    match known {
        Known::ProgramId => {
            op.program = number().map(|id| {
                let id = id as u64;
                builder.program(programs.get(&id).map_or("", String::as_str), Some(id))
            });
        }
        Known::SymbolId => op.symbol_id = number().map(|id| id as u64),
        Known::Flops => op.flops = unsigned(),
        Known::ModelFlops => op.model_flops = unsigned(),
        Known::BytesAccessed => op.bytes_accessed = unsigned(),
        Known::RawBytesAccessed => op.raw_bytes_accessed = unsigned(),
        Known::AllReduceId => op.all_reduce_id = number(),
        Known::MemoryBreakdown => {
            if let StatValue::Bytes(range) = value {
                op.memory = memory(tables.slice(range.clone()));
            }
        }
        Known::Category => op.category = intern(builder, tables, value),
        Known::Shape => op.shape = intern(builder, tables, value),
        Known::FrameworkName => op.framework_name = intern(builder, tables, value),
        Known::DeduplicatedName => op.deduplicated_name = intern(builder, tables, value),
        Known::Source => op.source = intern(builder, tables, value),
        Known::SourceStack => op.source_stack = intern(builder, tables, value),
        _ => {}
    }
}

fn intern(
    builder: &mut TraceBuilder,
    tables: &PlaneMetadata,
    value: &StatValue,
) -> Option<StringId> {
    tables
        .text(value)
        .filter(|text| !text.is_empty() && !is_null(text))
        .map(|text| builder.intern(&text))
}

/// `memory_access_breakdown`: repeated (1) of operation 1, memory space 2, bytes 3.
fn memory(bytes: &[u8]) -> Vec<MemoryAccess> {
    let mut accesses = Vec::new();
    let mut cursor = WireCursor::new(bytes, 0..bytes.len());
    while let Ok(Some(field)) = cursor.next() {
        let (1, WireValue::Bytes(range)) = field else {
            continue;
        };
        let mut access = MemoryAccess {
            space: MemorySpace::Other(0),
            access: Access::Unknown,
            bytes: 0,
        };
        let mut inner = WireCursor::new(bytes, range);
        while let Ok(Some((number, WireValue::Varint(value)))) = inner.next() {
            match (number, value) {
                (1, 1) => access.access = Access::Read,
                (1, 2) => access.access = Access::Write,
                (2, 1) => access.space = MemorySpace::Hbm,
                (2, 2) => access.space = MemorySpace::Cmem,
                (2, 3) => access.space = MemorySpace::Vmem,
                (2, other) => access.space = MemorySpace::Other(other),
                (3, bytes) => access.bytes = bytes,
                _ => {}
            }
        }
        accesses.push(access);
    }
    accesses
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_breakdown_is_split_by_space_and_direction() {
        let hex = "0a0808011001188080200a0808021001188080200a080801100318808020";
        let bytes: Vec<u8> = (0..hex.len())
            .step_by(2)
            .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).unwrap())
            .collect();
        let access = |access, space| MemoryAccess {
            space,
            access,
            bytes: 524_288,
        };
        let expected = [
            access(Access::Read, MemorySpace::Hbm),
            access(Access::Write, MemorySpace::Hbm),
            access(Access::Read, MemorySpace::Vmem),
        ];
        assert_eq!(memory(&bytes), expected);
        assert_eq!(memory(&[]), []);
    }
}
