//! Time spans of tracks.

use engine::OnceMap;
use engine::prelude::*;

use crate::op_scan::{ExtentSum, TrackExtent, op_scan};

/// The [`TrackExtent`] of tracks.
struct TrackSpans(OnceMap<TrackId, TrackExtent>);

impl Fact for TrackSpans {
    fn find(_cx: &Context<'_>) -> Self {
        Self(OnceMap::default())
    }
}

pub(crate) fn spans(cx: &Context<'_>, track: TrackId) -> TrackExtent {
    let described = cx.model.track(track);
    if described.kind == TrackKind::Ops {
        let scan = op_scan(cx, described.group);
        let extent_of_track = scan.extents.iter().find(|(of, _)| *of == track);
        return extent_of_track
            .map(|&(_, extent)| extent)
            .unwrap_or_default();
    }
    let whole = cx.whole();
    cx.fact::<TrackSpans>().0.get(track, || {
        let mut extent = ExtentSum::default();
        whole
            .watched(cx.model.spans_on(track))
            .for_each(|spans| extent.add(&spans));
        extent.finish(cx, track)
    })
}
