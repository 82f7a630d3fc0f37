//! The recorded use of one memory over time, and what is in it at any time. Answers about one memory that is named, so
//! it is no report.

use facts::prelude::*;

use super::events::{MemoryEvent, RecordedMemory};
use super::{LiveBuffer, live, replay, table};

/// The use of one memory over time, and its content at a time.
#[derive(Debug)]
pub struct MemoryCurve {
    /// The device, or the name of the allocator.
    pub memory: String,
    /// The time that the columns divide, on the timeline.
    pub window: TimeRange,
    /// Most bytes in use in each column; `None` before the first event.
    pub columns: Vec<Option<i64>>,
    /// When most bytes are in use.
    pub peak_at: Timestamp,
    /// The time whose content is listed.
    pub at: Timestamp,
    /// Bytes in use then.
    pub used_bytes: i64,
    /// The content: adds up to the bytes in use.
    pub live: Vec<LiveBuffer>,
}

impl MemoryCurve {
    /// The content as a table.
    pub fn table(&self) -> Table {
        table::live_at(&self.live, self.used_bytes)
    }
}

/// The memory `memory`, as reports name it, in a number of columns, and its content at `at`, or else at its peak.
///
/// # Errors
///
/// No memory of this name has events in the scope.
pub fn memory_curve(
    cx: &Context<'_>,
    memory: &str,
    at: Option<Timestamp>,
    columns: usize,
) -> Result<MemoryCurve> {
    let window = cx.host_window()?;
    let recorded = RecordedMemory::of(cx.model);
    let missing = || {
        AnalysisError::NotApplicable(format!("the use of {memory} is not recorded in this scope"))
    };
    let timeline = recorded
        .memories()
        .find(|(key, _)| key.title(cx.model) == memory);
    let (_, events) = timeline.ok_or_else(missing)?;
    let replay = replay::replay(events, window);
    let peak = replay.peak.ok_or_else(missing)?;
    let peak_at = replay.peak_at;
    // The peak can be an event before the window, whose values apply from its start.
    let at = at.map_or(peak_at, |at| at.max(window.start).min(window.end));
    let upto = if at == peak_at {
        peak + 1
    } else {
        events.partition_point(|event| event.at <= at)
    };
    let before = events.get(..upto).unwrap_or_default();
    let live = before
        .last()
        .map(|last| live::at_peak(cx.model, events, last, &replay::live_after(before)));
    Ok(MemoryCurve {
        memory: memory.to_owned(),
        window,
        columns: highest(events, window, columns),
        peak_at,
        at,
        used_bytes: before.last().map_or(0, MemoryEvent::used),
        live: live.unwrap_or_default(),
    })
}

/// Most bytes in use in each part of a window.
fn highest(events: &[MemoryEvent], window: TimeRange, columns: usize) -> Vec<Option<i64>> {
    let width = window.dur().as_ps_f64() / columns.max(1) as f64;
    let column = |time: Timestamp| {
        let column = (time - window.start).as_ps_f64() / width.max(f64::MIN_POSITIVE);
        (column.max(0.0) as usize).min(columns.saturating_sub(1))
    };
    let mut highest: Vec<Option<i64>> = vec![None; columns];
    for (number, event) in events
        .iter()
        .enumerate()
        .take_while(|(_, event)| event.at <= window.end)
    {
        let until = events
            .get(number + 1)
            .map_or(window.end, |next| next.at.min(window.end));
        if until < window.start {
            continue;
        }
        let covered = highest
            .get_mut(column(event.at)..=column(until))
            .unwrap_or_default();
        for most in covered {
            *most = (*most).max(Some(event.used()));
        }
    }
    highest
}
