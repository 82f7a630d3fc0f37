//! Sums of the ops of one core.
//!
//! One pass over the op track of a core adds up times; static costs are applied afterwards, once per op
//! ([`super::costs`]). Times are by the device clock where there is one. Of an execution that a border of the scope cuts,
//! the part inside counts, with that part of its costs.

use facts::prelude::*;
use facts::window::{counts, part_in, part_of_op, slices_of_window};
use facts::{TimeWindow, window};
use math::intervals::{UnionBuilder, UnionLength};
use trace_model::SliceSpans;

use super::op_sums::{OpSums, least};

/// The key that slices are grouped by: the op, or the label of slices without one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum OpKey {
    Op(OpId),
    Label(LabelId),
}

impl OpKey {
    #[inline]
    fn of(slice: SliceRef<'_>) -> Self {
        Self::new(slice.label_id(), slice.op())
    }

    fn new(label: LabelId, op: Option<OpId>) -> Self {
        op.map_or(Self::Label(label), Self::Op)
    }

    pub fn op(self) -> Option<OpId> {
        match self {
            Self::Op(op) => Some(op),
            Self::Label(_) => None,
        }
    }
}

/// The sums of one core.
pub(super) struct CoreSums {
    pub core: GroupId,
    /// The window in which idle time is measured.
    pub window: TimeWindow,
    /// Everything that ran, ops first.
    sums: Vec<(OpKey, OpSums)>,
    /// `None` if it was not requested.
    pub duty: Option<DutyTime>,
}

/// The time in which a core worked.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct DutyTime {
    /// Union of leaf ops that keep the core on duty, by the clock that timed them.
    pub busy: Picos,
    /// Union of ops on duty by `XProf`'s definition: all that are not off duty, containers too, on the timeline.
    pub on_duty: Picos,
}

impl CoreSums {
    /// Adds up one core over its window, with its duty where `classes` are given; `None` if it recorded programs and no
    /// ops. The sums of a part of that window are made in the same pass.
    pub fn collect(
        cx: &Context<'_>,
        core: GroupId,
        window: TimeWindow,
        classes: Option<&OpClasses>,
        part: Option<(Context<'_>, TimeWindow)>,
    ) -> Result<Option<(Self, Option<Self>)>> {
        let Some(track) = cx
            .model
            .track_of_kind(core, TrackKind::Ops)
            .filter(|_| window::has_ops(cx.model, core))
        else {
            let idle = |window| Self {
                core,
                window,
                sums: Vec::new(),
                duty: Some(DutyTime::default()),
            };
            return Ok(window::ran_nothing(cx.model, core)
                .then(|| (idle(window), part.map(|(_, window)| idle(window)))));
        };
        let mut sums = WindowSums::new(*cx, window);
        let mut part = part.map(|(cx, window)| WindowSums::new(cx, window));
        let mut duty = classes.map(DutyUnions::new);
        cx.watched(slices_of_window(cx, track, window))
            .for_each(|spans| {
                sums.add(&spans);
                if let Some(duty) = &mut duty {
                    duty.add(&spans);
                }
                if let Some(part) = &mut part
                    && let Some(spans) = part_of_op(spans, part.window)
                {
                    part.add(&spans);
                }
            });
        let duty = duty.map(|duty| duty.finish(cx, track, window, &mut sums.sums));
        let part = part
            .map(|part| part.finish(core, track, None))
            .transpose()?;
        Ok(Some((sums.finish(core, track, duty)?, part)))
    }

    /// Everything that ran, with its sums; ops first, then labels.
    pub fn subjects(&self) -> impl Iterator<Item = (OpKey, &OpSums)> {
        self.sums.iter().map(|(subject, sums)| (*subject, sums))
    }

    /// All ops with their sums, which are consumed.
    pub fn into_subjects(self) -> impl Iterator<Item = (OpKey, OpSums)> {
        self.sums.into_iter()
    }
}

/// The sums of one window of a core while they are collected.
struct WindowSums<'a> {
    cx: Context<'a>,
    window: TimeWindow,
    sums: SumsByOp,
    /// The op around the last one that has one: most children of an op follow each other.
    around: Option<SliceId>,
    /// Executions with others inside that a border cuts.
    cut: Vec<SliceRef<'a>>,
}

