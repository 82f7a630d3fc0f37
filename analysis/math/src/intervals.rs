//! Sets of instants, for questions such as "how much of this communication runs
//! while the core computes?".
//!
//! ```text
//! C      ====      ====     compute
//! F         =====           in flight
//! F ∩ C     =      .        hidden
//! F \ C      ====           exposed
//! ```
//!
//! A set is a list of half-open ranges, sorted, disjoint, none touching the next;
//! ranges that only touch share no instant. Every operation is one linear merge.
//! A set does not know its clock: never combine ranges of two clocks.

use trace_model::{Picos, TimeRange, Timestamp};

/// A set of instants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntervalSet {
    /// Sorted; each starts after the end of the one before; none is empty.
    ranges: Vec<TimeRange>,
}

impl IntervalSet {
    /// The empty set.
    pub const fn new() -> Self {
        Self { ranges: Vec::new() }
    }

    /// The range as a set.
    pub fn of(range: TimeRange) -> Self {
        std::iter::once(range).collect()
    }

    /// The ranges, sorted and disjoint.
    pub fn ranges(&self) -> &[TimeRange] {
        &self.ranges
    }

    /// Whether the set is empty.
    pub fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Total length of all ranges.
    pub fn measure(&self) -> Picos {
        self.ranges.iter().map(|range| range.dur()).sum()
    }

    /// The smallest range around everything; `None` if empty.
    pub fn hull(&self) -> Option<TimeRange> {
        Some(TimeRange::new(
            self.ranges.first()?.start,
            self.ranges.last()?.end,
        ))
    }

    /// Length of the part of `range` in the set: a binary search, then a scan over the overlapping ranges.
    pub fn measure_in(&self, range: TimeRange) -> Picos {
        self.parts_in(range).map(TimeRange::dur).sum()
    }

    fn parts_in(&self, range: TimeRange) -> impl Iterator<Item = TimeRange> {
        let from = self.ranges.partition_point(|r| r.end <= range.start);
        self.ranges[from..]
            .iter()
            .take_while(move |r| r.start < range.end)
            .filter_map(move |r| r.intersect(range))
    }

    /// The intersection with `range`.
    pub fn clip(&self, range: TimeRange) -> Self {
        self.parts_in(range).collect()
    }

    /// Instants in either set.
    pub fn union(&self, other: &Self) -> Self {
        // A stable sort finds that both parts are sorted, and merges them.
        self.ranges.iter().chain(&other.ranges).copied().collect()
    }

    /// Instants in both sets.
    pub fn intersect(&self, other: &Self) -> Self {
        let (mut a, mut b) = (
            self.ranges.iter().peekable(),
            other.ranges.iter().peekable(),
        );
        let mut out = Self::new();
        while let (Some(&&x), Some(&&y)) = (a.peek(), b.peek()) {
            out.ranges.extend(x.intersect(y));
            // The range that ends first cannot overlap later ones.
            if x.end <= y.end {
                a.next()
            } else {
                b.next()
            };
        }
        out
    }

    /// Instants in this set but not in `other`.
    pub fn subtract(&self, other: &Self) -> Self {
        let mut out = UnionBuilder::default();
        let mut holes = other.ranges.iter().peekable();
        for &range in &self.ranges {
            let mut rest = range;
            while holes.next_if(|hole| hole.end <= rest.start).is_some() {}
            while let Some(&&hole) = holes.peek().filter(|hole| hole.start < rest.end) {
                out.add(TimeRange::new(rest.start, hole.start));
                rest = TimeRange::new(hole.end, rest.end);
                if hole.end > range.end {
                    break; // It reaches into the next range.
                }
                holes.next();
            }
            out.add(rest);
        }
        out.finish()
    }
}

/// Measures the part of any range in the set, with two binary searches per query.
#[derive(Clone, Debug, Default)]
pub struct MeasureIndex {
    set: IntervalSet,
    /// Total length of all ranges before each range.
    before: Vec<Picos>,
}

impl MeasureIndex {
    /// Prepares a set.
    pub fn new(set: IntervalSet) -> Self {
        let mut sum = Picos::ZERO;
        let mut add = |range: &TimeRange| {
            let before = sum;
            sum += range.dur();
            before
        };
        let before = set.ranges.iter().map(&mut add).collect();
        Self { set, before }
    }

