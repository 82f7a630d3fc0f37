//! Which part of a trace, and under which assumptions.

use serde::Serialize;
use trace_model::TimeRange;

use crate::ici::Topology;

/// Which part of the trace a report is about. Slices that begin inside count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All of it.
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

/// Assumptions that hold for all reports of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Options {
    /// Chip whose published peaks to use where the capture records none
    /// (`v5e`, `v6e`, `v7x` …).
    pub device_spec: Option<String>,
    /// The grid of chips; else every grid that the generation allows is considered.
    pub topology: Option<Topology>,
    /// Only devices with these ordinals; all where empty.
    pub devices: Vec<u32>,
    /// Steps at the start that statistics leave out, besides partial ones.
    pub warmup_steps: u32,
}
