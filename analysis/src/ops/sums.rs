//! What happened on one core, op by op.
//!
//! One pass over the op track of a core adds up times; static costs are applied
//! afterwards, once per op. Times are those of [`SliceRef::measured_dur`], the
//! device's own clock where there is one.

use trace_model::{
    Access, GroupId, LabelId, MemorySpace, Op, OpId, Picos, SliceAttr, SliceRef, TimeRange, Timestamp, TraceModel,
    TrackId, TrackKind,
};

use crate::category::{OpClass, OpClasses, OpGroup};
use crate::intervals::IntervalSet;
use crate::peaks::Peaks;
use crate::{AnalysisError, Context, Scope, Window};

/// What slices are grouped by: the op, or the label of slices without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    Op(OpId),
    Label(LabelId),
}

/// Executions of one op on one core.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct OpSums {
    pub occurrences: u64,
    pub total: Picos,
    pub self_time: Picos,
    pub min: Option<Picos>,
    pub dma_stall: Option<Picos>,
    /// Time × the recorded ratio of the clock that ran to the default one, and the
    /// time of executions that record it.
    pub scaled: Option<(f64, Picos)>,
    /// Sums of what single executions say of their costs (custom calls).
    pub event_flops: Option<u64>,
    pub event_model_flops: Option<u64>,
    pub event_bytes: Option<u64>,
    /// Any execution had another op inside.
    pub has_children: bool,
}

/// One core.
pub(super) struct CoreSums {
    pub core: GroupId,
    /// Over which idle time is measured, see [`op_window`].
    pub window: Window,
    /// By subject: ops first, then labels.
    pub sums: Vec<OpSums>,
    /// Leaf ops that keep the core on duty, by the clock that timed them.
    pub busy: IntervalSet,
    /// The same as `XProf` takes it: every op that is not off duty, containers
    /// too, on the timeline.
    pub on_duty: IntervalSet,
}

/// Costs of all executions of an op.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Costs {
    pub flops: Option<u64>,
    pub model_flops: Option<u64>,
    pub bytes: Option<u64>,
    pub memory: Option<super::MemoryBytes>,
    /// HBM bytes concluded from shapes, where `memory` is not recorded.
    pub hbm_estimate: Option<u64>,
    /// How much faster than bf16 its operands are multiplied, where certain.
    pub speedup: Option<f64>,
}

impl Costs {
    /// Operations of the algorithm, as many as take the same time in bf16.
    pub fn model_flops_as_bf16(&self) -> Option<f64> {
        self.model_flops.map(|flops| flops as f64 / self.speedup.unwrap_or(1.0))
    }

    /// Operations at the bf16 rate; from those of the algorithm where only these are known.
    pub fn flops_as_bf16(&self) -> Option<f64> {
        self.flops.map(|flops| flops as f64).or(self.model_flops_as_bf16())
    }

    /// HBM traffic as recorded, else as estimated.
    pub fn hbm_bytes(&self) -> Option<u64> {
        self.memory.map(|memory| memory.hbm_bytes).or(self.hbm_estimate)
    }
}

/// How bytes are split over memories where an op has no recorded split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemoryRule {
    /// Recorded for other ops of this capture: unknown for those without.
    Recorded,
    /// Lost with the format: concluded from shapes.
    FromShapes,
    /// All of it is HBM traffic: a capture from before the split was recorded.
    AllIsHbm,
}

impl MemoryRule {
    pub fn of(model: &TraceModel) -> Self {
        let split = model.ops().iter().any(|op| !op.memory.is_empty());
        let could_split = model.sources().iter().all(|source| source.format == "xplane");
        match (split, could_split) {
            (true, _) => Self::Recorded,
            (false, true) => Self::AllIsHbm,
            (false, false) => Self::FromShapes,
        }
    }
}

/// The window that shares and idle time of a core refer to: for the whole trace
/// from its first op (or recorded step) to the end of the last, as `XProf` does;
/// otherwise the scope.
pub(super) fn op_window(cx: &Context<'_>, core: GroupId) -> Result<Option<Window>, AnalysisError> {
    if cx.scope != Scope::WholeTrace {
        return cx.window(core);
    }
    Ok(cx.extent_of(core, |kind| matches!(kind, TrackKind::Steps | TrackKind::Ops)))
}

