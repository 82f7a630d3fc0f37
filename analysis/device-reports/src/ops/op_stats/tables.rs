//! The tables of the op report.

use engine::{Cell, CellType as _, Column};
use facts::prelude::*;

use super::report::OpsReport;

impl Tabular for OpsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.group_table(), self.time_table(), self.work_table()];
        if self.cores.len() > 1 {
            tables.push(self.core_table());
        }
        tables
    }
}

impl OpsReport {
    /// Time by group, idle time last.
    fn group_table(&self) -> Table {
        let over = self.sums_over;
        let mut table = Table::of("op_groups", "Time by kind of op", &self.groups)
            .declared(["group", "ops", "occurrences"])
            .derived("self_time_each_ps", over.self_time_title(), Unit::Picoseconds, |row| {
                over.each_ps(row.self_time_ps)
            })
            .declared(["self_of_op_time_percent", "self_of_total_percent"])
            .remaining()
            .note(over.note())
            .note(format!(
                "op time: self time of all ops of {}; window: from the first op of each device to the end of its last, in a \
                 range or in steps of the ops that begin there",
                counted(self.cores.len(), "device")
            ))
            .build();
        table.rows.push(self.idle_cells(&table));
        table
    }

    /// The row of idle time.
    fn idle_cells(&self, table: &Table) -> Vec<Cell> {
        let cell = |column: &Column| match column.id {
            "group" => OpGroup::Idle.cell(),
            "name" | "category" => Cell::text("IDLE"),
            "self_time_each_ps" => self.sums_over.each_ps(self.idle_ps).cell(),
            "self_time_ps" | "total_time_ps" => self.idle_ps.cell(),
            "self_of_total_percent" => Percent::of(self.idle_ps, self.total_time_ps).cell(),
            "occurrences" if table.id == "ops" => Cell::Int(0),
            _ => Cell::Missing,
        };
        table.columns.iter().map(cell).collect()
    }

    /// Times, rates and limits of each op; idle time is in its place among them.
    fn time_table(&self) -> Table {
        let over = self.sums_over;
        let mut notes = vec![
            over.note(),
            format!("of FLOP/s, of HBM: {}", self.peaks.shares_text()),
            "rates divide the compiler's costs by total time; halves of asynchronous ops have none"
                .to_owned(),
        ];
        notes.extend(self.notes.iter().cloned());
        let mut table = Table::of("ops", "Ops by self time", &self.rows)
            .peak(Provenance::of_peak(self.peaks.flops))
            .declared(["name"])
            .derived(
                "self_time_each_ps",
                over.self_time_title(),
                Unit::Picoseconds,
                |row| over.each_ps(row.self_time_ps),
            )
            .declared([
                "self_of_total_percent",
                "occurrences",
                "flops_percent",
                "hbm_percent",
                "bound_by",
                "category",
                "self_time_ps",
                "self_of_op_time_percent",
                "mean_time_ps",
                "min_time_ps",
                "total_time_ps",
                "flops_per_second",
                "hbm_bytes_per_second",
                "efficiency_percent",
                "program",
                "source",
                "framework_name",
            ])
            .inferred_if(
                self.hbm_is_estimated,
                [
                    "hbm_percent",
                    "bound_by",
                    "hbm_bytes_per_second",
                    "efficiency_percent",
                ],
            )
            .notes(notes)
            .build();
        let place = self
            .rows
            .partition_point(|row| row.self_time_ps >= self.idle_ps);
        table.rows.insert(place, self.idle_cells(&table));
        table
    }

    /// The work of each op according to the compiler.
    fn work_table(&self) -> Table {
        Table::of("op_costs", "Work of each op, all executions", &self.rows)
            .declared([
                "name",
                "flops",
                "model_flops",
                "bytes",
                "hbm_read_bytes",
                "hbm_write_bytes",
                "vmem_read_bytes",
                "vmem_write_bytes",
                "cmem_read_bytes",
                "cmem_write_bytes",
                "flops_per_byte",
                "flops_per_hbm_byte",
                "bytes_per_second",
                "vmem_read_percent",
                "vmem_write_percent",
                "dma_stall_ps",
                "program",
            ])
            .note(self.sums_over.sums_note())
            .build()
    }

    fn core_table(&self) -> Table {
        Table::of("op_devices", "Time by device", &self.cores)
            .remaining()
            .build()
    }
}
