//! The change of a number between two sides, and whether it is more than noise.

use facts::prelude::*;
use math::bounds::{Bounds, bounds};
use math::rank_test::{inflation, least_p, rank_test_inflated, shift_range};
use math::resample::{self, ResampledMedians, StepRuns};
use math::stats::{Stats, median};
use serde::Serialize;

use super::run_spread::{ASSUMED_SPREAD_PERCENT, RunSpread};

/// When a difference counts.
#[engine::reported]
#[derive(Copy)]
pub struct TestOptions {
    /// Significance level: the probability of reporting a difference if there is none.
    pub alpha: f64,
    /// Smallest relevant change, in percent of the median step (or of the number itself, if it is not a time of a
    /// step).
    pub min_effect_percent: f64,
    /// Minimum number of steps per side.
    pub min_steps: usize,
    /// Assumed standard deviation of runs of the same program, in percent; it counts like eight more runs.
    pub assumed_spread_percent: f64,
    /// All times are computed: every change is one, because they have no noise.
    #[serde(skip)]
    pub are_computed: bool,
}

impl Default for TestOptions {
    /// 5 %, as in `benchstat`; 0.1 %; six values, the smallest number of values whose minimum and maximum enclose the
    /// median with 95 % confidence.
    fn default() -> Self {
        Self {
            alpha: 0.05,
            min_effect_percent: 0.1,
            min_steps: resample::FEWEST,
            assumed_spread_percent: ASSUMED_SPREAD_PERCENT,
            are_computed: false,
        }
    }
}

/// The conclusion about a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChangeVerdict {
    /// More than noise.
    Changed,
    /// Within the noise.
    Noise,
    /// More than the steps of a run differ, but not more than runs of the same program may.
    BetweenRuns,
    /// Too few steps or runs: with this many tests no change of any size could be significant.
    TooFew,
    /// As many steps would do, but the times of neighbouring ones are correlated, so that they count as fewer. Written as
    /// too few.
    #[serde(rename = "too-few")]
    #[schemars(skip)]
    Correlated,
    /// One number per side, so its variation is unknown.
    Untested,
    /// Only one side has it.
    OneSided,
}

/// The median of some values.
#[engine::reported]
#[derive(Copy)]
pub struct ShiftEstimate {
    /// Median over all steps of all runs.
    pub median: f64,
    /// Lower end of the 95 % confidence interval of the median; `None` for fewer than six steps. With four runs or more
    /// the interval is over runs, and `None` for fewer than six of them.
    pub low: Option<f64>,
    /// Upper end of the interval.
    pub high: Option<f64>,
    /// Number of steps.
    pub count: usize,
}

/// A value on two sides.
#[engine::reported]
pub struct MetricChange {
    /// The first side.
    pub base: Option<ShiftEstimate>,
    /// The second side.
    pub cand: Option<ShiftEstimate>,
    /// Second minus first.
    pub change: Option<f64>,
    /// The change as a share of the first.
    pub change_percent: Option<Percent>,
    /// 95 % confidence interval of the change.
    #[serde(serialize_with = "bounds")]
    #[schemars(with = "Option<Bounds<f64>>")]
    pub range: Option<(f64, f64)>,
    /// p-value of the rank sum test; after Holm's correction if there were several tests.
    pub p: Option<f64>,
    /// Differences up to this occur between runs of the same program, as far as their spread is known or assumed.
    pub noise: Option<f64>,
    /// The conclusion.
    pub finding: ChangeVerdict,
}

/// From this many runs on each side, runs are compared instead of steps.
pub const ENOUGH_RUNS: usize = 4;

impl MetricChange {
    /// The change between two single values.
    pub(crate) fn of_values(base: Option<f64>, cand: Option<f64>) -> Self {
        let estimate = |value: f64| ShiftEstimate {
            median: value,
            low: None,
            high: None,
            count: 1,
        };
        Self::untested(base.map(estimate), cand.map(estimate))
    }

    fn untested(base: Option<ShiftEstimate>, cand: Option<ShiftEstimate>) -> Self {
        let finding = if base.is_some() && cand.is_some() {
            ChangeVerdict::Untested
        } else {
            ChangeVerdict::OneSided
        };
        Self::between(base, cand, finding)
    }

    /// Forgets how much it changed: a side is only known as a lower bound.
    pub(super) fn forget(&mut self) {
        let middle = |side: ShiftEstimate| ShiftEstimate {
            low: None,
            high: None,
            ..side
        };
        *self = Self {
            change: None,
            change_percent: None,
            ..Self::untested(self.base.map(middle), self.cand.map(middle))
        };
    }

