//! The sets `C`, `S`, `F`, `D` of one core, and the results derived from them.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

use facts::CoreTime;
use facts::category::classify_texts;
use facts::prelude::*;
use math::intervals::{MeasureIndex, UnionBuilder};
use trace_model::{SliceSpans, StringId};

use super::report::CoreOverlap;

/// A span in flight.
#[derive(Clone, Copy, Debug)]
pub struct InFlightSpan {
    /// By the clock of the ops, inside the window.
    pub range: TimeRange,
    /// Whether it starts inside the window and so counts as an occurrence.
    pub begins_here: bool,
    /// Length of the whole span.
    pub whole: Picos,
    pub class: OpClass,
    /// The op that issues it.
    pub label: LabelId,
    /// String index of the name of the done op that an asynchronous span records.
    pub done: Option<usize>,
    /// The span, or its start op.
    pub slice: SliceId,
}

/// The activity of one core and its transfers in flight.
pub struct CoreTraffic {
    /// What the core did when.
    pub time: CoreTime,
    /// Transfers from start to done.
    pub in_flight: Vec<InFlightSpan>,
    /// Whether asynchronous collectives ran whose time in flight is unknown.
    pub unknown_flight: bool,
}

/// When a core computed and communicated, and for how long.
#[derive(Default)]
pub(super) struct CoreActivity {
    /// The spans in which it computed; empty if nothing was in flight, because it is not needed then.
    pub compute: MeasureIndex,
    /// The spans in which it was in a collective; these never overlap compute. Empty likewise.
    pub blocked: MeasureIndex,
    /// The spans of synchronous collectives.
    synchronous: IntervalSet,
    /// The spans of starts and dones of collectives.
    waiting: IntervalSet,
    compute_time: Picos,
    fused_time: Picos,
    copy_wait: Picos,
}

impl CoreActivity {
    /// One pass over the segments: there are as many as ops, and each of these sums would read all of them.
    pub fn of(cx: &Context<'_>, core: &CoreTraffic) -> Self {
        let mut out = Self::default();
        let mut compute = UnionBuilder::default();
        let mut synchronous = UnionBuilder::default();
        let mut waiting = UnionBuilder::default();
        let is_any_in_flight = !core.in_flight.is_empty();
        cx.watched(&core.time.segments).for_each(|segment| {
            let class = segment.class;
            let time = segment.range.dur();
            if class.is_fused_collective() && !class.is_async() {
                out.fused_time += time;
            }
            if class.is_collective() {
                if class.is_async() {
                    &mut waiting
                } else {
                    &mut synchronous
                }
                .add(segment.range);
            } else if class.is_compute() {
                out.compute_time += time;
                if is_any_in_flight {
                    compute.add(segment.range);
                }
            } else if class.is_done() {
                out.copy_wait += time;
            }
        });
        (out.synchronous, out.waiting) = (synchronous.finish(), waiting.finish());
        if is_any_in_flight {
            out.compute = MeasureIndex::new(compute.finish());
            out.blocked = MeasureIndex::new(out.synchronous.union(&out.waiting));
        }
        out
    }
}

/// How communication is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Partition {
    /// `|S ∪ F|`.
    pub total: Picos,
    /// `|F ∩ C|`.
    pub overlapped: Picos,
    /// `total − overlapped`.
    pub exposed: Picos,
}

/// Divides communication: `compute` C, `synchronous` S, `in_flight` F.
pub fn partition(
    compute: &IntervalSet,
    synchronous: &IntervalSet,
    in_flight: &IntervalSet,
) -> Partition {
    let total = synchronous.union(in_flight).measure();
    let overlapped = in_flight.intersect(compute).measure();
    Partition {
        total,
        overlapped,
        exposed: total - overlapped,
    }
}

