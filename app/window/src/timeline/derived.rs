//! What a pointer does on the slices of derived tracks.

use crate::prelude::*;
use trace_model::short_device_name;

use super::tooltip;
use crate::times::time;
use view::state::DerivedTrack;
use view::timeline::derived::DerivedHit;

/// The name of a slice, for a heading.
fn name<'a>(trace: &'a OpenTrace, hit: &DerivedHit) -> &'a str {
    let data = trace.tree.derived(hit.track);
    data.and_then(|data| data.name(&hit.slice))
        .map_or("", |name| &name.whole)
}

/// What its time is.
fn about_time(trace: &OpenTrace, hit: &DerivedHit) -> String {
    let time_of_hit = time(hit.slice.time);
    match hit.track {
        DerivedTrack::CriticalPath => format!("{time_of_hit} of the critical path"),
        DerivedTrack::Scopes(core) | DerivedTrack::Sources(core) => {
            let device = trace.model.device_name(core);
            let device = short_device_name(&device);
            let whole = time(hit.slice.range.dur());
            format!(
                "{time_of_hit}: self time of its ops on {device} that follow each other; they are drawn over {whole}"
            )
        }
        DerivedTrack::Query(_) => time_of_hit,
    }
}

/// A click selects the op of a piece of the critical path, and marks the time of anything else.
pub(super) fn clicked(trace: &OpenTrace, hit: &DerivedHit) -> ViewCommand {
    if let (DerivedTrack::CriticalPath, Some(slice)) = (hit.track, hit.slice.slice) {
        return ViewCommand::Select(slice);
    }
    let tracks: BTreeSet<TrackId> = match hit.track {
        DerivedTrack::Scopes(core) | DerivedTrack::Sources(core) => {
            trace.model.tracks_of_kind(core, TrackKind::Ops).collect()
        }
        DerivedTrack::CriticalPath | DerivedTrack::Query(_) => BTreeSet::new(),
    };
    let note = format!("{}: {}.", name(trace, hit), about_time(trace, hit));
    ViewCommand::MarkAs(hit.slice.range, tracks, note)
}

/// The slice below the pointer, or the longest of several.
pub(super) fn tooltip_ui(ui: &Ui, trace: &OpenTrace, hit: &DerivedHit) {
    tooltip::show(ui, "derived slice", |ui| {
        if hit.count > 1 {
            let slices = counted(u64::from(hit.count), "slice");
            ui.weak(format!("{slices} too short to be told apart; the longest:"));
        }
        ui.strong(name(trace, hit));
        ui.label(about_time(trace, hit));
        if hit.track == DerivedTrack::CriticalPath
            && let Some(step) = trace
                .tree
                .derived(hit.track)
                .and_then(|data| data.paths.at(hit.slice.range.start))
        {
            let (number, length) = (step.number, time(step.length));
            ui.weak(format!("step {number} takes {length}"));
        }
        let start = time(hit.slice.range.start.since_origin());
        ui.weak(format!("at {start}"));
    });
}

/// The note of a derived track at a row without a slice.
pub(super) fn note_ui(ui: &Ui, trace: &OpenTrace, node: usize) {
    let node = trace.tree.node(node);
    if !matches!(node.item, TreeItem::Derived(_)) || node.note.is_empty() {
        return;
    }
    tooltip::show(ui, "derived track", |ui| {
        ui.strong(&node.title);
        ui.label(&node.note);
    });
}
