//! Index of the largest value in any range of many values, without reading all of them.
//!
//! ```text
//! values   3 1 4 1 5 9 2 6 5 3 5 8      the index of the largest of each 16 values,
//! level 0  |---5---|---9---|---8---|    of each 16 of those, and so on (here: 4)
//! ```

use std::ops::Range;

/// Number of values, or of maxima of the level below, per maximum.
const FOLD: usize = 16;

/// Indices of maxima. The values are kept elsewhere.
#[derive(Clone, Debug, Default)]
pub struct MaximumIndex {
    levels: Vec<Vec<u32>>,
}

impl MaximumIndex {
    /// The index of `count` values, at most 4,294,967,295.
    pub fn new<T: PartialOrd>(count: usize, value: impl Fn(usize) -> T) -> Self {
        let mut levels: Vec<Vec<u32>> = Vec::new();
        let mut below: Vec<u32> = Vec::new();
        let mut size = count;
        while size > FOLD {
            let level: Vec<u32> = (0..size.div_ceil(FOLD))
                .filter_map(|chunk| {
                    let members = chunk * FOLD..((chunk + 1) * FOLD).min(size);
                    let index = |member: usize| {
                        if levels.is_empty() {
                            member as u32
                        } else {
                            below[member]
                        }
                    };
                    larger(members.map(index), &value)
                })
                .collect();
            size = level.len();
            below.clone_from(&level);
            levels.push(level);
        }
        Self { levels }
    }

    /// Index of the largest value of a range; of equal values the first.
    pub fn largest<T: PartialOrd>(
        &self,
        range: Range<usize>,
        value: impl Fn(usize) -> T,
    ) -> Option<usize> {
        let mut best: Option<u32> = None;
        let mut keep = |members: &mut dyn Iterator<Item = u32>| {
            let largest = larger(best.into_iter().chain(members), &value);
            best = largest;
        };
        let (mut start, mut end) = (range.start, range.end);
        let mut tail: Vec<Vec<u32>> = Vec::new();
        for level in 0..=self.levels.len() {
            let largest_of = |member: usize| match level
                .checked_sub(1)
                .and_then(|below| self.levels.get(below))
            {
                Some(below) => below.get(member).copied(),
                None => Some(member as u32),
            };
            // The values at both ends that are not in whole chunks of the next level.
            let (inner, outer) = (start.div_ceil(FOLD), end / FOLD);
            if level == self.levels.len() || inner >= outer {
                keep(&mut (start..end).filter_map(largest_of));
                break;
            }
            keep(&mut (start..inner * FOLD).filter_map(largest_of));
            tail.push((outer * FOLD..end).filter_map(largest_of).collect());
            (start, end) = (inner, outer);
        }
        for members in tail.into_iter().rev() {
            keep(&mut members.into_iter());
        }
        best.map(|index| index as usize)
    }
}

/// The first of the largest values.
fn larger<T: PartialOrd>(
    members: impl Iterator<Item = u32>,
    value: &impl Fn(usize) -> T,
) -> Option<u32> {
    members.reduce(|best, next| {
        if value(next as usize) > value(best as usize) {
            next
        } else {
            best
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_maximum_of_any_range() {
        let mut random = 7_u64;
        let values: Vec<u64> = (0..5_000)
            .map(|_| {
                random = random
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1_442_695_040_888_963_407);
                (random >> 40) % 1_000
            })
            .collect();
        for count in [0, 1, 15, 16, 17, 255, 256, 257, 5_000] {
            let peaks = MaximumIndex::new(count, |i| values[i]);
            for start in (0..=count).step_by(37) {
                for end in (start..=count).step_by(41).chain([count]) {
                    let expected = (start..end).max_by_key(|&i| (values[i], std::cmp::Reverse(i)));
                    assert_eq!(
                        peaks.largest(start..end, |i| values[i]),
                        expected,
                        "{start}..{end} of {count}"
                    );
                }
            }
        }
    }
}
