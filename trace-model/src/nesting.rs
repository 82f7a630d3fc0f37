//! Assigns lanes and parents to slices.
//!
//! ```text
//! in :  A [0,100)   B [10,40)   C [30,60)   D [50,55)
//! out:  lane 0  AAAAAAAAAAAAAAAAAAAA
//!       lane 1    BBBBBB                  parent A
//!       lane 2        CCCCCC              overlaps B without nesting: no parent
//!       lane 3            D               parent C
//! ```
//!
//! Slices arrive ordered by start, longer first. A stack of open slices gives the parent; a slice that ends after the
//! top of the stack is *spilled* to the next lane. No slice is dropped or shortened, and no two slices of
//! a lane overlap. Zero-length slices at one instant are siblings: nesting them would make the depth of a track depend
//! on how many there are.

/// Row number that means "no parent".
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// Lane and parent of every slice, in the order of the input.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    pub(crate) depths: Vec<u32>,
    /// Position of the parent in the input, or [`NO_PARENT`].
    pub(crate) parents: Vec<u32>,
    /// Positions of slices that overlapped without nesting.
    pub(crate) spilled: Vec<u32>,
}

/// A slice that encloses the following ones, or overlaps them.
struct OpenSlice {
    end: i64,
    position: u32,
    depth: u32,
}

/// Places `(start, end)` pairs, ordered by start ascending, then end descending. With `free`, overlap is expected:
/// lanes are filled first-fit, without parents.
pub(crate) fn nest(spans: impl ExactSizeIterator<Item = (i64, i64)>, free: bool) -> Nesting {
    let mut out = Nesting {
        depths: Vec::with_capacity(spans.len()),
        parents: Vec::with_capacity(spans.len()),
        spilled: Vec::new(),
    };
    if free {
        let mut lanes = FreeLanes::default();
        out.parents.resize(spans.len(), NO_PARENT);
        out.depths.extend(spans.map(|(start, end)| lanes.take_first(start, end)));
        return out;
    }
    // Each is deeper than the one before it, and slices that are not in this list have ended. The lane below the last
    // one is therefore always free.
    let mut open: Vec<OpenSlice> = Vec::new();
    for (position, (start, end)) in (0..).zip(spans) {
        while open.last().is_some_and(|inner| inner.end <= start) {
            open.pop();
        }
        let (depth, parent) = match open.last() {
            None => (0, NO_PARENT),
            Some(inner) if end <= inner.end => (inner.depth + 1, inner.position),
            Some(inner) => {
                out.spilled.push(position);
                (inner.depth + 1, NO_PARENT)
            }
        };
        open.push(OpenSlice { end, position, depth });
        out.depths.push(depth);
        out.parents.push(parent);
    }
    out
}

/// End of the last slice of each lane, as a tree of minima: finding a free lane takes logarithmic time, also for a
/// million overlapping slices.
#[derive(Default)]
struct FreeLanes {
    /// In heap order, with the leaves in the second half. A lane that was never used is free at all times.
    taken_until: Vec<i64>,
    leaves: u32,
}

impl FreeLanes {
    /// The first lane that is free at `start`; it is taken until `end`.
    fn take_first(&mut self, start: i64, end: i64) -> u32 {
        let lane = self.first_free(start);
        self.occupy(lane, end);
        lane
    }

    fn first_free(&self, start: i64) -> u32 {
        if self.taken_until.get(1).is_none_or(|&first| first > start) {
            return self.leaves;
        }
        let mut node = 1;
        while node < self.leaves {
            node *= 2;
            if self.taken_until[node as usize] > start {
                node += 1;
            }
        }
        node - self.leaves
    }

    fn occupy(&mut self, lane: u32, until: i64) {
        if lane >= self.leaves {
            self.grow(lane);
        }
        let mut node = (lane + self.leaves) as usize;
        self.taken_until[node] = until;
        while node > 1 {
            node /= 2;
            let least = self.taken_until[2 * node].min(self.taken_until[2 * node + 1]);
            if self.taken_until[node] == least {
                break;
            }
            self.taken_until[node] = least;
        }
    }

