//! Whether two sets of numbers differ: the rank sum test of Mann, Whitney and Wilcoxon, and Holm's correction for
//! multiple tests.
//!
//! Ranks make no assumption about the distribution, so no outlier needs removing. They do assume independent numbers,
//! but consecutive steps of a run are correlated. The variance of the rank sum is therefore multiplied by `(1 + ρ) ÷ (1
//! − ρ)`, the loss of information of a series whose neighbours correlate by ρ (Bartlett; Wilks, "Resampling Hypothesis
//! Tests for Autocorrelated Fields", 1997).

/// Result of the rank sum test.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankTest {
    /// Pairs in which the first set has the larger number; ties count half.
    pub u: f64,
    /// Probability of ranks as uneven as these, or more, if nothing differs; two-sided.
    pub p: f64,
}

/// Up to this total count, and without ties, the exact distribution is used.
const EXACT_UP_TO: usize = 40;
/// Up to this total count the exact distribution is used with ties, of which each pattern has its own distribution.
const EXACT_TIES_UP_TO: usize = 20;
/// With so few on one side the tails of the normal distribution are too wide, whatever the other side has.
const FEW: usize = 8;
/// Up to this many pairs, the exact distribution costs little.
const FEW_PAIRS: usize = 4000;

/// Compares two sets of independent numbers, with the variance of U multiplied by `inflation` (at least 1);
/// `None` if one is empty.
pub fn rank_test_inflated(first: &[f64], second: &[f64], inflation: f64) -> Option<RankTest> {
    if first.is_empty() || second.is_empty() {
        return None;
    }
    let (m, n) = (first.len() as f64, second.len() as f64);
    let all: Vec<f64> = first.iter().chain(second).copied().collect();
    let (ranks, ties) = ranks(&all);
    let rank_sum: f64 = ranks.iter().take(first.len()).sum();
    let u = rank_sum - m * (m + 1.0) / 2.0;
    let is_independent = inflation <= 1.0;
    let p = if ties == 0.0 && is_independent && is_exact(first.len(), second.len()) {
        exact_p(u.min(m * n - u), first.len(), second.len())
    } else if is_independent && all.len() <= EXACT_TIES_UP_TO {
        exact_p_of_ties(&ranks, first.len())
    } else {
        let total = m + n;
        let variance =
            m * n / 12.0 * (total + 1.0 - ties / (total * (total - 1.0))) * inflation.max(1.0);
        let distance = ((u - m * n / 2.0).abs() - 0.5).max(0.0);
        if variance > 0.0 {
            two_sided(distance / variance.sqrt())
        } else {
            1.0
        }
    };
    Some(RankTest {
        u,
        // The normal approximation knows no least p.
        p: p.max(least_p_of_counts(first.len(), second.len()))
            .clamp(0.0, 1.0),
    })
}

/// Twice the probability of the rank sum of the first `chosen` of these ranks, or one farther from its mean, when all
/// choices are equally likely.
fn exact_p_of_ties(ranks: &[f64], chosen: usize) -> f64 {
    // Mean ranks of ties are multiples of a half.
    let doubled: Vec<usize> = ranks.iter().map(|rank| (2.0 * rank) as usize).collect();
    let observed: usize = doubled.iter().take(chosen).sum();
    let width = doubled.iter().sum::<usize>() + 1;
    // The number of choices, by how many are chosen and their sum.
    let mut choices = vec![vec![0_u64; width]; chosen + 1];
    choices[0][0] = 1;
    for &rank in &doubled {
        for count in (1..=chosen).rev() {
            for sum in (rank..width).rev() {
                choices[count][sum] += choices[count - 1][sum - rank];
            }
        }
    }
    let (below, above) = (
        choices[chosen].iter().take(observed + 1).sum::<u64>(),
        choices[chosen].iter().skip(observed).sum::<u64>(),
    );
    (2.0 * below.min(above) as f64 / binomial(ranks.len(), chosen)).min(1.0)
}

/// The smallest p that independent sets of these sizes can have: that of the two orders in which they are separated.
pub fn least_p_of_counts(m: usize, n: usize) -> f64 {
    (2.0 / binomial(m + n, m)).min(1.0)
}

/// Whether the distribution of U is found exactly for sets of these sizes without ties.
fn is_exact(m: usize, n: usize) -> bool {
    m + n <= EXACT_UP_TO || (m.min(n) <= FEW && m * n <= FEW_PAIRS)
}

