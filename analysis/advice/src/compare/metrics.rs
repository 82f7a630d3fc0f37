//! Every number that a summary can hold, with its unit and meaning: the single list for summaries, for checking gates, for
//! `systole metrics` and for the docs.

use math::unit::Unit;
use serde::Serialize;

use super::summary::Better;

/// What a metric has one value for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricScope {
    /// Each steady step of the main class; `aggregate` turns them into one number.
    Step,
    /// Each steady step of the loop, of all classes.
    LoopStep,
    /// The whole run.
    Run,
    /// Each op in each step; `op` selects ops, which are summed.
    Op,
}

impl MetricScope {
    /// Short description.
    pub fn title(self) -> &'static str {
        match self {
            Self::Step => "step",
            Self::LoopStep => "step of the loop",
            Self::Run => "run",
            Self::Op => "op and step",
        }
    }
}

/// A metric.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SummaryMetric {
    /// Name in configurations: `step.time_ms`. `*` stands for any word.
    pub name: &'static str,
    /// Id in a summary: `step.time_ps`.
    pub id: &'static str,
    /// Display name; empty where that of a report is used.
    pub title: &'static str,
    /// Unit of the number in a summary.
    pub unit: Unit,
    /// Whether lower or higher values are better.
    pub better: Better,
    /// What it has one value for.
    pub per: MetricScope,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// Its meaning.
    pub meaning: &'static str,
}

impl SummaryMetric {
    const fn named(self, name: &'static str) -> Self {
        Self { name, ..self }
    }

    const fn also(self, aliases: &'static [&'static str]) -> Self {
        Self { aliases, ..self }
    }

    /// The metric with this id in a summary.
    pub(super) fn with_id(id: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.id == id)
    }
}

/// A metric from its name without the unit; the unit says how names and ids end.
macro_rules! metric {
    ($per:ident, $stem:literal, ms, $($rest:tt)*) => {
        metric!(@ $per, concat!($stem, "_ms"), concat!($stem, "_ps"), Picoseconds, $($rest)*)
    };
    ($per:ident, $stem:literal, pct, $($rest:tt)*) => {
        metric!(@ $per, concat!($stem, "_pct"), concat!($stem, "_percent"), Percent, $($rest)*)
    };
    ($per:ident, $stem:literal, gib, $($rest:tt)*) => {
        metric!(@ $per, concat!($stem, "_gib"), concat!($stem, "_bytes"), Bytes, $($rest)*)
    };
    ($per:ident, $stem:literal, gb_per_s, $($rest:tt)*) => {
        metric!(
            @ $per, concat!($stem, "_gb_per_s"), concat!($stem, "_bytes_per_second"), BytesPerSecond, $($rest)*
        )
    };
    ($per:ident, $stem:literal, count, $($rest:tt)*) => {
        metric!(@ $per, $stem, $stem, Count, $($rest)*)
    };
    (@ $per:ident, $name:expr, $id:expr, $unit:ident, $better:ident, $title:literal, $meaning:literal) => {
        SummaryMetric {
            name: $name,
            id: $id,
            title: $title,
            unit: Unit::$unit,
            better: Better::$better,
            per: MetricScope::$per,
            aliases: &[],
            meaning: $meaning,
        }
    };
}