    fn grow(&mut self, lane: u32) {
        let leaves = (lane + 1).next_power_of_two();
        let mut tree = vec![i64::MIN; 2 * leaves as usize];
        let old = self.leaves as usize;
        if old > 0 {
            tree[leaves as usize..leaves as usize + old].copy_from_slice(&self.taken_until[old..]);
        }
        for node in (1..leaves as usize).rev() {
            tree[node] = tree[2 * node].min(tree[2 * node + 1]);
        }
        (self.taken_until, self.leaves) = (tree, leaves);
    }
}

/// Parents on another clock, as positions.
///
/// Real captures map a few device spans badly onto the timeline (on v6e by 200 ms, so that serial ops seem to overlap),
/// but the device clock keeps them apart. Lanes follow the timeline, which is what is drawn; parents, and with them
/// self time, follow the clock that timed the ops.
pub(crate) fn parents_by(starts: &[i64], durs: &[i64]) -> Vec<u32> {
    let span = |position: usize| (starts[position], starts[position].saturating_add(durs[position]));
    let key = |&position: &u32| {
        let (start, end) = span(position as usize);
        (start, std::cmp::Reverse(end), position)
    };
    let in_order = (1..starts.len()).all(|i| {
        let ((start, end), (next_start, next_end)) = (span(i - 1), span(i));
        start < next_start || (start == next_start && end >= next_end)
    });
    if in_order {
        return parents_in_order((0..starts.len()).map(span));
    }
    let mut sorted: Vec<u32> = (0..starts.len() as u32).collect();
    sorted.sort_unstable_by_key(key);
    let by_rank = parents_in_order(sorted.iter().map(|&position| span(position as usize)));
    let mut parents = vec![NO_PARENT; starts.len()];
    for (&position, &parent) in sorted.iter().zip(&by_rank) {
        if parent != NO_PARENT {
            parents[position as usize] = sorted[parent as usize];
        }
    }
    parents
}

/// The parents that [`nest`] finds, without lanes.
fn parents_in_order(spans: impl Iterator<Item = (i64, i64)>) -> Vec<u32> {
    let mut open: Vec<(i64, u32)> = Vec::new();
    let parent = |(position, (start, end)): (u32, (i64, i64))| {
        while open.last().is_some_and(|&(open_end, _)| open_end <= start) {
            open.pop();
        }
        let parent = open.last().filter(|&&(open_end, _)| end <= open_end).map_or(NO_PARENT, |&(_, inner)| inner);
        open.push((end, position));
        parent
    };
    (0..).zip(spans).map(parent).collect()
}

/// The rows of a track's slices in the slice table.
pub(crate) struct TrackRows {
    /// Slices of each depth.
    pub(crate) lane_lens: Vec<u32>,
    /// The mapping between rows and positions, if they differ because there are several lanes.
    pub(crate) moved: Option<Moved>,
}

/// The mapping between rows and positions.
pub(crate) struct Moved {
    /// Row of each position.
    pub(crate) row_of: Vec<u32>,
    /// Position of each row.
    pub(crate) by_row: Vec<u32>,
}

/// Assigns rows by depth, then by position, which is time order.
pub(crate) fn rows_by_depth(depths: &[u32]) -> TrackRows {
    let lanes = depths.iter().max().map_or(0, |&deepest| deepest as usize + 1);
    let mut lane_lens = vec![0_u32; lanes];
    for &depth in depths {
        lane_lens[depth as usize] += 1;
    }
    if lanes <= 1 {
        return TrackRows { lane_lens, moved: None };
    }
    let mut next = Vec::with_capacity(lanes);
    let mut first = 0;
    for &len in &lane_lens {
        next.push(first);
        first += len;
    }
    let mut by_row = vec![0; depths.len()];
    let row_of = depths.iter().enumerate().map(|(position, &depth)| {
        let row = next[depth as usize];
        next[depth as usize] += 1;
        by_row[row as usize] = position as u32;
        row
    });
    let row_of = row_of.collect();
    TrackRows { lane_lens, moved: Some(Moved { row_of, by_row }) }
}

