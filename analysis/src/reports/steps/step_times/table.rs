//! Step times as tables.

use trace_model::Picos;

use crate::engine::counted;
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::facts::steps::{Step, StepSource, StepsReport};
use crate::math::stats::Stats;
use crate::math::unit::Unit;

impl Tabular for StepsReport {
    fn tables(&self) -> Vec<Table> {
        vec![self.statistics_table(), self.steps_table()]
    }
}

/// Reasons that are listed below the table.
const REASONS: usize = 5;

pub(super) fn remark(step: &Step) -> String {
    let marks = [(step.is_partial, "partial"), (step.is_warmup, "warm-up"), (step.is_outlier, "slow")];
    let mut words: Vec<&str> = marks.into_iter().filter(|(is, _)| *is).map(|(_, word)| word).collect();
    if step.is_outlier && step.mostly_compiles() {
        words.push("compiles");
    }
    words.join(", ")
}

impl StepsReport {
    fn provenance(&self) -> Provenance {
        match self.source {
            StepSource::StepsLine | StepSource::HostAnnotations => Provenance::Measured,
            StepSource::Modules | StepSource::WholeCapture => Provenance::Inferred,
        }
    }

    fn column(&self, id: &'static str, title: &'static str, unit: Unit) -> Column {
        Column { id, title, unit, provenance: self.provenance() }
    }

    /// Rows for all steps, then for each class where there are several.
    fn statistics_table(&self) -> Table {
        let mut notes = vec![format!("Steps are {}: {}.", self.source.title(), self.why.join("; "))];
        if self.left_out > 0 {
            let (left_out, all) = (self.left_out, self.steps.len());
            let are = if left_out == 1 { "is" } else { "are" };
            notes.push(format!("{left_out} of {} {are} left out as partial or warm-up.", counted(all, "step")));
        }
        let mut statistics = vec![("step time".to_owned(), self.time), ("begin to begin".to_owned(), self.interval)];
        if self.classes.len() > 1 {
            for class in &self.classes {
                statistics.push((format!("class {}, step time", class.id), class.time));
                statistics.push((format!("class {}, begin to begin", class.id), class.interval));
                notes.push(format!("Class {}: {} ({}).", class.id, class.title, counted(class.steps, "step")));
            }
        }
        if self.time.is_some_and(|time| time.median_range.is_some()) {
            notes.push("The median lies between the last two columns with 95 % confidence, by rank.".to_owned());
        }
        let column = |id, title, unit| self.column(id, title, unit);
        Table {
            id: "step_time",
            title: "Step time".to_owned(),
            columns: vec![
                column("what", "What", Unit::None),
                column("steps", "Steps", Unit::Count),
                column("mean_ps", "Mean", Unit::Picoseconds),
                column("median_ps", "Median", Unit::Picoseconds),
                column("min_ps", "Min", Unit::Picoseconds),
                column("max_ps", "Max", Unit::Picoseconds),
                column("stddev_ps", "Std dev", Unit::Picoseconds),
                column("cv_percent", "Std dev / mean", Unit::Percent),
                column("p10_ps", "p10", Unit::Picoseconds),
                column("p90_ps", "p90", Unit::Picoseconds),
                column("p99_ps", "p99", Unit::Picoseconds),
                column("median_low_ps", "Median from", Unit::Picoseconds),
                column("median_high_ps", "to", Unit::Picoseconds),
            ],
            rows: statistics.into_iter().filter_map(|(what, stats)| Some(row(what, &stats?))).collect(),
            notes,
        }
    }

    fn steps_table(&self) -> Table {
        let class = |step: &Step| self.class_of(step).map_or(Cell::Missing, |class| Cell::text(class.id.clone()));
        let rows = self.steps.iter().map(|step| {
            vec![
                Cell::count(u64::from(step.number)),
                Cell::text(&*step.label),
                Cell::time(Picos::from_ps(step.start_ps)),
                Cell::time(Picos::from_ps(step.time_ps)),
                step.interval_ps.map_or(Cell::Missing, Cell::Int),
                Cell::time(Picos::from_ps(step.compile_ps)),
                step.slowest.as_deref().map_or(Cell::Missing, Cell::text),
                Cell::text(remark(step)),
                class(step),
                Cell::maybe(step.z),
                step.left_out.as_deref().map_or(Cell::Missing, Cell::text),
            ]
        });
        let mut notes = vec!["Time is the longest span over the cores, by the clock that timed their ops.".to_owned()];
        let left_out = || self.steps.iter().filter_map(|step| Some((step.number, step.left_out.as_ref()?)));
        notes.extend(left_out().take(REASONS).map(|(step, why)| format!("Step {step} is left out as {why}.")));
        let more = left_out().count().saturating_sub(REASONS);
        if more > 0 {
            notes.push(format!("{more} more are left out; the exports have the reasons."));
        }
        let column = |id, title, unit| self.column(id, title, unit);
        Table {
            id: "steps",
            title: "Each step".to_owned(),
            columns: vec![
                column("step", "Step", Unit::None),
                column("label", "Recorded as", Unit::None),
                column("start_ps", "Begin", Unit::Picoseconds),
                column("time_ps", "Time", Unit::Picoseconds),
                column("interval_ps", "Begin to begin", Unit::Picoseconds),
                column("compile_ps", "Compiling", Unit::Picoseconds),
                column("slowest", "Slowest", Unit::None),
                column("remark", "Remark", Unit::None),
                column("class", "Class", Unit::None),
                column("z", "Modified z", Unit::None),
                column("left_out", "Left out as", Unit::None),
            ],
            rows: rows.collect(),
            notes,
        }
    }
}

fn row(what: String, stats: &Stats) -> Vec<Cell> {
    let mut row = vec![Cell::Text(what), Cell::count(stats.count as u64)];
    row.extend([stats.mean, stats.median, stats.min, stats.max].map(Cell::Float));
    let (low, high) = (stats.median_range.map(|range| range.0), stats.median_range.map(|range| range.1));
    row.extend([stats.stddev, stats.cv_percent, stats.p10, stats.p90, stats.p99, low, high].map(Cell::maybe));
    row
}
