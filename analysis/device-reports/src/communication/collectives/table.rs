//! The tables of collectives.

use engine::{Cell, Table, Tabular};
use facts::sum_over::SumOver;
use math::stats::percent;
use math::unit::Unit;

use super::{CollectivesReport, Remark};

impl Tabular for CollectivesReport {
    fn tables(&self) -> Vec<Table> {
        vec![self.kinds_table(), self.links_table(), self.overlap_table()]
    }
}

fn maybe_ps(time: Option<f64>) -> Option<i64> {
    time.map(|ps| ps.round() as i64)
}

impl CollectivesReport {
    fn kinds_table(&self) -> Table {
        let of_links = self.links.provenance();
        let over = SumOver {
            devices: self.devices,
            steps: self.steps,
        };
        let notes = [
            format!("{}, and so are other times", over.note()),
            "Bus bandwidth: bytes that each device must send ÷ time, as nccl-tests define it."
                .to_owned(),
            self.links.note(),
        ];
        Table::of("collective_kinds", "Collectives by pattern", &self.kinds)
            .measured("kind", "Kind", Unit::None, |kind| {
                if kind.is_fused {
                    format!("{} (fused)", kind.kind)
                } else {
                    kind.kind.clone()
                }
            })
            .measured("ops", "Ops", Unit::Count, |kind| kind.ops)
            .measured("occurrences", "Times", Unit::Count, |kind| kind.occurrences)
            .derived(
                "exposed_per_step_ps",
                "Exposed a step",
                Unit::Picoseconds,
                |kind| maybe_ps(kind.exposed_per_step_ps),
            )
            .compiler("sent_bytes", "Sent (sum)", Unit::Bytes, |kind| {
                kind.sent_bytes
            })
            .measured("time_ps", "In flight (sum)", Unit::Picoseconds, |kind| {
                kind.time_ps
            })
            .measured("hidden_ps", "Hidden", Unit::Picoseconds, |kind| {
                kind.hidden_ps
            })
            .measured("exposed_ps", "Exposed", Unit::Picoseconds, |kind| {
                kind.exposed_ps
            })
            .derived(
                "exposed_of_time_percent",
                "of in flight",
                Unit::Percent,
                |kind| percent(kind.exposed_ps, kind.time_ps),
            )
            .derived(
                "bus_bandwidth",
                "Bus bandwidth",
                Unit::BytesPerSecond,
                |kind| kind.bus_bandwidth,
            )
            .column(
                "links_low_percent",
                "Of links",
                Unit::Percent,
                of_links,
                |kind| kind.share.map(|share| share.low_percent),
            )
            .column(
                "links_high_percent",
                "Up to",
                Unit::Percent,
                of_links,
                |kind| kind.share.map(|share| share.high_percent),
            )
            .compiler("sent_per_step_bytes", "Sent a step", Unit::Bytes, |kind| {
                kind.sent_bytes_per_step
            })
            .notes(notes)
            .build()
    }

