//! Costs of op executions: the static costs from the compiler times the number of executions.

use facts::prelude::*;
use hardware::limits::{OpWork, is_beyond_peak};
use math::parallel;
use trace_model::{Access, MemoryAccess, MemorySpace, Op};

use super::estimate;
use super::op_sums::{OpSums, plus, times};
use super::precision::{self, NarrowType};
use super::sums::OpKey;

/// Bytes by memory and direction.
#[engine::row(compiler)]
#[derive(Copy, Default)]
pub struct MemoryBytes {
    /// HBM, all directions.
    pub hbm_bytes: u64,
    /// The bytes read; `None` if the direction of some is not recorded.
    #[column("HBM read")]
    pub hbm_read_bytes: Option<u64>,
    /// The bytes written, likewise.
    #[column("HBM written")]
    pub hbm_write_bytes: Option<u64>,
    /// Read from CMEM; `None` if the compiler lists none, which does not mean that none are read, and so on.
    #[column("CMEM read")]
    pub cmem_read_bytes: Option<u64>,
    /// Written to CMEM.
    #[column("CMEM written")]
    pub cmem_write_bytes: Option<u64>,
    /// Read from VMEM.
    #[column("VMEM read")]
    pub vmem_read_bytes: Option<u64>,
    /// Written to VMEM.
    #[column("VMEM written")]
    pub vmem_write_bytes: Option<u64>,
    /// Any other memory.
    pub other_bytes: u64,
}

/// Costs of all executions of an op.
#[engine::row(compiler)]
#[derive(Copy, Default)]
pub struct OpCosts {
    /// Operations at the bf16 rate.
    #[column("Operations")]
    pub flops: Option<u64>,
    /// Operations of the algorithm.
    #[column("Model operations")]
    pub model_flops: Option<u64>,
    /// Bytes to and from all memories.
    #[column]
    pub bytes: Option<u64>,
    /// Bytes by memory.
    #[column(nested)]
    pub memory: Option<MemoryBytes>,
    /// HBM bytes inferred from shapes, if the split by memory was lost; rates and limits then use them.
    pub hbm_estimate_bytes: Option<u64>,
    /// How much faster than bf16 its operands are multiplied, if this is certain; `model_flops` are divided by it.
    pub speedup_over_bf16: Option<f64>,
}

impl OpCosts {
    /// Operations of the algorithm, converted to the number of bf16 operations that take the same time.
    pub(crate) fn model_flops_as_bf16(&self) -> Option<f64> {
        self.model_flops
            .map(|flops| flops as f64 / self.speedup_over_bf16.unwrap_or(1.0))
    }

    /// Operations at the bf16 rate; computed from those of the algorithm if only these are known.
    pub(crate) fn flops_as_bf16(&self) -> Option<f64> {
        self.flops
            .map(|flops| flops as f64)
            .or(self.model_flops_as_bf16())
    }

    /// The limits that this work exceeds if done in `seconds`, so that its amounts cannot be right.
    pub(crate) fn beyond_peaks(
        &self,
        seconds: f64,
        peaks: &Peaks,
    ) -> impl Iterator<Item = BoundBy> {
        // Operations of narrow types whose speed is unknown can exceed the peak of bf16.
        let model = OpWork {
            flops: self.model_flops_as_bf16(),
            ..OpWork::default()
        };
        let all = [self.work(), model];
        let exceeds = move |limit, work: &OpWork| {
            work.percent_of(limit, seconds, peaks)
                .is_some_and(is_beyond_peak)
                || work.takes_no_time(limit, seconds, peaks)
        };
        BoundBy::ALL
            .into_iter()
            .filter(move |&limit| all.iter().any(|work| exceeds(limit, work)))
    }

    /// Work and costs without the amounts that count against `limits`.
    pub(super) fn without(&self, limits: &[BoundBy]) -> (OpWork, Self) {
        let mut work = OpWork {
            flops: self.flops.map(|flops| flops as f64),
            ..self.work()
        };
        let mut costs = *self;
        for limit in limits {
            match limit {
                BoundBy::Compute => {
                    (work.flops, costs.flops, costs.model_flops) = (None, None, None);
                }
                BoundBy::Hbm => work.hbm_bytes = None,
                BoundBy::CmemRead => work.cmem_read_bytes = None,
                BoundBy::CmemWrite => work.cmem_write_bytes = None,
                BoundBy::VmemRead => work.vmem_read_bytes = None,
                BoundBy::VmemWrite => work.vmem_write_bytes = None,
                BoundBy::LinksOrWaiting => {}
            }
        }
        (work, costs)
    }