impl CoreSums {
    /// Adds up one core; `None` where it recorded no op in the scope.
    pub fn collect(cx: &Context<'_>, core: GroupId, classes: &OpClasses) -> Result<Option<Self>, AnalysisError> {
        let Some(track) = cx.model.track_of_kind(core, TrackKind::Ops) else { return Ok(None) };
        let Some(window) = op_window(cx, core)? else { return Ok(None) };
        let mut sums = vec![OpSums::default(); cx.model.ops().len() + cx.model.labels().len()];
        let has_scale = cx.model.slices_with(SliceAttr::TimeScaleBits).next().is_some();
        for slice in slices_in(cx, track, window) {
            sums[index(cx.model, slice)].add(slice, has_scale);
            if let Some(parent) = slice.parent() {
                sums[index(cx.model, parent)].has_children = true;
            }
        }
        if cx.scope == Scope::WholeTrace {
            add_aggregates(cx.model, core, &mut sums);
        }
        let (busy, on_duty) = duty(cx, track, window, classes, &sums);
        Ok(Some(Self { core, window, sums, busy, on_duty }))
    }

    /// Everything that ran, with its sums.
    pub fn subjects<'a>(&'a self, model: &'a TraceModel) -> impl Iterator<Item = (Subject, &'a OpSums)> {
        let ops = model.op_ids().map(Subject::Op);
        let labels = model.label_ids().map(Subject::Label);
        ops.chain(labels).zip(&self.sums).filter(|(_, sums)| sums.occurrences > 0)
    }
}

/// Whether the time and the costs of an op are its own. By category where one was
/// recorded; otherwise whatever had ops inside is a container too.
pub(super) fn is_leaf(class: OpClass, sums: &OpSums) -> bool {
    !class.may_have_inner_ops && (class.category_recorded || !sums.has_children)
}

fn index(model: &TraceModel, slice: SliceRef<'_>) -> usize {
    slice.op().map_or_else(|| model.ops().len() + slice.label_id().index(), OpId::index)
}

fn slices_in<'a>(cx: &Context<'a>, track: TrackId, window: Window) -> impl Iterator<Item = SliceRef<'a>> {
    let model = cx.model;
    let whole = cx.scope == Scope::WholeTrace;
    // Of the whole trace everything counts: an instant at the very end would begin
    // outside of the half-open window, a program before the first op as well.
    let range = if whole { TimeRange::new(Timestamp::MIN, Timestamp::MAX) } else { window.range };
    let lanes = model.lanes(track).iter();
    lanes.flat_map(move |lane| model.slices_in(lane, range)).filter(move |slice| range.contains(slice.start()))
}

/// Busy and on-duty time, see [`CoreSums`]; needs complete sums to know the leaves.
fn duty(
    cx: &Context<'_>,
    track: TrackId,
    window: Window,
    classes: &OpClasses,
    sums: &[OpSums],
) -> (IntervalSet, IntervalSet) {
    let on_duty_slices = || {
        slices_in(cx, track, window)
            .map(|slice| (slice, classes.class_of(slice.op())))
            .filter(|(_, class)| !class.is_off_duty)
    };
    let leaves = on_duty_slices().filter(|&(slice, class)| is_leaf(class, &sums[index(cx.model, slice)]));
    let busy = leaves.map(|(slice, _)| slice.measured_range()).collect();
    let on_duty = on_duty_slices().map(|(slice, _)| slice.range()).collect();
    (busy, on_duty)
}

fn add_aggregates(model: &TraceModel, core: GroupId, sums: &mut [OpSums]) {
    for aggregate in model.aggregates() {
        let track = model.track(aggregate.track);
        if track.group != core || track.kind != TrackKind::Ops {
            continue;
        }
        let label = model.label(aggregate.label);
        let at = label.op.map_or_else(|| model.ops().len() + aggregate.label.index(), OpId::index);
        let sum = &mut sums[at];
        sum.occurrences += aggregate.occurrences;
        sum.total += aggregate.total;
        sum.self_time += aggregate.self_time.unwrap_or(aggregate.total);
        sum.min = least(sum.min, aggregate.min);
    }
}

fn least(a: Option<Picos>, b: Option<Picos>) -> Option<Picos> {
    a.into_iter().chain(b).min()
}

fn plus(sum: Option<u64>, value: Option<u64>) -> Option<u64> {
    match (sum, value) {
        (Some(sum), Some(value)) => Some(sum.saturating_add(value)),
        (sum, value) => sum.or(value),
    }
}