/// Twice the probability of a U of at most `u` when all orders are equally likely.
/// The number of orders with each U are the coefficients of a Gaussian binomial.
fn exact_p(u: f64, m: usize, n: usize) -> f64 {
    let below = u.floor() as usize;
    if below == 0 {
        return least_p_of_counts(m, n);
    }
    let (m, n) = (m.min(n), m.max(n));
    let top = m * n;
    let mut orders = vec![0_i128; top + 1];
    if let Some(first) = orders.first_mut() {
        *first = 1;
    }
    for i in 1..=m {
        // Times (1 − q^(n+i)), then divided by (1 − q^i): exact, as both are polynomials.
        for sum in (n + i..=top).rev() {
            orders[sum] -= orders[sum - n - i];
        }
        for sum in i..=top {
            orders[sum] += orders[sum - i];
        }
    }
    let all: i128 = orders.iter().sum();
    let tail: i128 = orders.iter().take(below + 1).sum();
    (2.0 * tail as f64 / all as f64).min(1.0)
}

/// Number of ways to choose `k` of `n`.
fn binomial(n: usize, k: usize) -> f64 {
    (1..=k).fold(1.0, |ways, i| ways * (n - k + i) as f64 / i as f64)
}

/// The smallest p that the test can give for sets of these sizes: that of completely separated sets.
pub fn least_p(first: &[f64], second: &[f64], inflation: f64) -> Option<f64> {
    let most = first.iter().copied().reduce(f64::max)?;
    let least = second.iter().copied().reduce(f64::min)?;
    let distance = (most - least).max(0.0) + most.abs().max(least.abs()).max(1.0);
    let apart: Vec<f64> = second.iter().map(|value| value + distance).collect();
    rank_test_inflated(first, &apart, inflation).map(|test| test.p)
}

/// Confidence interval, with confidence 1 − `alpha`, of the shift by which the second set is higher: the shifts that a
/// rank sum test would not reject (Hodges and Lehmann, "Estimates of Location Based on Rank Tests", 1963). `None` if
/// the sets are too small for it.
pub fn shift_range(first: &[f64], second: &[f64], alpha: f64) -> Option<(f64, f64)> {
    let mut shifts: Vec<f64> = first
        .iter()
        .flat_map(|a| second.iter().map(move |b| b - a))
        .collect();
    shifts.sort_by(f64::total_cmp);
    let (m, n) = (first.len(), second.len());
    let p_below = |u: usize| {
        if is_exact(m, n) {
            return exact_p(u as f64, m, n);
        }
        let (m, n) = (m as f64, n as f64);
        two_sided((m * n / 2.0 - u as f64 - 0.5).max(0.0) / (m * n / 12.0 * (m + n + 1.0)).sqrt())
    };
    // Shifts that the test rejects lie outside.
    let (mut low, mut high) = (0, shifts.len() / 2);
    while low < high {
        let middle = usize::midpoint(low, high);
        if p_below(middle) <= alpha {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    let outside = low.checked_sub(1)?;
    Some((
        *shifts.get(outside)?,
        *shifts.get(shifts.len().checked_sub(outside + 1)?)?,
    ))
}

/// Probability that a normal variable lies at least `z` standard deviations from its mean.
pub(crate) fn two_sided(z: f64) -> f64 {
    erfc(z / std::f64::consts::SQRT_2)
}

/// Complementary error function for `x ≥ 0`: the series of erf near 0, the continued
/// fraction (Abramowitz and Stegun 7.1.6 and 7.1.14) beyond.
fn erfc(x: f64) -> f64 {
    if x < 2.0 {
        let (mut term, mut sum) = (x, x);
        for n in 1..100 {
            term *= 2.0 * x * x / f64::from(2 * n + 1);
            sum += term;
            if term < 1e-17 * sum {
                break;
            }
        }
        return 1.0 - std::f64::consts::FRAC_2_SQRT_PI * (-x * x).exp() * sum;
    }
    let fraction = (1..=60)
        .rev()
        .fold(x, |below, n| x + f64::from(n) / 2.0 / below);
    (-x * x).exp() / fraction / std::f64::consts::PI.sqrt()
}

/// Holm's step-down correction: the smallest of `k` p-values times `k`, the next
/// times `k − 1`, …, none below the one before. Compared with α they keep the chance
/// of *any* false alarm at α.
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&i, &j| p[i].total_cmp(&p[j]).then(i.cmp(&j)));
    let mut out = vec![1.0; p.len()];
    let mut least = 0.0_f64;
    for (done, index) in order.into_iter().enumerate() {
        least = least.max(p[index] * (p.len() - done) as f64).min(1.0);
        out[index] = least;
    }
    out
}

