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

/// Resamples of the steps of one side. What is drawn is only counted: sorting each resample would take most of the time.
struct BootstrapDraws {
    /// All numbers in ascending order.
    sorted: Vec<f64>,
    /// For each run the places of its numbers in `sorted`, and the length of its blocks.
    runs: Vec<(Vec<u32>, usize)>,
    state: u64,
    count: usize,
}

impl BootstrapDraws {
    fn of(runs: &StepRuns) -> Option<Self> {
        let total: usize = runs.iter().map(Vec::len).sum();
        let mut order: Vec<(f64, usize, usize)> = Vec::with_capacity(total);
        let mut places = Vec::with_capacity(runs.len());
        for values in runs.iter().filter(|values| !values.is_empty()) {
            let run = places.len();
            order.extend((0..).zip(values).map(|(at, &value)| (value, run, at)));
            let block = block_length(values.len(), rank_autocorrelation(values));
            places.push((vec![0; values.len()], block));
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (place, &(_, run, at)) in (0..).zip(&order) {
            if let Some(slot) = places.get_mut(run).and_then(|(run, _)| run.get_mut(at)) {
                *slot = place;
            }
        }
        (total >= FEWEST).then(|| Self {
            sorted: order.into_iter().map(|(value, ..)| value).collect(),
            runs: places,
            state: SEED,
            count: (BUDGET / total).clamp(FEWEST_DRAWS, DRAWS),
        })
    }

    fn medians(&mut self) -> Vec<f64> {
        self.statistics(Statistic::Quantile(0.5))
    }

    fn statistics(&mut self, statistic: Statistic) -> Vec<f64> {
        let (total, draws) = (self.sorted.len(), self.count);
        let mut counts = vec![0; total];
        let draw = |_| {
            counts.fill(0);
            self.draw(&mut counts);
            let found = match statistic {
                Statistic::Mean => {
                    let drawn = self.sorted.iter().zip(&counts);
                    let sum: f64 = drawn.map(|(value, &count)| value * f64::from(count)).sum();
                    Some(sum / total as f64)
                }
                Statistic::Quantile(at) => quantile::of_counted(&self.sorted, &counts, total, at),
            };
            found.unwrap_or(0.0)
        };
        (0..draws).map(draw).collect()
    }

    /// Counts how often each number is drawn.
    fn draw(&mut self, counts: &mut [u32]) {
        let mut state = self.state;
        for (places, block) in &self.runs {
            let mut missing = places.len();
            while missing > 0 {
                let from = (random(&mut state) % places.len() as u64) as usize;
                let length = missing.min(*block);
                // Wraps around at the end, so that the first and last numbers are drawn as often as others.
                let (before, after) = places.split_at(from);
                for &place in after.iter().chain(before).take(length) {
                    if let Some(count) = counts.get_mut(place as usize) {
                        *count += 1;
                    }
                }
                missing -= length;
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
