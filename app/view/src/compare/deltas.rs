//! The changes of matching steps, as shapes between two timelines: each shape
//! connects the step of A above with the step of B below.
//!
//! ```text
//! A   |   0   |   1   |
//!     |+2 ms   \+1 ms  \
//! B   |    0    |   1    |
//! ```

use crate::prelude::*;
use analysis::compare::{ChangeVerdict, Comparison};

use super::{StepAlignment, TraceSide};
use crate::palette::ColorKey;
use crate::time_format::TimeFormat;
use crate::viewport::Viewport;

/// Steps narrower than this are merged.
const NARROWEST: f64 = 5.0;

/// Direction of a change, which determines colour and sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeltaTone {
    /// B takes longer.
    Slower,
    /// B takes less.
    Faster,
    /// Within noise.
    Noise,
}

impl DeltaTone {
    /// The colour; gray for noise.
    pub fn color(self) -> ColorKey {
        match self {
            // Not the strongest colours: the lane must not distract from the timelines.
            Self::Slower => ColorKey::of_change(1.5),
            Self::Faster => ColorKey::of_change(0.65),
            Self::Noise => ColorKey::of_group(OpGroup::Idle),
        }
    }
}

/// A step, or several too narrow to distinguish.
#[derive(Debug)]
pub struct TimeDelta {
    /// Left and right end at the top.
    pub top: (f32, f32),
    /// Left and right end at the bottom.
    pub bottom: (f32, f32),
    /// Index of the first step, and the number of steps.
    pub steps: (usize, usize),
    /// Time of B minus time of A, on the slowest cores.
    pub change_ps: i64,
    /// The change as a percentage of A.
    pub percent: Option<Percent>,
}

/// `+1.2 ms (+3.4 %)`.
pub fn change_text(format: TimeFormat, change_ps: f64, share: Option<Percent>) -> String {
    let change = Picos::rounded(change_ps);
    let sign = if change > Picos::ZERO { "+" } else { "" };
    let share = share.map_or_else(String::new, |share| format!(" ({share:+.1})"));
    format!("{sign}{}{share}", format.text(change))
}

/// The direction of a change: noise if the steps as a whole do not differ, or if equal runs vary by as much.
pub fn tone_of(change_ps: i64, comparison: Option<&Comparison>) -> DeltaTone {
    let steps = comparison
        .and_then(|comparison| comparison.steps.iter().find(|row| row.id == "step.time_ps"));
    let is_noise = steps.is_some_and(|steps| {
        steps.change.finding == ChangeVerdict::Noise
            || steps
                .change
                .noise
                .is_some_and(|noise| change_ps.unsigned_abs() as f64 <= noise)
    });
    match change_ps {
        _ if is_noise => DeltaTone::Noise,
        1.. => DeltaTone::Slower,
        0 => DeltaTone::Noise,
        _ => DeltaTone::Faster,
    }
}

/// The visible shapes for views of A and B that are `width` points wide.
pub fn deltas(alignment: &StepAlignment, views: [&Viewport; 2], width: f32) -> Vec<TimeDelta> {
    let steps = alignment.steps();
    let width = f64::from(width);
    let visible = TraceSide::BOTH.map(|side| {
        let (range, i) = (views[side.index()].range(), side.index());
        let first = steps.partition_point(|step| step.ranges[i].end <= range.start);
        (
            first,
            steps.partition_point(|step| step.ranges[i].start < range.end),
        )
    });
    let (first, end) = (
        visible[0].0.min(visible[1].0),
        visible[0].1.max(visible[1].1),
    );
    let mut out: Vec<TimeDelta> = Vec::new();
    let mut open: Option<(usize, usize)> = None;
    for step in first..end.min(steps.len()) {
        let from = open.map_or(step, |(from, _)| from);
        open = Some((from, step + 1 - from));
        let delta = delta(alignment, views, width, from, step + 1 - from);
        let wide = |(left, right): (f32, f32)| f64::from(right - left) >= NARROWEST;
        if wide(delta.top) || wide(delta.bottom) {
            out.push(delta);
            open = None;
        }
    }
    out.extend(open.map(|(from, count)| delta(alignment, views, width, from, count)));
    out
}

fn delta(
    alignment: &StepAlignment,
    views: [&Viewport; 2],
    width: f64,
    from: usize,
    count: usize,
) -> TimeDelta {
    let steps = &alignment.steps()[from..from + count];
    let ends = |side: TraceSide| {
        let (i, view) = (side.index(), views[side.index()]);
        // Positions far outside are clamped; slopes stay accurate enough.
        let x = |time| (view.fraction(time) * width).clamp(-4.0 * width, 5.0 * width) as f32;
        match (steps.first(), steps.last()) {
            (Some(first), Some(last)) => (x(first.ranges[i].start), x(last.ranges[i].end)),
            _ => (0.0, 0.0),
        }
    };
    let [a, b] = alignment.times_ps(from, count);
    let change_ps = b.saturating_sub(a);
    let percent = Percent::of(Picos::from_ps(change_ps), Picos::from_ps(a));
    TimeDelta {
        top: ends(TraceSide::A),
        bottom: ends(TraceSide::B),
        steps: (from, count),
        change_ps,
        percent,
    }
}