impl CoreTraffic {
    /// The activity of `core` in the scope; `None` if it recorded no ops.
    ///
    /// # Errors
    ///
    /// The report was cancelled.
    pub fn of(cx: &Context<'_>, classes: &OpClasses, core: GroupId) -> Result<Option<Self>> {
        let Some(time) = cx.core_time(core)? else {
            return Ok(None);
        };
        let in_flight = spans(cx, classes, &time);
        let awaits = time
            .segments
            .iter()
            .any(|segment| segment.class.is_collective() && segment.class.is_done());
        let unknown_flight = awaits && !in_flight.iter().any(|span| span.class.is_collective());
        Ok(Some(Self {
            time,
            in_flight,
            unknown_flight,
        }))
    }

    /// Whether an execution begins inside the window.
    pub(super) fn begins_inside(&self, execution: TimeRange) -> bool {
        execution.start >= self.time.window.measured.start
    }

    /// Spans in flight of collectives, or of everything else.
    fn flight(&self, collective: bool) -> IntervalSet {
        let of_kind = self
            .in_flight
            .iter()
            .filter(|span| span.class.is_collective() == collective);
        of_kind.map(|span| span.range).collect()
    }

    /// The spans in which collectives are in flight, those of which only the wait is recorded too, and no op runs.
    pub fn in_flight_without_ops(&self) -> IntervalSet {
        let waiting = self
            .time
            .when(|class| class.is_collective() && class.is_async());
        // The transfer of a done op whose start is before the capture is in flight at least during the wait.
        let flight = self.flight(true).union(&waiting);
        if flight.is_empty() {
            return flight;
        }
        flight.subtract(&self.time.when(|_| true))
    }

    pub(super) fn summary(&self, model: &TraceModel, activity: &CoreActivity) -> CoreOverlap {
        let time = &self.time;
        let CoreActivity {
            synchronous,
            waiting,
            ..
        } = activity;
        let flight = self.flight(true).union(waiting);
        let comm = partition(activity.compute.set(), synchronous, &flight);
        let blocking = synchronous.measure() + waiting.measure();
        let copies = self.flight(false);
        let window = time.window.dur();
        let percent = |part: Picos, whole: Picos| part.fraction_of(whole).map(Percent::of_fraction);
        CoreOverlap {
            core: model.device_name(time.core),
            group: time.core,
            window_ps: window,
            compute_ps: activity.compute_time,
            collectives: self.collectives(model),
            comm_total_ps: comm.total,
            overlapped_ps: (!self.unknown_flight).then_some(comm.overlapped),
            exposed_ps: comm.exposed,
            exposed_blocking_ps: blocking,
            in_flight_while_idle_ps: (comm.exposed - blocking).clamped(),
            overlap_ratio_percent: percent(comm.overlapped, comm.total)
                .filter(|_| !self.unknown_flight),
            exposed_share_percent: percent(comm.exposed, window),
            fused_ps: activity.fused_time,
            copy_in_flight_ps: copies.measure(),
            copy_hidden_ps: copies.intersect(activity.compute.set()).measure(),
            copy_wait_ps: activity.copy_wait,
            skew_wait_ps: None, // Needs the other cores.
            awaited_ps: None,
        }
    }

    /// Number of executions that begin inside: of synchronous collectives the ops, of asynchronous ones the spans, or the
    /// done ops if there are no spans.
    fn collectives(&self, model: &TraceModel) -> u64 {
        let mut slices: Vec<SliceId> = self
            .time
            .segments
            .iter()
            .filter(|segment| segment.class.is_collective())
            .filter(|segment| {
                !segment.class.is_async() || (self.unknown_flight && segment.class.is_done())
            })
            .map(|segment| segment.slice)
            .collect();
        // Segments are in order of time: an op with others inside has several, and most have one.
        slices.dedup();
        if !slices.is_sorted() {
            slices.sort_unstable();
            slices.dedup();
        }
        slices.retain(|&slice| self.begins_inside(model.slice(slice).measured_range()));
        let spans = self
            .in_flight
            .iter()
            .filter(|span| span.class.is_collective() && span.begins_here)
            .count();
        (slices.len() + spans) as u64
    }
}

