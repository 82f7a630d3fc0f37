//! Where keys and rows lead.

use trace_model::{Picos, SliceId, SliceRef, TimeRange, Timestamp, TraceModel};

use super::Neighbour;
use crate::view::viewport::Viewport;

/// The slice in the middle of `span` times its own length.
pub(super) fn focused(model: &TraceModel, slice: SliceId, span: f64) -> Viewport {
    let range = model.slice(slice).range();
    if range.is_empty() {
        // An instant has no length of its own: 1 µs of its surroundings.
        let half = Picos::from_ps(500_000);
        return Viewport::of(TimeRange::new(range.start - half, range.start + half));
    }
    Viewport::of(range).zoomed(1.0 / span, 0.5)
}

pub(super) fn neighbour_of(model: &TraceModel, selected: SliceId, neighbour: Neighbour) -> Option<SliceId> {
    let lane = model.lane_of(selected);
    let rows = model.lane_rows(lane);
    match neighbour {
        Neighbour::Previous => (selected.index() > rows.start).then(|| SliceId::from_index(selected.index() - 1)),
        Neighbour::Next => (selected.index() + 1 < rows.end).then(|| SliceId::from_index(selected.index() + 1)),
        Neighbour::Parent => model.slice(selected).parent().map(SliceRef::id),
        Neighbour::Child => model.slice(selected).children().next().map(SliceRef::id),
    }
}

/// Where stepping starts when nothing is selected: the first slice in sight.
pub(super) fn first_visible(model: &TraceModel, time: &Viewport) -> Option<SliceId> {
    let from: Timestamp = time.start();
    model
        .all_lanes()
        .iter()
        .filter_map(|lane| model.slices_in(lane, time.range()).find(|slice| slice.start() >= from))
        .min_by_key(|slice| (slice.start(), slice.id()))
        .map(SliceRef::id)
}
