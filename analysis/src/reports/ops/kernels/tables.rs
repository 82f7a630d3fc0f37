//! The kernel report as tables.

use super::{KernelsReport, TRACING};
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

impl Tabular for KernelsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.kernel_table()];
        if self.kernels.iter().any(|kernel| kernel.pipeline.is_some()) {
            tables.push(self.stage_table());
        }
        if self.kernels.iter().any(|kernel| !kernel.estimates.is_empty()) {
            tables.push(self.estimate_table());
        }
        if self.ops.len() > self.kernels.len() {
            tables.push(self.op_table());
        }
        tables
    }
}

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

fn measured(id: &'static str, title: &'static str, unit: Unit) -> Column {
    column(id, title, unit, Provenance::Measured)
}

fn text(value: Option<&String>) -> Cell {
    value.map_or(Cell::Missing, Cell::text)
}

fn time(value: Option<i64>) -> Cell {
    value.map_or(Cell::Missing, Cell::Int)
}

fn count(value: Option<u64>) -> Cell {
    value.map_or(Cell::Missing, Cell::count)
}

impl KernelsReport {
    fn kernel_table(&self) -> Table {
        let derived = |id, title, unit| column(id, title, unit, Provenance::Derived);
        let declared = |id, title, unit| column(id, title, unit, Provenance::StaticCost);
        let columns = vec![
            measured("kernel", "Kernel", Unit::None),
            measured("time_ps", "Time", Unit::Picoseconds),
            measured("of_op_time_percent", "of op time", Unit::Percent),
            measured("occurrences", "Runs", Unit::Count),
            measured("mean_time_ps", "Mean", Unit::Picoseconds),
            measured("dma_wait_percent", "DMA wait", Unit::Percent),
            declared("declared", "Costs", Unit::None),
            column("flops_percent", "of FLOP/s", Unit::Percent, Provenance::of_peak(self.peaks.flops)),
            column("needed_flops_percent", "by shapes", Unit::Percent, Provenance::Inferred),
            column("target", "Calls", Unit::None, Provenance::Profile),
            measured("ops", "Ops", Unit::Count),
            measured("min_time_ps", "Least", Unit::Picoseconds),
            measured("grid_steps", "Grid steps", Unit::Count),
            measured("dma_stall_percent", "DMA stall", Unit::Percent),
            derived("flops_per_second", "FLOP/s", Unit::FlopPerSecond),
            derived("bytes_per_second", "Bytes/s", Unit::BytesPerSecond),
            derived("hbm_percent", "of HBM", Unit::Percent),
            declared("flops", "FLOP", Unit::Flop),
            declared("bytes", "Bytes", Unit::Bytes),
            measured("program", "Program", Unit::None),
            column("source", "Source", Unit::None, Provenance::Profile),
        ];
        let rows = self.kernels.iter().map(|kernel| {
            let pipeline = kernel.pipeline.as_ref();
            vec![
                Cell::text(&kernel.kernel),
                Cell::Int(kernel.time_ps),
                Cell::maybe(kernel.of_op_time_percent),
                Cell::count(kernel.occurrences),
                Cell::Float(kernel.mean_time_ps),
                Cell::maybe(pipeline.and_then(|pipeline| pipeline.dma_wait_percent)),
                Cell::text(kernel.declared.title()),
                Cell::maybe(kernel.flops_percent),
                Cell::maybe(kernel.needed_flops_percent),
                text(kernel.target.as_ref()),
                Cell::count(kernel.ops),
                time(kernel.min_time_ps),
                Cell::maybe(pipeline.and_then(|pipeline| pipeline.grid_steps)),
                Cell::maybe(kernel.dma_stall_percent),
                Cell::maybe(kernel.flops_per_second),
                Cell::maybe(kernel.bytes_per_second),
                Cell::maybe(kernel.hbm_percent),
                count(kernel.flops),
                count(kernel.bytes),
                Cell::text(&kernel.program),
                text(kernel.source.as_ref()),
            ]
        });
        Table {
            id: "kernels",
            title: "Kernels (custom calls)".to_owned(),
            columns,
            rows: rows.collect(),
            notes: self.kernel_notes(),
        }
    }