    pub fn set(&self) -> &IntervalSet {
        &self.set
    }

    /// The measure of the set in a range, as [`IntervalSet::measure_in`] computes it.
    pub fn measure_in(&self, range: TimeRange) -> Picos {
        if range.is_empty() {
            Picos::ZERO
        } else {
            self.until(range.end) - self.until(range.start)
        }
    }

    /// Length of the set before `time`.
    fn until(&self, time: Timestamp) -> Picos {
        let begun = self.set.ranges.partition_point(|range| range.start < time);
        let Some(last) = begun.checked_sub(1) else {
            return Picos::ZERO;
        };
        let range = self.set.ranges[last];
        self.before[last] + (range.end.min(time) - range.start)
    }
}

/// The union of ranges in any order. Sorted input needs no sorting, and concatenated sorted lanes only a merge.
#[derive(Default)]
pub struct UnionBuilder {
    out: IntervalSet,
    is_unsorted: bool,
}

impl UnionBuilder {
    /// Adds a range.
    #[inline]
    pub fn add(&mut self, range: TimeRange) {
        if range.is_empty() {
            return;
        }
        match self.out.ranges.last_mut() {
            Some(last) if range.start < last.start => {
                self.is_unsorted = true;
                self.out.ranges.push(range);
            }
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => self.out.ranges.push(range),
        }
    }

    /// The union of all ranges.
    pub fn finish(self) -> IntervalSet {
        let mut out = self.joined();
        out.ranges.shrink_to_fit();
        out
    }

    /// The length of the union, without a copy of its ranges.
    pub fn measure(self) -> Picos {
        self.joined().measure()
    }

    fn joined(self) -> IntervalSet {
        let Self {
            mut out,
            is_unsorted,
        } = self;
        if is_unsorted {
            out.ranges.sort_by_key(|range| range.start);
            out.ranges.dedup_by(|later, last| {
                let touches = later.start <= last.end;
                last.end = if touches {
                    last.end.max(later.end)
                } else {
                    last.end
                };
                touches
            });
        }
        out
    }
}

/// The length of the union of ranges that come in order of time, or nearly so: it keeps no list of them.
#[derive(Default)]
pub struct UnionLength {
    /// The last ranges, which others may still join.
    near: UnionBuilder,
    /// The length of those before.
    before: Picos,
    /// Their end.
    until: Option<Timestamp>,
    is_out_of_order: bool,
}

/// Most ranges that a [`UnionLength`] keeps; half of them stay.
const NEAR: usize = 256;

impl UnionLength {
    /// Adds a range.
    #[inline]
    pub fn add(&mut self, range: TimeRange) {
        self.near.add(range);
        if self.near.out.ranges.len() >= NEAR {
            self.pass();
        }
    }

    #[cold]
    fn pass(&mut self) {
        let mut near = std::mem::take(&mut self.near).joined();
        let begin = near.ranges.first().map(|range| range.start);
        self.is_out_of_order |= begin.is_some_and(|begin| Some(begin) < self.until);
        for range in near
            .ranges
            .drain(..near.ranges.len().saturating_sub(NEAR / 2))
        {
            self.before += range.dur();
            self.until = Some(range.end);
        }
        self.near.out = near;
    }

    /// The length; `None` if ranges came so far out of order that it is not known.
    pub fn finish(mut self) -> Option<Picos> {
        self.pass();
        (!self.is_out_of_order).then(|| self.before + self.near.measure())
    }
}

