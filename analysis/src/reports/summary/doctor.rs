//! How far a capture can be trusted: what is missing, what was repaired, what was inferred, and what to do about it.
//!
//! The rules are a list; each looks for one thing and says what it saw. They have no opinion on performance.

mod facts;
mod rules;
mod table;

pub use facts::CaptureFact;

use serde::Serialize;
use trace_model::{IssueCount, MemoryUse, Source};

use crate::engine::{Analysis, AnalysisError, Context};
use crate::facts::clock_alignment::ClockShift;
use rules::clock_shifts;

pub use rules::CaptureFinding;

/// The health analysis.
pub struct Doctor;

impl Analysis for Doctor {
    type Report = DoctorReport;
    const ID: &'static str = "doctor";
    const TITLE: &'static str = "Trace health";

    fn run(cx: &Context<'_>) -> Result<DoctorReport, AnalysisError> {
        let model = cx.model;
        let memory = model.memory_use();
        let mut findings: Vec<CaptureFinding> = rules::RULES.iter().filter_map(|rule| rule(cx)).collect();
        findings.sort_by_key(|finding| (std::cmp::Reverse(finding.severity), finding.id));
        let facts = facts::CaptureFacts::of(cx);
        Ok(DoctorReport {
            findings,
            issues: model.import_log().counts().to_vec(),
            lost_events: model.import_log().lost(),
            sources: model.sources().iter().map(SourceFacts::of).collect(),
            facts_left_out: facts.left_out,
            facts: facts.stated,
            devices: cx.tensor_cores().len(),
            tracks: model.tracks().len(),
            slices: memory.slices,
            bytes_per_slice: memory.bytes_per_slice(),
            memory,
            clock_shifts: clock_shifts(cx),
        })
    }
}

/// The health of a capture.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub struct DoctorReport {
    /// What to know before believing numbers, worst first.
    pub findings: Vec<CaptureFinding>,
    /// What the import lost, repaired or noticed.
    pub issues: Vec<IssueCount>,
    /// Events of the file that are not in the model.
    pub lost_events: u64,
    /// The files.
    pub sources: Vec<SourceFacts>,
    /// What files and devices say of themselves; of many only the first.
    pub facts: Vec<CaptureFact>,
    /// How many more there are.
    pub facts_left_out: usize,
    /// `TensorCore`s.
    pub devices: usize,
    /// Tracks.
    pub tracks: usize,
    /// Slices.
    pub slices: usize,
    /// Memory of the slice columns, arguments and strings excluded; `None` without slices.
    pub bytes_per_slice: Option<f64>,
    /// Where the memory of the model goes.
    pub memory: MemoryUse,
    /// How far the clock of each device is from the host's.
    pub clock_shifts: Vec<ClockShift>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct SourceFacts {
    /// File name.
    pub name: String,
    /// What it was read as.
    pub format: &'static str,
    /// Host that wrote it, if known.
    pub host: Option<String>,
    /// Length of the session, if known.
    pub session_ps: Option<i64>,
    /// Facts that this format does not record.
    pub cannot_know: Vec<&'static str>,
}

impl SourceFacts {
    fn of(source: &Source) -> Self {
        Self {
            name: source.name.clone(),
            format: source.format,
            host: source.host.clone(),
            session_ps: session_ps(source),
            cannot_know: source.cannot_know.clone(),
        }
    }
}

/// From start to end of a session; `None` if the file does not say, or says nonsense.
pub(crate) fn session_ps(source: &Source) -> Option<i64> {
    let length = source.stopped_unix_ns?.checked_sub(source.started_unix_ns?)?;
    length.checked_mul(trace_model::time::PS_PER_NS).filter(|&length| length > 0)
}

#[cfg(test)]
mod tests;
