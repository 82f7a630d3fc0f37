//! The sets `C`, `S`, `F`, `D` of one core, and what follows from them.

use std::sync::Arc;

use trace_model::{GroupId, LabelId, Picos, SliceAttr, SliceId, SliceRef, StringId, TimeRange, TraceModel, TrackKind};

use super::CoreOverlap;
use crate::category::{OpClass, OpClasses, classify_texts};
use crate::core_time::CoreTime;
use crate::intervals::{IntervalSet, MeasureIndex};
use crate::{AnalysisError, Context};

/// A span in flight.
#[derive(Clone, Copy, Debug)]
pub(crate) struct InFlight {
    /// By the clock of the ops, inside of the window.
    pub range: TimeRange,
    /// Begins inside of the window: counts as an occurrence.
    pub begins_here: bool,
    pub class: OpClass,
    /// The op that issues it.
    pub label: LabelId,
    /// Index of the name of the op that awaits it.
    pub done: Option<usize>,
    /// The span, or its start op.
    pub slice: SliceId,
}

/// What one core did and what was in flight meanwhile.
pub(crate) struct Traffic {
    pub time: Arc<CoreTime>,
    pub in_flight: Vec<InFlight>,
    pub compute: MeasureIndex,
    /// When it computed or was in a collective.
    pub working: MeasureIndex,
    /// When it was in a collective.
    pub blocked: MeasureIndex,
    /// Asynchronous collectives ran, but nobody knows when they were in flight.
    pub unknown_flight: bool,
}

/// How communication divides.
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

impl Traffic {
    pub fn of(cx: &Context<'_>, classes: &OpClasses, core: GroupId) -> Result<Option<Self>, AnalysisError> {
        let Some(time) = cx.core_time(core)? else { return Ok(None) };
        let in_flight = spans(cx.model, classes, &time);
        let (compute, blocked) = (time.when(OpClass::is_compute), time.when(OpClass::is_collective));
        let awaits = time.segments.iter().any(|segment| segment.class.is_collective() && segment.class.is_done());
        let unknown_flight = awaits && !in_flight.iter().any(|span| span.class.is_collective());
        Ok(Some(Self {
            time,
            in_flight,
            working: MeasureIndex::new(compute.union(&blocked)),
            compute: MeasureIndex::new(compute),
            blocked: MeasureIndex::new(blocked),
            unknown_flight,
        }))
    }

    /// Spans in flight of collectives, or of everything else.
    fn flight(&self, collective: bool) -> IntervalSet {
        let of_kind = self.in_flight.iter().filter(|span| span.class.is_collective() == collective);
        of_kind.map(|span| span.range).collect()
    }

    /// When collectives are in flight, those included that only show as waiting.
    pub fn collectives_in_flight(&self) -> IntervalSet {
        let waiting = self.time.when(|class| class.is_collective() && class.is_async());
        // A done whose start came before the capture is in flight at least while it waits.
        self.flight(true).union(&waiting)
    }

    pub fn summary(&self, model: &TraceModel) -> CoreOverlap {
        let time = &self.time;
        let synchronous = time.when(|class| class.is_collective() && !class.is_async());
        let waiting = time.when(|class| class.is_collective() && class.is_async());
        let flight = self.collectives_in_flight();
        let comm = partition(self.compute.set(), &synchronous, &flight);
        let blocking = synchronous.union(&waiting).measure();
        let copies = self.flight(false);
        let window = time.window.dur();
        let percent = |part: Picos, whole: Picos| part.fraction_of(whole).map(|share| 100.0 * share);
        CoreOverlap {
            core: model.device_name(time.core),
            group: time.core,
            window_ps: window.ps(),
            compute_ps: self.compute.set().measure().ps(),
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
            copy_hidden_ps: copies.intersect(self.compute.set()).measure().ps(),
            copy_wait_ps: time.time(|class| class.is_done() && !class.is_collective()).ps(),
            skew_wait_ps: None, // Needs the other cores.
        }
    }

    /// Executions: of synchronous ones the ops, of asynchronous ones the spans, or
    /// the dones where there are no spans.
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

/// All spans in flight of a core. The async track counts where it has the clock of
/// the ops; else the arrows from starts to dones say the same.
fn spans(model: &TraceModel, classes: &OpClasses, time: &CoreTime) -> Vec<InFlight> {
    let tracks = |kind| model.tracks_of(time.core).into_iter().filter(move |&track| model.track(track).kind == kind);
    let recorded: Vec<SliceRef<'_>> = tracks(TrackKind::AsyncOps).flat_map(|track| model.slices_on(track)).collect();
    let mut ops = tracks(TrackKind::Ops).flat_map(|track| model.slices_on(track)).peekable();
    let has_device_clock = ops.peek().is_some_and(|op| op.device_range().is_some());
    let same_clock = recorded.iter().all(|span| span.device_range().is_some() == has_device_clock);
    let found: Vec<(TimeRange, SliceRef<'_>, Option<usize>)> = if same_clock && !recorded.is_empty() {
        recorded.into_iter().map(|span| (span.measured_range(), span, done_index(span))).collect()
    } else {
        let is_start = |op: &SliceRef<'_>| classes.class_of(op.op()).is_start();
        let starts = ops.filter(is_start);
        let pairs = starts.flat_map(|start| model.flows_from(start.id()).iter().map(move |flow| (start, flow.to)));
        pairs
            .map(|(start, done)| (start, model.slice(done)))
            .filter(|(start, done)| start.track() == done.track())
            .map(|(start, done)| {
                (start.measured_range().hull(done.measured_range()), start, Some(name_of(model, done).index()))
            })
            .collect()
    };
    let window = time.window.measured;
    let inside = found.into_iter().filter_map(|(range, slice, done)| {
        let class = match slice.op() {
            Some(op) => classes.class(op),
            None => classify_texts(None, "", slice.name()).0,
        };
        let begins_here = window.contains(range.start);
        let range = range.intersect(window)?;
        Some(InFlight { range, begins_here, class, label: slice.label_id(), done, slice: slice.id() })
    });
    inside.collect()
}

/// Index of the name of the op that an asynchronous span says to end with.
fn done_index(span: SliceRef<'_>) -> Option<usize> {
    usize::try_from(span.attr(SliceAttr::DoneOp)?).ok()
}

/// Name of the op that a slice executes, else of the slice.
pub(super) fn name_of(model: &TraceModel, slice: SliceRef<'_>) -> StringId {
    slice.op().map_or(slice.label().name, |op| model.op(op).name)
}
