//! The change of a number between two sides, and whether it is more than noise.

use math::bounds::{Bounds, bounds};
use math::rank_test::{inflation, least_p, rank_test_inflated, shift_range};
use math::resample::{self, StepRuns};
use math::stats::{Stats, median};
use serde::Serialize;

use super::run_spread::{ASSUMED_SPREAD_PERCENT, RunSpread};

/// When a difference counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
}

impl Default for TestOptions {
    /// 5 %, as in `benchstat`; 0.1 %; six values, the smallest number of values whose minimum and maximum enclose the
    /// median with 95 % confidence.
    fn default() -> Self {
        let assumed_spread_percent = ASSUMED_SPREAD_PERCENT;
        Self {
            alpha: 0.05,
            min_effect_percent: 0.1,
            min_steps: resample::FEWEST,
            assumed_spread_percent,
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
    /// One number per side, so its variation is unknown.
    Untested,
    /// Only one side has it.
    OneSided,
}

/// The median of some values.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
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
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct MetricChange {
    /// The first side.
    pub base: Option<ShiftEstimate>,
    /// The second side.
    pub cand: Option<ShiftEstimate>,
    /// Second minus first.
    pub change: Option<f64>,
    /// The same as a share of the first.
    pub change_percent: Option<f64>,
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
        let finding = if base.is_some() && cand.is_some() {
            ChangeVerdict::Untested
        } else {
            ChangeVerdict::OneSided
        };
        Self::between(base.map(estimate), cand.map(estimate), finding)
    }

    /// The change between two series; `effect` is the smallest relevant change, in their unit.
    pub fn of_runs(base: &StepRuns, cand: &StepRuns, effect: f64, options: &TestOptions) -> Self {
        let mut change = Self::judged(base, cand, effect, options);
        widen(&mut change.base, base);
        widen(&mut change.cand, cand);
        change.range = change_range(base, cand);
        if change.noise.is_none() && matches!(change.finding, ChangeVerdict::Noise) {
            let between = RunSpread::of(
                &medians(base),
                &medians(cand),
                options.assumed_spread_percent,
            )
            .map_or(0.0, |runs| runs.limit);
            change.noise = Some(between.hypot(noise(base, cand)));
        }
        change
    }

    /// Judges the change without its intervals, which take most of the time.
    pub fn judged(base: &StepRuns, cand: &StepRuns, effect: f64, options: &TestOptions) -> Self {
        let mut change = Self::tested(base, cand, options);
        if Self::least_p(base, cand).is_some_and(|least| least > options.alpha) {
            change.give_up();
        }
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
            _ if by_runs => ChangeVerdict::Noise,
            1 => ChangeVerdict::Untested,
            few if few < options.min_steps => ChangeVerdict::TooFew,
            _ => ChangeVerdict::Noise,
        };
        change
    }