    fn links_table(&self) -> Table {
        let of_links = self.links.provenance();
        Table::of("collectives", "Collectives against the links", &self.rows)
            .measured("op", "Op", Unit::None, |row| &row.op)
            .measured("occurrences", "Times", Unit::Count, |row| row.occurrences)
            .compiler("bytes", "Message", Unit::Bytes, |row| row.message.bytes)
            .compiler("participants", "Group", Unit::Count, |row| {
                row.message.participants
            })
            .measured("transfer_ps", "Transfer", Unit::Picoseconds, |row| {
                maybe_ps(row.transfer_ps)
            })
            .column(
                "expected_least_ps",
                "At best",
                Unit::Picoseconds,
                of_links,
                |row| maybe_ps(row.expected.map(|expected| expected.least_seconds * 1e12)),
            )
            .column(
                "expected_usual_ps",
                "Usual",
                Unit::Picoseconds,
                of_links,
                |row| maybe_ps(row.expected.map(|expected| expected.usual_seconds * 1e12)),
            )
            .column(
                "links_low_percent",
                "Of links",
                Unit::Percent,
                of_links,
                |row| row.share.map(|share| share.low_percent),
            )
            .column(
                "links_high_percent",
                "Up to",
                Unit::Percent,
                of_links,
                |row| row.share.map(|share| share.high_percent),
            )
            .derived(
                "bus_bandwidth",
                "Bus bandwidth",
                Unit::BytesPerSecond,
                |row| row.bus_bandwidth,
            )
            .derived(
                "algorithm_bandwidth",
                "Alg. bandwidth",
                Unit::BytesPerSecond,
                |row| row.algorithm_bandwidth,
            )
            .compiler("sent_bytes", "Sent", Unit::Bytes, |row| {
                row.message.sent_bytes
            })
            .measured("kind", "Kind", Unit::None, |row| &row.kind)
            .measured("program", "Program", Unit::None, |row| &row.program)
            .measured("source", "Source", Unit::None, |row| &row.source)
            .notes(self.link_notes())
            .build()
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
        let mut all: Vec<Remark> = self
            .rows
            .iter()
            .flat_map(|row| row.remarks.iter().copied())
            .collect();
        all.sort_unstable();
        all.dedup();
        let line = |remark: Remark| {
            let with: Vec<&str> = self
                .rows
                .iter()
                .filter(|row| row.remarks.contains(&remark))
                .map(|row| row.op.as_str())
                .collect();
            let first = with.iter().take(3).copied().collect::<Vec<_>>().join(", ");
            let more = if with.len() > 3 { ", …" } else { "" };
            format!(
                "{} of {}: {} ({first}{more}).",
                with.len(),
                self.rows.len(),
                remark.text()
            )
        };
        all.into_iter().map(line).collect()
    }

    fn overlap_table(&self) -> Table {
        Table::of(
            "collective_overlap",
            "What hides collectives, and who waits",
            &self.rows,
        )
        .measured("op", "Op", Unit::None, |row| &row.op)
        .measured("time_ps", "In flight", Unit::Picoseconds, |row| row.time_ps)
        .measured("hidden_ps", "Hidden", Unit::Picoseconds, |row| {
            row.hidden_ps
        })
        .measured("exposed_ps", "Exposed", Unit::Picoseconds, |row| {
            row.exposed_ps
        })
        .derived(
            "exposed_of_time_percent",
            "of in flight",
            Unit::Percent,
            |row| percent(row.exposed_ps, row.time_ps),
        )
        .measured("hidden_by", "Hidden most by", Unit::None, |row| {
            row.hidden_by
                .as_ref()
                .and_then(|all| Some(&all.first()?.op))
        })
        .measured("hidden_by_ps", "for", Unit::Picoseconds, |row| {
            row.hidden_by
                .as_ref()
                .and_then(|all| Some(all.first()?.time_ps))
        })
        .inferred("skew_wait_ps", "Waiting", Unit::Picoseconds, |row| {
            row.skew.as_ref().map(|skew| skew.wait_ps)
        })
        .inferred("waits_most", "Waits most", Unit::None, |row| {
            row.skew.as_ref().map(|skew| &skew.waits_most)
        })
        .inferred("waited_for", "Last to come", Unit::None, |row| {
            row.skew.as_ref().map(|skew| &skew.waited_for)
        })
        .measured("blocking_ps", "Blocking", Unit::Picoseconds, |row| {
            row.blocking_ps
        })
        .measured(
            "idle_ps",
            "In flight while idle",
            Unit::Picoseconds,
            |row| row.idle_ps,
        )
        .inferred("remarks", "Remarks", Unit::None, |row| {
            Cell::non_empty(
                &row.remarks
                    .iter()
                    .map(|remark| remark.text())
                    .collect::<Vec<_>>()
                    .join("; "),
            )
        })
        .note("Sums over all devices; waiting for others on the device that waits most.")
        .build()
    }
}
