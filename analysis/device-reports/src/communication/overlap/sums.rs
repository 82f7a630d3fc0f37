//! Sums of a transfer over its executions, on one core and across cores.

use facts::prelude::*;
use facts::{CollectiveTraffic, SharedClock};
use trace_model::StringId;

use super::cores::{CoreActivity, InFlightSpan, name_of};
use super::hiding_ops::{HidingOps, HidingTime};
use super::kinds::KindPlaces;
use super::skew::CollectiveExecution;

/// Program and index of the name of the op that issues a transfer.
pub(super) type TransferKey = (Option<ProgramId>, usize);

/// A shorter span between a start and its done counts as nothing in between.
const ADJACENT: Picos = Picos::from_ps(1_000_000);

/// Sums of one row. There are as many as ops that move something, most of them copies.
#[derive(Default)]
pub(super) struct OverlapSums {
    pub class: OpClass,
    pub op: Option<OpId>,
    pub name: StringId,
    pub occurrences: u64,
    /// Occurrences, with the parts of those that a border of the scope cuts.
    pub executions: f64,
    pub time: Picos,
    pub hidden: Picos,
    pub blocking: Picos,
    /// In flight while the core neither computed nor was in a collective.
    pub idle: Picos,
    /// Executions without anything between start and done.
    pub adjacent: u64,
    /// Number of cores that ran it, and the last of them: cores are processed one after the other.
    pub cores: usize,
    last_core: Option<usize>,
    /// The last core on which it was in flight.
    pub in_flight_on: Option<usize>,
    pub kinds: KindPlaces,
    /// What it moves, for collectives only.
    pub message: Option<Arc<CollectiveTraffic>>,
    /// For collectives only.
    pub shared: Option<Box<MultiCoreTransfers>>,
}

/// Executions to be matched between cores.
#[derive(Default)]
pub(super) struct MultiCoreTransfers {
    pub hiding_ops: HidingTime,
    /// Whether finding the compute that hid it took too much work.
    pub has_unknown_hiding_ops: bool,
    /// Spans in flight by core.
    executions: BTreeMap<usize, Vec<CollectiveExecution>>,
    /// Synchronous executions by core, one core after the other: there can be as many as ops.
    synchronous: Vec<(usize, Vec<SliceId>)>,
    /// When synchronous ones ran that the begin of the scope cuts, and those that its end cuts.
    cut: [Option<TimeRange>; 2],
}

impl OverlapSums {
    pub fn new(model: &TraceModel, slice: SliceId, class: OpClass) -> Self {
        let slice = model.slice(slice);
        Self {
            class,
            op: slice.op(),
            name: name_of(model, slice),
            shared: class.is_collective().then(Box::default),
            ..Self::default()
        }
    }

    pub fn ran_on(&mut self, core: usize) {
        self.cores += usize::from(self.last_core != Some(core));
        self.last_core = Some(core);
    }

    /// Adds one span in flight on the core `index`; returns how much of it is hidden.
    pub fn add_span(
        &mut self,
        model: &TraceModel,
        span: &InFlightSpan,
        (index, meanwhile): (usize, &CoreActivity),
        compute: &mut HidingOps<'_>,
    ) -> Picos {
        self.ran_on(index);
        self.in_flight_on = Some(index);
        let hidden = meanwhile.compute.measure_in(span.range);
        let blocked = meanwhile.blocked.measure_in(span.range);
        let idle = span.range.dur() - hidden - blocked;
        self.occurrences += u64::from(span.begins_here);
        self.executions += span.range.dur().fraction_of(span.whole).unwrap_or(1.0);
        self.time += span.range.dur();
        self.hidden += hidden;
        self.idle += idle;
        self.adjacent += u64::from(span.begins_here && hidden == Picos::ZERO && idle < ADJACENT);
        let Some(shared) = &mut self.shared else {
            return hidden;
        };
        if hidden > Picos::ZERO {
            shared.has_unknown_hiding_ops |= !compute.add(span.range, &mut shared.hiding_ops);
        }
        let slice = model.slice(span.slice);
        let execution = CollectiveExecution {
            begins_inside: span.begins_here,
            ..CollectiveExecution::of(slice, span.whole, blocked)
        };
        shared.executions.entry(index).or_default().push(execution);
        hidden
    }
}

