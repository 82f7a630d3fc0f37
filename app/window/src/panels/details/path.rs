//! The critical path of the step of the selected slice, once its row is shown.

use crate::panels::prelude::*;

use super::rows::section;
use crate::panels::widgets::{value_grid, value_row};
use view::state::DerivedTrack;
use view::timeline::derived::PathOfStep;

/// The critical path of the step of a slice, and the time of the slice on it.
type PathOfSlice<'a> = (&'a PathOfStep, Picos);

/// The critical path of the step of a slice, if it is known.
pub(super) fn path_of<'a>(trace: &'a OpenTrace, slice: SliceRef<'_>) -> Option<PathOfSlice<'a>> {
    trace
        .tree
        .derived(DerivedTrack::CriticalPath)?
        .paths
        .of(slice, slice.track_ref().group)
}

/// What the step waits for by kind, and how much of it is this slice.
pub(super) fn path_ui(ui: &mut Ui, path: Option<PathOfSlice<'_>>) {
    let Some((step, time_on_path)) = path else {
        return;
    };
    section(ui, "Critical path of its step");
    let share = |part: Picos| {
        let percent = Percent::of(part, step.length);
        let percent = percent.map_or_else(String::new, |percent| format!(" ({percent:.1})"));
        format!("{}{percent}", time(part))
    };
    value_grid(ui, "critical path", |ui| {
        let shown_share = if time_on_path > Picos::ZERO {
            share(time_on_path)
        } else {
            "not on it".to_owned()
        };
        let about = format!("of step {}, which takes {}", step.number, time(step.length));
        value_row(ui, "This slice", shown_share, &about);
        for &(what, part) in &step.kinds {
            value_row(ui, &what.title(), share(part), &about);
        }
    });
}
