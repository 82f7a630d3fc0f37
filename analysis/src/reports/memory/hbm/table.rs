//! The memory report as tables.

use super::{LiveBuffer, MemoryReport, MemoryTimeline, bytes_text, live};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

/// Rows of a table of buffers.
const SHOWN: usize = 20;

impl Tabular for MemoryReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.peaks(), self.allocations()];
        if let Some(fullest) = self.memories.first() {
            tables.insert(1, at_peak(fullest));
            tables.extend(kept(fullest));
            tables.extend(sizes(fullest));
        }
        tables
    }
}

fn recorded(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Profile }
}

fn derived(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Derived }
}

fn maybe(value: Option<i64>) -> Cell {
    value.map_or(Cell::Missing, Cell::Int)
}

fn text(value: Option<&String>) -> Cell {
    value.map_or(Cell::Missing, Cell::text)
}

impl MemoryReport {
    fn peaks(&self) -> Table {
        let row = |memory: &MemoryTimeline| {
            vec![
                Cell::text(&memory.memory),
                Cell::Int(memory.peak_bytes),
                Cell::maybe(memory.peak_percent),
                maybe(memory.capacity_bytes),
                Cell::Int(memory.peak_reserved_bytes),
                Cell::Int(memory.peak_heap_bytes),
                maybe(memory.peak_free_bytes),
                maybe(memory.peak_largest_free_bytes),
                Cell::Int(memory.peak_at_ps),
                maybe(memory.peak_step.map(i64::from)),
            ]
        };
        let mut notes = vec![
            format!("{}.", self.statement),
            "Peak: most bytes in use at once, set aside for programs (stack) and in buffers (heap) together. In a block: \
             the largest free block, the largest buffer that would still have fitted."
                .to_owned(),
        ];
        let heap_only = self
            .memories
            .iter()
            .find(|memory| memory.lifetime_peak_bytes.is_some_and(|lifetime| lifetime < memory.peak_bytes));
        if let Some(memory) = heap_only {
            notes.push(format!(
                "The allocator's own record of {} is {}: it counts buffers only.",
                memory.memory,
                bytes_text(memory.lifetime_peak_bytes.unwrap_or_default()),
            ));
        }
        Table {
            id: "memory",
            title: "Memory at its fullest".to_owned(),
            columns: vec![
                recorded("memory", "Memory", Unit::None),
                recorded("peak_bytes", "Peak", Unit::Bytes),
                recorded("peak_percent", "Of capacity", Unit::Percent),
                recorded("capacity_bytes", "Capacity", Unit::Bytes),
                recorded("peak_reserved_bytes", "Programs", Unit::Bytes),
                recorded("peak_heap_bytes", "Buffers", Unit::Bytes),
                recorded("peak_free_bytes", "Free", Unit::Bytes),
                derived("peak_largest_free_bytes", "In a block", Unit::Bytes),
                recorded("peak_at_ps", "At", Unit::Picoseconds),
                derived("peak_step", "Step", Unit::None),
            ],
            rows: self.memories.iter().map(row).collect(),
            notes,
        }
    }

    fn allocations(&self) -> Table {
        let row = |memory: &MemoryTimeline| {
            vec![
                Cell::text(&memory.memory),
                Cell::count(memory.allocations),
                Cell::count(memory.releases),
                Cell::Int(memory.allocated_bytes),
                Cell::maybe(memory.allocations_per_step),
                Cell::maybe(memory.allocated_bytes_per_step),
                Cell::Int(memory.rounding_bytes),
                Cell::Int(memory.kept_bytes),
                Cell::Int(memory.growth_bytes),
                Cell::maybe(memory.mean_bytes),
                Cell::maybe(memory.max_fragmentation_percent),
            ]
        };
        let mut notes = vec![
            "Rounding: bytes got beyond what was asked for. Kept: allocated in the window and not released in it. \
             Growth: in use after the last event less after the first. Fragmentation: free bytes outside of the \
             largest free block."
                .to_owned(),
        ];
        let (unknown, lost) = self
            .memories
            .iter()
            .fold((0, 0), |(unknown, lost), memory| (unknown + memory.unknown_releases, lost + memory.lost_releases));
        if unknown > 0 {
            notes.push(format!("{unknown} releases are of buffers from before the capture."));
        }
        if lost > 0 {
            notes.push(format!("{lost} buffers were released without a record: their address was allocated again."));
        }
        Table {
            id: "memory_allocations",
            title: "Allocations".to_owned(),
            columns: vec![
                recorded("memory", "Memory", Unit::None),
                recorded("allocations", "Allocated", Unit::Count),
                recorded("releases", "Released", Unit::Count),
                recorded("allocated_bytes", "Bytes", Unit::Bytes),
                derived("allocations_per_step", "A step", Unit::Count),
                derived("allocated_bytes_per_step", "Bytes a step", Unit::Bytes),
                derived("rounding_bytes", "Rounding", Unit::Bytes),
                derived("kept_bytes", "Kept", Unit::Bytes),
                derived("growth_bytes", "Growth", Unit::Bytes),
                derived("mean_bytes", "Mean in use", Unit::Bytes),
                recorded("max_fragmentation_percent", "Fragmentation", Unit::Percent),
            ],
            rows: self.memories.iter().map(row).collect(),
            notes,
        }
    }
}

