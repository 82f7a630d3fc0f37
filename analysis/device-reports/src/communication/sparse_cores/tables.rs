//! The tables of the `SparseCore` report.

use engine::{Table, Tabular};
use facts::sum_over::ARE_SUMS;
use math::unit::Unit;

use super::SparseCoresReport;

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
        let mut notes = vec![
            "of window: of the window of the device that the SparseCore belongs to".to_owned(),
        ];
        if self.offloads.is_empty() {
            notes.push("no op that hands work to a SparseCore was recorded".to_owned());
        }
        Table::of("sparse_cores", "SparseCores", &self.cores)
            .measured("core", "SparseCore", Unit::None, |core| &core.core)
            .measured("busy_ps", "Busy", Unit::Picoseconds, |core| core.busy_ps)
            .measured("busy_percent", "of window", Unit::Percent, |core| {
                core.busy_percent
            })
            .measured("programs", "Programs", Unit::Count, |core| core.programs)
            .measured("program_ps", "Program time", Unit::Picoseconds, |core| {
                core.program_ps
            })
            .measured("steps", "Steps", Unit::Count, |core| core.steps)
            .measured("step_mean_ps", "Mean step", Unit::Picoseconds, |core| {
                core.step_mean_ps
            })
            .measured("window_ps", "Window", Unit::Picoseconds, |core| {
                core.window_ps
            })
            .measured("device", "Device", Unit::None, |core| &core.device)
            .notes(notes)
            .build()
    }

    fn offload_table(&self) -> Table {
        let mut notes = vec![
            "hidden: of the SparseCore's work, while the TensorCore computed; waited: self time of done ops".to_owned(),
        ];
        notes.push(ARE_SUMS.to_owned());
        if self.unmatched > 0 {
            notes.push(format!(
                "the work of {} starts was not found on any SparseCore",
                self.unmatched
            ));
        }
        Table::of("offloads", "Work handed to SparseCores", &self.offloads)
            .measured("op", "Handed over by", Unit::None, |offload| &offload.op)
            .measured("waited_ps", "Waited", Unit::Picoseconds, |offload| {
                offload.waited_ps
            })
            .measured(
                "sparse_ps",
                "SparseCore work",
                Unit::Picoseconds,
                |offload| offload.sparse_ps,
            )
            .measured("hidden_percent", "hidden", Unit::Percent, |offload| {
                offload.hidden_percent
            })
            .measured("hidden_ps", "Hidden", Unit::Picoseconds, |offload| {
                offload.hidden_ps
            })
            .measured("in_flight_ps", "In flight", Unit::Picoseconds, |offload| {
                offload.in_flight_ps
            })
            .measured("occurrences", "Runs", Unit::Count, |offload| {
                offload.occurrences
            })
            .measured("runs", "SparseCore program", Unit::None, |offload| {
                offload.runs.join(", ")
            })
            .measured("program", "Program", Unit::None, |offload| &offload.program)
            .notes(notes)
            .build()
    }

    fn op_table(&self) -> Table {
        Table::of("sparse_core_ops", "Ops on SparseCores", &self.ops)
            .measured("op", "Op", Unit::None, |op| &op.op)
            .measured("self_ps", "Self time", Unit::Picoseconds, |op| op.self_ps)
            .measured("self_percent", "of op time", Unit::Percent, |op| {
                op.self_percent
            })
            .measured("occurrences", "Runs", Unit::Count, |op| op.occurrences)
            .measured("time_ps", "Total time", Unit::Picoseconds, |op| op.time_ps)
            .measured("category", "Category", Unit::None, |op| &op.category)
            .measured("program", "Program", Unit::None, |op| &op.program)
            .note(ARE_SUMS)
            .note("of op time: of the self time of all ops on SparseCores")
            .build()
    }
}
