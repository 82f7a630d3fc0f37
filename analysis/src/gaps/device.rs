//! When one device ran no program, and what its host did meanwhile.

use std::collections::HashMap;

use trace_model::{GroupId, LabelId, Picos, SliceId, SliceRef, TimeRange, Timestamp};

use super::activity::{Cause, Doing};
use super::{CauseTime, DeviceGaps, Gap, Place, StepGaps};
use crate::clocks::{Clocks, Pair};
use crate::intervals::IntervalSet;
use crate::steps::{Rung, StepsReport};
use crate::{AnalysisError, Context, Scope};

/// Gaps of a device that are listed one by one, the longest first.
const LISTED: usize = 100;

/// An idle span, on the clock of the host.
struct Idle<'a> {
    range: TimeRange,
    after: Option<SliceRef<'a>>,
    before: Option<SliceRef<'a>>,
}

impl Idle<'_> {
    fn place(&self) -> Place {
        match (self.after, self.before) {
            (None, _) => Place::BeforeFirst,
            (_, None) => Place::AfterLast,
            _ => Place::Between,
        }
    }
}

/// The window of a device on the clock of its host: for the whole trace from the
/// first event of anything to the end of the last; `None` where the device recorded
/// nothing in the scope.
fn window(
    cx: &Context<'_>,
    core: GroupId,
    programs: &[(SliceRef<'_>, TimeRange)],
) -> Result<Option<TimeRange>, AnalysisError> {
    if cx.scope == Scope::WholeTrace {
        let ran = programs.iter().map(|&(_, range)| range).reduce(TimeRange::hull);
        return Ok(ran.map(|ran| ran.hull(cx.model.extent())));
    }
    let range = match cx.scope {
        Scope::Range(_) => Some(cx.timeline_window()?),
        _ => cx.window(core)?.map(|window| window.range),
    };
    Ok(range.map(|range| cx.to_host(core, range)))
}

/// The idle spans of a device within `window`, in time order.
fn idle<'a>(programs: &[(SliceRef<'a>, TimeRange)], window: TimeRange) -> Vec<Idle<'a>> {
    let mut out = Vec::new();
    let (mut end, mut after) = (window.start.min(programs.first().map_or(window.start, |(_, r)| r.start)), None);
    let mut add = |from: Timestamp, to: Timestamp, after, before| {
        if let Some(range) = TimeRange::new(from, to).intersect(window).filter(|range| !range.is_empty()) {
            out.push(Idle { range, after, before });
        }
    };
    let mut ordered: Vec<_> = programs.iter().collect();
    ordered.sort_by_key(|(program, range)| (range.start, program.id()));
    for &&(program, range) in &ordered {
        add(end, range.start, after, Some(program));
        if after.is_none() || range.end >= end {
            after = Some(program);
        }
        end = end.max(range.end);
    }
    add(end, window.end, after, None);
    out
}

/// A part of an idle span with one cause.
#[derive(Clone, Copy)]
struct Piece {
    range: TimeRange,
    cause: Cause,
    label: Option<LabelId>,
}

/// When each program was in the queue of its device.
type Queued = HashMap<SliceId, (Timestamp, LabelId)>;

fn queued(cx: &Context<'_>, core: GroupId) -> Queued {
    let clocks = cx.scoped(Scope::WholeTrace).report::<Clocks>().ok();
    let launches = clocks.as_ref().and_then(|clocks| clocks.launches_of(core));
    let pairs = launches.into_iter().flat_map(|launches| &launches.begins);
    let host = |pair: &Pair| cx.model.slice(pair.host);
    pairs.map(|pair| (pair.program, (host(pair).range().end, host(pair).label_id()))).collect()
}

