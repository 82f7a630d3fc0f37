//! The op report as tables.

use super::{GroupRow, OpRow, OpsReport};
use crate::engine::{Cell, Column, Provenance, Table, Tabular, counted};
use crate::math::unit::Unit;

impl Tabular for OpsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.group_table(), self.time_table(), self.work_table()];
        if self.cores.len() > 1 {
            tables.push(self.core_table());
        }
        tables
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

/// Columns of text and measured time.
fn measured(id: &'static str, title: &'static str, unit: Unit) -> Column {
    column(id, title, unit, Provenance::Measured)
}

fn count(value: Option<u64>) -> Cell {
    value.map_or(Cell::Missing, Cell::count)
}

fn text(value: Option<&str>) -> Cell {
    value.filter(|text| !text.is_empty()).map_or(Cell::Missing, Cell::text)
}

impl OpsReport {
    /// Time by group, idle time last.
    fn group_table(&self) -> Table {
        let columns = vec![
            measured("group", "Group", Unit::None),
            measured("ops", "Ops", Unit::Count),
            measured("occurrences", "Executions", Unit::Count),
            measured("self_time_ps", "Self time", Unit::Picoseconds),
            measured("self_of_op_time_percent", "of op time", Unit::Percent),
            measured("self_of_total_percent", "of window", Unit::Percent),
        ];
        let row = |row: &GroupRow| {
            vec![
                Cell::text(row.group.title()),
                Cell::count(row.ops),
                Cell::count(row.occurrences),
                Cell::Int(row.self_time_ps),
                Cell::maybe(row.self_of_op_time_percent),
                Cell::maybe(row.self_of_total_percent),
            ]
        };
        let mut rows: Vec<_> = self.groups.iter().map(row).collect();
        rows.push(vec![
            Cell::text("Idle"),
            Cell::Missing,
            Cell::Missing,
            Cell::Int(self.idle_ps),
            Cell::Missing,
            Cell::maybe(super::percent(self.idle_ps, self.total_time_ps)),
        ]);
        let notes = vec![format!(
            "op time: self time of all ops of {}; window: from the first op of each device to the end of its last",
            counted(self.cores.len(), "device")
        )];
        Table { id: "op_groups", title: "Time by kind of op".to_owned(), columns, rows, notes }
    }

    /// Times, rates and verdict of each op; idle time in its place among them.
    fn time_table(&self) -> Table {
        let rate_provenance = Provenance::of_peak(self.peaks.flops);
        let (hbm_rate, bound_provenance) = if self.hbm_is_estimated {
            (Provenance::Inferred, Provenance::Inferred)
        } else {
            (Provenance::Derived, rate_provenance)
        };
        let columns = vec![
            measured("name", "Op", Unit::None),
            measured("self_time_ps", "Self time", Unit::Picoseconds),
            measured("self_of_total_percent", "of window", Unit::Percent),
            measured("occurrences", "Runs", Unit::Count),
            column("flops_percent", "of FLOP/s", Unit::Percent, rate_provenance),
            column("hbm_percent", "of HBM", Unit::Percent, bound_provenance),
            column("bound_by", "Bound by", Unit::None, bound_provenance),
            measured("category", "Category", Unit::None),
            measured("self_of_op_time_percent", "of op time", Unit::Percent),
            measured("mean_time_ps", "Mean", Unit::Picoseconds),
            measured("min_time_ps", "Least", Unit::Picoseconds),
            measured("total_time_ps", "Total time", Unit::Picoseconds),
            column("flops_per_second", "FLOP/s", Unit::FlopPerSecond, Provenance::Derived),
            column("hbm_bytes_per_second", "HBM", Unit::BytesPerSecond, hbm_rate),
            column("efficiency_percent", "of roofline", Unit::Percent, bound_provenance),
            measured("program", "Program", Unit::None),
            column("source", "Source", Unit::None, Provenance::Profile),
            column("framework_name", "Framework op", Unit::None, Provenance::Profile),
        ];
        let mut rows: Vec<_> = self.rows.iter().map(time_row).collect();
        let idle_at = self.rows.at_least(self.idle_ps);
        let idle_cell = |column: &Column| match column.id {
            "name" | "category" => Cell::text("IDLE"),
            "self_time_ps" | "total_time_ps" => Cell::Int(self.idle_ps),
            "self_of_total_percent" => Cell::maybe(super::percent(self.idle_ps, self.total_time_ps)),
            "occurrences" => Cell::Int(0),
            _ => Cell::Missing,
        };
        let idle = columns.iter().map(idle_cell).collect();
        rows.insert(idle_at, idle);
        let mut notes = vec![
            format!("of FLOP/s, of HBM: of the peaks {}; {}", self.peaks.flops_text(), self.peaks.hbm_text()),
            "rates divide the compiler's costs by total time; halves of asynchronous ops have none".to_owned(),
        ];
        notes.extend(self.notes.iter().cloned());
        Table { id: "ops", title: "Ops by self time".to_owned(), columns, rows, notes }
    }

