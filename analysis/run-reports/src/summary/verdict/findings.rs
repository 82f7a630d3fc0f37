//! What takes the time, from the reports of devices and of the host.

use device_reports::memory::hbm::{MemoryReport, NEARLY_FULL_PERCENT};
use device_reports::{Balance, BalanceReport, OpsReport, Overlap, OverlapReport};
use facts::prelude::*;
use facts::window::windows_in_words;
use math::stats::Stats;
use math::summed;
use trace_model::{Caveat, without_number};

use crate::host::compile::CompileReport;
use crate::host::gaps::Gaps;
use crate::host::input::{InputReport, InputWait};
use crate::summary::utilization::speed_of_matmuls;

/// Smaller shares get no clause in the sentence.
pub(super) const WORTH_SAYING: Percent = Percent(10.0);

/// A speed of this share of the time is that of all of it.
const NEARLY_ALL: Percent = Percent(99.5);

/// A cause that takes a share of the time.
#[engine::row(measured)]
pub struct VerdictFinding {
    /// The use of the time.
    #[column(id = "finding", with = |finding| finding.id.id())]
    pub id: TimeUse,
    /// Whether the statement of the report names it, as one of the largest.
    pub is_named: bool,
    /// Its time.
    #[column]
    pub time_ps: Picos,
    /// Its share of `of`.
    #[column]
    pub share_percent: Option<Percent>,
    /// The denominator.
    #[column]
    pub of: String,
    /// A clause without a full stop.
    #[column("In words")]
    pub statement: String,
    /// Provenance of the time.
    pub provenance: Provenance,
    /// The spans, for steps.
    #[serde(skip)]
    pub ranges: Vec<TimeRange>,
}

/// Facts from other reports: the efficiency of devices, and causes.
pub(super) struct VerdictReports {
    has_loops_apart: bool,
    overlap: Option<Arc<OverlapReport>>,
    balance: Option<Arc<BalanceReport>>,
    idle: Option<String>,
}

impl VerdictReports {
    pub fn of(cx: &Context<'_>) -> Self {
        Self {
            has_loops_apart: cx.model.has_caveat(Caveat::LoopsApart),
            overlap: cx.report::<Overlap>().ok(),
            balance: cx.report::<Balance>().ok(),
            idle: cx.report::<Gaps>().ok().and_then(|gaps| gaps.main_cause()),
        }
    }

    /// The part of the time in collectives in which devices wait for the last one, and which device that is; nothing
    /// if the part is small.
    fn awaited(&self, collective: Picos) -> Option<String> {
        let balance = self.balance.as_ref()?;
        let ((device, _), waiting) = (balance.awaited()?, balance.skew_wait_ps()?);
        let of_it = |time: f64| {
            Percent::of(Picos::from_ps(time as i64), collective)
                .filter(|&share| share >= WORTH_SAYING)
        };
        if let Some(late) = balance.late() {
            let share = of_it(waiting * late.share.0 / 100.0)?;
            let come = if late.devices.len() == 1 {
                "comes"
            } else {
                "come"
            };
            return Some(format!(
                ", {} of it waiting for {}, which {come} last",
                shown(Some(share)),
                late.names()
            ));
        }
        let share = shown(Some(of_it(waiting)?));
        Some(format!(
            ", {share} of it waiting for whichever device comes last, most often {}",
            device.core
        ))
    }
}

/// Shares of device time, the largest first.
pub(super) fn device_findings(
    cx: &Context<'_>,
    ops: &OpsReport,
    known: &VerdictReports,
) -> Vec<VerdictFinding> {
    let total = ops.total_time_ps;
    let devices = ops.cores.len();
    let window = if cx.scope == Scope::WholeTrace {
        "from first op to last".to_owned()
    } else {
        format!("in {}", windows_in_words(cx))
    };
    let of = match devices {
        1 => format!("device time: {total} {window}"),
        n => format!("device time: {total} {window}, {n} devices added up"),
    };
    let finding = |id, time_ps, statement| VerdictFinding {
        id,
        is_named: false,
        statement,
        time_ps,
        share_percent: Percent::of(time_ps, total),
        of: of.clone(),
        provenance: Provenance::Measured,
        ranges: Vec::new(),
    };
    let mut findings: Vec<VerdictFinding> = ops
        .groups
        .iter()
        .map(|row| {
            let share = shown(Percent::of(row.self_time_ps, total));
            let text = format!("{share} of device time {}", activity(ops, row.group, known));
            finding(row.group.into(), row.self_time_ps, text)
        })
        .collect();
    let idle = if devices == 1 {
        "the device is idle"
    } else {
        "the devices are idle"
    };
    let why = known
        .idle
        .as_ref()
        .map_or_else(String::new, |why| format!(", mostly {why}"));
    let idle = format!(
        "{idle} {} of the time {window}{why}",
        shown(Percent::of(ops.idle_ps, total))
    );
    findings.push(finding(TimeUse::Idle, ops.idle_ps, idle));
    findings.retain(|finding| finding.time_ps > Picos::ZERO);
    largest_first(&mut findings, |row| row.time_ps, |row| row.id.id());
    findings
}