    /// HBM traffic as recorded, otherwise as estimated.
    pub(crate) fn hbm_bytes(&self) -> Option<u64> {
        self.memory
            .map(|memory| memory.hbm_bytes)
            .or(self.hbm_estimate_bytes)
    }

    /// The amounts that limits apply to. If operations at the bf16 rate are unknown, those of the algorithm are used.
    pub(crate) fn work(&self) -> OpWork {
        let memory =
            |get: fn(&MemoryBytes) -> Option<u64>| Some(get(self.memory.as_ref()?)? as f64);
        OpWork {
            flops: self.flops_as_bf16(),
            hbm_bytes: self.hbm_bytes().map(|bytes| bytes as f64),
            cmem_read_bytes: memory(|memory| memory.cmem_read_bytes),
            cmem_write_bytes: memory(|memory| memory.cmem_write_bytes),
            vmem_read_bytes: memory(|memory| memory.vmem_read_bytes),
            vmem_write_bytes: memory(|memory| memory.vmem_write_bytes),
        }
    }
}

/// How bytes are split by memory if an op has no recorded split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MemoryRule {
    /// Other ops of this capture have a split: it is unknown for ops without one.
    Recorded,
    /// The format lost the split: it is inferred from shapes.
    FromShapes,
    /// All bytes are HBM traffic: the capture predates the recorded split.
    AllIsHbm,
}

impl MemoryRule {
    pub fn of(model: &TraceModel) -> Self {
        let split = model.ops().iter().any(|op| !op.memory.is_empty());
        let could_split = model
            .sources()
            .iter()
            .all(|source| source.tells.memory_of_bytes);
        match (split, could_split) {
            (true, _) => Self::Recorded,
            (false, true) => Self::AllIsHbm,
            (false, false) => Self::FromShapes,
        }
    }
}

/// Costs of an execution, as far as the HLO text of an op shows them.
#[derive(Clone, Copy, Default)]
struct TextCosts {
    /// HBM traffic inferred from shapes, if the format lost it.
    hbm_bytes: Option<u64>,
    /// Type of the operands of a matrix op, if it runs faster than bf16.
    narrow: Option<NarrowType>,
}

impl TextCosts {
    fn new(model: &TraceModel, op: &Op, class: OpClass, rule: MemoryRule) -> Self {
        let text = op
            .hlo_text
            .map(|text| model.str(text))
            .filter(|_| class.group == OpGroup::MatMul);
        let estimate = || estimate::hbm_bytes(model, op, class);
        Self {
            hbm_bytes: (rule == MemoryRule::FromShapes).then(estimate).flatten(),
            narrow: text.and_then(precision::narrow),
        }
    }
}

/// Costs and names of ops, independent of the part of the trace.
pub(crate) struct OpCostModel {
    pub model: TraceModel,
    pub classes: Arc<OpClasses>,
    pub rule: MemoryRule,
    /// By op.
    texts: Vec<TextCosts>,
    /// By program.
    titles: Vec<Arc<str>>,
}

impl Fact for OpCostModel {
    fn find(cx: &Context<'_>) -> Self {
        Self::new(cx)
    }
}

impl std::fmt::Debug for OpCostModel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Basis")
            .field("model", &self.model)
            .field("rule", &self.rule)
            .finish_non_exhaustive()
    }
}

impl OpCostModel {
    fn new(cx: &Context<'_>) -> Self {
        let model = cx.model;
        let classes = cx.classes();
        let rule = MemoryRule::of(model);
        let ops: Vec<OpId> = model.op_ids().collect();
        let texts = parallel::map(&ops, ops.len(), |&op| {
            TextCosts::new(model, model.op(op), classes.class(op), rule)
        });
        let titles = model
            .program_ids()
            .map(|program| model.program_title(program).into())
            .collect();
        Self {
            model: model.clone(),
            classes: Arc::clone(classes),
            rule,
            texts,
            titles,
        }
    }

