//! The tables of the `SparseCore` report.

use facts::ARE_SUMS;
use facts::prelude::*;

use super::SparseCoresReport;

impl Tabular for SparseCoresReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.core_table()];
        tables.extend(Table::filled([self.offload_table(), self.op_table()]));
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
            .remaining()
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
            .remaining()
            .notes(notes)
            .build()
    }

    fn op_table(&self) -> Table {
        Table::of("sparse_core_ops", "Ops on SparseCores", &self.ops)
            .remaining()
            .note(ARE_SUMS)
            .note("of op time: of the self time of all ops on SparseCores")
            .build()
    }
}