impl<'a> WindowSums<'a> {
    fn new(cx: Context<'a>, window: TimeWindow) -> Self {
        Self {
            cx,
            window,
            sums: SumsByOp::new(cx.model),
            around: None,
            cut: Vec::new(),
        }
    }

    /// Adds the part of an execution that lies in the window.
    #[inline]
    fn add(&mut self, spans: &SliceSpans<'a>) {
        let slice = spans.slice;
        let measured = self.window.measured;
        // What touches no border of the window is whole.
        let may_be_cut = self.cx.scope != Scope::WholeTrace
            && (spans.measured.start <= measured.start || spans.measured.end >= measured.end);
        let sum = self.sums.at(OpKey::of(slice)).1;
        sum.occurrences += u64::from(counts(&self.cx, self.window, slice));
        if sum.add(spans, may_be_cut) {
            self.cut.push(slice);
        }
        if let Some(parent) = slice
            .parent()
            .filter(|parent| self.around != Some(parent.id()))
        {
            self.around = Some(parent.id());
            self.sums.at(OpKey::of(parent)).1.has_children = true;
        }
    }

    fn finish(mut self, core: GroupId, track: TrackId, duty: Option<DutyTime>) -> Result<CoreSums> {
        let cx = &self.cx;
        let window = self.window;
        add_self_time_of_cut(cx, core, &self.cut, &mut self.sums)?;
        for attr in EVENT_FACTS {
            for (slice, value) in facts_in(cx, track, attr, window) {
                self.sums.at(OpKey::of(slice)).1.add_fact(
                    slice,
                    attr,
                    value,
                    part_in(cx, window, slice),
                );
            }
        }
        if cx.scope == Scope::WholeTrace {
            add_aggregates(cx.model, core, &mut self.sums);
        }
        let mut sums = self.sums.into_found();
        sums.retain(|(_, sums)| sums.occurrences > 0 || sums.total > Picos::ZERO);
        sums.sort_unstable_by_key(|&(subject, _)| subject);
        Ok(CoreSums {
            core,
            window,
            sums,
            duty,
        })
    }
}

/// Sums for a part of the trace, in which only a few of all ops may run.
pub(super) struct SumsByOp {
    /// Index in `found`, by number of the op, then of the label.
    places: Vec<Option<u32>>,
    ops: usize,
    found: Vec<(OpKey, OpSums)>,
}

impl SumsByOp {
    pub fn new(model: &TraceModel) -> Self {
        let ops = model.ops().len();
        Self {
            places: vec![None; ops + model.labels().len()],
            ops,
            found: Vec::new(),
        }
    }

    /// In the order in which they were found.
    pub fn into_found(self) -> Vec<(OpKey, OpSums)> {
        self.found
    }

    /// The sums of `key`, and which row of [`Self::into_found`] they are.
    #[inline]
    pub fn at(&mut self, key: OpKey) -> (usize, &mut OpSums) {
        let place = &mut self.places[match key {
            OpKey::Op(op) => op.index(),
            OpKey::Label(label) => self.ops + label.index(),
        }];
        let row = *place.get_or_insert(self.found.len() as u32) as usize;
        if row == self.found.len() {
            self.found.push((key, OpSums::default()));
        }
        (row, &mut self.found[row].1)
    }
}

/// Whether the time and the costs of an op are its own. Decided by category if one was recorded; otherwise any op
/// that had ops inside is a container, too.
pub(super) fn is_leaf(class: OpClass, sums: &OpSums) -> bool {
    class.leaf().unwrap_or(!sums.has_children)
}

/// Approximate number of slices that [`CoreSums::collect`] reads.
pub(super) fn count(cx: &Context<'_>, core: GroupId, window: TimeWindow) -> usize {
    let lanes = cx
        .model
        .track_of_kind(core, TrackKind::Ops)
        .map(|track| cx.model.lanes(track))
        .unwrap_or_default();
    lanes
        .iter()
        .map(|lane| cx.model.slices_in(lane, window.range).size_hint().0)
        .sum()
}

/// Data that single executions record. Few do, so these are looked up by fact: checking every slice for every fact
/// would take longer than all other work together.
const EVENT_FACTS: [SliceAttr; 5] = [
    SliceAttr::DmaStallPs,
    SliceAttr::TimeScaleBits,
    SliceAttr::Flops,
    SliceAttr::ModelFlops,
    SliceAttr::Bytes,
];

