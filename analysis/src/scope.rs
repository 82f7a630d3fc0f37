//! Which part of a trace, and under which assumptions.

use std::sync::Arc;

use serde::{Serialize, Serializer};
use trace_model::TimeRange;

use crate::chips::Chip;
use crate::hints::HintOptions;
use crate::ici::Topology;

/// Which part of the trace a report is about. Slices that begin inside count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, schemars::JsonSchema)]
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

impl Scope {
    /// What a share of the time of a host is a share of: `capture`, `range`, `steps`.
    pub fn title(self) -> &'static str {
        match self {
            Self::WholeTrace => "capture",
            Self::Range(_) => "range",
            Self::Steps { .. } => "steps",
        }
    }
}

/// Assumptions that hold for all reports of one trace.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Options {
    /// Name of the chip whose peaks to use where the capture records none
    /// (`v5e`, `v6e`, `v7x` …).
    pub device_spec: Option<String>,
    /// That chip, where a file of the user describes it; otherwise it is a published one.
    #[serde(serialize_with = "chip_id")]
    #[schemars(with = "Option<String>")]
    pub own_chip: Option<Arc<Chip>>,
    /// The grid of chips; else every grid that the generation allows is considered.
    #[schemars(with = "Option<String>")]
    pub topology: Option<Topology>,
    /// Only devices with these ordinals; all where empty.
    pub devices: Vec<u32>,
    /// Steps at the start that statistics leave out, besides partial ones.
    pub warmup_steps: u32,
    /// Thresholds and suppressions of hints.
    pub hints: HintOptions,
}

impl Options {
    /// The chip that the user names.
    pub fn chip(&self) -> Option<&Chip> {
        self.own_chip.as_deref().or_else(|| Chip::named(self.device_spec.as_deref()?))
    }
}

/// By name: its facts are shown by the command that lists chips.
#[expect(clippy::ref_option, reason = "as serde calls it")]
fn chip_id<S: Serializer>(chip: &Option<Arc<Chip>>, serializer: S) -> Result<S::Ok, S::Error> {
    chip.as_ref().map(|chip| &chip.id).serialize(serializer)
}