/// Holm's correction of a p that replaces one of these.
pub struct StepDown {
    sorted: Vec<f64>,
    /// For the smallest 0, 1, 2 … of them, the largest corrected p.
    before: Vec<f64>,
}

impl StepDown {
    /// Prepares the correction for the values `p`.
    pub fn of(p: &[f64]) -> Self {
        let mut sorted = p.to_vec();
        sorted.sort_by(f64::total_cmp);
        let mut before = vec![0.0_f64];
        for (done, p) in sorted.iter().enumerate() {
            let largest = before
                .last()
                .copied()
                .unwrap_or(0.0)
                .max(p * (sorted.len() - done) as f64);
            before.push(largest);
        }
        Self { sorted, before }
    }

    /// The corrected value of a `p` that replaces a larger one.
    pub fn corrected(&self, p: f64) -> f64 {
        let smaller = self.sorted.partition_point(|&other| other < p);
        let before = self.before.get(smaller).copied().unwrap_or(0.0);
        before
            .max(p * (self.sorted.len() - smaller) as f64)
            .min(1.0)
    }
}

/// Fewest numbers whose neighbours are correlated.
const FEWEST: usize = 10;
/// One-sided 95 % of a normal distribution.
const CHANCE: f64 = 1.645;
/// Largest correlation that is assumed.
const MOST: f64 = 0.9;

/// Rank correlation of neighbours, 0 to 0.9; 0 if there are too few numbers, or if chance alone explains it.
pub(crate) fn rank_autocorrelation(values: &[f64]) -> f64 {
    let n = values.len() as f64;
    let Some(seen) = lagged(values) else {
        return 0.0;
    };
    // The estimate of short series is too low by (1 + 3ρ) ÷ n (Kendall); independent numbers show 1.645 ÷ √n.
    if seen > CHANCE / n.sqrt() {
        (seen + (1.0 + 3.0 * seen) / n).clamp(0.0, MOST)
    } else {
        0.0
    }
}

/// Correlation of the ranks of neighbours.
fn lagged(values: &[f64]) -> Option<f64> {
    let (ranks, _) = ranks(values);
    let middle = f64::midpoint(values.len() as f64, 1.0);
    let total: f64 = ranks.iter().map(|rank| (rank - middle).powi(2)).sum();
    let lagged: f64 = ranks
        .windows(2)
        .map(|pair| (pair[0] - middle) * (pair[1] - middle))
        .sum();
    (values.len() >= FEWEST && total > 0.0).then(|| lagged / total)
}

/// Inflation of the variance by slow swings of a series that may have steps and trends, which its differences hardly show:
/// those of independent numbers correlate by −½, with a standard error of √(½ ÷ n), those of ρ by −(1 − ρ) ÷ 2. Few numbers
/// do not show it: 1 below twenty.
pub fn inflation_beside_steps(values: &[f64]) -> f64 {
    let steps: Vec<f64> = values.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let flat = steps.iter().filter(|step| **step == 0.0).count();
    let is_shown = values.len() >= 2 * FEWEST && 2 * flat < steps.len();
    let seen = lagged(&steps).filter(|_| is_shown);
    let chance = CHANCE * (0.5 / steps.len() as f64).sqrt();
    let rho = seen
        .filter(|seen| *seen > chance - 0.5)
        .map_or(0.0, |seen| (1.0 + 2.0 * seen).clamp(0.0, MOST));
    (1.0 + rho) / (1.0 - rho)
}

/// Inflation of the variance by the correlation of neighbours: this many numbers carry the information of one.
pub fn inflation(values: &[f64]) -> f64 {
    let rho = rank_autocorrelation(values);
    (1.0 + rho) / (1.0 - rho)
}

/// Ranks from 1, with the mean rank for ties; and Σ t³ − t over groups of t ties.
fn ranks(values: &[f64]) -> (Vec<f64>, f64) {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&i, &j| values[i].total_cmp(&values[j]));
    let mut ranks = vec![0.0; values.len()];
    let (mut place, mut ties) = (0.0, 0.0);
    for equal in order.chunk_by(|&i, &j| values[i].total_cmp(&values[j]).is_eq()) {
        let count = equal.len() as f64;
        for &index in equal {
            ranks[index] = place + f64::midpoint(count, 1.0);
        }
        ties += count * (count * count - 1.0);
        place += count;
    }
    (ranks, ties)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "whole numbers are exact")]
