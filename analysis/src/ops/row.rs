//! One row of the op table.

use serde::Serialize;
use trace_model::{OpId, Picos};

use super::costs::Basis;
use super::percent;
use super::sums::{OpSums, Subject, is_leaf};
use crate::bound::{BoundBy, Work, ratio};
use crate::category::{CollectiveKind, OpClass, OpGroup};
use crate::peaks::Peaks;

/// Bytes by memory and direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
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
#[expect(clippy::struct_excessive_bools, reason = "independent facts, each a field of the JSON report")]
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OpRow {
    /// The op; absent for slices that belong to none.
    #[serde(skip)]
    pub op: Option<OpId>,
    /// Program, with its id: `jit_matmul(123)`.
    pub program: String,
    /// Instruction name.
    pub name: String,
    /// HLO category, recorded or concluded.
    pub category: String,
    /// Normalised group.
    pub group: OpGroup,
    /// Pattern, for communication between devices.
    pub collective: Option<CollectiveKind>,
    /// A half of an asynchronous op: no rates, no utilization.
    pub is_async: bool,
    /// Time and work are its own, not those of ops inside.
    pub is_leaf: bool,
    /// A kernel that XLA did not write.
    pub is_custom_call: bool,
    /// Computed a second time to save memory.
    pub is_remat: bool,
    /// Executions.
    pub occurrences: u64,
    /// Time of all executions.
    pub total_time_ps: i64,
    /// The same without ops inside.
    pub self_time_ps: i64,
    /// `total_time_ps / occurrences`.
    pub mean_time_ps: f64,
    /// Shortest execution.
    pub min_time_ps: Option<i64>,
    /// Self time of `total_time_ps` of the report: with idle time.
    pub self_of_total_percent: Option<f64>,
    /// Self time of `op_time_ps` of the report: without idle time.
    pub self_of_op_time_percent: Option<f64>,
    /// Operations at the bf16 rate.
    pub flops: Option<u64>,
    /// Operations of the algorithm.
    pub model_flops: Option<u64>,
    /// Bytes to and from all memories.
    pub bytes: Option<u64>,
    /// The same by memory.
    pub memory: Option<MemoryBytes>,
    /// How much faster than bf16 its operands are multiplied, where certain: then
    /// `model_flops` count as so many fewer.
    pub speedup_over_bf16: Option<f64>,
    /// HBM bytes concluded from shapes, where the split by memory was lost; rates
    /// and limits use them then.
    pub hbm_estimate_bytes: Option<u64>,
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
    /// The same of the shortest execution: the best that was seen.
    pub best_flops_percent: Option<f64>,
    /// Achieved of peak HBM bandwidth.
    pub hbm_percent: Option<f64>,
    /// Achieved of peak VMEM read bandwidth.
    pub vmem_read_percent: Option<f64>,
    /// Achieved of peak VMEM write bandwidth.
    pub vmem_write_percent: Option<f64>,
    /// Limit with the largest utilization.
    pub bound_by: Option<BoundBy>,
    /// That utilization: least time that the limits allow / time.
    pub efficiency_percent: Option<f64>,
    /// Least time of all executions that the known limits allow.
    pub ideal_time_ps: Option<f64>,
    /// Time that it would have taken at the default clock, where the capture records
    /// the ratio of clocks (`Time Scale Multiplier`).
    pub time_at_default_clock_ps: Option<f64>,
    /// Time stalled on DMA, where recorded.
    pub dma_stall_ps: Option<i64>,
    /// The same of total time.
    pub dma_stall_percent: Option<f64>,
    /// Provenance in the framework.
    pub framework_name: Option<String>,
    /// `file:line`.
    pub source: Option<String>,
    /// On each core by itself.
    pub per_core: Vec<CoreOpTime>,
}

/// What all rows have in common.
pub(super) struct Frame<'a> {
    pub basis: &'a Basis<'a>,
    pub peaks: &'a Peaks,
    pub total_time_ps: i64,
    pub op_time_ps: i64,
}

