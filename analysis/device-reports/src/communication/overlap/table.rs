//! The tables of the overlap report.

use engine::{Table, Tabular};
use math::unit::Unit;
use trace_model::Picos;

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
            .measured("core", "Device", Unit::None, |core| &core.core)
            .measured("collectives", "Collectives", Unit::Count, |core| {
                core.collectives
            })
            .measured("compute_ps", "Compute", Unit::Picoseconds, |core| {
                core.compute_ps
            })
            .measured(
                "comm_total_ps",
                "Communication",
                Unit::Picoseconds,
                |core| core.comm_total_ps,
            )
            .measured("overlapped_ps", "Hidden", Unit::Picoseconds, |core| {
                core.overlapped_ps
            })
            .measured("exposed_ps", "Exposed", Unit::Picoseconds, |core| {
                core.exposed_ps
            })
            .measured(
                "exposed_blocking_ps",
                "Blocking",
                Unit::Picoseconds,
                |core| core.exposed_blocking_ps,
            )
            .measured(
                "exposed_share_percent",
                "Exposed, of window",
                Unit::Percent,
                |core| core.exposed_share_percent,
            )
            .measured("fused_ps", "Fused", Unit::Picoseconds, |core| core.fused_ps)
            .measured(
                "copy_in_flight_ps",
                "Copies in flight",
                Unit::Picoseconds,
                |core| core.copy_in_flight_ps,
            )
            .measured(
                "copy_hidden_ps",
                "Copies hidden",
                Unit::Picoseconds,
                |core| core.copy_hidden_ps,
            )
            .measured("copy_wait_ps", "Copy wait", Unit::Picoseconds, |core| {
                core.copy_wait_ps
            })
            .note("Fused collectives count as exposed; they may overlap internally.")
            .build()
    }

    fn kinds_table(&self) -> Table {
        Table::of(
            "transfer_kinds",
            "Communication and transfers by pattern",
            &self.kinds,
        )
        .measured("kind", "Kind", Unit::None, |kind| &kind.kind)
        .measured("ops", "Ops", Unit::Count, |kind| kind.ops)
        .measured("occurrences", "Times", Unit::Count, |kind| kind.occurrences)
        .derived(
            "exposed_each_ps",
            self.sums_over.title(EXPOSED),
            Unit::Picoseconds,
            |kind| self.sums_over.each_ps(Picos::from_ps(kind.exposed_ps)),
        )
        .measured("time_ps", "In flight (sum)", Unit::Picoseconds, |kind| {
            kind.time_ps
        })
        .measured("hidden_ps", "Hidden", Unit::Picoseconds, |kind| {
            kind.hidden_ps
        })
        .measured("exposed_ps", "Exposed", Unit::Picoseconds, |kind| {
            kind.exposed_ps
        })
        .measured("blocking_ps", "Blocking", Unit::Picoseconds, |kind| {
            kind.blocking_ps
        })
        .note(self.note())
        .note("Spans of one kind may overlap each other: their sum can exceed the window.")
        .build()
    }

    fn transfers_table(&self) -> Table {
        Table::of(
            "transfers",
            "Collectives and asynchronous transfers",
            &self.transfers,
        )
        .measured("kind", "Kind", Unit::None, |transfer| &transfer.kind)
        .measured("op", "Op", Unit::None, |transfer| &transfer.op)
        .measured("program", "Program", Unit::None, |transfer| {
            &transfer.program
        })
        .measured("occurrences", "Times", Unit::Count, |transfer| {
            transfer.occurrences
        })
        .derived(
            "exposed_each_ps",
            self.sums_over.title(EXPOSED),
            Unit::Picoseconds,
            |transfer| self.sums_over.each_ps(Picos::from_ps(transfer.exposed_ps)),
        )
        .measured(
            "time_ps",
            "In flight (sum)",
            Unit::Picoseconds,
            |transfer| transfer.time_ps,
        )
        .measured("hidden_ps", "Hidden", Unit::Picoseconds, |transfer| {
            transfer.hidden_ps
        })
        .measured("exposed_ps", "Exposed", Unit::Picoseconds, |transfer| {
            transfer.exposed_ps
        })
        .measured("blocking_ps", "Blocking", Unit::Picoseconds, |transfer| {
            transfer.blocking_ps
        })
        .measured(
            "idle_ps",
            "In flight while idle",
            Unit::Picoseconds,
            |transfer| transfer.idle_ps,
        )
        .note(self.note())
        .build()
    }

    fn note(&self) -> String {
        format!("{}, and so are other times", self.sums_over.note())
    }
}