/// All spans in flight of a core. The async track is used if it has the clock of the ops; otherwise the flows from
/// start ops to done ops give the same spans.
fn spans(cx: &Context<'_>, classes: &OpClasses, time: &CoreTime) -> Vec<InFlightSpan> {
    let model = cx.model;
    let slices = |wanted: TrackKind| model.slices_of_kind(time.core, wanted);
    let mut out = Vec::new();
    let mut add = |range: TimeRange, slice: SliceRef<'_>, done: Option<usize>| {
        let Some(inside) = range.intersect(time.window.measured) else {
            return;
        };
        let class = match slice.op() {
            Some(op) => classes.class(op),
            None => classify_texts(None, "", slice.name()).0,
        };
        out.push(InFlightSpan {
            range: inside,
            begins_here: time.window.measured.contains(range.start),
            whole: range.dur(),
            class,
            label: slice.label_id(),
            done,
            slice: slice.id(),
        });
    };
    let has_device_clock = slices(TrackKind::Ops)
        .next()
        .is_some_and(|op| op.device_range().is_some());
    // A track has a device clock for all of its slices or for none.
    let recorded: Vec<TrackId> = model
        .tracks_of_kind(time.core, TrackKind::AsyncOps)
        .filter(|&track| !model.lanes(track).is_empty())
        .collect();
    let has_clock = |&track: &TrackId| {
        model
            .slices_on(track)
            .next()
            .is_some_and(|span| span.device_range().is_some())
    };
    if !recorded.is_empty()
        && recorded
            .iter()
            .all(|track| has_clock(track) == has_device_clock)
    {
        let by_flow = OnceCell::new();
        for SliceSpans {
            slice, measured, ..
        } in cx.watched(recorded.iter().flat_map(|&track| model.spans_on(track)))
        {
            let done = done_index(slice).or_else(|| {
                let by_flow = by_flow.get_or_init(|| dones_by_start(cx, classes, time.core));
                by_flow.get(&name_of(model, slice)).copied()
            });
            add(measured, slice, done);
        }
    } else {
        for start in cx
            .watched(slices(TrackKind::Ops))
            .filter(|op| classes.class_of(op.op()).is_start())
        {
            let dones = model
                .flows_from(start.id())
                .iter()
                .map(|flow| model.slice(flow.to));
            for done in dones.filter(|done| done.track() == start.track()) {
                let range = start.measured_range().hull(done.measured_range());
                add(range, start, Some(name_of(model, done).index()));
            }
        }
    }
    out
}

/// Index of the name of the done op of each start op that has a flow to it, by the name of the start.
fn dones_by_start(
    cx: &Context<'_>,
    classes: &OpClasses,
    core: GroupId,
) -> HashMap<StringId, usize> {
    let model = cx.model;
    let mut by_start = HashMap::new();
    for start in cx.watched(model.slices_of_kind(core, TrackKind::Ops)) {
        if !classes.class_of(start.op()).is_start() {
            continue;
        }
        let Entry::Vacant(place) = by_start.entry(name_of(model, start)) else {
            continue;
        };
        let mut dones = model
            .flows_from(start.id())
            .iter()
            .map(|flow| model.slice(flow.to));
        if let Some(done) = dones.find(|done| done.track() == start.track()) {
            place.insert(name_of(model, done).index());
        }
    }
    by_start
}

/// Index of the name of the done op that an asynchronous span records.
fn done_index(span: SliceRef<'_>) -> Option<usize> {
    usize::try_from(span.attr(SliceAttr::DoneOp)?).ok()
}

/// Name of the op that a slice executes, else of the slice.
pub(super) fn name_of(model: &TraceModel, slice: SliceRef<'_>) -> StringId {
    slice
        .op()
        .map_or(slice.label().name, |op| model.op(op).name)
}
