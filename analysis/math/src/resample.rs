//! Block bootstrap of steps: how much medians of the same run vary by chance.
//!
//! Blocks of neighbouring steps are drawn, not single steps, because neighbours are correlated; the block length
//! follows from their correlation (Carlstein, "The Use of Subseries Values for Estimating the Variance of a General
//! Statistic from a Stationary Sequence", 1986). Runs are drawn from separately. The generator starts with the same
//! seed every time: the same input gives the same answer.

use std::cell::OnceCell;

use super::quantile;
use super::rank_test::rank_autocorrelation;
use super::stats::mean;

/// Number of resamples; fewer for long runs, whose medians vary less.
const DRAWS: usize = 999;
const FEWEST_DRAWS: usize = 199;
/// Approximate total of numbers drawn.
const BUDGET: usize = 400_000;
/// Minimum count: fewer numbers have no usable tails.
pub const FEWEST: usize = 6;

/// The work of resampling a series of so many steps, for [`crate::parallel::map`]: ten numbers are drawn in the time that
/// one slice takes.
pub fn work(steps: usize) -> usize {
    draws(steps) * steps / 10
}

/// Number of resamples of so many steps.
fn draws(steps: usize) -> usize {
    (BUDGET / steps.max(1)).clamp(FEWEST_DRAWS, DRAWS)
}

/// Steps of one side: the numbers of each run in their order.
pub type StepRuns = [Vec<f64>];

/// Medians of resamples of one side. They are drawn when they are first needed, and once: intervals and noise share them.
pub struct ResampledMedians<'a> {
    runs: &'a StepRuns,
    /// Two sets that are independent of each other.
    sets: [OnceCell<Option<Vec<f64>>>; 2],
}

impl<'a> ResampledMedians<'a> {
    /// Nothing is drawn yet.
    pub fn new(runs: &'a StepRuns) -> Self {
        let sets = [const { OnceCell::new() }; 2];
        Self { runs, sets }
    }

    /// The steps that are resampled.
    pub fn runs(&self) -> &'a StepRuns {
        self.runs
    }

    /// 95 % confidence interval of the median; `None` for fewer than six steps.
    pub fn range(&self) -> Option<(f64, f64)> {
        middle_95(self.set(0)?.to_vec())
    }

    /// 95 % confidence interval of the difference of the medians of two sides, `cand` minus this one.
    pub fn change_range(&self, cand: &Self) -> Option<(f64, f64)> {
        let medians = self.set(0)?.iter().zip(cand.set(1)?);
        middle_95(medians.map(|(base, cand)| cand - base).collect())
    }

    /// The difference of medians that equal runs stay below with 95 % probability. This is the A/A comparison that one run
    /// can make with itself.
    pub fn noise(&self) -> Option<f64> {
        distance(self.set(0)?, self.set(1)?, 0.95)
    }

    fn set(&self, which: usize) -> Option<&[f64]> {
        let draw =
            || Some(BootstrapDraws::of(self.runs, SEEDS[which])?.statistics(Statistic::MEDIAN));
        self.sets[which].get_or_init(draw).as_deref()
    }
}

/// A statistic of step times.
#[derive(Clone, Copy, Debug)]
pub enum Statistic {
    /// Arithmetic mean.
    Mean,
    /// The number below which this share of the steps lies.
    Quantile(f64),
}

impl Statistic {
    const MEDIAN: Self = Self::Quantile(0.5);

    /// The statistic of `values`, which are reordered; `None` if there are none.
    pub fn of(self, values: &mut [f64]) -> Option<f64> {
        match self {
            Self::Mean => mean(values),
            Self::Quantile(share) => quantile::in_place(values, share),
        }
    }
}

/// The noise of any statistic, as [`ResampledMedians::noise`] has it for the median, for any share of the differences.
pub fn noise_of(runs: &StepRuns, statistic: Statistic, share: f64) -> Option<f64> {
    let [first, second] =
        SEEDS.map(|seed| Some(BootstrapDraws::of(runs, seed)?.statistics(statistic)));
    distance(&first?, &second?, share)
}

