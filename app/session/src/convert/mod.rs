//! The timeline in formats of other viewers: Chrome's trace events as JSON, and Perfetto's protobuf. Both include
//! steps, categories, flows and counters.

pub mod chrome_json;
mod packets;
pub mod perfetto;

use analysis::{OpGroup, Scope, TraceFacts as _};
use trace_model::{GroupId, SliceRef, TimeRange, TraceModel, TrackId};

use crate::open::Session;

/// Steps of a core or host: its group, and the spans with their numbers.
struct StepTrack {
    group: GroupId,
    spans: Vec<(TimeRange, u32)>,
}

/// The steps of each core or host; none where the capture has no steps.
fn step_tracks(session: &Session) -> Vec<StepTrack> {
    let context = session.context(Scope::WholeTrace);
    let report = context.steps();
    let mut tracks: Vec<StepTrack> = Vec::new();
    for step in report.steps.iter().filter(|_| report.has_steps()) {
        for span in &step.spans {
            let spans = (span.range, step.number);
            match tracks.iter_mut().find(|track| track.group == span.group) {
                Some(track) => track.spans.push(spans),
                None => tracks.push(StepTrack {
                    group: span.group,
                    spans: vec![spans],
                }),
            }
        }
    }
    tracks
}

/// Kind of work of a slice's op; `None` for other slices.
fn category(session: &Session, slice: SliceRef<'_>) -> Option<OpGroup> {
    slice
        .op()
        .map(|op| session.context(Scope::WholeTrace).classes().class(op).group)
}

/// Whether slices of a track overlap without being nested: for such slices, viewers draw one track per lane.
fn overlaps(model: &TraceModel, track: TrackId) -> bool {
    model.lanes(track).iter().any(|lane| {
        model.slices_of(lane).any(|slice| match slice.parent() {
            None => lane.depth > 0,
            Some(parent) => {
                parent.depth() + 1 != lane.depth || !parent.range().encloses(slice.range())
            }
        })
    })
}

/// What is added to all times so that none is negative: other formats count from 0.
fn shift_ps(model: &TraceModel) -> i64 {
    model.extent().start.ps().min(0).saturating_neg()
}
