//! The time window of a report.
//!
//! A [`TimeWindow`] has two clocks: the timeline decides *which* slices belong to it (those that start inside), the
//! device clock gives its *duration*. The two differ by rounding at best and by hundreds of milliseconds at worst.

use trace_model::{
    GroupId, GroupKind, Picos, SliceRef, SliceSpans, TimeRange, Timestamp, TraceModel, TrackId, TrackKind,
};

use super::device_shift::shifted;
use super::steps::on_host;
use crate::engine::{AnalysisError, Context, Fact, OnceMap, Scope};
use crate::facts::clock_alignment::{programs_on_host, to_host};
use crate::facts::spans::{TrackExtent, spans};
use crate::facts::steps::StepsReport;

/// A span of one core, or of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeWindow {
    /// On the timeline.
    pub range: TimeRange,
    /// By the clock that timed the ops; equal to the former if there is only the timeline.
    pub measured: TimeRange,
}

impl TimeWindow {
    /// Duration: the denominator of every share.
    pub(crate) fn dur(&self) -> Picos {
        self.measured.dur()
    }

    /// Whether the slice belongs to it.
    pub(crate) fn contains(&self, slice: SliceRef<'_>) -> bool {
        self.range.contains(slice.start())
    }
}

/// Tracks whose slices define the recorded extent of a core.
const CORE_TRACKS: [TrackKind; 3] = [TrackKind::Steps, TrackKind::Modules, TrackKind::Ops];

/// The recorded extent of each core.
#[derive(Default)]
struct CoreExtents(OnceMap<GroupId, Option<TimeWindow>>);

impl Fact for CoreExtents {
    fn find(_cx: &Context<'_>) -> Self {
        Self::default()
    }
}

pub(crate) fn window(cx: &Context<'_>, core: GroupId) -> Result<Option<TimeWindow>, AnalysisError> {
    cx.reports.check(cx.scope)?;
    let Some(whole) = core_extent(cx, core) else { return Ok(None) };
    let range = match cx.scope {
        Scope::WholeTrace => return Ok(Some(whole)),
        Scope::Range(range) => range,
        Scope::Steps { first, last } => {
            let steps = cx.fact::<StepsReport>();
            if steps.range_of(first, last).is_none() {
                return Err(no_steps(first, last));
            }
            let Some(range) = steps.range_on(cx.model, core, first, last) else { return Ok(None) };
            range
        }
    };
    Ok(range.intersect(whole.range).map(|range| on_device_clock(cx, core, range, whole)))
}

pub(crate) fn host_window(cx: &Context<'_>) -> Result<TimeRange, AnalysisError> {
    cx.reports.check(cx.scope)?;
    let extent = cx.model.extent();
    match cx.scope {
        Scope::WholeTrace => Ok(extent),
        Scope::Range(range) => Ok(range.intersect(extent).unwrap_or_default()),
        Scope::Steps { first, last } => {
            let spans = cx.fact::<StepsReport>().selected(first, last).filter_map(|step| on_host(cx, &step.spans));
            spans.reduce(TimeRange::hull).ok_or_else(|| no_steps(first, last))
        }
    }
}

pub(crate) fn window_on_host(cx: &Context<'_>, core: GroupId) -> Result<Option<TimeRange>, AnalysisError> {
    match cx.scope {
        Scope::WholeTrace => {
            let ran = programs_on_host(cx, core).into_iter().map(|(_, range)| range).reduce(TimeRange::hull);
            Ok(ran.map(|ran| ran.hull(cx.model.extent())))
        }
        Scope::Range(_) => Ok(Some(to_host(cx, core, host_window(cx)?))),
        Scope::Steps { .. } => Ok(window(cx, core)?.map(|window| to_host(cx, core, window.range))),
    }
}

fn core_extent(cx: &Context<'_>, core: GroupId) -> Option<TimeWindow> {
    let is_core = matches!(cx.model.group(core).kind, GroupKind::TensorCore { .. } | GroupKind::SparseCore { .. });
    let find = || extent_of(cx, core, |kind| !is_core || CORE_TRACKS.contains(&kind));
    cx.fact::<CoreExtents>().0.get(core, find)
}

