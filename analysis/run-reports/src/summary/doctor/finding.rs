//! What a rule about a capture finds.

use serde::Serialize;
use trace_model::Severity;

/// A finding about a capture.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct CaptureFinding {
    /// Stable name (`Q03`).
    pub id: &'static str,
    /// Stable short name (`no-steps`).
    pub name: &'static str,
    /// Severity.
    pub severity: Severity,
    /// The problem, one sentence.
    pub message: String,
    /// The evidence.
    pub evidence: String,
    /// The remedy.
    pub cure: &'static str,
}
