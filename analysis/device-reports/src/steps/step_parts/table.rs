//! Parts of steps as tables.

use facts::prelude::*;

use super::{ClassParts, DividedStep, Explanation, StepPart, StepPartsReport};

impl Tabular for StepPartsReport {
    fn tables(&self) -> Vec<Table> {
        let divided = [self.classes_table(), self.steps_table()];
        let tables = divided
            .into_iter()
            .chain([self.slow_table(), self.cores_table()]);
        // Hosts alone have no parts, and a run without slow steps has nothing to explain.
        tables.filter(|table| !table.rows.is_empty()).collect()
    }
}

/// Says what an instant counts as, once for all tables.
const PRIORITY: &str = "An instant belongs to the innermost op; where none runs, to a collective in flight (exposed \
                        comm), else it is idle. Parts add up to the step.";

impl StepPartsReport {
    fn classes_table(&self) -> Table {
        let mut notes: Vec<String> = Vec::new();
        if self.classes.len() > 1 {
            notes.extend(
                self.classes
                    .iter()
                    .map(|class| format!("Class {}: {}.", class.class, class.title)),
            );
        }
        notes.push("Over counted steps. Means add up to the step; medians need not.".to_owned());
        let devices = |step: &DividedStep| step.cores.len();
        let counted = || {
            self.steps
                .iter()
                .filter(|step| step.is_counted)
                .map(devices)
        };
        if counted().min() != counted().max() {
            notes.push("Means over all cores are of the cores that ran in each step.".to_owned());
        }
        notes.push(PRIORITY.to_owned());
        Table::of(
            "step_class_parts",
            "Step time breakdown",
            &class_rows(&self.classes),
        )
        .remaining()
        .notes(notes)
        .build()
    }

    fn steps_table(&self) -> Table {
        let rows = self
            .steps
            .iter()
            .filter_map(|step| Some((step, step.critical()?)));
        Table::of(
            "step_parts",
            "Each step on the core that took longest",
            rows,
        )
        .declared_by(|(step, _)| step, ["step"])
        .declared_by(|(_, core)| core, ["time_ps"])
        .declared_by(|(_, core)| core, StepPart::ALL.map(StepPart::id))
        .declared_by(|(step, _)| step, ["class"])
        .measured("core", "Slowest", Unit::None, |(_, core)| &core.core)
        .build()
    }

    fn slow_table(&self) -> Table {
        let mut notes: Vec<String> = self
            .slow
            .iter()
            .map(|slow| engine::sentence(&slow.statement))
            .collect();
        if self.slow_not_explained > 0 {
            notes.push(format!(
                "{} more slow steps are not explained.",
                self.slow_not_explained
            ));
        }
        notes.push(
            "Rows of the device add up to the difference; ops are inside them. What the host did is by another clock."
                .to_owned(),
        );
        let rows: Vec<_> = self.slow.iter().flat_map(slow_rows).collect();
        Table::of(
            "slow_steps",
            "Slow steps beside the median step of their class",
            &rows,
        )
        .remaining()
        .notes(notes)
        .build()
    }

    /// Every core of every step, for export.
    fn cores_table(&self) -> Table {
        let rows = self
            .steps
            .iter()
            .flat_map(|step| step.cores.iter().map(move |core| (step, core)));
        Table::of("step_core_parts", "Each step on each device", rows)
            .declared_by(|(step, _)| step, ["step"])
            .declared_by(|(_, core)| core, ["core", "time_ps"])
            .declared_by(|(_, core)| core, StepPart::ALL.map(StepPart::id))
            .build()
    }
}

/// A part of the steps of a class, or the whole step.
#[derive(engine::Columns)]
#[columns(measured)]
struct ClassRow {
    #[column]
    class: String,
    #[column]
    part: &'static str,
    #[column("Slowest core, mean")]
    mean_ps: f64,
    #[column("Of step")]
    percent: Option<Percent>,
    #[column]
    median_ps: f64,
    #[column("All cores, mean")]
    cores_mean_ps: f64,
    #[column]
    steps: usize,
}

/// For each class the whole step, then its parts; those that no step has are left out.
fn class_rows(classes: &[ClassParts]) -> Vec<ClassRow> {
    let mut rows = Vec::new();
    for class in classes {
        let row = |part, [mean_ps, median_ps, cores_mean_ps]: [f64; 3]| ClassRow {
            class: class.class.clone(),
            part,
            mean_ps,
            percent: Percent::ratio(mean_ps, class.time_ps),
            median_ps,
            cores_mean_ps,
            steps: class.steps,
        };
        let cores_mean_ps = class.parts.iter().map(|part| part.cores_mean_ps).sum();
        rows.push(row(
            "whole step",
            [class.time_ps, class.median_ps, cores_mean_ps],
        ));
        rows.extend(
            class
                .parts
                .iter()
                .filter(|part| part.mean_ps > 0.0 || part.cores_mean_ps > 0.0)
                .map(|part| {
                    row(
                        part.part.title(),
                        [part.mean_ps, part.median_ps, part.cores_mean_ps],
                    )
                }),
        );
    }
    rows
}

/// A part of what makes a slow step slow.
#[derive(engine::Columns)]
#[columns(measured)]
struct SlowRow {
    #[column(unit = None)]
    step: u32,
    #[column("Beside", unit = None)]
    median_step: u32,
    #[column(id = "where")]
    place: &'static str,
    #[column]
    what: String,
    #[column("More")]
    change_ps: Picos,
    #[column("Of difference")]
    percent: Option<Percent>,
}

/// Changes below this share of the difference share a row.
const SMALL_CHANGE: f64 = 0.001;

fn slow_rows(slow: &Explanation) -> Vec<SlowRow> {
    let row = |place, what: String, change_ps| SlowRow {
        step: slow.step,
        median_step: slow.median_step,
        place,
        what,
        change_ps,
        percent: Percent::of(change_ps, slow.longer_ps),
    };
    let mut rows = vec![row("step", "whole step".to_owned(), slow.longer_ps)];
    let is_small =
        |change: Picos| (change.as_ps_f64()).abs() < SMALL_CHANGE * slow.longer_ps.as_ps_f64();
    let mut rest = Picos::ZERO;
    for change in &slow.parts {
        if is_small(change.change_ps) {
            rest += change.change_ps;
        } else {
            rows.push(row(
                "device",
                change.part.title().to_owned(),
                change.change_ps,
            ));
        }
    }
    if rest != Picos::ZERO {
        rows.push(row("device", "all else".to_owned(), rest));
    }
    rows.extend(
        slow.ops
            .iter()
            .filter(|change| !is_small(change.change_ps))
            .map(|change| {
                row(
                    "op",
                    format!("{} ({})", change.op, change.part.title()),
                    change.change_ps,
                )
            }),
    );
    rows.extend(
        slow.host
            .iter()
            .filter(|change| !is_small(change.change_ps))
            .map(|change| row("host", change.phase.title().to_owned(), change.change_ps)),
    );
    rows
}
