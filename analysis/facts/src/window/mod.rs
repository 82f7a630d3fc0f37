//! The time window of a report.
//!
//! A [`TimeWindow`] has two clocks: the timeline decides which executions it *counts* (those that start inside), the
//! device clock gives its *duration* and the part of each op that lies in it. Time is cut at the borders, so that the
//! times of ranges that follow each other add up. The two clocks differ by rounding at best and by hundreds of
//! milliseconds at worst.
//!
//! A device that starts late, ends early or runs nothing while others of its host work is idle meanwhile: its window is
//! that of the others.

use engine::OnceMap;
use engine::prelude::*;
use trace_model::SliceSpans;

use super::device_shift::{cut, shifted};
use super::steps::on_host;
use crate::clock_alignment::{programs_on_host, to_host};
use crate::op_scan::TrackExtent;
use crate::spans::spans;
use crate::steps::StepsReport;

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
    pub fn dur(&self) -> Picos {
        self.measured.dur()
    }

    /// Whether the slice counts as one of it.
    pub fn contains(&self, slice: SliceRef<'_>) -> bool {
        self.range.contains(slice.start())
    }
}

/// The recorded extent of each core, its own and with the other devices of its host.
#[derive(Default)]
struct CoreExtents {
    own: OnceMap<GroupId, Option<TimeWindow>>,
    of_run: OnceMap<GroupId, Option<TimeWindow>>,
}

impl Fact for CoreExtents {
    fn find(_cx: &Context<'_>) -> Self {
        Self::default()
    }
}

pub(crate) fn window(cx: &Context<'_>, core: GroupId) -> Result<Option<TimeWindow>> {
    cx.reports.check(cx.scope)?;
    let Some(whole) = core_extent(cx, core) else {
        return Ok(None);
    };
    let part = match cx.scope {
        Scope::WholeTrace => return Ok(Some(whole)),
        Scope::Range(range) => range,
        Scope::Steps { first, last } => {
            let range = cx
                .fact::<StepsReport>()
                .range_on(cx.model, core, first, last);
            range.ok_or_else(|| no_steps(first, last))?
        }
    };
    let Some(range) = part.intersect(whole.range) else {
        return Ok(None);
    };
    let measured = match cx.scope {
        _ if range == whole.range => whole.measured,
        Scope::Steps { .. } => shifted(cx.model, core, range),
        _ => {
            // Several ops may begin or end at the very border, at different times by their own clock.
            let inner = cut(cx.model, core, range);
            let start = if range.start == whole.range.start {
                whole.measured.start
            } else {
                inner.start
            };
            let end = if range.end == whole.range.end {
                whole.measured.end
            } else {
                inner.end
            };
            TimeRange::new(start, end)
        }
    };
    Ok(Some(TimeWindow { range, measured }))
}

pub(crate) fn host_window(cx: &Context<'_>) -> Result<TimeRange> {
    cx.reports.check(cx.scope)?;
    let extent = cx.model.extent();
    match cx.scope {
        Scope::WholeTrace => Ok(extent),
        Scope::Range(range) => Ok(range.intersect(extent).unwrap_or_default()),
        Scope::Steps { first, last } => {
            let spans = cx
                .fact::<StepsReport>()
                .selected(first, last)
                .filter_map(|step| on_host(cx, &step.spans));
            spans
                .reduce(TimeRange::hull)
                .ok_or_else(|| no_steps(first, last))
        }
    }
}

pub(crate) fn window_on_host(cx: &Context<'_>, core: GroupId) -> Result<Option<TimeRange>> {
    match cx.scope {
        Scope::WholeTrace => {
            let ran = programs_on_host(cx, core)
                .into_iter()
                .map(|(_, range)| range)
                .reduce(TimeRange::hull);
            Ok(ran.map(|ran| ran.hull(cx.model.extent())))
        }
        Scope::Range(_) => Ok(Some(to_host(cx, core, host_window(cx)?))),
        Scope::Steps { .. } => Ok(window(cx, core)?.map(|window| to_host(cx, core, window.range))),
    }
}

/// A device is away if it runs nothing for at least this part of the run of its host, at its begin or its end …
const AWAY_PERCENT: f64 = 10.0;
/// … and another one begins and ends so many steps or programs meanwhile: less is uneven work.
const AWAY_RUNS: usize = 2;

