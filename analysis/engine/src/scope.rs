//! Which part of a trace.

use serde::Serialize;
use trace_model::TimeRange;

/// The part of a trace that a report is about. Times are cut at its borders; executions count where they start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// The whole trace.
    #[default]
    WholeTrace,
    /// A part of the timeline.
    Range(TimeRange),
    /// Steps `first` to `last`, both included, as numbered by the step analysis.
    Steps {
        /// First step.
        first: u32,
        /// Last step.
        last: u32,
    },
}

impl Scope {
    /// Name of the reference for shares of host time: `capture`, `range`, `steps`.
    pub fn title(self) -> &'static str {
        match self {
            Self::WholeTrace => "capture",
            Self::Range(_) => "range",
            Self::Steps { .. } => "steps",
        }
    }

    /// Where something is, or is not: `in this capture`, `in this range`, `in these steps`.
    pub fn place(self) -> &'static str {
        match self {
            Self::WholeTrace => "in this capture",
            Self::Range(_) => "in this range",
            Self::Steps { first, last } if first == last => "in this step",
            Self::Steps { .. } => "in these steps",
        }
    }
}
