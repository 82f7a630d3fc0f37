//! The content of every first screen (terminal, page of a run, window), computed once from the reports. Each screen
//! selects what it has room for, formats the numbers and lays them out.

mod device_time;
mod key_figure;
mod report_source;
mod what_ran;

use crate::prelude::*;
use analysis::facts::TimeUse;
use analysis::hints::{Hints, HintsReport, LoopLimit, OutsideLoop};
use analysis::reports::summary::doctor::{IMPOSSIBLE_RATES, SESSIONS_APART};
use analysis::reports::summary::targets::{Target, TargetColor, Targets};
use analysis::reports::summary::verdict::{RunVerdict, VerdictReport};
use analysis::reports::{
    Balance, CaptureFinding, Doctor, Ops, Overlap, OverlapReport, StepPart, StepParts, Steps,
    Utilization, UtilizationReport,
};
use analysis::{Provenance, counted};
use session::Session;
use trace_model::Severity;

use analysis::{capitalised, sentence};

pub use device_time::{DeviceBar, DeviceTime, share, sum};
pub use key_figure::KeyFigure;
pub use report_source::ReportSource;
pub use what_ran::{WhatRan, steps_in_words};

/// Utilization, in this order, in words that fit a terminal.
const UTILIZATION: [(&str, &str); 8] = [
    ("mfu_steady_percent", "MFU, steady steps"),
    ("mfu_window_percent", "MFU, first op to last"),
    ("mxu_util_steady_percent", "Matrix FLOPs, steady steps"),
    ("mxu_util_on_mxu_ops_percent", "FLOPs in matrix ops"),
    ("mxu_hw_percent", "MXU by hardware counter"),
    ("hbm_util_steady_percent", "HBM, steady steps"),
    ("hbm_util_window_percent", "HBM, first op to last"),
    ("device_idle_percent", "Idle, first op to last"),
];
/// Metrics that few captures have; shown only if known.
const OPTIONAL: [&str; 4] = [
    "mfu_steady_percent",
    "mxu_util_steady_percent",
    "mxu_hw_percent",
    "hbm_util_steady_percent",
];
/// Metrics that only some screens have room for, by their own titles.
const MORE: [&str; 2] = ["wait_percent", "window_of_capture_percent"];
/// Suffix of titles that name the window of a device.
const OF_WINDOW: &str = ", first op to last";

/// Figures that matter for what limits a run: of those that are known, the first ones are shown.
pub const FIGURES: usize = 4;
const OF_WAITING: &[&str] = &[
    "input",
    "device_idle_percent",
    "compile",
    "mfu_steady_percent",
];
const OF_MEMORY: &[&str] = &[
    "hbm",
    "hbm_util_steady_percent",
    "device_idle_percent",
    "mfu_steady_percent",
];
const OF_COMMUNICATION: &[&str] = &[
    "ici",
    "mfu_steady_percent",
    "hbm_util_steady_percent",
    "device_idle_percent",
];
const OF_COMPUTE: &[&str] = &[
    "mxu_util_steady_percent",
    "mxu_util_on_mxu_ops_percent",
    "hbm",
    "hbm_util_steady_percent",
    "mfu_steady_percent",
];
/// In place of those that are not known.
const OTHERWISE: &[&str] = &[
    "mfu_steady_percent",
    "mfu_window_percent",
    "hbm_util_steady_percent",
    "hbm_util_window_percent",
    "mxu_hw_percent",
    "device_idle_percent",
    "compile",
    "input",
];

/// The first screen. Parts without a report are empty.
pub struct Overview {
    /// What ran.
    pub ran: WhatRan,
    /// The largest uses of time, for runs without devices.
    pub verdict: Option<VerdictReport>,
    /// Median step and exposed communication.
    pub times: Vec<KeyFigure>,
    /// Utilization. Unknown metrics are included with the reason, except those that few captures have.
    pub utilization: Vec<KeyFigure>,
    /// Metrics for screens with more room.
    pub more: Vec<KeyFigure>,
    /// Targets that no utilization metric above covers.
    pub other_targets: Vec<KeyFigure>,
    /// What the devices spend their time on.
    pub device_time: Option<DeviceTime>,
    pub hints: Option<HintsReport>,
    /// What limits how far the capture can be trusted, the worst first; of equals that which explains the figures.
    pub health: Vec<CaptureFinding>,
    /// Whether the user sets steps aside, which then are outside the loop, but do not happen once.
    sets_steps_aside: bool,
}

