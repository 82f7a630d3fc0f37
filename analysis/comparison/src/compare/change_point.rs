//! The runs from which on a number is another one.
//!
//! ```text
//! · · · ·   · · · · ·           divided where two levels fit best, again and again, down to four runs
//! ───────┐ ┌─────────┐ ┌─────   a place that no test of its two sides confirms is none, the least one first
//!        └─┘         └─┘ · ·    up to three runs at an end differ from the others: too few to test
//! ```
//!
//! Where a number changed and whether it did are two questions: the surest split is often a run or more off, because more
//! even sides are tested better, and a whole series that rises and falls again does not differ from its ends.

use math::rank_test::inflation_beside_steps;
use math::stats::median;

use super::RunSpread;
use super::change::{ENOUGH_RUNS, MetricChange, TestOptions};

/// A change of a number over the runs.
#[derive(Debug, PartialEq)]
pub struct ChangePoint {
    /// The last run of the old level.
    pub from: usize,
    /// The first run of the new level: the next one, unless no single run has most of the change.
    pub to: usize,
    /// The old level: the median of its runs.
    pub before: f64,
    /// The new one.
    pub after: f64,
    /// The p-value of the rank sum test of both levels; the largest of several.
    pub p: f64,
}

impl ChangePoint {
    /// Whether one run has most of the change.
    pub fn is_sudden(&self) -> bool {
        self.to == self.from + 1
    }
}

/// The levels of a number over the runs.
#[derive(Debug, Default, PartialEq)]
pub struct RunLevels {
    /// In order.
    pub changes: Vec<ChangePoint>,
    /// So many first runs differ from those after them, but are too few to test.
    pub odd_first: usize,
    /// So many last runs differ from those before them, but are too few to test.
    pub odd_last: usize,
    /// How many places can be tested: the level of each is that of one test divided by this.
    pub tests: usize,
}

/// Fewest runs among which a change can be found.
pub const FEWEST_RUNS: usize = 2 * ENOUGH_RUNS;

impl RunLevels {
    /// The levels of a number, of which each run has one, the oldest first. A change is more than noise, and `percent` of
    /// the median run or more. Runs are taken for independent as far as they do not swing slowly.
    pub fn of(values: &[f64], percent: f64, options: &TestOptions) -> Self {
        if values.len() < FEWEST_RUNS {
            return Self::default();
        }
        let tests = values.len() + 1 - FEWEST_RUNS;
        let search = LevelSearch {
            effect: median(values).unwrap_or_default().abs() * percent / 100.0,
            options: TestOptions {
                alpha: options.alpha / tests as f64,
                ..*options
            },
            swings: inflation_beside_steps(values).sqrt(),
        };
        let (first, last) = (search.odd_first(values), search.odd_last(values));
        let rest = &values[first..values.len() - last];
        let edges = search.edges(rest);
        let mut out = Self {
            changes: search.changes(rest, &edges, first),
            odd_first: first,
            odd_last: last,
            tests,
        };
        // Earlier changes may hide that the ends of their levels differ.
        if let [_, second, .., last, _] | [_, second @ last, _] = edges[..] {
            if out.odd_first == 0 {
                out.odd_first = search.odd_first(&rest[..second]);
            }
            if out.odd_last == 0 {
                out.odd_last = search.odd_last(&rest[last..]);
            }
        }
        out
    }
}

struct LevelSearch {
    /// Smallest relevant change.
    effect: f64,
    options: TestOptions,
    /// How much more levels differ than those of independent runs.
    swings: f64,
}

impl LevelSearch {
    /// Whether the mean runs of two parts differ by more than runs do.
    fn are_apart(&self, before: &[f64], after: &[f64]) -> bool {
        let spread = RunSpread::of(before, after, self.options.assumed_spread_percent);
        spread.is_some_and(|spread| {
            spread.change.abs() > (spread.limit * self.swings).max(self.effect)
        })
    }