/// Its own extent, and where it is away that of the devices of its host together.
fn core_extent(cx: &Context<'_>, core: GroupId) -> Option<TimeWindow> {
    let is_device = |core| matches!(cx.model.group(core).kind, GroupKind::TensorCore { .. });
    if !is_device(core) {
        return own_extent(cx, core);
    }
    // What a device of a cut file did after its last op is unknown.
    if cx.model.group(core).is_cut {
        return own_extent(cx, core);
    }
    cx.fact::<CoreExtents>().of_run.get(core, || {
        // All devices, not only the selected ones: how long the run took is a fact of the capture.
        let cores = cx.model.tensor_cores();
        let extent = |&other: &GroupId| Some(own_extent(cx, other)?.range);
        let on_host = |other: &&GroupId| cx.model.host_of(**other) == cx.model.host_of(core);
        let run = cores
            .iter()
            .filter(on_host)
            .filter_map(extent)
            .reduce(TimeRange::hull)
            .or_else(|| cores.iter().filter_map(extent).reduce(TimeRange::hull))?;
        let Some(extent) = own_extent(cx, core) else {
            return Some(TimeWindow {
                range: run,
                measured: run,
            });
        };
        let is_away = |away: TimeRange| {
            let is_long = 100.0 * away.dur().as_ps_f64() >= AWAY_PERCENT * run.dur().as_ps_f64();
            is_long
                && cores
                    .iter()
                    .filter(on_host)
                    .any(|&other| runs_in(cx.model, other, away) >= AWAY_RUNS)
        };
        let before = TimeRange::new(run.start, extent.range.start);
        let after = TimeRange::new(extent.range.end, run.end);
        let start = if is_away(before) {
            run.start
        } else {
            extent.range.start
        };
        let end = if is_away(after) {
            run.end
        } else {
            extent.range.end
        };
        let range = TimeRange::new(start, end);
        if range == extent.range {
            return Some(extent);
        }
        Some(TimeWindow {
            range,
            measured: cut(cx.model, core, range).hull(extent.measured),
        })
    })
}

/// Steps or programs of a core that lie in a range, those of which there are more.
fn runs_in(model: &TraceModel, core: GroupId, range: TimeRange) -> usize {
    let count = |kind| {
        let lanes = model
            .tracks_of_kind(core, kind)
            .filter_map(|track| model.lanes(track).first());
        lanes
            .flat_map(|lane| model.slices_in(lane, range))
            .filter(|run| range.encloses(run.range()))
            .count()
    };
    count(TrackKind::Steps).max(count(TrackKind::Modules))
}

/// From the first op or step of a core to the end of the last; its programs count where it recorded no ops. Of a device that
/// the file cuts only the ops count: lines of it may be there to the end.
pub fn own_extent(cx: &Context<'_>, core: GroupId) -> Option<TimeWindow> {
    let is_core = matches!(
        cx.model.group(core).kind,
        GroupKind::TensorCore { .. } | GroupKind::SparseCore { .. }
    );
    let of = |kinds: [TrackKind; 2]| extent_of(cx, core, |kind| !is_core || kinds.contains(&kind));
    cx.fact::<CoreExtents>().own.get(core, || {
        let ops = if has_ops(cx.model, core) {
            TrackKind::Ops
        } else {
            TrackKind::Modules
        };
        let steps = if cx.model.group(core).is_cut {
            ops
        } else {
            TrackKind::Steps
        };
        of([steps, ops])
    })
}

/// Whether a core recorded ops.
pub fn has_ops(model: &TraceModel, core: GroupId) -> bool {
    let mut tracks = model.tracks_of(core).into_iter();
    tracks.any(|track| model.track(track).kind == TrackKind::Ops && !model.lanes(track).is_empty())
}

/// Whether a device recorded neither steps nor programs nor ops: it ran nothing, unless the file is cut.
pub fn ran_nothing(model: &TraceModel, core: GroupId) -> bool {
    if model.group(core).is_cut {
        return false;
    }
    let is_work = |kind| matches!(kind, TrackKind::Steps | TrackKind::Modules | TrackKind::Ops);
    let mut tracks = model.tracks_of(core).into_iter();
    !tracks.any(|track| is_work(model.track(track).kind) && !model.lanes(track).is_empty())
}

/// From the first slice to the end of the last on the tracks of `core` that `counts` selects; `None` if these have no
/// slices.
fn extent_of(
    cx: &Context<'_>,
    core: GroupId,
    counts: impl Fn(TrackKind) -> bool,
) -> Option<TimeWindow> {
    let counted = cx
        .model
        .tracks_of(core)
        .into_iter()
        .filter(|&track| counts(cx.model.track(track).kind));
    let spans = counted
        .map(|track| spans(cx, track))
        .reduce(TrackExtent::hull)?;
    let range = spans.range?;
    // Steps and programs have times on the timeline only, ops mostly on both clocks.
    let measured = match (spans.timed, spans.untimed) {
        (Some(timed), Some(untimed)) => timed.hull(shifted(cx.model, core, untimed)),
        (Some(only), None) | (None, Some(only)) => only,
        (None, None) => range,
    };
    Some(TimeWindow { range, measured })
}

