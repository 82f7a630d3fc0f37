//! What [`run_reports::summary::doctor`] computed about the capture, as hints.
//!
//! Only what changes the meaning of numbers, or can be done better next time, is a hint; what was repaired without loss
//! stays with the doctor. Each of its findings has a page here all the same.

use super::prelude::*;
use run_reports::Doctor;

macro_rules! health {
    ($id:literal, $title:literal) => {
        rule!($id, $title, High, [], |facts| found(facts, $id))
    };
}

pub(super) static RULES: &[Rule] = &[
    health!("Q01", "A part of the session is missing"),
    health!("Q02", "The hardware dropped events"),
    health!("Q03", "Steps are not recorded"),
    health!("Q04", "No device to analyze"),
    health!("Q05", "The peaks of the devices are not recorded"),
    health!("Q06", "Device and host clocks do not agree"),
    health!(
        "Q07",
        "Asynchronous spans are recorded on some devices only"
    ),
    health!("Q08", "Only a part of the devices was captured"),
    health!("Q09", "The capture contains warm-up"),
    health!("Q10", "The profiler slows down the host"),
    health!("Q11", "Ops are misplaced on the timeline"),
    health!("Q12", "Events could not be read"),
    health!("Q13", "Times are not a profiler's"),
    health!("Q14", "Times are cycles"),
    health!("Q15", "Rates are above their peaks"),
    health!("Q16", "Kernels declare too few operations"),
    health!("Q17", "Nothing is recorded inside kernels"),
    health!("Q18", "The clocks of hosts are apart"),
];

fn found(facts: &HintFacts<'_>, id: &str) -> RuleResult {
    let doctor = facts.cx.whole().report::<Doctor>()?;
    let finding = doctor.findings.iter().find(|finding| finding.id == id);
    let finding = finding
        .filter(|finding| finding.severity > trace_model::Severity::Info)
        .ok_or(Nothing)?;
    let cure = finding.cure;
    let finding = Finding {
        statement: statement(&finding.message, &finding.evidence),
        ..Finding::default()
    };
    Ok(match facts.cx.model.simulator() {
        // The page is about profilers.
        Some(_) => finding.advising(cure, &[""], None),
        None => finding,
    })
}

/// What was found, with as much of the evidence as one sentence holds: its first clause, and of the others those that fit,
/// without their reasons if need be.
fn statement(message: &str, evidence: &str) -> String {
    const LONGEST: usize = 185;
    let said = clause(message);
    let mut seen = String::new();
    for part in evidence.split("; ") {
        let without_reason = part.split(": ").next().unwrap_or(part);
        let Some(part) = [part, without_reason].into_iter().find(|part| {
            let letters = |text: &str| text.chars().count();
            seen.is_empty() || letters(&said) + letters(&seen) + letters(part) + 5 <= LONGEST
        }) else {
            break;
        };
        if !seen.is_empty() {
            seen.push_str("; ");
        }
        seen.push_str(part);
    }
    format!("{said} ({seen})")
}

/// A sentence as a clause.
fn clause(sentence: &str) -> String {
    let mut letters = sentence.trim_end_matches('.').chars();
    letters.next().map_or(String::new(), |first| {
        first.to_lowercase().chain(letters).collect()
    })
}
