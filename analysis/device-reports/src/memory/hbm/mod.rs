//! Device memory over time: its use, its content at the peak, and its allocations.
//!
//! The runtime records every allocation and release of an allocator as an instant
//! on a host thread. Each records the bytes in use after it, in two parts:
//!
//! ```text
//! |<------------------------- capacity ------------------------->|
//! | stack: set aside for programs |  free, maybe in pieces | heap |
//! ```
//!
//! The *peak* is the largest sum of both. The buffers live at the peak follow from matching allocations with releases
//! by address; memory allocated before the capture is known only as a sum. JSON exports do not contain these events.

mod curve;
mod events;
mod live;
mod replay;
mod report;
mod table;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use engine::number;
use facts::prelude::*;

use self::events::{MemoryEvent, MemoryKey, RecordedMemory};
use crate::steps::step_times::Steps;

pub use curve::{MemoryCurve, memory_curve};
pub use live::{LiveBuffer, SizeClass};
pub use report::{MemoryReport, MemoryTimeline, NEARLY_FULL_PERCENT};

/// The analysis `memory`.
pub struct Memory;

impl Analysis for Memory {
    type Report = MemoryReport;
    const ID: &str = "memory";
    const TITLE: &str = "Memory over time";

    fn run(cx: &Context<'_>) -> Result<MemoryReport> {
        let recorded = RecordedMemory::of(cx.model);
        if recorded.is_empty() {
            return Err(missing(cx.model).into());
        }
        let window = cx.host_window()?;
        let wanted = |key: &MemoryKey| {
            let devices = &cx.options.devices;
            devices.is_empty()
                || key
                    .ordinal()
                    .is_none_or(|ordinal| devices.contains(&ordinal))
        };
        let chosen = recorded.memories().filter(|(key, _)| wanted(key));
        let mut memories: Vec<MemoryTimeline> = chosen
            .filter_map(|(key, events)| timeline(cx, key, events, window))
            .collect();
        // Fullest first; equally full ones in the order of devices.
        memories.sort_by_key(|memory| Reverse((memory.parts_per_million(), memory.peak_bytes)));
        if memories.is_empty() {
            return Err("no memory is recorded in this scope".into());
        }
        let statement = statement(&memories);
        let metrics = memories.first().map(metrics).unwrap_or_default();
        Ok(MemoryReport {
            statement,
            metrics,
            memories,
        })
    }
}

/// Why there is nothing to analyse, and a remedy.
fn missing(model: &TraceModel) -> String {
    let is_simulated = model
        .sources()
        .iter()
        .any(|source| source.simulator.is_some());
    let cannot_tell = !model.sources().is_empty()
        && model
            .sources()
            .iter()
            .all(|source| !source.tells.allocations);
    if is_simulated {
        "a simulator records no allocations; its memory counters are on the timeline".to_owned()
    } else if cannot_tell {
        "a trace.json has no memory events, because the exporter omits them; open the *.xplane.pb of the same run"
            .to_owned()
    } else {
        "the capture has no memory events: no buffer was allocated or released while it ran, or the runtime does not \
         record them"
            .to_owned()
    }
}