impl Frame<'_> {
    /// The row of one op.
    pub fn row(&self, subject: Subject, sums: &OpSums, per_core: Vec<CoreOpTime>) -> OpRow {
        let model = self.basis.model;
        let mut row = self.times(sums, per_core);
        match subject {
            Subject::Label(label) => {
                model.str(model.label(label).name).clone_into(&mut row.name);
                row.is_leaf = is_leaf(OpClass::default(), sums);
            }
            Subject::Op(id) => {
                let (op, class) = (model.op(id), self.basis.classes.class(id));
                row.op = Some(id);
                model.str(op.name).clone_into(&mut row.name);
                row.program = op.program.map(|program| model.program_title(program)).unwrap_or_default();
                self.basis.classes.category(id).clone_into(&mut row.category);
                row.group = class.group;
                row.collective = class.collective;
                row.is_async = class.is_async();
                row.is_leaf = is_leaf(class, sums);
                row.is_custom_call = class.is_custom_call();
                row.is_remat = class.is_remat();
                row.framework_name = op.framework_name.map(|name| model.str(name).to_owned());
                row.source = op.source.map(|source| model.str(source).to_owned());
                let costs = self.basis.costs(id, sums, self.peaks);
                row.flops = costs.flops;
                row.model_flops = costs.model_flops;
                row.bytes = costs.bytes;
                row.memory = costs.memory;
                row.hbm_estimate_bytes = costs.hbm_estimate;
                row.speedup_over_bf16 = costs.speedup;
                if !row.is_async {
                    self.rates(&mut row, sums);
                }
            }
        }
        row
    }

    /// A row with times only.
    fn times(&self, sums: &OpSums, per_core: Vec<CoreOpTime>) -> OpRow {
        let (total, own, told) = (sums.total.ps(), sums.self_time.ps(), sums.told());
        OpRow {
            occurrences: sums.occurrences,
            total_time_ps: total,
            self_time_ps: own,
            mean_time_ps: total as f64 / sums.occurrences.max(1) as f64,
            min_time_ps: sums.min.map(Picos::ps),
            self_of_total_percent: percent(own, self.total_time_ps),
            self_of_op_time_percent: percent(own, self.op_time_ps),
            // Executions that do not record it ran at the clock that is default.
            time_at_default_clock_ps: told.scaled.map(|(scaled, time)| scaled + (sums.total - time).ps() as f64),
            dma_stall_ps: told.dma_stall.map(Picos::ps),
            dma_stall_percent: told.dma_stall.and_then(|stall| percent(stall.ps(), total)),
            per_core,
            ..OpRow::default()
        }
    }

    /// Rates and utilizations over total time.
    fn rates(&self, row: &mut OpRow, sums: &OpSums) {
        let seconds = Some(sums.total.as_secs_f64());
        let float = |value: Option<u64>| value.map(|value| value as f64);
        let work = row.work();
        row.flops_per_second = ratio(float(row.flops), seconds);
        row.model_flops_per_second = ratio(float(row.model_flops), seconds);
        row.bytes_per_second = ratio(float(row.bytes), seconds);
        row.hbm_bytes_per_second = ratio(work.hbm_bytes, seconds);
        row.flops_per_byte = ratio(float(row.flops.or(row.model_flops)), float(row.bytes));
        row.flops_per_hbm_byte = work.hbm_intensity();
        let seconds = sums.total.as_secs_f64();
        let percent_of = |limit| work.percent_of(limit, seconds, self.peaks);
        row.flops_percent = percent_of(BoundBy::Compute);
        row.hbm_percent = percent_of(BoundBy::Hbm);
        // The compiler lists only buffers that it placed in VMEM: none is not "none used".
        let listed = |percent: Option<f64>| percent.filter(|&percent| percent > 0.0);
        row.vmem_read_percent = listed(percent_of(BoundBy::VmemRead));
        row.vmem_write_percent = listed(percent_of(BoundBy::VmemWrite));
        let speed_up = ratio(Some(row.mean_time_ps), row.min_time_ps.map(|min| min as f64));
        row.best_flops_percent = row.flops_percent.zip(speed_up).map(|(percent, speed_up)| percent * speed_up);
        let bound = work.bound(seconds, self.peaks);
        row.bound_by = bound.map(|(limit, _)| limit);
        row.efficiency_percent = bound.map(|(_, percent)| percent);
        row.ideal_time_ps = work.ideal_seconds(self.peaks).map(|seconds| seconds * 1e12);
    }
}

impl OpRow {
    /// The work of all executions, as limits see it. Where operations at the bf16
    /// rate are unknown, those of the algorithm stand in.
    pub fn work(&self) -> Work {
        let memory = |get: fn(&MemoryBytes) -> u64| self.memory.as_ref().map(|memory| get(memory) as f64);
        Work {
            flops: self.flops.map(|flops| flops as f64).or_else(|| {
                let speedup = self.speedup_over_bf16.unwrap_or(1.0);
                self.model_flops.map(|flops| flops as f64 / speedup)
            }),
            hbm_bytes: memory(|memory| memory.hbm_bytes).or(self.hbm_estimate_bytes.map(|bytes| bytes as f64)),
            cmem_read_bytes: memory(|memory| memory.cmem_read_bytes),
            cmem_write_bytes: memory(|memory| memory.cmem_write_bytes),
            vmem_read_bytes: memory(|memory| memory.vmem_read_bytes),
            vmem_write_bytes: memory(|memory| memory.vmem_write_bytes),
        }
    }
}