/// The distance of two drawn values that `share` of all pairs stay below.
fn distance(first: &[f64], second: &[f64], share: f64) -> Option<f64> {
    let pairs = first.iter().zip(second);
    let mut distances: Vec<f64> = pairs.map(|(a, b)| (b - a).abs()).collect();
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

/// What two independent sets of resamples begin with.
const SEEDS: [u64; 2] = {
    const SEED: u64 = 0x9E37_79B9_7F4A_7C15;
    [SEED, SEED.rotate_left(31)]
};

/// What is drawn from a run.
struct DrawnRun {
    /// Number of steps.
    steps: usize,
    /// Length of its blocks, the last of which is cut.
    block: usize,
    /// The places of its numbers in the sorted ones. As many as a block has follow again from the start: a block that
    /// wraps around at the end is one piece, so that the first and last numbers are drawn as often as others.
    places: Vec<u32>,
}

/// Resamples of the steps of one side. What is drawn is only counted: sorting each resample would take most of the time.
struct BootstrapDraws {
    /// All numbers in ascending order.
    sorted: Vec<f64>,
    runs: Vec<DrawnRun>,
    state: u64,
}

impl BootstrapDraws {
    fn of(runs: &StepRuns, seed: u64) -> Option<Self> {
        let total: usize = runs.iter().map(Vec::len).sum();
        let mut order: Vec<(f64, usize, usize)> = Vec::with_capacity(total);
        let mut drawn = Vec::with_capacity(runs.len());
        for values in runs.iter().filter(|values| !values.is_empty()) {
            let (run, steps) = (drawn.len(), values.len());
            order.extend((0..).zip(values).map(|(index, &value)| (value, run, index)));
            drawn.push(DrawnRun {
                steps,
                block: block_length(steps, rank_autocorrelation(values)),
                places: vec![0; steps],
            });
        }
        order.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (place, &(_, run, index)) in (0..).zip(&order) {
            if let Some(slot) = drawn.get_mut(run).and_then(|run| run.places.get_mut(index)) {
                *slot = place;
            }
        }
        for run in &mut drawn {
            run.places.extend_from_within(..run.block);
        }
        (total >= FEWEST).then(|| Self {
            sorted: order.into_iter().map(|(value, ..)| value).collect(),
            runs: drawn,
            state: seed,
        })
    }

    fn statistics(&mut self, statistic: Statistic) -> Vec<f64> {
        let total = self.sorted.len();
        let mut counts = vec![0; total];
        let draw = |_| {
            counts.fill(0);
            self.draw(&mut counts);
            let estimate = match statistic {
                Statistic::Mean => {
                    let drawn = self.sorted.iter().zip(&counts);
                    let sum: f64 = drawn.map(|(value, &count)| value * f64::from(count)).sum();
                    Some(sum / total as f64)
                }
                Statistic::Quantile(share) => {
                    quantile::of_counted(&self.sorted, &counts, total, share)
                }
            };
            estimate.unwrap_or(0.0)
        };
        (0..draws(total)).map(draw).collect()
    }

    /// Counts how often each number is drawn.
    fn draw(&mut self, counts: &mut [u32]) {
        let mut state = self.state;
        for run in &self.runs {
            let mut missing = run.steps;
            while missing > 0 {
                let start = below(random(&mut state), run.steps);
                // A single step needs no range, which would take half of the time.
                if run.block == 1 {
                    let drawn = run.places.get(start);
                    if let Some(count) = drawn.and_then(|&place| counts.get_mut(place as usize)) {
                        *count += 1;
                    }
                    missing -= 1;
                    continue;
                }
                let length = missing.min(run.block);
                for &place in run.places.get(start..start + length).unwrap_or_default() {
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
#[inline]
pub fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9E37_79B9_7F4A_7C15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

/// One of the numbers below `count`, from a random one: the upper half of the product, which is much cheaper than a
/// remainder (Lemire, "Fast Random Integer Generation in an Interval", 2019). With counts of steps its bias is below 1e-10.
#[inline]
fn below(random: u64, count: usize) -> usize {
    ((u128::from(random) * count as u128) >> 64) as usize
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
        let (low, high) = ResampledMedians::new(&runs).range().unwrap();
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
        let (base, cand) = (ResampledMedians::new(&base), ResampledMedians::new(&cand));
        let (low, high) = base.change_range(&cand).unwrap();
        assert!(
            low <= 5.0 && 5.0 <= high && high - low < 1.0,
            "{low} {high}"
        );
        assert!(base.noise().unwrap() < 0.5);
    }

    #[test]
    fn constant_values_have_no_noise() {
        assert_eq!(ResampledMedians::new(&[vec![3.0; 20]]).noise(), Some(0.0));
        assert_eq!(ResampledMedians::new(&[vec![3.0; 5]]).range(), None);
        assert_eq!(ResampledMedians::new(&[]).range(), None);
    }

    #[test]
    fn results_are_deterministic() {
        let runs = [(0..50).map(|i| f64::from(i * 31 % 17)).collect::<Vec<_>>()];
        let noise = || ResampledMedians::new(&runs).noise();
        assert_eq!(noise(), noise());
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