    /// How many last runs, fewer than a test needs, differ from those before by more than runs do.
    fn odd_last(&self, values: &[f64]) -> usize {
        let near = &values[values.len().saturating_sub(3 * ENOUGH_RUNS)..];
        let fit = Fit::of(near.to_vec());
        let Some(edge) = fit.best(0, near.len(), 1) else {
            return 0;
        };
        let (before, odd) = near.split_at(edge);
        let is_end = odd.len() < ENOUGH_RUNS && before.len() >= ENOUGH_RUNS;
        if is_end && self.are_apart(before, odd) {
            odd.len()
        } else {
            0
        }
    }

    fn odd_first(&self, values: &[f64]) -> usize {
        self.odd_last(&values.iter().rev().copied().collect::<Vec<_>>())
    }

    /// Where levels begin, and the end.
    fn edges(&self, values: &[f64]) -> Vec<usize> {
        let fit = Fit::of(smoothed(values));
        let (mut edges, mut open) = (vec![0, values.len()], vec![(0, values.len())]);
        while let Some((start, end)) = open.pop() {
            if let Some(edge) = fit.best(start, end, ENOUGH_RUNS) {
                edges.push(edge);
                open.extend([(start, edge), (edge, end)]);
            }
        }
        edges.sort_unstable();
        loop {
            let mut inner: Vec<usize> = (1..edges.len() - 1).collect();
            let gain = |&k: &usize| fit.gain(edges[k - 1], edges[k], edges[k + 1]);
            inner.sort_by(|a, b| gain(a).total_cmp(&gain(b)));
            let is_noise = |&k: &usize| {
                let (old, new) = (
                    &values[edges[k - 1]..edges[k]],
                    &values[edges[k]..edges[k + 1]],
                );
                !(self.tested(old, new).is_real() && self.are_apart(old, new))
            };
            match inner.into_iter().find(is_noise) {
                Some(k) => edges.remove(k),
                None => break,
            };
        }
        for k in 1..edges.len() - 1 {
            let (start, end) = (edges[k - 1], edges[k + 1]);
            edges[k] = start + nearest_place(&values[start..end], edges[k] - start);
        }
        edges
    }

    fn tested(&self, old: &[f64], new: &[f64]) -> MetricChange {
        let runs = |values: &[f64]| values.iter().map(|&value| vec![value]).collect::<Vec<_>>();
        MetricChange::judged(&runs(old), &runs(new), self.effect, &self.options)
    }

    /// The changes at the inner edges, those of a drift as one; `first` is the place of the first value.
    fn changes(&self, values: &[f64], edges: &[usize], first: usize) -> Vec<ChangePoint> {
        let mut out = Vec::<ChangePoint>::new();
        for three in edges.windows(3) {
            let &[start, edge, end] = three else { continue };
            let (old, new) = (&values[start..edge], &values[edge..end]);
            let middle = |values: &[f64]| median(values).unwrap_or_default();
            let p = self.tested(old, new).p.unwrap_or(1.0);
            if is_sudden(old, new) {
                out.push(ChangePoint {
                    from: first + edge - 1,
                    to: first + edge,
                    before: middle(old),
                    after: middle(new),
                    p,
                });
                continue;
            }
            let mut drift = ChangePoint {
                from: first + start,
                to: first + end - 1,
                before: middle(&old[..SHORT]),
                after: middle(&new[new.len() - SHORT..]),
                p,
            };
            if let Some(last) = out.pop_if(|last| last.to + 1 == first + edge) {
                // One drift goes on, or the other way from the middle of this level.
                if (last.after - last.before) * (drift.after - last.after) > 0.0 {
                    (drift.from, drift.before) = (last.from, last.before);
                    drift.p = drift.p.max(last.p);
                } else {
                    (drift.from, drift.before) = (first + start.midpoint(edge), middle(old));
                    let (to, after) = (drift.from, drift.before);
                    out.push(ChangePoint { to, after, ..last });
                }
            }
            out.push(drift);
        }
        out
    }
}

/// Runs whose median is their level, however short: a single odd run does not change it.
const SHORT: usize = 3;

/// Whether two levels fit better than a line, and the runs next to the edge differ by more than half of the change.
fn is_sudden(old: &[f64], new: &[f64]) -> bool {
    let middle = |values: &[f64]| median(values).unwrap_or_default();
    let near = middle(&new[..SHORT]) - middle(&old[old.len() - SHORT..]);
    let fit = Fit::of(smoothed(&[old, new].concat()));
    near.abs() >= 0.5 * (middle(new) - middle(old)).abs()
        && fit.gain(0, old.len(), fit.values.len()) >= fit.gain_of_line()
}