/// Cuts a gap by what the host did until the next program was queued.
fn gap_pieces(gap: &Idle<'_>, queued: &Queued, doing: &[Doing], out: &mut Vec<Piece>) {
    let launched = gap.before.and_then(|program| queued.get(&program.id()));
    let Some(&(at, label)) = launched.filter(|(at, _)| *at < gap.range.end) else {
        return pieces(gap.range, doing, out);
    };
    let at = at.max(gap.range.start);
    pieces(TimeRange::new(gap.range.start, at), doing, out);
    out.push(Piece { range: TimeRange::new(at, gap.range.end), cause: Cause::Queued, label: Some(label) });
}

/// Cuts a span by what the host did.
fn pieces(gap: TimeRange, doing: &[Doing], out: &mut Vec<Piece>) {
    let from = doing.partition_point(|doing| doing.range.end <= gap.start);
    let mut now = gap.start;
    let mut add = |from: Timestamp, to: Timestamp, cause, label| {
        if from < to {
            out.push(Piece { range: TimeRange::new(from, to), cause, label });
        }
    };
    for doing in doing[from..].iter().take_while(|doing| doing.range.start < gap.end) {
        let Some(range) = doing.range.intersect(gap) else { continue };
        add(now, range.start, Cause::Unknown, None);
        add(range.start, range.end, doing.cause, Some(doing.label));
        now = range.end;
    }
    add(now, gap.end, Cause::Unknown, None);
}

/// Time by cause, with the event of each that took most of it.
fn causes(cx: &Context<'_>, pieces: &[Piece]) -> Vec<CauseTime> {
    let mut times = [Picos::ZERO; Cause::ALL.len()];
    let mut events: Vec<((Cause, LabelId), Picos)> = Vec::with_capacity(pieces.len());
    for piece in pieces {
        times[piece.cause.index()] += piece.range.dur();
        events.extend(piece.label.map(|label| ((piece.cause, label), piece.range.dur())));
    }
    // Alike ones together; then the first of each takes the time of all.
    events.sort_unstable_by_key(|&(event, _)| event);
    events.dedup_by(|later, first| {
        let same = later.0 == first.0;
        first.1 += if same { later.1 } else { Picos::ZERO };
        same
    });
    events.sort_unstable_by_key(|&((cause, label), time)| (cause, std::cmp::Reverse(time), label));
    let present = Cause::ALL.into_iter().filter(|cause| times[cause.index()] > Picos::ZERO);
    present
        .map(|cause| {
            let top = events.iter().find(|((of, _), _)| *of == cause);
            CauseTime {
                cause,
                time_ps: times[cause.index()].ps(),
                event: top.map(|((_, label), _)| cx.model.str(cx.model.label(*label).name).to_owned()),
                event_ps: top.map(|(_, time)| time.ps()),
            }
        })
        .collect()
}

/// The gaps of one device; `None` where it recorded no program in the scope.
pub(super) fn device_gaps(
    cx: &Context<'_>,
    core: GroupId,
    doing: &[Doing],
    steps: Option<&StepsReport>,
) -> Result<Option<DeviceGaps>, AnalysisError> {
    let programs = cx.programs_on_host(core);
    let Some(window) = window(cx, core, &programs)? else { return Ok(None) };
    let (idle, queued) = (idle(&programs, window), queued(cx, core));
    let busy: IntervalSet = programs.iter().filter_map(|(_, range)| range.intersect(window)).collect();
    if programs.is_empty() || window.is_empty() {
        return Ok(None);
    }
    let mut all = Vec::new();
    let mut per_place: [Vec<Piece>; 3] = Default::default();
    for gap in &idle {
        let from = all.len();
        gap_pieces(gap, &queued, doing, &mut all);
        per_place[gap.place() as usize].extend_from_slice(&all[from..]);
    }
    let [before, between, after] = per_place.map(|pieces| causes(cx, &pieces));
    let spans = step_spans(cx, core, steps);
    let mut longest: Vec<&Idle<'_>> = idle.iter().collect();
    longest.sort_by_key(|gap| (std::cmp::Reverse(gap.range.dur()), gap.range.start));
    longest.truncate(LISTED);
    let name = |program: Option<SliceRef<'_>>| program.map(|program| program.name().to_owned());
    let gaps = longest.into_iter().map(|gap| {
        let mut own = Vec::new();
        gap_pieces(gap, &queued, doing, &mut own);
        Gap {
            place: gap.place(),
            start_ps: recorded_start(gap, window).ps(),
            length_ps: gap.range.dur().ps(),
            step: spans.iter().find(|(_, range)| range.contains(gap.range.start)).map(|(number, _)| *number),
            after: name(gap.after),
            before: name(gap.before),
            causes: causes(cx, &own),
        }
    });
    let gaps: Vec<Gap> = gaps.collect();
    let steps = spans.iter().map(|&(step, range)| {
        let own: Vec<Piece> = within(&all, range).collect();
        StepGaps { step, length_ps: range.dur().ps(), causes: causes(cx, &own) }
    });
    Ok(Some(DeviceGaps {
        core: cx.model.device_name(core),
        group: core,
        window_ps: window.dur().ps(),
        program_ps: busy.measure().ps(),
        programs: programs.iter().filter(|(_, range)| range.overlaps(window)).count() as u64,
        idle_ps: idle.iter().map(|gap| gap.range.dur().ps()).sum(),
        count: idle.iter().filter(|gap| gap.place() == Place::Between).count() as u64,
        before,
        between,
        after,
        gaps,
        steps: steps.collect(),
        inside: None,
        compiling: all.iter().filter(|piece| piece.cause == Cause::Compile).map(|piece| piece.range).collect(),
    }))
}

