//! Rules about clocks: of devices, of hosts, and assumed ones.

use facts::ClocksReport;
use facts::clock_alignment::{ClockShift, ClockSync};
use facts::op_scan::op_scan;
use facts::prelude::*;
use trace_model::{IssueKind, Severity};

use super::finding::{CaptureFinding, SESSIONS_APART};
use crate::host::clocks::Clocks;

/// A shift above this gets a finding.
const SHIFT: Picos = Picos::from_ps(50_000_000);

pub(super) fn clock_skew(cx: &Context<'_>) -> Option<CaptureFinding> {
    let shifts = clock_shifts(cx);
    let worst = shifts
        .iter()
        .max_by_key(|shift| (shift.sync, shift.shift_ps.abs()))?;
    let us = Picos::as_us_f64;
    let least = worst.bounds.at_least_ps;
    let upper = match worst.bounds.at_most_ps {
        None => ", with no known upper limit".to_owned(),
        Some(most) if most < least => format!(", their ends at most {:.1} µs", us(most)),
        Some(most) => format!(" and at most {:.1} µs", us(most)),
    };
    let evidence = format!(
        "{}: {} programs need a shift of at least {:.1} µs{upper}",
        worst.core,
        worst.pairs,
        us(least)
    );
    let (severity, message, cure) = match worst.sync {
        ClockSync::Aligned => return None,
        ClockSync::Shifted if worst.shift_ps.abs() <= SHIFT => return None,
        ClockSync::Shifted => (
            Severity::Info,
            format!("Device and host clocks differ; device times are shifted by {:.1} µs.", us(worst.shift_ps)),
            "Numbers are correct; on the timeline, allow for the shift between device and host.",
        ),
        ClockSync::Drifting => (
            Severity::Info,
            format!(
                "Device and host clocks drift apart by {:.1} ppm; device times are shifted accordingly.",
                worst.drift.map(|line| line.drift_ppm).unwrap_or_default()
            ),
            "Numbers are correct; on the timeline, allow for the shift between device and host.",
        ),
        ClockSync::Poor => (
            Severity::Warning,
            "No shift aligns device and host: some programs seem to end after the host was notified of it.".to_owned(),
            "Compare devices with devices and hosts with hosts; between the two, allow for the difference.",
        ),
    };
    Some(CaptureFinding {
        id: "Q06",
        name: "clock-skew",
        severity,
        message,
        evidence,
        cure,
    })
}

/// Files of one run that began too far apart to be one session: nothing of one can be compared with the other.
pub(super) fn sessions_apart(cx: &Context<'_>) -> Option<CaptureFinding> {
    let mut counts = cx.model.import_log().counts().iter();
    let issue = counts.find(|issue| issue.kind == IssueKind::SessionsApart)?;
    Some(CaptureFinding {
        id: "Q18",
        name: SESSIONS_APART,
        severity: Severity::Warning,
        message: format!(
            "{}: these are different sessions, or a clock is wrong, and numbers of all devices mix them.",
            issue.examples.first()?
        ),
        evidence: format!("{} sessions in one run", issue.count + 1),
        cure: "Name the file of one host, or put each session into a folder of its own.",
    })
}

/// Hosts whose clocks are apart, by the ends of collectives.
pub(super) fn host_clocks(cx: &Context<'_>) -> Option<CaptureFinding> {
    if cx.model.import_log().count(IssueKind::SessionsApart) > 0 {
        return None;
    }
    let hosts = &cx.fact::<ClocksReport>().hosts;
    let worst = hosts.iter().max_by_key(|host| host.offset_ps.abs())?;
    let apart = worst.offset_ps.abs();
    if apart <= SHIFT.max(worst.spread_ps) {
        return None;
    }
    let side = if worst.offset_ps > Picos::ZERO {
        "ahead of"
    } else {
        "behind"
    };
    Some(CaptureFinding {
        id: "Q18",
        name: "host-clocks",
        severity: Severity::Warning,
        message: format!(
            "The clocks of hosts are apart: {} is {apart} {side} {}.",
            worst.host, worst.against
        ),
        evidence: format!(
            "median of {}, which all participants leave together; the middle 80 % lie within {}",
            counted(worst.collectives, "collective"),
            worst.spread_ps
        ),
        cure: "Waiting is computed from durations and stays right; on the timeline, compare times within a host only. \
               Synchronize the clocks of the hosts (NTP or PTP) before the next capture.",
    })
}

/// The profiler's conversion to host time is wrong for single ops in real captures.
pub(super) fn misplaced_ops(cx: &Context<'_>) -> Option<CaptureFinding> {
    let mut misplaced = 0;
    let mut all = 0;
    let mut worst = Picos::ZERO;
    for core in cx.tensor_cores() {
        let lengths = op_scan(cx, core).lengths;
        misplaced += lengths.misplaced;
        all += lengths.ops;
        worst = worst.max(lengths.worst);
    }
    (misplaced > 0).then(|| CaptureFinding {
        id: "Q11",
        name: "misplaced-ops",
        severity: Severity::Info,
        message: "Some ops are misplaced on the timeline; durations are by the device's own clock."
            .to_owned(),
        evidence: format!("{misplaced} of {all}, off by up to {worst}"),
        cure: "Numbers are correct; where the timeline and a number disagree, trust the number.",
    })
}

/// Cycles without a clock frequency: shares are right, times are not.
pub(super) fn assumed_clock(cx: &Context<'_>) -> Option<CaptureFinding> {
    let issue = cx
        .model
        .import_log()
        .counts()
        .iter()
        .find(|issue| issue.kind == IssueKind::AssumedClock);
    issue.map(|issue| CaptureFinding {
        id: "Q14",
        name: "assumed-clock",
        severity: Severity::Warning,
        message:
            "Times are cycles of an assumed clock: shares are correct, times and rates are unknown."
                .to_owned(),
        evidence: issue.examples.first().cloned().unwrap_or_default(),
        cure: "Name the clock of the device: --clock 940MHz.",
    })
}

/// The shifts of the selected devices.
pub(super) fn clock_shifts(cx: &Context<'_>) -> Vec<ClockShift> {
    let cores = cx.tensor_cores();
    let all = cx
        .report::<Clocks>()
        .map(|clocks| clocks.devices.clone())
        .unwrap_or_default();
    all.into_iter()
        .filter(|shift| cores.contains(&shift.group))
        .collect()
}
