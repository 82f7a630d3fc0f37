//! What the report on kernels holds.

use std::sync::Arc;

use facts::sum_over::SumOver;
use hardware::peaks::Peaks;
use serde::Serialize;

use super::declared::DeclaredCosts;
use crate::ops::hardware_counters::CounterMetric;

/// Every kernel.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct KernelsReport {
    /// The longest first; ties by name.
    pub kernels: Vec<Kernel>,
    /// The ops that run them, the longest first.
    pub ops: Vec<KernelOp>,
    /// Time of all kernels.
    pub time_ps: i64,
    /// Self time of all ops of all cores: the denominator of `of_op_time_percent`.
    pub op_time_ps: i64,
    /// The peaks that achieved rates are compared with.
    pub peaks: Peaks,
    /// What times and amounts of all executions are sums over.
    pub sums_over: SumOver,
    /// Advice on the findings.
    pub hints: Vec<String>,
}

/// One kernel of one program, on all cores.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Kernel {
    /// Name given by its author; otherwise the name of the op or of the called function.
    pub kernel: String,
    /// `tpu_custom_call` for Pallas and Mosaic.
    pub target: Option<String>,
    /// Whether it is written in Pallas or Mosaic.
    pub is_pallas: bool,
    /// Program, with its id.
    pub program: Arc<str>,
    /// `file:line` of its longest op.
    pub source: Option<Arc<str>>,
    /// Number of ops that run it.
    pub ops: u64,
    /// Executions.
    pub occurrences: u64,
    /// Time of all executions.
    pub time_ps: i64,
    /// Share of the self time of all ops.
    pub of_op_time_percent: Option<f64>,
    /// `time / occurrences`.
    pub mean_time_ps: f64,
    /// Time of the shortest execution.
    pub min_time_ps: Option<i64>,
    /// Assessment of its declared operations.
    pub declared: DeclaredCosts,
    /// Declared operations of all executions.
    pub flops: Option<u64>,
    /// Declared bytes of all executions.
    pub bytes: Option<u64>,
    /// `flops / time`.
    pub flops_per_second: Option<f64>,
    /// `bytes / time`.
    pub bytes_per_second: Option<f64>,
    /// Achieved share of peak operations.
    pub flops_percent: Option<f64>,
    /// Operations of all executions according to the shapes of the matrix product that it seems to be, if it declares
    /// far fewer.
    pub needed_flops: Option<u64>,
    /// The rate of these operations, as a share of peak operations.
    pub needed_flops_percent: Option<f64>,
    /// Achieved share of peak HBM bandwidth, if declared bytes are split by memory.
    pub hbm_percent: Option<f64>,
    /// Time stalled on DMA according to the hardware, if recorded.
    pub dma_stall_ps: Option<i64>,
    /// The same as a share of its time.
    pub dma_stall_percent: Option<f64>,
    /// Its scopes; `None` if it recorded none.
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
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelPipeline {
    /// Number of executions that recorded scopes.
    pub executions: u64,
    /// Their time: the denominator of all percentages here.
    pub time_ps: i64,
    /// By self time; with `outside_ps` they add up to `time_ps`.
    pub stages: Vec<KernelStage>,
    /// Time in no scope.
    pub outside_ps: i64,
    /// Time in `ep_wait_in` or `ep_wait_out`.
    pub dma_wait_ps: i64,
    /// The same as a share of the time.
    pub dma_wait_percent: Option<f64>,
    /// Runs of the body (`ep_run_kernel`) per execution: steps of the grid.
    pub grid_steps: Option<f64>,
}

/// One scope of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelStage {
    /// Name, without the number of the pipeline.
    pub stage: String,
    /// Number of occurrences.
    pub occurrences: u64,
    /// Time including scopes inside.
    pub total_ps: i64,
    /// Time excluding scopes inside.
    pub self_ps: i64,
    /// Self time as a share of the kernel's time.
    pub self_percent: Option<f64>,
}

/// A series that the compiler's schedule fills.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelEstimate {
    /// `MXU`, `Vector ALU`, `Vector Spills` …
    pub series: String,
    /// As recorded (`% util`).
    pub unit: String,
    /// Mean over the time with samples.
    pub mean: f64,
    /// Largest value.
    pub max: f64,
    /// Time with samples, as a share of the time of executions that have any.
    pub covered_percent: Option<f64>,
}

/// One op that runs a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelOp {
    /// Instruction.
    pub op: Arc<str>,
    /// The kernel.
    pub kernel: String,
    /// Program, with its id.
    pub program: Arc<str>,
    /// Executions.
    pub occurrences: u64,
    /// Time of all executions.
    pub time_ps: i64,
    /// `time / occurrences`.
    pub mean_time_ps: f64,
    /// Time of the shortest execution.
    pub min_time_ps: Option<i64>,
    /// Declared operations of all executions.
    pub flops: Option<u64>,
    /// Time waiting for DMA, as a share of the time of executions with scopes.
    pub dma_wait_percent: Option<f64>,
    /// `file:line`.
    pub source: Option<Arc<str>>,
}

/// An LLO op, a primitive of Pallas or a source line of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelLine {
    /// The line of the trace (`Source Lines`, `LLO Ops` …).
    pub line: String,
    /// Its name: `kernel.py:42`, an op.
    pub name: String,
    /// Number of occurrences.
    pub occurrences: u64,
    /// Time excluding events inside.
    pub self_ps: i64,
    /// The same as a share of the time of the executions that have this line.
    pub self_percent: Option<f64>,
}

/// An LLO estimate while a stage or a line of a kernel runs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelUnit {
    /// `stages`, or the line of the trace.
    pub line: String,
    /// The stage, the op or the source line.
    pub name: String,
    /// `MXU`, `Vector ALU` …
    pub series: String,
    /// As recorded (`% util`).
    pub unit: String,
    /// Mean over the time with samples.
    pub mean: f64,
    /// Time with samples, as a share of the self time.
    pub covered_percent: Option<f64>,
}

/// A hardware counter that was read for a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelCounter {
    /// The device.
    pub device: String,
    /// Over the readings with the name of the kernel or of one of its ops.
    pub metric: CounterMetric,
}
