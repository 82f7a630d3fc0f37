//! Attributes the change of a step to ops and kinds of ops, so that all parts add up to it.

use std::collections::BTreeMap;

use device_reports::steps::step_parts::StepPart;
use engine::Percent;
use facts::time_use::TimeUse;
use math::rank_test::{StepDown, holm};
use serde::Serialize;

use super::change::{ChangeVerdict, MetricChange, TestOptions};
use super::matching::{MatchedBy, match_ops};
use super::pool::{PooledOp, PooledRuns, RestKey, effect_ps};
use super::summary::OpTimes;
use super::uses::{UseChange, uses};
use super::work::OpWork;

/// The change of the interquartile mean step, divided among rows; rows and rest add up to it.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Attribution {
    /// Interquartile mean step of the first side.
    pub base_ps: f64,
    /// Interquartile mean step of the second side.
    pub cand_ps: f64,
    /// Second minus first.
    pub change_ps: f64,
    /// What the time of the step is used for, largest change first.
    pub uses: Vec<UseChange>,
}

/// An op on two sides.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema, engine::Columns)]
#[columns(derived)]
pub struct OpChange {
    /// Name on the first side.
    #[column("Op", id = "op", with = Self::name)]
    pub base_name: Option<String>,
    /// Name on the second side.
    pub cand_name: Option<String>,
    /// Its time in each step.
    #[column("Base", id = "base_ps", with = |op| Some(op.change.base.filter(|_| op.base_name.is_some())?.median))]
    #[column("Cand", id = "cand_ps", with = |op| Some(op.change.cand.filter(|_| op.cand_name.is_some())?.median))]
    #[column("Change", id = "change_ps", with = |op| op.change.change)]
    #[column("Change", id = "change_percent", with = |op| op.change.change_percent.filter(|_| op.how.is_some()))]
    #[column("Verdict", id = "verdict", with = Self::verdict)]
    #[column("p", id = "p", with = |op| op.change.tested_p().filter(|_| op.how.is_some()))]
    #[serde(flatten)]
    pub change: MetricChange,
    /// Why the two count as the same op.
    #[column("Matched", id = "matched")]
    pub how: Option<MatchedBy>,
    /// Confidence of the match, from 0 to 1.
    #[column("Sure", id = "confidence_percent", with = |op| Some(Percent(100.0 * op.confidence?)))]
    pub confidence: Option<f64>,
    /// Category, of the second side if it has one.
    #[column("Category")]
    pub category: String,
    /// `file:line`, of the second side if it has one.
    #[column("Source")]
    pub source: Option<String>,
    /// Program.
    #[column("Program")]
    pub program: String,
    /// Executions in a step on the first side.
    #[column("Runs, base")]
    pub base_runs: Option<f64>,
    /// Executions in a step on the second side.
    #[column("Runs, cand")]
    pub cand_runs: Option<f64>,
    /// Shape on both sides, if it changed.
    #[column("Shapes", with = |op| op.shapes.as_ref().map(|(base, cand)| format!("{base} → {cand}")))]
    pub shapes: Option<(String, String)>,
    /// The part of the step.
    pub part: StepPart,
    /// What its time is used for, of the second side if it has one.
    pub time_use: TimeUse,
    /// The ops that it is counted with: those that do the same.
    pub group: String,
    /// Whether it is communication between devices; its time is then exposed.
    pub is_collective: bool,
    /// Its share of the change of the mean step.
    pub change_ps: f64,
}

pub(super) struct DividedChange {
    pub attribution: Option<Attribution>,
    pub ops: Vec<OpChange>,
}

/// Time that belongs to no listed op, on both sides.
pub(super) type RestOfSides = BTreeMap<RestKey, (f64, f64)>;

/// Times in the steps of each run, of both sides.
pub(super) type StepTimesOfSides = (Vec<Vec<f64>>, Vec<Vec<f64>>);

