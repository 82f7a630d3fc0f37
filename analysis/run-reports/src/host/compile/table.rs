//! The tables of the compile report.

use facts::prelude::*;

use super::CompileReport;
use super::compilations::PhaseTime;

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
        let row = |(name, ps, phase): (&'static str, Option<Picos>, Option<HostClass>)| {
            let threads: Vec<&PhaseTime> = self
                .threads
                .iter()
                .filter(|thread| phase.is_none_or(|phase| thread.phase == phase))
                .collect();
            let sum: Option<Picos> = ps.map(|_| threads.iter().map(|thread| thread.time_ps).sum());
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
        notes.extend(self.notes.iter().map(|note| engine::sentence(note)));
        Table::of("compile", "Compilation", &rows)
            .measured("phase", "Phase", Unit::None, |(phase, ..)| *phase)
            .measured("wall_ps", "Time", Unit::Picoseconds, |&(_, wall, ..)| wall)
            .measured(
                "share_percent",
                "Of window",
                Unit::Percent,
                |&(_, wall, ..)| Percent::of(wall?, self.window_ps),
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
        let notes = self
            .functions
            .iter()
            .any(|function| function.wall_steps.is_some())
            .then(|| {
                "In steps: the time as a number of steps of median length that compile nothing."
                    .to_owned()
            });
        Table::of("compiled_functions", "Compiled functions", &self.functions)
            .remaining()
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
            .remaining()
            .notes(notes)
            .build()
    }
}

/// Threads by time; thread pools without their numbers.
fn thread_names(threads: &[&PhaseTime]) -> String {
    let mut by_name: BTreeMap<&str, (Picos, usize)> = BTreeMap::new();
    for thread in threads {
        let name = thread.thread.split('/').next().unwrap_or(&thread.thread);
        let entry = by_name.entry(name).or_default();
        *entry = (entry.0 + thread.time_ps, entry.1 + 1);
    }
    let mut names: Vec<_> = by_name.into_iter().collect();
    names.sort_by_key(|&(name, (time, _))| (Reverse(time), name));
    joined(
        names.into_iter().map(|(name, (_, count))| {
            if count > 1 {
                format!("{name} ×{count}")
            } else {
                name.to_owned()
            }
        }),
        ", ",
    )
}
