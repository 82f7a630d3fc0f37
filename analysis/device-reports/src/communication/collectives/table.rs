//! The tables of collectives.

use facts::prelude::*;

use super::{CollectivesReport, Remark};

impl Tabular for CollectivesReport {
    fn tables(&self) -> Vec<Table> {
        vec![
            self.kinds_table(),
            self.axes_table(),
            self.links_table(),
            self.overlap_table(),
        ]
    }
}

impl CollectivesReport {
    fn kinds_table(&self) -> Table {
        let over = SumOver {
            devices: self.devices,
            steps: self.steps,
            are_busy: false,
        };
        let mut notes = vec![
            format!("{}, and so are other times", over.note()),
            "Bus bandwidth: bytes that each device must send ÷ time in flight, as nccl-tests define it."
                .to_owned(),
            self.links.note(),
        ];
        if let Some((all, kinds)) = self.kinds.split_last()
            && self.rows.iter().map(|row| row.time_ps).sum::<Picos>() > all.time_ps
        {
            let once = if kinds.is_empty() {
                "Collectives that are in flight at the same time count once."
            } else {
                "What is in flight at the same time counts once in the row of its kind, and once in that of all."
            };
            notes.insert(1, once.to_owned());
        }
        Table::of("collective_kinds", "Collectives by pattern", &self.kinds)
            .peak(self.links.provenance())
            .remaining()
            .notes(notes)
            .build()
    }

    fn axes_table(&self) -> Table {
        let notes = [
            "Axis of the program's mesh: devices whose ids are equally far apart, by the replica groups and pairs of the \
             ops. Bus bandwidth: bytes that each device must send ÷ the transfer, the shortest time on any device. That by \
             pattern and by op is over the time in flight, which waiting lengthens, and is lower."
                .to_owned(),
            "Links carry: the same bytes ÷ the least time on the layouts that fit, with both directions of each link: a \
             ring is received over two, the end of a line over one."
                .to_owned(),
        ];
        Table::of(
            "collective_axes",
            "Collectives by axis of the mesh",
            &self.axes,
        )
        .peak(self.links.provenance())
        .declared([
            "axis",
            "grid",
            "bus_bandwidth",
            "least_bound_bandwidth",
            "most_bound_bandwidth",
            "links_low_percent",
            "links_high_percent",
        ])
        .remaining()
        .notes(notes)
        .build()
    }

    fn links_table(&self) -> Table {
        Table::of("collectives", "Collectives against the links", &self.rows)
            .peak(self.links.provenance())
            .declared([
                "op",
                "occurrences",
                "bytes",
                "participants",
                "transfer_ps",
                "expected_least_ps",
                "expected_usual_ps",
                "links_low_percent",
                "links_high_percent",
                "bus_bandwidth",
                "algorithm_bandwidth",
                "sent_bytes",
                "kind",
                "program",
                "source",
            ])
            .notes(self.link_notes())
            .build()
    }

    fn link_notes(&self) -> Vec<String> {
        let mut notes = vec![
            "Of one execution. Transfer: mean of the shortest time on any device, for the others waited. Bandwidths: over \
             the mean time in flight, waiting included. Of links: share of the speed of the links that the group can use, \
             by the transfer."
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
            let first = joined(with.iter().take(3), ", ");
            let more = if with.len() > 3 { ", …" } else { "" };
            format!(
                "{} of {}: {} ({first}{more}).",
                with.len(),
                self.rows.len(),
                remark.title()
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
        .declared([
            "op",
            "time_ps",
            "hidden_ps",
            "exposed_ps",
            "exposed_of_time_percent",
            "hidden_by",
            "hidden_by_ps",
            "skew_wait_ps",
            "waits_most",
            "waited_for",
            "blocking_ps",
            "idle_ps",
            "remarks",
        ])
        .note("Sums over all devices; waiting for others on the device that waits most.")
        .build()
    }
}
