//! The sets `C`, `S`, `F`, `D` of one core, and the results derived from them.

use std::sync::Arc;

use trace_model::{GroupId, LabelId, Picos, SliceAttr, SliceId, SliceRef, StringId, TimeRange, TraceModel, TrackKind};

use super::report::CoreOverlap;
use crate::engine::{AnalysisError, Context};
use crate::facts::TraceFacts as _;
use crate::facts::category::{OpClass, OpClasses, classify_texts};
use crate::facts::core_time::CoreTime;
use crate::math::intervals::{IntervalSet, MeasureIndex};

/// A span in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlightSpan {
    /// By the clock of the ops, inside the window.
    pub range: TimeRange,
    /// Whether it starts inside the window and so counts as an occurrence.
    pub begins_here: bool,
    pub class: OpClass,
    /// The op that issues it.
    pub label: LabelId,
    /// String index of the name of the done op that an asynchronous span records.
    pub done: Option<usize>,
    /// The span, or its start op.
    pub slice: SliceId,
}

/// The activity of one core and its transfers in flight.
pub(crate) struct CoreTraffic {
    pub time: Arc<CoreTime>,
    pub in_flight: Vec<InFlightSpan>,
    /// Whether asynchronous collectives ran whose time in flight is unknown.
    pub unknown_flight: bool,
}

/// The activity of a core while something was in flight; empty if nothing was, because it is not needed then.
#[derive(Default)]
pub(super) struct WorkDuringFlight {
    /// The spans in which it computed.
    pub compute: MeasureIndex,
    /// The spans in which it was in a collective; these never overlap compute.
    pub blocked: MeasureIndex,
}

