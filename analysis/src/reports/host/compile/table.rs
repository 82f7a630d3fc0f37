//! The compile report as tables.

use std::collections::BTreeMap;

use trace_model::Picos;

use super::compilations::{Compilation, PhaseTime};
use super::{CompileReport, CompiledFunction, ShapeChange};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::facts::host_class::HostClass;
use crate::math::unit::Unit;

impl Tabular for CompileReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.summary(), self.function_table(), self.list_table()];
        tables.extend(self.lazy.iter().flat_map(super::LazyTensors::tables));
        if !self.tf_functions.is_empty() {
            tables.push(super::tf::table(&self.tf_functions));
        }
        tables
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { id, title, unit, provenance: Provenance::Measured }
}

fn inferred(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { provenance: Provenance::Inferred, ..column(id, title, unit) }
}

fn derived(id: &'static str, title: &'static str, unit: Unit) -> Column {
    Column { provenance: Provenance::Derived, ..column(id, title, unit) }
}

fn time(ps: Option<i64>) -> Cell {
    ps.map_or(Cell::Missing, Cell::Int)
}

fn text(text: Option<impl Into<String>>) -> Cell {
    text.map_or(Cell::Missing, Cell::text)
}

impl CompileReport {
    fn summary(&self) -> Table {
        let phases = [
            ("all phases", self.wall_ps, None),
            ("compile", self.compile_ps, Some(HostClass::Compile)),
            ("lower", self.lower_ps, Some(HostClass::Lower)),
            ("trace", self.trace_ps, Some(HostClass::Trace)),
            ("load to device", self.load_ps, Some(HostClass::Load)),
        ];
        let share = |ps: Option<i64>| {
            Cell::maybe(ps.filter(|_| self.window_ps > 0).map(|ps| 100.0 * ps as f64 / self.window_ps as f64))
        };
        let row = |(name, ps, phase): &(&str, Option<i64>, Option<HostClass>)| {
            let own = |thread: &&PhaseTime| phase.is_none_or(|phase| thread.phase == phase);
            let threads: Vec<&PhaseTime> = self.threads.iter().filter(own).collect();
            let sum = ps.map(|_| threads.iter().map(|thread| thread.time_ps).sum::<Picos>().ps());
            let names = phase.filter(|_| !threads.is_empty()).map(|_| thread_names(&threads));
            vec![Cell::text(*name), time(*ps), share(*ps), time(sum), text(names)]
        };
        let mut rows: Vec<Vec<Cell>> = phases.iter().map(row).collect();
        let exposed = self.exposed_ps;
        rows.push(vec![Cell::text("while no device ran"), time(exposed), share(exposed), Cell::Missing, Cell::Missing]);
        let mut notes = vec![
            format!("{}.", self.statement),
            "Time is the union over host threads; a phase has what the ones above it leave.".to_owned(),
        ];
        notes.extend(self.notes.iter().map(|note| sentence(note)));
        Table {
            id: "compile",
            title: "Compilation".to_owned(),
            columns: vec![
                column("phase", "Phase", Unit::None),
                column("wall_ps", "Time", Unit::Picoseconds),
                column("share_percent", "Of window", Unit::Percent),
                column("thread_time_ps", "On all threads", Unit::Picoseconds),
                column("threads", "Threads", Unit::None),
            ],
            rows,
            notes,
        }
    }

    fn function_table(&self) -> Table {
        Table {
            id: "compiled_functions",
            title: "Compiled functions".to_owned(),
            columns: vec![
                column("function", "Function", Unit::None),
                column("module", "Module", Unit::None),
                column("compilations", "Compiled", Unit::Count),
                inferred("recompilations", "Again", Unit::Count),
                column("calls", "Calls", Unit::Count),
                column("programs", "Programs (runs)", Unit::None),
                column("wall_ps", "Time", Unit::Picoseconds),
                derived("wall_steps", "In steps", Unit::None),
                column("exposed_ps", "No device ran", Unit::Picoseconds),
                column("longest_ps", "Longest", Unit::Picoseconds),
                column("first_ps", "First at", Unit::Picoseconds),
                column("last_ps", "Last at", Unit::Picoseconds),
                inferred("changed", "Changed", Unit::None),
            ],
            rows: self.functions.iter().map(function_row).collect(),
            notes: if self.functions.iter().any(|function| function.wall_steps.is_some()) {
                vec!["In steps: the time as a number of steps of median length that compile nothing.".to_owned()]
            } else {
                Vec::new()
            },
        }
    }

