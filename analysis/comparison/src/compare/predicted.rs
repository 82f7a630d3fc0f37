//! Compares a prediction with a measurement: the errors of a simulator by op.
//!
//! If one side was simulated and the other measured, the comparison shows the errors of the model and not regressions.
//! **Ratio** is measured ÷ predicted: above 1 the model is optimistic. **Error** is (predicted − measured) ÷ measured.
//! Errors of ops cancel in the error of the step; the sum of their absolute values is also given.

use std::fmt::Write as _;

use facts::prelude::*;
use hardware::chips::Chip;

use super::MetricChange;
use super::attribution::OpChange;
use super::comparable::{RunDifference, Weight};
use super::comparison::{Comparison, PredictedOp, PredictionError};
use super::run_loop::signed;
use super::summary::Summary;
use super::uses::{GroupChange, UseChange};

/// Up to this ratio, and down to its inverse, a prediction counts as close.
const CLOSE: f64 = 1.1;
/// Number of ops that the sentence names.
const CLAUSES: usize = 3;

/// Which side of a comparison is simulated, and by what; `None` if both are or neither is.
pub(super) fn simulator<'a>(base: &'a [Summary], cand: &'a [Summary]) -> Option<(&'a str, bool)> {
    let all = |runs: &'a [Summary]| {
        let first = runs.first()?.facts.simulator.as_deref()?;
        runs.iter()
            .all(|run| run.facts.simulator.is_some())
            .then_some(first)
    };
    let none =
        |runs: &[Summary]| !runs.is_empty() && runs.iter().all(|run| run.facts.simulator.is_none());
    match (all(base), all(cand)) {
        (Some(name), None) if none(cand) => Some((name, true)),
        (None, Some(name)) if none(base) => Some((name, false)),
        _ => None,
    }
}

/// Whether no time of any of these runs was measured.
pub fn are_computed<'a>(runs: impl Iterator<Item = &'a Summary>) -> bool {
    let mut runs = runs.peekable();
    runs.peek().is_some() && runs.all(|run| run.facts.simulator.is_some())
}

/// Some differences that prevent a comparison of two measurements do not prevent one with a prediction: one simulated
/// device represents all, and a simulator runs one step.
pub(super) fn weigh(
    differences: &mut Vec<RunDifference>,
    simulator: (&str, bool),
    required: &[String],
) {
    for difference in &mut *differences {
        let (weight, why) = match difference.id {
            "device_type" if !are_chips(difference) => {
                (Weight::Note, "the simulator names its device differently")
            }
            "device_count" => (
                Weight::Care,
                "one simulated device can represent all that run the same program",
            ),
            "step_source" => (
                Weight::Care,
                "a simulated run without steps is taken as one step",
            ),
            "hosts" | "steps" => (Weight::Note, "a simulator usually runs the program once"),
            _ => continue,
        };
        if !required.iter().any(|id| id == difference.id) {
            (difference.weight, difference.why) = (weight, why);
        }
    }
    let sides = [simulator.0.to_owned(), "measured".to_owned()];
    let [base, cand] = if simulator.1 {
        sides
    } else {
        let [a, b] = sides;
        [b, a]
    };
    differences.push(RunDifference {
        id: "simulator",
        title: "Made by",
        base,
        cand,
        weight: Weight::Note,
        why: "ratios are measured ÷ predicted: they show how good the model is, not what became slower",
    });
    differences.sort_by_key(|difference| Reverse(difference.weight));
}

/// Whether both are known and different chips.
fn are_chips(difference: &RunDifference) -> bool {
    let chips =
        [&difference.base, &difference.cand].map(|name| Chip::named(name).map(|chip| &chip.id));
    chips[0].is_some() && chips[1].is_some() && chips[0] != chips[1]
}

/// Evaluates a finished comparison as a prediction.
pub(super) fn of(
    comparison: &Comparison,
    (simulator, is_base): (&str, bool),
) -> Option<PredictionError> {
    let (predicted_ps, measured_ps) = sides(comparison.step_time()?, is_base);
    let (predicted_ps, measured_ps) = (predicted_ps?, measured_ps?);
    let rows = comparison.ops.iter().map(|op| of_op(op, is_base));
    let uses = comparison.attribution.iter().flat_map(|one| &one.uses);
    // Idle time, and small ops that a shortened summary only sums.
    let rest = uses.flat_map(|one| one.groups.iter().map(move |group| (one, group)));
    let (idle, others): (Vec<_>, Vec<_>) = rest
        .filter(|(_, group)| !group.has_ops())
        .partition(|(one, _)| one.is_idle());
    let row = |(one, group): (&UseChange, &GroupChange)| {
        let (predicted, measured) = ordered(group.times.base_ps, group.times.cand_ps, is_base);
        // If a side lists all of its ops, an unlisted op does not exist there. That is no prediction of zero.
        let some = |ps: f64| Some(ps).filter(|&ps| ps > 0.0 || one.is_idle());
        let title = one.id.title();
        PredictedOp {
            name: if one.is_idle() {
                group.name.clone()
            } else {
                format!("{}, {title}", group.name)
            },
            category: title.to_owned(),
            predicted_ps: some(predicted),
            measured_ps: some(measured),
            ratio: ratio(predicted, measured),
            missed_ps: measured - predicted,
            ..PredictedOp::default()
        }
    };
    let mut ops: Vec<PredictedOp> = rows.chain(others.iter().map(|&rest| row(rest))).collect();
    // Idle time has a row but is not part of the error of ops.
    let measured: f64 = ops.iter().filter_map(|op| op.measured_ps).sum();
    let missed: f64 = ops.iter().map(|op| op.missed_ps.abs()).sum();
    ops.extend(idle.into_iter().map(row));
    largest_number_first(&mut ops, |op| op.missed_ps, |op| &op.name);
    Some(PredictionError {
        simulator: simulator.to_owned(),
        is_base,
        predicted_ps,
        measured_ps,
        ratio: ratio(predicted_ps, measured_ps),
        error_percent: Percent::ratio(predicted_ps - measured_ps, measured_ps),
        op_error_percent: Percent::ratio(missed, measured),
        op_error_is_at_least: !others.is_empty(),
        ops,
    })
}

