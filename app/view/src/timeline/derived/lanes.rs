//! Lanes of slices that do not overlap.

use crate::prelude::*;

use super::DerivedSlice;
use crate::palette::ColorKey;

/// Slices of a block, whose sums are known.
const BLOCK: usize = 32;

/// Slices in time order that do not overlap.
#[derive(Debug, Default)]
pub struct DerivedLane {
    slices: Vec<DerivedSlice>,
    blocks: Vec<SliceBlock>,
}

/// What is known of a block of slices.
#[derive(Debug, Default)]
struct SliceBlock {
    /// Index of the longest.
    longest: usize,
    colors: Box<[(ColorKey, Picos)]>,
}

/// Lengths of slices by colour.
pub type ColorTimes = Vec<(ColorKey, Picos)>;

/// Adds a length to that of its colour.
pub fn add_time(times: &mut ColorTimes, color: ColorKey, time: Picos) {
    match times.iter_mut().find(|(known, _)| *known == color) {
        Some((_, sum)) => *sum += time,
        None => times.push((color, time)),
    }
}

impl From<Vec<DerivedSlice>> for DerivedLane {
    /// Slices in order of their starts; where one begins before the end of the previous one, it begins there.
    fn from(mut slices: Vec<DerivedSlice>) -> Self {
        let mut end = Timestamp::MIN;
        for slice in &mut slices {
            let start = slice.range.start.max(end);
            slice.range = TimeRange::new(start, slice.range.end.max(start));
            end = slice.range.end;
        }
        let block = |(number, rows): (usize, &[DerivedSlice])| {
            let mut colors = ColorTimes::new();
            for slice in rows {
                add_time(&mut colors, slice.color, slice.range.dur());
            }
            SliceBlock {
                longest: number * BLOCK + longest_of(rows),
                colors: colors.into(),
            }
        };
        let blocks = slices.chunks(BLOCK).enumerate().map(block);
        Self {
            blocks: blocks.collect(),
            slices,
        }
    }
}

/// The first of the longest.
fn longest_of(slices: &[DerivedSlice]) -> usize {
    let lengths = slices.iter().map(|slice| slice.range.dur()).enumerate();
    lengths
        .rev()
        .max_by_key(|&(_, dur)| dur)
        .map_or(0, |(index, _)| index)
}

impl DerivedLane {
    pub fn slices(&self) -> &[DerivedSlice] {
        &self.slices
    }

    /// The index of the longest of some slices; their lengths by colour are added to `times`.
    pub fn sums(&self, rows: std::ops::Range<usize>, times: &mut ColorTimes) -> usize {
        let dur = |index: usize| self.slices.get(index).map(|slice| slice.range.dur());
        let mut best = rows.start;
        let mut see = |index: usize| {
            if dur(index) > dur(best) {
                best = index;
            }
        };
        let mut index = rows.start;
        while index < rows.end {
            if index.is_multiple_of(BLOCK) && index + BLOCK <= rows.end {
                if let Some(block) = self.blocks.get(index / BLOCK) {
                    see(block.longest);
                    for &(color, time) in &block.colors {
                        add_time(times, color, time);
                    }
                }
                index += BLOCK;
            } else {
                see(index);
                if let Some(slice) = self.slices.get(index) {
                    add_time(times, slice.color, slice.range.dur());
                }
                index += 1;
            }
        }
        best
    }
}

/// Slices that may overlap, in as many lanes as needed but at most `most`, and how many did not fit into these.
pub fn packed(mut slices: Vec<DerivedSlice>, most: usize) -> (Vec<DerivedLane>, usize) {
    slices.sort_by_key(|slice| (slice.range.start, Reverse(slice.range.end)));
    let mut lanes: Vec<Vec<DerivedSlice>> = Vec::new();
    let mut left_out = 0;
    for slice in slices {
        let is_free = |lane: &Vec<DerivedSlice>| {
            lane.last()
                .is_none_or(|last| last.range.end <= slice.range.start)
        };
        let free = lanes.iter().position(is_free).unwrap_or(lanes.len());
        if free < most {
            lanes.resize_with(lanes.len().max(free + 1), Vec::new);
            lanes[free].push(slice);
        } else {
            left_out += 1;
        }
    }
    (lanes.into_iter().map(DerivedLane::from).collect(), left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slice(start: i64, end: i64) -> DerivedSlice {
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        DerivedSlice {
            range,
            time: range.dur(),
            name: 0,
            color: ColorKey((start / 200 % 3) as u8),
            slice: None,
        }
    }

    #[test]
    fn sums_are_those_of_all_slices() {
        let length = |i: i64| (i * 7_919) % 101;
        let slices: Vec<_> = (0..500)
            .map(|i| slice(i * 200, i * 200 + length(i)))
            .collect();
        let lane = DerivedLane::from(slices.clone());
        for rows in [0..500, 3..4, 31..33, 5..480, 64..96, 64..97] {
            let plain = slices[rows.clone()]
                .iter()
                .map(|slice| slice.range.dur())
                .max();
            let (mut times, mut expected) = (ColorTimes::new(), ColorTimes::new());
            let longest = lane.sums(rows.clone(), &mut times);
            assert_eq!(Some(slices[longest].range.dur()), plain, "{rows:?}");
            assert!(rows.contains(&longest));
            for slice in &slices[rows.clone()] {
                add_time(&mut expected, slice.color, slice.range.dur());
            }
            times.sort_unstable();
            expected.sort_unstable();
            assert_eq!(times, expected, "{rows:?}");
        }
    }

    #[test]
    fn slices_that_overlap_are_below_each_other() {
        let slices = vec![slice(5, 6), slice(0, 10), slice(0, 4), slice(10, 12)];
        let (lanes, left_out) = packed(slices.clone(), 9);
        let starts = |lane: &DerivedLane| -> Vec<i64> {
            let starts = lane.slices().iter().map(|slice| slice.range.start.ps());
            starts.collect()
        };
        assert_eq!(
            lanes.iter().map(starts).collect::<Vec<_>>(),
            [vec![0, 10], vec![0, 5]]
        );
        assert_eq!(left_out, 0);
        assert_eq!(packed(slices, 1).1, 2, "those without a lane are counted");
    }

    #[test]
    fn a_slice_begins_after_the_one_before() {
        let lane = DerivedLane::from(vec![slice(0, 10), slice(8, 9), slice(9, 20)]);
        let ranges = lane
            .slices()
            .iter()
            .map(|slice| (slice.range.start.ps(), slice.range.end.ps()));
        assert_eq!(ranges.collect::<Vec<_>>(), [(0, 10), (10, 10), (10, 20)]);
        assert_eq!(
            lane.slices()[1].time,
            Picos::from_ps(1),
            "its time is its own"
        );
    }
}
