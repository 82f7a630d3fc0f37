//! The tables of the op report.

use engine::{Cell, CellType as _, Column, Provenance, Table, Tabular, counted};
use math::unit::Unit;
use trace_model::Picos;

use super::report::{GroupRow, OpsReport};
use super::{BoundBy, OpCosts};

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
        let self_time = |row: Option<&GroupRow>| row.map_or(self.idle_ps, |row| row.self_time_ps);
        Table::of("op_groups", "Time by kind of op", self.groups.iter().map(Some).chain([None]))
            .measured("group", "Group", Unit::None, |row| row.map_or("Idle", |row| row.group.title()))
            .measured("ops", "Ops", Unit::Count, |row| Some(row?.ops))
            .measured("occurrences", "Executions", Unit::Count, |row| Some(row?.occurrences))
            .derived("self_time_each_ps", over.self_time_title(), Unit::Picoseconds, move |row| {
                over.each_ps(Picos::from_ps(self_time(row)))
            })
            .measured("self_of_op_time_percent", "of op time", Unit::Percent, |row| row?.self_of_op_time_percent)
            .measured("self_of_total_percent", "of window", Unit::Percent, |row| {
                row.map_or_else(|| self.idle_percent(), |row| row.self_of_total_percent)
            })
            .measured("self_time_ps", "Self time (sum)", Unit::Picoseconds, self_time)
            .note(over.note())
            .note(format!(
                "op time: self time of all ops of {}; window: from the first op of each device to the end of its last, in a \
                 range or in steps of the ops that begin there",
                counted(self.cores.len(), "device")
            ))
            .build()
    }

    fn idle_percent(&self) -> Option<f64> {
        super::percent(self.idle_ps, self.total_time_ps)
    }

    /// Times, rates and limits of each op; idle time is in its place among them.
    #[expect(clippy::too_many_lines, reason = "one list of columns")]
    fn time_table(&self) -> Table {
        let rate_provenance = Provenance::of_peak(self.peaks.flops);
        let (hbm_rate, bound_provenance) = if self.hbm_is_estimated {
            (Provenance::Inferred, Provenance::Inferred)
        } else {
            (Provenance::Derived, rate_provenance)
        };
        let over = self.sums_over;
        let mut notes = vec![
            over.note(),
            format!("of FLOP/s, of HBM: {}", self.peaks.shares_text()),
            "rates divide the compiler's costs by total time; halves of asynchronous ops have none"
                .to_owned(),
        ];
        notes.extend(self.notes.iter().cloned());
        let mut table = Table::of("ops", "Ops by self time", &self.rows)
            .measured("name", "Op", Unit::None, |row| &*row.name)
            .derived(
                "self_time_each_ps",
                over.self_time_title(),
                Unit::Picoseconds,
                |row| over.each_ps(Picos::from_ps(row.self_time_ps)),
            )
            .measured("self_of_total_percent", "of window", Unit::Percent, |row| {
                row.self_of_total_percent
            })
            .measured("occurrences", "Runs", Unit::Count, |row| row.occurrences)
            .column(
                "flops_percent",
                "of FLOP/s",
                Unit::Percent,
                rate_provenance,
                |row| row.rates.flops_percent,
            )
            .column(
                "hbm_percent",
                "of HBM",
                Unit::Percent,
                bound_provenance,
                |row| row.rates.hbm_percent,
            )
            .column(
                "bound_by",
                "Bound by",
                Unit::None,
                bound_provenance,
                |row| row.rates.bound_by.map(BoundBy::title),
            )
            .measured("category", "Category", Unit::None, |row| {
                Cell::non_empty(&row.category)
            })
            .measured(
                "self_time_ps",
                "Self time (sum)",
                Unit::Picoseconds,
                |row| row.self_time_ps,
            )
            .measured(
                "self_of_op_time_percent",
                "of op time",
                Unit::Percent,
                |row| row.self_of_op_time_percent,
            )
            .measured("mean_time_ps", "Mean", Unit::Picoseconds, |row| {
                row.mean_time_ps
            })
            .measured("min_time_ps", "Least", Unit::Picoseconds, |row| {
                row.min_time_ps
            })
            .measured(
                "total_time_ps",
                "Total time (sum)",
                Unit::Picoseconds,
                |row| row.total_time_ps,
            )
            .derived("flops_per_second", "FLOP/s", Unit::FlopPerSecond, |row| {
                row.rates.flops_per_second
            })
            .column(
                "hbm_bytes_per_second",
                "HBM",
                Unit::BytesPerSecond,
                hbm_rate,
                |row| row.rates.hbm_bytes_per_second,
            )
            .column(
                "efficiency_percent",
                "of roofline",
                Unit::Percent,
                bound_provenance,
                |row| row.rates.efficiency_percent,
            )
            .measured("program", "Program", Unit::None, |row| {
                Cell::non_empty(&row.program)
            })
            .recorded("source", "Source", Unit::None, |row| {
                row.source.as_deref().map(Cell::non_empty)
            })
            .recorded("framework_name", "Framework op", Unit::None, |row| {
                row.framework_name.as_deref().map(Cell::non_empty)
            })
            .notes(notes)
            .build();
        let idle_cell = |column: &Column| match column.id {
            "name" | "category" => Cell::text("IDLE"),
            "self_time_each_ps" => over.each_ps(Picos::from_ps(self.idle_ps)).cell(),
            "self_time_ps" | "total_time_ps" => Cell::Int(self.idle_ps),
            "self_of_total_percent" => self.idle_percent().cell(),
            "occurrences" => Cell::Int(0),
            _ => Cell::Missing,
        };
        let idle = table.columns.iter().map(idle_cell).collect();
        let place = self
            .rows
            .partition_point(|row| row.self_time_ps >= self.idle_ps);
        table.rows.insert(place, idle);
        table
    }

    /// The work of each op according to the compiler.
    fn work_table(&self) -> Table {
        let memory =
            |costs: &OpCosts, get: fn(&super::MemoryBytes) -> u64| costs.memory.as_ref().map(get);
        Table::of("op_costs", "Work of each op, all executions", &self.rows)
            .measured("name", "Op", Unit::None, |row| &*row.name)
            .compiler("flops", "Operations", Unit::Flop, |row| row.costs.flops)
            .compiler("model_flops", "Model operations", Unit::Flop, |row| {
                row.costs.model_flops
            })
            .compiler("bytes", "Bytes", Unit::Bytes, |row| row.costs.bytes)
            .compiler("hbm_read_bytes", "HBM read", Unit::Bytes, |row| {
                memory(&row.costs, |memory| memory.hbm_read_bytes)
            })
            .compiler("hbm_write_bytes", "HBM written", Unit::Bytes, |row| {
                memory(&row.costs, |memory| memory.hbm_write_bytes)
            })
            .compiler("vmem_read_bytes", "VMEM read", Unit::Bytes, |row| {
                memory(&row.costs, |memory| memory.vmem_read_bytes)
            })
            .compiler("vmem_write_bytes", "VMEM written", Unit::Bytes, |row| {
                memory(&row.costs, |memory| memory.vmem_write_bytes)
            })
            .compiler("cmem_read_bytes", "CMEM read", Unit::Bytes, |row| {
                memory(&row.costs, |memory| memory.cmem_read_bytes)
            })
            .compiler("cmem_write_bytes", "CMEM written", Unit::Bytes, |row| {
                memory(&row.costs, |memory| memory.cmem_write_bytes)
            })
            .compiler("flops_per_byte", "Intensity", Unit::FlopPerByte, |row| {
                row.rates.flops_per_byte
            })
            .compiler(
                "flops_per_hbm_byte",
                "HBM intensity",
                Unit::FlopPerByte,
                |row| row.rates.flops_per_hbm_byte,
            )
            .derived(
                "bytes_per_second",
                "Bandwidth",
                Unit::BytesPerSecond,
                |row| row.rates.bytes_per_second,
            )
            .derived(
                "vmem_read_percent",
                "of peak VMEM read",
                Unit::Percent,
                |row| row.rates.vmem_read_percent,
            )
            .derived(
                "vmem_write_percent",
                "of peak VMEM write",
                Unit::Percent,
                |row| row.rates.vmem_write_percent,
            )
            .measured("dma_stall_ps", "DMA stall", Unit::Picoseconds, |row| {
                row.dma_stall_ps
            })
            .measured("program", "Program", Unit::None, |row| {
                Cell::non_empty(&row.program)
            })
            .note(self.sums_over.sums_note())
            .build()
    }

    fn core_table(&self) -> Table {
        Table::of("op_devices", "Time by device", &self.cores)
            .measured("device", "Device", Unit::None, |core| &core.name)
            .measured("total_time_ps", "Window", Unit::Picoseconds, |core| {
                core.total_time_ps
            })
            .measured("op_time_ps", "Op time", Unit::Picoseconds, |core| {
                core.op_time_ps
            })
            .measured("idle_ps", "Idle", Unit::Picoseconds, |core| core.idle_ps)
            .measured("busy_ps", "Busy", Unit::Picoseconds, |core| core.busy_ps)
            .measured("wait_ps", "Waiting", Unit::Picoseconds, |core| core.wait_ps)
            .build()
    }
}