    /// What the compiler says each op does.
    fn work_table(&self) -> Table {
        let cost = |id, title, unit| column(id, title, unit, Provenance::StaticCost);
        let columns = vec![
            measured("name", "Op", Unit::None),
            cost("flops", "Operations", Unit::Flop),
            cost("model_flops", "Model operations", Unit::Flop),
            cost("bytes", "Bytes", Unit::Bytes),
            cost("hbm_read_bytes", "HBM read", Unit::Bytes),
            cost("hbm_write_bytes", "HBM written", Unit::Bytes),
            cost("vmem_read_bytes", "VMEM read", Unit::Bytes),
            cost("vmem_write_bytes", "VMEM written", Unit::Bytes),
            cost("cmem_read_bytes", "CMEM read", Unit::Bytes),
            cost("cmem_write_bytes", "CMEM written", Unit::Bytes),
            cost("flops_per_byte", "Intensity", Unit::FlopPerByte),
            cost("flops_per_hbm_byte", "HBM intensity", Unit::FlopPerByte),
            column("bytes_per_second", "Bandwidth", Unit::BytesPerSecond, Provenance::Derived),
            column("vmem_read_percent", "of peak VMEM read", Unit::Percent, Provenance::Derived),
            column("vmem_write_percent", "of peak VMEM write", Unit::Percent, Provenance::Derived),
            measured("dma_stall_ps", "DMA stall", Unit::Picoseconds),
            measured("program", "Program", Unit::None),
        ];
        let rows = self.rows.iter().map(work_row).collect();
        Table { id: "op_costs", title: "Work of each op, all executions".to_owned(), columns, rows, notes: Vec::new() }
    }

    fn core_table(&self) -> Table {
        let columns = vec![
            measured("device", "Device", Unit::None),
            measured("total_time_ps", "Window", Unit::Picoseconds),
            measured("op_time_ps", "Op time", Unit::Picoseconds),
            measured("idle_ps", "Idle", Unit::Picoseconds),
            measured("busy_ps", "Busy", Unit::Picoseconds),
            measured("wait_ps", "Waiting", Unit::Picoseconds),
        ];
        let times = |times: [i64; 5]| times.map(Cell::Int);
        let rows = self.cores.iter().map(|core| {
            let times = times([core.total_time_ps, core.op_time_ps, core.idle_ps, core.busy_ps, core.wait_ps]);
            std::iter::once(Cell::text(&core.name)).chain(times).collect()
        });
        let rows = rows.collect();
        Table { id: "op_devices", title: "Time by device".to_owned(), columns, rows, notes: Vec::new() }
    }
}

fn time_row(row: OpRow<'_>) -> Vec<Cell> {
    let rates = row.rates();
    vec![
        Cell::text(row.name()),
        Cell::Int(row.self_time_ps()),
        Cell::maybe(row.self_of_total_percent()),
        Cell::count(row.occurrences()),
        Cell::maybe(rates.flops_percent),
        Cell::maybe(rates.hbm_percent),
        rates.bound_by.map_or(Cell::Missing, |limit| Cell::text(limit.title())),
        text(Some(row.category())),
        Cell::maybe(row.self_of_op_time_percent()),
        Cell::Float(row.mean_time_ps()),
        row.min_time_ps().map_or(Cell::Missing, Cell::Int),
        Cell::Int(row.total_time_ps()),
        Cell::maybe(rates.flops_per_second),
        Cell::maybe(rates.hbm_bytes_per_second),
        Cell::maybe(rates.efficiency_percent),
        text(Some(row.program())),
        text(row.source()),
        text(row.framework_name()),
    ]
}

fn work_row(row: OpRow<'_>) -> Vec<Cell> {
    let (costs, rates) = (row.costs(), row.rates());
    let memory = |get: fn(&super::MemoryBytes) -> u64| count(costs.memory.as_ref().map(get));
    vec![
        Cell::text(row.name()),
        count(costs.flops),
        count(costs.model_flops),
        count(costs.bytes),
        memory(|memory| memory.hbm_read_bytes),
        memory(|memory| memory.hbm_write_bytes),
        memory(|memory| memory.vmem_read_bytes),
        memory(|memory| memory.vmem_write_bytes),
        memory(|memory| memory.cmem_read_bytes),
        memory(|memory| memory.cmem_write_bytes),
        Cell::maybe(rates.flops_per_byte),
        Cell::maybe(rates.flops_per_hbm_byte),
        Cell::maybe(rates.bytes_per_second),
        Cell::maybe(rates.vmem_read_percent),
        Cell::maybe(rates.vmem_write_percent),
        row.dma_stall_ps().map_or(Cell::Missing, Cell::Int),
        text(Some(row.program())),
    ]
}