    /// The change between two series; `effect` is the smallest relevant change, in their unit.
    pub fn of_runs(base: &StepRuns, cand: &StepRuns, effect: f64, options: &TestOptions) -> Self {
        let base = &ResampledMedians::new(base);
        let cand = &ResampledMedians::new(cand);
        let mut change = Self::of_resampled(base, cand, effect, options);
        widen(&mut change.base, base);
        widen(&mut change.cand, cand);
        change.range = change_range(base, cand);
        if change.noise.is_none() && matches!(change.finding, ChangeVerdict::Noise) {
            let between = RunSpread::of(
                &medians(base.runs()),
                &medians(cand.runs()),
                options.assumed_spread_percent,
            )
            .map_or(0.0, |runs| runs.limit);
            change.noise = Some(between.hypot(noise(base, cand)));
        }
        change
    }

    /// Judges the change without its intervals, which take most of the time.
    pub fn judged(base: &StepRuns, cand: &StepRuns, effect: f64, options: &TestOptions) -> Self {
        Self::of_resampled(
            &ResampledMedians::new(base),
            &ResampledMedians::new(cand),
            effect,
            options,
        )
    }

    fn of_resampled(
        base: &ResampledMedians<'_>,
        cand: &ResampledMedians<'_>,
        effect: f64,
        options: &TestOptions,
    ) -> Self {
        let mut change = Self::tested(base.runs(), cand.runs(), options);
        change.give_up(base.runs(), cand.runs(), options.alpha, |p| p);
        change.conclude(base, cand, effect, options);
        change
    }

    /// Medians and the p-value of their difference, before the conclusion.
    pub(super) fn tested(base: &StepRuns, cand: &StepRuns, options: &TestOptions) -> Self {
        let mut change = Self::between(estimate(base), estimate(cand), ChangeVerdict::OneSided);
        let (Some(first), Some(second)) = (change.base, change.cand) else {
            return change;
        };
        change.p = with_sets(base, cand, |a, b, loss| {
            rank_test_inflated(a, b, loss).map(|test| test.p)
        });
        let by_runs = is_by_runs(base, cand);
        change.finding = match first.count.min(second.count) {
            _ if by_runs || options.are_computed => ChangeVerdict::Noise,
            1 => ChangeVerdict::Untested,
            few if few < options.min_steps => ChangeVerdict::TooFew,
            _ => ChangeVerdict::Noise,
        };
        change
    }

    /// Draws the conclusion from `p`; estimates the noise within runs only if it decides.
    pub(super) fn conclude(
        &mut self,
        base: &ResampledMedians<'_>,
        cand: &ResampledMedians<'_>,
        effect: f64,
        options: &TestOptions,
    ) {
        if let Some(change) = self.change.filter(|_| options.are_computed) {
            let is_real = change != 0.0 && change.abs() >= effect;
            self.finding = if is_real {
                ChangeVerdict::Changed
            } else {
                ChangeVerdict::Noise
            };
            return;
        }
        let (Some(change), Some(p)) = (self.change, self.p) else {
            return;
        };
        if self.finding != ChangeVerdict::Noise || p > options.alpha || change.abs() < effect {
            return;
        }
        let Some(runs) = RunSpread::of(
            &medians(base.runs()),
            &medians(cand.runs()),
            options.assumed_spread_percent,
        ) else {
            return;
        };
        // The mean of the medians of runs decides: of a few runs that differ it is surer than the median of all steps.
        let apart = if change * runs.change > 0.0 {
            runs.change.abs()
        } else {
            0.0
        };
        if apart < runs.limit {
            (self.noise, self.finding) = (Some(runs.limit), ChangeVerdict::BetweenRuns);
            return;
        }
        // The medians of several runs differ by the noise of their steps, too.
        let is_alone = base.runs().len().min(cand.runs().len()) < 2;
        let within = if is_alone { noise(base, cand) } else { 0.0 };
        let both = runs.limit.hypot(within);
        self.noise = Some(both);
        self.finding = match apart {
            _ if apart > both => ChangeVerdict::Changed,
            _ if apart > within => ChangeVerdict::BetweenRuns,
            _ => ChangeVerdict::Noise,
        };
    }

    /// Marks a test in which no change could have been found: the smallest p that any could have, `corrected` for other
    /// tests, is above `alpha` with this many steps or runs, or with so few that are independent.
    pub(super) fn give_up(
        &mut self,
        base: &StepRuns,
        cand: &StepRuns,
        alpha: f64,
        corrected: impl Fn(f64) -> f64,
    ) {
        let is_hopeless = |least: Option<f64>| least.is_some_and(|p| corrected(p) > alpha);
        if self.finding != ChangeVerdict::Noise || !is_hopeless(with_sets(base, cand, least_p)) {
            return;
        }
        let independent = with_sets(base, cand, |a, b, _| least_p(a, b, 1.0));
        self.finding = if is_hopeless(independent) {
            ChangeVerdict::TooFew
        } else {
            ChangeVerdict::Correlated
        };
    }