/// The place of an edge, at most two runs away, at which each run is nearest to the median of its side.
fn nearest_place(values: &[f64], place: usize) -> usize {
    let (old, new) = values.split_at(place);
    let (Some(old), Some(new)) = (median(old), median(new)) else {
        return place;
    };
    let away = |place: usize| -> f64 {
        let side = |run: usize| if run < place { old } else { new };
        let runs = values.iter().enumerate();
        runs.map(|(run, value)| (value - side(run)).abs()).sum()
    };
    let last = values.len() - ENOUGH_RUNS;
    let places = (place - 2).max(ENOUGH_RUNS)..=(place + 2).min(last);
    places
        .min_by(|&a, &b| away(a).total_cmp(&away(b)))
        .unwrap_or(place)
}

/// Medians of five neighbours: they keep the place of an edge, and lose up to two odd runs.
fn smoothed(values: &[f64]) -> Vec<f64> {
    let near = |index: usize| &values[index.saturating_sub(2)..(index + 3).min(values.len())];
    let medians = (0..values.len()).map(|index| median(near(index)));
    medians.flatten().collect()
}

/// Least squares of levels.
struct Fit {
    /// Distances from the first value, which keep the digits of small changes.
    values: Vec<f64>,
    /// Sums of the first 0, 1, 2 … values.
    sums: Vec<f64>,
}

impl Fit {
    fn of(mut values: Vec<f64>) -> Self {
        let origin = values.first().copied().unwrap_or_default();
        let mut sums = vec![0.0];
        let mut sum = 0.0;
        for value in &mut values {
            *value -= origin;
            sum += *value;
            sums.push(sum);
        }
        Self { values, sums }
    }

    fn mean(&self, start: usize, end: usize) -> f64 {
        (self.sums[end] - self.sums[start]) / (end - start) as f64
    }

    /// By how much two levels fit better than one.
    fn gain(&self, start: usize, edge: usize, end: usize) -> f64 {
        let (m, n) = ((edge - start) as f64, (end - edge) as f64);
        (self.mean(edge, end) - self.mean(start, edge)).powi(2) * m * n / (m + n)
    }

    /// By how much a line fits better than one level.
    fn gain_of_line(&self) -> f64 {
        let n = self.values.len() as f64;
        let middle = (n - 1.0) / 2.0;
        let runs = self.values.iter().enumerate();
        let along: f64 = runs.map(|(run, value)| (run as f64 - middle) * value).sum();
        along * along / (n * (n * n - 1.0) / 12.0)
    }

    /// The best place for two levels of at least so many runs each; `None` without room, or if all is one level.
    fn best(&self, start: usize, end: usize, least: usize) -> Option<usize> {
        let places = start + least..(end + 1).saturating_sub(least);
        let fits = places.map(|edge| (edge, self.gain(start, edge, end)));
        let (edge, gain) = fits.reduce(|best, next| if next.1 > best.1 { next } else { best })?;
        (gain > 0.0).then_some(edge)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(values: &[f64]) -> RunLevels {
        RunLevels::of(values, 0.1, &TestOptions::default())
    }

    fn sudden(values: &[f64]) -> Vec<usize> {
        let found = levels(values);
        assert!(
            found.changes.iter().all(ChangePoint::is_sudden),
            "{found:?}"
        );
        found.changes.iter().map(|change| change.to).collect()
    }

    /// A number of each run, with noise of about this standard deviation.
    fn noisy(seed: u64, level: impl Fn(usize) -> f64, runs: usize, noise: f64) -> Vec<f64> {
        let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        let mut uniform = move || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
        };
        let mut normal = || (0..12).map(|_| uniform()).sum::<f64>();
        (0..runs)
            .map(|run| level(run) * (1.0 + noise * normal()))
            .collect()
    }

