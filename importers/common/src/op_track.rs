//! The track of a line of a core.

use trace_model::{GroupId, IssueKind, TraceBuilder, TrackId, TrackKind};

/// The track for the line `name` of a core. All lines of ops of one core share a track: analyses read one for each
/// core, as a core runs one op at a time. Where ops of two lines overlap, each instant counts once.
pub fn track_of_line(
    builder: &mut TraceBuilder,
    group: GroupId,
    kind: TrackKind,
    id: i64,
    name: &str,
) -> TrackId {
    if let Some(track) = builder.op_track(group).filter(|_| kind == TrackKind::Ops) {
        let first = builder.track_ref(track);
        if first.external_id == id && builder.str(first.name) == name {
            return track;
        }
        let place = format!(
            "line {id} {name:?} of {:?}",
            builder.str(builder.groups()[group.index()].name)
        );
        builder.log(IssueKind::ChunksMerged, || {
            format!("{place}: more ops of the core")
        });
        return track;
    }
    builder.track(group, kind, id, name)
}
