//! Tests whether a number changed by more than noise: one test for each way in which steps are aggregated into one
//! number.
//!
//! | aggregate | test |
//! |---|---|
//! | median | rank sum test ([`Change`]), and more than the difference between medians of equal runs, resampled from either side. If successive steps are so correlated that the rank test allows no conclusion: 90 % of the steps of one side above 90 % of the other's |
//! | p90, p95, max | more than the difference between the same quantiles of equal runs, resampled from either side |
//! | mean | the same, resampled from the baseline only: a mean is used to find a few long steps, and a run that has them already varies by that much. The longest step of each run alone proves nothing ([`MetricRuns::mean_without_longest`]) |
//! | each of these, several runs | more than the spread between the runs of a side ([`RunSpread`]) |
//! | share of steps (each 0 or 100) | Fisher's exact test, one-sided |
//! | one value per run, several runs | more than the difference between the runs of a side |
//! | one value per run, one run | none: only its limit decides |

use math::resample::{self, Statistic, StepRuns};

use super::limits::StepAggregate;
use super::measure::MetricRuns;
use crate::compare::{ChangeVerdict, MetricChange, RunSpread, TestOptions};

/// Significance level of the comparison with resampled equal runs.
const DRAWN_ALPHA: f64 = 0.01;
/// Significance level of the rank sum test. With a dozen correlated steps its p cannot become smaller, however much the
/// runs differ; the resampling compensates for this.
const RANKS_ALPHA: f64 = 0.05;

/// Result of testing a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoiseVerdict {
    /// More than noise.
    Real,
    /// Within the noise.
    Noise,
    /// Too little data for a conclusion.
    TooFew,
    /// The variation of the number is unknown.
    Untested,
}

/// Tests a change from `base` to `cand` that is at least `effect`; `alpha` is the user's significance level.
pub(super) fn proof(
    base: &MetricRuns,
    cand: &MetricRuns,
    how: StepAggregate,
    effect: f64,
    (alpha, min_steps): (Option<f64>, usize),
) -> NoiseVerdict {
    let drawn_alpha = alpha.unwrap_or(DRAWN_ALPHA);
    let is_series = base.is_series && cand.is_series;
    if !is_series {
        return of_single_numbers(&base.runs, &cand.runs, how.statistic());
    }
    if how.is_middle() {
        // The limit of the gate says what runs may differ by: nothing is assumed.
        let alpha = alpha.unwrap_or(RANKS_ALPHA);
        let test = TestOptions {
            alpha,
            min_steps,
            assumed_spread_percent: 0.0,
            ..TestOptions::default()
        };
        match MetricChange::judged(&base.runs, &cand.runs, effect, &test).finding {
            ChangeVerdict::Changed => {}
            _ if are_apart(&base.runs, &cand.runs) => {}
            ChangeVerdict::Noise | ChangeVerdict::BetweenRuns => return NoiseVerdict::Noise,
            ChangeVerdict::TooFew
            | ChangeVerdict::Correlated
            | ChangeVerdict::Untested
            | ChangeVerdict::OneSided => return NoiseVerdict::TooFew,
        }
    }
    if how == StepAggregate::Mean && is_share(&base.runs) && is_share(&cand.runs) {
        let p = fisher(counted(&base.runs), counted(&cand.runs));
        return if p <= drawn_alpha {
            NoiseVerdict::Real
        } else {
            NoiseVerdict::Noise
        };
    }
    let statistic = how.statistic();
    let (Some(before), Some(after)) = (base.aggregate(how), cand.aggregate(how)) else {
        return NoiseVerdict::TooFew;
    };
    let drawn = |runs: &StepRuns| resample::noise_of(runs, statistic, 1.0 - drawn_alpha);
    let noise = match (drawn(&base.runs), how) {
        // The sum of a few steps is known well: what they cannot show is a single long one.
        (noise, StepAggregate::Mean) => noise.unwrap_or(0.0),
        (Some(noise), _) => match drawn(&cand.runs) {
            Some(other) => noise.max(other),
            None => return NoiseVerdict::TooFew,
        },
        (None, _) => return NoiseVerdict::TooFew,
    };
    let of_runs = |runs: &StepRuns| {
        runs.iter()
            .filter_map(|run| statistic.of(&mut run.clone()))
            .collect::<Vec<_>>()
    };
    let between = RunSpread::of(&of_runs(&base.runs), &of_runs(&cand.runs), 0.0)
        .map_or(0.0, |runs| runs.limit);
    if (after - before).abs() > noise.max(between) {
        NoiseVerdict::Real
    } else {
        NoiseVerdict::Noise
    }
}

/// Whether 90 % of the steps of one side are above 90 % of the other's. With a dozen correlated steps the rank sum test
/// allows no conclusion, however much the sides differ; this does.
fn are_apart(base: &StepRuns, cand: &StepRuns) -> bool {
    let quantile = |runs: &StepRuns, share: f64| Statistic::Quantile(share).of(&mut runs.concat());
    let is_above = |low: &StepRuns, high: &StepRuns| {
        quantile(low, 0.9)
            .zip(quantile(high, 0.1))
            .is_some_and(|(low, high)| low < high)
    };
    is_above(base, cand) || is_above(cand, base)
}

