//! The track of a line of a core.

use trace_model::{GroupId, IssueKind, TraceBuilder, TrackId, TrackKind};

/// The track for the line `name` of a core. All lines of ops of one core share a track: analyses read one for each
/// core, as a core runs one op at a time. Where ops of two lines overlap, each instant counts once.
pub(crate) fn track_of_line(
    builder: &mut TraceBuilder,
    group: GroupId,
    kind: TrackKind,
    id: i64,
    name: &str,
) -> TrackId {
    let first = builder.tracks_in(group).find(|(_, track)| track.kind == TrackKind::Ops);
    if let Some((track, first)) = first.filter(|_| kind == TrackKind::Ops)
        && (first.external_id != id || builder.str(first.name) != name)
    {
        let place = format!("line {id} {name:?} of {:?}", builder.str(builder.groups()[group.index()].name));
        builder.log(IssueKind::ChunksMerged, || format!("{place}: more ops of the core"));
        return track;
    }
    builder.track(group, kind, id, name)
}
