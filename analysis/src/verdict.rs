//! What limits the program, in one sentence, with the evidence.
//!
//! Every [`Finding`] is a share of time with its denominator. Shares of device time
//! (windows of all devices, added up) do not overlap, so the largest is what
//! dominates. Compilation is a share of the capture on the host's side; it leads
//! where the devices mostly idle, because then it says why. Nothing is advised here
//! and nothing is said without a number.

use std::sync::Arc;

use serde::Serialize;

use crate::category::OpGroup;
use crate::compile::{Compile, CompileReport};
use crate::ops::{Ops, OpsReport, percent};
use crate::overlap::{Overlap, OverlapReport};
use crate::report::{Cell, Column, Provenance, Table, Tabular, Unit};
use crate::steps::{Steps, StepsReport};
use crate::utilization::{Utilization, UtilizationReport};
use crate::{Analysis, AnalysisError, Context, Scope};

/// The analysis `verdict`.
pub struct Verdict;

/// What limits the program.
#[derive(Clone, Debug, Serialize)]
pub struct VerdictReport {
    /// The sentence to read first.
    pub statement: String,
    /// What it rests on, what dominates first.
    pub findings: Vec<Finding>,
}

/// Something that takes a share of the time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Finding {
    /// Stable name: a group of ops, `idle`, `compile`, `slow-steps`.
    pub id: String,
    /// A clause without a full stop.
    pub statement: String,
    /// How much time.
    pub time_ps: i64,
    /// The same of `of`.
    pub share_percent: Option<f64>,
    /// The denominator.
    pub of: String,
    /// Where the time comes from.
    pub provenance: Provenance,
}

/// Shares below are not worth a clause of the sentence.
const WORTH_SAYING_PERCENT: f64 = 10.0;
/// Above this the devices do so little that the reason lies with the host.
const MOSTLY_IDLE_PERCENT: f64 = 50.0;

impl Analysis for Verdict {
    type Report = VerdictReport;
    const ID: &'static str = "verdict";
    const TITLE: &'static str = "Verdict";

    fn run(cx: &Context<'_>) -> Result<VerdictReport, AnalysisError> {
        let ops = cx.report::<Ops>().ok();
        let mut findings = Vec::new();
        if let Some(ops) = &ops {
            let quality =
                Quality { utilization: cx.report::<Utilization>().ok(), overlap: cx.report::<Overlap>().ok() };
            findings = device_findings(ops, &quality, cx.scope);
        }
        let mostly_idle = findings.first().is_none_or(|first| first.id == "idle" && share(first) > MOSTLY_IDLE_PERCENT);
        if let Some(compile) = cx.report::<Compile>().ok().and_then(|report| compiling(&report)) {
            let at = if mostly_idle && share(&compile) >= WORTH_SAYING_PERCENT { 0 } else { findings.len() };
            findings.insert(at, compile);
        }
        let steps = cx.report::<Steps>().ok();
        findings.extend(steps.as_deref().and_then(slow_steps));
        Ok(VerdictReport { statement: statement(ops.is_some(), steps.as_deref(), &findings), findings })
    }
}

fn share(finding: &Finding) -> f64 {
    finding.share_percent.unwrap_or(0.0)
}

