//! Boxes of derived tracks: those too short to be told apart are joined, in the colour of the longest.

use std::sync::Arc;

use super::boxes::{LayoutWindow, MIN_TEXT, MIN_WIDTH};
use super::counters::{CounterBox, value_box};
use crate::palette::ColorKey;
use crate::state::DerivedTrack;
use crate::timeline::derived::{DerivedData, DerivedHit, DerivedLane, DerivedSlice};
use crate::timeline::tree::{GAP, LANE, TrackRow};

/// A slice of a derived track, or several.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedBox {
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub height: f32,
    pub color: ColorKey,
    /// What is written on it; empty where there is no room.
    pub text: Arc<str>,
    /// Where the written part of the text begins.
    from: usize,
    pub hit: DerivedHit,
}

impl DerivedBox {
    /// What is written on it.
    pub fn written(&self) -> &str {
        self.text.get(self.from..).unwrap_or_default()
    }
}

/// A sentence in the row of a derived track.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedRemark {
    pub top: f32,
    pub height: f32,
    pub text: Arc<str>,
}

/// What derived tracks show.
pub(super) struct DerivedRowsDrawn<'a> {
    pub boxes: &'a mut Vec<DerivedBox>,
    pub remarks: &'a mut Vec<DerivedRemark>,
    pub counters: &'a mut Vec<CounterBox>,
}

/// Adds what a derived track shows; `None` while it is being found.
pub(super) fn derived_row(
    window: &LayoutWindow<'_>,
    track: DerivedTrack,
    data: Option<&DerivedData>,
    row: &TrackRow,
    out: &mut DerivedRowsDrawn<'_>,
) {
    let remark = match data {
        None => "computing …",
        Some(data) if data.is_empty() => data.note.as_str(),
        Some(_) => "",
    };
    if !remark.is_empty() {
        out.remarks.push(DerivedRemark {
            top: row.y,
            height: LANE,
            text: remark.into(),
        });
    }
    let Some(data) = data else { return };
    if let Some(bounds) = data.bounds() {
        out.counters.push(values(window, data, row, bounds));
    }
    let empty: Arc<str> = Arc::default();
    for (nth, lane) in data.lanes.iter().enumerate() {
        let (top, height) = (row.y + nth as f32 * (LANE + GAP), LANE);
        if top + height <= 0.0 || top >= window.height {
            continue;
        }
        each_box(window, lane, |(left, right), slice, count| {
            let has_text = count == 1 && right.min(window.width) - left.max(0.0) >= MIN_TEXT;
            let name = data.name(slice).filter(|_| has_text);
            out.boxes.push(DerivedBox {
                left,
                right,
                top,
                height,
                color: slice.color,
                text: name.map_or_else(|| Arc::clone(&empty), |name| Arc::clone(&name.whole)),
                from: name.map_or(0, |name| name.from),
                hit: DerivedHit {
                    track,
                    slice: *slice,
                    count,
                },
            });
        });
    }
}

fn values(
    window: &LayoutWindow<'_>,
    data: &DerivedData,
    row: &TrackRow,
    bounds: (f64, f64),
) -> CounterBox {
    let visible = window.time.range();
    // The value before the visible time holds at its beginning.
    let from = data.values.partition_point(|&(at, _)| at <= visible.start);
    let from = from.saturating_sub(1);
    let until = data.values.partition_point(|&(at, _)| at < visible.end);
    let shown = data.values.get(from..until).unwrap_or_default();
    let ends = data.values.get(from + 1..).unwrap_or_default().iter();
    let last = data.values.last().map_or(visible.end, |&(at, _)| at);
    let ends = ends.map(|&(at, _)| at).chain([last.max(visible.end)]);
    let samples = shown.iter().zip(ends);
    let samples =
        samples.map(|(&(at, value), end)| (trace_model::TimeRange::new(at, end.max(at)), value));
    value_box(window, *row, bounds, samples)
}

/// The boxes of a lane from left to right: their ends, their longest slice, and how many they hold.
fn each_box(
    window: &LayoutWindow<'_>,
    lane: &DerivedLane,
    mut add: impl FnMut((f32, f32), &DerivedSlice, u32),
) {
    let slices = lane.slices();
    let visible = window.time.range();
    let is_wide = |slice: &DerivedSlice| {
        window.x_of(slice.range.end) - window.x_of(slice.range.start) >= f64::from(MIN_WIDTH)
    };
    let clipped = |left: f64, right: f64| {
        let left = left.clamp(-4.0, f64::from(window.width) + 4.0);
        let right = right.clamp(left, f64::from(window.width) + 4.0);
        (left as f32, right as f32)
    };
    let mut at = slices.partition_point(|slice| slice.range.end < visible.start);
    while let Some(slice) = slices
        .get(at)
        .filter(|slice| slice.range.start < visible.end)
    {
        let left = window.x_of(slice.range.start);
        if is_wide(slice) {
            add(clipped(left, window.x_of(slice.range.end)), slice, 1);
            at += 1;
            continue;
        }
        let end = window.time_at(left as f32 + MIN_WIDTH);
        let mut next = slices
            .partition_point(|slice| slice.range.start < end)
            .max(at + 1);
        // Of several only the last can be wide, because they do not overlap.
        if next > at + 1 && slices.get(next - 1).is_some_and(is_wide) {
            next -= 1;
        }
        if let Some(longest) = slices.get(lane.longest(at..next)) {
            let ends = clipped(left, left + f64::from(MIN_WIDTH));
            add(ends, longest, (next - at) as u32);
        }
        at = next;
    }
}
