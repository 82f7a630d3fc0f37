//! How much runs of the same program differ, which the steps of one run do not show.
//!
//! ```text
//! variance of a run = (8 · assumed² + Σ (run − mean of its side)²) ÷ (8 + number of runs − 2)
//! limit             = 4.5 · √(variance · (1 ÷ runs of the base + 1 ÷ runs of the candidate))
//! ```
//!
//! The assumption alone decides between one run and one; with each further run it weighs less. The three constants are
//! those with which runs whose standard deviation is up to 2 % are rarely called changed (3 % of single pairs, 1 % of
//! three runs against three) while 10 % is found. Between single runs that differ by 2 % no limit does both: the test
//! `noise` draws such runs and says what is reached.

/// Assumed standard deviation of the runs of a program, in percent of their median.
pub const ASSUMED_SPREAD_PERCENT: f64 = 1.0;
/// The assumption counts like this many degrees of freedom.
const WEIGHT: f64 = 8.0;
/// A change is more than the spread from this many standard errors on.
const STANDARD_ERRORS: f64 = 4.5;

/// Differences between two sides that runs of the same program may have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct RunSpread {
    /// Difference of the mean run, second minus first.
    pub change: f64,
    /// Differences up to this are within the spread between runs.
    pub limit: f64,
}

impl RunSpread {
    /// From one number of each run; `assumed_percent` is the assumed spread. `None` if a side has no run.
    pub(crate) fn of(base: &[f64], cand: &[f64], assumed_percent: f64) -> Option<Self> {
        let ((first, spread_a, m), (second, spread_b, n)) = (side(base)?, side(cand)?);
        let assumed = first.abs() * assumed_percent / 100.0;
        let variance = (WEIGHT * assumed * assumed + spread_a + spread_b) / (WEIGHT + m + n - 2.0);
        Some(Self {
            change: second - first,
            limit: STANDARD_ERRORS * (variance * (1.0 / m + 1.0 / n)).sqrt(),
        })
    }
}

/// The mean, the sum of squared distances from it, and the number of runs.
fn side(runs: &[f64]) -> Option<(f64, f64, f64)> {
    let mean = math::stats::mean(runs)?;
    let squares = runs.iter().map(|run| (run - mean).powi(2)).sum();
    Some((mean, squares, runs.len() as f64))
}

/// What one side against another may differ by, in percent, if only the assumption is known.
pub(crate) fn assumed_limit_percent() -> f64 {
    STANDARD_ERRORS * ASSUMED_SPREAD_PERCENT * std::f64::consts::SQRT_2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit(base: &[f64], cand: &[f64]) -> f64 {
        RunSpread::of(base, cand, ASSUMED_SPREAD_PERCENT)
            .unwrap()
            .limit
    }

    #[test]
    fn spread_is_assumed_until_runs_show_it() {
        // 4.5 · 1 · √2
        assert!((limit(&[100.0], &[110.0]) - 6.364).abs() < 1e-3);
        assert!((limit(&[100.0], &[110.0]) - assumed_limit_percent()).abs() < 1e-9);
        // Equal runs: 4.5 · √(8 ÷ 12 · ⅔)
        assert!((limit(&[100.0; 3], &[100.0; 3]) - 3.0).abs() < 1e-3);
        // Three and three that differ by 4: 4.5 · √((8 + 64) ÷ 12 · ⅔)
        assert!((limit(&[96.0, 100.0, 104.0], &[96.0, 100.0, 104.0]) - 9.0).abs() < 1e-3);
        // Many quiet runs need little: 4.5 · √(8 ÷ 66 · 2 ÷ 30)
        assert!((limit(&[100.0; 30], &[100.0; 30]) - 0.404_5).abs() < 1e-3);
    }

    #[test]
    fn sides_without_runs_have_no_spread() {
        assert_eq!(RunSpread::of(&[], &[1.0], 1.0), None);
    }
}
