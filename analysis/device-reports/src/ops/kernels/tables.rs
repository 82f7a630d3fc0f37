//! The tables of the kernel report.

use engine::{Columns, TableBuilder};
use facts::prelude::*;

use super::{Kernel, KernelsReport, TRACING};

impl Tabular for KernelsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.kernel_table(), self.timing_table()];
        tables.extend(Table::filled([
            self.cost_table(),
            self.stage_table(),
            self.estimate_table(),
            self.line_table(),
            self.unit_table(),
            self.counter_table(),
        ]));
        if self.ops.len() > self.kernels.len() {
            tables.push(self.op_table());
        }
        tables
    }
}

impl Kernel {
    /// A remark on an estimate of the matrix units that is far below what the operations need.
    pub(super) fn schedule_contradicts(&self) -> Option<String> {
        const FAR: f64 = 2.0;
        let by_schedule = self
            .estimates
            .iter()
            .find(|curve| curve.series == "MXU" && curve.unit.starts_with('%'))?
            .mean;
        let (needed, by) = match self.needed_flops_percent {
            Some(needed) => (needed, "by its shapes"),
            None => (self.flops_percent?, "by its declared costs"),
        };
        (needed.0 > FAR * by_schedule).then(|| {
            format!(
                "MXU of {}: {:.2} by the schedule, but {:.2} of peak FLOP/s {by}. Operations and time are known better \
                 than the schedule, whose samples may miss the product",
                self.kernel,
                Percent(by_schedule),
                needed
            )
        })
    }
}

impl KernelsReport {
    fn kernel_table(&self) -> Table {
        Table::of("kernels", "Kernels (custom calls)", &self.kernels)
            .peak(Provenance::of_peak(self.peaks.flops))
            .declared(["kernel"])
            .derived(
                "time_each_ps",
                self.sums_over.title(["Time a step", "Time a device"]),
                Unit::Picoseconds,
                |kernel| self.sums_over.each_ps(kernel.time_ps),
            )
            .declared([
                "of_op_time_percent",
                "occurrences",
                "mean_time_ps",
                "dma_wait_percent",
                "declared",
                "flops_percent",
                "needed_flops_percent",
                "time_ps",
                "target",
                "ops",
                "min_time_ps",
                "grid_steps",
                "dma_stall_percent",
                "flops_per_second",
                "bytes_per_second",
                "hbm_percent",
                "flops",
                "bytes",
            ])
            .remaining()
            .notes(self.kernel_notes())
            .build()
    }

    fn timing_table(&self) -> Table {
        let is_ranked = self.timings.iter().any(|one| one.verdict.is_some());
        let table = Table::of(
            "kernel_timings",
            "Kernels: time of an execution on the chip",
            &self.timings,
        )
        .declared([
            "kernel",
            "occurrences",
            "median_ps",
            "low_ps",
            "high_ps",
            "spread_percent",
            "gap_ps",
            "over_fastest_percent",
            "verdict",
        ])
        .remaining()
        .note(
            "From and to: 95 % confidence interval of the median; spread: range of the middle half, of the median; gap \
             before: median time since the op before on the same core, dispatch included",
        );
        let table = if is_ranked {
            table.note("over fastest: among kernels whose names differ in numbers only, with the same operands")
        } else {
            table
        };
        table.build()
    }

    fn cost_table(&self) -> Table {
        const SAID: usize = 8;
        let kinds: BTreeSet<_> = self.costs.iter().map(|cost| cost.kind).collect();
        let rules = kinds
            .iter()
            .map(|kind| format!("{}: {}", kind.title(), kind.rule()));
        let findings = self.costs.iter().map(|cost| cost.finding.clone());
        let more = self.costs.len().checked_sub(SAID + 1);
        let mut notes = vec![
            "Costs are of one execution. By shapes: a kernel is known by its name together with the shapes of operands \
             and results, padding included; HBM: each operand read once and each result written once. MFU: model FLOP \
             utilization by the time on the chip, of the peak of bf16, times the published speed of narrower operands. HFU: \
             hardware FLOP utilization, the share of that time in which the matrix units multiply, needed or not"
                .to_owned(),
        ];
        notes.push(match self.peaks.flops {
            Some(_) => format!("peak for bf16 operands: {}", self.peaks.flops_text()),
            None => "no peak is known, so that there is no MFU: name the chip with --device-spec"
                .to_owned(),
        });
        notes.extend(rules);
        notes.extend(findings.take(SAID));
        notes.extend(more.map(|more| {
            format!(
                "the columns say the same of {} that took less time",
                counted(more + 1, "kernel")
            )
        }));
        Table::of(
            "kernel_costs",
            "Kernels: costs by shapes and as declared, of one execution",
            &self.costs,
        )
        .peak(Provenance::of_peak(self.peaks.flops))
        .declared([
            "kernel",
            "kind",
            "limit",
            "flops_percent",
            "causal_percent",
            "hardware_percent",
            "hardware_from",
            "declared_percent",
            "declared_fit",
            "declared_of_shapes_percent",
            "hbm_percent",
        ])
        .remaining()
        .notes(notes)
        .build()
    }

