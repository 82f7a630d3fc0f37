//! What limits the program, in one sentence, with the evidence.
//!
//! Every [`VerdictFinding`] is a share of time with its denominator. Shares of device time (the sum of the windows of
//! all devices) do not overlap, so the largest share dominates. Compilation is a share of the capture on the host; it
//! comes first if the devices are mostly idle, because it is then the reason. If another report knows the cause, the
//! sentence names it: the device that others wait for, the host activity while devices are idle, the slow steps. A
//! device memory that is nearly full takes no time; it comes last, because any change must still fit into it.
//!
//! The verdict gives no advice, and every statement has a number. `advice::hints` must have an answer to everything
//! that the sentence names.

mod findings;

use std::fmt::Write as _;

use device_reports::{Balance, Memory, Ops, Steps};
use facts::prelude::*;

use crate::host::compile::Compile;
use crate::host::input::Input;
use findings::{
    VerdictReports, WORTH_SAYING, compiling, device_findings, full_memory, input, length, share,
    slow_steps,
};

pub use findings::VerdictFinding;

/// Above this idle share the reason lies with the host.
const MOSTLY_IDLE: Percent = Percent(50.0);

/// The analysis `verdict`.
pub struct RunVerdict;

/// What limits the program.
#[engine::reported]
pub struct VerdictReport {
    /// The headline.
    pub statement: String,
    /// The evidence, the dominant finding first.
    pub findings: Vec<VerdictFinding>,
}

impl VerdictReport {
    /// The findings that the sentence names.
    pub fn named(&self) -> impl Iterator<Item = &VerdictFinding> {
        self.findings.iter().filter(|finding| finding.is_named)
    }

    /// The finding that starts the sentence because it explains the others.
    pub fn leading(&self) -> Option<TimeUse> {
        self.named()
            .next()
            .map(|finding| finding.id)
            .filter(|&id| id == TimeUse::Compile)
    }
}

impl Analysis for RunVerdict {
    type Report = VerdictReport;
    const ID: &str = "verdict";
    const TITLE: &str = "Verdict";

    fn run(cx: &Context<'_>) -> Result<VerdictReport> {
        if let Err(why) = cx.require_times() {
            return Ok(VerdictReport {
                statement: format!(
                    "{}, so no share of time is judged",
                    engine::capitalised(&why.to_string())
                ),
                findings: Vec::new(),
            });
        }
        let ops = cx.report::<Ops>().ok();
        let mut findings = Vec::new();
        if let Some(ops) = &ops {
            findings = device_findings(cx, ops, &VerdictReports::of(cx));
        }
        let mostly_idle = findings
            .first()
            .is_none_or(|first| first.id == TimeUse::Idle && share(first) > MOSTLY_IDLE);
        if let Some(compile) = cx
            .report::<Compile>()
            .ok()
            .and_then(|report| compiling(&report, cx.scope))
        {
            let place = if mostly_idle && share(&compile) >= WORTH_SAYING {
                0
            } else {
                findings.len()
            };
            findings.insert(place, compile);
        }
        if ops.is_none() {
            findings.extend(cx.report::<Input>().ok().and_then(|report| input(&report)));
            largest_number_first(&mut findings, |row| share(row).0, |row| &row.id);
        }
        let steps = cx.report::<Steps>().ok();
        findings.extend(steps.as_deref().and_then(slow_steps));
        for finding in &mut findings {
            finding.provenance = finding.provenance.in_trace(cx.model);
        }
        name_the_largest(&mut findings);
        let knows_compiling = cx
            .report::<Compile>()
            .is_ok_and(|report| report.is_recorded);
        let mut statement = statement(
            ops.is_some(),
            knows_compiling,
            steps.as_deref(),
            &findings,
            cx.scope,
        );
        if let Some(absent) = cx
            .report::<Balance>()
            .ok()
            .and_then(|balance| balance.absent())
        {
            statement.push_str("; ");
            statement.push_str(&absent);
        }
        if let Some(full) = cx
            .report::<Memory>()
            .ok()
            .and_then(|memory| full_memory(&memory))
        {
            statement.push_str(&full);
        }
        Ok(VerdictReport {
            statement,
            findings,
        })
    }
}

