//! Lengths of slices in many sorted lists, and their quantiles.
//!
//! Every list gives some of its numbers as samples, evenly spaced. Their order shows about where a quantile lies; only the
//! numbers near it are taken out of the lists and ordered. How many numbers lie before them is counted, so the result is
//! exact, whatever the samples say.
//!
//! ```text
//! list 1   2 [5] 8 [9] 12      samples  5 5 9 11 20
//! list 2   3 [5] 6 [11] 30     the median of all is near 9: between 5 and 11
//! list 3   7 [20] 31
//! ```

use analysis::math::quantile::of_sorted;

/// Numbers in ascending order, in four bytes each if they fit.
#[derive(Clone, Copy)]
pub(super) enum SortedList<'a> {
    Short(&'a [u32]),
    Long(&'a [i64]),
}

/// Where a list is among the [`SortedLists`] of a span.
#[derive(Clone, Copy, Default)]
pub(super) struct ListPlace {
    from: u32,
    len: u32,
    is_long: bool,
}

/// The lists of a span.
#[derive(Default)]
pub(super) struct SortedLists {
    short: Vec<u32>,
    long: Vec<i64>,
}

impl SortedLists {
    /// Adds a list of these numbers, which are taken out of `numbers`.
    pub(super) fn add(&mut self, numbers: &mut Vec<i64>) -> ListPlace {
        numbers.sort_unstable();
        let fits =
            |number: Option<&i64>| number.is_none_or(|&number| u32::try_from(number).is_ok());
        let is_long = !(fits(numbers.first()) && fits(numbers.last()));
        let from = if is_long {
            self.long.len()
        } else {
            self.short.len()
        };
        let place = ListPlace {
            from: from as u32,
            len: numbers.len() as u32,
            is_long,
        };
        if is_long {
            self.long.append(numbers);
        } else {
            self.short
                .extend(numbers.drain(..).map(|number| number as u32));
        }
        place
    }

    pub(super) fn get(&self, place: ListPlace) -> SortedList<'_> {
        let range = place.from as usize..(place.from + place.len) as usize;
        if place.is_long {
            SortedList::Long(&self.long[range])
        } else {
            SortedList::Short(&self.short[range])
        }
    }

    pub(super) fn shrink(&mut self) {
        self.short.shrink_to_fit();
        self.long.shrink_to_fit();
    }
}

impl SortedList<'_> {
    pub(super) fn len(self) -> usize {
        match self {
            Self::Short(list) => list.len(),
            Self::Long(list) => list.len(),
        }
    }

    fn at(self, place: usize) -> i64 {
        match self {
            Self::Short(list) => i64::from(list[place]),
            Self::Long(list) => list[place],
        }
    }

    /// How many numbers are less than this one, or as large.
    fn count_until(self, number: i64, or_equal: bool) -> usize {
        let is_before = |other: i64| other < number || or_equal && other == number;
        match self {
            Self::Short(list) => list.partition_point(|&other| is_before(i64::from(other))),
            Self::Long(list) => list.partition_point(|&other| is_before(other)),
        }
    }

    fn add_to(self, from: usize, until: usize, out: &mut Vec<i64>) {
        match self {
            Self::Short(list) => {
                out.extend(list[from..until].iter().map(|&number| i64::from(number)));
            }
            Self::Long(list) => out.extend(&list[from..until]),
        }
    }
}

/// About how many samples are taken. Fewer numbers are all ordered.
const SAMPLES: usize = 2048;

