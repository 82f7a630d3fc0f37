//! One row of the op table.

use facts::prelude::*;
use hardware::limits::{OpWork, possible, ratio};
use trace_model::{Caveat, Op};

use super::costs::{MemoryBytes, OpCostModel, OpCosts};
use super::op_sums::OpSums;
use super::sums::{OpKey, is_leaf};

impl MemoryBytes {
    /// Bytes to and from all memories.
    pub fn total(&self) -> u64 {
        [
            self.cmem_read_bytes,
            self.cmem_write_bytes,
            self.vmem_read_bytes,
            self.vmem_write_bytes,
            Some(self.other_bytes),
        ]
        .into_iter()
        .flatten()
        .fold(self.hbm_bytes, u64::saturating_add)
    }
}

/// Executions of an op on one core.
#[engine::reported]
pub struct CoreOpTime {
    /// Name of the core.
    pub core: Arc<str>,
    /// Executions.
    pub occurrences: u64,
    /// Time of all executions.
    pub total_time_ps: Picos,
    /// Time of all executions without ops inside (self time).
    pub self_time_ps: Picos,
}

/// One op of one program, on all cores. Work is the sum over all executions; a missing value means that the capture
/// does not contain it.
#[engine::row(measured)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not exclude each other"
)]
#[derive(Default)]
pub struct OpRow {
    /// The op; absent for slices without an op.
    #[serde(skip)]
    pub op: Option<OpId>,
    /// Name of the program, with its id: `jit_matmul(123)`.
    #[column(non_empty)]
    pub program: Arc<str>,
    /// Name of the instruction.
    #[column("Op")]
    pub name: Arc<str>,
    /// HLO category, recorded or inferred.
    #[column(non_empty)]
    pub category: Arc<str>,
    /// Kind of work.
    pub group: OpGroup,
    /// Pattern of the collective, for collectives.
    pub collective: Option<CollectiveKind>,
    /// Whether it is a half of an asynchronous op: it starts or awaits work that runs in parallel to other ops. It
    /// has no rates and no utilization.
    pub is_async: bool,
    /// Whether its time and work are its own, not those of ops inside.
    pub is_leaf: bool,
    /// Whether it is a kernel that XLA did not write.
    pub is_custom_call: bool,
    /// Whether it is recomputed to save memory.
    pub is_remat: bool,
    /// Whether a wait is for a copy from or to host memory, which shapes mark as memory space 5; `None` if it is no wait
    /// for a copy, or if its shapes are not recorded.
    #[serde(skip)]
    pub waits_for_host: Option<bool>,
    /// Executions that start in the scope.
    #[column("Runs")]
    pub occurrences: u64,
    /// Executions that costs and times are of: of those that a border of the scope cuts, the part inside.
    #[serde(skip)]
    pub executions: f64,
    /// Time of all executions, as far as it lies in the scope.
    #[column("Total time (sum)")]
    pub total_time_ps: Picos,
    /// Time of all executions without ops inside, as far as it lies in the scope.
    #[column("Self time (sum)")]
    pub self_time_ps: Picos,
    /// Mean time of an execution.
    #[column("Mean")]
    pub mean_time_ps: f64,
    /// Time of the shortest whole execution.
    #[column("Least")]
    pub min_time_ps: Option<Picos>,
    /// Self time as a share of `total_time_ps` of the report: with idle time.
    #[column("of window")]
    pub self_of_total_percent: Option<Percent>,
    /// Self time as a share of `op_time_ps` of the report: without idle time.
    #[column("of op time")]
    pub self_of_op_time_percent: Option<Percent>,
    /// Costs of all executions.
    #[serde(flatten)]
    #[column(nested)]
    pub costs: OpCosts,
    /// Rates and utilizations over total time.
    #[serde(flatten)]
    #[column(nested)]
    pub rates: OpRates,
    /// The limit that it would have exceeded: its costs or its times are wrong.
    pub beyond_peak_of: Option<BoundBy>,
    /// Time that it would have taken at the default clock, if the capture records the clock ratio (`Time Scale
    /// Multiplier`).
    pub time_at_default_clock_ps: Option<f64>,
    /// Time stalled on DMA, if recorded.
    #[column("DMA stall")]
    pub dma_stall_ps: Option<Picos>,
    /// Time stalled on DMA as a share of total time.
    pub dma_stall_percent: Option<Percent>,
    /// Name in the framework.
    #[column("Framework op", recorded, non_empty)]
    pub framework_name: Option<Arc<str>>,
    /// `file:line`.
    #[column(recorded, non_empty)]
    pub source: Option<Arc<str>>,
    /// Executions on each core.
    pub per_core: Vec<CoreOpTime>,
}