/// A pair of ops, or an op that exists on one side only.
pub(super) struct ChangeRow<'a> {
    base: Option<&'a PooledOp<'a>>,
    cand: Option<&'a PooledOp<'a>>,
    how: Option<(MatchedBy, f64)>,
    program: &'a str,
}

impl<'a> ChangeRow<'a> {
    /// The op of each side that has it: 0 is the first side.
    pub(super) fn sides(&self) -> impl Iterator<Item = (&'a PooledOp<'a>, usize)> + use<'a> {
        let sides = [self.base, self.cand].into_iter().zip(0..);
        sides.filter_map(|(op, side)| Some((op?, side)))
    }
    fn any(&self) -> Option<&OpTimes> {
        self.cand.or(self.base).map(|op| op.op)
    }
    fn middle(&self) -> (f64, f64) {
        (
            self.base.map_or(0.0, |op| op.middle_ps),
            self.cand.map_or(0.0, |op| op.middle_ps),
        )
    }
}

/// Matches the ops of two sides and attributes the change to them.
pub(super) fn divide(
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
    options: &TestOptions,
) -> DividedChange {
    if base.ops.is_empty() || cand.ops.is_empty() {
        return DividedChange {
            attribution: None,
            ops: Vec::new(),
        };
    }
    let (rows, rest) = rows(base, cand);
    let mut changes: Vec<MetricChange> = rows
        .iter()
        .map(|row| tested(row, base, cand, options))
        .collect();
    let effect = effect_ps(base, options);
    let sides: Vec<StepTimesOfSides> = rows
        .iter()
        .map(|row| (values(row.base, base), values(row.cand, cand)))
        .collect();
    correct(&mut changes, &sides, effect, options);
    let mut ops: Vec<OpChange> = rows
        .iter()
        .zip(changes)
        .filter_map(|(row, change)| op_change(row, change))
        .collect();
    ops.sort_by(|a, b| {
        let name = |op: &OpChange| {
            (
                op.cand_name.clone().or(op.base_name.clone()),
                op.program.clone(),
            )
        };
        b.change_ps
            .abs()
            .total_cmp(&a.change_ps.abs())
            .then_with(|| name(a).cmp(&name(b)))
    });
    DividedChange {
        attribution: Some(Attribution {
            base_ps: base.middle_ps(),
            cand_ps: cand.middle_ps(),
            change_ps: cand.middle_ps() - base.middle_ps(),
            uses: uses(base, cand, &rows, &rest, options),
        }),
        ops,
    }
}

/// The matched rows, and for each part and side the time that belongs to no listed op. An op that exists on one side only
/// and is smaller than the smallest op that the other side lists belongs to the rest.
fn rows<'a>(
    base: &'a PooledRuns<'a>,
    cand: &'a PooledRuns<'a>,
) -> (Vec<ChangeRow<'a>>, RestOfSides) {
    let matching = match_ops(&base.merged, &cand.merged);
    let mut rest = RestOfSides::new();
    // Causes of idle time that one side does not know are not compared.
    let is_plain = !(base.knows_causes() && cand.knows_causes());
    for (key, time) in base.rest(is_plain) {
        rest.entry(key).or_default().0 += time;
    }
    for (key, time) in cand.rest(is_plain) {
        rest.entry(key).or_default().1 += time;
    }
    let program = |pool: &'a PooledRuns<'a>, index: usize| {
        let program = pool.merged.ops.get(index).and_then(|op| op.program);
        program
            .and_then(|at| pool.merged.facts.programs.get(at))
            .map_or("", |program| program.name.as_str())
    };
    let mut rows: Vec<ChangeRow<'a>> = Vec::new();
    for pair in &matching.pairs {
        let (first, second) = (base.ops.get(pair.base), cand.ops.get(pair.cand));
        let how = Some((pair.how, pair.confidence));
        rows.push(ChangeRow {
            base: first,
            cand: second,
            how,
            program: program(cand, pair.cand),
        });
    }
    let too_small = (cand.listed_from_ps(), base.listed_from_ps());
    for &index in &matching.base_only {
        let Some(op) = base.ops.get(index) else {
            continue;
        };
        if op.middle_ps <= too_small.0 {
            rest.entry((op.op.part, None)).or_default().0 += op.middle_ps;
        } else {
            rows.push(ChangeRow {
                base: Some(op),
                cand: None,
                how: None,
                program: program(base, index),
            });
        }
    }
    for &index in &matching.cand_only {
        let Some(op) = cand.ops.get(index) else {
            continue;
        };
        if op.middle_ps <= too_small.1 {
            rest.entry((op.op.part, None)).or_default().1 += op.middle_ps;
        } else {
            rows.push(ChangeRow {
                base: None,
                cand: Some(op),
                how: None,
                program: program(cand, index),
            });
        }
    }
    (rows, rest)
}

