//! Search results as a table.

use crate::prelude::*;

/// One row per slice: start, duration, name and track.
pub fn table(model: &TraceModel, slices: impl Iterator<Item = SliceId>) -> Table {
    let groups: Vec<String> = model
        .group_ids()
        .map(|group| model.device_name(group))
        .collect();
    Table::of(
        "found",
        "What was found",
        slices.map(|slice| model.slice(slice)),
    )
    .measured("start_ps", "Time", Unit::Picoseconds, |slice| {
        slice.start().ps()
    })
    .measured("time_ps", "Duration", Unit::Picoseconds, |slice| {
        measured_range(slice, model).dur().ps()
    })
    .recorded("name", "Name", Unit::None, SliceRef::name)
    .recorded("track", "Track", Unit::None, |slice| {
        model.str(slice.track_ref().name)
    })
    .recorded("group", "Of", Unit::None, |slice| {
        groups.get(slice.track_ref().group.index())
    })
    .build()
}
