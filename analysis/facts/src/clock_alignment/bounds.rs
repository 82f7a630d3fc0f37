//! Possible shifts between two clocks.
//!
//! Every pair of events is one inequality for the shift `δ` at one moment. A constant satisfies all of them if the
//! largest lower bound is at most the smallest upper one. Where it is not, clocks that run at different speeds may
//! still explain them: a line `δ(t) = a + b·t` between the two sets of bounds.

use engine::prelude::*;

/// Minimum number of pairs to compute thirds.
pub(super) const LEAST_FOR_THIRDS: usize = 6;

/// One inequality: at `at_ps` the shift is at least, or at most, `shift_ps`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShiftBound {
    /// The time, by the device's own position on the timeline.
    pub at_ps: Timestamp,
    /// The bound on the shift.
    pub shift_ps: Picos,
}

/// The shifts that some pairs allow.
#[engine::row(measured)]
#[derive(Copy)]
pub struct ShiftInterval {
    /// No program starts before the host launched it.
    #[column]
    pub at_least_ps: Picos,
    /// No program ends after the host noticed its end; `None` if the host noticed none.
    #[column]
    pub at_most_ps: Option<Picos>,
}

impl ShiftInterval {
    /// The interval that all pairs allow; `None` without launches.
    pub(crate) fn of(lower: &[ShiftBound], upper: &[ShiftBound]) -> Option<Self> {
        let at_least_ps = lower.iter().map(|bound| bound.shift_ps).max()?;
        Some(Self {
            at_least_ps,
            at_most_ps: upper.iter().map(|bound| bound.shift_ps).min(),
        })
    }

    /// Whether no shift satisfies it.
    pub(crate) fn is_empty(&self) -> bool {
        self.at_most_ps
            .is_some_and(|at_most| at_most < self.at_least_ps)
    }

    /// The smallest correction: none if possible, else the bound closest to zero. If the bounds contradict each other,
    /// the lower one, because an effect before its cause is worse than a late notice.
    pub(crate) fn choice_ps(&self) -> Picos {
        if self.is_empty() {
            return self.at_least_ps;
        }
        let least = self.at_least_ps.clamped();
        self.at_most_ps.map_or(least, |at_most| least.min(at_most))
    }
}

/// A shift that grows with time.
#[engine::reported]
#[derive(Copy, Default)]
pub struct ShiftLine {
    /// The shift at `at_ps`.
    pub shift_ps: Picos,
    /// Somewhere in the middle of the pairs.
    pub at_ps: Timestamp,
    /// Picoseconds per microsecond: how much faster the host's clock runs.
    pub drift_ppm: f64,
    /// The smallest distance between the line and a bound.
    pub slack_ps: Picos,
}

/// Well above real drift: crystals of computers differ by less than 100 ppm.
const MAX_DRIFT_PPM: f64 = 1_000.0;
/// Number of bisections of the slope, about as many as the precision of an `f64` allows.
const ROUNDS: usize = 100;

/// A line between lower and upper bounds, as far from both as possible; `None` if there is none with a credible slope.
pub(crate) fn line(lower: &[ShiftBound], upper: &[ShiftBound]) -> Option<ShiftLine> {
    let at_ps = lower.get(lower.len() / 2)?.at_ps;
    // Shifts and times since `at_ps`, which each of the many slopes needs.
    let points = |bounds: &[ShiftBound]| -> Vec<(f64, f64)> {
        bounds
            .iter()
            .map(|bound| {
                let since = bound.at_ps - at_ps;
                (bound.shift_ps.as_ps_f64(), since.as_ps_f64())
            })
            .collect()
    };
    let lower = points(lower);
    let upper = points(upper);
    // The distance between the bounds is a concave function of the slope: it has one maximum.
    let room = |ppm: f64| {
        let rest = |&(shift, since): &(f64, f64)| shift - ppm * 1e-6 * since;
        // Written as comparisons: no number here is missing, for which `f64::max` would have to look.
        let low = lower
            .iter()
            .map(rest)
            .fold(f64::NEG_INFINITY, |a, b| if b > a { b } else { a });
        let high = upper
            .iter()
            .map(rest)
            .fold(f64::INFINITY, |a, b| if b < a { b } else { a });
        (low, high)
    };
    let mut from = -MAX_DRIFT_PPM;
    let mut to = MAX_DRIFT_PPM;
    for _ in 0..ROUNDS {
        let left = from + (to - from) / 3.0;
        let right = to - (to - from) / 3.0;
        let width = |ppm| {
            let (low, high) = room(ppm);
            high - low
        };
        if width(left) < width(right) {
            from = left;
        } else {
            to = right;
        }
    }
    let drift_ppm = f64::midpoint(from, to);
    let (low, high) = room(drift_ppm);
    let is_steepest = drift_ppm.abs() > 0.99 * MAX_DRIFT_PPM;
    (low <= high && high.is_finite() && !is_steepest).then(|| ShiftLine {
        shift_ps: Picos::from_ps(f64::midpoint(low, high) as i64),
        at_ps,
        drift_ppm,
        slack_ps: Picos::from_ps(((high - low) / 2.0) as i64),
    })
}

