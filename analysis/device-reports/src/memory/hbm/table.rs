//! The tables of the memory report.

use engine::{Table, Tabular};
use math::stats::percent;
use math::unit::Unit;

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
            .recorded("memory", "Memory", Unit::None, |memory| &memory.memory)
            .recorded("peak_bytes", "Peak", Unit::Bytes, |memory| {
                memory.peak_bytes
            })
            .recorded("peak_percent", "Of capacity", Unit::Percent, |memory| {
                memory.peak_percent
            })
            .recorded("capacity_bytes", "Capacity", Unit::Bytes, |memory| {
                memory.capacity_bytes
            })
            .recorded("peak_reserved_bytes", "Programs", Unit::Bytes, |memory| {
                memory.peak_reserved_bytes
            })
            .recorded("peak_heap_bytes", "Buffers", Unit::Bytes, |memory| {
                memory.peak_heap_bytes
            })
            .recorded("peak_free_bytes", "Free", Unit::Bytes, |memory| {
                memory.peak_free_bytes
            })
            .derived(
                "peak_largest_free_bytes",
                "In a block",
                Unit::Bytes,
                |memory| memory.peak_largest_free_bytes,
            )
            .recorded("peak_at_ps", "At", Unit::Picoseconds, |memory| {
                memory.peak_at_ps
            })
            .derived("peak_step", "Step", Unit::None, |memory| {
                memory.peak_step.map(i64::from)
            })
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
                engine::counted(unknown, "buffer")
            ));
        }
        if lost > 0 {
            notes.push(format!(
                "Released without a record, since the address was allocated again: {}.",
                engine::counted(lost, "buffer")
            ));
        }
        Table::of("memory_allocations", "Allocations", &self.memories)
            .recorded("memory", "Memory", Unit::None, |memory| &memory.memory)
            .recorded("allocations", "Allocated", Unit::Count, |memory| {
                memory.allocations
            })
            .recorded("releases", "Released", Unit::Count, |memory| {
                memory.releases
            })
            .recorded("allocated_bytes", "Bytes", Unit::Bytes, |memory| {
                memory.allocated_bytes
            })
            .derived("allocations_per_step", "A step", Unit::Count, |memory| {
                memory.allocations_per_step
            })
            .derived(
                "allocated_bytes_per_step",
                "Bytes a step",
                Unit::Bytes,
                |memory| memory.allocated_bytes_per_step,
            )
            .derived("rounding_bytes", "Rounding", Unit::Bytes, |memory| {
                memory.rounding_bytes
            })
            .derived("kept_bytes", "Not released", Unit::Bytes, |memory| {
                memory.kept_bytes
            })
            .derived("growth_bytes", "Growth", Unit::Bytes, |memory| {
                memory.growth_bytes
            })
            .derived("mean_bytes", "Mean in use", Unit::Bytes, |memory| {
                memory.mean_bytes
            })
            .recorded(
                "max_fragmentation_percent",
                "Fragmentation",
                Unit::Percent,
                |memory| memory.max_fragmentation_percent,
            )
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
        .derived("what", "What", Unit::None, |buffer| &buffer.what)
        .recorded("count", "Count", Unit::Count, |buffer| buffer.count)
        .recorded("bytes", "Bytes", Unit::Bytes, |buffer| buffer.bytes)
        .derived("share_percent", "Share", Unit::Percent, |buffer| {
            percent(buffer.bytes, whole)
        })
        .recorded("op", "Op of the first", Unit::None, |buffer| &buffer.op)
        .recorded("shape", "Shape", Unit::None, |buffer| &buffer.shape)
        .recorded("region", "Region", Unit::None, |buffer| &buffer.region)
        .recorded("requested_bytes", "Asked for", Unit::Bytes, |buffer| {
            buffer.requested_bytes
        })
        .derived(
            "padding_percent",
            "Padding",
            Unit::Percent,
            LiveBuffer::padding_percent,
        )
        .recorded("since_ps", "Since", Unit::Picoseconds, |buffer| {
            buffer.since_ps
        })
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
        .derived("what", "What", Unit::None, |buffer| &buffer.what)
        .recorded("count", "Count", Unit::Count, |buffer| buffer.count)
        .recorded("bytes", "Size", Unit::Bytes, |buffer| buffer.bytes)
        .derived("share_percent", "Share", Unit::Percent, |buffer| {
            percent(buffer.bytes, used)
        })
        .derived(
            "padding_bytes",
            "Padding",
            Unit::Bytes,
            LiveBuffer::padding_bytes,
        )
        .recorded("op", "Op of the first", Unit::None, |buffer| &buffer.op)
        .recorded("shape", "Shape", Unit::None, |buffer| &buffer.shape)
        .recorded("region", "Region", Unit::None, |buffer| &buffer.region)
        .recorded("since_ps", "Since", Unit::Picoseconds, |buffer| {
            buffer.since_ps
        })
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
    let table = || buffer_table("memory_kept", title, &memory.kept, memory.kept_bytes, notes);
    (!memory.kept.is_empty()).then(table)
}

fn sizes(memory: &MemoryTimeline) -> Option<Table> {
    (!memory.sizes.is_empty()).then(|| {
        Table::of(
            "memory_sizes",
            format!("Allocations by size on {}", memory.memory),
            &memory.sizes,
        )
        .recorded("bytes", "Size", Unit::Bytes, |class| class.bytes)
        .recorded("count", "Allocated", Unit::Count, |class| class.count)
        .derived("total_bytes", "Bytes in all", Unit::Bytes, |class| {
            class.total_bytes
        })
        .recorded("released", "Released", Unit::Count, |class| class.released)
        .derived(
            "mean_lifetime_ps",
            "Mean lifetime",
            Unit::Picoseconds,
            |class| class.mean_lifetime_ps,
        )
        .recorded("op", "Op of the first", Unit::None, |class| &class.op)
        .recorded("shape", "Shape of the first", Unit::None, |class| {
            &class.shape
        })
        .note("Sizes with the most bytes in all first; the lifetime is of those released.")
        .build()
    })
}