/// The speed of an op over its total time, and how close it comes to the limits.
#[engine::row(derived)]
#[derive(Copy, Default)]
pub struct OpRates {
    /// `flops / total time`.
    #[column("FLOP/s")]
    pub flops_per_second: Option<f64>,
    /// `model_flops / total time`.
    pub model_flops_per_second: Option<f64>,
    /// `bytes / total time`.
    #[column("Bandwidth")]
    pub bytes_per_second: Option<f64>,
    /// `HBM bytes / total time`.
    #[column("HBM")]
    pub hbm_bytes_per_second: Option<f64>,
    /// `flops / bytes`.
    #[column("Intensity", compiler)]
    pub flops_per_byte: Option<f64>,
    /// `flops / HBM bytes`.
    #[column("HBM intensity", compiler)]
    pub flops_per_hbm_byte: Option<f64>,
    /// Achieved share of peak operations; from model FLOPs if only those are known.
    #[column("of FLOP/s", peak)]
    pub flops_percent: Option<Percent>,
    /// Share of peak operations of the shortest execution, which is the best observed one, if that is possible.
    pub best_flops_percent: Option<Percent>,
    /// Achieved share of peak HBM bandwidth.
    #[column("of HBM", peak)]
    pub hbm_percent: Option<Percent>,
    /// Achieved share of peak VMEM read bandwidth.
    #[column("of peak VMEM read")]
    pub vmem_read_percent: Option<Percent>,
    /// Achieved share of peak VMEM write bandwidth.
    #[column("of peak VMEM write")]
    pub vmem_write_percent: Option<Percent>,
    /// Limit with the largest utilization, if that is possible; links for a collective.
    #[column(peak)]
    pub bound_by: Option<BoundBy>,
    /// That utilization: least time that the limits allow ÷ time. `None` for collectives.
    #[column("of roofline", peak)]
    pub efficiency_percent: Option<Percent>,
    /// The limit that it exceeds the most, and its impossible utilization in percent.
    #[serde(skip)]
    pub beyond_peak: Option<(BoundBy, f64)>,
    /// Least time of all executions that the known limits allow.
    pub ideal_time_ps: Option<f64>,
}

impl OpRates {
    /// What does not depend on how long ops took.
    fn without_time(self) -> Self {
        Self {
            flops_per_byte: self.flops_per_byte,
            flops_per_hbm_byte: self.flops_per_hbm_byte,
            ideal_time_ps: self.ideal_time_ps,
            ..Self::default()
        }
    }
}

impl OpRow {
    /// The row of an op whose executions on all cores are `sums`. Shares are missing: they need the sums of all rows.
    pub(super) fn new(
        basis: &OpCostModel,
        peaks: &Peaks,
        key: OpKey,
        sums: &OpSums,
        per_core: Vec<CoreOpTime>,
    ) -> Self {
        let model = &basis.model;
        let op = key.op();
        let class = basis.classes.class_of(op);
        let facts = op.map(|op| model.op(op));
        let costs = op
            .map(|op| basis.costs(op, sums, peaks))
            .unwrap_or_default();
        let text_of = |text| Arc::from(model.str(text));
        let stats = &sums.stats;
        let total_time_ps = sums.total;
        let is_host_copy = |facts: &Op| Some(model.str(facts.hlo_text?).contains("S(5)"));
        let mut row = Self {
            op,
            program: basis.program_title(op),
            name: basis.name(key).into(),
            category: basis.classes.shared_category(op),
            group: class.group,
            collective: class.collective,
            is_async: class.is_async(),
            is_leaf: is_leaf(class, sums),
            is_custom_call: class.is_custom_call(),
            is_remat: class.is_remat(),
            waits_for_host: facts
                .filter(|_| class.group == OpGroup::AsyncWait)
                .and_then(is_host_copy),
            occurrences: sums.occurrences,
            executions: sums.executions,
            total_time_ps,
            self_time_ps: sums.self_time,
            mean_time_ps: if sums.executions > 0.0 {
                total_time_ps.as_ps_f64() / sums.executions
            } else {
                0.0
            },
            min_time_ps: sums.min,
            costs,
            // Executions that do not record it ran at the default clock.
            time_at_default_clock_ps: stats
                .scaled
                .map(|(scaled, time)| scaled + (sums.total - time).as_ps_f64()),
            dma_stall_ps: stats.dma_stall,
            dma_stall_percent: stats
                .dma_stall
                .and_then(|stall| Percent::of(stall, total_time_ps)),
            framework_name: facts.and_then(|facts| facts.framework_name).map(text_of),
            source: facts.and_then(|facts| facts.source).map(text_of),
            per_core,
            ..Self::default()
        };
        if op.is_some() && !row.is_async {
            row.rates = row.rates_by(peaks);
            if model.has_caveat(Caveat::PlaceholderTimes) {
                row.rates = row.rates.without_time();
            }
            row.beyond_peak_of = row.rates.beyond_peak.map(|(limit, _)| limit);
        }
        row
    }

    /// The work of all executions that limits apply to.
    pub fn work(&self) -> OpWork {
        self.costs.work()
    }

    fn rates_by(&self, peaks: &Peaks) -> OpRates {
        let costs = &self.costs;
        let seconds = self.total_time_ps.as_secs_f64();
        let float = |value: Option<u64>| value.map(|value| value as f64);
        let work = costs.work();
        let bytes = float(costs.bytes);
        let per_second = |amount: Option<f64>| ratio(amount, Some(seconds));
        let percent_of = |limit| work.percent_of(limit, seconds, peaks).map(Percent);
        let flops_percent = percent_of(BoundBy::Compute);
        let speed_up = ratio(
            Some(self.mean_time_ps),
            self.min_time_ps.map(Picos::as_ps_f64),
        );
        let is_collective = self.collective.is_some();
        // A kernel that does not say what it computes may be at any limit.
        let is_unknown = self.is_custom_call && work.flops.is_none();
        let bound = work
            .bound(seconds, peaks)
            .filter(|_| !is_collective && !is_unknown);
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
                .and_then(|(percent, speed_up)| possible(percent.0 * speed_up))
                .map(Percent),
            hbm_percent: percent_of(BoundBy::Hbm),
            vmem_read_percent: percent_of(BoundBy::VmemRead),
            vmem_write_percent: percent_of(BoundBy::VmemWrite),
            bound_by: if is_collective {
                Some(BoundBy::LinksOrWaiting)
            } else {
                bound.map(|(limit, _)| limit)
            },
            efficiency_percent: bound.map(|(_, percent)| Percent(percent)),
            beyond_peak: work.beyond_peak(seconds, peaks),
            ideal_time_ps: work
                .ideal_seconds(peaks)
                .filter(|_| !is_unknown)
                .map(|seconds| seconds * 1e12),
        }
    }
}