    fn between(
        base: Option<ShiftEstimate>,
        cand: Option<ShiftEstimate>,
        finding: ChangeVerdict,
    ) -> Self {
        let change = base.zip(cand).map(|(base, cand)| cand.median - base.median);
        let of = base
            .map(|base| base.median)
            .filter(|median| median.abs() > 0.0);
        let change_percent = match change {
            Some(0.0) => Some(Percent(0.0)),
            change => change
                .zip(of)
                .map(|(change, of)| Percent(100.0 * change / of.abs())),
        };
        Self {
            base,
            cand,
            change,
            change_percent,
            range: None,
            p: None,
            noise: None,
            finding,
        }
    }

    /// Whether the change is more than noise.
    pub fn is_real(&self) -> bool {
        self.finding == ChangeVerdict::Changed
    }
}

fn pooled(runs: &StepRuns) -> Vec<f64> {
    runs.iter().flatten().copied().collect()
}

fn medians(runs: &StepRuns) -> Vec<f64> {
    runs.iter().filter_map(|run| median(run)).collect()
}

fn estimate(runs: &StepRuns) -> Option<ShiftEstimate> {
    let stats = Stats::of(&pooled(runs))?;
    let medians = medians(runs);
    // Steps of one run do not show how much runs vary; several runs do.
    let range = if medians.len() >= ENOUGH_RUNS {
        Stats::of(&medians)?.median_range
    } else {
        stats.median_range
    };
    let low = range.map(|r| r.0.min(stats.median));
    let high = range.map(|r| r.1.max(stats.median));
    Some(ShiftEstimate {
        median: stats.median,
        low,
        high,
        count: stats.count,
    })
}

/// Whether runs are compared instead of steps.
fn is_by_runs(base: &StepRuns, cand: &StepRuns) -> bool {
    medians(base).len().min(medians(cand).len()) >= ENOUGH_RUNS
}

/// 95 % confidence interval of the change. With few runs per side it is at least as wide as the difference between
/// these runs.
fn change_range(base: &ResampledMedians<'_>, cand: &ResampledMedians<'_>) -> Option<(f64, f64)> {
    const ALPHA: f64 = 0.05;
    let first = medians(base.runs());
    let second = medians(cand.runs());
    if is_by_runs(base.runs(), cand.runs()) {
        return shift_range(&first, &second, ALPHA);
    }
    let drawn = base.change_range(cand)?;
    if first.len().max(second.len()) < 2 {
        return Some(drawn);
    }
    let shifts = first.iter().flat_map(|a| second.iter().map(move |b| b - a));
    Some(shifts.fold(drawn, |(low, high), shift| {
        (low.min(shift), high.max(shift))
    }))
}

/// The rank test assumes independent steps; block resampling does not. Uses the wider interval.
fn widen(estimate: &mut Option<ShiftEstimate>, resampled: &ResampledMedians<'_>) {
    let runs = resampled.runs();
    let Some(estimate) = estimate
        .as_mut()
        .filter(|_| medians(runs).len() < ENOUGH_RUNS)
    else {
        return;
    };
    if !runs.iter().any(|run| inflation(run) > 1.0) {
        return;
    }
    if let Some((low, high)) = resampled.range() {
        estimate.low = Some(estimate.low.map_or(low, |by_rank| by_rank.min(low)));
        estimate.high = Some(estimate.high.map_or(high, |by_rank| by_rank.max(high)));
    }
}

/// Applies `test` to the medians of runs if there are enough runs, else to all steps with an inflation for their
/// correlation.
fn with_sets<T>(
    base: &StepRuns,
    cand: &StepRuns,
    test: impl Fn(&[f64], &[f64], f64) -> Option<T>,
) -> Option<T> {
    if is_by_runs(base, cand) {
        return test(&medians(base), &medians(cand), 1.0);
    }
    let a = pooled(base);
    let b = pooled(cand);
    // Each side is inflated by its own correlation; the smaller side has more weight.
    let loss_a = mean_inflation(base);
    let loss_b = mean_inflation(cand);
    let m = a.len() as f64;
    let n = b.len() as f64;
    let loss = (loss_a * n + loss_b * m) / (m + n);
    test(&a, &b, loss)
}

fn mean_inflation(runs: &StepRuns) -> f64 {
    let steps: usize = runs.iter().map(Vec::len).sum();
    let sum: f64 = runs
        .iter()
        .map(|run| inflation(run) * run.len() as f64)
        .sum();
    if steps > 0 { sum / steps as f64 } else { 1.0 }
}

/// The difference that steps of the same run cause between two equal runs.
fn noise(base: &ResampledMedians<'_>, cand: &ResampledMedians<'_>) -> f64 {
    let of = |runs: &ResampledMedians<'_>| runs.noise().unwrap_or(0.0);
    of(base).max(of(cand))
}

#[cfg(test)]
mod tests;
