//! The tables of the memory report.

use facts::prelude::*;
use math::stats::percent;

use super::{LiveBuffer, MemoryReport, MemoryTimeline, bytes_text, live};

/// Maximum number of rows in a table of buffers.
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

impl MemoryReport {
    fn peaks(&self) -> Table {
        let mut notes = vec![
            format!("{}.", self.statement),
            "Peak: most bytes in use at once, set aside for programs (stack) and in buffers (heap) together. In a block: \
             the largest free block, the largest buffer that would still have fitted."
                .to_owned(),
        ];
        let heap_only = self.memories.iter().find(|memory| {
            memory
                .lifetime_peak_bytes
                .is_some_and(|lifetime| lifetime < memory.peak_bytes)
        });
        if let Some(memory) = heap_only {
            notes.push(format!(
                "The allocator's own record of {} is {}: it counts buffers only.",
                memory.memory,
                bytes_text(memory.lifetime_peak_bytes.unwrap_or_default()),
            ));
        }
        Table::of("memory", "Peak memory", &self.memories)
            .declared([
                "memory",
                "peak_bytes",
                "peak_percent",
                "capacity_bytes",
                "peak_reserved_bytes",
                "peak_heap_bytes",
                "peak_free_bytes",
                "peak_largest_free_bytes",
                "peak_at_ps",
                "peak_step",
            ])
            .notes(notes)
            .build()
    }

    fn allocations(&self) -> Table {
        let mut notes = vec![
            "Rounding: bytes allocated beyond the requested size. Not released: allocated in the window and not released in it. \
             Growth: in use after the last event less after the first. Fragmentation: free bytes outside the \
             largest free block."
                .to_owned(),
        ];
        let (unknown, lost) = self
            .memories
            .iter()
            .fold((0, 0), |(unknown, lost), memory| {
                (
                    unknown + memory.unknown_releases,
                    lost + memory.lost_releases,
                )
            });
        if unknown > 0 {
            notes.push(format!(
                "Released from before the capture: {}.",
                counted(unknown, "buffer")
            ));
        }
        if lost > 0 {
            notes.push(format!(
                "Released without a record, since the address was allocated again: {}.",
                counted(lost, "buffer")
            ));
        }
        Table::of("memory_allocations", "Allocations", &self.memories)
            .declared([
                "memory",
                "allocations",
                "releases",
                "allocated_bytes",
                "allocations_per_step",
                "allocated_bytes_per_step",
                "rounding_bytes",
                "kept_bytes",
                "growth_bytes",
                "mean_bytes",
                "max_fragmentation_percent",
            ])
            .notes(notes)
            .build()
    }
}

/// The largest of `buffers`, with their shares of `whole`.
fn buffer_table(
    id: &'static str,
    title: String,
    buffers: &[LiveBuffer],
    whole: i64,
    notes: Vec<String>,
) -> Table {
    Table::of(id, title, buffers.iter().take(SHOWN))
        .declared(["what", "count", "bytes"])
        .derived("share_percent", "Share", Unit::Percent, |buffer| {
            percent(buffer.bytes, whole)
        })
        .declared([
            "op",
            "shape",
            "region",
            "requested_bytes",
            "padding_percent",
            "since_ps",
        ])
        .notes(notes)
        .build()
}

/// States what a shortened list leaves out.
fn cut<T>(all: &[T], what: &str) -> Vec<String> {
    if all.len() > SHOWN {
        vec![format!("The largest {SHOWN} of {} {what}.", all.len())]
    } else {
        Vec::new()
    }
}

/// What is in a memory at a time, of which `used` bytes are in use.
pub(super) fn live_at(buffers: &[LiveBuffer], used: i64) -> Table {
    Table::of("memory_live", "In memory", buffers)
        .declared(["what", "count", "bytes"])
        .derived("share_percent", "Share", Unit::Percent, |buffer| {
            percent(buffer.bytes, used)
        })
        .declared(["padding_bytes", "op", "shape", "region", "since_ps"])
        .note(format!(
            "Shares are of {} in use. Padding: bytes that hold no element.",
            bytes_text(used)
        ))
        .build()
}

fn at_peak(memory: &MemoryTimeline) -> Table {
    let mut notes = vec![format!(
        "Shares are of the peak, {}. Padding: bytes that hold no element.",
        bytes_text(memory.peak_bytes)
    )];
    if memory
        .at_peak
        .iter()
        .any(|buffer| buffer.what == live::OLDER)
    {
        notes.push("Of buffers from before the capture only the sum is known.".to_owned());
    }
    if memory.peak_reserved_bytes > memory.peak_bytes / 2 {
        notes.push("What programs set memory aside for is in the report `buffers`.".to_owned());
    }
    notes.extend(cut(&memory.at_peak, "kinds of buffers"));
    let title = format!("In memory at the peak of {}", memory.memory);
    buffer_table(
        "memory_at_peak",
        title,
        &memory.at_peak,
        memory.peak_bytes,
        notes,
    )
}

fn kept(memory: &MemoryTimeline) -> Option<Table> {
    let mut notes = vec![format!(
        "{} buffers, {}: results, persistent state and leaks. Shares are of their bytes.",
        memory.kept_count,
        bytes_text(memory.kept_bytes)
    )];
    notes.extend(cut(&memory.kept, "kinds of buffers"));
    let title = format!("Allocated and not released on {}", memory.memory);
    (!memory.kept.is_empty())
        .then(|| buffer_table("memory_kept", title, &memory.kept, memory.kept_bytes, notes))
}

fn sizes(memory: &MemoryTimeline) -> Option<Table> {
    (!memory.sizes.is_empty()).then(|| {
        Table::of(
            "memory_sizes",
            format!("Allocations by size on {}", memory.memory),
            &memory.sizes,
        )
        .remaining()
        .note("Sizes with the most bytes in all first; the lifetime is of those released.")
        .build()
    })
}
