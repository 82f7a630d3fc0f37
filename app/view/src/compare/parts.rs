//! The changes of each step part.

use crate::prelude::*;
use analysis::reports::{DividedStep, StepPart, StepPartsReport};

use super::StepAlignment;

const PARTS: usize = StepPart::ALL.len();

/// Changes of the parts of matching steps.
#[derive(Debug, Default)]
pub struct PartChanges {
    /// Prefix sums over the steps: B minus A by part.
    before_ps: Vec<[i128; PARTS]>,
    /// Prefix sums: number of steps without parts.
    unknown: Vec<usize>,
}

impl PartChanges {
    /// From the slowest cores.
    pub fn new(alignment: &StepAlignment, divided: [Option<&StepPartsReport>; 2]) -> Self {
        let by_number = divided.map(|report| -> BTreeMap<u32, &DividedStep> {
            report
                .map_or(&[][..], |report| &report.steps)
                .iter()
                .map(|step| (step.step, step))
                .collect()
        });
        let parts =
            |side: usize, number: u32| Some(by_number.get(side)?.get(&number)?.critical()?.parts);
        let (mut sum, mut unknown) = ([0_i128; PARTS], 0);
        let mut changes = Self {
            before_ps: vec![sum],
            unknown: vec![0],
        };
        for step in alignment.steps() {
            match (parts(0, step.numbers[0]), parts(1, step.numbers[1])) {
                (Some(a), Some(b)) => {
                    for (sum, part) in sum.iter_mut().zip(StepPart::ALL) {
                        *sum += i128::from(b.get(part).ps()) - i128::from(a.get(part).ps());
                    }
                }
                _ => unknown += 1,
            }
            changes.before_ps.push(sum);
            changes.unknown.push(unknown);
        }
        changes
    }

    /// The changes over `count` steps, the largest first; `None` if a step has no parts on both sides.
    pub fn of(&self, from: usize, count: usize) -> Option<Vec<(StepPart, i64)>> {
        let end = from.checked_add(count)?;
        if self.unknown.get(from)? != self.unknown.get(end)? {
            return None;
        }
        let (before, after) = (self.before_ps.get(from)?, self.before_ps.get(end)?);
        let change = |(index, part)| {
            let change = after.get::<usize>(index)? - before.get::<usize>(index)?;
            (change != 0).then(|| (part, i64::try_from(change).unwrap_or(i64::MAX)))
        };
        let mut changes: Vec<(StepPart, i64)> = StepPart::ALL
            .into_iter()
            .enumerate()
            .filter_map(change)
            .collect();
        changes.sort_by_key(|&(_, ps)| Reverse(ps.unsigned_abs()));
        Some(changes)
    }
}