/// Median and 95th percentile of the numbers of all lists.
pub(super) fn median_and_p95(lists: &[SortedList<'_>]) -> [Option<f64>; 2] {
    let count: usize = lists.iter().map(|list| list.len()).sum();
    let step = count.div_ceil(SAMPLES).max(1);
    let mut samples: Vec<i64> = lists
        .iter()
        .flat_map(|&list| {
            (step / 2..list.len())
                .step_by(step)
                .map(move |place| list.at(place))
        })
        .collect();
    samples.sort_unstable();
    [0.5, 0.95].map(|share| {
        // The quantile lies between two neighbours, whose quantile it is, too.
        let place = share * count.checked_sub(1)? as f64;
        let rank = place.floor() as usize;
        of_sorted(
            &NumbersNear::of(lists, &samples, step, rank).neighbours(rank)?,
            place.fract(),
        )
    })
}

/// Numbers of all lists with consecutive ranks, in order.
#[derive(Default)]
struct NumbersNear {
    before: usize,
    sorted: Vec<i64>,
}

impl NumbersNear {
    /// Some around a rank and the next one.
    fn of(lists: &[SortedList<'_>], samples: &[i64], step: usize, rank: usize) -> Self {
        // Each list may have up to `step` more or fewer numbers before a sample than the samples tell: about twice the
        // root of their number in all, were they random.
        let margin = 2 + 2 * lists.len().isqrt();
        let sample = |place: Option<usize>| place.and_then(|place| samples.get(place)).copied();
        let least = sample((rank / step).checked_sub(margin)).unwrap_or(i64::MIN);
        let most = sample(Some(rank / step + margin)).unwrap_or(i64::MAX);
        let candidates = Self::between(lists, least, most);
        if candidates.has(rank) && candidates.has(rank + 1) || (least, most) == (i64::MIN, i64::MAX)
        {
            candidates
        } else {
            Self::between(lists, i64::MIN, i64::MAX)
        }
    }

    fn between(lists: &[SortedList<'_>], least: i64, most: i64) -> Self {
        let mut numbers = Self::default();
        for list in lists {
            let from = list.count_until(least, false);
            numbers.before += from;
            list.add_to(from, list.count_until(most, true), &mut numbers.sorted);
        }
        numbers.sorted.sort_unstable();
        numbers
    }

    fn has(&self, rank: usize) -> bool {
        rank.checked_sub(self.before)
            .is_some_and(|place| place < self.sorted.len())
    }

    /// The number with a rank and the next one.
    fn neighbours(&self, rank: usize) -> Option<[f64; 2]> {
        let place = rank.checked_sub(self.before)?;
        let low = *self.sorted.get(place)?;
        Some([low, *self.sorted.get(place + 1).unwrap_or(&low)].map(|number| number as f64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quantiles of the lists equal those of all their numbers in one.
    fn check(numbers: &[Vec<i64>]) {
        let mut lists = SortedLists::default();
        let places: Vec<ListPlace> = numbers
            .iter()
            .map(|numbers| lists.add(&mut numbers.clone()))
            .collect();
        let found: Vec<SortedList<'_>> = places.into_iter().map(|place| lists.get(place)).collect();
        let mut all: Vec<f64> = numbers
            .iter()
            .flatten()
            .map(|&number| number as f64)
            .collect();
        all.sort_by(f64::total_cmp);
        let expected = [0.5, 0.95].map(|at| of_sorted(&all, at));
        assert_eq!(median_and_p95(&found), expected, "{} numbers", all.len());
    }

    #[test]
    fn quantiles_of_few_numbers_are_exact() {
        check(&[]);
        check(&[vec![], vec![7]]);
        check(&[vec![9, 2], vec![3, i64::MAX, 1]]);
    }

    #[test]
    fn quantiles_of_many_lists_are_exact() {
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        for spread in [0, 1, 3, 12, 33, 62] {
            for lists in [1, 2, 9, 70] {
                let list = |at: usize| {
                    // Lists of different length, some of which lie beside the others.
                    let beside = if at % 5 == 4 { 1 << spread } else { 0 };
                    (0..3_000 / (at + 1))
                        .map(|_| {
                            random ^= random << 13;
                            random ^= random >> 7;
                            random ^= random << 17;
                            beside + (random >> 1) as i64 % (1 << spread)
                        })
                        .collect()
                };
                check(&(0..lists).map(list).collect::<Vec<_>>());
            }
        }
    }

    /// Where samples say nothing about the numbers between them, all numbers are ordered.
    #[test]
    fn misleading_samples_do_no_harm() {
        let steps: Vec<i64> = (0..60_000).map(|i| i64::from(i % 60 == 29)).collect();
        check(&[steps.clone(), steps, (0..9).collect()]);
        check(
            &(0..400)
                .map(|at| vec![at; 29 + at as usize % 3])
                .collect::<Vec<_>>(),
        );
    }
}