/// The first clause, and those after it that matter, as one sentence.
fn statement(has_devices: bool, steps: Option<&StepsReport>, findings: &[Finding]) -> String {
    const CLAUSES: usize = 2;
    let worth = findings.iter().filter(|finding| share(finding) >= WORTH_SAYING_PERCENT);
    let mut clauses: Vec<&str> = worth.take(CLAUSES).map(|finding| finding.statement.as_str()).collect();
    if clauses.is_empty() {
        clauses.extend(findings.first().map(|finding| finding.statement.as_str()));
    }
    let mut text = clauses.join("; ");
    if !has_devices {
        if text.is_empty() {
            text = match steps.and_then(|steps| steps.time.filter(|_| steps.has_steps())) {
                Some(time) if time.count == 1 => format!("one step, {}", length(time.median)),
                Some(time) => format!("{} steps, median {}", time.count, length(time.median)),
                None => return "No TPU ops, steps or compilations are recorded here: nothing to judge".to_owned(),
            };
        }
        text.push_str("; no TPU ops in this trace, so device metrics do not apply");
    }
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// How well the devices do what they do.
struct Quality {
    utilization: Option<Arc<UtilizationReport>>,
    overlap: Option<Arc<OverlapReport>>,
}

/// Shares of device time, the largest first.
fn device_findings(ops: &OpsReport, quality: &Quality, scope: Scope) -> Vec<Finding> {
    let total = ops.total_time_ps;
    let devices = ops.cores.len();
    let window = match scope {
        Scope::WholeTrace => "from first op to last",
        Scope::Range(_) => "in the range",
        Scope::Steps { .. } => "in these steps",
    };
    let of = match devices {
        1 => format!("device time: {} {window}", length(total as f64)),
        n => format!("device time: {} {window}, {n} devices added up", length(total as f64)),
    };
    let finding = |id: &str, time_ps, statement| Finding {
        id: id.to_owned(),
        statement,
        time_ps,
        share_percent: percent(time_ps, total),
        of: of.clone(),
        provenance: Provenance::Measured,
    };
    let mut findings: Vec<Finding> = ops
        .groups
        .iter()
        .map(|row| {
            let text = format!("{} {}", of_device_time(row.self_time_ps, total), activity(ops, row.group, quality));
            finding(group_id(row.group), row.self_time_ps, text)
        })
        .collect();
    let idle = if devices == 1 { "the device is idle" } else { "the devices are idle" };
    let idle = format!("{idle} {} of the time {window}", shown(percent(ops.idle_ps, total)));
    findings.push(finding("idle", ops.idle_ps, idle));
    findings.retain(|finding| finding.time_ps > 0);
    findings.sort_by(|a, b| b.time_ps.cmp(&a.time_ps).then_with(|| a.id.cmp(&b.id)));
    findings
}

fn of_device_time(time_ps: i64, total: i64) -> String {
    format!("{} of device time", shown(percent(time_ps, total)))
}

/// What the devices do in this time, with how well where that is known.
fn activity(ops: &OpsReport, group: OpGroup, quality: &Quality) -> String {
    let names = || names_of(ops, group);
    match group {
        OpGroup::AsyncWait => {
            let time = ops.group_self(group).ps();
            format!(
                "waits for copies ({}), {} of the time that ops take",
                names(),
                shown(percent(time, ops.op_time_ps))
            )
        }
        OpGroup::Collective => {
            let hidden = quality.overlap.as_ref().and_then(|report| report.summary.overlap_ratio_percent);
            let hidden = hidden
                .map_or_else(String::new, |part| format!(", compute hides {} of all communication", shown(Some(part))));
            format!("is communication that blocks the core ({}){hidden}", names())
        }
        OpGroup::MatMul => {
            let metric = |id| quality.utilization.as_ref().and_then(|report| report.metric(id)?.value);
            let speed = metric("mxu_util_on_mxu_ops_percent");
            let speed = speed.map_or_else(String::new, |at| format!(", at {} of peak FLOP/s", shown(Some(at))));
            format!("multiplies matrices{speed}")
        }
        OpGroup::Vector => "is elementwise work and reductions".to_owned(),
        OpGroup::DataMovement => format!("moves data ({})", names()),
        OpGroup::CustomKernel => format!("runs custom kernels ({})", names()),
        OpGroup::HostIo => format!("exchanges data with the host ({})", names()),
        OpGroup::Control => "is overhead of loops, branches and calls".to_owned(),
        OpGroup::SparseCore => "is work for SparseCores".to_owned(),
        OpGroup::Other | OpGroup::Idle => format!("is in ops of no known kind ({})", names()),
    }
}

/// The ops that take most of a group's time, without their numbers.
fn names_of(ops: &OpsReport, group: OpGroup) -> String {
    const SHOWN: usize = 3;
    let mut names: Vec<&str> = Vec::new();
    for row in ops.rows.iter().filter(|row| row.group() == group) {
        let number =
            row.name().rfind('.').filter(|&dot| row.name()[dot + 1..].bytes().all(|byte| byte.is_ascii_digit()));
        let name = number.map_or(row.name(), |dot| &row.name()[..dot]);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = if names.len() > SHOWN { " …" } else { "" };
    names.truncate(SHOWN);
    names.join(", ") + more
}

fn group_id(group: OpGroup) -> &'static str {
    match group {
        OpGroup::MatMul => "matmul",
        OpGroup::Collective => "collective",
        OpGroup::AsyncWait => "async-wait",
        OpGroup::DataMovement => "data-movement",
        OpGroup::Vector => "vector",
        OpGroup::CustomKernel => "custom-kernel",
        OpGroup::HostIo => "host-io",
        OpGroup::Control => "control",
        OpGroup::SparseCore => "sparse-core",
        OpGroup::Other => "other",
        OpGroup::Idle => "idle",
    }
}

/// Not `(unknown)`.
fn is_name(function: &&str) -> bool {
    !function.starts_with('(')
}

fn compiling(report: &CompileReport) -> Option<Finding> {
    let time_ps = report.wall_ps.filter(|&wall| wall > 0)?;
    let names: Vec<_> = report
        .functions
        .iter()
        .filter(|f| f.compilations > 0)
        .map(|f| f.function.as_str())
        .filter(is_name)
        .take(2)
        .collect();
    let what = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
    let again = match report.recompilations {
        0 => String::new(),
        n => format!(", {n} of {} compilations again", report.compilations),
    };
    let part = shown(percent(time_ps, report.window_ps));
    Some(Finding {
        id: "compile".to_owned(),
        statement: format!("compiling takes {}, {part} of the capture{what}{again}", length(time_ps as f64)),
        time_ps,
        share_percent: percent(time_ps, report.window_ps),
        of: format!("capture: {}", length(report.window_ps as f64)),
        provenance: Provenance::Measured,
    })
}

/// Steps that take much longer than the median.
fn slow_steps(report: &StepsReport) -> Option<Finding> {
    let (slow, median) = (report.outliers(), report.time?.median);
    if slow.is_empty() {
        return None;
    }
    let shown: Vec<_> =
        slow.iter().take(3).map(|step| format!("{} ({})", step.number, length(step.time_ps as f64))).collect();
    let more = if slow.len() > 3 { " …" } else { "" };
    let compiled = slow.iter().filter(|step| step.compile_ps * 2 > step.time_ps).count();
    let why = if compiled > 0 { format!("; {compiled} of them mostly compile") } else { String::new() };
    let time_ps = slow.iter().map(|step| step.time_ps).sum();
    let all: i64 = report.steps.iter().map(|step| step.time_ps).sum();
    let (count, median) = (slow.len(), length(median));
    let steps = if count == 1 { "step is" } else { "steps are" };
    Some(Finding {
        id: "slow-steps".to_owned(),
        statement: format!("{count} {steps} slow: {}{more}, against a median of {median}{why}", shown.join(", ")),
        time_ps,
        share_percent: percent(time_ps, all),
        of: format!("all steps: {}", length(all as f64)),
        provenance: Provenance::Measured,
    })
}

fn length(ps: f64) -> String {
    trace_model::Picos::from_ps(ps.round() as i64).to_string()
}

/// A percentage with the digits that matter: 12.3 %, 99.87 %, 0.06 %.
fn shown(percent: Option<f64>) -> String {
    match percent {
        None => "an unknown share".to_owned(),
        Some(percent) if (1.0..99.0).contains(&percent) => format!("{percent:.1} %"),
        Some(percent) => format!("{percent:.2} %"),
    }
}

impl Tabular for VerdictReport {
    fn tables(&self) -> Vec<Table> {
        let column = |id, title, unit| Column { id, title, unit, provenance: Provenance::Measured };
        let row = |finding: &Finding| {
            vec![
                Cell::text(&finding.id),
                Cell::Int(finding.time_ps),
                Cell::maybe(finding.share_percent),
                Cell::text(&finding.of),
                Cell::text(&finding.statement),
            ]
        };
        vec![Table {
            id: "findings",
            title: self.statement.clone(),
            columns: vec![
                column("finding", "Finding", Unit::None),
                column("time_ps", "Time", Unit::Picoseconds),
                column("share_percent", "Share", Unit::Percent),
                column("of", "Of", Unit::None),
                column("statement", "In words", Unit::None),
            ],
            rows: self.findings.iter().map(row).collect(),
            notes: Vec::new(),
        }]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(id: &str, statement: &str, share: f64) -> Finding {
        Finding {
            id: id.to_owned(),
            statement: statement.to_owned(),
            time_ps: 1,
            share_percent: Some(share),
            of: String::new(),
            provenance: Provenance::Measured,
        }
    }

    #[test]
    fn the_sentence_has_what_dominates_and_what_else_matters() {
        let findings =
            [finding("async-wait", "80 % waits", 80.0), finding("idle", "15 % idle", 15.0), finding("x", "no", 5.0)];
        assert_eq!(statement(true, None, &findings), "80 % waits; 15 % idle");
        assert_eq!(statement(true, None, &findings[2..]), "No");
    }

    #[test]
    fn without_evidence_there_is_no_opinion() {
        let text = statement(false, None, &[]);
        assert!(text.contains("nothing to judge"), "{text}");
    }
}