/// The slices of [`slices_of_window`] that carry a fact.
fn facts_in<'a>(
    cx: &Context<'a>,
    track: TrackId,
    fact: SliceAttr,
    window: TimeWindow,
) -> impl Iterator<Item = (SliceRef<'a>, i64)> {
    let model = cx.model;
    let range = if cx.scope == Scope::WholeTrace {
        model.extent().hull(window.range)
    } else {
        window.range
    };
    model
        .lanes(track)
        .iter()
        .flat_map(move |lane| model.slices_with_in(fact, lane, range))
}

/// Self time of executions that are cut, and that have others inside: those inside the window do not follow from sums of
/// the whole execution.
fn add_self_time_of_cut(
    cx: &Context<'_>,
    core: GroupId,
    cut: &[SliceRef<'_>],
    sums: &mut SumsByOp,
) -> Result<()> {
    let Some(time) = (if cut.is_empty() {
        None
    } else {
        cx.core_time(core)?
    }) else {
        return Ok(());
    };
    let keys: BTreeMap<SliceId, OpKey> = cut
        .iter()
        .map(|&slice| (slice.id(), OpKey::of(slice)))
        .collect();
    for segment in &time.segments {
        if let Some(&key) = keys.get(&segment.slice) {
            sums.at(key).1.self_time += segment.range.dur();
        }
    }
    Ok(())
}

/// [`DutyTime`] while it is collected.
struct DutyUnions<'a> {
    classes: &'a OpClasses,
    busy: UnionLength,
    on_duty: UnionLength,
    /// Whether the classes do not tell of every op whether it is a leaf.
    is_undecided: bool,
}

impl<'a> DutyUnions<'a> {
    fn new(classes: &'a OpClasses) -> Self {
        Self {
            classes,
            busy: UnionLength::default(),
            on_duty: UnionLength::default(),
            is_undecided: false,
        }
    }

    #[inline]
    fn add(&mut self, spans: &SliceSpans<'_>) {
        let class = self.classes.class_of(spans.slice.op());
        if class.is_off_duty() {
            return;
        }
        self.on_duty.add(spans.shown);
        match class.leaf() {
            Some(true) => self.busy.add(spans.measured),
            Some(false) => {}
            None => self.is_undecided = true,
        }
    }

    /// `sums` are those of all slices: they tell which ops had others inside.
    fn finish(
        self,
        cx: &Context<'_>,
        track: TrackId,
        window: TimeWindow,
        sums: &mut SumsByOp,
    ) -> DutyTime {
        let classes = self.classes;
        let union = |wanted: &mut dyn FnMut(OpClass, &SliceSpans<'_>) -> Option<TimeRange>| {
            let mut union = UnionBuilder::default();
            cx.watched(slices_of_window(cx, track, window))
                .for_each(|spans| {
                    let class = classes.class_of(spans.slice.op());
                    let range = (!class.is_off_duty()).then(|| wanted(class, &spans));
                    range
                        .flatten()
                        .into_iter()
                        .for_each(|range| union.add(range));
                });
            union.measure()
        };
        let busy = self.busy.finish().filter(|_| !self.is_undecided);
        let mut of_leaf = |class: OpClass, spans: &SliceSpans<'_>| {
            let is_leaf = is_leaf(class, sums.at(OpKey::of(spans.slice)).1);
            is_leaf.then_some(spans.measured)
        };
        DutyTime {
            busy: busy.unwrap_or_else(|| union(&mut of_leaf)),
            on_duty: (self.on_duty.finish())
                .unwrap_or_else(|| union(&mut |_, spans| Some(spans.shown))),
        }
    }
}

fn add_aggregates(model: &TraceModel, core: GroupId, sums: &mut SumsByOp) {
    for aggregate in model.aggregates() {
        let track = model.track(aggregate.track);
        if track.group != core || track.kind != TrackKind::Ops {
            continue;
        }
        let (_, sum) = sums.at(OpKey::new(aggregate.label, model.label(aggregate.label).op));
        sum.occurrences += aggregate.occurrences;
        sum.executions += aggregate.occurrences as f64;
        sum.total += aggregate.total;
        sum.self_time += aggregate.self_time.unwrap_or(aggregate.total);
        sum.min = least(sum.min, aggregate.min);
    }
}
