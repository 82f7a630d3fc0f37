//! What of a capture lies outside of its loop.

use facts::prelude::*;
use run_reports::Compile;
use trace_model::TrackKind;

use crate::hints::CountedDevices;
use crate::hints::facts::HintFacts;
use crate::hints::limit::OutsideLoop;

/// It is worth a line from this share of the capture.
const WORTH_A_LINE: f64 = 0.05;

/// What happens once; nothing without steps, in a part of the capture, or where it is short. All of it is time on the
/// timeline, the only clock that hosts and devices have in common.
pub(super) fn outside(facts: &HintFacts<'_>, devices: &CountedDevices) -> Option<OutsideLoop> {
    let cx = facts.cx;
    let steps = facts.steps()?;
    let capture = (cx.scope == Scope::WholeTrace).then(|| cx.model.extent())?;
    let (first, last) = steps.counted_numbers()?;
    // Steps that are only partly in the capture are of the loop, too.
    let partial = steps
        .steps
        .iter()
        .filter(|step| step.is_partial && !step.is_warmup)
        .filter_map(Step::range);
    let in_loop = partial.chain(steps.range_of(first, last)).collect();
    let outside = IntervalSet::of(capture).subtract(&in_loop);
    let time_ps = outside.measure();
    if time_ps.as_ps_f64() < WORTH_A_LINE * capture.dur().as_ps_f64() {
        return None;
    }
    let cores = cx.tensor_cores().into_iter();
    let idle = cores
        .filter(|&core| devices.has(core))
        .map(|core| time_ps - busy(cx.model, core, &outside));
    let compile_ps = facts
        .report::<Compile>()
        .ok()
        .map(|report| report.intervals.intersect(&outside).measure());
    Some(OutsideLoop {
        time_ps,
        of_ps: capture.dur(),
        compile_ps: compile_ps.filter(|&time| time > Picos::ZERO),
        idle_ps: Picos::rounded(idle.sum::<Picos>().as_ps_f64() / devices.count().max(1) as f64),
    })
}

/// How long a device runs ops in these times.
fn busy(model: &TraceModel, core: GroupId, times: &IntervalSet) -> Picos {
    let tracks = model.tracks_of_kind(core, TrackKind::Ops);
    let ops: IntervalSet = tracks
        .flat_map(|track| model.lanes(track))
        .flat_map(|lane| times.ranges().iter().map(move |&range| (lane, range)))
        .flat_map(|(lane, range)| model.spans_in(lane, range))
        .map(|op| op.shown)
        .collect();
    ops.intersect(times).measure()
}
