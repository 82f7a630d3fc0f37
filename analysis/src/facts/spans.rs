//! Time spans of tracks.

use trace_model::{TimeRange, TrackId};

use crate::engine::Context;
use crate::engine::{Fact, OnceMap};

/// From the first slice of a track to the end of the last.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct TrackExtent {
    /// On the timeline.
    pub range: Option<TimeRange>,
    /// The slices with a span on the device clock, on that clock.
    pub timed: Option<TimeRange>,
    /// The other slices, on the timeline.
    pub untimed: Option<TimeRange>,
}

/// The [`TrackExtent`] of tracks.
struct TrackSpans(OnceMap<TrackId, TrackExtent>);

impl Fact for TrackSpans {
    fn find(_cx: &Context<'_>) -> Self {
        Self(OnceMap::default())
    }
}

pub(crate) fn spans(cx: &Context<'_>, track: TrackId) -> TrackExtent {
    cx.fact::<TrackSpans>().0.get(track, || {
        let mut spans = TrackExtent::default();
        for slice in cx.model.slices_on(track) {
            let shown = slice.range();
            spans.range = hull(spans.range, Some(shown));
            match slice.device_range() {
                Some(device) => spans.timed = hull(spans.timed, Some(device)),
                None => spans.untimed = hull(spans.untimed, Some(shown)),
            }
        }
        spans
    })
}

impl TrackExtent {
    /// The smallest span that contains both.
    pub(crate) fn hull(self, other: Self) -> Self {
        Self {
            range: hull(self.range, other.range),
            timed: hull(self.timed, other.timed),
            untimed: hull(self.untimed, other.untimed),
        }
    }
}

fn hull(a: Option<TimeRange>, b: Option<TimeRange>) -> Option<TimeRange> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.hull(b)),
        (a, b) => a.or(b),
    }
}