    fn kernel_notes(&self) -> Vec<String> {
        let mut notes = vec![
            "of op time: of the self time of all ops of all devices; DMA wait: ep_wait_in and ep_wait_out of the \
             kernel's time"
                .to_owned(),
        ];
        if self.kernels.iter().any(|kernel| kernel.flops.is_some()) {
            notes.push(format!("of FLOP/s: declared operations of the peak {}", self.peaks.flops_text()));
        }
        notes.extend(self.hints.iter().cloned());
        if self.kernels.iter().any(|kernel| kernel.is_pallas && kernel.pipeline.is_none()) {
            notes.push(TRACING.to_owned());
        }
        notes
    }

    fn stage_table(&self) -> Table {
        let columns = vec![
            measured("kernel", "Kernel", Unit::None),
            measured("stage", "Stage", Unit::None),
            measured("self_ps", "Self time", Unit::Picoseconds),
            measured("self_percent", "of kernel", Unit::Percent),
            measured("total_ps", "Total time", Unit::Picoseconds),
            measured("occurrences", "Times", Unit::Count),
        ];
        let pipelines = self.kernels.iter().filter_map(|kernel| Some((kernel, kernel.pipeline.as_ref()?)));
        let rows = pipelines.flat_map(|(kernel, pipeline)| {
            let stages = pipeline.stages.iter().map(|stage| {
                vec![
                    Cell::text(&kernel.kernel),
                    Cell::text(&stage.stage),
                    Cell::Int(stage.self_ps),
                    Cell::maybe(stage.self_percent),
                    Cell::Int(stage.total_ps),
                    Cell::count(stage.occurrences),
                ]
            });
            let outside = vec![
                Cell::text(&kernel.kernel),
                Cell::text("(in no scope)"),
                Cell::Int(pipeline.outside_ps),
                Cell::maybe(crate::reports::ops::op_stats::percent(pipeline.outside_ps, pipeline.time_ps)),
                Cell::Missing,
                Cell::Missing,
            ];
            stages.chain([outside]).collect::<Vec<_>>()
        });
        Table {
            id: "kernel_stages",
            title: "Stages of kernels".to_owned(),
            columns,
            rows: rows.collect(),
            notes: vec!["Self times of one kernel add up to the time of its executions with scopes.".to_owned()],
        }
    }

    fn estimate_table(&self) -> Table {
        let estimate = |id, title| column(id, title, Unit::None, Provenance::StaticCost);
        let columns = vec![
            measured("kernel", "Kernel", Unit::None),
            estimate("series", "LLO estimate"),
            estimate("mean", "Mean"),
            estimate("max", "Most"),
            estimate("unit", "Unit"),
            measured("covered_percent", "of kernel", Unit::Percent),
        ];
        let rows = self.kernels.iter().flat_map(|kernel| {
            kernel.estimates.iter().map(|series| {
                vec![
                    Cell::text(&kernel.kernel),
                    Cell::text(&series.series),
                    Cell::Float(series.mean),
                    Cell::Float(series.max),
                    Cell::text(&series.unit),
                    Cell::maybe(series.covered_percent),
                ]
            })
        });
        Table {
            id: "kernel_estimates",
            title: "What the compiler's schedule of kernels says".to_owned(),
            columns,
            rows: rows.collect(),
            notes: vec![
                "LLO estimates follow from the compiler's schedule; they are not measured. Means are over time; \
                 of kernel: time with samples."
                    .to_owned(),
            ],
        }
    }

    fn op_table(&self) -> Table {
        let columns = vec![
            measured("op", "Op", Unit::None),
            measured("kernel", "Kernel", Unit::None),
            measured("time_ps", "Time", Unit::Picoseconds),
            measured("occurrences", "Runs", Unit::Count),
            measured("mean_time_ps", "Mean", Unit::Picoseconds),
            measured("min_time_ps", "Least", Unit::Picoseconds),
            measured("dma_wait_percent", "DMA wait", Unit::Percent),
            column("flops", "FLOP", Unit::Flop, Provenance::StaticCost),
            measured("program", "Program", Unit::None),
            column("source", "Source", Unit::None, Provenance::Profile),
        ];
        let rows = self.ops.iter().map(|op| {
            vec![
                Cell::text(&op.op),
                Cell::text(&op.kernel),
                Cell::Int(op.time_ps),
                Cell::count(op.occurrences),
                Cell::Float(op.mean_time_ps),
                time(op.min_time_ps),
                Cell::maybe(op.dma_wait_percent),
                count(op.flops),
                Cell::text(&op.program),
                text(op.source.as_ref()),
            ]
        });
        Table {
            id: "kernel_ops",
            title: "Ops that run kernels".to_owned(),
            columns,
            rows: rows.collect(),
            notes: Vec::new(),
        }
    }
}
