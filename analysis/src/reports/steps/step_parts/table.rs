//! Parts of steps as tables.

use super::{ClassParts, CoreParts, DividedStep, Explanation, PartTimes, StepOpChange, StepPart, StepPartsReport};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

impl Tabular for StepPartsReport {
    fn tables(&self) -> Vec<Table> {
        let divided = [self.classes_table(), self.steps_table()];
        let tables = divided.into_iter().chain([self.slow_table(), self.cores_table()]);
        // Hosts alone have no parts, and a run without slow steps has nothing to explain.
        tables.filter(|table| !table.rows.is_empty()).collect()
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Measured }
}

/// A column for each part.
fn part_columns() -> impl Iterator<Item = Column> {
    StepPart::ALL.into_iter().map(|part| column(part.id(), part.title(), Unit::Picoseconds))
}

fn part_cells(core: &CoreParts) -> impl Iterator<Item = Cell> {
    std::iter::once(Cell::Int(core.time_ps)).chain(StepPart::ALL.map(|part| Cell::Int(core.parts.get(part))))
}

/// Says what an instant counts as, once for all tables.
const PRIORITY: &str = "An instant belongs to the innermost op; where none runs, to a collective in flight (exposed \
                        comm), else it is idle. Parts add up to the step.";

impl StepPartsReport {
    fn classes_table(&self) -> Table {
        let mut notes: Vec<String> = Vec::new();
        if self.classes.len() > 1 {
            notes.extend(self.classes.iter().map(|class| format!("Class {}: {}.", class.class, class.title)));
        }
        notes.push("Over counted steps. Means add up to the step; medians need not.".to_owned());
        notes.push(PRIORITY.to_owned());
        Table {
            id: "step_class_parts",
            title: "Where the time of a step goes".to_owned(),
            columns: vec![
                column("class", "Class", Unit::None),
                column("part", "Part", Unit::None),
                column("mean_ps", "Slowest core, mean", Unit::Picoseconds),
                column("percent", "Of step", Unit::Percent),
                column("median_ps", "Median", Unit::Picoseconds),
                column("cores_mean_ps", "All cores, mean", Unit::Picoseconds),
                column("steps", "Steps", Unit::Count),
            ],
            rows: self.classes.iter().flat_map(class_rows).collect(),
            notes,
        }
    }

    fn steps_table(&self) -> Table {
        let row = |step: &DividedStep| {
            let core = step.critical()?;
            let tail = [Cell::text(&*step.class), Cell::text(&*core.core)];
            let head = std::iter::once(Cell::count(u64::from(step.step)));
            Some(head.chain(part_cells(core)).chain(tail).collect())
        };
        let head = [column("step", "Step", Unit::None), column("time_ps", "Time", Unit::Picoseconds)];
        let tail = [column("class", "Class", Unit::None), column("core", "Slowest", Unit::None)];
        Table {
            id: "step_parts",
            title: "Each step on the core that took longest".to_owned(),
            columns: head.into_iter().chain(part_columns()).chain(tail).collect(),
            rows: self.steps.iter().filter_map(row).collect(),
            notes: Vec::new(),
        }
    }

    fn slow_table(&self) -> Table {
        let mut notes: Vec<String> = self.slow.iter().map(|slow| format!("{}.", sentence(&slow.statement))).collect();
        if self.slow_not_explained > 0 {
            notes.push(format!("{} more slow steps are not explained.", self.slow_not_explained));
        }
        notes.push("Rows of the device add up to the difference; ops are inside of them. What the host did is by another clock.".to_owned());
        Table {
            id: "slow_steps",
            title: "Slow steps beside the median step of their class".to_owned(),
            columns: vec![
                column("step", "Step", Unit::None),
                column("median_step", "Beside", Unit::None),
                column("where", "Where", Unit::None),
                column("what", "What", Unit::None),
                column("change_ps", "More", Unit::Picoseconds),
                column("percent", "Of difference", Unit::Percent),
            ],
            rows: self.slow.iter().flat_map(slow_rows).collect(),
            notes,
        }
    }

    /// Every core of every step, for export.
    fn cores_table(&self) -> Table {
        let rows = self.steps.iter().flat_map(|step| {
            step.cores.iter().map(|core| {
                let head = [Cell::count(u64::from(step.step)), Cell::text(&*core.core)];
                head.into_iter().chain(part_cells(core)).collect()
            })
        });
        let head = [
            column("step", "Step", Unit::None),
            column("core", "Device", Unit::None),
            column("time_ps", "Time", Unit::Picoseconds),
        ];
        Table {
            id: "step_core_parts",
            title: "Each step on each device".to_owned(),
            columns: head.into_iter().chain(part_columns()).collect(),
            rows: rows.collect(),
            notes: Vec::new(),
        }
    }
}

/// The whole step, then its parts, those left out that no step has.
fn class_rows(class: &ClassParts) -> Vec<Vec<Cell>> {
    let row = |title: &str, mean: f64, median: Cell, cores: f64| {
        let percent = (class.time_ps > 0.0).then(|| 100.0 * mean / class.time_ps);
        let head = [Cell::text(class.class.clone()), Cell::text(title), Cell::Float(mean), Cell::maybe(percent)];
        head.into_iter().chain([median, Cell::Float(cores), Cell::count(class.steps as u64)]).collect()
    };
    let part = |part: &PartTimes| {
        let is_there = part.mean_ps > 0.0 || part.cores_mean_ps > 0.0;
        is_there.then(|| row(part.part.title(), part.mean_ps, Cell::Float(part.median_ps), part.cores_mean_ps))
    };
    let cores = class.parts.iter().map(|part| part.cores_mean_ps).sum::<f64>();
    let mut rows = vec![row("whole step", class.time_ps, Cell::Float(class.median_ps), cores)];
    rows.extend(class.parts.iter().filter_map(part));
    rows
}

/// Changes below this share of the difference share a row.
const SMALL_CHANGE: f64 = 0.001;

fn slow_rows(slow: &Explanation) -> Vec<Vec<Cell>> {
    let row = |place: &str, what: String, change: i64| {
        let percent = (slow.longer_ps > 0).then(|| 100.0 * change as f64 / slow.longer_ps as f64);
        let step = |number: u32| Cell::count(u64::from(number));
        let head = [step(slow.step), step(slow.median_step), Cell::text(place), Cell::Text(what)];
        head.into_iter().chain([Cell::Int(change), Cell::maybe(percent)]).collect::<Vec<_>>()
    };
    let mut rows = vec![row("step", "whole step".to_owned(), slow.longer_ps)];
    let is_small = |ps: i64| (ps.abs() as f64) < SMALL_CHANGE * slow.longer_ps as f64;
    let mut rest = 0_i64;
    for change in &slow.parts {
        if is_small(change.change_ps) {
            rest = rest.saturating_add(change.change_ps);
        } else {
            rows.push(row("device", change.part.title().to_owned(), change.change_ps));
        }
    }
    if rest != 0 {
        rows.push(row("device", "all else".to_owned(), rest));
    }
    let op = |change: &StepOpChange| row("op", format!("{} ({})", change.op, change.part.title()), change.change_ps);
    rows.extend(slow.ops.iter().filter(|change| !is_small(change.change_ps)).map(op));
    rows.extend(
        slow.host
            .iter()
            .filter(|change| !is_small(change.change_ps))
            .map(|change| row("host", change.phase.title().to_owned(), change.change_ps)),
    );
    rows
}

/// With a capital letter.
pub(crate) fn sentence(clause: &str) -> String {
    let mut letters = clause.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}
