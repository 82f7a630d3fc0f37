//! Assigns lanes and parents to slices.
//!
//! ```text
//! in :  A [0,100)   B [10,40)   C [30,60)   D [50,55)
//! out:  lane 0  AAAAAAAAAAAAAAAAAAAA
//!       lane 1    BBBBBB                  parent A
//!       lane 2        CCCCCC              parent A; overlaps B without nesting
//!       lane 3            D               parent C
//! ```
//!
//! Slices arrive ordered by start, longer first. A stack of open slices gives the parent: the innermost slice that
//! encloses the new one. A slice that begins in an open one and ends after it is *spilled* to the first free lane that is
//! at least two below its parent: its depth tells that it overlaps others. No slice is dropped or shortened, and no two
//! slices of a lane overlap. Zero-length slices at one instant are siblings: nesting them would make the depth of a track
//! depend on how many there are.
//!
//! Every instant belongs to the running slice that began last. Times that a profile rounds let children end a little
//! after their parent; only the part inside is not the parent's own time:
//!
//! ```text
//! in     WWWWWWWWWWWWWWWW.......
//!          AAAA  BBBBBBBBB
//! own    WW    WW                 covered: 4 + 8
//! ```

/// Row number that means "no parent".
pub(crate) const NO_PARENT: u32 = u32::MAX;

/// Lane and parent of every slice, in the order of the input.
#[derive(Debug, Default)]
pub(crate) struct Nesting {
    pub depths: Vec<u32>,
    /// Position of the parent in the input, or [`NO_PARENT`].
    pub parents: Vec<u32>,
    /// Time of each slice in which another one runs that began later.
    pub covered: Vec<i64>,
    /// Positions of slices that overlapped without nesting.
    pub spilled: Vec<u32>,
}

/// A slice that can enclose the following ones.
struct EnclosingSlice {
    end: i64,
    position: u32,
    /// Until when its time was counted as covered.
    covered_until: i64,
}

/// Open slices, each of which ends before the one under it or together with it.
#[derive(Default)]
struct OpenSlices(Vec<EnclosingSlice>);

impl OpenSlices {
    /// Removes those that have ended.
    fn end_until(&mut self, start: i64) {
        while self.0.last().is_some_and(|inner| inner.end <= start) {
            self.0.pop();
        }
    }

    /// Whether one that is open ends before `end`.
    fn overlaps(&self, end: i64) -> bool {
        self.0.last().is_some_and(|inner| inner.end < end)
    }

    /// Adds the next slice; returns the position of the innermost one that encloses it.
    fn add(&mut self, (start, end): (i64, i64), covered: &mut Vec<i64>) -> Option<u32> {
        // What ends earlier encloses none of the following: they begin in the new slice, or end later.
        while let Some(inner) = self.0.pop_if(|inner| inner.end < end) {
            inner.cover(start, inner.end, covered);
        }
        let parent = self.0.last_mut().map(|around| {
            around.cover(start, end, covered);
            around.covered_until = end;
            around.position
        });
        self.0.push(EnclosingSlice {
            end,
            position: covered.len() as u32,
            covered_until: start,
        });
        covered.push(0);
        parent
    }
}

impl EnclosingSlice {
    fn cover(&self, start: i64, end: i64, covered: &mut [i64]) {
        let new = end.saturating_sub(start.max(self.covered_until)).max(0);
        let sum = &mut covered[self.position as usize];
        *sum = sum.saturating_add(new);
    }
}

