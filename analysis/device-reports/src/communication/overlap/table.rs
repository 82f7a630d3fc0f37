//! The tables of the overlap report.

use facts::prelude::*;

use super::report::OverlapReport;

/// Titles of exposed time in a step, and on a device.
const EXPOSED: [&str; 2] = ["Exposed a step", "Exposed a device"];

impl Tabular for OverlapReport {
    fn tables(&self) -> Vec<Table> {
        vec![
            self.cores_table(),
            self.kinds_table(),
            self.transfers_table(),
        ]
    }
}

impl OverlapReport {
    fn cores_table(&self) -> Table {
        Table::of("overlap", "Communication by device", &self.cores)
            .remaining()
            .note("Fused collectives count as exposed; they may overlap internally.")
            .build()
    }

    fn kinds_table(&self) -> Table {
        Table::of(
            "transfer_kinds",
            "Communication and transfers by pattern",
            &self.kinds,
        )
        .declared(["kind", "ops", "occurrences"])
        .derived(
            "exposed_each_ps",
            self.sums_over.title(EXPOSED),
            Unit::Picoseconds,
            |kind| self.sums_over.each_ps(kind.exposed_ps),
        )
        .remaining()
        .note(self.note())
        .note("What a device has in flight at the same time counts once in the row of its kind.")
        .build()
    }

    fn transfers_table(&self) -> Table {
        Table::of(
            "transfers",
            "Collectives and asynchronous transfers",
            &self.transfers,
        )
        .declared(["kind", "op", "program", "occurrences"])
        .derived(
            "exposed_each_ps",
            self.sums_over.title(EXPOSED),
            Unit::Picoseconds,
            |transfer| self.sums_over.each_ps(transfer.exposed_ps),
        )
        .remaining()
        .note(self.note())
        .build()
    }

    fn note(&self) -> String {
        format!("{}, and so are other times", self.sums_over.note())
    }
}