/// Where a gap begins on the timeline as recorded; the window's begin where nothing
/// of the device is before it.
fn recorded_start(gap: &Idle<'_>, window: TimeRange) -> Timestamp {
    let recorded = gap.after.map(|program| program.range().end);
    match recorded {
        Some(end) if gap.range.start > window.start => end,
        _ => gap.range.start,
    }
}

/// The parts of sorted `pieces` that lie in `range`.
fn within(pieces: &[Piece], range: TimeRange) -> impl Iterator<Item = Piece> {
    let from = pieces.partition_point(|piece| piece.range.end <= range.start);
    let inside = pieces[from..].iter().take_while(move |piece| piece.range.start < range.end);
    inside.filter_map(move |piece| Some(Piece { range: piece.range.intersect(range)?, ..*piece }))
}

/// The steps of a device on the clock of its host.
fn step_spans(cx: &Context<'_>, core: GroupId, steps: Option<&StepsReport>) -> Vec<(u32, TimeRange)> {
    let Some(steps) = steps.filter(|steps| steps.has_steps()) else { return Vec::new() };
    let own = |step: &crate::steps::Step| {
        if steps.rung == Rung::HostAnnotations {
            return step.range();
        }
        let span = step.spans.iter().find(|span| span.group == core)?;
        Some(cx.to_host(core, span.range))
    };
    steps.steps.iter().filter_map(|step| Some((step.number, own(step)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use trace_model::TimeRange;

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
    }

    #[test]
    fn pieces_fill_the_gap_without_overlap() {
        let model = sample_traces::text_trace("host main: ab\n a = x\n b = y");
        let label = model.all_slices().next().unwrap().label_id();
        let doing = |start, end, cause| Doing { range: range(start, end), cause, label };
        let doing = [doing(0, 12, Cause::Compile), doing(14, 15, Cause::Dispatch), doing(18, 30, Cause::User)];
        let mut out = Vec::new();
        pieces(range(10, 20), &doing, &mut out);
        let seen: Vec<_> = out.iter().map(|p| (p.range.start.ps(), p.range.end.ps(), p.cause)).collect();
        let [unknown, user] = [Cause::Unknown, Cause::User];
        assert_eq!(
            seen,
            [(10, 12, Cause::Compile), (12, 14, unknown), (14, 15, Cause::Dispatch), (15, 18, unknown), (18, 20, user)]
        );
        let part: Vec<_> = within(&out, range(11, 15)).map(|p| p.range.dur().ps()).collect();
        assert_eq!(part, [1, 2, 1]);
    }
}
