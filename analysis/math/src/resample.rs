//! Block bootstrap of steps: how much medians of the same run vary by chance.
//!
//! Blocks of neighbouring steps are drawn, not single steps, because neighbours are correlated; the block length
//! follows from their correlation (Carlstein, "The Use of Subseries Values for Estimating the Variance of a General
//! Statistic from a Stationary Sequence", 1986). Runs are drawn from separately. The generator starts with the same
//! seed every time: the same input gives the same answer.

use super::quantile;
use super::rank_test::rank_autocorrelation;

/// Number of resamples; fewer for long runs, whose medians vary less.
const DRAWS: usize = 999;
const FEWEST_DRAWS: usize = 199;
/// Approximate total of numbers drawn.
const BUDGET: usize = 400_000;
/// Minimum count: fewer numbers have no usable tails.
pub const FEWEST: usize = 6;

/// Steps of one side: the numbers of each run in their order.
pub type StepRuns = [Vec<f64>];

/// 95 % confidence interval of the median of such runs.
pub fn median_range(runs: &StepRuns) -> Option<(f64, f64)> {
    let mut draws = BootstrapDraws::of(runs)?;
    middle_95(draws.medians())
}

/// The range of the difference of the medians of two sides, second minus first.
pub fn change_range(base: &StepRuns, cand: &StepRuns) -> Option<(f64, f64)> {
    let (mut base, mut cand) = (BootstrapDraws::of(base)?, BootstrapDraws::of(cand)?);
    // Another seed: the two sides are drawn from independently.
    cand.state = SEED.rotate_left(17);
    let differences: Vec<f64> = base
        .medians()
        .into_iter()
        .zip(cand.medians())
        .map(|(a, b)| b - a)
        .collect();
    middle_95(differences)
}

/// A statistic of step times.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// The number below which this share of the steps lies.
    Quantile(f64),
}

impl Statistic {
    /// The statistic of `values`, which are reordered; `None` if there are none.
    pub fn of(self, values: &mut [f64]) -> Option<f64> {
        match self {
            Self::Mean => {
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            }
            Self::Quantile(at) => quantile::in_place(values, at),
        }
    }
}

/// The difference of medians that equal runs stay below with 95 % probability. This is the A/A comparison that one run
/// can make with itself.
pub fn noise(runs: &StepRuns) -> Option<f64> {
    noise_of(runs, Statistic::Quantile(0.5), 0.95)
}

/// The noise of any statistic, for any share of the differences.
pub fn noise_of(runs: &StepRuns, statistic: Statistic, share: f64) -> Option<f64> {
    let (mut first, mut second) = (BootstrapDraws::of(runs)?, BootstrapDraws::of(runs)?);
    second.state = SEED.rotate_left(31);
    let (first, second) = (first.statistics(statistic), second.statistics(statistic));
    let mut distances: Vec<f64> = first
        .into_iter()
        .zip(second)
        .map(|(a, b)| (b - a).abs())
        .collect();
    distances.sort_by(f64::total_cmp);
    distances
        .get((distances.len() as f64 * share) as usize)
        .copied()
}

/// Block length for `n` numbers whose neighbours correlate by `rho`.
pub(crate) fn block_length(n: usize, rho: f64) -> usize {
    let rho = rho.clamp(0.0, 0.97);
    let length = (6.0_f64.sqrt() * rho / (1.0 - rho * rho)).powf(2.0 / 3.0) * (n as f64).cbrt();
    (length.round() as usize).clamp(1, (n / 3).max(1))
}

const SEED: u64 = 0x9E37_79B9_7F4A_7C15;

struct BootstrapDraws<'a> {
    runs: Vec<(&'a [f64], usize)>,
    state: u64,
    count: usize,
}