/// Slices of a track that overlap a window of its core in the scope of `cx`, with their spans in it, in the order of
/// [`spans_by_time`](trace_model::TraceColumns::spans_by_time). For the whole trace everything belongs to it: an instant at
/// the very end would lie outside the half-open window, and so would a program before the first op.
pub fn slices_of_window<'a>(
    cx: &Context<'a>,
    track: TrackId,
    window: TimeWindow,
) -> impl Iterator<Item = SliceSpans<'a>> {
    let model = cx.model;
    let is_whole = cx.scope == Scope::WholeTrace;
    // Steps and programs have times on the timeline only.
    let on_timeline = matches!(
        model.track(track).kind,
        TrackKind::Steps | TrackKind::Modules
    );
    let measured_window = if on_timeline {
        window.range
    } else {
        window.measured
    };
    let range = if is_whole {
        TimeRange::new(Timestamp::MIN, Timestamp::MAX)
    } else {
        window.range
    };
    model
        .spans_by_time(model.lanes(track), range)
        .filter_map(move |spans| {
            if is_whole {
                Some(spans)
            } else {
                part_of(spans, window.range, measured_window)
            }
        })
}

/// The part of a slice of the ops of a core that lies in a part of the trace; `None` if it lies outside.
pub fn part_of_op(spans: SliceSpans<'_>, window: TimeWindow) -> Option<SliceSpans<'_>> {
    part_of(spans, window.range, window.measured)
}

#[inline]
fn part_of(
    spans: SliceSpans<'_>,
    shown_window: TimeRange,
    measured_window: TimeRange,
) -> Option<SliceSpans<'_>> {
    // Markers take no time: they belong to the window that they start in.
    let part = |span: TimeRange, of: TimeRange| {
        span.intersect(of).or_else(|| {
            shown_window
                .contains(spans.shown.start)
                .then(|| TimeRange::at(span.start, Picos::ZERO))
        })
    };
    Some(SliceSpans {
        shown: part(spans.shown, shown_window)?,
        measured: part(spans.measured, measured_window)?,
        ..spans
    })
}

/// A difference of lengths that nobody sees.
const SAME_LENGTH: f64 = 0.005;

/// What the windows of the devices are, for sentences: `first op to last`, `these steps`, `the range`. Of a range only what
/// lies between the first and the last op of a device is its window, and by its own clock, which may differ.
pub fn windows_in_words(cx: &Context<'_>) -> String {
    let asked = match cx.scope {
        Scope::WholeTrace => return "first op to last".to_owned(),
        Scope::Steps { .. } => return "these steps".to_owned(),
        Scope::Range(range) => range,
    };
    let windows: Vec<TimeWindow> = cx
        .tensor_cores()
        .into_iter()
        .filter_map(|core| window(cx, core).ok()?)
        .collect();
    let differs = |a: TimeRange, b: TimeRange| {
        let a = a.dur();
        let b = b.dur();
        (a - b).abs().as_ps_f64() > SAME_LENGTH * a.as_ps_f64()
    };
    let mut words = "the range".to_owned();
    if windows.iter().any(|window| differs(asked, window.range)) {
        words += " from first op to last";
    }
    if windows
        .iter()
        .any(|window| differs(window.range, window.measured))
    {
        words += " by the clocks of the devices";
    }
    words
}

/// From the first of these slices to the end of the last, on the timeline.
pub fn hull_of_window(cx: &Context<'_>, track: TrackId, window: TimeWindow) -> Option<TimeRange> {
    let range = if cx.scope == Scope::WholeTrace {
        TimeRange::new(Timestamp::MIN, Timestamp::MAX)
    } else {
        window.range
    };
    // The slices of a lane follow each other: the last one ends last.
    let of_lane = |lane| {
        let mut inside = cx.model.slices_in(lane, range);
        let first = inside.next()?.range();
        first
            .hull(inside.next_back().map_or(first, SliceRef::range))
            .intersect(range)
    };
    cx.model
        .lanes(track)
        .iter()
        .filter_map(of_lane)
        .reduce(TimeRange::hull)
}

/// Whether an execution counts in a window: it starts inside. For the whole trace all do.
pub fn counts(cx: &Context<'_>, window: TimeWindow, slice: SliceRef<'_>) -> bool {
    cx.scope == Scope::WholeTrace || window.contains(slice)
}

/// The time of an execution in a window.
pub fn part_in(cx: &Context<'_>, window: TimeWindow, slice: SliceRef<'_>) -> Picos {
    let range = slice.measured_range();
    let part = if cx.scope == Scope::WholeTrace {
        Some(range)
    } else {
        range.intersect(window.measured)
    };
    part.map_or(Picos::ZERO, TimeRange::dur)
}

/// Span of a slice on the clock that timed the ops of its core. Steps and programs are recorded on the timeline alone;
/// the device times of their ops give their duration, which reports use. Never mix it with times of the timeline.
pub fn measured_range(slice: SliceRef<'_>, model: &TraceModel) -> TimeRange {
    let track = slice.track_ref();
    match slice.device_range() {
        Some(range) => range,
        None if matches!(track.kind, TrackKind::Steps | TrackKind::Modules) => {
            shifted(model, track.group, slice.range())
        }
        None => slice.range(),
    }
}

fn no_steps(first: u32, last: u32) -> AnalysisError {
    AnalysisError::NotApplicable(format!(
        "there is no step from {first} to {last} in this trace"
    ))
}

#[cfg(test)]
mod tests;
