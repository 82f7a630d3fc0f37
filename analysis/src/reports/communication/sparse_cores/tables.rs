//! The `SparseCore` report as tables.

use super::SparseCoresReport;
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

fn column(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Measured }
}

fn text(value: Option<&String>) -> Cell {
    value.map_or(Cell::Missing, Cell::text)
}

fn time(value: Option<i64>) -> Cell {
    value.map_or(Cell::Missing, Cell::Int)
}

impl Tabular for SparseCoresReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.core_table()];
        if !self.offloads.is_empty() {
            tables.push(self.offload_table());
        }
        if !self.ops.is_empty() {
            tables.push(self.op_table());
        }
        tables
    }
}

impl SparseCoresReport {
    fn core_table(&self) -> Table {
        let columns = vec![
            column("core", "SparseCore", Unit::None),
            column("busy_ps", "Busy", Unit::Picoseconds),
            column("busy_percent", "of window", Unit::Percent),
            column("programs", "Programs", Unit::Count),
            column("program_ps", "Program time", Unit::Picoseconds),
            column("steps", "Steps", Unit::Count),
            column("step_mean_ps", "Mean step", Unit::Picoseconds),
            column("window_ps", "Window", Unit::Picoseconds),
            column("device", "Device", Unit::None),
        ];
        let rows = self.cores.iter().map(|core| {
            vec![
                Cell::text(&core.core),
                time(core.busy_ps),
                Cell::maybe(core.busy_percent),
                Cell::count(core.programs),
                Cell::Int(core.program_ps),
                Cell::count(core.steps),
                Cell::maybe(core.step_mean_ps),
                Cell::Int(core.window_ps),
                Cell::text(&core.device),
            ]
        });
        let mut notes = vec!["of window: of the window of the device that the SparseCore belongs to".to_owned()];
        if self.offloads.is_empty() {
            notes.push("no op that hands work to a SparseCore was recorded".to_owned());
        }
        Table { id: "sparse_cores", title: "SparseCores".to_owned(), columns, rows: rows.collect(), notes }
    }

    fn offload_table(&self) -> Table {
        let columns = vec![
            column("op", "Handed over by", Unit::None),
            column("waited_ps", "Waited", Unit::Picoseconds),
            column("sparse_ps", "SparseCore work", Unit::Picoseconds),
            column("hidden_percent", "hidden", Unit::Percent),
            column("hidden_ps", "Hidden", Unit::Picoseconds),
            column("in_flight_ps", "In flight", Unit::Picoseconds),
            column("occurrences", "Runs", Unit::Count),
            column("runs", "SparseCore program", Unit::None),
            column("program", "Program", Unit::None),
        ];
        let rows = self.offloads.iter().map(|offload| {
            vec![
                Cell::text(&offload.op),
                time(offload.waited_ps),
                Cell::Int(offload.sparse_ps),
                Cell::maybe(offload.hidden_percent),
                Cell::Int(offload.hidden_ps),
                Cell::Int(offload.in_flight_ps),
                Cell::count(offload.occurrences),
                Cell::text(offload.runs.join(", ")),
                text(offload.program.as_ref()),
            ]
        });
        let mut notes = vec![
            "hidden: of the SparseCore's work, while the TensorCore computed; waited: self time of done ops".to_owned(),
        ];
        if self.unmatched > 0 {
            notes.push(format!("the work of {} starts was not found on any SparseCore", self.unmatched));
        }
        Table { id: "offloads", title: "Work handed to SparseCores".to_owned(), columns, rows: rows.collect(), notes }
    }

    fn op_table(&self) -> Table {
        let columns = vec![
            column("op", "Op", Unit::None),
            column("self_ps", "Self time", Unit::Picoseconds),
            column("self_percent", "of op time", Unit::Percent),
            column("occurrences", "Runs", Unit::Count),
            column("time_ps", "Total time", Unit::Picoseconds),
            column("category", "Category", Unit::None),
            column("program", "Program", Unit::None),
        ];
        let rows = self.ops.iter().map(|op| {
            vec![
                Cell::text(&op.op),
                Cell::Int(op.self_ps),
                Cell::maybe(op.self_percent),
                Cell::count(op.occurrences),
                Cell::Int(op.time_ps),
                text(op.category.as_ref()),
                text(op.program.as_ref()),
            ]
        });
        Table {
            id: "sparse_core_ops",
            title: "Ops on SparseCores".to_owned(),
            columns,
            rows: rows.collect(),
            notes: vec!["of op time: of the self time of all ops on SparseCores".to_owned()],
        }
    }
}
