//! Why the mean step changed: what its time is used for on both sides, and the ops that moved.
//!
//! Ops are counted by what they do and not by name ([`OpWork`]): a fusion of XLA that became a kernel is time of matrix
//! products on both sides. Uses add up to the change of the interquartile mean step, groups to that of their use.

use std::collections::BTreeMap;

use device_reports::steps::step_parts::StepPart;
use facts::time_use::TimeUse;
use serde::Serialize;

use super::attribution::{ChangeRow, RestOfSides, correct, values};
use super::change::{ChangeVerdict, MetricChange, TestOptions};
use super::idle::{COMPILE_WAIT, INPUT_WAIT};
use super::pool::{PooledOp, PooledRuns, effect_ps};
use super::work::{self, OpWork};

/// A use of the time of a step on two sides.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct UseChange {
    /// The use.
    pub id: TimeUse,
    /// Its times.
    #[serde(flatten)]
    pub times: TimesOfSides,
    /// Result of the test of its time in each step; `None` where that is known as a mean only.
    pub finding: Option<ChangeVerdict>,
    /// After Holm's correction over all uses.
    pub p: Option<f64>,
    /// Its ops by what they do, largest change first; they add up to it.
    pub groups: Vec<GroupChange>,
}

/// Ops that do the same, or idle time of one cause, on two sides.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct GroupChange {
    /// `XLA bf16 fusions`, `all-reduce`, `mlp/mul`.
    pub name: String,
    /// Its times.
    #[serde(flatten)]
    pub times: TimesOfSides,
    /// Distinct ops of the first side.
    pub base_ops: usize,
    /// Distinct ops of the second side.
    pub cand_ops: usize,
    /// `file:line` of its op with the most time, of the second side if it has one.
    pub source: Option<String>,
    /// Of matrix products: the element type of the weights, of the second side if it has one.
    pub weights: Option<String>,
}

/// Times in the interquartile mean steps of both sides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct TimesOfSides {
    /// In the mean step of the first side.
    pub base_ps: f64,
    /// In the mean step of the second side.
    pub cand_ps: f64,
    /// Second minus first.
    pub change_ps: f64,
}

impl TimesOfSides {
    pub(super) fn new(base_ps: f64, cand_ps: f64) -> Self {
        Self {
            base_ps,
            cand_ps,
            change_ps: cand_ps - base_ps,
        }
    }
}

impl std::iter::Sum for TimesOfSides {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| {
            Self::new(sum.base_ps + next.base_ps, sum.cand_ps + next.cand_ps)
        })
    }
}

/// A group while it is added up: one entry for each side.
#[derive(Default)]
struct GroupSum {
    ops: [usize; 2],
    time_ps: [f64; 2],
    /// The op with the most time of each side.
    largest: [Option<OpOfGroup>; 2],
}

struct OpOfGroup {
    time_ps: f64,
    source: Option<String>,
    weights: Option<String>,
}

impl GroupSum {
    fn add(&mut self, op: &PooledOp<'_>, time_use: TimeUse, side: usize) {
        self.ops[side] += 1;
        self.time_ps[side] += op.middle_ps;
        let largest = &mut self.largest[side];
        if largest
            .as_ref()
            .is_none_or(|largest| largest.time_ps < op.middle_ps)
        {
            let weights = (time_use == TimeUse::MatMul).then(|| work::weight_type(op.op));
            *largest = Some(OpOfGroup {
                time_ps: op.middle_ps,
                source: op.op.source.clone(),
                weights: weights.flatten(),
            });
        }
    }

    fn change(self, name: String) -> GroupChange {
        let [base, cand] = self.largest;
        let largest = cand.or(base);
        let (source, weights) = largest.map_or((None, None), |op| (op.source, op.weights));
        GroupChange {
            name,
            times: TimesOfSides::new(self.time_ps[0], self.time_ps[1]),
            base_ops: self.ops[0],
            cand_ops: self.ops[1],
            source,
            weights,
        }
    }
}

/// A use while it is added up.
#[derive(Default)]
struct UseSum {
    groups: BTreeMap<String, GroupSum>,
    /// Its time in each step of each run, of both sides, without what is known as a mean only.
    steps: [Vec<Vec<f64>>; 2],
    has_rest: bool,
}

