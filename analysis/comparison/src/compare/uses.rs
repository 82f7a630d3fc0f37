//! Why the mean step changed: what its time is used for on both sides, and the ops that moved.
//!
//! Ops are counted by what they do and not by name ([`OpPurpose`]): a fusion of XLA that became a kernel is time of matrix
//! products on both sides. Uses add up to the change of the interquartile mean step, groups to that of their use.

use device_reports::StepPart;
use facts::prelude::*;

use super::change::{ChangeVerdict, MetricChange, TestOptions};
use super::change_rows::{ChangeRow, RestOfSides, StepTimesOfSides, correct, values};
use super::idle::{COMPILE_WAIT, INPUT_WAIT};
use super::pool::{PooledOp, PooledRuns, effect_ps};
use super::work::{self, OpPurpose};

/// A use of the time of a step on two sides.
#[engine::reported]
pub struct UseChange {
    /// The use.
    pub id: TimeUse,
    /// Its times.
    #[serde(flatten)]
    pub times: TimesOfSides,
    /// Result of the test of its time in each step; untested where that is known as a mean only.
    pub finding: ChangeVerdict,
    /// After Holm's correction over all uses.
    pub p: Option<f64>,
    /// Its ops by what they do, largest change first; they add up to it.
    pub groups: Vec<GroupChange>,
}

/// Ops that do the same, or idle time of one cause, on two sides.
#[engine::reported]
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
    /// Result of the test of the sum of its ops in each step; untested where it is known as a mean only.
    pub finding: ChangeVerdict,
    /// After Holm's correction over all groups.
    pub p: Option<f64>,
    /// `file:line` of the ops that make up most of its change; `None` if no line does.
    pub source: Option<String>,
    /// What part of its change that is.
    #[serde(skip)]
    pub source_part: f64,
    /// The element type of the weights of matrix products, of the second side if it has one.
    pub weights: Option<String>,
}

/// Times in the interquartile mean steps of both sides.
#[engine::reported]
#[derive(Copy, Default)]
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
            change_ps: change_of(base_ps, cand_ps),
        }
    }
}

/// Second minus first, of times that were added up: what rounding leaves of equal ones is no change, because times are
/// recorded in whole picoseconds.
pub(super) fn change_of(base_ps: f64, cand_ps: f64) -> f64 {
    let change = cand_ps - base_ps;
    if change.abs() < 0.5 { 0.0 } else { change }
}

impl std::iter::Sum for TimesOfSides {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, next| {
            Self::new(sum.base_ps + next.base_ps, sum.cand_ps + next.cand_ps)
        })
    }
}

/// Ops of a use while they are added up: one entry for each side.
#[derive(Default)]
struct GroupSum {
    ops: [usize; 2],
    time_ps: [f64; 2],
    /// Its time in each step of each run, as far as ops are listed.
    steps: StepTimesOfSides,
    /// What the ops of each line of source add to the change.
    sources: BTreeMap<String, f64>,
    /// Time and weights of the op with the most time of each side.
    largest: [Option<(f64, Option<String>)>; 2],
}

/// The part of the change of a group above which one line of source is named for it.
const MOST: f64 = 0.5;

impl GroupSum {
    fn add(&mut self, op: &PooledOp<'_>, time_use: TimeUse, side: usize) {
        self.ops[side] += 1;
        self.time_ps[side] += op.middle_ps;
        add_steps(&mut self.steps[side], &op.values);
        if let Some(source) = &op.op.source {
            let sign = if side == 0 { -1.0 } else { 1.0 };
            *self.sources.entry(source.clone()).or_default() += sign * op.middle_ps;
        }
        let largest = &mut self.largest[side];
        if largest
            .as_ref()
            .is_none_or(|largest| largest.0 < op.middle_ps)
        {
            // The type of the result says nothing about the weights.
            let is_known = time_use == TimeUse::MatMul && op.op.operands.is_some();
            let weights = is_known.then(|| work::weight_type(op.op));
            *largest = Some((op.middle_ps, weights.flatten()));
        }
    }

    fn change(self, name: String) -> GroupChange {
        let [base, cand] = self.largest;
        let times = TimesOfSides::new(self.time_ps[0], self.time_ps[1]);
        let share = |change_ps: f64| change_ps / times.change_ps;
        let shares = self
            .sources
            .into_iter()
            .map(|(source, ps)| (source, share(ps)));
        let most = shares
            .filter(|(_, part)| times.change_ps != 0.0 && *part > MOST)
            .max_by(|a, b| a.1.total_cmp(&b.1));
        let (source, source_part) = most.unzip();
        GroupChange {
            name,
            times,
            base_ops: self.ops[0],
            cand_ops: self.ops[1],
            finding: ChangeVerdict::Untested,
            p: None,
            source,
            source_part: source_part.unwrap_or_default(),
            weights: cand.or(base).and_then(|op| op.1),
        }
    }
}