/// All metrics.
#[rustfmt::skip]
pub const METRICS: &[SummaryMetric] = &[
    metric!(Step, "step.time", ms, Lower, "Step time", "Time of a step on the device that took longest"),
    metric!(Step, "step.interval", ms, Lower, "Begin to begin", "From the start of a step to the start of the next"),
    metric!(Step, "step.matmul", ms, Lower, "", "Part of the step in matrix multiplications and convolutions"),
    metric!(Step, "step.vector", ms, Lower, "", "Part of the step in elementwise work and reductions"),
    metric!(Step, "step.kernel", ms, Lower, "", "Part of the step in custom kernels (Pallas, Mosaic)"),
    metric!(Step, "step.exposed_comm", ms, Lower, "", "Exposed communication in the step: time in collectives that is not hidden behind compute"),
    metric!(Step, "step.copy_wait", ms, Lower, "", "Part of the step waiting for copies and other asynchronous ops"),
    metric!(Step, "step.idle", ms, Lower, "", "Part of the step in which no op runs and no collective is in flight"),
    metric!(Step, "step.host_io", ms, Lower, "", "Part of the step in infeed, outfeed and transfers to and from the host"),
    metric!(Step, "step.data_movement", ms, Lower, "", "Part of the step in copies and layout changes executed by the core"),
    metric!(Step, "step.sparse_core", ms, Lower, "", "Part of the step in work of or for a SparseCore"),
    metric!(Step, "step.other", ms, Lower, "", "Part of the step in loop overhead and ops of unknown kind"),
    metric!(Step, "step.exposed_comm", pct, Lower, "Exposed comm of the step", "Exposed communication, of the step").also(&["time.communication_share"]),
    metric!(Step, "step.idle", pct, Lower, "Idle of the step", "Idle time, of the step").also(&["time.idle_share", "time.stall_share"]),
    metric!(LoopStep, "loop.step", ms, Lower, "Time of the loop, per step", "Time of the loop per step, including the time between steps; its mean times the number of steps is the time of the loop"),
    metric!(LoopStep, "loop.slow", pct, Lower, "Slow steps", "Slow steps, of the steps of the loop: modified z above 3.5 and more than 1.3 times the median (aggregate = \"mean\")"),
    metric!(Run, "loop.gap", ms, Lower, "Between steps", "Time between the steps of the loop, mean per step"),
    metric!(Run, "loop.compile", ms, Lower, "Compiling during steps", "Compilation on the host during the steps of the loop, mean per step"),
    metric!(Run, "loop.input_wait", ms, Lower, "Waiting for input in steps", "Waiting for input in the steps of the loop, mean per step and over the devices"),
    metric!(Run, "compile.loop_count", count, Lower, "Compilations in the loop", "Compilations in the loop, after warm-up"),
    metric!(Run, "compile.count", count, Lower, "Compilations", "Compilations in the capture").also(&["compile.count_in_window"]),
    metric!(Run, "compile.recompilations", count, Lower, "Recompilations", "Compilations of functions that had been compiled or run before"),
    metric!(Run, "compile.wall", ms, Lower, "Compiling", "Time in which anything was traced, lowered, compiled or loaded"),
    metric!(Run, "mfu_steady", pct, Higher, "", "Model FLOPs utilization, of the peak over the steady steps").named("mfu_pct").also(&["mfu_steady_pct"]),
    metric!(Run, "mfu_window", pct, Higher, "", "Model FLOPs utilization, of the peak over the window, including warm-up and the time between steps"),
    metric!(Run, "hbm_util_steady", pct, Higher, "", "HBM traffic, of the peak bandwidth over the steady steps"),
    metric!(Run, "flops_util_window", pct, Higher, "", "FLOPs, of the peak over the window").also(&["flops.utilization_pct"]),
    metric!(Run, "flops_util_busy", pct, Higher, "", "FLOPs, of the peak over the time in which ops ran"),
    metric!(Run, "flops_util_capture", pct, Higher, "", "FLOPs, of the peak over the profiling session"),
    metric!(Run, "mxu_util_on_mxu_ops", pct, Higher, "", "FLOPs of matrix ops, of the peak over their time").also(&["mxu.utilization_pct"]),
    metric!(Run, "mxu_hw", pct, Higher, "", "Matrix unit utilization by hardware counter"),
    metric!(Run, "mxu_busy_fraction", pct, Higher, "", "Time in matrix ops, of the window"),
    metric!(Run, "hbm_util_window", pct, Higher, "", "HBM traffic, of the peak bandwidth over the window").also(&["hbm.utilization_pct"]),
    metric!(Run, "hbm_util_busy", pct, Higher, "", "HBM traffic, of the peak bandwidth over the time in which ops ran"),
    metric!(Run, "hbm_hw", pct, Higher, "", "HBM utilization by hardware counter"),
    metric!(Run, "vmem_read_util_busy", pct, Higher, "", "Bytes read from VMEM, of the peak bandwidth while ops ran"),
    metric!(Run, "vmem_write_util_busy", pct, Higher, "", "Bytes written to VMEM, of the peak bandwidth while ops ran"),
    metric!(Run, "wait", pct, Lower, "", "Time in done ops of asynchronous ops, of the window"),
    metric!(Run, "duty_cycle", pct, Higher, "", "Time in which ops ran, of the window"),
    metric!(Run, "duty_cycle_xprof", pct, Higher, "", "Duty cycle as XProf defines it"),
    metric!(Run, "device_idle", pct, Lower, "", "Time in which no op ran, of the window"),
    metric!(Run, "window_of_capture", pct, Neither, "", "Time from the first op to the last, of the profiling session"),
    metric!(Run, "clock_of_default", pct, Neither, "", "Clock of the device, of its default clock"),
    metric!(Run, "overlap.exposed_share", pct, Lower, "Exposed communication", "Exposed communication, of the window of the device with most of it").also(&["ici.exposed_pct"]),
    metric!(Run, "overlap.hidden", pct, Higher, "Communication hidden", "Communication hidden behind ops, of all communication time"),
    metric!(Run, "collectives.*.bus", gb_per_s, Higher, "Bus bandwidth", "Bus bandwidth of a kind of collectives (all-reduce, all-gather …; all): bytes sent ÷ time"),
    metric!(Run, "memory.peak", gib, Lower, "Memory peak", "Memory peak of the fullest memory"),
    metric!(Run, "memory.peak", pct, Lower, "Memory peak of capacity", "The same, of its capacity"),
    metric!(Run, "input_wait", pct, Lower, "Waiting for input", "Waiting for input, of the time of the steady steps on the device (or host) that waits most"),
    metric!(Run, "host_offload_wait", pct, Lower, "Waiting for copies to and from the host", "Waiting for copies to and from the memory of the host, of the time of ops"),
    metric!(Run, "recompute", pct, Lower, "Computed a second time to save memory", "Ops recomputed to save memory, of the time of ops"),
    metric!(Run, "padding_waste", pct, Lower, "Padding of matmuls", "Padding of matmuls of known size, of their work on whole tiles"),
    metric!(@ Op, "op.time_ms_per_step", "op.time", Picoseconds, Lower, "", "Time of ops in a step in which they are the innermost op or exposed"),
    metric!(@ Op, "op.exposed_ms_per_step", "op.exposed", Picoseconds, Lower, "", "Exposed time of collectives in a step"),
];