/// From the first slice to the end of the last on the tracks of `core` that `counts` selects; `None` if these have no
/// slices.
pub(crate) fn extent_of(cx: &Context<'_>, core: GroupId, counts: impl Fn(TrackKind) -> bool) -> Option<TimeWindow> {
    let counted = cx.model.tracks_of(core).into_iter().filter(|&track| counts(cx.model.track(track).kind));
    let spans = counted.map(|track| spans(cx, track)).reduce(TrackExtent::hull)?;
    let range = spans.range?;
    // Steps and programs have times on the timeline only, ops mostly on both clocks.
    let measured = match (spans.timed, spans.untimed) {
        (Some(timed), Some(untimed)) => timed.hull(shifted(cx.model, core, untimed)),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => range,
    };
    Some(TimeWindow { range, measured })
}

/// Slices of a track that belong to a window of `core` in the scope of `cx`, with their spans.
pub(crate) fn slices_of_window<'a>(
    cx: &Context<'a>,
    track: TrackId,
    window: TimeWindow,
) -> impl Iterator<Item = SliceSpans<'a>> {
    let (model, range) = (cx.model, counted(cx, window));
    let lanes = model.lanes(track).iter();
    lanes.flat_map(move |lane| model.spans_in(lane, range)).filter(move |spans| range.contains(spans.shown.start))
}

/// From the first of these slices to the end of the last, on the timeline.
pub(crate) fn hull_of_window(cx: &Context<'_>, track: TrackId, window: TimeWindow) -> Option<TimeRange> {
    let range = counted(cx, window);
    // The slices of a lane follow each other: the last one ends last.
    let of_lane = |lane| {
        let inside = || cx.model.slices_in(lane, range).filter(|slice| range.contains(slice.start()));
        Some(inside().next()?.range().hull(inside().next_back()?.range()))
    };
    cx.model.lanes(track).iter().filter_map(of_lane).reduce(TimeRange::hull)
}

/// In which slices of a window start. For the whole trace everything counts: an instant at the very end would start outside
/// the half-open window, and so would a program before the first op.
pub(crate) fn counted(cx: &Context<'_>, window: TimeWindow) -> TimeRange {
    if cx.scope == Scope::WholeTrace { TimeRange::new(Timestamp::MIN, Timestamp::MAX) } else { window.range }
}

fn on_device_clock(cx: &Context<'_>, core: GroupId, range: TimeRange, whole: TimeWindow) -> TimeWindow {
    if range == whole.range { whole } else { TimeWindow { range, measured: shifted(cx.model, core, range) } }
}

/// Span of a slice on the clock that timed the ops of its core. Steps and programs are recorded on the timeline alone;
/// the device times of their ops give their duration, which reports use. Never mix it with times of the timeline.
pub fn measured_range(slice: SliceRef<'_>, model: &TraceModel) -> TimeRange {
    let track = model.track(slice.track());
    match slice.device_range() {
        Some(range) => range,
        None if matches!(track.kind, TrackKind::Steps | TrackKind::Modules) => {
            shifted(model, track.group, slice.range())
        }
        None => slice.range(),
    }
}

