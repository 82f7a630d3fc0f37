//! Step times as tables.

use engine::prelude::*;

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
    /// Where the times of its steps come from.
    pub fn provenance(&self) -> Provenance {
        match self.source {
            StepSource::StepsLine | StepSource::AnnotatedPrograms | StepSource::HostAnnotations => {
                Provenance::Measured
            }
            StepSource::Modules | StepSource::WholeCapture => Provenance::Inferred,
        }
    }

    /// Rows for all steps, then for each class where there are several.
    fn statistics_table(&self) -> Table {
        let mut notes = vec![format!(
            "Steps are {}: {}.",
            self.source.title(),
            self.why.join("; ")
        )];
        if self.left_out > 0 {
            let left_out = self.left_out;
            let all = self.steps.len();
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
        if let Some((low, high)) = self.time.and_then(|time| time.median_range) {
            let [low, high] = [low, high].map(|ps| engine::number::value(ps, Unit::Picoseconds));
            notes.push(format!(
                "The median step time lies between {low} and {high} with 95 % confidence, by rank."
            ));
        }
        let ps = Unit::Picoseconds;
        let rows = statistics
            .iter()
            .filter_map(|(what, stats)| Some((what, stats.as_ref()?)));
        Table::of("step_time", "Step time", rows)
            .measured("what", "What", Unit::None, |(what, _)| what)
            .measured("steps", "Steps", Unit::Count, |(_, stats)| stats.count)
            .measured("mean_ps", "Mean", ps, |(_, stats)| stats.mean)
            .measured("median_ps", "Median", ps, |(_, stats)| stats.median)
            .measured("min_ps", "Min", ps, |(_, stats)| stats.min)
            .measured("max_ps", "Max", ps, |(_, stats)| stats.max)
            .measured("stddev_ps", "Std dev", ps, |(_, stats)| stats.stddev)
            .measured(
                "cv_percent",
                "Std dev / mean",
                Unit::Percent,
                |(_, stats)| stats.cv_percent,
            )
            .measured("p10_ps", "p10", ps, |(_, stats)| stats.p10)
            .measured("p90_ps", "p90", ps, |(_, stats)| stats.p90)
            .measured("p99_ps", "p99", ps, |(_, stats)| stats.p99)
            .measured("median_low_ps", "Median from", ps, |(_, stats)| {
                Some(stats.median_range?.0)
            })
            .measured("median_high_ps", "to", ps, |(_, stats)| {
                Some(stats.median_range?.1)
            })
            .known_as(self.provenance())
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
        Table::of("steps", "Each step", &self.steps)
            .declared([
                "step",
                "label",
                "start_ps",
                "time_ps",
                "interval_ps",
                "compile_ps",
                "slowest",
                "remark",
            ])
            .measured("class", "Class", Unit::None, |step| {
                Some(&self.class_of(step)?.id)
            })
            .remaining()
            .known_as(self.provenance())
            .notes(notes)
            .build()
    }
}
