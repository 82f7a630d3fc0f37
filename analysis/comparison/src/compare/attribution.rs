//! Attributes the change of a step to ops and kinds of ops, so that all parts add up to it.

use device_reports::StepPart;
use facts::prelude::*;

use super::change::{MetricChange, TestOptions};
use super::change_rows::{ChangeRow, StepTimesOfSides, correct, rows, tested, values};
use super::matching::MatchedBy;
use super::pool::{PooledOp, PooledRuns, effect_ps};
use super::uses::{UseChange, change_of, uses};
use super::work::OpPurpose;

/// The change of the interquartile mean step, divided among rows; rows and rest add up to it.
#[engine::reported]
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

/// A change as a share of the step of the base.
#[derive(Clone, Copy, Debug, Default, engine::Columns)]
#[columns(derived)]
pub struct ShareOfBaseStep {
    #[column("Of base step")]
    pub change_of_step_percent: Option<Percent>,
}

impl Attribution {
    pub(super) fn share_of_step(&self, change_ps: f64) -> ShareOfBaseStep {
        ShareOfBaseStep {
            change_of_step_percent: Percent::ratio(change_ps, self.base_ps),
        }
    }
}

/// An op on two sides.
#[engine::row(derived)]
pub struct OpChange {
    /// Name on the first side.
    #[column(id = "op", with = Self::name)]
    pub base_name: Option<String>,
    /// Name on the second side.
    pub cand_name: Option<String>,
    /// Its time in each step.
    #[column(id = "base_ps", with = |op| Some(op.change.base.filter(|_| op.base_name.is_some())?.median))]
    #[column(id = "cand_ps", with = |op| Some(op.change.cand.filter(|_| op.cand_name.is_some())?.median))]
    #[column(id = "change_ps", with = |op| op.change.change)]
    #[column(id = "change_percent", with = |op| op.change.change_percent.filter(|_| op.how.is_some()))]
    #[column(id = "verdict", with = Self::verdict)]
    #[column("p", id = "p", with = |op| op.change.tested_p().filter(|_| op.how.is_some()))]
    #[serde(flatten)]
    pub change: MetricChange,
    /// Why the two count as the same op.
    #[column(id = "matched")]
    pub how: Option<MatchedBy>,
    /// Confidence of the match, from 0 to 1.
    #[column("Sure", id = "confidence_percent", with = |op| Some(Percent(100.0 * op.confidence?)))]
    pub confidence: Option<f64>,
    /// Category, of the second side if it has one.
    #[column]
    pub category: String,
    /// `file:line`, of the second side if it has one.
    #[column]
    pub source: Option<String>,
    /// Program.
    #[column]
    pub program: String,
    /// Executions in a step on the first side.
    #[column("Runs, base")]
    pub base_runs: Option<f64>,
    /// Executions in a step on the second side.
    #[column("Runs, cand")]
    pub cand_runs: Option<f64>,
    /// Shape on both sides, if it changed.
    #[column(with = |op| op.shapes.as_ref().map(|(base, cand)| format!("{base} → {cand}")))]
    pub shapes: Option<(String, String)>,
    /// The part of the step.
    pub part: StepPart,
    /// What its time is used for, of the second side if it has one.
    pub time_use: TimeUse,
    /// The ops that it is counted with: those that do the same.
    pub group: String,
    /// What it does on the first side, if that is something else.
    #[serde(skip)]
    pub(super) base_work: Option<OpPurpose>,
    /// Whether it is communication between devices; its time is then exposed.
    pub is_collective: bool,
    /// Its share of the change of the mean step.
    pub change_ps: f64,
}

impl OpChange {
    /// Whether a group counts its time on the first side, and on the second.
    pub(super) fn is_counted_with(&self, time_use: TimeUse, group: &str) -> (bool, bool) {
        let is_now = self.time_use == time_use && self.group == group;
        let is_before = self.base_work.as_ref().map_or(is_now, |work| {
            work.time_use == time_use && work.group == group
        });
        (is_before, is_now)
    }
}

pub(super) struct DividedChange {
    pub attribution: Option<Attribution>,
    pub ops: Vec<OpChange>,
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
        .map(|row| [values(row.base, base), values(row.cand, cand)])
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
            change_ps: change_of(base.middle_ps(), cand.middle_ps()),
            uses: uses(base, cand, &rows, &rest, options),
        }),
        ops,
    }
}

fn op_change(row: &ChangeRow<'_>, change: MetricChange) -> Option<OpChange> {
    let op = row.any()?;
    let name = |side: Option<&PooledOp<'_>>| side.map(|side| side.op.name.clone());
    let shape = |side: Option<&PooledOp<'_>>| side.and_then(|side| side.op.shape.clone());
    let runs = |side: Option<&PooledOp<'_>>| side.map(|side| side.op.runs);
    let (before, after) = row.middle();
    let work = OpPurpose::of(op);
    let base_work = row
        .base
        .map(|base| OpPurpose::of(base.op))
        .filter(|before| *before != work);
    let OpPurpose { time_use, group } = work;
    Some(OpChange {
        base_work,
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
        change_ps: change_of(before, after),
        change,
    })
}
