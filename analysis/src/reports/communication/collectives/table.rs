//! The ledger as tables.

use super::{CollectiveRow, CollectivesReport, KindRow, Remark};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;
use crate::reports::ops::op_stats::percent;

impl Tabular for CollectivesReport {
    fn tables(&self) -> Vec<Table> {
        vec![self.kinds_table(), self.links_table(), self.overlap_table()]
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

fn maybe_ps(time: Option<f64>) -> Cell {
    time.map_or(Cell::Missing, |ps| Cell::Int(ps.round() as i64))
}

impl CollectivesReport {
    fn kinds_table(&self) -> Table {
        use Provenance::{Derived, Measured, StaticCost};
        let of_links = self.links.provenance();
        let row = |kind: &KindRow| {
            let name = if kind.is_fused { format!("{} (fused)", kind.kind) } else { kind.kind.clone() };
            vec![
                Cell::Text(name),
                Cell::count(kind.ops as u64),
                Cell::count(kind.occurrences),
                Cell::maybe(kind.sent_bytes),
                Cell::Int(kind.time_ps),
                Cell::Int(kind.hidden_ps),
                Cell::Int(kind.exposed_ps),
                Cell::maybe(percent(kind.exposed_ps, kind.time_ps)),
                Cell::maybe(kind.bus_bandwidth),
                Cell::maybe(kind.share.map(|share| share.low_percent)),
                Cell::maybe(kind.share.map(|share| share.high_percent)),
                Cell::maybe(kind.sent_bytes_per_step),
                maybe_ps(kind.exposed_per_step_ps),
            ]
        };
        let mut notes = vec![format!(
            "Sums over {} {}. Bus bandwidth: bytes that each device must send ÷ time, as nccl-tests define it.",
            self.devices,
            if self.devices == 1 { "device" } else { "devices" }
        )];
        notes.push(match self.steps {
            Some(1) => "There is one step: per step is per device.".to_owned(),
            Some(steps) => format!("Per step: ÷ {steps} steps ÷ devices; what runs between steps counts too."),
            None => "No steps were found: nothing is given per step.".to_owned(),
        });
        notes.push(self.links.note());
        Table {
            id: "collective_kinds",
            title: "Collectives by pattern".to_owned(),
            columns: vec![
                column("kind", "Kind", Unit::None, Measured),
                column("ops", "Ops", Unit::Count, Measured),
                column("occurrences", "Times", Unit::Count, Measured),
                column("sent_bytes", "Sent", Unit::Bytes, StaticCost),
                column("time_ps", "In flight", Unit::Picoseconds, Measured),
                column("hidden_ps", "Hidden", Unit::Picoseconds, Measured),
                column("exposed_ps", "Exposed", Unit::Picoseconds, Measured),
                column("exposed_of_time_percent", "of in flight", Unit::Percent, Derived),
                column("bus_bandwidth", "Bus bandwidth", Unit::BytesPerSecond, Derived),
                column("links_low_percent", "Of links", Unit::Percent, of_links),
                column("links_high_percent", "Up to", Unit::Percent, of_links),
                column("sent_per_step_bytes", "Sent a step", Unit::Bytes, StaticCost),
                column("exposed_per_step_ps", "Exposed a step", Unit::Picoseconds, Derived),
            ],
            rows: self.kinds.iter().map(row).collect(),
            notes,
        }
    }

    fn links_table(&self) -> Table {
        use Provenance::{Derived, Measured, StaticCost};
        let of_links = self.links.provenance();
        let row = |row: &CollectiveRow| {
            let n = row.message.participants;
            vec![
                Cell::text(row.op.clone()),
                Cell::count(row.occurrences),
                row.message.bytes.map_or(Cell::Missing, Cell::count),
                n.map_or(Cell::Missing, Cell::count),
                maybe_ps(row.transfer_ps),
                maybe_ps(row.expected.map(|expected| expected.least_seconds * 1e12)),
                maybe_ps(row.expected.map(|expected| expected.usual_seconds * 1e12)),
                Cell::maybe(row.share.map(|share| share.low_percent)),
                Cell::maybe(row.share.map(|share| share.high_percent)),
                Cell::maybe(row.bus_bandwidth),
                Cell::maybe(row.algorithm_bandwidth),
                Cell::maybe(row.message.sent_bytes),
                Cell::text(row.kind.clone()),
                row.program.clone().map_or(Cell::Missing, Cell::Text),
                row.source.clone().map_or(Cell::Missing, Cell::Text),
            ]
        };
        Table {
            id: "collectives",
            title: "Collectives against the links".to_owned(),
            columns: vec![
                column("op", "Op", Unit::None, Measured),
                column("occurrences", "Times", Unit::Count, Measured),
                column("bytes", "Message", Unit::Bytes, StaticCost),
                column("participants", "Group", Unit::Count, StaticCost),
                column("transfer_ps", "Transfer", Unit::Picoseconds, Measured),
                column("expected_least_ps", "At best", Unit::Picoseconds, of_links),
                column("expected_usual_ps", "Usual", Unit::Picoseconds, of_links),
                column("links_low_percent", "Of links", Unit::Percent, of_links),
                column("links_high_percent", "Up to", Unit::Percent, of_links),
                column("bus_bandwidth", "Bus bandwidth", Unit::BytesPerSecond, Derived),
                column("algorithm_bandwidth", "Alg. bandwidth", Unit::BytesPerSecond, Derived),
                column("sent_bytes", "Sent", Unit::Bytes, StaticCost),
                column("kind", "Kind", Unit::None, Measured),
                column("program", "Program", Unit::None, Measured),
                column("source", "Source", Unit::None, Measured),
            ],
            rows: self.rows.iter().map(row).collect(),
            notes: self.link_notes(),
        }
    }

    fn link_notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Of one execution. Transfer: mean of the shortest time on any device, for the others waited. Of links: \
             share of the speed of the links that the group can use."
                .to_owned(),
        ];
        if self.rows.iter().any(|row| row.is_async) {
            notes.push(
                "Asynchronous ones are timed from start to done, which compute may delay: their bandwidth and share \
                 are lower bounds."
                    .to_owned(),
            );
        }
        notes.extend(self.remarks());
        notes
    }