fn of_op(op: &OpChange, is_base: bool) -> PredictedOp {
    let (predicted, measured) = sides(&op.change, is_base);
    let (predicted_name, name) = ordered(op.base_name.as_ref(), op.cand_name.as_ref(), is_base);
    let predicted_ps = predicted_name.and(predicted);
    let measured_ps = name.and(measured);
    PredictedOp {
        name: name.or(predicted_name).cloned().unwrap_or_default(),
        predicted_name: predicted_name
            .filter(|predicted| name.is_some_and(|name| name != *predicted))
            .cloned(),
        program: op.program.clone(),
        category: op.category.clone(),
        predicted_ps,
        measured_ps,
        ratio: predicted_ps
            .zip(measured_ps)
            .and_then(|(predicted, measured)| ratio(predicted, measured)),
        missed_ps: measured_ps.unwrap_or(0.0) - predicted_ps.unwrap_or(0.0),
        how: op.how,
    }
}

/// Predicted and measured values.
fn ordered<T>(base: T, cand: T, is_base: bool) -> (T, T) {
    if is_base { (base, cand) } else { (cand, base) }
}

fn sides(change: &MetricChange, is_base: bool) -> (Option<f64>, Option<f64>) {
    let median = |estimate: Option<super::ShiftEstimate>| estimate.map(|estimate| estimate.median);
    ordered(median(change.base), median(change.cand), is_base)
}

fn ratio(predicted: f64, measured: f64) -> Option<f64> {
    (predicted > 0.0)
        .then(|| measured / predicted)
        .filter(|ratio| ratio.is_finite())
}

impl PredictedOp {
    pub(super) fn both_names(&self) -> String {
        self.predicted_name
            .as_ref()
            .map_or_else(|| self.name.clone(), |it| format!("{it} → {}", self.name))
    }

    /// The prediction for an op.
    pub fn verdict(&self) -> &'static str {
        match (self.predicted_ps, self.measured_ps, self.ratio) {
            (None, _, _) => "not predicted",
            (_, None, _) => "never ran",
            (_, _, None) => "no time predicted",
            (_, _, Some(ratio)) if ratio > CLOSE => "optimistic",
            (_, _, Some(ratio)) if ratio < 1.0 / CLOSE => "pessimistic",
            _ => "close",
        }
    }
}

impl PredictionError {
    /// The headline.
    pub fn statement(&self) -> String {
        let time = Picos::rounded;
        let mut text = format!(
            "{} predicts {} per step, measured are {}",
            self.simulator,
            time(self.predicted_ps),
            time(self.measured_ps)
        );
        if let (Some(ratio), Some(error)) = (self.ratio, self.error_percent) {
            let total = format!("total error {error:+.1} of the measured step");
            let _ = write!(text, ": measured ÷ predicted is {ratio:.3}, {total}");
        }
        if let Some(error) = self.op_error_percent {
            let least = if self.op_error_is_at_least {
                "at least "
            } else {
                ""
            };
            let _ = write!(text, ", ops by themselves are off by {least}{error:.1}");
        }
        let optimistic = self
            .ops
            .iter()
            .filter(|op| op.missed_ps.round() >= 1.0 && op.verdict() != "close");
        let clauses: Vec<String> = optimistic
            .take(CLAUSES)
            .map(|op| {
                let ratio = op
                    .ratio
                    .map_or_else(|| op.verdict().to_owned(), |ratio| format!("× {ratio:.2}"));
                format!("{} {} ({ratio})", op.name, signed(op.missed_ps))
            })
            .collect();
        if clauses.is_empty() {
            return text + "; no op takes much longer than predicted";
        }
        text + "; the model is most optimistic at " + &clauses.join(", ")
    }

    /// The whole step and its ops.
    pub fn table(&self) -> Table {
        let whole = PredictedOp {
            name: "whole step".to_owned(),
            predicted_ps: Some(self.predicted_ps),
            measured_ps: Some(self.measured_ps),
            ratio: self.ratio,
            missed_ps: self.measured_ps - self.predicted_ps,
            ..PredictedOp::default()
        };
        let notes = vec![
            "Median times per step; of a collective only the exposed time counts. Ratio is measured ÷ predicted, \
             missed is measured less predicted, and its share is of the measured step."
                .to_owned(),
            format!(
                "Optimistic: takes more than {CLOSE} times what was predicted; pessimistic: less than 1/{CLOSE} of it."
            ),
        ];
        Table::of(
            "prediction",
            format!("Predicted by {} and measured", self.simulator),
            std::iter::once(&whole).chain(&self.ops),
        )
        .declared(["op", "predicted_ps", "measured_ps", "ratio", "missed_ps"])
        .derived("missed_of_step_percent", "Of step", Unit::Percent, |op| {
            (self.measured_ps > 0.0).then(|| 100.0 * op.missed_ps / self.measured_ps)
        })
        .remaining()
        .notes(notes)
        .build()
    }
}
