//! The run from which a number is another one: the split of a series of runs whose sides differ most surely.

use super::change::{ChangeVerdict, ENOUGH_RUNS, MetricChange, TestOptions};

/// Where a number changed.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangePoint {
    /// The first run of the new level.
    pub at: usize,
    /// The runs before against those from there on.
    pub change: MetricChange,
    /// How many splits were tested: the level of each is that of one test divided by this.
    pub tests: usize,
}

/// Fewest runs among which a change can be found.
pub const FEWEST_RUNS: usize = 2 * ENOUGH_RUNS;

/// The change point of some runs, each with its steps or its one number, the oldest first. Every split that leaves enough
/// runs on both sides is tested as two groups of runs are compared; the level of significance is divided by the number of
/// splits, so that noise rarely looks like a change. `None` if no split differs by more than noise. `percent` is the
/// smallest relevant change, of the median of all runs.
pub fn change_point(runs: &[Vec<f64>], percent: f64, options: &TestOptions) -> Option<ChangePoint> {
    let splits = ENOUGH_RUNS..(runs.len() + 1).saturating_sub(ENOUGH_RUNS);
    let tests = splits.len();
    if tests == 0 || runs.iter().any(Vec::is_empty) {
        return None;
    }
    let options = TestOptions {
        alpha: options.alpha / tests as f64,
        ..*options
    };
    let all: Vec<f64> = runs.iter().flatten().copied().collect();
    let effect = math::stats::median(&all)?.abs() * percent / 100.0;
    let found = splits.filter_map(|at| {
        let (before, after) = runs.split_at(at);
        let change = MetricChange::judged(before, after, effect, &options);
        (change.finding == ChangeVerdict::Changed).then_some((at, change))
    });
    // The surest split; of equally sure ones that with the largest change, and the first of these.
    let p = |change: &MetricChange| change.p.unwrap_or(1.0);
    let size = |change: &MetricChange| change.change.unwrap_or_default().abs();
    let (at, change) = found.min_by(|(a, one), (b, other)| {
        let surer = p(one).total_cmp(&p(other));
        let larger = surer.then_with(|| size(other).total_cmp(&size(one)));
        larger.then(a.cmp(b))
    })?;
    Some(ChangePoint { at, change, tests })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(values: &[f64]) -> Vec<Vec<f64>> {
        values.iter().map(|&value| vec![value]).collect()
    }

    fn found(values: &[f64]) -> Option<usize> {
        change_point(&runs(values), 0.1, &TestOptions::default()).map(|point| point.at)
    }

    #[test]
    fn a_step_up_is_found_where_it_is() {
        let mut values: Vec<f64> = (0..8).map(|run| 100.0 + f64::from(run % 3) * 0.1).collect();
        assert_eq!(found(&values), None, "noise");
        values.extend((0..6).map(|run| 120.0 + f64::from(run % 4) * 0.1));
        assert_eq!(found(&values), Some(8));
        let point = change_point(&runs(&values), 0.1, &TestOptions::default()).unwrap();
        let percent = point.change.change_percent.unwrap().0;
        assert!((19.0..21.0).contains(&percent), "{percent}");
        assert_eq!(point.tests, 7);
    }

    #[test]
    fn few_runs_and_single_outliers_are_no_change() {
        assert_eq!(found(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0]), None);
        let outlier = [
            10.0, 10.1, 10.2, 10.0, 10.1, 90.0, 10.2, 10.1, 10.0, 10.2, 10.1, 10.0,
        ];
        assert_eq!(found(&outlier), None);
        assert_eq!(change_point(&[], 0.1, &TestOptions::default()), None);
        assert_eq!(
            change_point(&vec![Vec::new(); 20], 0.1, &TestOptions::default()),
            None
        );
    }
}
