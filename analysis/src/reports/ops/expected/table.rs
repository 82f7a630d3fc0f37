//! The report as tables.

use trace_model::Picos;

use super::{ExpectedReport, ExpectedRow, GroupSums, LimitRow};
use crate::engine::{Cell, Column, Percent, Provenance, Table, Tabular};
use crate::math::unit::Unit;

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

impl Tabular for ExpectedReport {
    fn tables(&self) -> Vec<Table> {
        vec![self.op_table(), self.group_table(), self.limit_table()]
    }
}

impl ExpectedReport {
    /// Of whatever depends on peaks.
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
        let measured = |id, title, unit| column(id, title, unit, Provenance::Measured);
        let cost = |id, title, unit| column(id, title, unit, Provenance::StaticCost);
        let columns = vec![
            measured("name", "Op", Unit::None),
            column("above_ps", "Above roofline", Unit::Picoseconds, of_peak),
            measured("actual_ps", "Actual", Unit::Picoseconds),
            column("expected_ps", "Expected", Unit::Picoseconds, of_peak),
            column("efficiency_percent", "Efficiency", Unit::Percent, of_peak),
            column("bound_by", "Bound by", Unit::None, of_peak),
            measured("occurrences", "Runs", Unit::Count),
            column("source", "Source", Unit::None, Provenance::Profile),
            column("note", "Note", Unit::None, Provenance::Derived),
            column("above_of_op_time_percent", "of op time", Unit::Percent, of_peak),
            measured("group", "Group", Unit::None),
            cost("flops", "Operations", Unit::Flop),
            cost("bytes", "Bytes", Unit::Bytes),
            cost("hbm_bytes", "HBM bytes", Unit::Bytes),
            measured("program", "Program", Unit::None),
        ];
        let rows = self.rows.iter().map(op_row).collect();
        let mut notes = self.total_notes();
        notes.push(format!("least times by {}; {}", self.peaks.flops_text(), self.peaks.hbm_text()));
        if let Some(chip) = &self.links_of {
            notes.push(if self.links_recorded {
                format!("links between devices: those of {chip}, as recorded")
            } else {
                format!("links between chips and to the host: those of {chip}, assumed")
            });
        }
        notes.extend(self.notes.iter().cloned());
        Table { id: "expected", title: "Ops by time above their roofline".to_owned(), columns, rows, notes }
    }

    /// What everything adds up to, with denominators.
    fn total_notes(&self) -> Vec<String> {
        let totals = &self.totals;
        let time = |ps: f64| Picos::from_ps(ps.round() as i64).to_string();
        let of = |part: f64, whole: f64| {
            if whole > 0.0 { format!("{:.1}", Percent(100.0 * part / whole)) } else { "–".to_owned() }
        };
        let (actual, known) = (totals.actual_ps as f64, totals.known_ps as f64);
        let mut notes = vec![format!(
            "ops took {}; of {} ({} of it) the least time is known: {}, so {} of them are above the roofline",
            time(actual),
            time(known),
            of(known, actual),
            time(totals.expected_ps),
            time(totals.above_ps),
        )];
        if totals.unknown_ps > 0 {
            let unknown = totals.unknown_ps as f64;
            notes.push(format!("unknown: {} ({} of it)", time(unknown), of(unknown, actual)));
        }
        if totals.beyond_ps > 0 {
            let beyond = totals.beyond_ps as f64;
            notes.push(format!(
                "of that, ops above a peak of the device: {} ({} of all); their work is wrong, so it is left out of sums",
                time(beyond),
                of(beyond, actual)
            ));
        }
        if totals.below_ps > 0.0 {
            notes.push(format!("ops that beat their roofline do so by {}", time(totals.below_ps)));
        }
        if totals.wait_ps > 0 {
            notes.push(format!(
                "waiting for transfers: {} ({} of op time); least times there are those of the transfers at full speed, \
                 but work beside them could hide these, too",
                time(totals.wait_ps as f64),
                of(totals.wait_ps as f64, actual),
            ));
        }
        if totals.container_ps > 0 {
            notes.push(format!(
                "loops and calls themselves took {}, counted nowhere here",
                time(totals.container_ps as f64)
            ));
        }
        notes
    }

    fn group_table(&self) -> Table {
        let of_peak = self.provenance();
        let columns = vec![
            column("group", "Group", Unit::None, Provenance::Measured),
            column("above_ps", "Above roofline", Unit::Picoseconds, of_peak),
            column("actual_ps", "Actual", Unit::Picoseconds, Provenance::Measured),
            column("expected_ps", "Expected", Unit::Picoseconds, of_peak),
            column("unknown_ps", "of actual unknown", Unit::Picoseconds, Provenance::Measured),
        ];
        let row = |sums: &GroupSums| {
            let (totals, known) = (&sums.totals, sums.totals.known_ps > 0);
            vec![
                Cell::text(sums.group.title()),
                Cell::maybe(known.then_some(totals.above_ps)),
                Cell::Int(totals.actual_ps),
                Cell::maybe(known.then_some(totals.expected_ps)),
                Cell::Int(totals.unknown_ps),
            ]
        };
        let rows = self.groups.iter().map(row).collect();
        let title = "Time above the roofline by kind of op".to_owned();
        Table { id: "expected_groups", title, columns, rows, notes: Vec::new() }
    }

    fn limit_table(&self) -> Table {
        let of_peak = self.provenance();
        let columns = vec![
            column("limit", "Limit", Unit::None, of_peak),
            column("least_ps", "Least time", Unit::Picoseconds, of_peak),
            column("of_window_percent", "of window", Unit::Percent, of_peak),
        ];
        let row = |row: &LimitRow| {
            vec![Cell::text(row.limit.title()), Cell::Float(row.least_ps), Cell::maybe(row.of_window_percent)]
        };
        let notes = vec![
            "all known work at one limit, transfers too, summed over devices: no schedule of the same work takes less"
                .to_owned(),
        ];
        let rows = self.limits.iter().map(row).collect();
        Table { id: "expected_limits", title: "What the work asks of each limit".to_owned(), columns, rows, notes }
    }
}

fn op_row(row: &ExpectedRow) -> Vec<Cell> {
    let text = |text: &str| if text.is_empty() { Cell::Missing } else { Cell::text(text) };
    vec![
        Cell::text(&row.name),
        Cell::maybe(row.above_ps),
        Cell::Int(row.actual_ps),
        Cell::maybe(row.expected_ps),
        Cell::maybe(row.efficiency_percent),
        row.bound_by.map_or(Cell::Missing, |limit| Cell::text(limit.title())),
        Cell::count(row.occurrences),
        text(row.source.as_deref().unwrap_or_default()),
        text(&note(row)),
        Cell::maybe(row.above_of_op_time_percent),
        Cell::text(row.group.title()),
        Cell::maybe(row.flops),
        row.bytes.map_or(Cell::Missing, Cell::count),
        Cell::maybe(row.hbm_bytes),
        text(&row.program),
    ]
}

/// What is unknown, and why.
fn note(row: &ExpectedRow) -> String {
    let without = row.without.join(", ");
    match (row.note, without.is_empty()) {
        (Some(note), true) => note.to_owned(),
        (Some(note), false) => format!("without {without}: {note}"),
        (None, true) => String::new(),
        (None, false) => format!("without {without}"),
    }
}