/// See `UnionBuilder`.
impl FromIterator<TimeRange> for IntervalSet {
    fn from_iter<I: IntoIterator<Item = TimeRange>>(ranges: I) -> Self {
        let mut union = UnionBuilder::default();
        ranges.into_iter().for_each(|range| union.add(range));
        union.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses a picture: one column per instant, `=` for members.
    fn set(picture: &str) -> IntervalSet {
        picture
            .char_indices()
            .filter(|&(_, c)| c == '=')
            .map(|(i, _)| {
                TimeRange::new(
                    Timestamp::from_ps(i as i64),
                    Timestamp::from_ps(i as i64 + 1),
                )
            })
            .collect()
    }

    #[test]
    fn interval_set_operations() {
        let a = set("==..====..==");
        let b = set(".==..==..===");
        assert_eq!(a.union(&b), set("===.====.==="));
        assert_eq!(a.intersect(&b), set(".=...==...=="));
        assert_eq!(a.subtract(&b), set("=...=..="));
        assert_eq!(b.subtract(&a), set("..=......=.."));
        assert_eq!(a.measure().ps(), 8);
        assert_eq!(a.ranges().len(), 3);
        let window = TimeRange::new(Timestamp::from_ps(1), Timestamp::from_ps(10));
        assert_eq!(IntervalSet::of(window).subtract(&a), set("..==....==.."));
        assert_eq!(a.clip(window), set(".=..====...."));
        assert_eq!(a.measure_in(window).ps(), 5);
    }

    #[test]
    fn touching_ranges_merge() {
        let touching: IntervalSet = [(5, 9), (0, 5), (9, 9)]
            .map(|(a, b)| TimeRange::new(Timestamp::from_ps(a), Timestamp::from_ps(b)))
            .into_iter()
            .collect();
        assert_eq!(touching.ranges().len(), 1);
        assert_eq!(touching.measure().ps(), 9);
    }

    /// Any ranges within 0..64, as a set and as one bit an instant.
    fn any_set() -> impl Strategy<Value = (IntervalSet, u64)> {
        prop::collection::vec((0_i64..64, 0_i64..12), 0..12).prop_map(|ranges| {
            let mut bits = 0_u64;
            let mut set = Vec::new();
            for (start, len) in ranges {
                let end = (start + len).min(64);
                (start..end).for_each(|i| bits |= 1 << i);
                set.push(TimeRange::new(
                    Timestamp::from_ps(start),
                    Timestamp::from_ps(end),
                ));
            }
            (set.into_iter().collect(), bits)
        })
    }

    fn bits_of(set: &IntervalSet) -> u64 {
        (0..64)
            .filter(|&i| {
                set.ranges
                    .iter()
                    .any(|range| range.contains(Timestamp::from_ps(i)))
            })
            .fold(0, |bits, i| bits | 1 << i)
    }

    fn is_canonical(set: &IntervalSet) -> bool {
        set.ranges().iter().all(|r| !r.is_empty())
            && set.ranges().windows(2).all(|w| w[0].end < w[1].start)
    }

    proptest! {
        #[test]
        fn operations_agree_with_bit_sets(((a, x), (b, y)) in (any_set(), any_set()), from in 0_i64..64, len in 0_i64..64) {
            let range = TimeRange::new(Timestamp::from_ps(from), Timestamp::from_ps((from + len).min(64)));
            let mask = (from..(from + len).min(64)).fold(0_u64, |bits, i| bits | 1 << i);
            for (set, bits) in [
                (a.clone(), x),
                (a.union(&b), x | y),
                (a.intersect(&b), x & y),
                (a.subtract(&b), x & !y),
                (a.clip(range), x & mask),
                (IntervalSet::of(range).subtract(&a), mask & !x),
            ] {
                prop_assert_eq!(bits_of(&set), bits);
                prop_assert_eq!(set.measure().ps(), i64::from(bits.count_ones()));
                prop_assert!(is_canonical(&set));
            }
            prop_assert_eq!(a.measure_in(range), a.clip(range).measure());
            prop_assert_eq!(MeasureIndex::new(a.clone()).measure_in(range), a.measure_in(range));
        }

        /// Ranges in order of their starts, but for a few neighbours, or in any order.
        #[test]
        fn length_of_a_union_needs_no_list(
            mut ranges in prop::collection::vec((0_i64..9_000, 0_i64..9), 0..3_000),
            swapped in prop::collection::vec(0_usize..3_000, 0..9),
            is_in_order in any::<bool>(),
        ) {
            if is_in_order {
                ranges.sort_unstable();
                for at in swapped {
                    if at + 1 < ranges.len() {
                        ranges.swap(at, at + 1);
                    }
                }
            }
            let range = |(start, len): (i64, i64)| TimeRange::at(Timestamp::from_ps(start), Picos::from_ps(len));
            let mut length = UnionLength::default();
            for &one in &ranges {
                length.add(range(one));
            }
            let expected = ranges.iter().copied().map(range).collect::<IntervalSet>().measure();
            let found = length.finish();
            prop_assert!(found.is_none_or(|found| found == expected));
            prop_assert!(found.is_some() || !is_in_order);
        }
    }
}
