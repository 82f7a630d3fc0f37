//! Every number that a summary can hold, with its unit and meaning: the single list for summaries, for checking gates, for
//! `systole metrics` and for the docs.

use facts::prelude::*;

use super::better::Better;
use super::summary::{RunValue, StepSeries, thinned};

/// What a metric has one value for.
#[engine::titled]
pub enum MetricScope {
    /// Each steady step of the main class; `aggregate` turns them into one number.
    Step,
    /// Each steady step of the loop, of all classes.
    LoopStep = "step of the loop",
    /// The whole run.
    Run,
    /// Each op in each step; `op` selects ops, which are summed.
    Op = "op and step",
}

/// A metric.
#[engine::reported]
#[derive(Copy)]
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
    /// The metric with this id in a summary.
    pub(super) fn with_id(id: &str) -> Option<&'static Self> {
        METRICS.iter().find(|metric| metric.id == id)
    }
}

/// Maximum number of steps whose values are kept.
pub(super) const MOST_STEPS: usize = 2048;

impl StepSeries {
    /// Values of a listed metric in each step.
    pub(super) fn of(metric: &str, values: &[f64]) -> Self {
        let metric = listed(metric);
        Self {
            id: metric.id.to_owned(),
            title: metric.title.to_owned(),
            unit: metric.unit,
            better: metric.better,
            values: thinned(values, MOST_STEPS),
        }
    }
}

impl RunValue {
    /// The value of a listed metric.
    pub(super) fn of(
        metric: &str,
        value: Option<f64>,
        of: impl Into<String>,
        provenance: Provenance,
    ) -> Self {
        let metric = listed(metric);
        Self {
            id: metric.id.to_owned(),
            title: metric.title.to_owned(),
            unit: metric.unit,
            better: metric.better,
            value,
            is_lower_bound: false,
            of: of.into(),
            provenance,
            note: None,
        }
    }

    /// This metric of one kind, which takes the place of the `*` in its name.
    pub(super) fn of_kind(mut self, kind: &str) -> Self {
        self.id = self.id.replace('*', kind);
        self.title = format!("{}, {kind}", self.title);
        self
    }
}

fn listed(metric: &str) -> &'static SummaryMetric {
    SummaryMetric::with_id(metric).expect("summaries hold listed metrics")
}

/// Ends of names in configurations and in summaries, and the unit.
macro_rules! unit {
    (name ms) => {
        "_ms"
    };
    (id ms) => {
        "_ps"
    };
    (ms) => {
        Unit::Picoseconds
    };
    (name pct) => {
        "_pct"
    };
    (id pct) => {
        "_percent"
    };
    (pct) => {
        Unit::Percent
    };
    (name gib) => {
        "_gib"
    };
    (id gib) => {
        "_bytes"
    };
    (gib) => {
        Unit::Bytes
    };
    (name gb_per_s) => {
        "_gb_per_s"
    };
    (id gb_per_s) => {
        "_bytes_per_second"
    };
    (gb_per_s) => {
        Unit::BytesPerSecond
    };
    (name pct_of_steady) => {
        "_pct"
    };
    (id pct_of_steady) => {
        "_steady_percent"
    };
    (pct_of_steady) => {
        Unit::Percent
    };
    (name ms_per_step) => {
        "_ms_per_step"
    };
    (ms_per_step) => {
        Unit::Picoseconds
    };
    ($end:ident count) => {
        ""
    };
    ($end:ident flop) => {
        ""
    };
    (flop) => {
        Unit::Flop
    };
    ($end:ident ms_per_step) => {
        ""
    };
    (count) => {
        Unit::Count
    };
}