/// Marks the findings that the sentence names: the first ones that are large enough.
fn name_the_largest(findings: &mut [VerdictFinding]) {
    const CLAUSES: usize = 2;
    for finding in findings
        .iter_mut()
        .filter(|finding| share(finding) >= WORTH_SAYING)
        .take(CLAUSES)
    {
        finding.is_named = true;
    }
}

/// The named findings as one sentence; if none is large enough, the first of all.
fn statement(
    has_devices: bool,
    knows_compiling: bool,
    steps: Option<&StepsReport>,
    findings: &[VerdictFinding],
    scope: Scope,
) -> String {
    let place = scope.place();
    let named = findings.iter().filter(|finding| finding.is_named);
    let mut clauses: Vec<&str> = named.map(|finding| finding.statement.as_str()).collect();
    if clauses.is_empty() {
        clauses.extend(findings.first().map(|finding| finding.statement.as_str()));
    }
    let mut text = clauses.join("; ");
    if !has_devices {
        if text.is_empty() {
            text = match steps.and_then(|steps| steps.time.filter(|_| steps.has_steps())) {
                Some(time) if time.count == 1 => format!("one step, {}", length(time.median)),
                Some(time) => format!("{} steps, median {}", time.count, length(time.median)),
                None if knows_compiling => {
                    return format!(
                        "Nothing was compiled {place}; no TPU ops and no steps are recorded, so there is nothing else to judge"
                    );
                }
                None => {
                    return format!(
                        "No TPU ops, steps or compilations are recorded {place}, so there is nothing to judge"
                    );
                }
            };
        }
        let _ = write!(text, "; no TPU ops {place}, so device metrics do not apply");
    }
    engine::capitalised(&text)
}

impl Tabular for VerdictReport {
    fn tables(&self) -> Vec<Table> {
        vec![
            Table::of("findings", self.statement.clone(), &self.findings)
                .remaining()
                .build(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use engine::Provenance;
    use trace_model::Picos;

    use super::*;

    fn finding(id: TimeUse, statement: &str, share: f64) -> VerdictFinding {
        VerdictFinding {
            id,
            is_named: false,
            statement: statement.to_owned(),
            time_ps: Picos::from_ps(1),
            share_percent: Some(Percent(share)),
            of: String::new(),
            provenance: Provenance::Measured,
            ranges: Vec::new(),
        }
    }

    #[test]
    fn verdict_names_the_dominant_and_other_causes() {
        let mut findings = [
            finding(TimeUse::AsyncWait, "80 % waits", 80.0),
            finding(TimeUse::Idle, "15 % idle", 15.0),
            finding(TimeUse::Vector, "no", 5.0),
        ];
        name_the_largest(&mut findings);
        assert_eq!(
            statement(true, false, None, &findings, Scope::WholeTrace),
            "80 % waits; 15 % idle"
        );
        assert_eq!(
            statement(true, false, None, &findings[2..], Scope::WholeTrace),
            "No"
        );
    }

    #[test]
    fn no_verdict_without_evidence() {
        let text = statement(false, false, None, &[], Scope::WholeTrace);
        assert!(text.contains("nothing to judge"), "{text}");
        // What a target judges, the verdict does not call unrecorded.
        let steps = Scope::Steps { first: 2, last: 3 };
        for (scope, place) in [(Scope::WholeTrace, "capture"), (steps, "these steps")] {
            let text = statement(false, true, None, &[], scope);
            assert!(
                text.starts_with("Nothing was compiled in ") && text.contains(place),
                "{text}"
            );
        }
    }
}
