//! How far a capture can be trusted: missing, repaired and inferred data, and what to do about it.
//!
//! The rules are a list; each checks one thing and reports its findings. They do not judge performance.

mod clocks;
mod facts;
mod finding;
mod kernels;
mod losses;
mod rows;
mod rules;
mod table;

use ::facts::clock_alignment::ClockShift;
use ::facts::prelude::*;
use trace_model::{IssueCount, MemoryUse, Source};

use clocks::clock_shifts;

pub use facts::CaptureFact;
pub use finding::{CaptureFinding, IMPOSSIBLE_RATES, SESSIONS_APART};
pub use losses::is_little_lost;
pub use rows::{CaptureRow, CaptureRows, RowOnChip};

/// The health analysis.
pub struct Doctor;

impl Analysis for Doctor {
    type Report = DoctorReport;
    const ID: &str = "doctor";
    const TITLE: &str = "Trace health";

    fn run(cx: &Context<'_>) -> Result<DoctorReport> {
        let model = cx.model;
        let memory = model.memory_use();
        let mut findings: Vec<CaptureFinding> =
            rules::RULES.iter().filter_map(|rule| rule(cx)).collect();
        // What is said of mixed sessions is said of everything else, too.
        let mixes = |finding: &CaptureFinding| finding.name == SESSIONS_APART;
        findings.sort_by_key(|finding| (Reverse(finding.severity), !mixes(finding), finding.id));
        let facts = facts::CaptureFacts::of(cx);
        Ok(DoctorReport {
            findings,
            issues: model.import_log().counts().to_vec(),
            lost_events: model.import_log().lost(),
            sources: model.sources().iter().map(SourceFacts::of).collect(),
            facts_left_out: facts.left_out,
            facts: facts.stated,
            devices: cx.tensor_cores().len(),
            not_applicable: cx.tensor_cores().is_empty().then_some(WITHOUT_TPU),
            devices_of_program: rules::LargestCollective::devices_of_program(cx),
            tracks: model.tracks().len(),
            slices: usize::try_from(model.recorded_slices()).unwrap_or(usize::MAX),
            bytes_per_slice: memory.bytes_per_slice(),
            memory,
            clock_shifts: clock_shifts(cx),
        })
    }
}

/// What is checked without a TPU, and what is not.
const WITHOUT_TPU: &str = "No TPU is in this capture, so the checks of TPUs do not apply: their peaks, clocks, ops, kernels and \
     asynchronous work. Checked: lost, dropped and unreadable events, steps and the first of them, and the Python tracer's part \
     of the events on the host.";

/// The health of a capture.
#[engine::reported]
pub struct DoctorReport {
    /// Findings that affect the numbers, most severe first.
    pub findings: Vec<CaptureFinding>,
    /// Data that the import lost, repaired or noticed.
    pub issues: Vec<IssueCount>,
    /// Events, files and damaged parts of files that are not in the model.
    pub lost_events: u64,
    /// The files.
    pub sources: Vec<SourceFacts>,
    /// Facts that files and devices record about themselves; if there are many, only the first ones.
    pub facts: Vec<CaptureFact>,
    /// Number of further facts.
    pub facts_left_out: usize,
    /// Number of `TensorCore`s.
    pub devices: usize,
    /// Which checks do not apply to this capture, and which were made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_applicable: Option<&'static str>,
    /// Devices that the program runs on, if not all of them were captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub devices_of_program: Option<u64>,
    /// Number of tracks.
    pub tracks: usize,
    /// Number of slices.
    pub slices: usize,
    /// Memory of the slice columns, arguments and strings excluded; `None` without slices.
    pub bytes_per_slice: Option<f64>,
    /// Use of memory by the parts of the model.
    pub memory: MemoryUse,
    /// Offset between the clock of each device and that of its host.
    pub clock_shifts: Vec<ClockShift>,
}

impl DoctorReport {
    /// What is said where nothing was found.
    pub fn nothing_found(&self) -> &'static str {
        match self.not_applicable {
            None => "Nothing limits this capture.",
            Some(_) => "The checks that apply found nothing.",
        }
    }
}

/// One file.
#[engine::row(measured)]
pub struct SourceFacts {
    /// File name.
    #[column("File")]
    pub name: String,
    /// Format that it was read as.
    #[column]
    pub format: &'static str,
    /// Host that wrote it, if known.
    #[column]
    pub host: Option<String>,
    /// Length of the session, if known.
    #[column]
    pub session_ps: Option<Picos>,
    /// Facts that its format does not record.
    #[column("Not recorded", with = |source| source.cannot_know.join(", "))]
    pub cannot_know: Vec<&'static str>,
}

impl SourceFacts {
    fn of(source: &Source) -> Self {
        Self {
            name: source.name.clone(),
            format: source.format,
            host: source.host.clone(),
            session_ps: session(source),
            cannot_know: source.cannot_know.clone(),
        }
    }
}

/// From start to end of a session; `None` if the file has no such value, or an implausible one.
pub(crate) fn session(source: &Source) -> Option<Picos> {
    let length = source
        .stopped_unix_ns?
        .checked_sub(source.started_unix_ns?)?
        .checked_mul(trace_model::time::PS_PER_NS)?;
    Some(Picos::from_ps(length)).filter(|&length| length > Picos::ZERO)
}

#[cfg(test)]
mod tests;
