//! Boxes of derived tracks, and columns of slices that are too short to be told apart.

use crate::prelude::*;

use super::boxes::{LayoutWindow, MIN_TEXT, MIN_WIDTH};
use super::counters::{CounterBox, value_box};
use crate::palette::ColorKey;
use crate::state::DerivedTrack;
use crate::timeline::derived::{
    ColorTimes, DerivedData, DerivedHit, DerivedLane, DerivedSlice, add_time,
};
use crate::timeline::tree::{GAP, LANE, TrackRow};

/// A slice of a derived track, or several.
#[derive(Debug)]
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
#[derive(Debug)]
pub struct DerivedRemark {
    pub top: f32,
    pub height: f32,
    pub text: Arc<str>,
    /// Whether the track is still being found.
    pub is_pending: bool,
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
    (row, bounds): (&TrackRow, Option<(f64, f64)>),
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
            is_pending: data.is_none(),
        });
    }
    let Some(data) = data else { return };
    if let Some(bounds) = bounds {
        out.counters.push(values(window, data, row, bounds));
    }
    for (nth, lane) in data.lanes.iter().enumerate() {
        let top = row.y + nth as f32 * (LANE + GAP);
        if top + LANE > 0.0 && top < window.height {
            let mut boxes = LaneBoxes {
                window,
                data,
                track,
                top,
                out: out.boxes,
            };
            boxes.add(lane);
        }
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
    let from = data
        .values
        .partition_point(|&(time, _)| time <= visible.start)
        .saturating_sub(1);
    let until = data.values.partition_point(|&(time, _)| time < visible.end);
    let shown = data.values.get(from..until).unwrap_or_default();
    let ends = data.values.get(from + 1..).unwrap_or_default().iter();
    let last = data.values.last().map_or(visible.end, |&(time, _)| time);
    let ends = ends.map(|&(time, _)| time).chain([last.max(visible.end)]);
    let samples = shown
        .iter()
        .zip(ends)
        .map(|(&(time, value), end)| (TimeRange::new(time, end.max(time)), value));
    value_box(window, *row, bounds, samples)
}

/// Draws a lane: slices that can be told apart as boxes, the others as columns, of which each colour fills the share of
/// time that its slices cover.
struct LaneBoxes<'a> {
    window: &'a LayoutWindow<'a>,
    data: &'a DerivedData,
    track: DerivedTrack,
    top: f32,
    out: &'a mut Vec<DerivedBox>,
}

/// A column that is being summed up.
#[derive(Default)]
struct ColumnSums {
    times: ColorTimes,
    /// A slice that reaches into the next column, and how far; its column has this number.
    rest: Option<(DerivedSlice, Picos, f64)>,
}

impl LaneBoxes<'_> {
    fn add(&mut self, lane: &DerivedLane) {
        let (window, slices) = (self.window, lane.slices());
        let visible = window.time.range();
        let x_of = |time| window.x_of(time);
        let is_wide = |slice: &DerivedSlice| {
            x_of(slice.range.end) - x_of(slice.range.start) >= f64::from(MIN_WIDTH)
        };
        let mut index = slices.partition_point(|slice| slice.range.end < visible.start);
        let mut column = ColumnSums::default();
        while let Some(slice) = slices
            .get(index)
            .filter(|slice| slice.range.start < visible.end)
        {
            if is_wide(slice) {
                let ends = (x_of(slice.range.start), x_of(slice.range.end));
                self.push(ends, (0.0, LANE), slice, (slice.color, 1));
                index += 1;
                continue;
            }
            let number = (x_of(slice.range.start) / f64::from(MIN_WIDTH)).floor();
            self.begin(number, &mut column);
            let end = window.time_at(((number + 1.0) * f64::from(MIN_WIDTH)) as f32);
            // Times are whole picoseconds: the end may round to the start of a slice at the border.
            let end = end.max(slice.range.start + Picos::from_ps(1));
            let mut next = slices
                .partition_point(|slice| slice.range.start < end)
                .max(index + 1);
            // Of several only the last can be wide, because they do not overlap.
            if next > index + 1 && slices.get(next - 1).is_some_and(is_wide) {
                next -= 1;
            }
            let longest = lane.sums(index..next, &mut column.times);
            if let Some(last) = slices.get(next - 1).filter(|last| last.range.end > end) {
                let beyond = last.range.end - end.max(last.range.start);
                add_time(&mut column.times, last.color, -beyond);
                column.rest = Some((*last, beyond, number + 1.0));
            }
            if let Some(longest) = slices.get(longest) {
                self.column(number, &mut column.times, longest, (next - index) as u32);
            }
            index = next;
        }
        self.begin(f64::INFINITY, &mut column);
    }

    /// Begins a column with what reaches into it, and draws what reached into one before it.
    fn begin(&mut self, number: f64, column: &mut ColumnSums) {
        let Some((last, rest, of)) = column.rest.take() else {
            return;
        };
        add_time(&mut column.times, last.color, rest);
        if of < number {
            self.column(of, &mut column.times, &last, 1);
        }
    }

    /// Draws a column, its colours above each other.
    fn column(&mut self, number: f64, times: &mut ColorTimes, longest: &DerivedSlice, count: u32) {
        let width = f64::from(MIN_WIDTH);
        let whole = self.window.point_ps() * width;
        let left = number * width;
        let mut below = 0.0_f32;
        times.sort_unstable_by_key(|&(color, _)| color);
        for (color, time) in times.drain(..) {
            let share = (time.as_ps_f64() / whole.max(1.0)).clamp(0.0, 1.0);
            // A little work stays visible.
            let height = (share as f32 * LANE).max(1.0).min(LANE - below);
            if height > 0.0 {
                let place = (LANE - below - height, height);
                self.push((left, left + width), place, longest, (color, count));
            }
            below += height;
        }
    }

    fn push(
        &mut self,
        (left, right): (f64, f64),
        (inset, height): (f32, f32),
        slice: &DerivedSlice,
        (color, count): (ColorKey, u32),
    ) {
        let most = f64::from(self.window.width) + 4.0;
        let left = left.clamp(-4.0, most) as f32;
        let right = right.clamp(f64::from(left), most) as f32;
        let has_text = count == 1
            && height >= LANE
            && right.min(self.window.width) - left.max(0.0) >= MIN_TEXT;
        let name = self.data.name(slice).filter(|_| has_text);
        self.out.push(DerivedBox {
            left,
            right,
            top: self.top + inset,
            height,
            color,
            text: name.map_or_else(Arc::default, |name| Arc::clone(&name.whole)),
            from: name.map_or(0, |name| name.from),
            hit: DerivedHit {
                track: self.track,
                slice: *slice,
                count,
            },
        });
    }
}
