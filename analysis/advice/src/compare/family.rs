//! Ops whose names differ only in their number.

use device_reports::steps::step_parts::StepPart;
use serde::Serialize;
use trace_model::without_number;

use super::change::ChangeVerdict;
use super::pool::PooledOp;
use super::uses::add_steps;

/// Ops of one part of the step whose names differ only in their number (`fusion.1`, `fusion.2` …), or the time in
/// unlisted ops.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct FamilyChange {
    /// `fusion`, or the full name of a single op; `before → after` where all were renamed.
    pub name: String,
    /// The part of the step.
    pub part: StepPart,
    /// Distinct ops of the first side.
    pub base_ops: usize,
    /// Distinct ops of the second side.
    pub cand_ops: usize,
    /// Time in the interquartile mean step.
    pub base_ps: f64,
    /// Time in the interquartile mean step of the second side.
    pub cand_ps: f64,
    /// Second minus first.
    pub change_ps: f64,
    /// Result of the test of the sum of its ops in each step; `None` for the time in unlisted ops.
    pub finding: Option<ChangeVerdict>,
    /// After Holm's correction over all kinds.
    pub p: Option<f64>,
}

/// Sums of a kind of ops during aggregation.
#[derive(Default)]
pub(super) struct FamilySum {
    base_names: Vec<String>,
    cand_names: Vec<String>,
    base_ps: f64,
    cand_ps: f64,
    pub(super) base_values: Vec<Vec<f64>>,
    pub(super) cand_values: Vec<Vec<f64>>,
}

impl FamilySum {
    pub(super) fn add(&mut self, op: &PooledOp<'_>, is_base: bool) {
        let (names, time, values) = if is_base {
            (
                &mut self.base_names,
                &mut self.base_ps,
                &mut self.base_values,
            )
        } else {
            (
                &mut self.cand_names,
                &mut self.cand_ps,
                &mut self.cand_values,
            )
        };
        names.push(op.op.name.clone());
        *time += op.middle_ps;
        add_steps(values, &op.values);
    }

    pub(super) fn family(&self, stem_name: &str, part: StepPart) -> FamilyChange {
        let single = |names: &[String]| {
            if let [only] = names {
                Some(only.clone())
            } else {
                None
            }
        };
        let before = self.base_names.first().map(|name| without_number(name));
        let all_alike = |before: &str| {
            self.base_names
                .iter()
                .all(|name| without_number(name) == before)
        };
        let name = match (single(&self.base_names), single(&self.cand_names)) {
            (Some(one), Some(other)) if one == other => one,
            (Some(one), Some(other)) => format!("{one} → {other}"),
            (Some(only), None) if self.cand_names.is_empty() => only,
            (None, Some(only)) if self.base_names.is_empty() => only,
            _ => match before.filter(|before| *before != stem_name && all_alike(before)) {
                Some(before) => format!("{before} → {stem_name}"),
                None => stem_name.to_owned(),
            },
        };
        FamilyChange {
            name,
            part,
            base_ops: self.base_names.len(),
            cand_ops: self.cand_names.len(),
            base_ps: self.base_ps,
            cand_ps: self.cand_ps,
            change_ps: self.cand_ps - self.base_ps,
            finding: None,
            p: None,
        }
    }
}
