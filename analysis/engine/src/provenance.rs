//! Where a number comes from.

use hardware::peaks::{Peak, PeakSource};
use serde::Deserialize;
use trace_model::{Caveat, TraceModel};

/// Where a number comes from. It is printed with the number.
#[engine::titled]
#[derive(Hash, Deserialize)]
pub enum Provenance {
    /// Timed by the hardware or the host. Of a column: by what `trace.badge` names if the trace was simulated or predicted.
    Measured,
    /// The time of a simulator, which `trace.badge` names.
    Simulated,
    /// The time that a model predicts, which `trace.badge` names.
    Predicted,
    /// Recorded by the profiler (plane statistic, hardware counter).
    Profile = "recorded",
    /// From the compiler's cost model.
    StaticCost = "compiler",
    /// Computed from measured times and compiler costs.
    Derived,
    /// Derived with a peak that the capture does not record: the published one of its chip, or that of the chip that
    /// the user names.
    AssumedPeak = "assumed",
    /// Inferred by a rule that can be wrong.
    Inferred,
}

impl Provenance {
    /// The provenance of a utilization that uses `peak`: peaks from a table of chips are assumed.
    pub fn of_peak(peak: Option<Peak>) -> Self {
        match peak.map(|peak| peak.source) {
            Some(PeakSource::Assumed | PeakSource::Published) => Self::AssumedPeak,
            _ => Self::Derived,
        }
    }

    /// In a trace: what a simulator or model computed was not measured.
    pub fn in_trace(self, model: &TraceModel) -> Self {
        match self {
            Self::Measured if model.has_caveat(Caveat::Predicted) => Self::Predicted,
            Self::Measured if model.simulator().is_some() => Self::Simulated,
            _ => self,
        }
    }

    /// Display name in reports of a trace with this [`badge`](trace_model::TraceColumns::badge): what a simulator or model
    /// computed was not measured.
    pub fn title_in(self, badge: Option<&str>) -> &str {
        badge
            .filter(|_| matches!(self, Self::Measured | Self::Simulated | Self::Predicted))
            .unwrap_or_else(|| self.title())
    }
}
