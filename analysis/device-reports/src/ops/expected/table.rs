//! The tables of the report.

use facts::prelude::*;

use super::ExpectedReport;

/// Titles of the time above the roofline in a step, and on a device.
const ABOVE: [&str; 2] = ["Above roofline a step", "Above roofline a device"];

impl Tabular for ExpectedReport {
    fn tables(&self) -> Vec<Table> {
        vec![self.op_table(), self.group_table(), self.limit_table()]
    }
}

impl ExpectedReport {
    /// Provenance of everything that depends on peaks.
    fn provenance(&self) -> Provenance {
        if self.hbm_is_estimated {
            Provenance::Inferred
        } else if self.links_of.is_some() && !self.links_recorded {
            Provenance::AssumedPeak
        } else {
            Provenance::of_peak(self.peaks.flops)
        }
    }

    fn op_table(&self) -> Table {
        let of_peak = self.provenance();
        let over = self.sums_over;
        let mut notes = vec![over.note()];
        notes.extend(self.total_notes());
        notes.push(format!(
            "least times by {}; {}",
            self.peaks.flops_text(),
            self.peaks.hbm_text()
        ));
        if let Some(chip) = &self.links_of {
            notes.push(if self.links_recorded {
                format!("links between devices: those of {chip}, as recorded")
            } else {
                format!("links between chips and to the host: those of {chip}, assumed")
            });
        }
        notes.extend(self.notes.iter().cloned());
        Table::of("expected", "Ops by time above their roofline", &self.rows)
            .peak(of_peak)
            .declared(["name"])
            .column(
                "above_each_ps",
                over.title(ABOVE),
                Unit::Picoseconds,
                of_peak,
                |row| Some(over.each(row.above_ps?)),
            )
            .remaining()
            .notes(notes)
            .build()
    }

    /// The sums, with denominators.
    fn total_notes(&self) -> Vec<String> {
        let totals = &self.totals;
        let time = Picos::rounded;
        let of = |part: Picos| {
            Percent::of(part, totals.actual_ps)
                .map_or_else(|| "–".to_owned(), |share| format!("{share:.1}"))
        };
        let mut notes = vec![format!(
            "ops took {} (all sums); of {} ({} of it) the least time is known: {}, so {} of them are above the roofline",
            totals.actual_ps,
            totals.known_ps,
            of(totals.known_ps),
            time(totals.expected_ps),
            time(totals.above_ps),
        )];
        if totals.unknown_ps > Picos::ZERO {
            notes.push(format!(
                "unknown: {} ({} of it)",
                totals.unknown_ps,
                of(totals.unknown_ps)
            ));
        }
        if totals.beyond_ps > Picos::ZERO {
            notes.push(format!(
                "of that, ops above a peak of the device: {} ({} of all); their work is wrong, so it is left out of sums",
                totals.beyond_ps,
                of(totals.beyond_ps)
            ));
        }
        if totals.below_ps > 0.0 {
            notes.push(format!(
                "ops faster than their roofline gain {} on it",
                time(totals.below_ps)
            ));
        }
        if totals.wait_ps > Picos::ZERO {
            notes.push(format!(
                "waiting for transfers: {} ({} of op time); their least times are those of the transfers at full speed, which other work could hide",
                totals.wait_ps,
                of(totals.wait_ps),
            ));
        }
        if totals.container_ps > Picos::ZERO {
            notes.push(format!(
                "loops and calls themselves took {}, which is not counted here",
                totals.container_ps
            ));
        }
        notes
    }

    fn group_table(&self) -> Table {
        let of_peak = self.provenance();
        let over = self.sums_over;
        Table::of(
            "expected_groups",
            "Time above the roofline by kind of op",
            &self.groups,
        )
        .peak(of_peak)
        .declared(["group"])
        .column(
            "above_each_ps",
            over.title(ABOVE),
            Unit::Picoseconds,
            of_peak,
            move |sums| Some(over.each(sums.totals.known(sums.totals.above_ps)?)),
        )
        .declared(["above_ps", "actual_ps", "expected_ps", "unknown_ps"])
        .build()
    }

    fn limit_table(&self) -> Table {
        Table::of(
            "expected_limits",
            "Least time of the work at each limit",
            &self.limits,
        )
        .peak(self.provenance())
        .remaining()
        .note(
            "all known work at one limit, transfers too, summed over devices: no schedule of the same work takes less",
        )
        .build()
    }
}