/// The activity of the devices in this time, with its efficiency if known.
fn activity(ops: &OpsReport, group: OpGroup, known: &VerdictReports) -> String {
    let names = || names_of(ops, group);
    match group {
        OpGroup::AsyncWait => {
            let share = Percent::of(ops.group_self(group), ops.op_time_ps);
            format!(
                "waits for copies ({}), {} of op time",
                names(),
                shown(share)
            )
        }
        OpGroup::Collective => {
            let hidden = known
                .overlap
                .as_ref()
                .and_then(|report| report.summary.overlap_ratio_percent)
                .map_or_else(String::new, |part| {
                    format!(", compute hides {} of all communication", shown(Some(part)))
                });
            let awaited = known.awaited(ops.group_self(group)).unwrap_or_default();
            format!(
                "is communication that blocks the core ({}){awaited}{hidden}",
                names()
            )
        }
        OpGroup::MatMul => {
            let speed = speed_of_matmuls(ops).map_or_else(String::new, |(reached, of)| {
                let part = match of {
                    of if of > NEARLY_ALL => String::new(),
                    of => format!("{} of it ", shown(Some(of))),
                };
                format!(", {part}at {} of peak FLOP/s", shown(Some(reached)))
            });
            format!("multiplies matrices{speed}")
        }
        OpGroup::Vector => "is elementwise work and reductions".to_owned(),
        OpGroup::DataMovement => format!("moves data ({})", names()),
        OpGroup::CustomKernel => format!("runs custom kernels ({})", names()),
        OpGroup::HostIo => format!("exchanges data with the host ({})", names()),
        OpGroup::Control if known.has_loops_apart => {
            format!(
                "is in loops, whose bodies appear as separate ops ({})",
                names()
            )
        }
        OpGroup::Control => "is overhead of loops, branches and calls".to_owned(),
        OpGroup::SparseCore => "is work for SparseCores".to_owned(),
        OpGroup::Other | OpGroup::Idle => format!("is in ops of unknown category ({})", names()),
    }
}

/// The names, without numbers, whose ops take most of a group's time; long names are shortened.
fn names_of(ops: &OpsReport, group: OpGroup) -> String {
    const SHOWN: usize = 3;
    const LONGEST: usize = 40;
    const LEAST: f64 = 0.05;
    let rows = ops.rows.iter().filter(|row| row.group == group);
    let times = summed(rows.map(|row| (without_number(&row.name), row.self_time_ps)));
    let mut names: Vec<&str> = times.keys().copied().collect();
    names.sort_by_key(|name| Reverse(times[name]));
    let least = LEAST * ops.group_self(group).as_ps_f64();
    let matter = names.partition_point(|name| times[name].as_ps_f64() >= least);
    names.truncate(matter.max(1));
    let more = if names.len() > SHOWN { " …" } else { "" };
    let names = names
        .into_iter()
        .take(SHOWN)
        .map(|name| engine::shortened(name, LONGEST));
    joined(names, ", ") + more
}

/// Whether the name is known: it is not `(unknown)`.
fn is_name(function: &&str) -> bool {
    !function.starts_with('(')
}

pub(super) fn compiling(report: &CompileReport, scope: Scope) -> Option<VerdictFinding> {
    let time_ps = report.wall_ps.filter(|&wall| wall > Picos::ZERO)?;
    let names: Vec<_> = report
        .functions
        .iter()
        .filter(|f| f.compilations > 0)
        .map(|f| f.function.as_str())
        .filter(is_name)
        .take(2)
        .map(|name| engine::shortened(name, 40))
        .collect();
    let what = if names.is_empty() {
        String::new()
    } else {
        format!(" ({})", names.join(", "))
    };
    let again = match report.recompilations {
        0 => String::new(),
        1 if report.compilations == 1 => ", a recompilation".to_owned(),
        n if n == report.compilations => format!(", all {n} compilations are recompilations"),
        1 => format!(
            ", 1 of {} compilations is a recompilation",
            report.compilations
        ),
        n => format!(
            ", {n} of {} compilations are recompilations",
            report.compilations
        ),
    };
    let share_percent = Percent::of(time_ps, report.window_ps);
    Some(VerdictFinding {
        id: TimeUse::Compile,
        is_named: false,
        statement: format!(
            "compiling takes {time_ps}, {} of the {}{what}{again}",
            shown(share_percent),
            scope.title()
        ),
        time_ps,
        share_percent,
        of: format!("{}: {}", scope.title(), report.window_ps),
        provenance: Provenance::Measured,
        ranges: Vec::new(),
    })
}