    /// Name of the instruction, or the label of slices without one.
    pub(super) fn name(&self, key: OpKey) -> &str {
        self.model.str(match key {
            OpKey::Op(op) => self.model.op(op).name,
            OpKey::Label(label) => self.model.label(label).name,
        })
    }

    /// See [`trace_model::TraceColumns::program_title`]; empty without a program.
    pub fn program_title(&self, op: Option<OpId>) -> Arc<str> {
        let program = op.and_then(|op| self.model.op(op).program);
        program
            .and_then(|program| self.titles.get(program.index()))
            .cloned()
            .unwrap_or_default()
    }

    /// Costs of these executions. Static costs are per execution. Custom calls add the costs that each execution
    /// records; 0 means "not declared" there, so it counts as unknown.
    pub(super) fn costs(&self, id: OpId, sums: &OpSums, peaks: &Peaks) -> OpCosts {
        let op = self.model.op(id);
        let class = self.classes.class(id);
        let text = self.texts.get(id.index()).copied().unwrap_or_default();
        let of_all = |cost: Option<u64>| cost.map(|cost| times(cost, sums.executions));
        let memory = MemoryBytes::of(op, sums.executions);
        let mut costs = if class.is_custom_call() {
            let declared =
                |fixed, events| plus(of_all(fixed), events).filter(|&cost: &u64| cost > 0);
            OpCosts {
                flops: declared(op.flops, sums.stats.flops),
                model_flops: declared(op.model_flops, sums.stats.model_flops),
                bytes: declared(op.bytes_accessed, sums.stats.bytes),
                memory: memory.filter(|memory| memory.total() > 0),
                ..OpCosts::default()
            }
        } else {
            OpCosts {
                flops: of_all(op.flops),
                model_flops: of_all(op.model_flops),
                bytes: of_all(op.bytes_accessed.or(op.raw_bytes_accessed)),
                memory,
                ..OpCosts::default()
            }
        };
        // Zero operations of the algorithm means that both numbers are the same.
        match costs.model_flops.filter(|&flops| flops > 0) {
            Some(_) if class.group == OpGroup::MatMul => {
                costs.speedup_over_bf16 = text.narrow.and_then(|narrow| narrow.speedup(peaks));
            }
            Some(_) => {}
            None => costs.model_flops = costs.flops,
        }
        if costs.memory.is_none() {
            match self.rule {
                MemoryRule::Recorded => {}
                MemoryRule::AllIsHbm => {
                    costs.memory = costs.bytes.map(|bytes| MemoryBytes {
                        hbm_bytes: bytes,
                        ..Default::default()
                    });
                }
                MemoryRule::FromShapes => costs.hbm_estimate_bytes = of_all(text.hbm_bytes),
            }
        }
        costs
    }
}

impl MemoryBytes {
    /// The recorded split of these executions.
    fn of(op: &Op, executions: f64) -> Option<Self> {
        if op.memory.is_empty() {
            return None;
        }
        let times = |bytes: u64| times(bytes, executions);
        let sum_of = |wanted: &dyn Fn(&MemoryAccess) -> bool| {
            let parts = op.memory.iter().filter(|part| wanted(part));
            parts.fold(0, |sum: u64, part| sum.saturating_add(times(part.bytes)))
        };
        let in_memory = |space, access| {
            (!op.memory
                .iter()
                .any(|part| part.space == space && part.access == Access::Unknown))
            .then(|| sum_of(&|part| part.space == space && part.access == access))
        };
        // The compiler lists only buffers that it placed there: kernels may use more.
        let listed = |space, access| in_memory(space, access).filter(|&bytes| bytes > 0);
        let sum = Self {
            hbm_bytes: sum_of(&|part| part.space == MemorySpace::Hbm),
            hbm_read_bytes: in_memory(MemorySpace::Hbm, Access::Read),
            hbm_write_bytes: in_memory(MemorySpace::Hbm, Access::Write),
            cmem_read_bytes: listed(MemorySpace::Cmem, Access::Read),
            cmem_write_bytes: listed(MemorySpace::Cmem, Access::Write),
            vmem_read_bytes: listed(MemorySpace::Vmem, Access::Read),
            vmem_write_bytes: listed(MemorySpace::Vmem, Access::Write),
            other_bytes: 0,
        };
        let all = sum_of(&|_| true);
        Some(Self {
            other_bytes: all.saturating_sub(sum.total()),
            ..sum
        })
    }
}