/// The first and the last third of the bounds by time.
pub(crate) fn thirds(bounds: &[ShiftBound]) -> (&[ShiftBound], &[ShiftBound]) {
    let third = bounds.len() / 3;
    (&bounds[..third], &bounds[bounds.len() - third..])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bounds(points: &[(i64, i64)]) -> Vec<ShiftBound> {
        points
            .iter()
            .map(|&(at, shift)| ShiftBound {
                at_ps: Timestamp::from_ps(at),
                shift_ps: Picos::from_ps(shift),
            })
            .collect()
    }

    fn choice(at_least: i64, at_most: Option<i64>) -> i64 {
        ShiftInterval {
            at_least_ps: Picos::from_ps(at_least),
            at_most_ps: at_most.map(Picos::from_ps),
        }
        .choice_ps()
        .ps()
    }

    #[test]
    fn smallest_correction_is_chosen() {
        assert_eq!(choice(-5, Some(7)), 0);
        assert_eq!(choice(-5, None), 0);
        assert_eq!(choice(610, Some(687)), 610);
        assert_eq!(choice(610, None), 610);
        assert_eq!(choice(-90, Some(-20)), -20);
        assert_eq!(choice(30, Some(10)), 30);
        assert_eq!(ShiftInterval::of(&[], &bounds(&[(0, 1)])), None);
    }

    #[test]
    fn bounds_are_the_tightest_over_all_pairs() {
        let interval = ShiftInterval::of(
            &bounds(&[(0, 100), (5, 120)]),
            &bounds(&[(1, 150), (6, 140)]),
        )
        .unwrap();
        assert_eq!(
            (
                interval.at_least_ps,
                interval.at_most_ps,
                interval.is_empty()
            ),
            (Picos::from_ps(120), Some(Picos::from_ps(140)), false)
        );
    }

    /// Clocks 20 ppm apart over ten seconds: no constant fits within 50 µs, a line does.
    #[test]
    fn drift_is_found_if_no_constant_offset_fits() {
        let truth = |second: i64| 300_000_000 + second * 20_000_000;
        let at = |second: i64, off: i64| (second * 1_000_000_000_000, truth(second) + off);
        let lower = bounds(&(0..10).map(|s| at(s, -25_000_000)).collect::<Vec<_>>());
        let upper = bounds(&(0..10).map(|s| at(s, 25_000_000)).collect::<Vec<_>>());
        assert!(ShiftInterval::of(&lower, &upper).unwrap().is_empty());
        let line = line(&lower, &upper).unwrap();
        assert!((line.drift_ppm - 20.0).abs() < 0.05, "{line:?}");
        assert!(
            (line.shift_ps.ps() - truth(5)).abs() < 100_000
                && line.at_ps == Timestamp::from_ps(5_000_000_000_000),
            "{line:?}"
        );
    }

    #[test]
    fn contradicting_bounds_are_not_drift() {
        // Late, early, late: no line fits either.
        let lower = bounds(&[(0, 100), (1_000_000_000, 0), (2_000_000_000, 100)]);
        let upper = bounds(&[(0, 200), (1_000_000_000, 20), (2_000_000_000, 200)]);
        assert_eq!(line(&lower, &upper), None);
        // A jump of a second within a second is not a drift either.
        let lower = bounds(&[(0, 0), (1_000_000_000_000, 1_000_000_000_000)]);
        let upper = bounds(&[(0, 10), (1_000_000_000_000, 1_000_000_000_010)]);
        assert_eq!(line(&lower, &upper), None);
        assert_eq!(line(&lower, &[]), None);
    }

    #[test]
    fn thirds_split_by_number_of_pairs() {
        let all = bounds(&[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 6), (6, 7)]);
        let (first, last) = thirds(&all);
        assert_eq!((first, last), (&all[..2], &all[5..]));
        assert_eq!(thirds(&all[..2]).0.len(), 0);
    }
}