mod tests {
    use super::*;

    fn rank_test(a: &[f64], b: &[f64]) -> Option<RankTest> {
        rank_test_inflated(a, b, 1.0)
    }

    fn close(a: f64, b: f64, within: f64) -> bool {
        (a - b).abs() <= within
    }

    #[test]
    fn exact_p_values_match_published_ones() {
        // Hollander and Wolfe (1973), p. 69, permeability of membranes: W = 35, one-sided 0.1272.
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        let found = rank_test(&x, &y).unwrap();
        assert_eq!(found.u, 35.0);
        assert!(close(found.p, 2.0 * 0.127_206_1, 1e-6), "{}", found.p);
        // Ages at diagnosis in the manual of SciPy: U = 17, p = 0.111.
        let found = rank_test(&[19.0, 22.0, 16.0, 29.0, 24.0], &[20.0, 11.0, 17.0, 12.0]).unwrap();
        assert_eq!(found.u, 17.0);
        assert!(close(found.p, 1.0 / 9.0, 1e-12), "{}", found.p);
        // Separated sets, 4 against 4: the smallest that can reach 5 %, 2 of 70 orders.
        let found = rank_test(&[1.0, 2.0, 3.0, 4.0], &[5.0, 6.0, 7.0, 8.0]).unwrap();
        assert!(close(found.p, 2.0 / 70.0, 1e-12));
    }

    #[test]
    fn ties_have_an_exact_distribution() {
        // Separated runs, two of which have the same number: still 2 of 70 orders at best.
        let (first, second) = ([1.0, 1.0, 2.0, 3.0], [5.0, 6.0, 7.0, 7.0]);
        assert!(close(
            rank_test(&first, &second).unwrap().p,
            2.0 / 70.0,
            1e-12
        ));
        // All 10 choices of 2 of 1, 2, 2, 3, 4: a sum of ranks of at most that of 1 and 2 have 2 of them.
        let found = rank_test(&[1.0, 2.0], &[2.0, 3.0, 4.0]).unwrap();
        assert!(close(found.p, 4.0 / 10.0, 1e-12), "{}", found.p);
    }

    #[test]
    fn p_is_never_below_the_attainable_minimum() {
        let few = [1.0, 2.0, 3.0, 4.0];
        assert!(close(least_p(&few, &few, 1.0).unwrap(), 2.0 / 70.0, 1e-12));
        // Ties and dependence count as they do in the test.
        let (tied, apart) = ([5.0; 8], [6.0; 8]);
        assert_eq!(
            least_p(&tied, &tied, 2.0),
            rank_test_inflated(&tied, &apart, 2.0).map(|test| test.p)
        );
        assert_eq!(least_p(&[], &few, 1.0), None);
    }

    #[test]
    fn shift_range_contains_accepted_shifts() {
        // Four against four: all sixteen differences, as 2 of 70 is below 5 % and 4 of 70 is not.
        let (few, higher) = ([1.0, 2.0, 3.0, 4.0], [11.0, 12.0, 13.0, 14.5]);
        assert_eq!(shift_range(&few, &higher, 0.05), Some((7.0, 13.5)));
        assert_eq!(shift_range(&few[..3], &higher[..3], 0.05), None);
        // The permeability of membranes in the manual of R, wilcox.test(conf.int = TRUE): -0.76 to 0.15 at 95 %.
        let x = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
        let y = [1.15, 0.88, 0.90, 0.74, 1.21];
        let (low, high) = shift_range(&x, &y, 0.05).unwrap();
        assert!(
            close(low, -0.76, 1e-9) && close(high, 0.15, 1e-9),
            "{low} {high}"
        );
        // Exact and normal take over smoothly.
        let many = |n: i32, from: f64| {
            (0..n)
                .map(|i| f64::from(i * 11 % n) + from)
                .collect::<Vec<_>>()
        };
        let (exact, normal) = (
            shift_range(&many(20, 0.0), &many(20, 5.0), 0.05),
            shift_range(&many(21, 0.0), &many(21, 5.0), 0.05),
        );
        let (from, to) = (exact.unwrap(), normal.unwrap());
        assert!(
            (from.0 - to.0).abs() <= 1.0 && (from.1 - to.1).abs() <= 1.0,
            "{exact:?} {normal:?}"
        );
    }

