//! What a run says of itself in a list of runs.

use analysis::reports::{Doctor, Steps};
use analysis::{Scope, Unit, counted, number};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::devices::devices_of_all;
use crate::open::{Session, losses_in_words};

/// Devices, steps, verdict and damage of a run; what is not known is null.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Its devices with ops.
    pub devices: Option<String>,
    /// How many steps it has.
    pub steps: Option<usize>,
    /// Median of the steady steps, in picoseconds.
    pub step_ps: Option<f64>,
    /// What limits the program.
    pub verdict: Option<String>,
    /// What is missing because the capture is damaged.
    pub lost: Option<String>,
}

impl RunSummary {
    pub fn of(session: &Session) -> Self {
        let steps = session.report::<Steps>(Scope::WholeTrace).ok();
        let doctor = session.report::<Doctor>(Scope::WholeTrace).ok();
        let all = doctor.and_then(|report| report.devices_of_program);
        Self {
            devices: devices_of_all(session.model(), session.options(), all),
            // As many as the median is of.
            steps: steps.as_ref().map(|report| report.counted().count()),
            step_ps: steps.and_then(|report| Some(report.time.as_ref()?.median)),
            verdict: session.limit(Scope::WholeTrace),
            lost: losses_in_words(session.model()),
        }
    }

    /// `8 × TPU v5 Lite` and `4 steps, median 11.74 ms`.
    pub fn facts(&self) -> Vec<String> {
        let devices = self.devices.as_deref().unwrap_or("no TPU").to_owned();
        let steps = self.steps.map(|count| {
            let steps = counted(count as u64, "step");
            self.step_ps.map_or_else(
                || steps.clone(),
                |time| format!("{steps}, median {}", number::value(time, Unit::Picoseconds)),
            )
        });
        std::iter::once(devices).chain(steps).collect()
    }

    /// The verdict, and what is missing.
    pub fn lines(&self) -> Vec<String> {
        let lost = self.lost.as_ref().map(|lost| format!("damaged: {lost}"));
        self.verdict.clone().into_iter().chain(lost).collect()
    }
}
