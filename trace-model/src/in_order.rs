//! The slices of all lanes of a track as one sequence, without a copy of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::{SliceId, SliceRef, Timestamp, TraceModel, TrackId};

/// What comes next of a lane: by start, the longer one first, of equal ones that of the upper lane.
type Next = Reverse<(Timestamp, Reverse<Timestamp>, SliceId)>;

impl TraceModel {
    /// Slices of a track as they begin, each before those inside of it. In
    /// `O(n log lanes)`; [`TraceModel::slices_on`] is for those who need no order.
    pub fn slices_in_order(&self, track: TrackId) -> impl Iterator<Item = SliceRef<'_>> {
        let lanes = self.lanes(track);
        // With the row behind the last of its lane.
        let firsts = lanes.iter().filter(|lane| !lane.is_empty());
        let mut heap: BinaryHeap<(Next, u32)> =
            firsts.map(|lane| (self.next(SliceId(lane.rows.start)), lane.rows.end)).collect();
        std::iter::from_fn(move || {
            let mut top = heap.peek_mut()?;
            let (Reverse((.., found)), end) = *top;
            if found.0 + 1 < end {
                top.0 = self.next(SliceId(found.0 + 1));
            } else {
                PeekMut::pop(top);
            }
            Some(self.slice(found))
        })
    }

    fn next(&self, id: SliceId) -> Next {
        let range = self.slice(id).range();
        Reverse((range.start, Reverse(range.end), id))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::{GroupKind, SliceRef, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    proptest! {
        #[test]
        fn every_slice_comes_once_and_before_what_is_inside(spans in prop::collection::vec((0_i64..50, 1_i64..20), 0..40)) {
            let mut builder = TraceBuilder::new();
            let host = builder.group(None, GroupKind::Host, "host");
            let track = builder.track(host, TrackKind::HostThread, 1, "thread");
            let label = builder.label("x", None);
            for &(start, len) in &spans {
                let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(start + len));
                builder.add_slice(track, SliceSpec::new(range, label));
            }
            let model = builder.finish();
            let found: Vec<_> = model.slices_in_order(track).map(SliceRef::id).collect();
            let mut expected: Vec<_> = model.slices_on(track).map(SliceRef::id).collect();
            expected.sort_by_key(|&id| {
                let range = model.slice(id).range();
                (range.start, std::cmp::Reverse(range.end), id)
            });
            prop_assert_eq!(found, expected);
        }
    }
}