impl MultiCoreTransfers {
    /// Adds a synchronous execution that lies in the window as a whole.
    pub fn add_synchronous(&mut self, core: usize, slice: SliceId) {
        match self
            .synchronous
            .last_mut()
            .filter(|(last, _)| *last == core)
        {
            Some((_, slices)) => slices.push(slice),
            None => self.synchronous.push((core, vec![slice])),
        }
    }

    /// Adds a synchronous execution of which a part may lie outside of the window of its core.
    pub fn add_cut(&mut self, core: usize, slice: SliceRef<'_>, window: TimeRange) {
        let range = slice.measured_range();
        let Some(part) = range.intersect(window) else {
            return;
        };
        for (is_cut, cut) in [range.start < part.start, part.end < range.end]
            .into_iter()
            .zip(&mut self.cut)
        {
            if is_cut {
                *cut = Some(cut.map_or(slice.range(), |cut| cut.hull(slice.range())));
            }
        }
        let of = CollectiveExecution::of(slice, range.dur(), part.dur());
        let execution = CollectiveExecution {
            begins_inside: range.start >= part.start,
            before: part.start - range.start,
            ..of
        };
        self.executions.entry(core).or_default().push(execution);
    }

    /// Removes and returns all executions, by core, on a clock that all cores share.
    pub fn executions(
        &mut self,
        cx: &Context<'_>,
        key: TransferKey,
        cores: &[GroupId],
    ) -> BTreeMap<usize, Vec<CollectiveExecution>> {
        let model = cx.model;
        let mut all = std::mem::take(&mut self.executions);
        for (core, slices) in std::mem::take(&mut self.synchronous) {
            let slices = slices.into_iter().map(|slice| model.slice(slice));
            let executions = slices.map(|slice| {
                let dur = slice.measured_dur();
                CollectiveExecution::of(slice, dur, dur)
            });
            all.entry(core).or_default().extend(executions);
        }
        for cut in self.cut.into_iter().flatten() {
            for (core, execution) in beyond(cx, key, cores, cut, &all) {
                all.entry(core).or_default().push(execution);
            }
        }
        for (&core, executions) in &mut all {
            let Some(&group) = cores.get(core) else {
                continue;
            };
            if let Some(clock) = SharedClock::of(cx, group) {
                for execution in executions {
                    execution.range = clock.convert(cx, execution.range);
                }
            }
        }
        all
    }
}

/// Executions of a synchronous collective outside the scope, while a border cuts those of other cores, which ran in
/// `cut`: without them nobody knows who waits for whom.
fn beyond(
    cx: &Context<'_>,
    key: TransferKey,
    cores: &[GroupId],
    cut: TimeRange,
    known: &BTreeMap<usize, Vec<CollectiveExecution>>,
) -> Vec<(usize, CollectiveExecution)> {
    let mut beyond = Vec::new();
    for (index, &core) in cores.iter().enumerate() {
        let known = known.get(&index).map_or(&[][..], Vec::as_slice);
        let lanes = cx
            .model
            .track_of_kind(core, TrackKind::Ops)
            .map(|track| cx.model.lanes(track));
        for slice in lanes
            .unwrap_or_default()
            .iter()
            .flat_map(|lane| cx.model.slices_in(lane, cut))
        {
            let execution = CollectiveExecution::beyond(slice);
            let is_new = || known.iter().all(|known| known.key != execution.key);
            if key_of(cx.model, slice.label_id()) == key && is_new() {
                beyond.push((index, execution));
            }
        }
    }
    beyond
}

pub(super) fn key_of(model: &TraceModel, label: LabelId) -> TransferKey {
    let label = model.label(label);
    match label.op {
        Some(op) => (model.op(op).program, model.op(op).name.index()),
        None => (None, label.name.index()),
    }
}
