//! The configuration of gates, as read from TOML.

use serde::{Deserialize, Serialize};

use super::limits::{Budget, GateLevel, Regression, StepAggregate};
use super::measure::{check_metric, check_module, check_op, is_time};
use super::preset::preset;
use crate::compare::{Summary, comparable};

/// The level of gates that do not set one.
#[engine::reported]
#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct GateDefaults {
    /// The effect of a failure.
    pub level: GateLevel,
    /// Number of warm-up steps to exclude; the command line takes precedence.
    pub warmup_steps: Option<u32>,
    /// How the steps of a run are aggregated.
    pub aggregate: StepAggregate,
    /// With fewer steps gates are inconclusive.
    pub min_steps: usize,
}

impl Default for GateDefaults {
    fn default() -> Self {
        Self {
            level: GateLevel::Error,
            warmup_steps: None,
            aggregate: StepAggregate::Median,
            min_steps: 6,
        }
    }
}

/// What to do if runs are not comparable.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum OnMismatch {
    /// Regressions are inconclusive.
    #[default]
    Inconclusive,
    /// Regressions are evaluated all the same.
    Ignore,
}

/// The properties that runs must share.
#[engine::reported]
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Comparable {
    /// Names of differences that prevent a comparison.
    pub require: Vec<String>,
    /// The effect of such a difference.
    pub on_mismatch: OnMismatch,
}

/// All gates.
#[engine::reported]
#[derive(Default)]
pub struct GateConfig {
    /// Defaults for gates that do not set a value.
    pub defaults: GateDefaults,
    /// Limits of single values.
    pub budget: Vec<Budget>,
    /// Limits of changes against a baseline.
    pub regression: Vec<Regression>,
    /// The properties that runs must share.
    pub comparable: Comparable,
}

/// An error in the user's configuration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GateConfigError(String);

impl GateConfig {
    /// The regression gates: those of the user, else the [`preset`] for these runs.
    pub(crate) fn regressions(
        &self,
        baseline: Option<&[Summary]>,
        runs: &[Summary],
    ) -> Vec<Regression> {
        match baseline {
            Some(base) if self.regression.is_empty() => preset(base, runs),
            _ => self.regression.clone(),
        }
    }

    /// Rejects gates of ops and programs that no run has; the error suggests the nearest name.
    ///
    /// # Errors
    ///
    /// The first such gate.
    pub fn check_names(
        &self,
        baseline: &[Summary],
        runs: &[Summary],
    ) -> Result<(), GateConfigError> {
        let all: Vec<&Summary> = baseline.iter().chain(runs).collect();
        let budgets = self
            .budget
            .iter()
            .map(|budget| (&budget.op, &budget.module, budget.level));
        let regressions = self
            .regression
            .iter()
            .map(|gate| (&gate.op, &gate.module, gate.level));
        for (op, module, level) in budgets.chain(regressions) {
            if level.unwrap_or(self.defaults.level) == GateLevel::Off {
                continue;
            }
            if let Some(module) = module {
                check_module(module, &all).map_err(GateConfigError)?;
            }
            if let Some(op) = op {
                check_op(op, &all).map_err(GateConfigError)?;
            }
        }
        Ok(())
    }

    /// Rejects gates that can never give a result.
    ///
    /// # Errors
    ///
    /// Names the first gate that could never fail or pass, and why.
    pub fn check(&self) -> Result<(), GateConfigError> {
        let wrong = |why: String| Err(GateConfigError(why));
        for budget in &self.budget {
            check_metric(&budget.metric, budget.op.as_deref()).map_err(GateConfigError)?;
            let metric = &budget.metric;
            if budget.max.is_none() && budget.min.is_none() {
                return wrong(format!("the budget of {metric:?} needs max or min"));
            }
            finite(metric, [("max", budget.max), ("min", budget.min)])?;
            if budget
                .max
                .zip(budget.min)
                .is_some_and(|(max, min)| min > max)
            {
                return wrong(format!("the budget of {metric:?}: max is below min"));
            }
        }
        for regression in &self.regression {
            check_metric(&regression.metric, regression.op.as_deref()).map_err(GateConfigError)?;
            if regression.limit().is_empty() {
                return wrong(format!(
                    "the regression of {:?} needs max_increase_pct or a similar limit",
                    regression.metric
                ));
            }
            Self::check_regression(regression)?;
        }
        if let Some(id) = self
            .comparable
            .require
            .iter()
            .find(|id| !comparable::IDS.contains(&id.as_str()))
        {
            return wrong(format!(
                "[comparable] has no {id:?}; known are {}",
                comparable::IDS.join(", ")
            ));
        }
        if self.defaults.min_steps == 0 {
            return wrong("min_steps is at least 1".to_owned());
        }
        Ok(())
    }

    fn check_regression(regression: &Regression) -> Result<(), GateConfigError> {
        let metric = &regression.metric;
        let wrong = |why: String| {
            Err(GateConfigError(format!(
                "the regression of {metric:?}: {why}"
            )))
        };
        let limits = [
            ("max_increase_pct", regression.max_increase_pct),
            ("max_increase_abs", regression.max_increase_abs),
            ("max_decrease_pct", regression.max_decrease_pct),
            ("max_decrease_abs", regression.max_decrease_abs),
        ];
        let effects = [
            ("min_effect", regression.min_effect),
            ("min_effect_ms", regression.min_effect_ms),
        ];
        finite(metric, limits)?;
        finite(metric, effects)?;
        if let Some((name, _)) = effects
            .iter()
            .find(|(_, effect)| effect.is_some_and(|effect| effect < 0.0))
        {
            return wrong(format!("{name} is at least 0"));
        }
        if regression.min_effect_ms.is_some() && !is_time(metric) {
            return wrong(
                "min_effect_ms is for times; write min_effect in the unit of the metric".to_owned(),
            );
        }
        if regression.min_effect_ms.is_some() && regression.min_effect.is_some() {
            return wrong("write min_effect or min_effect_ms, not both".to_owned());
        }
        if regression
            .alpha
            .is_some_and(|alpha| !(alpha > 0.0 && alpha < 1.0))
        {
            return wrong("alpha lies between 0 and 1".to_owned());
        }
        Ok(())
    }
}

/// Rejects limits that are not finite.
fn finite<const N: usize>(
    metric: &str,
    limits: [(&str, Option<f64>); N],
) -> Result<(), GateConfigError> {
    match limits
        .into_iter()
        .find(|(_, limit)| limit.is_some_and(|limit| !limit.is_finite()))
    {
        Some((name, _)) => Err(GateConfigError(format!(
            "{name} of {metric:?} must be a number"
        ))),
        None => Ok(()),
    }
}
