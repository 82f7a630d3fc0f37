//! The compile report as tables.

use super::CompileReport;
use crate::report::{Cell, Column, Provenance, Table, Tabular, Unit};

impl Tabular for CompileReport {
    fn tables(&self) -> Vec<Table> {
        let column = |id, title, unit| Column { id, title, unit, provenance: Provenance::Measured };
        let optional = |ps: Option<i64>| ps.map_or(Cell::Missing, Cell::Int);
        let share = |ps: Option<i64>| {
            Cell::maybe(ps.filter(|_| self.window_ps > 0).map(|ps| 100.0 * ps as f64 / self.window_ps as f64))
        };
        let phases = [
            ("all phases", self.wall_ps),
            ("compile", self.compile_ps),
            ("lower", self.lower_ps),
            ("trace", self.trace_ps),
            ("load to device", self.load_ps),
            ("while no device ran", self.exposed_ps),
        ];
        let summary = Table {
            id: "compile",
            title: "Compilation".to_owned(),
            columns: vec![
                column("phase", "Phase", Unit::None),
                column("wall_ps", "Time", Unit::Picoseconds),
                column("share_percent", "Of window", Unit::Percent),
            ],
            rows: phases.iter().map(|&(name, ps)| vec![Cell::text(name), optional(ps), share(ps)]).collect(),
            notes: vec![
                format!("{}.", self.statement),
                "Time is the union over host threads; a phase has what the ones above it leave.".to_owned(),
            ],
        };
        let rows = self.functions.iter().map(|function| {
            vec![
                Cell::text(function.function.clone()),
                function.module.clone().map_or(Cell::Missing, Cell::Text),
                Cell::count(function.compilations),
                Cell::count(function.recompilations),
                Cell::Int(function.wall_ps),
                Cell::Int(function.longest_ps),
                Cell::Int(function.first_ps),
                Cell::Int(function.last_ps),
            ]
        });
        let functions = Table {
            id: "compiled_functions",
            title: "Compiled functions".to_owned(),
            columns: vec![
                column("function", "Function", Unit::None),
                column("module", "Module", Unit::None),
                column("compilations", "Compiled", Unit::Count),
                column("recompilations", "Again", Unit::Count),
                column("wall_ps", "Time", Unit::Picoseconds),
                column("longest_ps", "Longest", Unit::Picoseconds),
                column("first_ps", "First at", Unit::Picoseconds),
                column("last_ps", "Last at", Unit::Picoseconds),
            ],
            rows: rows.collect(),
            notes: Vec::new(),
        };
        vec![summary, functions]
    }
}
