//! Counters: constant pieces, at the resolution of the screen.

use crate::prelude::*;
use trace_model::CounterSeries;

use super::boxes::{LayoutWindow, MIN_WIDTH};
use crate::state::TreeItem;
use crate::timeline::counter_peaks::CounterPeaks;
use crate::timeline::scene::DrawnTrace;
use crate::timeline::tree::{TRACK_PAD, TrackRow};

/// A constant piece of a counter.
#[derive(Clone, Copy, Debug)]
pub struct CounterStep {
    pub left: f32,
    pub right: f32,
    /// Height as a share of the track, 0 to 1.
    pub level: f32,
    /// The value (the largest of several).
    pub value: f64,
}

#[derive(Debug)]
pub struct CounterBox {
    /// Index of its node.
    pub node: usize,
    pub top: f32,
    pub height: f32,
    pub steps: Vec<CounterStep>,
    /// Value at full height.
    pub max: f64,
    /// Value at the bottom.
    pub min: f64,
}

pub(super) fn counter_box(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    row: TrackRow,
    (min, max): (f64, f64),
) -> Option<CounterBox> {
    let TreeItem::Track(track) = scene.tree.node(row.node).item else {
        return None;
    };
    let series = scene.model.counter(track)?;
    let visible = window.time.range();
    let count = series.first_after(visible.end) - series.first_after(visible.start);
    let columns = (window.width / MIN_WIDTH) as usize;
    Some(match scene.tree.peaks(track) {
        Some(peaks) if count > 4 * columns => {
            let edge = |column: usize| window.time.time_at(column as f64 / columns.max(1) as f64);
            let parts = (0..columns).map(|column| TimeRange::new(edge(column), edge(column + 1)));
            let samples = parts.filter_map(|part| Some((part, largest_in(series, peaks, part)?)));
            value_box(window, row, (min, max), samples)
        }
        _ => {
            let all = series.samples_in(TimeRange::new(visible.start, visible.end));
            value_box(window, row, (min, max), all)
        }
    })
}

/// Values over time at the resolution of the screen.
pub(super) fn value_box(
    window: &LayoutWindow<'_>,
    row: TrackRow,
    (min, max): (f64, f64),
    samples: impl Iterator<Item = (TimeRange, f64)>,
) -> CounterBox {
    let height = if max > min { max - min } else { 1.0 };
    let mut steps: Vec<CounterStep> = Vec::new();
    for (range, value) in samples {
        let width = f64::from(window.width);
        let left = (window.time.fraction(range.start) * width).max(-4.0) as f32;
        let right = (window.time.fraction(range.end) * width).min(width + 4.0) as f32;
        let step = CounterStep {
            left,
            right,
            level: ((value - min) / height) as f32,
            value,
        };
        match steps.last_mut() {
            // Pieces too narrow to see keep the largest, so that peaks stay.
            Some(last) if right - last.left < MIN_WIDTH => {
                last.right = right;
                if value > last.value {
                    (last.level, last.value) = (step.level, value);
                }
            }
            _ => steps.push(step),
        }
    }
    CounterBox {
        node: row.node,
        top: row.y,
        height: row.height - TRACK_PAD,
        steps,
        max,
        min,
    }
}

/// The largest value that a counter has in a range.
fn largest_in(series: &CounterSeries, peaks: &CounterPeaks, range: TimeRange) -> Option<f64> {
    let ended = series.first_after(range.start)..series.first_after(range.end);
    let ended = peaks.largest(ended);
    let last = series.value_at(range.end - Picos::from_ps(1));
    match (ended, last) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (value, None) | (None, value) => value,
    }
}

impl CounterBox {
    /// Height at which a level is drawn, from the top of its row.
    pub fn y(&self, level: f32) -> f32 {
        self.height - 1.0 - level.clamp(0.0, 1.0) * (self.height - 8.0)
    }
}
