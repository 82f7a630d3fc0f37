//! The overlap report as tables.

use super::{CoreOverlap, KindTotal, OverlapReport, Transfer};
use crate::engine::counted;
use crate::engine::{Cell, Column, Metric, Provenance, Table, Tabular};
use crate::math::unit::Unit;

impl OverlapReport {
    /// The headline numbers.
    pub fn metrics(&self) -> Vec<Metric> {
        let summary = &self.summary;
        let metric = |id, title, value, of: String| Metric {
            id,
            title,
            value,
            unit: Unit::Percent,
            of,
            provenance: Provenance::Measured,
            note: None,
        };
        let slowest = summary.most_exposed.as_deref().unwrap_or("slowest core");
        vec![
            metric(
                "exposed_comm_percent",
                "Exposed communication",
                summary.exposed_share_percent,
                format!("window of {slowest}"),
            ),
            metric(
                "comm_overlap_percent",
                "Communication hidden by compute",
                summary.overlap_ratio_percent,
                format!("time communicating × {}", counted(summary.cores, "core")),
            ),
        ]
    }
}

impl Tabular for OverlapReport {
    fn tables(&self) -> Vec<Table> {
        vec![self.cores_table(), self.kinds_table(), self.transfers_table()]
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Measured }
}

impl OverlapReport {
    fn cores_table(&self) -> Table {
        let row = |core: &CoreOverlap| {
            vec![
                Cell::text(core.core.clone()),
                Cell::count(core.collectives),
                Cell::Int(core.compute_ps),
                Cell::Int(core.comm_total_ps),
                core.overlapped_ps.map_or(Cell::Missing, Cell::Int),
                Cell::Int(core.exposed_ps),
                Cell::Int(core.exposed_blocking_ps),
                Cell::maybe(core.exposed_share_percent),
                Cell::Int(core.fused_ps),
                Cell::Int(core.copy_in_flight_ps),
                Cell::Int(core.copy_hidden_ps),
                Cell::Int(core.copy_wait_ps),
            ]
        };
        Table {
            id: "overlap",
            title: "Communication by device".to_owned(),
            columns: vec![
                column("core", "Device", Unit::None),
                column("collectives", "Collectives", Unit::Count),
                column("compute_ps", "Compute", Unit::Picoseconds),
                column("comm_total_ps", "Communication", Unit::Picoseconds),
                column("overlapped_ps", "Hidden", Unit::Picoseconds),
                column("exposed_ps", "Exposed", Unit::Picoseconds),
                column("exposed_blocking_ps", "Blocking", Unit::Picoseconds),
                column("exposed_share_percent", "Exposed, of window", Unit::Percent),
                column("fused_ps", "Fused", Unit::Picoseconds),
                column("copy_in_flight_ps", "Copies in flight", Unit::Picoseconds),
                column("copy_hidden_ps", "Copies hidden", Unit::Picoseconds),
                column("copy_wait_ps", "Waiting for copies", Unit::Picoseconds),
            ],
            rows: self.cores.iter().map(row).collect(),
            notes: vec!["Fused collectives count as exposed; they may overlap internally.".to_owned()],
        }
    }

    fn kinds_table(&self) -> Table {
        let row = |kind: &KindTotal| {
            vec![
                Cell::text(kind.kind.clone()),
                Cell::count(kind.ops as u64),
                Cell::count(kind.occurrences),
                Cell::Int(kind.time_ps),
                Cell::Int(kind.hidden_ps),
                Cell::Int(kind.exposed_ps),
                Cell::Int(kind.blocking_ps),
            ]
        };
        Table {
            id: "transfer_kinds",
            title: "Communication and transfers by pattern".to_owned(),
            columns: vec![
                column("kind", "Kind", Unit::None),
                column("ops", "Ops", Unit::Count),
                column("occurrences", "Times", Unit::Count),
                column("time_ps", "In flight", Unit::Picoseconds),
                column("hidden_ps", "Hidden", Unit::Picoseconds),
                column("exposed_ps", "Exposed", Unit::Picoseconds),
                column("blocking_ps", "Blocking", Unit::Picoseconds),
            ],
            rows: self.kinds.iter().map(row).collect(),
            notes: vec!["Spans of one kind may overlap each other: their sum can exceed the window.".to_owned()],
        }
    }

    fn transfers_table(&self) -> Table {
        let row = |transfer: &Transfer| {
            vec![
                Cell::text(transfer.kind.clone()),
                Cell::text(transfer.op.clone()),
                transfer.program.clone().map_or(Cell::Missing, Cell::Text),
                Cell::count(transfer.occurrences),
                Cell::Int(transfer.time_ps),
                Cell::Int(transfer.hidden_ps),
                Cell::Int(transfer.exposed_ps),
                Cell::Int(transfer.blocking_ps),
                Cell::Int(transfer.idle_ps),
            ]
        };
        Table {
            id: "transfers",
            title: "Collectives and asynchronous transfers".to_owned(),
            columns: vec![
                column("kind", "Kind", Unit::None),
                column("op", "Op", Unit::None),
                column("program", "Program", Unit::None),
                column("occurrences", "Times", Unit::Count),
                column("time_ps", "In flight", Unit::Picoseconds),
                column("hidden_ps", "Hidden", Unit::Picoseconds),
                column("exposed_ps", "Exposed", Unit::Picoseconds),
                column("blocking_ps", "Blocking", Unit::Picoseconds),
                column("idle_ps", "Meanwhile idle", Unit::Picoseconds),
            ],
            rows: self.transfers.iter().map(row).collect(),
            notes: vec!["Sums over all devices.".to_owned()],
        }
    }
}
