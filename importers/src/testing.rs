//! Helpers for the tests of several importers.

use trace_model::{SliceRef, TraceModel};

/// `name begin-end`, in ns, of the slices of a track.
pub(crate) fn slices(model: &TraceModel, track: &str) -> Vec<String> {
    let of_track = |slice: &SliceRef<'_>| model.str(model.track(slice.track()).name) == track;
    let text = |slice: SliceRef<'_>| {
        let range = slice.range();
        format!("{} {}-{}", slice.name(), range.start.ps() / 1000, range.end.ps() / 1000)
    };
    model.all_slices().filter(of_track).map(text).collect()
}