fn spread(runs: &StepRuns, statistic: Statistic) -> f64 {
    let of_runs = || runs.iter().filter_map(|run| statistic.of(&mut run.clone()));
    let least = of_runs().reduce(f64::min);
    let most = of_runs().reduce(f64::max);
    most.zip(least).map_or(0.0, |(most, least)| most - least)
}

fn of_single_numbers(base: &StepRuns, cand: &StepRuns, statistic: Statistic) -> NoiseVerdict {
    if base.len().max(cand.len()) < 2 {
        return NoiseVerdict::Untested;
    }
    let one = |runs: &StepRuns| statistic.of(&mut runs.concat());
    let (Some(before), Some(after)) = (one(base), one(cand)) else {
        return NoiseVerdict::TooFew;
    };
    // One side alone, because the variation of the other is unknown.
    let spread = spread(base, statistic).max(if base.len() < 2 {
        spread(cand, statistic)
    } else {
        0.0
    });
    if (after - before).abs() > spread {
        NoiseVerdict::Real
    } else {
        NoiseVerdict::Noise
    }
}

/// A property that a step has or does not have.
fn is_share(runs: &StepRuns) -> bool {
    runs.iter()
        .flatten()
        .all(|value| value.abs() < f64::EPSILON || (value - 100.0).abs() < f64::EPSILON)
}

/// Number of steps that have it, and of all steps.
fn counted(runs: &StepRuns) -> (usize, usize) {
    let all = || runs.iter().flatten();
    (all().filter(|value| **value > 50.0).count(), all().count())
}

/// Probability that this many or more of all steps with the property are on the second side, if the sides are equal
/// (Fisher's exact test, one-sided).
fn fisher((a, m): (usize, usize), (b, n): (usize, usize)) -> f64 {
    let with = a + b;
    let ln_choose = |n: usize, k: usize| ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k);
    let all = ln_choose(m + n, with);
    (b..=with.min(n))
        .map(|on_second| {
            let on_first = with - on_second;
            if on_first > m {
                0.0
            } else {
                (ln_choose(n, on_second) + ln_choose(m, on_first) - all).exp()
            }
        })
        .sum::<f64>()
        .min(1.0)
}

fn ln_factorial(n: usize) -> f64 {
    (2..=n).map(|i| (i as f64).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fisher_test_matches_published_values() {
        // The lady tasting tea: 4 of 4 right, 1 in 70; 3 of 4, 17 in 70.
        assert!((fisher((0, 4), (4, 4)) - 1.0 / 70.0).abs() < 1e-12);
        assert!((fisher((1, 4), (3, 4)) - 17.0 / 70.0).abs() < 1e-12);
        assert!((fisher((0, 20), (0, 20)) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn change_in_the_share_of_slow_steps_is_tested() {
        let steps = |slow: usize| {
            let values = (0..20)
                .map(|i| if i < slow { 100.0 } else { 0.0 })
                .collect();
            MetricRuns::of_steps(vec![values])
        };
        let of = |base: usize, cand: usize| {
            proof(
                &steps(base),
                &steps(cand),
                StepAggregate::Mean,
                0.0,
                (None, 6),
            )
        };
        assert_eq!(of(0, 1), NoiseVerdict::Noise);
        assert_eq!(of(0, 7), NoiseVerdict::Real);
        assert_eq!(of(7, 7), NoiseVerdict::Noise);
    }

    #[test]
    fn one_more_slow_step_does_not_change_a_quantile() {
        let steps = |slow: usize| {
            let values = (0..12).map(|i| {
                if i < slow {
                    130.0
                } else {
                    100.0 + 0.1 * f64::from(i as u32 % 5)
                }
            });
            MetricRuns::of_steps(vec![values.collect()])
        };
        let of =
            |base: usize, cand: usize, how| proof(&steps(base), &steps(cand), how, 0.0, (None, 6));
        assert_eq!(of(0, 2, StepAggregate::P90), NoiseVerdict::Noise);
        assert_eq!(of(0, 12, StepAggregate::P90), NoiseVerdict::Real);
        // The mean of the baseline is steady, so a few long steps do count.
        assert_eq!(of(0, 2, StepAggregate::Mean), NoiseVerdict::Real);
        assert_eq!(of(2, 0, StepAggregate::Mean), NoiseVerdict::Noise);
    }

    #[test]
    fn per_run_numbers_are_judged_by_spread_between_runs() {
        let runs = |values: &[f64]| values.iter().map(|value| vec![*value]).collect::<Vec<_>>();
        let of = |base: &[f64], cand: &[f64]| {
            of_single_numbers(&runs(base), &runs(cand), Statistic::Quantile(0.5))
        };
        assert_eq!(of(&[1.0], &[9.0]), NoiseVerdict::Untested);
        assert_eq!(of(&[1.0, 3.0, 2.0], &[3.5]), NoiseVerdict::Noise);
        assert_eq!(of(&[1.0, 3.0, 2.0], &[9.0, 9.0]), NoiseVerdict::Real);
    }
}
