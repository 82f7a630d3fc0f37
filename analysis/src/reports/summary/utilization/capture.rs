//! The rest of the capture, which a utilization over the devices' windows leaves out.

use trace_model::Picos;

use super::sums::{WorkSums, possible_or_why};
use crate::engine::{Context, Metric, Provenance, Scope, counted};
use crate::hardware::limits::BoundBy;
use crate::math::unit::Unit;
use crate::reports::ops::op_stats::{CoreOps, OpsReport};

/// The share of the timeline that the windows of the devices cover: time outside them is in no other metric here,
/// and a busy window may be a small part of a capture.
pub(super) fn covered(cx: &Context<'_>, ops: &OpsReport) -> Option<Metric> {
    let capture = cx.model.extent().dur();
    let mean = (cx.scope == Scope::WholeTrace && !ops.cores.is_empty())
        .then(|| ops.total_time_ps as f64 / ops.cores.len() as f64)?;
    Some(Metric {
        id: "window_of_capture_percent",
        title: "First op to last, of the capture",
        value: (capture.ps() > 0).then(|| (100.0 * mean / capture.ps() as f64).min(100.0)),
        unit: Unit::Percent,
        of: format!("capture ({capture}), mean over devices"),
        provenance: Provenance::Measured,
        note: Some("outside it no device op was recorded: devices were idle or recording began late".to_owned()),
    })
}

/// FLOPs over the whole session, that is, the time for which the profiler ran: the value that a hardware counter that
/// never stops would show.
pub(super) fn flops(cx: &Context<'_>, ops: &OpsReport) -> Option<Metric> {
    if cx.scope != Scope::WholeTrace {
        return None;
    }
    let cores: Vec<&CoreOps> = ops.cores.iter().collect();
    let sums = WorkSums::new(cx, ops, &cores);
    let mut session = None;
    for source in cx.model.sources() {
        let length = source.stopped_unix_ns?.checked_sub(source.started_unix_ns?)?;
        session = session.max(Some(length).filter(|&length| length > 0));
    }
    let seconds = session? as f64 * 1e-9;
    let peaks = sums.peaks();
    let capacity = cores.iter().map(|core| Some(seconds * core.peaks.flops?.per_second)).sum::<Option<f64>>();
    let percent = sums.amount(|core| core.work.flops).zip(capacity).map(|(flops, capacity)| 100.0 * flops / capacity);
    let (value, impossible) = possible_or_why(percent);
    Some(Metric {
        id: "flops_util_capture_percent",
        title: "FLOPs utilization of the whole session",
        value,
        unit: Unit::Percent,
        of: format!(
            "session ({} × {}) × {}",
            Picos::from_ps((seconds * 1e12).round() as i64),
            counted(cores.len(), "device"),
            sums.peak_text(BoundBy::Compute)
        ),
        provenance: Provenance::of_peak(peaks.flops),
        note: Some(impossible.unwrap_or_else(|| "includes the time before the first and after the last op".to_owned())),
    })
}
