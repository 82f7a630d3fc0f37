//! What the report on kernels holds.

use facts::prelude::*;

use super::costs::KernelCost;
use super::declared::DeclaredCosts;
use super::timing::KernelTiming;
use crate::ops::hardware_counters::CounterMetric;

/// Every kernel.
#[engine::reported]
pub struct KernelsReport {
    /// The longest first; ties by name.
    pub kernels: Vec<Kernel>,
    /// How long their executions take, by kernel and shapes of operands.
    pub timings: Vec<KernelTiming>,
    /// What known kernels have to do by their shapes, beside what they declare, the longest first.
    pub costs: Vec<KernelCost>,
    /// The ops that run them, the longest first.
    pub ops: Vec<KernelOp>,
    /// Time of all kernels.
    pub time_ps: Picos,
    /// Self time of all ops of all cores: the denominator of `of_op_time_percent`.
    pub op_time_ps: Picos,
    /// The peaks that achieved rates are compared with.
    pub peaks: Peaks,
    /// What times and amounts of all executions are sums over.
    pub sums_over: SumOver,
    /// Advice on the findings.
    pub hints: Vec<String>,
}

/// One kernel of one program, on all cores.
#[engine::row(measured)]
pub struct Kernel {
    /// Name given by its author; otherwise the name of the op or of the called function.
    #[column]
    pub kernel: String,
    /// `tpu_custom_call` for Pallas and Mosaic.
    #[column("Calls", recorded)]
    pub target: Option<String>,
    /// Whether it is written in Pallas or Mosaic.
    pub is_pallas: bool,
    /// Program, with its id.
    #[column]
    pub program: Arc<str>,
    /// `file:line` of its longest op.
    #[column(recorded)]
    pub source: Option<Arc<str>>,
    /// Number of ops that run it.
    #[column]
    pub ops: u64,
    /// Executions.
    #[column("Runs")]
    pub occurrences: u64,
    /// Time of all executions.
    #[column("Time (sum)")]
    pub time_ps: Picos,
    /// Share of the self time of all ops.
    #[column("of op time")]
    pub of_op_time_percent: Option<Percent>,
    /// `time / occurrences`.
    #[column("Mean")]
    pub mean_time_ps: f64,
    /// Time of the shortest execution.
    #[column("Least")]
    pub min_time_ps: Option<Picos>,
    /// Assessment of its declared operations.
    #[column("Costs", compiler)]
    pub declared: DeclaredCosts,
    /// Declared operations of all executions.
    #[column("FLOP", compiler)]
    pub flops: Option<u64>,
    /// Declared bytes of all executions.
    #[column(compiler)]
    pub bytes: Option<u64>,
    /// `flops / time`.
    #[column("FLOP/s", derived)]
    pub flops_per_second: Option<f64>,
    /// `bytes / time`.
    #[column("Bytes/s", derived)]
    pub bytes_per_second: Option<f64>,
    /// Achieved share of peak operations.
    #[column("of FLOP/s", peak)]
    pub flops_percent: Option<Percent>,
    /// Operations of all executions according to its shapes, if it is a known kernel or seems to be a matrix product and
    /// declares far fewer.
    pub needed_flops: Option<u64>,
    /// The rate of these operations, as a share of peak operations.
    #[column("by shapes", inferred)]
    pub needed_flops_percent: Option<Percent>,
    /// Achieved share of peak HBM bandwidth, if declared bytes are split by memory.
    #[column("of HBM", derived)]
    pub hbm_percent: Option<Percent>,
    /// Time stalled on DMA according to the hardware, if recorded.
    pub dma_stall_ps: Option<Picos>,
    /// Time stalled on DMA as a share of its time.
    #[column("DMA stall")]
    pub dma_stall_percent: Option<Percent>,
    /// Its scopes; `None` if it recorded none.
    #[column(nested)]
    pub pipeline: Option<KernelPipeline>,
    /// LLO estimates over its executions.
    pub estimates: Vec<KernelEstimate>,
    /// What the lines of newer captures show inside it: LLO ops, primitives of Pallas, source lines.
    pub lines: Vec<KernelLine>,
    /// LLO estimates while each stage or line runs.
    pub units: Vec<KernelUnit>,
    /// Hardware counters that were read for it, over the whole capture.
    pub counters: Vec<KernelCounter>,
}

