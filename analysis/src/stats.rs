//! Statistics of a handful of numbers.

use serde::Serialize;

/// Location and spread of some numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Stats {
    /// How many numbers.
    pub count: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Middle number; mean of the middle two of an even count.
    pub median: f64,
    /// Smallest.
    pub min: f64,
    /// Largest.
    pub max: f64,
    /// Sample standard deviation (n − 1); `None` for one number.
    pub stddev: Option<f64>,
    /// Standard deviation as a percentage of the mean.
    pub cv_percent: Option<f64>,
}

impl Stats {
    /// Of `values`; `None` without any.
    pub fn of(values: &[f64]) -> Option<Self> {
        let median = median(values)?;
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let stddev = (count > 1).then(|| (squares / (count - 1) as f64).sqrt());
        let cv_percent = stddev.filter(|_| mean > 0.0).map(|stddev| 100.0 * stddev / mean);
        let (min, max) = values
            .iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(min, max), &value| (min.min(value), max.max(value)));
        Some(Self { count, mean, median, min, max, stddev, cv_percent })
    }
}

/// The middle number; the mean of the middle two of an even count.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

/// The number below which the share `at` of the values lies, linear between neighbours.
pub fn quantile(values: &[f64], at: f64) -> Option<f64> {
    let mut sorted: Vec<f64> = values.iter().copied().filter(|value| value.is_finite()).collect();
    sorted.sort_by(f64::total_cmp);
    let place = at.clamp(0.0, 1.0) * sorted.len().checked_sub(1)? as f64;
    let (low, high) = (sorted.get(place.floor() as usize)?, sorted.get(place.ceil() as usize)?);
    Some(low + (high - low) * place.fract())
}

/// `0.6745 · (x − median) / max(MAD, floor)` of every value: how many robust
/// standard deviations it lies from the middle. MAD is the median distance from
/// the median; `floor` keeps values that are all but equal from looking far apart.
/// Beyond 3.5 a value is commonly called an outlier.
pub fn modified_z(values: &[f64], floor: f64) -> Vec<f64> {
    let Some(middle) = median(values) else { return Vec::new() };
    let distances: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    let spread = median(&distances).unwrap_or_default().max(floor);
    values.iter().map(|value| if spread > 0.0 { 0.6745 * (value - middle) / spread } else { 0.0 }).collect()
}

/// Modified z beyond which a value is an outlier.
pub const OUTLIER_Z: f64 = 3.5;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straggler_has_a_large_modified_z() {
        let z = modified_z(&[10.0, 10.2, 9.9, 10.1, 14.0], 0.1);
        assert!((z[4] - 26.3055).abs() < 1e-3, "{z:?}");
        assert!(z[..4].iter().all(|z| z.abs() < OUTLIER_Z));
        assert_eq!(modified_z(&[5.0, 5.0, 5.0], 0.0), [0.0; 3]);
    }

    #[test]
    fn known_statistics() {
        let stats = Stats::of(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((stats.mean, stats.median, stats.min, stats.max), (5.0, 4.5, 2.0, 9.0));
        assert!((stats.stddev.unwrap() - (32.0_f64 / 7.0).sqrt()).abs() < 1e-12);
        assert_eq!(Stats::of(&[3.0]).unwrap().stddev, None);
        assert_eq!(Stats::of(&[]), None);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.25), Some(2.0));
    }
}