impl Overview {
    /// From the reports that are ready. `is_whole`: they cover the whole trace.
    pub fn of(reports: &impl ReportSource, session: &Session, is_whole: bool) -> Self {
        let targets = reports.with::<Targets, _>(|report| report.targets.clone());
        let judged = targets.as_deref().unwrap_or_default();
        let (utilization, more) = reports
            .with::<Utilization, _>(|report| utilization(report, judged, is_whole))
            .unwrap_or_default();
        let is_shown = |target| {
            utilization
                .iter()
                .any(|figure: &KeyFigure| figure.target.as_ref() == Some(target))
        };
        let exposed_of_step = reports
            .with::<StepParts, _>(|report| report.cores_mean(StepPart::ExposedComm))
            .flatten();
        let times = [
            reports.with::<Steps, _>(step),
            reports.with::<Overlap, _>(|report| exposed(report, exposed_of_step)),
        ];
        // Where steps begin may be inferred, but all times of a simulator are computed.
        let origin = Provenance::Measured.in_trace(session.model());
        let times = times.map(|figure| {
            let mut figure = figure.flatten()?;
            if origin != Provenance::Measured {
                figure.provenance = origin;
            }
            Some(figure)
        });
        let balance = reports
            .with::<Balance, _>(|report| report.devices.clone())
            .unwrap_or_default();
        let findings = reports
            .with::<Doctor, _>(|report| report.findings.clone())
            .unwrap_or_default();
        let verdict = reports.with::<RunVerdict, _>(Clone::clone);
        let hints = reports.with::<Hints, _>(Clone::clone);
        Self {
            ran: WhatRan::of(reports, session),
            verdict,
            times: times.into_iter().flatten().collect(),
            other_targets: judged
                .iter()
                .filter(|&target| !is_shown(target))
                .map(KeyFigure::of_target)
                .collect(),
            utilization,
            more,
            device_time: reports
                .with::<Ops, _>(|report| DeviceTime::of(report, &balance))
                .flatten(),
            hints,
            health: cautions(findings),
            sets_steps_aside: session.options().warmup_steps > 0,
        }
    }

    fn loop_limit(&self) -> Option<&LoopLimit> {
        self.hints.as_ref()?.limit.as_ref()
    }

    /// What limits the run, in one sentence; of at most 20 words if it is about devices. `time` formats times.
    pub fn limit(&self, time: impl Fn(Picos) -> String) -> Option<String> {
        match self.loop_limit() {
            Some(limit) => Some(sentence(&limit.sentence(time))),
            None => self.verdict.as_ref().map(without_devices),
        }
    }

    /// What happens outside the loop.
    pub fn outside(&self, time: impl Fn(Picos) -> String) -> Option<String> {
        let limit = self.loop_limit()?;
        let whole = match (limit.is_of_loop, self.sets_steps_aside) {
            (true, true) => "the loop, with the steps set aside",
            (true, false) => "the loop, once",
            (false, _) => "the step",
        };
        Some(outside(limit.outside.as_ref()?, whole, time))
    }

    /// The figures that matter: first those that miss their target, then those about what limits the run; only known
    /// ones. One that meets its target comes last.
    pub fn figures_that_matter(&self) -> Vec<&KeyFigure> {
        let limit = self.loop_limit();
        let first = match limit.map(|limit| limit.id) {
            Some(TimeUse::Collective) => OF_COMMUNICATION,
            Some(id) if id.is_idle() => OF_WAITING,
            Some(TimeUse::SlowSteps) | None => OF_WAITING,
            Some(TimeUse::AsyncWait | TimeUse::HostIo | TimeUse::DataMovement) => OF_MEMORY,
            Some(_) => OF_COMPUTE,
        };
        let mut chosen: Vec<&KeyFigure> = Vec::new();
        for &id in first.iter().chain(OTHERWISE) {
            let mut known = self
                .figures()
                .filter(|figure| figure.id == id && figure.value.is_some());
            // One figure of each kind: `mfu_steady_percent` rather than `mfu_window_percent`.
            let kind = |id: &str| id.split('_').next().map(str::to_owned);
            let is_new = chosen.iter().all(|figure| kind(figure.id) != kind(id));
            chosen.extend(known.next().filter(|_| is_new));
        }
        let is_chosen = |id: &str| chosen.iter().any(|figure| figure.id == id);
        let others = self.figures();
        let missed = others
            .filter(|figure| figure.value.is_some() && figure.is_missed() && !is_chosen(figure.id));
        chosen.extend(missed.collect::<Vec<_>>());
        let is_met = |figure: &KeyFigure| {
            let target = figure.target.as_ref();
            target.is_some_and(|target| target.light == TargetColor::Green)
        };
        chosen.sort_by_key(|figure| (!figure.is_missed(), is_met(figure)));
        chosen.truncate(FIGURES);
        chosen
    }

    pub fn figures(&self) -> impl Iterator<Item = &KeyFigure> {
        self.times
            .iter()
            .chain(&self.utilization)
            .chain(&self.more)
            .chain(&self.other_targets)
    }
}