impl OpSums {
    /// Adds an execution; `has_scale` says whether any execution of the trace has a
    /// time scale.
    fn add(&mut self, slice: SliceRef<'_>, has_scale: bool) {
        let dur = slice.measured_dur();
        self.occurrences += 1;
        self.total += dur;
        self.self_time += slice.self_dur();
        self.min = least(self.min, Some(dur));
        if let Some(stall) = slice.attr(SliceAttr::DmaStallPs) {
            self.dma_stall = Some(self.dma_stall.unwrap_or_default() + Picos::from_ps(stall));
        }
        if has_scale && let Some(scale) = slice.attr_f64(SliceAttr::TimeScaleBits).filter(|&s| s > 0.0 && s < 1e3) {
            let (scaled, time) = self.scaled.unwrap_or_default();
            self.scaled = Some((scaled + scale * dur.ps() as f64, time + dur));
        }
        let attr = |attr| slice.attr(attr).and_then(|value| u64::try_from(value).ok());
        self.event_flops = plus(self.event_flops, attr(SliceAttr::Flops));
        self.event_model_flops = plus(self.event_model_flops, attr(SliceAttr::ModelFlops));
        self.event_bytes = plus(self.event_bytes, attr(SliceAttr::Bytes));
    }

    /// Adds the same op on another core.
    pub fn merge(&mut self, other: &Self) {
        self.occurrences += other.occurrences;
        self.total += other.total;
        self.self_time += other.self_time;
        self.min = least(self.min, other.min);
        self.dma_stall = match (self.dma_stall, other.dma_stall) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        self.scaled = match (self.scaled, other.scaled) {
            (Some(a), Some(b)) => Some((a.0 + b.0, a.1 + b.1)),
            (a, b) => a.or(b),
        };
        self.event_flops = plus(self.event_flops, other.event_flops);
        self.event_model_flops = plus(self.event_model_flops, other.event_model_flops);
        self.event_bytes = plus(self.event_bytes, other.event_bytes);
        self.has_children |= other.has_children;
    }

    /// Costs of these executions. Static costs are per execution. Custom calls add
    /// what each execution says; 0 there is "not declared", so it counts as unknown.
    pub fn costs(&self, model: &TraceModel, op: &Op, class: OpClass, rule: MemoryRule, peaks: &Peaks) -> Costs {
        let times = |cost: Option<u64>| cost.map(|cost| cost.saturating_mul(self.occurrences));
        let memory = super::MemoryBytes::of(op, self.occurrences);
        let mut costs = if class.is_custom_call {
            let declared = |fixed, events| plus(times(fixed), events).filter(|&cost: &u64| cost > 0);
            Costs {
                flops: declared(op.flops, self.event_flops),
                model_flops: declared(op.model_flops, self.event_model_flops),
                bytes: declared(op.bytes_accessed, self.event_bytes),
                memory: memory.filter(|memory| memory.total() > 0),
                ..Costs::default()
            }
        } else {
            let bytes = times(op.bytes_accessed.or(op.raw_bytes_accessed));
            let (flops, model_flops) = (times(op.flops), times(op.model_flops));
            Costs { flops, model_flops, bytes, memory, ..Costs::default() }
        };
        // Zero operations of the algorithm means that they are the same.
        match costs.model_flops.filter(|&flops| flops > 0) {
            Some(_) if class.group == OpGroup::MatMul => {
                let text = op.hlo_text.map(|text| model.str(text)).unwrap_or_default();
                costs.speedup = super::precision::speedup(text, peaks);
            }
            Some(_) => {}
            None => costs.model_flops = costs.flops,
        }
        if costs.memory.is_none() {
            match rule {
                MemoryRule::Recorded => {}
                MemoryRule::AllIsHbm => {
                    costs.memory =
                        costs.bytes.map(|bytes| super::MemoryBytes { hbm_bytes: bytes, ..Default::default() });
                }
                MemoryRule::FromShapes => costs.hbm_estimate = times(super::estimate::hbm_bytes(model, op, class)),
            }
        }
        costs
    }
}

impl super::MemoryBytes {
    /// The recorded split of `occurrences` executions.
    fn of(op: &Op, occurrences: u64) -> Option<Self> {
        if op.memory.is_empty() {
            return None;
        }
        let mut sum = Self::default();
        for part in &op.memory {
            let bytes = part.bytes.saturating_mul(occurrences);
            let add = |slot: &mut u64| *slot = slot.saturating_add(bytes);
            match (part.space, part.access) {
                (MemorySpace::Hbm, access) => {
                    add(&mut sum.hbm_bytes);
                    match access {
                        Access::Read => add(&mut sum.hbm_read_bytes),
                        Access::Write => add(&mut sum.hbm_write_bytes),
                        Access::Unknown => {}
                    }
                }
                (MemorySpace::Cmem, Access::Read) => add(&mut sum.cmem_read_bytes),
                (MemorySpace::Cmem, Access::Write) => add(&mut sum.cmem_write_bytes),
                (MemorySpace::Vmem, Access::Read) => add(&mut sum.vmem_read_bytes),
                (MemorySpace::Vmem, Access::Write) => add(&mut sum.vmem_write_bytes),
                _ => add(&mut sum.other_bytes),
            }
        }
        Some(sum)
    }
}