/// Without a TPU: the host that waits for input for most of its steps.
pub(super) fn input(report: &InputReport) -> Option<VerdictFinding> {
    let share = |host: &InputWait| host.percent.unwrap_or_default();
    let host = report
        .devices
        .iter()
        .filter(|host| share(host) >= WORTH_SAYING)
        .max_by(|a, b| share(a).0.total_cmp(&share(b).0))?;
    let event = host
        .event
        .as_ref()
        .map_or_else(String::new, |event| format!(" ({event})"));
    Some(VerdictFinding {
        id: TimeUse::Input,
        is_named: false,
        statement: format!(
            "{} of the time of steps is waiting for input on {}{event}",
            shown(host.percent),
            host.name
        ),
        time_ps: host.total_ps()?,
        share_percent: host.percent,
        of: format!("steps on host {}: {}", host.name, host.length_ps),
        provenance: Provenance::Inferred,
        ranges: Vec::new(),
    })
}

/// Steps that take much longer than the median.
pub(super) fn slow_steps(report: &StepsReport) -> Option<VerdictFinding> {
    let slow = report.slow_steps();
    let (first, median) = *slow.first()?;
    let is_one_class = slow.iter().all(|(step, _)| step.class == first.class);
    let usual = match (is_one_class, report.classes.len()) {
        (true, 1) => format!("against a median of {}", length(median)),
        (true, _) => format!("against a median of {} in their class", length(median)),
        (false, _) => "each against the median of its class".to_owned(),
    };
    let class = first.class;
    let slow: Vec<&Step> = slow.into_iter().map(|(step, _)| step).collect();
    let shown = slow
        .iter()
        .take(3)
        .map(|step| format!("{} ({})", step.title(), length(step.time_ps.as_ps_f64())));
    let more = if slow.len() > 3 { " …" } else { "" };
    let compiled = slow.iter().filter(|step| step.mostly_compiles()).count();
    let why = match (compiled, slow.len()) {
        (0, _) => String::new(),
        (1, 1) => "; it mostly compiles".to_owned(),
        (all, slow) if all == slow => "; all of them mostly compile".to_owned(),
        (1, _) => "; one of them mostly compiles".to_owned(),
        (some, _) => format!("; {some} of them mostly compile"),
    };
    let steady: Vec<f64> = report
        .counted()
        .filter(|step| {
            step.class == class && slow.iter().all(|slow_step| slow_step.number != step.number)
        })
        .map(|step| step.time_ps.as_ps_f64())
        .collect();
    let varies = Stats::of(&steady)
        .and_then(|stats| stats.cv_percent.map(Percent))
        .filter(|&spread| compiled == 0 && spread >= WORTH_SAYING)
        .map_or_else(String::new, |spread| {
            format!("; the others vary, too: standard deviation {spread:.1} of their mean")
        });
    let time_ps = slow.iter().map(|step| step.time_ps).sum();
    let all = report.steps.iter().map(|step| step.time_ps).sum();
    let count = slow.len();
    let (steps, numbered) = match count {
        1 => ("step is", "step"),
        _ => ("steps are", "steps"),
    };
    Some(VerdictFinding {
        id: TimeUse::SlowSteps,
        is_named: false,
        statement: format!(
            "{count} {steps} slow: {numbered} {}{more}, {usual}{why}{varies}",
            joined(shown, ", ")
        ),
        time_ps,
        share_percent: Percent::of(time_ps, all),
        of: format!("all steps: {all}"),
        provenance: Provenance::Measured,
        ranges: slow.iter().filter_map(|step| step.range()).collect(),
    })
}

/// A clause about the fullest device memory, if it is nearly full.
pub(super) fn full_memory(memory: &MemoryReport) -> Option<String> {
    let (fullest, peak) = memory
        .device_peaks()
        .next()
        .filter(|&(_, peak)| peak.0 >= NEARLY_FULL_PERCENT)?;
    Some(format!(
        "; the memory of {} is {} full at its peak",
        fullest.memory,
        shown(Some(peak))
    ))
}

pub(super) fn length(ps: f64) -> String {
    Picos::rounded(ps).to_string()
}

pub(super) fn share(finding: &VerdictFinding) -> Percent {
    finding.share_percent.unwrap_or_default()
}

/// A percentage with the digits that matter: 12.3 %, 99.87 %, 0.06 %.
fn shown(share: Option<Percent>) -> String {
    match share {
        None => "an unknown share".to_owned(),
        Some(share) if (1.0..99.0).contains(&share.0) => format!("{share:.1}"),
        Some(share) => format!("{share:.2}"),
    }
}