impl<'a> BootstrapDraws<'a> {
    fn of(runs: &'a StepRuns) -> Option<Self> {
        let total: usize = runs.iter().map(Vec::len).sum();
        let with_block = |values: &'a Vec<f64>| {
            (
                values.as_slice(),
                block_length(values.len(), rank_autocorrelation(values)),
            )
        };
        let count = (BUDGET / total.max(1)).clamp(FEWEST_DRAWS, DRAWS);
        let runs = runs
            .iter()
            .filter(|values| !values.is_empty())
            .map(with_block)
            .collect();
        (total >= FEWEST).then_some(Self {
            runs,
            state: SEED,
            count,
        })
    }

    fn medians(&mut self) -> Vec<f64> {
        self.statistics(Statistic::Quantile(0.5))
    }

    fn statistics(&mut self, statistic: Statistic) -> Vec<f64> {
        let mut drawn = Vec::new();
        let count = self.count;
        let draw = |_| {
            self.draw(&mut drawn);
            statistic.of(&mut drawn).unwrap_or(0.0)
        };
        (0..count).map(draw).collect()
    }

    fn draw(&mut self, drawn: &mut Vec<f64>) {
        drawn.clear();
        let mut state = self.state;
        for &(values, block) in &self.runs {
            let until = drawn.len() + values.len();
            while drawn.len() < until {
                let from = (random(&mut state) % values.len() as u64) as usize;
                let length = block.min(until - drawn.len());
                // Wraps around at the end, so that the first and last numbers are drawn as often as others.
                let (before, after) = values.split_at(from);
                let at_end = length.min(after.len());
                for part in [after.get(..at_end), before.get(..length - at_end)] {
                    drawn.extend_from_slice(part.unwrap_or_default());
                }
            }
        }
        self.state = state;
    }
}

/// Steele, Lea and Flood's `SplitMix64`.
pub fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

fn middle_95(mut values: Vec<f64>) -> Option<(f64, f64)> {
    values.sort_by(f64::total_cmp);
    let tail = values.len() / 40;
    Some((
        *values.get(tail)?,
        *values.get(values.len().checked_sub(tail + 1)?)?,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_length_grows_with_autocorrelation() {
        assert_eq!(block_length(100, 0.0), 1);
        // (√6 · 0.5 ÷ 0.75)^(2/3) · 100^(1/3) = 6.46
        assert_eq!(block_length(100, 0.5), 6);
        assert_eq!(block_length(6, 0.9), 2);
        assert_eq!(block_length(0, 0.5), 1);
    }

    #[test]
    fn median_range_follows_from_ranks() {
        // 1 to 100: by rank the median lies between the 40th and the 61st.
        let runs = [(1..=100)
            .map(|i| f64::from(i * 37 % 101))
            .collect::<Vec<_>>()];
        let (low, high) = median_range(&runs).unwrap();
        assert!(
            (36.0..=45.0).contains(&low) && (56.0..=65.0).contains(&high),
            "{low} {high}"
        );
    }

    #[test]
    fn shift_is_found_with_its_size() {
        let base = [(0..60)
            .map(|i| 100.0 + f64::from(i * 7 % 11) * 0.1)
            .collect::<Vec<_>>()];
        let cand = [base[0].iter().map(|x| x + 5.0).collect::<Vec<_>>()];
        let (low, high) = change_range(&base, &cand).unwrap();
        assert!(
            low <= 5.0 && 5.0 <= high && high - low < 1.0,
            "{low} {high}"
        );
        assert!(noise(&base).unwrap() < 0.5);
    }

    #[test]
    fn constant_values_have_no_noise() {
        assert_eq!(noise(&[vec![3.0; 20]]), Some(0.0));
        assert_eq!(median_range(&[vec![3.0; 5]]), None);
        assert_eq!(median_range(&[]), None);
    }

    #[test]
    fn results_are_deterministic() {
        let runs = [(0..50).map(|i| f64::from(i * 31 % 17)).collect::<Vec<_>>()];
        assert_eq!(noise(&runs), noise(&runs));
    }

    #[test]
    fn random_numbers_match_published_ones() {
        // The reference implementation from seed 1234567.
        let mut state = 1_234_567;
        assert_eq!(
            [random(&mut state), random(&mut state)],
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973]
        );
    }
}