    fn kernel_notes(&self) -> Vec<String> {
        let mut notes = vec![
            self.sums_over.note(),
            "of op time: of the self time of all ops of all devices; DMA wait: ep_wait_in and ep_wait_out of the \
             kernel's time"
                .to_owned(),
        ];
        if self.peaks.flops.is_some() && self.kernels.iter().any(|kernel| kernel.flops.is_some()) {
            notes.push(format!(
                "of FLOP/s: declared operations of the peak {}",
                self.peaks.flops_text()
            ));
        }
        notes.extend(self.hints.iter().cloned());
        if self
            .kernels
            .iter()
            .any(|kernel| kernel.is_pallas && kernel.pipeline.is_none())
        {
            notes.push(TRACING.to_owned());
        }
        notes
    }

    fn stage_table(&self) -> Table {
        let pipelines = self
            .kernels
            .iter()
            .filter_map(|kernel| Some((kernel, kernel.pipeline.as_ref()?)));
        let rows = pipelines.flat_map(|(kernel, pipeline)| {
            pipeline
                .stages
                .iter()
                .map(Some)
                .chain([None])
                .map(move |stage| (kernel, pipeline, stage))
        });
        Table::of("kernel_stages", "Stages of kernels", rows)
            .declared_by(|(kernel, ..)| kernel, ["kernel"])
            .measured("stage", "Stage", Unit::None, |(.., stage)| {
                stage.map_or("(in no scope)", |stage| &stage.stage)
            })
            .measured(
                "self_ps",
                "Self time",
                Unit::Picoseconds,
                |(_, all, stage)| stage.map_or(all.outside_ps, |stage| stage.self_ps),
            )
            .measured(
                "self_percent",
                "of kernel",
                Unit::Percent,
                |(_, all, stage)| {
                    stage.map_or_else(
                        || Percent::of(all.outside_ps, all.time_ps),
                        |stage| stage.self_percent,
                    )
                },
            )
            .measured(
                "total_ps",
                "Total time",
                Unit::Picoseconds,
                |(.., stage)| Some(stage?.total_ps),
            )
            .measured("occurrences", "Times", Unit::Count, |(.., stage)| {
                Some(stage?.occurrences)
            })
            .note("Self times of one kernel add up to the time of its executions with scopes.")
            .note(self.sums_over.sums_note())
            .build()
    }

    /// A table with a row for each part of a kernel.
    fn table_of_parts<'a, P: Columns, const N: usize>(
        &'a self,
        id: &'static str,
        title: &str,
        parts: fn(&Kernel) -> &[P],
        columns: [&str; N],
    ) -> TableBuilder<'a, (&'a Kernel, &'a P)> {
        let of_kernel = move |kernel| parts(kernel).iter().map(move |part| (kernel, part));
        Table::of(id, title, self.kernels.iter().flat_map(of_kernel))
            .declared_by(|(kernel, _)| kernel, ["kernel"])
            .declared_by(|(_, part)| part, columns)
    }

    fn estimate_table(&self) -> Table {
        let title = "What the compiler's schedule of kernels says";
        let columns = ["series", "mean", "max", "unit", "covered_percent"];
        self.table_of_parts("kernel_estimates", title, |kernel| &kernel.estimates, columns)
            .note(
                "LLO estimates follow from the compiler's schedule; they are not measured. Means are over time; \
                 of kernel: time with samples.",
            )
            .notes(self.kernels.iter().filter_map(Kernel::schedule_contradicts))
            .build()
    }

    fn line_table(&self) -> Table {
        let title = "Inside kernels, by the lines of the trace";
        let columns = ["line", "name", "self_ps", "self_percent", "occurrences"];
        self.table_of_parts("kernel_lines", title, |kernel| &kernel.lines, columns)
            .note(
                "Each line divides the kernel anew. The profiler spreads their times over estimated cycles between \
                 markers; of kernel: of the executions that have this line.",
            )
            .note(self.sums_over.sums_note())
            .build()
    }

    fn unit_table(&self) -> Table {
        let title = "Units while stages and lines of kernels run";
        let columns = ["line", "name", "series", "mean", "unit", "covered_percent"];
        self.table_of_parts("kernel_units", title, |kernel| &kernel.units, columns)
            .note("Means over the self time with samples; of it: that time as a share of the self time.")
            .build()
    }

    fn counter_table(&self) -> Table {
        let rows = self
            .kernels
            .iter()
            .flat_map(|kernel| kernel.counters.iter().map(move |counter| (kernel, counter)));
        Table::of("kernel_counters", "Hardware counters of kernels", rows)
            .declared_by(|(kernel, _)| kernel, ["kernel"])
            .recorded("device", "Device", Unit::None, |(_, counter)| &counter.device)
            .declared_by(|(_, counter)| &counter.metric, ["metric", "percent", "achieved", "of"])
            .note("Readings with the name of the kernel or of one of its ops, over the whole capture.")
            .build()
    }

    fn op_table(&self) -> Table {
        Table::of("kernel_ops", "Ops that run kernels", &self.ops)
            .remaining()
            .note(self.sums_over.sums_note())
            .build()
    }
}