/// The software pipeline of a kernel.
#[engine::row(measured)]
pub struct KernelPipeline {
    /// Number of executions that recorded scopes.
    pub executions: u64,
    /// Their time: the denominator of all percentages here.
    pub time_ps: Picos,
    /// By self time; with `outside_ps` they add up to `time_ps`.
    pub stages: Vec<KernelStage>,
    /// Time in no scope.
    pub outside_ps: Picos,
    /// Time in `ep_wait_in` or `ep_wait_out`.
    pub dma_wait_ps: Picos,
    /// Waiting for DMA as a share of the time.
    #[column("DMA wait")]
    pub dma_wait_percent: Option<Percent>,
    /// Runs of the body (`ep_run_kernel`) per execution: steps of the grid.
    #[column(unit = Count)]
    pub grid_steps: Option<f64>,
}

/// One scope of a kernel.
#[engine::reported]
pub struct KernelStage {
    /// Name, without the number of the pipeline.
    pub stage: String,
    /// Number of occurrences.
    pub occurrences: u64,
    /// Time including scopes inside.
    pub total_ps: Picos,
    /// Time excluding scopes inside.
    pub self_ps: Picos,
    /// Self time as a share of the kernel's time.
    pub self_percent: Option<Percent>,
}

/// A series that the compiler's schedule fills.
#[engine::row(compiler)]
pub struct KernelEstimate {
    /// `MXU`, `Vector ALU`, `Vector Spills` …
    #[column("LLO estimate")]
    pub series: String,
    /// As recorded (`% util`).
    #[column]
    pub unit: String,
    /// Mean over the time with samples.
    #[column]
    pub mean: f64,
    /// Largest value.
    #[column("Most")]
    pub max: f64,
    /// Time with samples, as a share of the time of executions that have any.
    #[column("of kernel", measured)]
    pub covered_percent: Option<Percent>,
}

/// One op that runs a kernel.
#[engine::row(measured)]
pub struct KernelOp {
    /// Instruction.
    #[column]
    pub op: Arc<str>,
    /// The kernel.
    #[column]
    pub kernel: String,
    /// Time of all executions.
    #[column]
    pub time_ps: Picos,
    /// Executions.
    #[column("Runs")]
    pub occurrences: u64,
    /// `time / occurrences`.
    #[column("Mean")]
    pub mean_time_ps: f64,
    /// Time of the shortest execution.
    #[column("Least")]
    pub min_time_ps: Option<Picos>,
    /// Time waiting for DMA, as a share of the time of executions with scopes.
    #[column("DMA wait")]
    pub dma_wait_percent: Option<Percent>,
    /// Declared operations of all executions.
    #[column("FLOP", compiler)]
    pub flops: Option<u64>,
    /// Program, with its id.
    #[column]
    pub program: Arc<str>,
    /// `file:line`.
    #[column(recorded)]
    pub source: Option<Arc<str>>,
}

/// An LLO op, a primitive of Pallas or a source line of a kernel.
#[engine::row(recorded)]
pub struct KernelLine {
    /// The line of the trace (`Source Lines`, `LLO Ops` …).
    #[column]
    pub line: String,
    /// Its name: `kernel.py:42`, an op.
    #[column("Op or source")]
    pub name: String,
    /// Number of occurrences.
    #[column("Times", measured)]
    pub occurrences: u64,
    /// Time excluding events inside.
    #[column("Self time", measured)]
    pub self_ps: Picos,
    /// Time excluding events inside, as a share of the time of the executions that have this line.
    #[column("of kernel", measured)]
    pub self_percent: Option<Percent>,
}

/// An LLO estimate while a stage or a line of a kernel runs.
#[engine::row(compiler)]
pub struct KernelUnit {
    /// `stages`, or the line of the trace.
    #[column(recorded)]
    pub line: String,
    /// The stage, the op or the source line.
    #[column("Stage, op or source", recorded)]
    pub name: String,
    /// `MXU`, `Vector ALU` …
    #[column("LLO estimate")]
    pub series: String,
    /// As recorded (`% util`).
    #[column]
    pub unit: String,
    /// Mean over the time with samples.
    #[column]
    pub mean: f64,
    /// Time with samples, as a share of the self time.
    #[column("of it", measured)]
    pub covered_percent: Option<Percent>,
}

/// A hardware counter that was read for a kernel.
#[engine::reported]
pub struct KernelCounter {
    /// The device.
    pub device: String,
    /// Over the readings with the name of the kernel or of one of its ops.
    pub metric: CounterMetric,
}
