//! Steps of two traces that correspond, and the times in them.
//!
//! ```text
//! A   |   0   |   1   |   2   |        a time in a step of A corresponds to the time at
//! B     |    0    |    1    |          the same distance from the start of the step of B
//! ```

use crate::prelude::*;
use analysis::facts::Step;

use super::TraceSide;
use crate::timeline::bands::short_name;
use crate::viewport::Viewport;

/// A pair of matching steps, of A and of B.
#[derive(Debug, PartialEq)]
pub struct AlignedStep {
    /// Numbers in the reports.
    pub numbers: [u32; 2],
    /// What they are called.
    pub titles: [String; 2],
    pub ranges: [TimeRange; 2],
    /// Times on the slowest core, by the device clock.
    pub times_ps: [i64; 2],
}

/// All pairs, in time order.
#[derive(Debug, Default, PartialEq)]
pub struct StepAlignment {
    steps: Vec<AlignedStep>,
    /// Sums of the step times before each pair, and of all.
    before_ps: Vec<[i128; 2]>,
}

impl StepAlignment {
    /// Pairs by step numbers; numbers that a report does not have are skipped.
    pub fn new(numbers: &[(u32, u32)], a: &StepsReport, b: &StepsReport) -> Self {
        let by_number = |report: &'_ StepsReport| -> BTreeMap<u32, usize> {
            report
                .steps
                .iter()
                .enumerate()
                .map(|(index, step)| (step.number, index))
                .collect()
        };
        let (of_a, of_b) = (by_number(a), by_number(b));
        let pair = |&(first, second): &(u32, u32)| {
            let a: &Step = a.steps.get(*of_a.get(&first)?)?;
            let b: &Step = b.steps.get(*of_b.get(&second)?)?;
            Some(AlignedStep {
                numbers: [first, second],
                titles: [a, b].map(|step| short_name(&step.label, step.number).into_owned()),
                ranges: [a.range()?, b.range()?],
                times_ps: [a.time_ps.ps(), b.time_ps.ps()],
            })
        };
        Self::of(numbers.iter().filter_map(pair).collect())
    }

    /// Sum of the times of `count` steps, of A and of B.
    pub fn times_ps(&self, from: usize, count: usize) -> [i64; 2] {
        let sum_before = |step: usize| {
            self.before_ps
                .get(step)
                .or(self.before_ps.last())
                .copied()
                .unwrap_or_default()
        };
        let (before, after) = (sum_before(from), sum_before(from.saturating_add(count)));
        [0, 1].map(|side| {
            let time = after[side] - before[side];
            i64::try_from(time).unwrap_or(if time < 0 { i64::MIN } else { i64::MAX })
        })
    }

    pub fn steps(&self) -> &[AlignedStep] {
        &self.steps
    }

    /// Whether there are no pairs.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// The step that contains a time or precedes it; the first step for earlier times.
    pub fn step_at(&self, side: TraceSide, time: Timestamp) -> Option<&AlignedStep> {
        let after = self
            .steps
            .partition_point(|step| step.ranges[side.index()].start <= time);
        self.steps.get(after.saturating_sub(1))
    }

    /// The corresponding time of the other side: at the same distance from the start of the matching step, at most its
    /// end.
    pub fn map(&self, side: TraceSide, time: Timestamp) -> Option<Timestamp> {
        let step = self.step_at(side, time)?;
        let (here, other) = (step.ranges[side.index()], step.ranges[side.other().index()]);
        Some(if time >= here.end {
            other.end + (time - here.end)
        } else {
            (other.start + (time - here.start)).min(other.end)
        })
    }

    /// What to add to times of `side` to align a view of it: the steps begin at the same place. Uses the first step
    /// that begins in the left half of the view, else the step in the middle.
    pub fn shift(&self, side: TraceSide, view: &Viewport) -> Option<Picos> {
        let start = |step: &AlignedStep| step.ranges[side.index()].start;
        let (left, middle) = (view.time_at(0.0), view.time_at(0.5));
        let first = self
            .steps
            .get(self.steps.partition_point(|step| start(step) < left));
        let step = match first.filter(|step| start(step) <= middle) {
            Some(step) => step,
            None => self.step_at(side, middle)?,
        };
        Some(step.ranges[side.other().index()].start - start(step))
    }

    /// An alignment of these pairs.
    pub(super) fn of(steps: Vec<AlignedStep>) -> Self {
        let mut sum = [0_i128; 2];
        let mut before_ps = vec![sum];
        for step in &steps {
            for (sum, time) in sum.iter_mut().zip(step.times_ps) {
                *sum += i128::from(time);
            }
            before_ps.push(sum);
        }
        Self { steps, before_ps }
    }
}