fn timeline(
    cx: &Context<'_>,
    key: MemoryKey,
    events: &[MemoryEvent],
    window: TimeRange,
) -> Option<MemoryTimeline> {
    let model = cx.model;
    let replay = replay::replay(events, window);
    let event = |index: Option<usize>| index.and_then(|index| events.get(index));
    let peak = event(replay.peak)?;
    let capacity = peak.capacity();
    let most_fragmented =
        event(replay.most_fragmented).filter(|event| event.fragmentation() > Some(0.0));
    let largest_free = peak
        .available()
        .zip(peak.fragmentation())
        .map(|(free, lost)| (free as f64 * (1.0 - lost)) as i64);
    let steps = host_steps(cx, key.core(model));
    let churn = per_step(events, &steps, window);
    let heap = |index| event(index).map_or(0, |event| event.allocated);
    Some(MemoryTimeline {
        memory: key.title(model),
        is_device: key.is_device(),
        capacity_bytes: capacity,
        peak_bytes: peak.used(),
        peak_percent: capacity
            .map(|capacity| Percent(100.0 * peak.used() as f64 / capacity as f64)),
        peak_at_ps: replay.peak_at,
        peak_step: step_at(&steps, replay.peak_at),
        peak_reserved_bytes: peak.reserved,
        peak_heap_bytes: peak.allocated,
        peak_free_bytes: peak.available(),
        peak_fragmentation_percent: peak.fragmentation().map(Percent::of_fraction),
        peak_largest_free_bytes: largest_free,
        max_fragmentation_percent: most_fragmented
            .and_then(MemoryEvent::fragmentation)
            .map(Percent::of_fraction),
        max_fragmentation_at_ps: most_fragmented.map(|event| event.at.max(window.start)),
        lifetime_peak_bytes: event(replay.last).and_then(|event| live::lifetime_peak(model, event)),
        mean_bytes: replay.mean_used,
        growth_bytes: heap(replay.last).saturating_sub(heap(replay.first)),
        allocations: replay.allocations,
        releases: replay.releases,
        allocated_bytes: replay.allocated_bytes,
        requested_bytes: replay.requested_bytes,
        rounding_bytes: replay.rounding_bytes,
        allocations_per_step: churn.map(|(count, _)| count),
        allocated_bytes_per_step: churn.map(|(_, bytes)| bytes),
        unknown_releases: replay.unknown_releases,
        lost_releases: replay.lost_releases,
        at_peak: live::at_peak(model, events, peak, &replay.live_at_peak),
        kept: live::buffers(model, events, &replay.kept),
        kept_count: replay.kept.len() as u64,
        kept_bytes: live::total(events, &replay.kept),
        sizes: live::sizes(model, events, &replay.sizes),
    })
}

/// A step by the clock of the host, where allocations happen.
struct HostStep {
    number: u32,
    is_partial: bool,
    range: TimeRange,
}

/// The steps of a device; all steps if it took part in none or is unknown.
fn host_steps(cx: &Context<'_>, core: Option<GroupId>) -> Vec<HostStep> {
    let Ok(steps) = cx.whole().report::<Steps>() else {
        return Vec::new();
    };
    if !steps.has_steps() {
        return Vec::new();
    }
    let host_step = |step: &Step| {
        let host_spans: Vec<_> = step
            .spans
            .iter()
            .filter(|span| Some(span.group) == core)
            .collect();
        let spans = if host_spans.is_empty() {
            step.spans.iter().collect()
        } else {
            host_spans
        };
        let range = spans
            .into_iter()
            .map(|span| span.on_host(cx))
            .reduce(TimeRange::hull)?;
        Some(HostStep {
            number: step.number,
            is_partial: step.is_partial,
            range,
        })
    };
    steps.steps.iter().filter_map(host_step).collect()
}

/// The step that contains `time`; if several do, the one that started last.
fn step_at(steps: &[HostStep], time: Timestamp) -> Option<u32> {
    let holding = steps.iter().filter(|step| step.range.contains(time));
    holding
        .max_by_key(|step| step.range.start)
        .map(|step| step.number)
}

/// Allocations and their bytes per step: over the complete steps inside the window, from the start of the first to
/// the end of the last.
fn per_step(events: &[MemoryEvent], steps: &[HostStep], window: TimeRange) -> Option<(f64, f64)> {
    let ranges = steps
        .iter()
        .filter(|step| !step.is_partial)
        .map(|step| step.range);
    let inside: Vec<TimeRange> = ranges
        .filter(|range| range.start >= window.start && range.end <= window.end)
        .collect();
    let hull = inside.iter().copied().reduce(TimeRange::hull)?;
    let count = inside.len() as f64;
    let allocations = events
        .iter()
        .filter(|event| event.is_allocation && hull.contains(event.at));
    let (number, bytes) = allocations.fold((0_u64, 0_i64), |(number, bytes), event| {
        (number + 1, bytes.saturating_add(event.taken()))
    });
    Some((number as f64 / count, bytes as f64 / count))
}

/// `21.49 GB`, as tables show bytes.
pub fn bytes_text(bytes: i64) -> String {
    number::value(bytes as f64, Unit::Bytes)
}

