//! The rest of the capture, which a utilization over the devices' windows leaves out.

use device_reports::{CoreOps, OpsReport};
use facts::prelude::*;

use super::sums::{WorkSums, possible_or_why, says_something};
use crate::summary::doctor;

/// The share of the session that the windows of the devices cover: time outside them is in no other metric here, and a
/// busy window may be a small part of a session.
pub(super) fn covered(cx: &Context<'_>, ops: &OpsReport) -> Option<Metric> {
    let recorded = cx.model.extent().dur();
    let session = session(cx);
    let of = session.map_or("timeline, as the session is not recorded,", |_| "session");
    let capture = session.unwrap_or_default().max(recorded);
    let mean = (cx.scope == Scope::WholeTrace && !ops.cores.is_empty())
        .then(|| ops.total_time_ps.as_ps_f64() / ops.cores.len() as f64)?;
    Some(Metric {
        id: "window_of_capture_percent",
        title: "First op to last, of the session",
        value: (capture.ps() > 0).then(|| (100.0 * mean / capture.as_ps_f64()).min(100.0)),
        is_lower_bound: false,
        unit: Unit::Percent,
        of: format!("{of} ({capture}), mean over devices"),
        provenance: Provenance::Measured,
        note: Some(
            "outside it no device op was recorded: devices were idle or recording began late"
                .to_owned(),
        ),
    })
}

/// How long the profiler ran, if that is recorded; of several hosts the longest time.
fn session(cx: &Context<'_>) -> Option<Picos> {
    cx.model.sources().iter().filter_map(doctor::session).max()
}

/// FLOPs over the whole session, that is, the time for which the profiler ran: the value that a hardware counter that
/// never stops would show.
pub(super) fn flops(cx: &Context<'_>, ops: &OpsReport) -> Option<Metric> {
    if cx.scope != Scope::WholeTrace {
        return None;
    }
    let cores: Vec<&CoreOps> = ops.cores.iter().collect();
    let sums = WorkSums::new(cx, ops, &cores);
    let session = session(cx)?;
    let seconds = session.as_secs_f64();
    let peaks = sums.peaks();
    let capacity = cores
        .iter()
        .map(|core| Some(seconds * core.peaks.flops?.per_second))
        .sum::<Option<f64>>();
    let percent = sums
        .amount(|core| core.work.flops)
        .zip(capacity)
        .map(|(flops, capacity)| 100.0 * flops / capacity);
    let (value, impossible) = possible_or_why(percent);
    let is_partial = sums.is_mostly_unknown(BoundBy::Compute);
    let value = value.filter(|&percent| !is_partial || says_something(percent));
    let about = "includes the time before the first and after the last op".to_owned();
    let notes = sums.notes_on(BoundBy::Compute, true).into_iter();
    Some(Metric {
        id: "flops_util_capture_percent",
        title: "FLOPs utilization of the whole session",
        value,
        is_lower_bound: value.is_some() && is_partial,
        unit: Unit::Percent,
        of: format!(
            "session ({} × {}) × {}",
            session,
            counted(cores.len(), "device"),
            sums.peak_text(BoundBy::Compute)
        ),
        provenance: Provenance::of_peak(peaks.flops),
        note: impossible.or_else(|| Some(joined(notes.chain([about]), "; "))),
    })
}