    #[test]
    fn a_planted_change_is_found_at_every_place() {
        for runs in [11, 15, 20, 41, 60] {
            for at in 4..=runs - 4 {
                for (seed, noise) in [(1, 0.0), (2, 0.0005), (3, 0.01), (4, 0.01)] {
                    for up in [1.15, 1.0 / 1.15] {
                        let level = |run| if run < at { 20e9 } else { 20e9 * up };
                        let values = noisy(seed, level, runs, noise);
                        assert_eq!(sudden(&values), [at], "{at} of {runs}, noise {noise}, {up}");
                    }
                }
            }
        }
    }

    #[test]
    fn every_change_of_several_is_found() {
        for noise in [0.0, 0.001, 0.01] {
            for seed in 0..20 {
                let up_down = |run: usize| if (15..30).contains(&run) { 1.15 } else { 1.0 };
                assert_eq!(sudden(&noisy(seed, up_down, 45, noise)), [15, 30]);
                let down_up = |run: usize| if (20..40).contains(&run) { 1.0 } else { 1.5 };
                assert_eq!(sudden(&noisy(seed, down_up, 60, noise)), [20, 40]);
                let stairs = |run: usize| [1.0, 1.1, 1.3][run / 15];
                assert_eq!(sudden(&noisy(seed, stairs, 45, noise)), [15, 30]);
            }
        }
    }

    #[test]
    fn noise_is_rarely_a_change() {
        let found = (0..300).filter(|&seed| {
            let runs = [10, 20, 30, 60][seed as usize % 4];
            !levels(&noisy(seed, |_| 1.0, runs, 0.02)).changes.is_empty()
        });
        assert!(found.count() <= 3);
    }

    #[test]
    fn drift_is_no_change_at_one_run() {
        for seed in 0..20 {
            let found = levels(&noisy(seed, |run| 1.0 + 0.005 * run as f64, 40, 0.003));
            let [drift] = &found.changes[..] else {
                panic!("{seed}: {found:?}");
            };
            assert_eq!((drift.from, drift.to), (0, 39), "{seed}");
            assert!(
                (0.15..0.2).contains(&(drift.after - drift.before)),
                "{drift:?}"
            );
        }
    }

    #[test]
    fn slow_swings_are_rarely_a_change() {
        let found = (0..100).filter(|&seed| {
            let mut swing = 0.0;
            let noise = noisy(seed, |_| 1.0, 60, 0.01);
            let swings = noise.iter().map(|value| {
                swing = 0.7 * swing + value - 1.0;
                1.0 + swing
            });
            !levels(&swings.collect::<Vec<_>>()).changes.is_empty()
        });
        assert!(found.count() <= 15);
    }

    #[test]
    fn few_runs_at_an_end_are_said_to_differ() {
        for runs in 1..4 {
            for noise in [0.0, 0.0005, 0.01] {
                let last = noisy(7, |run| if run < 27 { 1.0 } else { 2.0 }, 27 + runs, noise);
                let found = levels(&last);
                assert_eq!((found.odd_first, found.odd_last), (0, runs), "{found:?}");
                assert!(found.changes.is_empty());
                let first: Vec<f64> = last.into_iter().rev().collect();
                let found = levels(&first);
                assert_eq!((found.odd_first, found.odd_last), (runs, 0), "{found:?}");
            }
        }
        // After a change, too.
        let up = |run: usize| if (10..20).contains(&run) { 1.5 } else { 1.0 };
        let found = levels(&noisy(3, up, 22, 0.001));
        assert_eq!(found.odd_last, 2);
        assert_eq!(found.changes.len(), 1);
    }

    #[test]
    fn few_runs_and_single_outliers_are_no_change() {
        assert!(sudden(&[1.0, 1.0, 1.0, 9.0, 9.0, 9.0]).is_empty());
        let mut outlier = [
            10.0, 10.1, 10.2, 10.0, 10.1, 90.0, 10.2, 10.1, 10.0, 10.2, 10.1, 10.0,
        ];
        assert_eq!(
            levels(&outlier),
            RunLevels {
                tests: 5,
                ..RunLevels::default()
            }
        );
        // Nor do small ones hide one.
        outlier[5] = 13.0;
        outlier.rotate_left(3);
        let after = outlier.map(|value| value + 10.0);
        assert_eq!(sudden(&[outlier, after].concat()), [12]);
        assert_eq!(levels(&[]), RunLevels::default());
        assert!(sudden(&[5.0; 20]).is_empty());
    }
}