    /// Draws the conclusion from `p`; estimates the noise within runs only if it decides.
    pub(super) fn conclude(
        &mut self,
        base: &StepRuns,
        cand: &StepRuns,
        effect: f64,
        options: &TestOptions,
    ) {
        let (Some(change), Some(p)) = (self.change, self.p) else {
            return;
        };
        if self.finding != ChangeVerdict::Noise || p > options.alpha || change.abs() < effect {
            return;
        }
        let Some(runs) = RunSpread::of(
            &medians(base),
            &medians(cand),
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
        let is_alone = base.len().min(cand.len()) < 2;
        let within = if is_alone { noise(base, cand) } else { 0.0 };
        let both = runs.limit.hypot(within);
        self.noise = Some(both);
        self.finding = match apart {
            _ if apart > both => ChangeVerdict::Changed,
            _ if apart > within => ChangeVerdict::BetweenRuns,
            _ => ChangeVerdict::Noise,
        };
    }

    /// The smallest p that any change could have with this many steps or runs.
    pub(super) fn least_p(base: &StepRuns, cand: &StepRuns) -> Option<f64> {
        with_sets(base, cand, least_p)
    }

    /// Marks a test in which no change could have been found.
    pub(super) fn give_up(&mut self) {
        if self.finding == ChangeVerdict::Noise {
            self.finding = ChangeVerdict::TooFew;
        }
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
            Some(0.0) => Some(0.0),
            change => change.zip(of).map(|(change, of)| 100.0 * change / of.abs()),
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
    let (low, high) = (
        range.map(|r| r.0.min(stats.median)),
        range.map(|r| r.1.max(stats.median)),
    );
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
fn change_range(base: &StepRuns, cand: &StepRuns) -> Option<(f64, f64)> {
    const ALPHA: f64 = 0.05;
    let (first, second) = (medians(base), medians(cand));
    if is_by_runs(base, cand) {
        return shift_range(&first, &second, ALPHA);
    }
    let drawn = resample::change_range(base, cand)?;
    if first.len().max(second.len()) < 2 {
        return Some(drawn);
    }
    let shifts = first.iter().flat_map(|a| second.iter().map(move |b| b - a));
    Some(shifts.fold(drawn, |(low, high), shift| {
        (low.min(shift), high.max(shift))
    }))
}

/// The rank test assumes independent steps; block resampling does not. Uses the wider interval.
fn widen(estimate: &mut Option<ShiftEstimate>, runs: &StepRuns) {
    let Some(estimate) = estimate
        .as_mut()
        .filter(|_| medians(runs).len() < ENOUGH_RUNS)
    else {
        return;
    };
    if !runs.iter().any(|run| inflation(run) > 1.0) {
        return;
    }
    if let Some((low, high)) = resample::median_range(runs) {
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
    let (a, b) = (pooled(base), pooled(cand));
    // Each side is inflated by its own correlation; the smaller side has more weight.
    let (loss_a, loss_b) = (mean_inflation(base), mean_inflation(cand));
    let (m, n) = (a.len() as f64, b.len() as f64);
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
fn noise(base: &StepRuns, cand: &StepRuns) -> f64 {
    let of = |runs: &StepRuns| resample::noise(runs).unwrap_or(0.0);
    of(base).max(of(cand))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(from: f64, step: f64, n: u32) -> Vec<Vec<f64>> {
        vec![
            (0..n)
                .map(|i| from + step * f64::from(i * 7 % 10))
                .collect(),
        ]
    }

    fn finding(base: &StepRuns, cand: &StepRuns) -> ChangeVerdict {
        MetricChange::of_runs(base, cand, 0.0, &TestOptions::default()).finding
    }

    #[test]
    fn run_compared_with_itself_is_unchanged() {
        let same = run(100.0, 0.3, 30);
        let change = MetricChange::of_runs(&same, &same, 0.0, &TestOptions::default());
        assert_eq!(
            (change.change, change.change_percent, change.finding),
            (Some(0.0), Some(0.0), ChangeVerdict::Noise)
        );
        assert!(change.p.unwrap() > 0.99);
    }

    #[test]
    fn change_beyond_noise_is_reported_with_its_size() {
        let change = MetricChange::of_runs(
            &run(100.0, 0.1, 30),
            &run(110.0, 0.1, 30),
            0.0,
            &TestOptions::default(),
        );
        assert!(change.is_real());
        assert!((change.change_percent.unwrap() - 10.0).abs() < 0.1);
        let (low, high) = change.range.unwrap();
        assert!(low <= 10.0 && 10.0 <= high);
        // The same change does not count if only a larger one would be relevant.
        let asked = MetricChange::of_runs(
            &run(100.0, 0.1, 30),
            &run(110.0, 0.1, 30),
            11.0,
            &TestOptions::default(),
        );
        assert_eq!(asked.finding, ChangeVerdict::Noise);
    }

    /// Steps that do not vary leave no doubt that the two runs differ, and none that the programs do.
    #[test]
    fn one_run_a_side_needs_more_than_the_assumed_spread() {
        let of = |cand: f64| {
            MetricChange::of_runs(
                &run(100.0, 0.0, 30),
                &run(cand, 0.0, 30),
                0.0,
                &TestOptions::default(),
            )
        };
        assert_eq!(of(106.0).finding, ChangeVerdict::BetweenRuns);
        assert!((of(106.0).noise.unwrap() - 6.364).abs() < 1e-3);
        assert_eq!(of(106.5).finding, ChangeVerdict::Changed);
        assert_eq!(of(93.5).finding, ChangeVerdict::Changed);
        // Three quiet runs on each side show that runs hardly differ.
        let three = |level: f64| (0..3).flat_map(|_| run(level, 0.0, 30)).collect::<Vec<_>>();
        assert_eq!(
            finding(&three(100.0), &three(102.0)),
            ChangeVerdict::BetweenRuns
        );
        assert_eq!(
            finding(&three(100.0), &three(103.5)),
            ChangeVerdict::Changed
        );
    }

    #[test]
    fn too_few_steps_are_inconclusive() {
        assert_eq!(
            finding(&run(1.0, 0.1, 5), &run(9.0, 0.1, 30)),
            ChangeVerdict::TooFew
        );
        assert_eq!(
            finding(&run(1.0, 0.1, 1), &run(9.0, 0.1, 30)),
            ChangeVerdict::Untested
        );
        assert_eq!(finding(&[], &run(9.0, 0.1, 30)), ChangeVerdict::OneSided);
    }

    #[test]
    fn change_within_the_spread_between_runs_is_not_called_changed() {
        let two: Vec<Vec<f64>> = [run(100.0, 0.01, 20), run(102.0, 0.01, 20)].concat();
        assert_eq!(
            finding(&two, &run(102.5, 0.01, 20)),
            ChangeVerdict::BetweenRuns
        );
        assert_eq!(finding(&two, &run(110.0, 0.01, 20)), ChangeVerdict::Changed);
    }

    #[test]
    fn with_enough_runs_their_medians_are_compared() {
        let runs = |from: f64| {
            (0..4)
                .flat_map(|i| run(from + f64::from(i), 0.01, 20))
                .collect::<Vec<_>>()
        };
        // 2 of 70 orders.
        let change =
            MetricChange::of_runs(&runs(100.0), &runs(104.0), 0.0, &TestOptions::default());
        assert!((change.p.unwrap() - 2.0 / 70.0).abs() < 1e-12);
        assert!(change.is_real());
    }

    #[test]
    fn confidence_range_includes_spread_between_runs() {
        // Steps of a run hardly differ; the runs differ by 1.
        let runs = |from: f64, n: u32| {
            (0..n)
                .flat_map(|i| run(from + f64::from(i), 0.001, 50))
                .collect::<Vec<_>>()
        };
        let change = MetricChange::of_runs(
            &runs(100.0, 4),
            &runs(104.0, 4),
            0.0,
            &TestOptions::default(),
        );
        let (low, high) = change.range.unwrap();
        assert!(low <= 1.01 && high >= 6.99, "{low} {high}");
        // Four runs give no 95 % interval; with six it goes from the smallest to the largest value.
        assert_eq!(change.base.unwrap().low, None);
        let six = MetricChange::of_runs(
            &runs(100.0, 6),
            &runs(110.0, 6),
            0.0,
            &TestOptions::default(),
        )
        .base
        .unwrap();
        assert!(
            six.low.unwrap() < 100.1 && six.high.unwrap() > 104.9,
            "{six:?}"
        );
        // At least the difference between two runs of a side.
        let (low, high) = MetricChange::of_runs(
            &runs(100.0, 2),
            &runs(104.0, 1),
            0.0,
            &TestOptions::default(),
        )
        .range
        .unwrap();
        assert!(low <= 3.01 && high >= 3.99, "{low} {high}");
    }

    #[test]
    fn many_runs_on_one_side_show_their_spread() {
        let five: Vec<Vec<f64>> = (0..5)
            .flat_map(|i| run(100.0 + f64::from(i), 0.01, 20))
            .collect();
        assert_eq!(
            finding(&five, &run(104.5, 0.01, 20)),
            ChangeVerdict::BetweenRuns
        );
        assert_eq!(
            finding(&five, &run(110.0, 0.01, 20)),
            ChangeVerdict::Changed
        );
    }

    #[test]
    fn too_little_data_is_inconclusive() {
        let options = TestOptions {
            alpha: 0.001,
            ..TestOptions::default()
        };
        // Six against six: 2 of 924 orders.
        assert_eq!(
            MetricChange::of_runs(&run(1.0, 0.1, 6), &run(9.0, 0.1, 6), 0.0, &options).finding,
            ChangeVerdict::TooFew
        );
        assert_eq!(
            finding(&run(1.0, 0.1, 6), &run(9.0, 0.1, 6)),
            ChangeVerdict::Changed
        );
    }

    /// Twenty steps of 100 ms with half a percent of jitter.
    fn jittered(state: &mut u64, slower: f64) -> Vec<Vec<f64>> {
        let mut uniform = || (resample::random(state) >> 11) as f64 / (1_u64 << 53) as f64;
        // The sum of twelve values has a standard deviation of 1.
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
        vec![
            (0..20)
                .map(|_| 100.0 * (1.0 + slower) * (1.0 + 0.005 * normal()))
                .collect(),
        ]
    }

    #[test]
    fn false_alarms_are_rare_and_two_percent_changes_are_found_if_runs_do_not_differ() {
        let mut state = 7;
        let options = TestOptions {
            assumed_spread_percent: 0.0,
            ..TestOptions::default()
        };
        let mut called_real = |slower: f64| {
            let mut real = 0;
            for _ in 0..100 {
                let (base, cand) = (jittered(&mut state, 0.0), jittered(&mut state, slower));
                real += u32::from(MetricChange::of_runs(&base, &cand, 0.0, &options).is_real());
            }
            real
        };
        assert!(called_real(0.0) <= 8);
        assert!(called_real(0.02) >= 99);
    }
}
