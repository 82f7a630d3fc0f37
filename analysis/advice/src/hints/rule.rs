//! What a rule is, and what it can answer.

use facts::prelude::*;
use serde::Serialize;

use super::HintFacts;
use super::finding::RuleResult;

/// How sure a rule is of what it says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Confidence {
    /// A pattern that can have other reasons.
    Low,
    /// Computed from measurements and the compiler's costs.
    Medium,
    /// Measured, or said by the hardware or the compiler.
    High,
}

impl Confidence {
    /// What a saving counts in the ranking.
    pub(crate) fn weight(self) -> f64 {
        match self {
            Self::Low => 0.4,
            Self::Medium => 0.7,
            Self::High => 1.0,
        }
    }
}

/// One thing to look for.
pub struct Rule {
    /// Stable name: `K01`.
    pub id: &'static str,
    /// What is the matter, for people, without numbers.
    pub title: &'static str,
    /// How sure it is.
    pub confidence: Confidence,
    /// What it compares with.
    pub thresholds: &'static [&'static Threshold],
    /// Looks.
    pub check: fn(&HintFacts<'_>) -> RuleResult,
    /// Its page: cause, check, fix, example, source (see [`Page`](super::Page)).
    pub page: &'static str,
}

impl Rule {
    /// It is about the capture, not about the program.
    pub(crate) fn is_health(&self) -> bool {
        self.id.starts_with('Q')
    }
}