/// `Outside the loop, once: 20.52 s of 98.15 s captured (compiling 3.796 s, devices idle 13.30 s).`
fn outside(outside: &OutsideLoop, whole: &str, length: impl Fn(Picos) -> String) -> String {
    let compiling = outside
        .compile_ps
        .map(|ps| format!("compiling {}", length(ps)));
    let idle = (outside.idle_ps > Picos::ZERO)
        .then(|| format!("devices idle {}", length(outside.idle_ps)));
    let parts: Vec<String> = compiling.into_iter().chain(idle).collect();
    let parts = if parts.is_empty() {
        String::new()
    } else {
        format!(" ({})", parts.join(", "))
    };
    format!(
        "Outside {whole}: {} of {} captured{parts}.",
        length(outside.time_ps),
        length(outside.of_ps)
    )
}

/// Utilization, and metrics for screens with more room. `is_whole`: the reports cover the whole trace; otherwise the
/// window is the selected part, which the metrics name.
fn utilization(
    report: &UtilizationReport,
    targets: &[Target],
    is_whole: bool,
) -> (Vec<KeyFigure>, Vec<KeyFigure>) {
    let is_known = |id: &str| {
        report
            .metric(id)
            .is_some_and(|metric| metric.value.is_some())
    };
    // There is no room for both of HBM and of matrix ops; the table of utilization has them.
    let is_skipped = |id: &str| match id {
        "hbm_util_window_percent" => is_known("hbm_util_steady_percent"),
        "mxu_util_on_mxu_ops_percent" => is_known("mxu_util_steady_percent"),
        _ => false,
    };
    let listed = UTILIZATION
        .iter()
        .filter(|(id, _)| !is_skipped(id) && (is_known(id) || !OPTIONAL.contains(id)));
    let of_peak = |title: &'static str| {
        if is_whole {
            title
        } else {
            title.trim_end_matches(OF_WINDOW)
        }
    };
    let listed = listed.filter_map(|(id, title)| {
        Some(KeyFigure::of_metric(
            of_peak(title),
            report.metric(id)?,
            targets,
        ))
    });
    let more = MORE.iter().filter_map(|id| report.metric(id));
    (
        listed.collect(),
        more.map(|metric| KeyFigure::of_metric(metric.title, metric, targets))
            .collect(),
    )
}

/// The median step; `None` without complete steps.
fn step(report: &StepsReport) -> Option<KeyFigure> {
    let time = report.time.as_ref().filter(|_| report.has_steps())?;
    Some(KeyFigure::time(
        ["step", "Step, median"],
        time.median,
        counted(time.count, "step"),
        report.provenance(),
    ))
}

/// The exposed communication of a step on a device, or of a device where steps are not divided; `None` without
/// communication.
fn exposed(overlap: &OverlapReport, of_step: Option<(f64, f64)>) -> Option<KeyFigure> {
    let (all, exposed) = overlap.mean_comm()?;
    let (title, exposed_ps, of) = if let Some((exposed, step)) = of_step {
        let of = format!("of the mean step on a device, {}", Picos::rounded(step));
        ("Exposed communication in a step", exposed, of)
    } else {
        let devices = counted(overlap.sums_over.devices, "device");
        let of = format!("of {all} of communication on a device, mean over {devices}");
        ("Exposed communication of a device", exposed.as_ps_f64(), of)
    };
    let id = "exposed_communication";
    let provenance = Provenance::Measured;
    Some(KeyFigure::time([id, title], exposed_ps, of, provenance))
}

/// What took most, where no device recorded ops.
fn without_devices(verdict: &VerdictReport) -> String {
    let first = verdict.findings.first();
    sentence(&capitalised(
        first.map_or(&verdict.statement, |finding| &finding.statement),
    ))
}

/// Findings that are worth a caution: the worst first, of equals those on utilizations, which are the figures shown.
fn cautions(mut findings: Vec<CaptureFinding>) -> Vec<CaptureFinding> {
    findings.retain(|finding| finding.severity > Severity::Info);
    findings.sort_by_key(|finding| {
        (
            Reverse(finding.severity),
            finding.name != SESSIONS_APART,
            finding.name != IMPOSSIBLE_RATES,
        )
    });
    findings
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caution_that_explains_the_figures_comes_before_its_equals() {
        let found = |name, severity| CaptureFinding {
            id: "",
            name,
            severity,
            message: String::new(),
            evidence: String::new(),
            cure: "",
        };
        let findings = vec![
            found("lost", Severity::Loss),
            found("assumed-peaks", Severity::Warning),
            found(IMPOSSIBLE_RATES, Severity::Warning),
            found("no-steps", Severity::Info),
        ];
        let names: Vec<_> = cautions(findings).iter().map(|it| it.name).collect();
        assert_eq!(names, ["lost", IMPOSSIBLE_RATES, "assumed-peaks"]);
    }
}
