//! What was found, as a table to be taken elsewhere.

use analysis::{Cell, Column, Provenance, Table, Unit, measured_range};
use trace_model::{SliceId, TraceModel};

/// A row for each slice: when, how long, what and where.
pub fn table(model: &TraceModel, slices: impl Iterator<Item = SliceId>) -> Table {
    let column = |id, title, unit, provenance| Column { id, title, unit, provenance };
    let groups: Vec<String> = model.group_ids().map(|group| model.device_name(group)).collect();
    let row = |slice: SliceId| {
        let slice = model.slice(slice);
        let track = model.track(slice.track());
        vec![
            Cell::Int(slice.start().ps()),
            Cell::time(measured_range(slice, model).dur()),
            Cell::text(slice.name()),
            Cell::text(model.str(track.name)),
            groups.get(track.group.index()).map_or(Cell::Missing, Cell::text),
        ]
    };
    Table {
        id: "found",
        title: "What was found".to_owned(),
        columns: vec![
            column("start_ps", "Time", Unit::Picoseconds, Provenance::Measured),
            column("time_ps", "Duration", Unit::Picoseconds, Provenance::Measured),
            column("name", "Name", Unit::None, Provenance::Profile),
            column("track", "Track", Unit::None, Provenance::Profile),
            column("group", "Of", Unit::None, Provenance::Profile),
        ],
        rows: slices.map(row).collect(),
        notes: Vec::new(),
    }
}
