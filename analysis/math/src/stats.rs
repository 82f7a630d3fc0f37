//! Summary statistics of a few numbers.

use serde::Serialize;

use crate::bounds::{Bounds, bounds};
use crate::quantile::{of_sorted, quantile};

/// Location and spread of some numbers. In reports they are times, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Stats {
    /// Number of values.
    pub count: usize,
    /// Arithmetic mean.
    #[serde(rename = "mean_ps")]
    pub mean: f64,
    /// Median; the mean of the middle two of an even count.
    #[serde(rename = "median_ps")]
    pub median: f64,
    /// Smallest.
    #[serde(rename = "min_ps")]
    pub min: f64,
    /// Largest.
    #[serde(rename = "max_ps")]
    pub max: f64,
    /// Sample standard deviation (n − 1); `None` for one number.
    #[serde(rename = "stddev_ps")]
    pub stddev: Option<f64>,
    /// Standard deviation as a percentage of the mean.
    pub cv_percent: Option<f64>,
    /// 10th percentile; `None` for fewer than ten numbers.
    #[serde(rename = "p10_ps")]
    pub p10: Option<f64>,
    /// 90th percentile; `None` for fewer than ten numbers.
    #[serde(rename = "p90_ps")]
    pub p90: Option<f64>,
    /// 99th percentile; `None` for fewer than a hundred numbers.
    #[serde(rename = "p99_ps")]
    pub p99: Option<f64>,
    /// Distribution-free 95 % confidence interval of the median, for independent numbers; `None` for fewer than six
    /// numbers.
    #[serde(rename = "median_range_ps", serialize_with = "bounds")]
    #[schemars(with = "Option<Bounds<f64>>")]
    pub median_range: Option<(f64, f64)>,
}

/// The mean; `None` of nothing.
pub fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

impl Stats {
    /// Statistics of `values`; `None` if there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let sorted = sorted(values);
        let median = of_sorted(&sorted, 0.5)?;
        let at_least =
            |n: usize, share: f64| of_sorted(&sorted, share).filter(|_| sorted.len() >= n);
        let count = values.len();
        let mean = mean(values)?;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let stddev = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        let cv_percent = stddev
            .filter(|_| mean > 0.0)
            .map(|stddev| 100.0 * stddev / mean);
        let (min, max) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &value| {
                (min.min(value), max.max(value))
            });
        let (p10, p90, p99) = (at_least(10, 0.1), at_least(10, 0.9), at_least(100, 0.99));
        Some(Self {
            count,
            mean,
            median,
            min,
            max,
            stddev,
            cv_percent,
            p10,
            p90,
            p99,
            median_range: around_median(&sorted),
        })
    }
}

/// The median; the mean of the middle two of an even count.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted: Vec<f64> = values
        .iter()
        .copied()
        .filter(|value| value.is_finite())
        .collect();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// 95 % confidence interval of the median: the k-th smallest and the k-th largest
/// number, with the largest k for which fewer than k of n fair coins show heads
/// with a probability of at most 2.5 %.
fn around_median(sorted: &[f64]) -> Option<(f64, f64)> {
    /// Above this count the normal approximation is used, and powers of one half would underflow.
    const EXACT_UP_TO: usize = 500;
    const TAIL: f64 = 0.025;
    let n = sorted.len();
    let k = if n <= EXACT_UP_TO {
        let (mut probability, mut below, mut k) = (0.5_f64.powi(n as i32), 0.0, 0);
        while k < n && below + probability <= TAIL {
            below += probability;
            probability *= (n - k) as f64 / (k + 1) as f64;
            k += 1;
        }
        k
    } else {
        ((n as f64 - 1.959_964 * (n as f64).sqrt()) / 2.0).floor() as usize
    };
    let low = *sorted.get(k.checked_sub(1)?)?;
    Some((low, *sorted.get(n.checked_sub(k)?)?))
}

/// `0.6745 · (x − median) / max(MAD, floor)` of every value: its distance from the median in robust standard
/// deviations. MAD is the median distance from the median; `floor` prevents nearly equal values from having a large z.
/// Above 3.5 a value is commonly called an outlier.
pub fn modified_z(values: &[f64], floor: f64) -> Vec<f64> {
    let Some(middle) = median(values) else {
        return Vec::new();
    };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let spread = median(&distances).unwrap_or_default().max(floor);
    values
        .iter()
        .map(|value| {
            if spread > 0.0 {
                0.6745 * (value - middle) / spread
            } else {
                0.0
            }
        })
        .collect()
}

/// Modified z beyond which a value is an outlier.
pub const OUTLIER_Z: f64 = 3.5;

/// Minimum spread for `modified_z`, as a share of the median. Steps and devices of a healthy run can be nearly equal
/// (v6e: 784.1 to 784.4 ms, a MAD of 0.01 %), and then every value that differs at all would be an outlier. With this
/// floor nothing within 2.6 % of the median is one.
pub const SPREAD_FLOOR: f64 = 0.005;

/// `part` of `whole` in percent; `None` of nothing.
pub fn percent(part: i64, whole: i64) -> Option<f64> {
    (whole > 0).then(|| 100.0 * part as f64 / whole as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straggler_has_a_large_modified_z_score() {
        let z = modified_z(&[10.0, 10.2, 9.9, 10.1, 14.0], 0.1);
        assert!((z[4] - 26.3055).abs() < 1e-3, "{z:?}");
        assert!(z[..4].iter().all(|z| z.abs() < OUTLIER_Z));
        assert_eq!(modified_z(&[5.0, 5.0, 5.0], 0.0), [0.0; 3]);
    }

    #[test]
    fn statistics_match_known_values() {
        let stats = Stats::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!(
            (stats.mean, stats.median, stats.min, stats.max),
            (5.0, 4.5, 2.0, 9.0)
        );
        assert!((stats.stddev.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(Stats::of(&[3.0]).unwrap().stddev, None);
        assert_eq!(Stats::of(&[]), None);
    }

    #[test]
    fn median_ranks_match_published_tables() {
        // Printed tables of the sign test: n = 6: 1st and 6th, 10: 2nd and 9th, 20: 6th and 15th, 100: 40th and 61st.
        let range = |n: i32| {
            Stats::of(&(1..=n).map(f64::from).collect::<Vec<_>>())
                .unwrap()
                .median_range
        };
        assert_eq!(range(5), None);
        for (n, expected) in [
            (6, (1.0, 6.0)),
            (10, (2.0, 9.0)),
            (20, (6.0, 15.0)),
            (100, (40.0, 61.0)),
        ] {
            assert_eq!(range(n), Some(expected), "{n}");
        }
        // Either way of counting gives ranks next to each other.
        let ((exact, _), (normal, _)) = (range(500).unwrap(), range(501).unwrap());
        assert!((exact - normal).abs() <= 1.0, "{exact} {normal}");
    }

    #[test]
    fn tail_quantiles_need_enough_values() {
        let stats = |n: i32| Stats::of(&(1..=n).map(f64::from).collect::<Vec<_>>()).unwrap();
        assert_eq!(
            (stats(9).p10, stats(9).p90, stats(99).p99),
            (None, None, None)
        );
        assert_eq!((stats(11).p10, stats(11).p90), (Some(2.0), Some(10.0)));
        assert_eq!(stats(101).p99, Some(100.0));
    }
}