    #[test]
    fn normal_approximation_continues_exact_values() {
        let a: Vec<f64> = (0..20).map(|i| f64::from(i) * 1.3).collect();
        let b: Vec<f64> = (0..20).map(|i| f64::from(i) * 1.3 + 6.1).collect();
        let exact = rank_test(&a, &b).unwrap().p;
        let normal = rank_test_inflated(&a, &b, 1.0 + 1e-12).unwrap().p;
        assert!(close(exact, normal, 0.003), "{exact} {normal}");
    }

    #[test]
    fn a_few_against_many_are_exact() {
        let numbers =
            |count: i32, from: f64| (0..count).map(|i| f64::from(i) + from).collect::<Vec<_>>();
        // Four of sixty: 2 of 487,635 choices; the normal distribution says 0.00096.
        let found = rank_test(&numbers(56, 0.0), &numbers(4, 100.5)).unwrap();
        assert!(close(found.p * 487_635.0, 2.0, 1e-6), "{}", found.p);
        // One step from it: twice as likely.
        let found = rank_test(&numbers(4, 54.5), &numbers(56, 0.0)).unwrap();
        assert!(found.u < 224.0 && found.p < 1e-3, "{found:?}");
        assert!(rank_test(&numbers(8, 0.0), &numbers(500, 7.5)).unwrap().p < 1e-9);
    }

    #[test]
    fn normal_distribution_tails() {
        for (z, p) in [
            (0.0, 1.0),
            (1.0, 0.317_310_507_9),
            (1.959_963_985, 0.05),
            (3.290_526_731, 0.001),
            (6.0, 1.973_175_3e-9),
        ] {
            assert!(
                close(two_sided(z) / p, 1.0, 1e-7),
                "{z}: {} {p}",
                two_sided(z)
            );
        }
    }

    #[test]
    fn equal_samples_do_not_differ() {
        assert_eq!(rank_test(&[5.0; 8], &[5.0; 9]).unwrap().p, 1.0);
        assert_eq!(rank_test(&[], &[1.0]), None);
        // Without spread, any difference shows.
        assert!(rank_test(&[5.0; 8], &[6.0; 8]).unwrap().p < 0.001);
    }

    #[test]
    fn holm_correction_is_stepwise() {
        // The worked example of Holm's method: 0.01, 0.04, 0.03, 0.005.
        let adjusted = holm(&[0.01, 0.04, 0.03, 0.005]);
        for (found, expected) in adjusted.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!(close(*found, expected, 1e-12), "{adjusted:?}");
        }
        assert!(holm(&[]).is_empty());
        // The largest might have been 0.001, 0.02 or itself.
        let steps = StepDown::of(&[0.01, 0.04, 0.03, 0.005]);
        for (p, expected) in [(0.001, 0.004), (0.02, 0.04), (0.04, 0.06)] {
            assert!(
                close(steps.corrected(p), expected, 1e-12),
                "{p}: {}",
                steps.corrected(p)
            );
        }
    }

    #[test]
    fn autocorrelation_widens_the_range() {
        // Ten blocks of ten equal numbers: hardly more is known than of ten.
        let blocks: Vec<f64> = (0..100).map(|i| f64::from((i / 10) * 7 % 10)).collect();
        assert!(inflation(&blocks) > 5.0, "{}", inflation(&blocks));
        let alternating: Vec<f64> = (0..100).map(|i| f64::from(i % 2)).collect();
        assert_eq!(inflation(&alternating), 1.0);
        assert_eq!(inflation(&[1.0; 50]), 1.0);
        // A step is no swing, and hides none.
        let with_step = |values: &[f64]| -> Vec<f64> {
            let runs = values.iter().enumerate();
            runs.map(|(run, value)| if run < 50 { *value } else { value + 90.0 })
                .collect()
        };
        let swings: Vec<f64> = (0..100).map(|i| (f64::from(i) * 0.4).sin()).collect();
        assert!(inflation_beside_steps(&with_step(&swings)) > 5.0);
        let uneven: Vec<f64> = (0..100).map(|i| f64::from(i * i * 37 % 101)).collect();
        assert_eq!(inflation_beside_steps(&with_step(&uneven)), 1.0);
        assert_eq!(inflation_beside_steps(&with_step(&[1.0; 100])), 1.0);
    }
}
