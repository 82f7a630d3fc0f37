//! What a rule about a capture finds.

use trace_model::Severity;

/// The finding that files of one run are of different sessions.
pub const SESSIONS_APART: &str = "sessions-apart";

/// Name of the finding that utilizations leave out work that was done faster than a peak allows.
pub const IMPOSSIBLE_RATES: &str = "impossible-rates";

/// A finding about a capture.
#[engine::row(measured)]
pub struct CaptureFinding {
    /// Stable name (`Q03`).
    #[column(id = "finding", with = |finding| format!("{} {}", finding.id, finding.name))]
    pub id: &'static str,
    /// Stable short name (`no-steps`).
    pub name: &'static str,
    /// Severity.
    #[column(with = |finding| severity_word(finding.severity))]
    pub severity: Severity,
    /// The problem, one sentence.
    #[column("What")]
    pub message: String,
    /// The evidence.
    #[column]
    pub evidence: String,
    /// The remedy.
    #[column("Fix")]
    pub cure: &'static str,
}

pub(super) fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::Info => "info",
        Severity::Warning => "warning",
        Severity::Loss => "loss",
    }
}
