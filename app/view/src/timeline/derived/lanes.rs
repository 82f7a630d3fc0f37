//! Lanes of slices that do not overlap.

use trace_model::{TimeRange, Timestamp};

use super::DerivedSlice;

/// Slices of a block, of which the longest is known.
const BLOCK: usize = 32;

/// Slices in time order that do not overlap.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DerivedLane {
    slices: Vec<DerivedSlice>,
    /// By block: the index of its longest slice.
    longest: Vec<u32>,
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
        let longest = slices
            .chunks(BLOCK)
            .enumerate()
            .map(|(block, own)| (block * BLOCK + longest_of(own)) as u32);
        Self {
            longest: longest.collect(),
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
        .map_or(0, |(at, _)| at)
}

impl DerivedLane {
    pub fn slices(&self) -> &[DerivedSlice] {
        &self.slices
    }

    /// The longest of some slices, by index.
    pub fn longest(&self, rows: std::ops::Range<usize>) -> usize {
        let dur = |at: usize| self.slices.get(at).map(|slice| slice.range.dur());
        let mut best = rows.start;
        let mut see = |at: usize| {
            if dur(at) > dur(best) {
                best = at;
            }
        };
        let mut at = rows.start;
        while at < rows.end {
            if at.is_multiple_of(BLOCK) && at + BLOCK <= rows.end {
                self.longest
                    .get(at / BLOCK)
                    .into_iter()
                    .for_each(|&longest| see(longest as usize));
                at += BLOCK;
            } else {
                see(at);
                at += 1;
            }
        }
        best
    }
}

/// Slices that may overlap, in as many lanes as needed but at most `most`, and how many did not fit into these.
pub fn packed(mut slices: Vec<DerivedSlice>, most: usize) -> (Vec<DerivedLane>, usize) {
    slices.sort_by_key(|slice| (slice.range.start, std::cmp::Reverse(slice.range.end)));
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
    use crate::palette::ColorKey;
    use trace_model::Picos;

    fn slice(start: i64, end: i64) -> DerivedSlice {
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        DerivedSlice {
            range,
            time: range.dur(),
            name: 0,
            color: ColorKey(0),
            slice: None,
        }
    }

    #[test]
    fn longest_is_that_of_a_plain_search() {
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
            let found = slices[lane.longest(rows.clone())].range.dur();
            assert_eq!(Some(found), plain, "{rows:?}");
            assert!(rows.contains(&lane.longest(rows.clone())));
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