/// Sorted rows `(parent, child)` of every slice that has a parent. Without `row_of`, rows equal positions.
pub(crate) fn children_in_rows(parents: &[u32], row_of: Option<&[u32]>) -> Vec<(u32, u32)> {
    let row = |position: u32| row_of.map_or(position, |rows| rows[position as usize]);
    let with_parent = (0..).zip(parents).filter(|&(_, &parent)| parent != NO_PARENT);
    let mut pairs: Vec<_> = with_parent.map(|(position, &parent)| (row(parent), row(position))).collect();
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn depths(spans: &[(i64, i64)], free: bool) -> Vec<u32> {
        nest(spans.iter().copied(), free).depths
    }

    #[test]
    fn nested_slices_go_one_lane_deeper() {
        let nesting = nest([(0, 100), (10, 40), (50, 90), (55, 60)].into_iter(), false);
        assert_eq!(nesting.depths, [0, 1, 1, 2]);
        assert_eq!(nesting.parents, [NO_PARENT, 0, 0, 2]);
        assert!(nesting.spilled.is_empty());
    }

    #[test]
    fn partial_overlap_spills_without_a_parent_and_keeps_its_own_children() {
        let nesting = nest([(0, 100), (10, 40), (30, 60), (50, 55)].into_iter(), false);
        assert_eq!(nesting.depths, [0, 1, 2, 3]);
        assert_eq!(nesting.parents, [NO_PARENT, 0, NO_PARENT, 2]);
        let nesting = nest([(0, 50), (30, 60), (52, 55)].into_iter(), false);
        assert_eq!(nesting.depths, [0, 1, 2]);
        assert_eq!(nesting.parents, [NO_PARENT, NO_PARENT, 1]);
        assert_eq!(nesting.spilled, [1]);
    }

    #[test]
    fn touching_and_zero_length_slices_are_siblings() {
        assert_eq!(depths(&[(0, 10), (10, 20)], false), [0, 0]);
        assert_eq!(depths(&[(5, 5), (5, 5), (5, 5)], false), [0, 0, 0]);
        assert_eq!(depths(&[(0, 5), (5, 5)], false), [0, 0]);
        assert_eq!(depths(&[(0, 5), (0, 0)], false), [0, 1]);
    }

    #[test]
    fn parents_may_use_another_clock_than_lanes() {
        // On the timeline the second op seems to start inside the first; on the device clock it starts after it.
        let (timeline, device) = ([(0, 100), (50, 120), (60, 70)], [(0, 50), (50, 120), (60, 70)]);
        let lanes = nest(timeline.into_iter(), false);
        assert_eq!((lanes.depths, lanes.parents), (vec![0, 1, 2], vec![NO_PARENT, NO_PARENT, 1]));
        let by_device = |spans: [(i64, i64); 3]| parents_by(&spans.map(|(a, _)| a), &spans.map(|(a, b)| b - a));
        assert_eq!(by_device(device), [NO_PARENT, NO_PARENT, 1]);
        assert_eq!(by_device([(0, 50), (10, 20), (60, 70)]), [NO_PARENT, 0, NO_PARENT]);
        // The order on the device clock can differ from that on the timeline.
        assert_eq!(by_device([(10, 20), (0, 50), (60, 70)]), [1, NO_PARENT, NO_PARENT]);
    }

    #[test]
    fn async_spans_fill_the_first_free_lane() {
        assert_eq!(depths(&[(0, 10), (2, 8), (4, 20), (8, 9), (10, 12)], true), [0, 1, 2, 1, 0]);
    }

    #[test]
    fn ten_thousand_overlapping_slices_take_ten_thousand_lanes_quickly() {
        let spans: Vec<_> = (0..10_000).map(|i| (i, 100_000 + i)).collect();
        let nesting = nest(spans.iter().copied(), false);
        assert_eq!(nesting.depths.last(), Some(&9_999));
        assert_eq!(nesting.spilled.len(), 9_999);
    }
}