impl WorkDuringFlight {
    pub(crate) fn of(core: &CoreTraffic) -> Self {
        if core.in_flight.is_empty() {
            return Self::default();
        }
        let when = |wanted: fn(OpClass) -> bool| MeasureIndex::new(core.time.when(wanted));
        Self { compute: when(OpClass::is_compute), blocked: when(OpClass::is_collective) }
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
pub fn partition(compute: &IntervalSet, synchronous: &IntervalSet, in_flight: &IntervalSet) -> Partition {
    let total = synchronous.union(in_flight).measure();
    let overlapped = in_flight.intersect(compute).measure();
    Partition { total, overlapped, exposed: total - overlapped }
}

impl CoreTraffic {
    pub(crate) fn of(cx: &Context<'_>, classes: &OpClasses, core: GroupId) -> Result<Option<Self>, AnalysisError> {
        let Some(time) = cx.core_time(core)? else { return Ok(None) };
        let in_flight = spans(cx.model, classes, &time);
        let awaits = time.segments.iter().any(|segment| segment.class.is_collective() && segment.class.is_done());
        let unknown_flight = awaits && !in_flight.iter().any(|span| span.class.is_collective());
        Ok(Some(Self { time, in_flight, unknown_flight }))
    }

    /// Spans in flight of collectives, or of everything else.
    fn flight(&self, collective: bool) -> IntervalSet {
        let of_kind = self.in_flight.iter().filter(|span| span.class.is_collective() == collective);
        of_kind.map(|span| span.range).collect()
    }

    /// The spans in which collectives are in flight, including those of which only the wait is recorded.
    pub(crate) fn collectives_in_flight(&self) -> IntervalSet {
        let waiting = self.time.when(|class| class.is_collective() && class.is_async());
        // The transfer of a done op whose start is before the capture is in flight at least during the wait.
        self.flight(true).union(&waiting)
    }

    pub(super) fn summary(&self, model: &TraceModel, meanwhile: &WorkDuringFlight) -> CoreOverlap {
        let time = &self.time;
        let synchronous = time.when(|class| class.is_collective() && !class.is_async());
        let waiting = time.when(|class| class.is_collective() && class.is_async());
        let flight = self.collectives_in_flight();
        let comm = partition(meanwhile.compute.set(), &synchronous, &flight);
        let blocking = synchronous.union(&waiting).measure();
        let copies = self.flight(false);
        let window = time.window.dur();
        let percent = |part: Picos, whole: Picos| part.fraction_of(whole).map(|share| 100.0 * share);
        CoreOverlap {
            core: model.device_name(time.core),
            group: time.core,
            window_ps: window.ps(),
            compute_ps: time.time(OpClass::is_compute).ps(),
            collectives: self.collectives(),
            comm_total_ps: comm.total.ps(),
            overlapped_ps: (!self.unknown_flight).then(|| comm.overlapped.ps()),
            exposed_ps: comm.exposed.ps(),
            exposed_blocking_ps: blocking.ps(),
            in_flight_while_idle_ps: (comm.exposed - blocking).clamped().ps(),
            overlap_ratio_percent: percent(comm.overlapped, comm.total).filter(|_| !self.unknown_flight),
            exposed_share_percent: percent(comm.exposed, window),
            fused_ps: time.time(|class| class.is_fused_collective() && !class.is_async()).ps(),
            copy_in_flight_ps: copies.measure().ps(),
            copy_hidden_ps: copies.intersect(meanwhile.compute.set()).measure().ps(),
            copy_wait_ps: time.time(|class| class.is_done() && !class.is_collective()).ps(),
            skew_wait_ps: None, // Needs the other cores.
            awaited_ps: None,
        }
    }

    /// Number of executions: of synchronous collectives the ops, of asynchronous ones the spans, or the done ops if
    /// there are no spans.
    fn collectives(&self) -> u64 {
        let mut slices: Vec<SliceId> = self
            .time
            .segments
            .iter()
            .filter(|segment| segment.class.is_collective())
            .filter(|segment| !segment.class.is_async() || (self.unknown_flight && segment.class.is_done()))
            .map(|segment| segment.slice)
            .collect();
        slices.sort_unstable();
        slices.dedup();
        let spans = self.in_flight.iter().filter(|span| span.class.is_collective() && span.begins_here).count();
        (slices.len() + spans) as u64
    }
}

/// All spans in flight of a core. The async track is used if it has the clock of the ops; otherwise the flows from
/// start ops to done ops give the same spans.
fn spans(model: &TraceModel, classes: &OpClasses, time: &CoreTime) -> Vec<InFlightSpan> {
    let slices = |wanted: TrackKind| {
        let tracks = model.tracks_of(time.core).into_iter().filter(move |&track| model.track(track).kind == wanted);
        tracks.flat_map(|track| model.slices_on(track))
    };
    let mut out = Vec::new();
    let mut add = |range: TimeRange, slice: SliceRef<'_>, done: Option<usize>| {
        let Some(inside) = range.intersect(time.window.measured) else { return };
        let class = match slice.op() {
            Some(op) => classes.class(op),
            None => classify_texts(None, "", slice.name()).0,
        };
        let begins_here = time.window.measured.contains(range.start);
        out.push(InFlightSpan { range: inside, begins_here, class, label: slice.label_id(), done, slice: slice.id() });
    };
    let has_device_clock = slices(TrackKind::Ops).next().is_some_and(|op| op.device_range().is_some());
    let mut recorded = slices(TrackKind::AsyncOps).peekable();
    let is_recorded = recorded.peek().is_some();
    if is_recorded && recorded.all(|span| span.device_range().is_some() == has_device_clock) {
        slices(TrackKind::AsyncOps).for_each(|span| add(span.measured_range(), span, done_index(span)));
    } else {
        for start in slices(TrackKind::Ops).filter(|op| classes.class_of(op.op()).is_start()) {
            let dones = model.flows_from(start.id()).iter().map(|flow| model.slice(flow.to));
            for done in dones.filter(|done| done.track() == start.track()) {
                let range = start.measured_range().hull(done.measured_range());
                add(range, start, Some(name_of(model, done).index()));
            }
        }
    }
    out
}

/// Index of the name of the done op that an asynchronous span records.
fn done_index(span: SliceRef<'_>) -> Option<usize> {
    usize::try_from(span.attr(SliceAttr::DoneOp)?).ok()
}

/// Name of the op that a slice executes, else of the slice.
pub(super) fn name_of(model: &TraceModel, slice: SliceRef<'_>) -> StringId {
    slice.op().map_or(slice.label().name, |op| model.op(op).name)
}