fn no_steps(first: u32, last: u32) -> AnalysisError {
    AnalysisError::NotApplicable(format!("there is no step from {first} to {last} in this trace"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{Options, ReportCache};
    use crate::facts::TraceFacts as _;
    use trace_model::{SliceSpec, TraceBuilder};

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
    }

    /// Ops at 100..200 and 300..400, 1000 ps later on the device clock, inside a host slice.
    fn two_ops() -> TraceModel {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let core = builder.group(Some(host), GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        let op = builder.label("op", None);
        for start in [100, 300] {
            let device = Some(range(start + 1000, start + 1100));
            builder.add_slice(ops, SliceSpec { device, ..SliceSpec::new(range(start, start + 100), op) });
        }
        let cpu = builder.group(Some(host), GroupKind::HostProcess, "/host:CPU");
        let thread = builder.track(cpu, TrackKind::HostThread, 1, "main");
        builder.add_slice(thread, SliceSpec::new(range(0, 10_000), op));
        builder.finish()
    }

    fn window_of(model: &TraceModel, scope: Scope) -> Result<Option<TimeWindow>, AnalysisError> {
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context { model, scope, options: &options, reports: &reports };
        cx.window(model.tensor_cores()[0])
    }

    #[test]
    fn whole_trace_scope_covers_the_recorded_time_of_a_core() {
        let window = window_of(&two_ops(), Scope::WholeTrace);
        assert_eq!(window, Ok(Some(TimeWindow { range: range(100, 400), measured: range(1100, 1400) })));
    }

    #[test]
    fn range_is_clipped_to_the_core_and_shifted_to_its_clock() {
        let model = two_ops();
        let window = window_of(&model, Scope::Range(range(250, 9_000)));
        assert_eq!(window, Ok(Some(TimeWindow { range: range(250, 400), measured: range(1250, 1400) })));
        assert_eq!(window_of(&model, Scope::Range(range(5_000, 9_000))), Ok(None));
    }

    #[test]
    fn window_length_uses_the_device_clock_of_its_ops() {
        // On the timeline the ops take 50 and 10; by their own clock 80 and 20, with 5 between.
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        let op = builder.label("op", None);
        let both = [(range(0, 9), range(0, 9)), (range(100, 150), range(500, 580)), (range(150, 160), range(585, 605))];
        for (shown, timed) in both {
            builder.add_slice(ops, SliceSpec { device: Some(timed), ..SliceSpec::new(shown, op) });
        }
        let model = builder.finish();
        // 10 before the first op and nothing after the last.
        let window = window_of(&model, Scope::Range(range(90, 160))).unwrap().unwrap();
        assert_eq!(window.measured, range(490, 605));
        // Inside an op: the device clock, with the length on the timeline.
        let window = window_of(&model, Scope::Range(range(120, 130))).unwrap().unwrap();
        assert_eq!(window.measured, range(520, 530));
    }

    #[test]
    fn step_without_device_clock_is_as_long_as_its_ops() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let ops = builder.track(core, TrackKind::Ops, 0, "XLA Ops");
        let steps = builder.track(core, TrackKind::Steps, 1, "Steps");
        let label = builder.label("0", None);
        for (shown, timed) in [(range(100, 150), range(500, 580)), (range(150, 160), range(585, 605))] {
            builder.add_slice(ops, SliceSpec { device: Some(timed), ..SliceSpec::new(shown, label) });
        }
        builder.add_slice(steps, SliceSpec::new(range(90, 160), label));
        let model = builder.finish();
        let step = model.slices_on(model.track_of_kind(core, TrackKind::Steps).unwrap()).next().unwrap();
        assert_eq!(measured_range(step, &model), range(490, 605));
        let op = model.slices_on(model.track_of_kind(core, TrackKind::Ops).unwrap()).next().unwrap();
        assert_eq!(measured_range(op, &model), range(500, 580));
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context { model: &model, scope: Scope::WholeTrace, options: &options, reports: &reports };
        let report = cx.steps();
        assert_eq!(measured_range(step, &model).dur().ps(), report.steps[0].time_ps, "reports say the same");
    }

    #[test]
    fn unknown_steps_are_an_error() {
        assert!(window_of(&two_ops(), Scope::Steps { first: 7, last: 9 }).is_err());
    }

    #[test]
    fn core_window_uses_a_single_clock() {
        let mut builder = sample_traces::text_builder(
            "
            @device-clock 500ns
            ops: ..AA..BB
            ",
        );
        let core = GroupKind::TensorCore { ordinal: 0 };
        let host = builder.group(None, GroupKind::Host, "text");
        let core = builder.group(Some(host), core, "/device:TPU:0");
        // Steps have times on the timeline only, as in real captures.
        let steps = builder.track(core, TrackKind::Steps, 1, "Steps");
        let step = builder.label("0", None);
        builder.add_slice(steps, SliceSpec::new(range(0, 9_000), step));
        let model = builder.finish();
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context { model: &model, scope: Scope::WholeTrace, options: &options, reports: &reports };
        let window = cx.window(core).unwrap().unwrap();
        assert_eq!((window.range, window.measured), (range(0, 9_000), range(500_000, 509_000)));
    }
}
