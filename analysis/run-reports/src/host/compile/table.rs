//! The tables of the compile report.

use std::collections::BTreeMap;

use engine::{Cell, Table, Tabular};
use facts::host_class::HostClass;
use math::unit::Unit;
use trace_model::Picos;

use super::compilations::PhaseTime;
use super::{CompileReport, CompiledFunction, ShapeChange};

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
            (self.window_ps > 0).then_some(100.0 * ps? as f64 / self.window_ps as f64)
        };
        let row = |(name, ps, phase): (&'static str, Option<i64>, Option<HostClass>)| {
            let own = |thread: &&PhaseTime| phase.is_none_or(|phase| thread.phase == phase);
            let threads: Vec<&PhaseTime> = self.threads.iter().filter(own).collect();
            let sum = ps.map(|_| {
                threads
                    .iter()
                    .map(|thread| thread.time_ps)
                    .sum::<Picos>()
                    .ps()
            });
            (
                name,
                ps,
                sum,
                phase
                    .filter(|_| !threads.is_empty())
                    .map(|_| thread_names(&threads)),
            )
        };
        let mut rows: Vec<_> = phases.into_iter().map(row).collect();
        rows.push(("while no device ran", self.exposed_ps, None, None));
        let mut notes = vec![
            format!("{}.", self.statement),
            "Time is the union over host threads; overlapping time counts for the phase listed first.".to_owned(),
        ];
        notes.extend(self.notes.iter().map(|note| sentence(note)));
        Table::of("compile", "Compilation", &rows)
            .measured("phase", "Phase", Unit::None, |(phase, ..)| *phase)
            .measured("wall_ps", "Time", Unit::Picoseconds, |&(_, wall, ..)| wall)
            .measured(
                "share_percent",
                "Of window",
                Unit::Percent,
                |&(_, wall, ..)| share(wall),
            )
            .measured(
                "thread_time_ps",
                "On all threads",
                Unit::Picoseconds,
                |&(.., sum, _)| sum,
            )
            .measured("threads", "Threads", Unit::None, |(.., names)| names)
            .notes(notes)
            .build()
    }

    fn function_table(&self) -> Table {
        let programs = |function: &CompiledFunction| {
            let runs = function
                .programs
                .iter()
                .map(|run| format!("{} ({})", run.program, run.executions));
            Cell::non_empty(&runs.collect::<Vec<_>>().join(", "))
        };
        let notes = self
            .functions
            .iter()
            .any(|function| function.wall_steps.is_some())
            .then(|| {
                "In steps: the time as a number of steps of median length that compile nothing."
                    .to_owned()
            });
        Table::of("compiled_functions", "Compiled functions", &self.functions)
            .measured("function", "Function", Unit::None, |function| {
                &function.function
            })
            .measured("module", "Module", Unit::None, |function| &function.module)
            .measured("compilations", "Compiled", Unit::Count, |function| {
                function.compilations
            })
            .inferred("recompilations", "Again", Unit::Count, |function| {
                function.recompilations
            })
            .measured("calls", "Calls", Unit::Count, |function| function.calls)
            .measured("programs", "Programs (runs)", Unit::None, programs)
            .measured("wall_ps", "Time", Unit::Picoseconds, |function| {
                function.first_ps.map(|_| function.wall_ps)
            })
            .derived("wall_steps", "In steps", Unit::None, |function| {
                function.wall_steps.filter(|_| function.first_ps.is_some())
            })
            .measured(
                "exposed_ps",
                "No device ran",
                Unit::Picoseconds,
                |function| function.exposed_ps,
            )
            .measured("longest_ps", "Longest", Unit::Picoseconds, |function| {
                (function.compilations > 0).then_some(function.longest_ps)
            })
            .measured("first_ps", "First at", Unit::Picoseconds, |function| {
                function.first_ps
            })
            .measured("last_ps", "Last at", Unit::Picoseconds, |function| {
                function.last_ps
            })
            .inferred("changed", "Changed", Unit::None, |function| {
                changed(&function.changes)
            })
            .notes(notes)
            .build()
    }

    fn list_table(&self) -> Table {
        let mut notes = Vec::new();
        if self
            .list
            .iter()
            .any(|row| row.again.is_some() && row.ops_alike_percent.is_none())
        {
            notes.push(
                "Compiled again is by the name of the function where the ops of both programs are not known."
                    .to_owned(),
            );
        }
        if self
            .list
            .iter()
            .any(|row| row.again.is_some() && row.changes.is_empty())
        {
            notes.push(
                "Where no change is named, the capture does not hold the shapes of both programs."
                    .to_owned(),
            );
        }
        Table::of("compilations", "Every compilation", &self.list)
            .measured("start_ps", "Begin", Unit::Picoseconds, |row| row.start_ps)
            .measured("function", "Function", Unit::None, |row| &row.function)
            .measured("place", "Where", Unit::None, |row| {
                row.place.map(super::CompilePlace::title)
            })
            .measured("wall_ps", "Time", Unit::Picoseconds, |row| row.wall_ps)
            .measured("trace_ps", "Trace", Unit::Picoseconds, |row| row.trace_ps)
            .measured("lower_ps", "Lower", Unit::Picoseconds, |row| row.lower_ps)
            .measured("compile_ps", "Compile", Unit::Picoseconds, |row| {
                row.compile_ps
            })
            .measured("load_ps", "Load", Unit::Picoseconds, |row| row.load_ps)
            .measured(
                "thread_time_ps",
                "On all threads",
                Unit::Picoseconds,
                |row| row.thread_time_ps,
            )
            .measured("call_ps", "Whole call", Unit::Picoseconds, |row| {
                row.call_ps
            })
            .measured("exposed_ps", "No device ran", Unit::Picoseconds, |row| {
                row.exposed_ps
            })
            .derived(
                "step_extra_ps",
                "Step longer by",
                Unit::Picoseconds,
                |row| row.step_extra_ps,
            )
            .inferred("program", "Program", Unit::None, |row| &row.program)
            .inferred("again", "Again because", Unit::None, |row| {
                row.again.map(super::CompileEvidence::title)
            })
            .derived("ops_alike_percent", "Ops alike", Unit::Percent, |row| {
                row.ops_alike_percent
            })
            .inferred("changed", "Changed", Unit::None, |row| {
                changed(&row.changes)
            })
            .measured("changed_in", "Seen in", Unit::None, |row| {
                row.changed_in.map(super::ChangeSource::title)
            })
            .notes(notes)
            .build()
    }
}

/// With a capital first letter and a full stop at the end.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    format!("{}.", first.chain(letters).collect::<String>())
}

/// Threads by time; thread pools without their numbers.
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
        if count > 1 {
            format!("{name} ×{count}")
        } else {
            name.to_owned()
        }
    };
    names.into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// The first change, and the number of further ones.
fn changed(changes: &[ShapeChange]) -> Option<String> {
    let more = match changes.len() {
        0 | 1 => String::new(),
        n => format!(" and {} more", n - 1),
    };
    changes
        .first()
        .map(|first| format!("{}{more}", first.sentence()))
}