    fn list_table(&self) -> Table {
        let mut notes = Vec::new();
        if self.list.iter().any(|row| row.again.is_some() && row.ops_alike_percent.is_none()) {
            notes.push(
                "Compiled again is by the name of the function where the ops of both programs are not known."
                    .to_owned(),
            );
        }
        if self.list.iter().any(|row| row.again.is_some() && row.changes.is_empty()) {
            notes
                .push("Where nothing is said to have changed, no shape of both programs is in the capture.".to_owned());
        }
        Table {
            id: "compilations",
            title: "Every compilation".to_owned(),
            columns: vec![
                column("start_ps", "Begin", Unit::Picoseconds),
                column("function", "Function", Unit::None),
                column("place", "Where", Unit::None),
                column("wall_ps", "Time", Unit::Picoseconds),
                column("trace_ps", "Trace", Unit::Picoseconds),
                column("lower_ps", "Lower", Unit::Picoseconds),
                column("compile_ps", "Compile", Unit::Picoseconds),
                column("load_ps", "Load", Unit::Picoseconds),
                column("thread_time_ps", "On all threads", Unit::Picoseconds),
                column("call_ps", "Whole call", Unit::Picoseconds),
                column("exposed_ps", "No device ran", Unit::Picoseconds),
                derived("step_extra_ps", "Step longer by", Unit::Picoseconds),
                inferred("program", "Program", Unit::None),
                inferred("again", "Again because", Unit::None),
                derived("ops_alike_percent", "Ops alike", Unit::Percent),
                inferred("changed", "Changed", Unit::None),
                column("changed_in", "Seen in", Unit::None),
            ],
            rows: self.list.iter().map(compilation_row).collect(),
            notes,
        }
    }
}

/// First letter large, full stop at the end.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}.", first.chain(letters).collect::<String>())
}

/// Threads by time; pools without their numbers.
fn thread_names(threads: &[&PhaseTime]) -> String {
    let mut by_name: BTreeMap<&str, (i64, usize)> = BTreeMap::new();
    for thread in threads {
        let name = thread.thread.split('/').next().unwrap_or(&thread.thread);
        let entry = by_name.entry(name).or_default();
        *entry = (entry.0.saturating_add(thread.time_ps), entry.1 + 1);
    }
    let mut names: Vec<_> = by_name.into_iter().collect();
    names.sort_by_key(|&(name, (time, _))| (std::cmp::Reverse(time), name));
    let shown = |(name, (_, count)): (&str, (i64, usize))| {
        if count > 1 { format!("{name} ×{count}") } else { name.to_owned() }
    };
    names.into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The first change, and how many more there are.
fn changed(changes: &[ShapeChange]) -> Cell {
    let more = match changes.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    text(changes.first().map(|first| format!("{}{more}", first.sentence())))
}

fn function_row(function: &CompiledFunction) -> Vec<Cell> {
    let programs = function.programs.iter().map(|run| format!("{} ({})", run.program, run.executions));
    let programs: Vec<_> = programs.collect();
    vec![
        Cell::text(function.function.clone()),
        text(function.module.clone()),
        Cell::count(function.compilations),
        Cell::count(function.recompilations),
        function.calls.map_or(Cell::Missing, Cell::count),
        text((!programs.is_empty()).then(|| programs.join(", "))),
        time(function.first_ps.map(|_| function.wall_ps)),
        Cell::maybe(function.wall_steps.filter(|_| function.first_ps.is_some())),
        time(function.exposed_ps),
        time((function.compilations > 0).then_some(function.longest_ps)),
        time(function.first_ps),
        time(function.last_ps),
        changed(&function.changes),
    ]
}

fn compilation_row(row: &Compilation) -> Vec<Cell> {
    vec![
        Cell::Int(row.start_ps),
        Cell::text(row.function.clone()),
        text(row.place.map(super::CompilePlace::title)),
        Cell::Int(row.wall_ps),
        time(row.trace_ps),
        time(row.lower_ps),
        Cell::Int(row.compile_ps),
        time(row.load_ps),
        Cell::Int(row.thread_time_ps),
        time(row.call_ps),
        time(row.exposed_ps),
        time(row.step_extra_ps),
        text(row.program.clone()),
        text(row.again.map(super::CompileEvidence::title)),
        Cell::maybe(row.ops_alike_percent),
        changed(&row.changes),
        text(row.changed_in.map(super::ChangeSource::title)),
    ]
}
