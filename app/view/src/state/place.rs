//! The visible place, and its neighbours.

use crate::prelude::*;

use crate::viewport::Viewport;

/// The visible place, the selection and the mark: what undo restores.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ViewPlace {
    /// Visible part of the time axis.
    pub time: Viewport,
    /// Scroll position in points.
    pub scroll: f32,
    /// The selected slice.
    pub selection: Option<SliceId>,
    /// The marked range.
    pub mark: Option<TimeRange>,
}

/// A neighbour of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Neighbour {
    /// The previous one in its lane.
    Previous,
    /// The next one in its lane.
    Next,
    /// The previous one of the same name on its track.
    PreviousOfName,
    /// The next one of the same name on its track.
    NextOfName,
    Parent,
    /// The first child slice.
    Child,
}

/// The time range to show first: that in which devices run ops, if it is a small part of the trace; else the whole
/// trace.
pub fn first_view(model: &TraceModel) -> Viewport {
    /// Share of the trace.
    const LITTLE: f64 = 0.5;
    let extent = model.extent();
    let of_devices = device_activity(model)
        .filter(|range| range.dur().as_ps_f64() <= LITTLE * extent.dur().as_ps_f64());
    Viewport::fit(of_devices.unwrap_or(extent))
}

/// From the first op, or kernel of a GPU, to the end of the last one, on any device.
fn device_activity(model: &TraceModel) -> Option<TimeRange> {
    let is_of_ops = |kind| matches!(kind, TrackKind::Ops | TrackKind::Stream);
    let tracks = model
        .track_ids()
        .filter(|&track| is_of_ops(model.track(track).kind));
    // Slices of a lane follow each other.
    let ranges = tracks.filter_map(|track| {
        let rows = model.lane_rows(model.lanes(track).first()?);
        let range = |row| model.slice(SliceId::from_index(row)).range();
        Some(TimeRange::new(
            range(rows.start).start,
            range(rows.end.checked_sub(1)?).end,
        ))
    });
    ranges
        .reduce(|a, b| TimeRange::new(a.start.min(b.start), a.end.max(b.end)))
        .filter(|range| !range.is_empty())
}

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