fn buffer_columns() -> Vec<Column> {
    vec![
        derived("what", "What", Unit::None),
        recorded("count", "Count", Unit::Count),
        recorded("bytes", "Bytes", Unit::Bytes),
        derived("share_percent", "Share", Unit::Percent),
        recorded("op", "Op of the first", Unit::None),
        recorded("shape", "Shape", Unit::None),
        recorded("region", "Region", Unit::None),
        recorded("requested_bytes", "Asked for", Unit::Bytes),
        derived("padding_percent", "Padding", Unit::Percent),
        recorded("since_ps", "Since", Unit::Picoseconds),
    ]
}

fn buffer_row(buffer: &LiveBuffer, whole: i64) -> Vec<Cell> {
    vec![
        Cell::text(&buffer.what),
        Cell::count(buffer.count),
        Cell::Int(buffer.bytes),
        Cell::maybe((whole > 0).then(|| 100.0 * buffer.bytes as f64 / whole as f64)),
        text(buffer.op.as_ref()),
        text(buffer.shape.as_ref()),
        text(buffer.region.as_ref()),
        maybe(buffer.requested_bytes),
        Cell::maybe(buffer.padding_percent()),
        maybe(buffer.since_ps),
    ]
}

/// Says what a cut list leaves out.
fn cut<T>(all: &[T], what: &str) -> Vec<String> {
    if all.len() > SHOWN { vec![format!("The largest {SHOWN} of {} {what}.", all.len())] } else { Vec::new() }
}

fn at_peak(memory: &MemoryTimeline) -> Table {
    let mut notes = vec![format!(
        "Shares are of the peak, {}. Padding: bytes that hold no element.",
        bytes_text(memory.peak_bytes)
    )];
    if memory.at_peak.iter().any(|buffer| buffer.what == live::OLDER) {
        notes.push("Of buffers from before the capture only the sum is known.".to_owned());
    }
    if memory.peak_reserved_bytes > memory.peak_bytes / 2 {
        notes.push("What programs set memory aside for is in the report `buffers`.".to_owned());
    }
    notes.extend(cut(&memory.at_peak, "kinds of buffers"));
    Table {
        id: "memory_at_peak",
        title: format!("In memory at the peak of {}", memory.memory),
        columns: buffer_columns(),
        rows: memory.at_peak.iter().take(SHOWN).map(|buffer| buffer_row(buffer, memory.peak_bytes)).collect(),
        notes,
    }
}

fn kept(memory: &MemoryTimeline) -> Option<Table> {
    let mut notes = vec![format!(
        "{} buffers, {}: results and state live on, and so does what nobody frees. Shares are of their bytes.",
        memory.kept_count,
        bytes_text(memory.kept_bytes)
    )];
    notes.extend(cut(&memory.kept, "kinds of buffers"));
    (!memory.kept.is_empty()).then(|| Table {
        id: "memory_kept",
        title: format!("Allocated and not released on {}", memory.memory),
        columns: buffer_columns(),
        rows: memory.kept.iter().take(SHOWN).map(|buffer| buffer_row(buffer, memory.kept_bytes)).collect(),
        notes,
    })
}

fn sizes(memory: &MemoryTimeline) -> Option<Table> {
    let rows = memory.sizes.iter().map(|class| {
        vec![
            Cell::Int(class.bytes),
            Cell::count(class.count),
            Cell::Int(class.total_bytes),
            Cell::count(class.released),
            maybe(class.mean_lifetime_ps),
            text(class.op.as_ref()),
            text(class.shape.as_ref()),
        ]
    });
    (!memory.sizes.is_empty()).then(|| Table {
        id: "memory_sizes",
        title: format!("Allocations by size on {}", memory.memory),
        columns: vec![
            recorded("bytes", "Size", Unit::Bytes),
            recorded("count", "Allocated", Unit::Count),
            derived("total_bytes", "Bytes in all", Unit::Bytes),
            recorded("released", "Released", Unit::Count),
            derived("mean_lifetime_ps", "Mean lifetime", Unit::Picoseconds),
            recorded("op", "Op of the first", Unit::None),
            recorded("shape", "Shape of the first", Unit::None),
        ],
        rows: rows.collect(),
        notes: vec!["Sizes with the most bytes in all first; the lifetime is of those released.".to_owned()],
    })
}
