//! One row of the op table. Thousands of ops run, and few of them are asked about: a
//! row is a look at the sums of an op, and computes what it is asked for.

use trace_model::{Op, OpId, Picos, TraceModel};

use super::costs::OpCosts;
use super::percent;
use super::rows::{CoreShare, OpRows, OpTotal};
use super::sums::is_leaf;
use crate::facts::category::{CollectiveKind, OpClass, OpGroup};
use crate::hardware::limits::{BoundBy, OpWork, possible, ratio};

/// Bytes by memory and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct MemoryBytes {
    /// HBM, all directions.
    pub hbm_bytes: u64,
    /// Of these read.
    pub hbm_read_bytes: u64,
    /// Of these written.
    pub hbm_write_bytes: u64,
    /// Read from CMEM.
    pub cmem_read_bytes: u64,
    /// Written to CMEM.
    pub cmem_write_bytes: u64,
    /// Read from VMEM.
    pub vmem_read_bytes: u64,
    /// Written to VMEM.
    pub vmem_write_bytes: u64,
    /// Any other memory.
    pub other_bytes: u64,
}

impl MemoryBytes {
    /// To and from all memories.
    pub fn total(&self) -> u64 {
        [self.cmem_read_bytes, self.cmem_write_bytes, self.vmem_read_bytes, self.vmem_write_bytes, self.other_bytes]
            .into_iter()
            .fold(self.hbm_bytes, u64::saturating_add)
    }
}

/// Executions of an op on one core.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, schemars::JsonSchema)]
pub struct CoreOpTime {
    /// Name of the core.
    pub core: String,
    /// Executions.
    pub occurrences: u64,
    /// Their time.
    pub total_time_ps: i64,
    /// The same without ops inside.
    pub self_time_ps: i64,
}

/// One op of one program, on all cores. Work is of all executions together;
/// missing is "this capture does not say".
#[derive(Clone, Copy)]
pub struct OpRow<'a> {
    pub(super) rows: &'a OpRows,
    pub(super) total: &'a OpTotal,
}

/// How fast an op worked over its total time, and how near that is to the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, schemars::JsonSchema)]
pub struct OpRates {
    /// `flops / total time`.
    pub flops_per_second: Option<f64>,
    /// `model_flops / total time`.
    pub model_flops_per_second: Option<f64>,
    /// `bytes / total time`.
    pub bytes_per_second: Option<f64>,
    /// `HBM bytes / total time`.
    pub hbm_bytes_per_second: Option<f64>,
    /// `flops / bytes`.
    pub flops_per_byte: Option<f64>,
    /// `flops / HBM bytes`.
    pub flops_per_hbm_byte: Option<f64>,
    /// Achieved of peak operations; from model FLOPs where only those are known.
    pub flops_percent: Option<f64>,
    /// The same of the shortest execution: the best that was seen, where that is possible.
    pub best_flops_percent: Option<f64>,
    /// Achieved of peak HBM bandwidth.
    pub hbm_percent: Option<f64>,
    /// Achieved of peak VMEM read bandwidth.
    pub vmem_read_percent: Option<f64>,
    /// Achieved of peak VMEM write bandwidth.
    pub vmem_write_percent: Option<f64>,
    /// Limit with the largest utilization, if that is possible; of a collective its links.
    pub bound_by: Option<BoundBy>,
    /// That utilization: least time that the limits allow / time. None of collectives.
    pub efficiency_percent: Option<f64>,
    /// The limit that it exceeds the most, and its impossible utilization in percent.
    #[serde(skip)]
    pub beyond_peak: Option<(BoundBy, f64)>,
    /// Least time of all executions that the known limits allow.
    pub ideal_time_ps: Option<f64>,
}

impl<'a> OpRow<'a> {
    /// The op; absent for slices that belong to none.
    pub fn op(self) -> Option<OpId> {
        self.total.subject.op()
    }

    /// Whether its times are those of a simulator or a cost model.
    pub(super) fn is_computed(self) -> bool {
        self.model().sources().iter().any(|source| source.simulator.is_some())
    }

