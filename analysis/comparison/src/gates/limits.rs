//! Limits that a gate sets, and how the values of a metric are aggregated into one number.

use facts::prelude::*;
use math::resample::Statistic;
use serde::Deserialize;

use super::metrics::{number, told_apart, written_difference, written_unit};
use crate::compare::BoundSides;

/// The effect of a failure.
#[engine::titled]
#[derive(Default, Deserialize)]
pub enum GateLevel {
    /// The gate is not evaluated.
    Off,
    /// The failure is reported, and the run passes.
    Warn,
    /// The run fails.
    #[default]
    Error,
}

/// How the step times of a run are aggregated into one number. Step times are those of the slowest device of each step.
#[engine::titled]
#[derive(Default, Deserialize)]
pub enum StepAggregate {
    /// The median step.
    #[default]
    Median,
    /// Mean.
    Mean,
    /// The 90th percentile: nine of ten steps take less.
    P90,
    /// The 95th percentile: 19 of 20 steps take less.
    P95,
    /// The slowest step.
    Max,
    /// The median, too: step times are those of the slowest device.
    WorstDevice = "worst-device",
}

impl StepAggregate {
    /// Minimum number of steps: that of the configuration, and enough for one step beyond the quantile; with fewer, the
    /// quantile would be close to the slowest step.
    pub fn steps_needed(self, min_steps: usize) -> usize {
        match self {
            Self::P90 => min_steps.max(10),
            Self::P95 => min_steps.max(20),
            Self::Median | Self::Mean | Self::Max | Self::WorstDevice => min_steps,
        }
    }

    /// The aggregate of these numbers; `None` if there are none.
    pub fn of(self, values: &[f64]) -> Option<f64> {
        self.statistic().of(&mut values.to_vec())
    }

    /// How it is computed.
    pub(super) fn statistic(self) -> Statistic {
        match self {
            Self::Median | Self::WorstDevice => Statistic::Quantile(0.5),
            Self::P90 => Statistic::Quantile(0.9),
            Self::P95 => Statistic::Quantile(0.95),
            Self::Max => Statistic::Quantile(1.0),
            Self::Mean => Statistic::Mean,
        }
    }

    /// Whether the rank sum test applies to it.
    pub(super) fn is_middle(self) -> bool {
        matches!(self, Self::Median | Self::WorstDevice)
    }
}

/// A limit for a value.
#[engine::reported]
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    /// `step.time_ms`.
    pub metric: String,
    /// Ops to select, for metrics of ops, by their names or the kinds of collectives: a name, a pattern with `*`, or
    /// `re:` and a regex.
    pub op: Option<String>,
    /// Only for steps of this program.
    pub module: Option<String>,
    /// Largest allowed value.
    pub max: Option<f64>,
    /// Smallest allowed value.
    pub min: Option<f64>,
    /// How the steps of a run are aggregated.
    pub aggregate: Option<StepAggregate>,
    /// The effect of a failure.
    pub level: Option<GateLevel>,
}

/// A limit for how much worse than the baseline a value may be.
#[engine::reported]
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Regression {
    /// `step.time_ms`.
    pub metric: String,
    /// The ops, for metrics of ops.
    pub op: Option<String>,
    /// Only if the steps are of this program.
    pub module: Option<String>,
    /// Allowed increase, as a share of the baseline's value.
    pub max_increase_pct: Option<f64>,
    /// Allowed increase, in the unit of the metric.
    pub max_increase_abs: Option<f64>,
    /// Allowed decrease, as a share of the baseline's value.
    pub max_decrease_pct: Option<f64>,
    /// Allowed decrease, in the unit of the metric.
    pub max_decrease_abs: Option<f64>,
    /// Whether the change must also be significant. Default: true for series of steps, and for numbers of whole runs if
    /// there are several runs.
    pub require_significance: Option<bool>,
    /// Significance level of the rank sum test (default 5 %) and of the comparison with resampled equal runs (default 1
    /// %).
    pub alpha: Option<f64>,
    /// Smaller changes never fail, in the unit of the metric.
    pub min_effect: Option<f64>,
    /// Smaller changes never fail, in milliseconds.
    pub min_effect_ms: Option<f64>,
    /// How the steps of a run are aggregated.
    pub aggregate: Option<StepAggregate>,
    /// The effect of a failure.
    pub level: Option<GateLevel>,
}

impl Regression {
    /// The limit as text: `+5 %`, `+2 points`, `+0.2 ms`.
    pub fn limit(&self) -> String {
        let difference = written_difference(&self.metric);
        let parts = [
            self.max_increase_pct.map(|limit| format!("+{limit} %")),
            self.max_increase_abs
                .map(|limit| format!("+{limit}{difference}")),
            self.max_decrease_pct.map(|limit| format!("-{limit} %")),
            self.max_decrease_abs
                .map(|limit| format!("-{limit}{difference}")),
        ];
        joined(parts.into_iter().flatten(), " and ")
    }

    /// A change in the units of the limits: `+23.00 %`, `+5.000 points`; empty if the base is zero and only a percentage
    /// is limited.
    pub(super) fn shown(&self, change: f64, percent: Option<f64>) -> String {
        let is_share = written_unit(&self.metric) == " %";
        let by_number =
            is_share || self.max_increase_abs.is_some() || self.max_decrease_abs.is_some();
        let by_percent = self.max_increase_pct.is_some() || self.max_decrease_pct.is_some();
        let sign = if change > 0.0 { "+" } else { "" };
        let number = by_number.then(|| {
            format!(
                "{sign}{}{}",
                number(change),
                written_difference(&self.metric)
            )
        });
        let percent = percent.filter(|_| by_percent).map(|percent| {
            let least = self.max_decrease_pct.map(|limit| -limit);
            let limits = [self.max_increase_pct, least];
            let usual = format!("{:+.2}", Percent(percent));
            told_apart(percent, limits, usual, " %")
        });
        joined([number, percent].into_iter().flatten(), ", ")
    }

    /// Whether a change exceeds a limit; `None` if that is not known, because a number may be higher than it is shown.
    pub(super) fn exceeds(
        &self,
        change: f64,
        percent: Option<f64>,
        bounds: BoundSides,
    ) -> Option<bool> {
        // From zero, any increase exceeds any percentage.
        let percent = percent.unwrap_or(if change > 0.0 { f64::INFINITY } else { 0.0 });
        let most_more = (self.max_increase_pct, self.max_increase_abs);
        let most_less = (self.max_decrease_pct, self.max_decrease_abs);
        let is_beyond = |limits: (Option<f64>, Option<f64>), percent: f64, change: f64| {
            limits.0.is_some_and(|limit| percent > limit)
                || limits.1.is_some_and(|limit| change > limit)
        };
        let rises = is_beyond(most_more, percent, change);
        let falls = is_beyond(most_less, -percent, -change);
        // A run that is higher than shown rises more, and from a base that is higher it falls more.
        if rises && !bounds.base || falls && !bounds.cand {
            return Some(true);
        }
        let may_rise = bounds.cand && most_more != (None, None);
        let may_fall = bounds.base && most_less != (None, None);
        (!(rises || falls || may_rise || may_fall)).then_some(false)
    }
}