/// The uses of the time of a step, largest change first.
pub(super) fn uses(
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
    rows: &[ChangeRow<'_>],
    rest: &RestOfSides,
    options: &TestOptions,
) -> Vec<UseChange> {
    let mut sums: BTreeMap<TimeUse, UseSum> = BTreeMap::new();
    for (op, side) in rows.iter().flat_map(ChangeRow::sides) {
        let OpWork { time_use, group } = OpWork::of(op.op);
        let sum = sums.entry(time_use).or_default();
        sum.groups.entry(group).or_default().add(op, time_use, side);
        add_steps(&mut sum.steps[side], &op.values);
    }
    for ((part, cause), &(before, after)) in rest {
        if before == 0.0 && after == 0.0 {
            continue;
        }
        let id = cause.as_deref().map_or((*part).into(), use_of_idle);
        let sum = sums.entry(id).or_default();
        sum.has_rest = true;
        let name = match (id, cause) {
            (TimeUse::Idle, Some(cause)) => cause.as_str(),
            (TimeUse::Idle | TimeUse::Input | TimeUse::Compile, _) => id.title(),
            _ => "ops not listed",
        };
        let group = sum.groups.entry(name.to_owned()).or_default();
        group.time_ps[0] += before;
        group.time_ps[1] += after;
    }
    let is_split = [TimeUse::Input, TimeUse::Compile]
        .iter()
        .any(|id| sums.contains_key(id));
    let sides: Vec<_> = sums
        .iter()
        .map(|(id, sum)| steps_of(*id, sum, base, cand))
        .collect();
    let mut tests: Vec<MetricChange> = sides
        .iter()
        .map(|(first, second)| MetricChange::tested(first, second, options))
        .collect();
    correct(&mut tests, &sides, effect_ps(base, options), options);
    let mut uses: Vec<UseChange> = sums
        .into_iter()
        .zip(tests)
        .map(|((id, sum), test)| {
            let is_tested = !sum.has_rest || id == TimeUse::Idle && !is_split;
            let groups = sum.groups.into_iter();
            let mut groups: Vec<_> = groups.map(|(name, sum)| sum.change(name)).collect();
            groups.sort_by(|a, b| largest_first(&a.times, &b.times).then(a.name.cmp(&b.name)));
            UseChange {
                id,
                times: groups.iter().map(|group| group.times).sum(),
                finding: is_tested.then_some(test.finding),
                p: test.p.filter(|_| is_tested),
                groups,
            }
        })
        .collect();
    uses.sort_by(|a, b| largest_first(&a.times, &b.times).then(a.id.cmp(&b.id)));
    uses
}

/// Waiting for input and for the compiler are uses of their own.
fn use_of_idle(cause: &str) -> TimeUse {
    match cause {
        INPUT_WAIT => TimeUse::Input,
        COMPILE_WAIT => TimeUse::Compile,
        _ => TimeUse::Idle,
    }
}

fn largest_first(a: &TimesOfSides, b: &TimesOfSides) -> std::cmp::Ordering {
    b.change_ps.abs().total_cmp(&a.change_ps.abs())
}

/// The times of a use in each step; of idle time, which belongs to no op, the recorded series.
fn steps_of(
    id: TimeUse,
    sum: &UseSum,
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
) -> (Vec<Vec<f64>>, Vec<Vec<f64>>) {
    let of = |side: &[Vec<f64>], pool: &PooledRuns<'_>| {
        if id == TimeUse::Idle {
            pool.series(&format!("step.{}", StepPart::Idle.id()), usize::MAX)
        } else if side.is_empty() {
            values(None, pool)
        } else {
            side.to_vec()
        }
    };
    (of(&sum.steps[0], base), of(&sum.steps[1], cand))
}

/// Adds the times of an op in each step of each run.
pub(super) fn add_steps(sums: &mut Vec<Vec<f64>>, values: &[Vec<f64>]) {
    if sums.is_empty() {
        values.clone_into(sums);
        return;
    }
    for (sums, run) in sums.iter_mut().zip(values) {
        for (sum, value) in sums.iter_mut().zip(run) {
            *sum += value;
        }
    }
}