    /// `3 of 12: bound by latency of hops (all-reduce.1, …)`.
    fn remarks(&self) -> Vec<String> {
        let mut all: Vec<Remark> = self.rows.iter().flat_map(|row| row.remarks.iter().copied()).collect();
        all.sort_unstable();
        all.dedup();
        let line = |remark: Remark| {
            let with: Vec<&str> =
                self.rows.iter().filter(|row| row.remarks.contains(&remark)).map(|row| row.op.as_str()).collect();
            let first = with.iter().take(3).copied().collect::<Vec<_>>().join(", ");
            let more = if with.len() > 3 { ", …" } else { "" };
            format!("{} of {}: {} ({first}{more}).", with.len(), self.rows.len(), remark.text())
        };
        all.into_iter().map(line).collect()
    }

    fn overlap_table(&self) -> Table {
        use Provenance::{Derived, Inferred, Measured};
        let row = |row: &CollectiveRow| {
            let hider = row.hidden_by.as_ref().and_then(|hiders| hiders.first());
            let skew = row.skew.as_ref();
            let remarks: Vec<&str> = row.remarks.iter().map(|remark| remark.text()).collect();
            vec![
                Cell::text(row.op.clone()),
                Cell::Int(row.time_ps),
                Cell::Int(row.hidden_ps),
                Cell::Int(row.exposed_ps),
                Cell::maybe(percent(row.exposed_ps, row.time_ps)),
                hider.map_or(Cell::Missing, |hider| Cell::text(hider.op.clone())),
                hider.map_or(Cell::Missing, |hider| Cell::Int(hider.time_ps)),
                skew.map_or(Cell::Missing, |skew| Cell::Int(skew.wait_ps)),
                skew.and_then(|skew| skew.waits_most.clone()).map_or(Cell::Missing, Cell::Text),
                skew.and_then(|skew| skew.waited_for.clone()).map_or(Cell::Missing, Cell::Text),
                Cell::Int(row.blocking_ps),
                Cell::Int(row.idle_ps),
                if remarks.is_empty() { Cell::Missing } else { Cell::Text(remarks.join("; ")) },
            ]
        };
        Table {
            id: "collective_overlap",
            title: "What hides collectives, and who waits".to_owned(),
            columns: vec![
                column("op", "Op", Unit::None, Measured),
                column("time_ps", "In flight", Unit::Picoseconds, Measured),
                column("hidden_ps", "Hidden", Unit::Picoseconds, Measured),
                column("exposed_ps", "Exposed", Unit::Picoseconds, Measured),
                column("exposed_of_time_percent", "of in flight", Unit::Percent, Derived),
                column("hidden_by", "Hidden most by", Unit::None, Measured),
                column("hidden_by_ps", "for", Unit::Picoseconds, Measured),
                column("skew_wait_ps", "Waiting", Unit::Picoseconds, Inferred),
                column("waits_most", "Waits most", Unit::None, Inferred),
                column("waited_for", "Last to come", Unit::None, Inferred),
                column("blocking_ps", "Blocking", Unit::Picoseconds, Measured),
                column("idle_ps", "Meanwhile idle", Unit::Picoseconds, Measured),
                column("remarks", "Remarks", Unit::None, Inferred),
            ],
            rows: self.rows.iter().map(row).collect(),
            notes: vec!["Sums over all devices; waiting for others on the device that waits most.".to_owned()],
        }
    }
}