    fn model(self) -> &'a TraceModel {
        &self.rows.basis.model
    }

    fn facts(self) -> Option<&'a Op> {
        self.op().map(|op| self.model().op(op))
    }

    fn class(self) -> OpClass {
        self.rows.basis.classes.class_of(self.op())
    }

    /// Program, with its id: `jit_matmul(123)`.
    pub fn program(self) -> &'a str {
        self.rows.basis.program_title(self.total.subject)
    }

    /// Instruction name.
    pub fn name(self) -> &'a str {
        self.rows.basis.name(self.total.subject)
    }

    /// HLO category, recorded or concluded.
    pub fn category(self) -> &'a str {
        self.op().map_or("", |op| self.rows.basis.classes.category(op))
    }

    /// Normalised group.
    pub fn group(self) -> OpGroup {
        self.class().group
    }

    /// Pattern, for communication between devices.
    pub fn collective(self) -> Option<CollectiveKind> {
        self.class().collective
    }

    /// A half of an asynchronous op: no rates, no utilization.
    pub fn is_async(self) -> bool {
        self.class().is_async()
    }

    /// Time and work are its own, not those of ops inside.
    pub fn is_leaf(self) -> bool {
        is_leaf(self.class(), &self.total.sums)
    }

    /// A kernel that XLA did not write.
    pub fn is_custom_call(self) -> bool {
        self.class().is_custom_call()
    }

    /// Computed a second time to save memory.
    pub fn is_remat(self) -> bool {
        self.class().is_remat()
    }

    /// Waits for a copy from or to the memory of the host, which shapes mark as memory space 5.
    pub fn waits_for_host(self) -> bool {
        let text = self.facts().and_then(|op| op.hlo_text).map(|text| self.model().str(text));
        self.group() == OpGroup::AsyncWait && text.is_some_and(|text| text.contains("S(5)"))
    }

    /// Executions.
    pub fn occurrences(self) -> u64 {
        self.total.sums.occurrences
    }

    /// Time of all executions.
    pub fn total_time_ps(self) -> i64 {
        self.total.sums.total.ps()
    }

    /// The same without ops inside.
    pub fn self_time_ps(self) -> i64 {
        self.total.sums.self_time.ps()
    }

    /// Of an execution.
    pub fn mean_time_ps(self) -> f64 {
        self.total_time_ps() as f64 / self.occurrences().max(1) as f64
    }

    /// Shortest execution.
    pub fn min_time_ps(self) -> Option<i64> {
        self.total.sums.min().map(Picos::ps)
    }

    /// Self time of `total_time_ps` of the report: with idle time.
    pub fn self_of_total_percent(self) -> Option<f64> {
        percent(self.self_time_ps(), self.rows.total_time_ps)
    }

    /// Self time of `op_time_ps` of the report: without idle time.
    pub fn self_of_op_time_percent(self) -> Option<f64> {
        percent(self.self_time_ps(), self.rows.op_time_ps)
    }

    /// What all executions cost.
    pub fn costs(self) -> OpCosts {
        let costs = |op| self.rows.basis.costs(op, &self.total.sums, &self.rows.peaks);
        self.op().map(costs).unwrap_or_default()
    }

    /// Time that it would have taken at the default clock, where the capture records
    /// the ratio of clocks (`Time Scale Multiplier`).
    pub fn time_at_default_clock_ps(self) -> Option<f64> {
        let sums = &self.total.sums;
        // Executions that do not record it ran at the clock that is default.
        sums.event_stats().scaled.map(|(scaled, time)| scaled + (sums.total - time).ps() as f64)
    }

    /// Time stalled on DMA, if recorded.
    pub fn dma_stall_ps(self) -> Option<i64> {
        self.total.sums.event_stats().dma_stall.map(Picos::ps)
    }

    /// The same of total time.
    pub fn dma_stall_percent(self) -> Option<f64> {
        percent(self.dma_stall_ps()?, self.total_time_ps())
    }

    /// Provenance in the framework.
    pub fn framework_name(self) -> Option<&'a str> {
        Some(self.model().str(self.facts()?.framework_name?))
    }

    /// `file:line`.
    pub fn source(self) -> Option<&'a str> {
        Some(self.model().str(self.facts()?.source?))
    }

    /// On each core by itself.
    pub fn per_core(self) -> Vec<CoreOpTime> {
        let time = |share: CoreShare| CoreOpTime {
            core: self.model().device_name(share.core),
            occurrences: share.occurrences,
            total_time_ps: share.total.ps(),
            self_time_ps: share.own.ps(),
        };
        self.rows.shares_of(self.total).into_iter().map(time).collect()
    }

    /// The work of all executions, as limits see it.
    pub fn work(self) -> OpWork {
        self.costs().work()
    }

    /// Rates and utilizations over total time; halves of asynchronous ops have none.
    pub fn rates(self) -> OpRates {
        if self.is_async() || self.op().is_none() { OpRates::default() } else { self.rates_of(&self.costs()) }
    }

    fn rates_of(self, costs: &OpCosts) -> OpRates {
        let (seconds, peaks) = (self.total.sums.total.as_secs_f64(), &self.rows.peaks);
        let float = |value: Option<u64>| value.map(|value| value as f64);
        let (work, bytes) = (costs.work(), float(costs.bytes));
        let per_second = |amount: Option<f64>| ratio(amount, Some(seconds));
        let percent_of = |limit| work.percent_of(limit, seconds, peaks);
        // The compiler lists only buffers that it placed in VMEM: none is not "none used".
        let listed = |percent: Option<f64>| percent.filter(|&percent| percent > 0.0);
        let flops_percent = percent_of(BoundBy::Compute);
        let speed_up = ratio(Some(self.mean_time_ps()), self.min_time_ps().map(|min| min as f64));
        let is_collective = self.collective().is_some();
        let bound = work.bound(seconds, peaks).filter(|_| !is_collective);
        OpRates {
            flops_per_second: per_second(float(costs.flops)),
            model_flops_per_second: per_second(float(costs.model_flops)),
            bytes_per_second: per_second(bytes),
            hbm_bytes_per_second: per_second(work.hbm_bytes),
            flops_per_byte: ratio(float(costs.flops.or(costs.model_flops)), bytes),
            flops_per_hbm_byte: work.hbm_intensity(),
            flops_percent,
            best_flops_percent: flops_percent
                .zip(speed_up)
                .and_then(|(percent, speed_up)| possible(percent * speed_up)),
            hbm_percent: percent_of(BoundBy::Hbm),
            vmem_read_percent: listed(percent_of(BoundBy::VmemRead)),
            vmem_write_percent: listed(percent_of(BoundBy::VmemWrite)),
            bound_by: if is_collective { Some(BoundBy::LinksOrWaiting) } else { bound.map(|(limit, _)| limit) },
            efficiency_percent: bound.map(|(_, percent)| percent),
            beyond_peak: work.beyond_peak(seconds, peaks),
            ideal_time_ps: work.ideal_seconds(peaks).map(|seconds| seconds * 1e12),
        }
    }
}

impl std::fmt::Debug for OpRow<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OpRow")
            .field("name", &self.name())
            .field("program", &self.program())
            .field("self_time_ps", &self.self_time_ps())
            .finish_non_exhaustive()
    }
}
