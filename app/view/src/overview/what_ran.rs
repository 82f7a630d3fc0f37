//! Devices, steps and length of a capture.

use crate::prelude::*;
use analysis::counted;
use analysis::math::stats::Stats;
use analysis::reports::{Doctor, Steps};
use session::{Session, devices_of_all};

use super::report_source::ReportSource;

/// Devices, steps and length of a capture.
#[derive(Clone)]
pub struct WhatRan {
    /// `4 of 8 × TPU v6 Lite`.
    devices: Option<String>,
    steps: Option<Stats>,
    captured: Picos,
}

impl WhatRan {
    pub(super) fn of(reports: &impl ReportSource, session: &Session) -> Self {
        let model = session.model();
        let all = reports
            .with::<Doctor, _>(|report| report.devices_of_program)
            .flatten();
        let devices = devices_of_all(model, session.options(), all);
        let steps = reports.with::<Steps, _>(|report| report.time.filter(|_| report.has_steps()));
        Self {
            devices,
            steps: steps.flatten(),
            captured: model.extent().dur(),
        }
    }

    /// What ran, on the devices of the whole trace: what is known of a part does not tell how many the program has.
    pub fn on_devices_of(&self, whole: &Self) -> Self {
        Self {
            devices: whole.devices.clone(),
            ..self.clone()
        }
    }

    /// `4 of 8 × TPU v6 Lite`, `99 steps, median 784.3 ms (784.1 ms to 784.4 ms)`, `98.15 s captured`; `time` formats
    /// times.
    pub fn words(&self, time: impl Fn(Picos) -> String) -> Vec<String> {
        let steps = self
            .steps
            .map(|steps| steps_in_words(&steps, "step", &time));
        let captured = format!("{} captured", time(self.captured));
        let words = self.devices.clone().into_iter().chain(steps);
        words.chain([captured]).collect()
    }
}

/// `99 steps, median 784.3 ms (784.1 ms to 784.4 ms)`: so many of what one is called, and their times, as `time` formats
/// them.
pub fn steps_in_words(steps: &Stats, one: &str, time: impl Fn(Picos) -> String) -> String {
    let length = |ps: f64| time(Picos::rounded(ps));
    let (count, median) = (counted(steps.count, one), length(steps.median));
    let (min, max) = (length(steps.min), length(steps.max));
    match steps.count {
        1 => format!("{count} of {median}"),
        _ if min == max => format!("{count} of {median} each"),
        _ => format!("{count}, median {median} ({min} to {max})"),
    }
}