fn statement(memories: &[MemoryTimeline]) -> String {
    let Some(fullest) = memories.first() else {
        return String::new();
    };
    let full = match (fullest.peak_percent, fullest.capacity_bytes) {
        (Some(percent), Some(capacity)) => {
            format!("{percent:.1} of {}", bytes_text(capacity))
        }
        _ => "of an unknown capacity".to_owned(),
    };
    let step = fullest
        .peak_step
        .map(|step| format!(", in step {step}"))
        .unwrap_or_default();
    let peak = fullest.peak_at_ps.since_origin();
    let mut text = format!(
        "{} held up to {}, {full}, at {peak}{step}",
        fullest.memory,
        bytes_text(fullest.peak_bytes)
    );
    if fullest.peak_reserved_bytes > fullest.peak_bytes / 2 {
        let _ = write!(
            text,
            "; {} of it set aside for programs",
            bytes_text(fullest.peak_reserved_bytes)
        );
    }
    if let Some(free) = fullest.peak_free_bytes {
        let _ = write!(text, "; {} were free", bytes_text(free));
        if let Some(block) = fullest
            .peak_largest_free_bytes
            .filter(|&block| block < free)
        {
            let _ = write!(text, ", {} of them in one block", bytes_text(block));
        }
    }
    text
}

/// The numbers of one memory, with their denominators.
#[expect(clippy::too_many_lines, reason = "one list of metrics")]
fn metrics(memory: &MemoryTimeline) -> Vec<Metric> {
    let name = &memory.memory;
    let capacity = memory
        .capacity_bytes
        .map_or_else(|| "unknown capacity".to_owned(), bytes_text);
    let metric = |id, title, value: Option<f64>, unit, of: String, provenance| Metric {
        id,
        title,
        value,
        is_lower_bound: false,
        unit,
        of,
        provenance,
        note: None,
    };
    let bytes = |id, title, value: Option<i64>, of: &str, provenance| {
        metric(
            id,
            title,
            value.map(|value| value as f64),
            Unit::Bytes,
            format!("{of}, {name}"),
            provenance,
        )
    };
    let (recorded, derived) = (Provenance::Profile, Provenance::Derived);
    let mut out = vec![
        bytes(
            "memory_peak_bytes",
            "Peak memory",
            Some(memory.peak_bytes),
            "stack and heap together",
            recorded,
        ),
        metric(
            "memory_peak_percent",
            "Peak memory, of capacity",
            memory.peak_percent.map(|percent| percent.0),
            Unit::Percent,
            format!("{capacity}: all that {name} has for programs and buffers"),
            recorded,
        ),
        bytes(
            "memory_free_at_peak_bytes",
            "Free at the peak",
            memory.peak_free_bytes,
            "when fullest",
            recorded,
        ),
        bytes(
            "memory_largest_free_block_bytes",
            "Largest free block at the peak",
            memory.peak_largest_free_bytes,
            "when fullest",
            derived,
        ),
        bytes(
            "memory_reserved_at_peak_bytes",
            "Set aside for programs",
            Some(memory.peak_reserved_bytes),
            "at the peak",
            recorded,
        ),
        bytes(
            "memory_heap_at_peak_bytes",
            "In buffers",
            Some(memory.peak_heap_bytes),
            "at the peak",
            recorded,
        ),
        metric(
            "memory_fragmentation_percent",
            "Highest fragmentation",
            memory.max_fragmentation_percent.map(|percent| percent.0),
            Unit::Percent,
            "free bytes outside the largest free block".to_owned(),
            recorded,
        ),
        bytes(
            "memory_growth_bytes",
            "Growth",
            Some(memory.growth_bytes),
            "in buffers, last less first event of the window",
            derived,
        ),
        metric(
            "memory_allocated_per_step_bytes",
            "Allocated per step",
            memory.allocated_bytes_per_step,
            Unit::Bytes,
            format!("complete steps, {name}"),
            derived,
        ),
    ];
    if memory.capacity_bytes.is_none()
        && let Some(metric) = out
            .iter_mut()
            .find(|metric| metric.id == "memory_peak_percent")
    {
        metric.note = Some("the allocator did not record how much is free".to_owned());
    }
    out
}