/// Places `(start, end)` pairs, ordered by start ascending, then end descending. With `free`, overlap is expected:
/// lanes are filled first-fit, without parents.
pub(crate) fn nest(spans: impl ExactSizeIterator<Item = (i64, i64)>, free: bool) -> Nesting {
    let count = spans.len();
    let mut out = Nesting {
        depths: Vec::with_capacity(count),
        ..Nesting::default()
    };
    if free {
        let mut lanes = FreeLanes::default();
        out.depths.extend(spans.map(|span| lanes.take(0, span)));
        (out.parents, out.covered) = (vec![NO_PARENT; count], vec![0; count]);
        return out;
    }
    out.parents.reserve_exact(count);
    out.covered.reserve_exact(count);
    let mut open = OpenSlices::default();
    // As long as slices nest, the lane below the parent is always free.
    let mut lanes: Option<FreeLanes> = None;
    for (position, span) in (0..).zip(spans) {
        open.end_until(span.0);
        let is_spilled = open.overlaps(span.1);
        if is_spilled {
            out.spilled.push(position);
            lanes.get_or_insert_with(|| {
                let mut lanes = FreeLanes::default();
                open.0
                    .iter()
                    .for_each(|slice| lanes.occupy(out.depths[slice.position as usize], slice.end));
                lanes
            });
        }
        let parent = open.add(span, &mut out.covered);
        let below =
            parent.map_or(0, |parent| out.depths[parent as usize] + 1) + u32::from(is_spilled);
        out.depths.push(
            lanes
                .as_mut()
                .map_or(below, |lanes| lanes.take(below, span)),
        );
        out.parents.push(parent.unwrap_or(NO_PARENT));
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
    /// Takes the first lane at or below `from` that is free at the start, until the end.
    fn take(&mut self, from: u32, (start, end): (i64, i64)) -> u32 {
        let lane = self.first_free(from, start);
        self.occupy(lane, end);
        lane
    }

    /// The first lane at or below `from` that is free at `start`.
    fn first_free(&self, from: u32, start: i64) -> u32 {
        if from >= self.leaves {
            return from;
        }
        let leaf = from + self.leaves;
        if self.taken_until[leaf as usize] <= start {
            return from;
        }
        let mut node = leaf;
        // Climb until a right sibling holds a free lane, then descend to its first.
        loop {
            if node == 1 {
                return self.leaves;
            }
            if node.is_multiple_of(2) && self.taken_until[node as usize + 1] <= start {
                node += 1;
                break;
            }
            node /= 2;
        }
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

/// Parents and covered times (see [`Nesting`]) on another clock, by position.
///
/// Real captures map a few device spans badly onto the timeline (on v6e by 200 ms, so that serial ops seem to overlap),
/// but the device clock keeps them apart. Lanes follow the timeline, which is what is drawn; parents, and with them
/// self time, follow the clock that timed the ops.
pub(crate) fn parents_by(starts: &[i64], durs: &[i64]) -> (Vec<u32>, Vec<i64>) {
    let span = |position: usize| {
        (
            starts[position],
            starts[position].saturating_add(durs[position]),
        )
    };
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
    let (by_rank, covered_by_rank) =
        parents_in_order(sorted.iter().map(|&position| span(position as usize)));
    let (mut parents, mut covered) = (vec![NO_PARENT; starts.len()], vec![0; starts.len()]);
    for (&position, (&parent, &time)) in sorted.iter().zip(by_rank.iter().zip(&covered_by_rank)) {
        covered[position as usize] = time;
        if parent != NO_PARENT {
            parents[position as usize] = sorted[parent as usize];
        }
    }
    (parents, covered)
}

/// The parents and covered times that [`nest`] finds, without lanes.
fn parents_in_order(spans: impl ExactSizeIterator<Item = (i64, i64)>) -> (Vec<u32>, Vec<i64>) {
    let (mut open, mut covered) = (OpenSlices::default(), Vec::with_capacity(spans.len()));
    let parent = |span: (i64, i64)| {
        open.end_until(span.0);
        open.add(span, &mut covered).unwrap_or(NO_PARENT)
    };
    (spans.map(parent).collect(), covered)
}

/// The rows of a track's slices in the slice table.
pub(crate) struct TrackRows {
    /// Slices of each depth.
    pub lane_lens: Vec<u32>,
    /// The mapping between rows and positions, if they differ because there are several lanes.
    pub moved: Option<Moved>,
}

/// The mapping between rows and positions.
pub(crate) struct Moved {
    /// Row of each position.
    pub row_of: Vec<u32>,
    /// Position of each row.
    pub by_row: Vec<u32>,
}

/// Assigns rows by depth, then by position, which is time order.
pub(crate) fn rows_by_depth(depths: &[u32]) -> TrackRows {
    let lanes = depths
        .iter()
        .max()
        .map_or(0, |&deepest| deepest as usize + 1);
    let mut lane_lens = vec![0_u32; lanes];
    for &depth in depths {
        lane_lens[depth as usize] += 1;
    }
    if lanes <= 1 {
        return TrackRows {
            lane_lens,
            moved: None,
        };
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
    TrackRows {
        lane_lens,
        moved: Some(Moved { row_of, by_row }),
    }
}

/// Sorted rows `(parent, child)` of every slice that has a parent. Without `row_of`, rows equal positions.
pub(crate) fn children_in_rows(parents: &[u32], row_of: Option<&[u32]>) -> Vec<(u32, u32)> {
    let row = |position: u32| row_of.map_or(position, |rows| rows[position as usize]);
    let with_parent = (0..)
        .zip(parents)
        .filter(|&(_, &parent)| parent != NO_PARENT);
    let mut pairs: Vec<_> = with_parent
        .map(|(position, &parent)| (row(parent), row(position)))
        .collect();
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
    fn partial_overlap_spills_and_keeps_its_own_children() {
        let nesting = nest([(0, 100), (10, 40), (30, 60), (50, 55)].into_iter(), false);
        assert_eq!(nesting.depths, [0, 1, 2, 3]);
        assert_eq!(nesting.parents, [NO_PARENT, 0, 0, 2]);
        let nesting = nest([(0, 50), (30, 60), (52, 55)].into_iter(), false);
        assert_eq!(nesting.depths, [0, 1, 2]);
        assert_eq!(nesting.parents, [NO_PARENT, NO_PARENT, 1]);
        assert_eq!(nesting.spilled, [1]);
    }

    #[test]
    fn time_belongs_to_the_slice_that_began_last() {
        let covered = |spans: &[(i64, i64)]| nest(spans.iter().copied(), false).covered;
        assert_eq!(
            covered(&[(0, 100), (10, 40), (50, 90), (55, 60)]),
            [70, 0, 5, 0]
        );
        // The last child ends after its parent, by rounding.
        assert_eq!(covered(&[(0, 16), (2, 6), (8, 17)]), [12, 0, 0]);
        // Children overlap each other, one overlaps what follows its parent.
        assert_eq!(
            covered(&[(0, 100), (10, 40), (30, 60), (50, 55), (90, 120)]),
            [60, 10, 5, 0, 0]
        );
        assert_eq!(covered(&[(0, 10), (5, 20), (8, 9), (15, 30)]), [5, 6, 0, 0]);
        assert_eq!(
            nest([(0, 10), (5, 20)].into_iter(), true).covered,
            [0, 0],
            "asynchronous spans run side by side"
        );
    }

    #[test]
    fn neighbours_that_overlap_by_rounding_need_few_lanes() {
        let nesting = nest(
            (0..1_000)
                .flat_map(|i| [(i * 10, i * 10 + 11), (i * 10 + 2, i * 10 + 9)])
                .collect::<Vec<_>>()
                .into_iter(),
            false,
        );
        assert_eq!(nesting.depths.iter().max(), Some(&3));
        assert!(
            nesting
                .parents
                .chunks(2)
                .zip((0..).step_by(2))
                .all(|(pair, at)| pair == [NO_PARENT, at])
        );
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
        let (timeline, device) = (
            [(0, 100), (50, 120), (60, 70)],
            [(0, 50), (50, 120), (60, 70)],
        );
        let lanes = nest(timeline.into_iter(), false);
        assert_eq!(
            (lanes.depths, lanes.parents),
            (vec![0, 1, 2], vec![NO_PARENT, NO_PARENT, 1])
        );
        let by_device = |spans: [(i64, i64); 3]| {
            parents_by(&spans.map(|(a, _)| a), &spans.map(|(a, b)| b - a)).0
        };
        assert_eq!(by_device(device), [NO_PARENT, NO_PARENT, 1]);
        assert_eq!(
            by_device([(0, 50), (10, 20), (60, 70)]),
            [NO_PARENT, 0, NO_PARENT]
        );
        // The order on the device clock can differ from that on the timeline.
        assert_eq!(
            by_device([(10, 20), (0, 50), (60, 70)]),
            [1, NO_PARENT, NO_PARENT]
        );
    }

    #[test]
    fn async_spans_fill_the_first_free_lane() {
        assert_eq!(
            depths(&[(0, 10), (2, 8), (4, 20), (8, 9), (10, 12)], true),
            [0, 1, 2, 1, 0]
        );
    }

    #[test]
    fn ten_thousand_overlapping_slices_take_ten_thousand_lanes_quickly() {
        let spans: Vec<_> = (0..10_000).map(|i| (i, 100_000 + i)).collect();
        let nesting = nest(spans.iter().copied(), false);
        assert_eq!(nesting.depths.last(), Some(&9_999));
        assert_eq!(nesting.spilled.len(), 9_999);
    }
}
