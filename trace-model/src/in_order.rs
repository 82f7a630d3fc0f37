//! The slices of all lanes of a track as one sequence, without a copy of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::{Lane, SliceId, SliceRef, TimeRange, Timestamp, TraceColumns, TrackId};

/// The next slice of a lane: ordered by start, longer slices first, then upper lanes first.
type NextSlice = Reverse<(Timestamp, Reverse<Timestamp>, SliceId)>;

impl TraceColumns {
    /// Slices of a track, with their spans, that end after `from` or start at or after it, ordered by start, parents
    /// before children. Takes `O(n log lanes)`; [`TraceColumns::slices_on`] is for callers that need no order.
    pub fn slices_in_order(
        &self,
        track: TrackId,
        from: Timestamp,
    ) -> impl Iterator<Item = (SliceRef<'_>, TimeRange)> + use<'_> {
        // Each lane with the row after its last one.
        let wanted = self
            .lanes(track)
            .iter()
            .map(|lane| self.first_row(lane, from)..lane.rows.end);
        let mut heap: BinaryHeap<(NextSlice, u32)> = wanted
            .filter(|rows| !rows.is_empty())
            .map(|rows| (self.next(SliceId(rows.start)), rows.end))
            .collect();
        std::iter::from_fn(move || {
            let mut top = heap.peek_mut()?;
            let (Reverse((start, Reverse(end), slice)), behind) = *top;
            if slice.0 + 1 < behind {
                top.0 = self.next(SliceId(slice.0 + 1));
            } else {
                PeekMut::pop(top);
            }
            Some((self.slice(slice), TimeRange::new(start, end)))
        })
    }

    /// The first slice of a lane that ends after `from` or starts at or after it.
    fn first_row(&self, lane: &Lane, from: Timestamp) -> u32 {
        self.rows_overlapping(lane, TimeRange::new(from, from))
            .start
    }

    /// The last time up to `time` at which a slice of a track started or ended; [`Timestamp::MIN`] if there is none. A
    /// reader that starts there needs no earlier slices, because the slices that are open there enclose all that
    /// follow. `None` if slices around `time` overlap without nesting, because then this does not hold.
    pub fn last_change(&self, track: TrackId, time: Timestamp) -> Option<Timestamp> {
        let (mut around, mut below, mut last) = (None, 0, Timestamp::MIN);
        for lane in self.lanes(track) {
            let row = self.first_row(lane, time);
            if row > lane.rows.start {
                last = last.max(self.slice(SliceId(row - 1)).range().end);
            }
            let slice = (row < lane.rows.end).then(|| self.slice(SliceId(row)));
            let Some(slice) = slice.filter(|slice| slice.start() < time) else {
                continue;
            };
            // A slice that is deeper than its parent by more than one overlapped others when it started.
            if slice.parent().map(SliceRef::id) != around || lane.depth > below {
                return None;
            }
            last = last.max(slice.start());
            (around, below) = (Some(slice.id()), lane.depth + 1);
        }
        Some(last)
    }

    fn next(&self, id: SliceId) -> NextSlice {
        let range = self.slice(id).range();
        Reverse((range.start, Reverse(range.end), id))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{
        GroupKind, SliceRef, SliceSpec, TimeRange, Timestamp, TraceBuilder, TraceModel, TrackId,
        TrackKind,
    };

    fn track_of(spans: &[(i64, i64)]) -> (TraceModel, TrackId) {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::HostThread, 1, "thread");
        let label = builder.label("x", None);
        for &(start, len) in spans {
            let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(start + len));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        (builder.finish(), track)
    }

    proptest! {
        #[test]
        fn each_slice_is_visited_once_before_its_children(
            spans in prop::collection::vec((0_i64..50, 0_i64..20), 0..40),
            from in -1_i64..60,
        ) {
            let (model, track) = track_of(&spans);
            let from = Timestamp::from_ps(from);
            let found: Vec<_> = model.slices_in_order(track, from).collect();
            prop_assert!(found.iter().all(|(slice, range)| slice.range() == *range));
            let found: Vec<_> = found.into_iter().map(|(slice, _)| slice.id()).collect();
            let slices = model.slices_on(track).filter(|slice| slice.range().end > from || slice.start() >= from);
            let mut expected: Vec<_> = slices.map(SliceRef::id).collect();
            expected.sort_by_key(|&id| {
                let range = model.slice(id).range();
                (range.start, std::cmp::Reverse(range.end), id)
            });
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn last_change_is_found_in_nested_slices(
            spans in prop::collection::vec((0_i64..50, 1_i64..20), 0..12),
            at in 0_i64..60,
        ) {
            let (model, track) = track_of(&spans);
            let at = Timestamp::from_ps(at);
            let ranges: Vec<TimeRange> = model.slices_on(track).map(SliceRef::range).collect();
            let ends = ranges.iter().map(|range| range.end).filter(|end| *end <= at);
            let starts = ranges.iter().map(|range| range.start).filter(|start| *start < at);
            let last = ends.chain(starts).max().unwrap_or(Timestamp::MIN);
            let nest = |a: &TimeRange, b: &TimeRange| !a.overlaps(*b) || a.encloses(*b) || b.encloses(*a);
            match model.last_change(track, at) {
                Some(found) => prop_assert_eq!(found, last),
                None => prop_assert!(!ranges.iter().all(|a| ranges.iter().all(|b| nest(a, b)))),
            }
        }
    }
}
