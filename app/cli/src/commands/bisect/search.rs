//! Finds the first slow point between a fast and a slow one, with measurements that have noise. Knows neither git nor
//! profiles.
//!
//! ```text
//! good ········ fast ?  ?  ? slow ········ bad      the middle is measured next; what cannot be is left out
//! ```

/// What a point is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Likeness {
    /// Like the good end.
    Good,
    /// Like the bad end.
    Bad,
    /// The runs do not tell.
    Unclear,
}

/// A point and what is known of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PointState {
    /// Measured.
    Like(Likeness),
    /// Left out, and why.
    Skipped(String),
}

/// Where points are measured.
pub trait Measurements {
    /// What stops the search.
    type Error;

    /// Makes more runs of a point, and says which of these ends it is like; `Skipped` if it cannot be measured.
    fn measure(&mut self, point: usize, ends: &FoundEnds) -> Result<PointState, Self::Error>;
}

/// Between which points a change lies: those of a search, and in the end its result.
#[derive(Debug, PartialEq, Eq)]
pub struct FoundEnds {
    /// The last point that is like the good end.
    pub good: usize,
    /// The first point that is like the bad end.
    pub bad: usize,
}

impl FoundEnds {
    /// Whether no point between them was left out.
    #[cfg(test)]
    fn is_exact(&self) -> bool {
        self.bad - self.good == 1
    }
}

/// Halves what lies between the points 0 and `last`, which are good and bad. Each point is measured against the nearest
/// known ones: of several changes one is found, not a place between them.
pub fn search<M: Measurements>(last: usize, measurements: &mut M) -> Result<FoundEnds, M::Error> {
    let mut ends = FoundEnds { good: 0, bad: last };
    let mut left_out = vec![false; last + 1];
    while let Some(next) = middle(&ends, &left_out) {
        match measurements.measure(next, &ends)? {
            PointState::Like(Likeness::Good) => ends.good = next,
            PointState::Like(Likeness::Bad) => ends.bad = next,
            PointState::Like(Likeness::Unclear) | PointState::Skipped(_) => {
                if let Some(point) = left_out.get_mut(next) {
                    *point = true;
                }
            }
        }
    }
    Ok(ends)
}

/// The point nearest to the middle that was not left out.
fn middle(ends: &FoundEnds, left_out: &[bool]) -> Option<usize> {
    let middle = ends.good.midpoint(ends.bad);
    let between = ends.good + 1..ends.bad;
    between
        .filter(|&point| !left_out.get(point).copied().unwrap_or(true))
        .min_by_key(|point| point.abs_diff(middle))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points from `first_bad` on are bad; those of `broken` cannot be measured.
    struct Planted {
        first_bad: usize,
        broken: Vec<usize>,
        measured: usize,
    }

    impl Measurements for Planted {
        type Error = std::convert::Infallible;

        fn measure(&mut self, point: usize, _: &FoundEnds) -> Result<PointState, Self::Error> {
            self.measured += 1;
            Ok(if self.broken.contains(&point) {
                PointState::Skipped("it does not build".to_owned())
            } else if point < self.first_bad {
                PointState::Like(Likeness::Good)
            } else {
                PointState::Like(Likeness::Bad)
            })
        }
    }

    fn found(last: usize, first_bad: usize, broken: &[usize]) -> (FoundEnds, usize) {
        let mut planted = Planted {
            first_bad,
            broken: broken.to_vec(),
            measured: 0,
        };
        let Ok(ends) = search(last, &mut planted);
        (ends, planted.measured)
    }

    #[test]
    fn every_planted_point_is_found_with_few_measurements() {
        for last in [1, 2, 3, 17, 64] {
            for first_bad in 1..=last {
                let (ends, measured) = found(last, first_bad, &[]);
                let expected = FoundEnds {
                    good: first_bad - 1,
                    bad: first_bad,
                };
                assert_eq!(ends, expected, "of {last}");
                assert!(
                    measured <= last.ilog2() as usize + 1,
                    "{measured} of {last}"
                );
            }
        }
    }

    #[test]
    fn what_cannot_be_measured_is_left_out() {
        let (ends, _) = found(10, 8, &[4, 5, 6]);
        assert_eq!(ends, FoundEnds { good: 7, bad: 8 });
        let (ends, _) = found(10, 5, &[4, 5, 6]);
        assert_eq!(ends, FoundEnds { good: 3, bad: 7 });
        assert!(!ends.is_exact());
        let (ends, measured) = found(3, 2, &[1, 2]);
        assert_eq!((ends, measured), (FoundEnds { good: 0, bad: 3 }, 2));
    }
}