/// Times in the steps of each run; zero if the side does not have the op.
pub(super) fn values(op: Option<&PooledOp<'_>>, pool: &PooledRuns<'_>) -> Vec<Vec<f64>> {
    match op {
        Some(op) => op.values.clone(),
        None => pool
            .ops
            .first()
            .map(|any| any.values.iter().map(|v| vec![0.0; v.len()]).collect())
            .unwrap_or_default(),
    }
}

fn tested(
    row: &ChangeRow<'_>,
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
    options: &TestOptions,
) -> MetricChange {
    let mut change =
        MetricChange::tested(&values(row.base, base), &values(row.cand, cand), options);
    if row.base.is_none() || row.cand.is_none() {
        change.finding = ChangeVerdict::OneSided;
    }
    change
}

/// Applies Holm's correction to all tests. Ops that take less than `effect` in every step of both sides are not tested:
/// they cannot change by that much, and each additional test reduces the power of the others.
pub(super) fn correct(
    changes: &mut [MetricChange],
    sides: &[StepTimesOfSides],
    effect: f64,
    options: &TestOptions,
) {
    let matters = |(base, cand): &StepTimesOfSides| {
        base.iter()
            .chain(cand)
            .flatten()
            .any(|&value| value >= effect)
    };
    let is_asked = |&i: &usize| changes[i].finding == ChangeVerdict::Noise && matters(&sides[i]);
    let asked: Vec<usize> = (0..changes.len()).filter(is_asked).collect();
    let p: Vec<f64> = asked.iter().map(|&i| changes[i].p.unwrap_or(1.0)).collect();
    for change in changes.iter_mut() {
        change.p = None;
    }
    let steps = StepDown::of(&p);
    for (&i, p) in asked.iter().zip(holm(&p)) {
        let (change, (base, cand)) = (&mut changes[i], &sides[i]);
        change.p = Some(p);
        let least = || MetricChange::least_p(base, cand).map(|least| steps.corrected(least));
        if p > options.alpha && least().is_some_and(|least| least > options.alpha) {
            change.give_up();
        }
        change.conclude(base, cand, effect, options);
    }
}

fn op_change(row: &ChangeRow<'_>, change: MetricChange) -> Option<OpChange> {
    let op = row.any()?;
    let name = |side: Option<&PooledOp<'_>>| side.map(|side| side.op.name.clone());
    let shape = |side: Option<&PooledOp<'_>>| side.and_then(|side| side.op.shape.clone());
    let runs = |side: Option<&PooledOp<'_>>| side.map(|side| side.op.runs);
    let (before, after) = row.middle();
    let OpWork { time_use, group } = OpWork::of(op);
    Some(OpChange {
        time_use,
        group,
        base_name: name(row.base),
        cand_name: name(row.cand),
        program: row.program.to_owned(),
        category: op.category.clone(),
        part: op.part,
        is_collective: op.is_collective,
        source: op.source.clone(),
        how: row.how.map(|(how, _)| how),
        confidence: row.how.map(|(_, confidence)| confidence),
        shapes: shape(row.base).zip(shape(row.cand)).filter(|(a, b)| a != b),
        base_runs: runs(row.base),
        cand_runs: runs(row.cand),
        change_ps: after - before,
        change,
    })
}
