//! Step times as tables.

use engine::{Provenance, Table, Tabular, counted};
use math::unit::Unit;

use super::{Step, StepSource, StepsReport};

impl Tabular for StepsReport {
    fn tables(&self) -> Vec<Table> {
        vec![self.statistics_table(), self.steps_table()]
    }
}

/// Reasons that are listed below the table.
const REASONS: usize = 5;

impl Step {
    /// What distinguishes it: `slow, compiles`.
    pub fn remark(&self) -> String {
        let marks = [
            (self.is_partial, "partial"),
            (self.is_warmup, "warm-up"),
            (self.is_outlier, "slow"),
        ];
        let mut words: Vec<&str> = marks
            .into_iter()
            .filter(|(is, _)| *is)
            .map(|(_, word)| word)
            .collect();
        if self.is_outlier && self.mostly_compiles() {
            words.push("compiles");
        }
        words.join(", ")
    }
}

impl StepsReport {
    fn provenance(&self) -> Provenance {
        match self.source {
            StepSource::StepsLine | StepSource::AnnotatedPrograms | StepSource::HostAnnotations => {
                Provenance::Measured
            }
            StepSource::Modules | StepSource::WholeCapture => Provenance::Inferred,
        }
    }

    /// Rows for all steps, then for each class where there are several.
    #[expect(clippy::too_many_lines, reason = "one list of columns")]
    fn statistics_table(&self) -> Table {
        let mut notes = vec![format!(
            "Steps are {}: {}.",
            self.source.title(),
            self.why.join("; ")
        )];
        if self.left_out > 0 {
            let (left_out, all) = (self.left_out, self.steps.len());
            let are = if left_out == 1 { "is" } else { "are" };
            notes.push(format!(
                "{left_out} of {} {are} left out as partial or warm-up.",
                counted(all, "step")
            ));
        }
        let mut statistics = vec![
            ("step time".to_owned(), self.time),
            ("start to start".to_owned(), self.interval),
        ];
        if self.classes.len() > 1 {
            for class in &self.classes {
                statistics.push((format!("class {}, step time", class.id), class.time));
                statistics.push((
                    format!("class {}, start to start", class.id),
                    class.interval,
                ));
                notes.push(format!(
                    "Class {}: {} ({}).",
                    class.id,
                    class.title,
                    counted(class.steps, "step")
                ));
            }
        }
        if self.time.is_some_and(|time| time.median_range.is_some()) {
            notes.push(
                "The median lies between the last two columns with 95 % confidence, by rank."
                    .to_owned(),
            );
        }
        let provenance = self.provenance();
        let rows = statistics
            .iter()
            .filter_map(|(what, stats)| Some((what, stats.as_ref()?)));
        Table::of("step_time", "Step time", rows)
            .column("what", "What", Unit::None, provenance, |(what, _)| what)
            .column("steps", "Steps", Unit::Count, provenance, |(_, stats)| {
                stats.count
            })
            .column(
                "mean_ps",
                "Mean",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.mean,
            )
            .column(
                "median_ps",
                "Median",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.median,
            )
            .column(
                "min_ps",
                "Min",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.min,
            )
            .column(
                "max_ps",
                "Max",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.max,
            )
            .column(
                "stddev_ps",
                "Std dev",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.stddev,
            )
            .column(
                "cv_percent",
                "Std dev / mean",
                Unit::Percent,
                provenance,
                |(_, stats)| stats.cv_percent,
            )
            .column(
                "p10_ps",
                "p10",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.p10,
            )
            .column(
                "p90_ps",
                "p90",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.p90,
            )
            .column(
                "p99_ps",
                "p99",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| stats.p99,
            )
            .column(
                "median_low_ps",
                "Median from",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| Some(stats.median_range?.0),
            )
            .column(
                "median_high_ps",
                "to",
                Unit::Picoseconds,
                provenance,
                |(_, stats)| Some(stats.median_range?.1),
            )
            .notes(notes)
            .build()
    }

    fn steps_table(&self) -> Table {
        let mut notes = vec![
            "Time is the longest span over the cores, by the clock that timed their ops."
                .to_owned(),
        ];
        let left_out = || {
            self.steps
                .iter()
                .filter_map(|step| Some((step.number, step.left_out.as_ref()?)))
        };
        notes.extend(
            left_out()
                .take(REASONS)
                .map(|(step, why)| format!("Step {step} is left out as {why}.")),
        );
        let more = left_out().count().saturating_sub(REASONS);
        if more > 0 {
            notes.push(format!(
                "{more} more are left out; the exports have the reasons."
            ));
        }
        let provenance = self.provenance();
        Table::of("steps", "Each step", &self.steps)
            .column("step", "Step", Unit::None, provenance, |step| step.number)
            .column("label", "Recorded as", Unit::None, provenance, |step| {
                &step.label
            })
            .column("start_ps", "Begin", Unit::Picoseconds, provenance, |step| {
                step.start_ps
            })
            .column("time_ps", "Time", Unit::Picoseconds, provenance, |step| {
                step.time_ps
            })
            .column(
                "interval_ps",
                "Begin to begin",
                Unit::Picoseconds,
                provenance,
                |step| step.interval_ps,
            )
            .column(
                "compile_ps",
                "Compiling",
                Unit::Picoseconds,
                provenance,
                |step| step.compile_ps,
            )
            .column("slowest", "Slowest", Unit::None, provenance, |step| {
                step.slowest.as_deref()
            })
            .column("remark", "Remark", Unit::None, provenance, Step::remark)
            .column("class", "Class", Unit::None, provenance, |step| {
                Some(&self.class_of(step)?.id)
            })
            .column("z", "Modified z", Unit::None, provenance, |step| step.z)
            .column("left_out", "Left out as", Unit::None, provenance, |step| {
                step.left_out.as_deref()
            })
            .notes(notes)
            .build()
    }
}
