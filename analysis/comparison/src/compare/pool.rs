//! Pools several runs of one side.

use device_reports::StepPart;
use facts::prelude::*;

use super::change::TestOptions;
use super::matching::match_ops;
use super::summary::{OpTimes, ProgramFacts, StepSeries, Summary};

/// One side: its runs, and their ops under the names of the first run.
pub(super) struct PooledRuns<'a> {
    pub runs: &'a [Summary],
    pub ops: Vec<PooledOp<'a>>,
    /// The ops of all runs as one run, for matching, with the same indices.
    pub merged: Summary,
}

/// A part of the step, and of idle time its cause.
pub(super) type RestKey = (StepPart, Option<String>);

/// An op of all runs of a side.
pub(super) struct PooledOp<'a> {
    /// The op in one of the runs.
    pub op: &'a OpTimes,
    /// Its times in the steps of each run; 0 if a run does not have it.
    pub values: Vec<Vec<f64>>,
    /// Mean over the runs of their interquartile means.
    pub middle_ps: f64,
}

impl<'a> PooledRuns<'a> {
    /// `steps` is the maximum number of values per run.
    pub(crate) fn of(runs: &'a [Summary], steps: usize) -> Self {
        let lengths: Vec<usize> = runs
            .iter()
            .map(|run| sampled_steps(run).min(steps))
            .collect();
        let share = 1.0 / runs.len().max(1) as f64;
        let mut merged = Summary::default();
        let mut ops: Vec<PooledOp<'a>> = Vec::new();
        let mut known = BTreeMap::new();
        for (k, run) in runs.iter().enumerate() {
            let programs: Vec<usize> = run
                .facts
                .programs
                .iter()
                .map(|p| program_in(&mut merged, &mut known, p))
                .collect();
            let matching = match_ops(&merged, run);
            let mut place: Vec<Option<usize>> = vec![None; run.ops.len()];
            for pair in &matching.pairs {
                place[pair.cand] = Some(pair.base);
            }
            for (op, place) in run.ops.iter().zip(place) {
                let index = place.unwrap_or_else(|| {
                    let values = lengths.iter().map(|&n| vec![0.0; n]).collect();
                    ops.push(PooledOp {
                        op,
                        values,
                        middle_ps: 0.0,
                    });
                    let program = op.program.and_then(|index| programs.get(index)).copied();
                    merged.ops.push(OpTimes {
                        program,
                        values: Vec::new(),
                        ..op.clone()
                    });
                    ops.len() - 1
                });
                let Some(slot) = ops.get_mut(index) else {
                    continue;
                };
                slot.middle_ps += op.middle_ps * share;
                if let Some(values) = slot.values.get_mut(k) {
                    *values = super::summary::thinned(&op.values, values.len());
                }
            }
        }
        Self { runs, ops, merged }
    }

    /// A number of each step of each run.
    pub(crate) fn series(&self, id: &str, steps: usize) -> Vec<Vec<f64>> {
        let values = |run: &Summary| Some(super::summary::thinned(&run.step_values(id)?, steps));
        self.runs
            .iter()
            .filter_map(values)
            .filter(|values| !values.is_empty())
            .collect()
    }

    /// The description of a series, from the first run that has it.
    pub(crate) fn series_facts(&self, id: &str) -> Option<&'a StepSeries> {
        self.runs.iter().find_map(|run| run.series(id))
    }

    /// Interquartile mean step, averaged over the runs.
    pub(crate) fn middle_ps(&self) -> f64 {
        mean(self.runs.iter().map(|run| run.steps.middle_ps))
    }

    /// Ops whose time is known only as a sum.
    pub(crate) fn not_listed(&self) -> usize {
        self.runs.iter().map(|run| run.ops_not_listed).sum()
    }

    /// Ops below this time may be missing; 0 if all are listed.
    pub(crate) fn listed_from_ps(&self) -> f64 {
        self.runs
            .iter()
            .map(Summary::listed_from_ps)
            .fold(0.0, f64::max)
    }

    /// Time of parts that belongs to no listed op, with the cause of idle time unless `is_plain`.
    pub(crate) fn rest(&self, is_plain: bool) -> BTreeMap<RestKey, f64> {
        let mut sums: BTreeMap<RestKey, f64> = BTreeMap::new();
        for rest in self.runs.iter().flat_map(|run| &run.rest) {
            let cause = rest.cause.clone().filter(|_| !is_plain);
            *sums.entry((rest.part, cause)).or_default() += rest.middle_ps / self.runs.len() as f64;
        }
        sums
    }

    /// Whether every run has causes of idle time.
    pub(crate) fn knows_causes(&self) -> bool {
        self.runs
            .iter()
            .all(|run| run.rest.iter().any(|rest| rest.cause.is_some()))
    }

    /// Median step time, for effect sizes.
    pub(crate) fn step_ps(&self) -> f64 {
        let all: Vec<f64> = self.series("step.time_ps", usize::MAX).concat();
        math::stats::median(&all).unwrap_or(0.0)
    }
}

/// Steps in which the times of ops are known.
pub(super) fn sampled_steps(run: &Summary) -> usize {
    run.ops.iter().map(|op| op.values.len()).max().unwrap_or(0)
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len().max(1) as f64;
    values.sum::<f64>() / count
}

/// Programs by name and fingerprint.
type ProgramNumbers<'a> = BTreeMap<(&'a str, Option<&'a str>), usize>;

fn program_in<'a>(
    merged: &mut Summary,
    known: &mut ProgramNumbers<'a>,
    program: &'a ProgramFacts,
) -> usize {
    let programs = &mut merged.facts.programs;
    *known
        .entry((&program.name, program.id.as_deref()))
        .or_insert_with(|| {
            programs.push(program.clone());
            programs.len() - 1
        })
}

/// Smallest relevant change of a step time.
pub(super) fn effect_ps(base: &PooledRuns<'_>, options: &TestOptions) -> f64 {
    base.step_ps() * options.min_effect_percent / 100.0
}
