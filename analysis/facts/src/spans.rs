//! Time spans of tracks.

use engine::Context;
use engine::{Fact, OnceMap, Scope};
use trace_model::{SliceSpans, TimeRange, TrackId};

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
    let whole = cx.scoped(Scope::WholeTrace);
    cx.fact::<TrackSpans>().0.get(track, || {
        let mut spans = TrackExtent::default();
        // A track has a device clock for all of its slices or for none.
        let is_timed = cx
            .model
            .slices_on(track)
            .next()
            .is_some_and(|slice| slice.device_range().is_some());
        for SliceSpans {
            shown, measured, ..
        } in whole.watched(cx.model.spans_on(track))
        {
            spans.range = hull(spans.range, Some(shown));
            let by_clock = if is_timed {
                &mut spans.timed
            } else {
                &mut spans.untimed
            };
            *by_clock = hull(*by_clock, Some(measured));
        }
        spans
    })
}

impl TrackExtent {
    /// The smallest span that contains both.
    pub fn hull(self, other: Self) -> Self {
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