/// The uses of the time of a step, largest change first.
pub(super) fn uses(
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
    rows: &[ChangeRow<'_>],
    rest: &RestOfSides,
    options: &TestOptions,
) -> Vec<UseChange> {
    let mut sums: BTreeMap<(TimeUse, String), GroupSum> = BTreeMap::new();
    for (op, side) in rows.iter().flat_map(ChangeRow::sides) {
        let OpPurpose { time_use, group } = OpPurpose::of(op.op);
        let sum = sums.entry((time_use, group)).or_default();
        sum.add(op, time_use, side);
    }
    for ((part, cause), times) in rest {
        if times.iter().any(|time| *time != 0.0) {
            let sum = sums
                .entry(use_of_rest(*part, cause.as_deref()))
                .or_default();
            for (sum, time) in sum.time_ps.iter_mut().zip(times) {
                *sum += time;
            }
        }
    }
    let mut uses: Vec<UseChange> = Vec::new();
    // Times in each step: of the groups, and of the uses as far as all their groups have them.
    let mut of_groups = Vec::new();
    let mut of_uses = Vec::new();
    for ((id, name), mut sum) in sums {
        if uses.last().is_none_or(|last| last.id != id) {
            uses.push(UseChange::new(id));
            of_uses.push(StepTimesOfSides::default());
        }
        let (Some(one), Some(steps)) = (uses.last_mut(), of_uses.last_mut()) else {
            continue;
        };
        let of_group = std::mem::take(&mut sum.steps);
        for (steps, of_group) in steps.iter_mut().zip(&of_group) {
            add_steps(steps, of_group);
        }
        of_groups.push(of_group);
        one.groups.push(sum.change(name));
    }
    let is_split = uses
        .iter()
        .any(|one| matches!(one.id, TimeUse::Input | TimeUse::Compile));
    for (one, steps) in uses.iter().zip(&mut of_uses) {
        // No op has this time, but the run has a series of it.
        if one.id == TimeUse::Idle && !is_split {
            let idle = format!("step.{}", StepPart::Idle.id());
            *steps = [base, cand].map(|pool| pool.series(&idle, usize::MAX));
        }
    }
    let groups = tests(&mut of_groups, base, cand, options);
    let tested = tests(&mut of_uses, base, cand, options);
    let all_groups = uses.iter_mut().flat_map(|one| &mut one.groups);
    for (group, test) in all_groups.zip(groups) {
        if group.has_ops() {
            (group.finding, group.p) = (test.finding, test.p);
        }
    }
    for (one, test) in uses.iter_mut().zip(tested) {
        let is_idle = one.id == TimeUse::Idle && !is_split;
        if is_idle || one.groups.iter().all(GroupChange::has_ops) {
            (one.finding, one.p) = (test.finding, test.p);
        }
        one.times = one.groups.iter().map(|group| group.times).sum();
        let size = |group: &GroupChange| group.times.change_ps.abs();
        largest_number_first(&mut one.groups, size, |group| &group.name);
    }
    largest_number_first(&mut uses, |one| one.times.change_ps.abs(), |one| &one.id);
    uses
}

/// Tests sums of ops; a side without them has zero in each step.
fn tests(
    sides: &mut [StepTimesOfSides],
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
    options: &TestOptions,
) -> Vec<MetricChange> {
    for both in &mut *sides {
        for (side, pool) in both.iter_mut().zip([base, cand]) {
            if side.is_empty() {
                *side = values(None, pool);
            }
        }
    }
    let mut tests: Vec<MetricChange> = sides
        .iter()
        .map(|[first, second]| MetricChange::tested(first, second, options))
        .collect();
    correct(&mut tests, sides, effect_ps(base, options), options);
    tests
}

impl UseChange {
    fn new(id: TimeUse) -> Self {
        Self {
            id,
            times: TimesOfSides::default(),
            finding: ChangeVerdict::Untested,
            p: None,
            groups: Vec::new(),
        }
    }

    /// Its time on both sides; `None` where none of its groups has any.
    pub(super) fn sides(&self) -> [Option<f64>; 2] {
        let times = [self.times.base_ps, self.times.cand_ps];
        let is_known = |side: usize| {
            let mut groups = self.groups.iter();
            groups.any(|group| group.sides()[side].is_some())
        };
        [0, 1].map(|side| is_known(side).then_some(times[side]))
    }

    /// Whether no op runs.
    pub(super) fn is_idle(&self) -> bool {
        self.id.is_idle()
    }
}

impl GroupChange {
    /// Its source without folders: `layernorm.py:147`.
    pub(super) fn file(&self) -> Option<String> {
        let file = self.source.as_deref()?.rsplit('/').next();
        file.map(str::to_owned)
    }

    /// Whether it is time of listed ops.
    pub(super) fn has_ops(&self) -> bool {
        self.base_ops + self.cand_ops > 0
    }

    /// Its time on both sides; `None` where it has no op, but has one on the other side.
    pub(super) fn sides(&self) -> [Option<f64>; 2] {
        let of = |ops: usize, time: f64| (ops > 0 || time > 0.0 || !self.has_ops()).then_some(time);
        [
            of(self.base_ops, self.times.base_ps),
            of(self.cand_ops, self.times.cand_ps),
        ]
    }
}

/// The use and the name of time that belongs to no listed op.
fn use_of_rest(part: StepPart, cause: Option<&str>) -> (TimeUse, String) {
    let id = cause.map_or(part.into(), use_of_idle);
    let name = match (id, cause) {
        (TimeUse::Idle, Some(cause)) => cause,
        (TimeUse::Idle | TimeUse::Input | TimeUse::Compile, _) => id.title(),
        _ => "ops not listed",
    };
    (id, name.to_owned())
}

/// Waiting for input and for the compiler are uses of their own.
fn use_of_idle(cause: &str) -> TimeUse {
    match cause {
        INPUT_WAIT => TimeUse::Input,
        COMPILE_WAIT => TimeUse::Compile,
        _ => TimeUse::Idle,
    }
}

/// Adds the times of an op in each step of each run.
fn add_steps(sums: &mut Vec<Vec<f64>>, values: &[Vec<f64>]) {
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