/// What a metric has one value for, its name without the unit, the unit, what is better, title and meaning.
macro_rules! metrics {
    ($($per:ident $stem:literal $unit:ident $better:ident $title:literal $meaning:literal
       $(also $($alias:literal)+)?;)*) => {
        &[$(SummaryMetric {
            name: concat!($stem, unit!(name $unit)),
            id: concat!($stem, unit!(id $unit)),
            title: $title,
            unit: unit!($unit),
            better: Better::$better,
            per: MetricScope::$per,
            aliases: &[$($($alias),+)?],
            meaning: $meaning,
        }),*]
    };
}

/// All metrics.
#[rustfmt::skip]
pub const METRICS: &[SummaryMetric] = metrics! {
    Step "step.time" ms Lower "Step time" "Time of a step on the device that took longest";
    Step "step.interval" ms Lower "Begin to begin" "From the start of a step to the start of the next";
    Step "step.matmul" ms Lower "" "Part of the step in matrix multiplications and convolutions";
    Step "step.vector" ms Lower "" "Part of the step in elementwise work and reductions";
    Step "step.kernel" ms Lower "" "Part of the step in custom kernels (Pallas, Mosaic)";
    Step "step.exposed_comm" ms Lower "" "Exposed communication in the step: time in collectives that is not hidden behind compute";
    Step "step.copy_wait" ms Lower "" "Part of the step waiting for copies and other asynchronous ops";
    Step "step.idle" ms Lower "" "Part of the step in which no op runs and no collective is in flight";
    Step "step.host_io" ms Lower "" "Part of the step in infeed, outfeed and transfers to and from the host";
    Step "step.data_movement" ms Lower "" "Part of the step in copies and layout changes executed by the core";
    Step "step.sparse_core" ms Lower "" "Part of the step in work of or for a SparseCore";
    Step "step.other" ms Lower "" "Part of the step in loop overhead and ops of unknown kind";
    Step "step.exposed_comm" pct Lower "Exposed comm of the step" "Exposed communication, of the step" also "time.communication_share";
    Step "step.idle" pct Lower "Idle of the step" "Idle time, of the step" also "time.idle_share" "time.stall_share";
    LoopStep "loop.step" ms Lower "Time of the loop, per step" "Time of the loop per step, including the time between steps; its mean times the number of steps is the time of the loop";
    LoopStep "loop.slow" pct Lower "Slow steps" "Slow steps, of the steps of the loop: modified z above 3.5 and more than 1.3 times the median (aggregate = \"mean\")";
    Run "loop.gap" ms Lower "Between steps" "Time between the steps of the loop, mean per step";
    Run "loop.compile" ms Lower "Compiling in the loop" "Compilation on the host from the first step of the loop to the end of the last, mean per step";
    Run "loop.input_wait" ms Lower "Waiting for input in the loop" "Waiting for input from the first step of the loop to the end of the last (in its steps, where hosts have no devices), mean per step and over the devices";
    Run "compile.loop_count" count Lower "Compilations in the loop" "Compilations in the loop, after warm-up";
    Run "compile.count" count Lower "Compilations" "Compilations in the capture" also "compile.count_in_window";
    Run "compile.recompilations" count Lower "Recompilations" "Compilations of functions that had been compiled or run before";
    Run "compile.wall" ms Lower "Compiling" "Time in which anything was traced, lowered, compiled or loaded";
    Run "mfu" pct_of_steady Higher "" "Model FLOPs utilization, of the peak over the steady steps" also "mfu_steady_pct";
    Run "mfu_window" pct Higher "" "Model FLOPs utilization, of the peak over the window, including warm-up and the time between steps";
    Run "hbm_util_steady" pct Higher "" "HBM traffic, of the peak bandwidth over the steady steps";
    Run "flops_util_window" pct Higher "" "FLOPs, of the peak over the window" also "flops.utilization_pct";
    Run "flops_util_busy" pct Higher "" "FLOPs, of the peak over the time in which ops ran";
    Run "flops_util_capture" pct Higher "" "FLOPs, of the peak over the profiling session";
    Run "mxu_util_on_mxu_ops" pct Higher "" "FLOPs of matrix ops and of kernels that declare FLOPs, of the peak over their time" also "mxu.utilization_pct";
    Run "mxu_util_steady" pct Higher "" "FLOPs of matrix ops and of kernels that declare FLOPs, of the peak over their time in the steady steps";
    Run "mxu_hw" pct Higher "" "Matrix unit utilization by hardware counter";
    Run "mxu_busy_fraction" pct Higher "" "Time in matrix ops and in kernels that declare FLOPs, of the window";
    Run "hbm_util_window" pct Higher "" "HBM traffic, of the peak bandwidth over the window" also "hbm.utilization_pct";
    Run "hbm_util_busy" pct Higher "" "HBM traffic, of the peak bandwidth over the time in which ops ran";
    Run "hbm_hw" pct Higher "" "HBM utilization by hardware counter";
    Run "vmem_read_util_busy" pct Higher "" "Bytes read from VMEM, of the peak bandwidth while ops ran";
    Run "vmem_write_util_busy" pct Higher "" "Bytes written to VMEM, of the peak bandwidth while ops ran";
    Run "wait" pct Lower "" "Time in done ops of asynchronous ops, of the window";
    Run "duty_cycle" pct Higher "" "Time in which ops ran, of the window";
    Run "duty_cycle_xprof" pct Higher "" "Duty cycle as XProf defines it";
    Run "device_idle" pct Lower "" "Time in which no op ran, of the window";
    Run "window_of_capture" pct Neither "" "Time from the first op to the last, of the profiling session";
    Run "clock_of_default" pct Neither "" "Clock of the device, of its default clock";
    Run "overlap.exposed_share" pct Lower "Exposed communication" "Exposed communication, of the window of the device with most of it" also "ici.exposed_pct";
    Run "overlap.hidden" pct Higher "Communication hidden" "Communication hidden behind ops, of all communication time";
    Run "collectives.*.bus" gb_per_s Higher "Bus bandwidth" "Bus bandwidth of a kind of collectives (all-reduce, all-gather …; all): bytes sent ÷ time";
    Run "memory.peak" gib Lower "Memory peak" "Memory peak of the fullest memory";
    Run "memory.peak" pct Lower "Memory peak of capacity" "The same, of its capacity";
    Run "input_wait" pct Lower "Waiting for input" "Waiting for input, of the time of the steady steps without pauses to compile, on the device (or host) that waits most";
    Run "host_offload_wait" pct Lower "Waiting for copies to and from the host" "Waiting for copies to and from the memory of the host, of the time of ops";
    Run "recompute" pct Lower "Computed a second time to save memory" "Ops recomputed to save memory, of the time of ops";
    Run "padding_waste" pct Lower "Padding of matmuls" "Padding of matmuls of known size, of their work on whole tiles";
    Run "program.flops" flop Neither "FLOPs of the program" "Operations of an execution of the program with the most time";
    Run "program.traffic" gib Lower "Traffic of the program" "Bytes that this program reads from and writes to main memory";
    Run "program.peak_memory" gib Lower "Peak memory of the program" "Most memory that this program needs at one time, as the compiler planned it, else live bytes in the order of its schedule";
    Run "program.fusions" count Neither "Fusions of the program" "Fusions of this program";
    Run "program.custom_calls" count Neither "Custom calls of the program" "Custom calls of this program, kernels among them";
    Run "program.rematerialized" count Lower "Rematerialized instructions" "Instructions of this program that compute a value again";
    Run "program.collectives.*.count" count Lower "Collectives of the program" "Executions of collectives of a kind (all-reduce, all-gather …; all) in an execution of this program";
    Run "program.collectives.*" gib Lower "Bytes of collectives" "Bytes of the messages of collectives of a kind in an execution of this program";
    Op "op.time" ms_per_step Lower "" "Time of ops in a step in which they are the innermost op or exposed";
    Op "op.exposed" ms_per_step Lower "" "Exposed time of collectives in a step";
};
