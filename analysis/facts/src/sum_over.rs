//! What sums over the executions of a scope are over.

use engine::{Context, Scope, counted};
use trace_model::Picos;

use super::steps::StepsReport;

/// A note for tables that have sums only.
pub const ARE_SUMS: &str = "times: sums of all executions on all devices";

/// The devices and steps that a sum is over: divided by their numbers it is that of one device in one step.
#[engine::reported]
#[derive(Copy, Eq)]
pub struct SumOver {
    /// Devices that recorded ops.
    pub devices: u64,
    /// All steps of the scope; `None` in a range and where none were found.
    pub steps: Option<u64>,
}

impl SumOver {
    /// Sums over so many devices in the scope of `cx`.
    pub fn of(cx: &Context<'_>, devices: usize) -> Self {
        let report = cx.fact::<StepsReport>();
        let count = match cx.scope {
            _ if !report.has_steps() => 0,
            Scope::WholeTrace => report.steps.len(),
            Scope::Steps { first, last } => report.selected(first, last).count(),
            Scope::Range(_) => 0,
        };
        Self {
            devices: devices as u64,
            steps: Some(count as u64).filter(|&count| count > 0),
        }
    }

    /// The part of one device in one step; of one device where there are no steps.
    pub fn each(self, sum: f64) -> f64 {
        sum / self.devices.max(1) as f64 / self.steps.unwrap_or(1).max(1) as f64
    }

    /// The part of a time in one step of one device, in whole picoseconds.
    pub fn each_ps(self, sum: Picos) -> Picos {
        Picos::rounded(self.each(sum.as_ps_f64()))
    }

    /// One of two titles: of what is of each step, or of each device.
    pub fn title(self, [of_step, of_device]: [&'static str; 2]) -> &'static str {
        if self.steps.is_some() {
            of_step
        } else {
            of_device
        }
    }

    /// The title of self time, as [`Self::each`] divides it.
    pub fn self_time_title(self) -> &'static str {
        self.title(["Self time a step", "Self time a device"])
    }

    /// What a sum is over: `8 devices and 4 steps`.
    pub fn text(self) -> String {
        let devices = counted(self.devices, "device");
        self.steps.map_or_else(
            || devices.clone(),
            |steps| format!("{devices} and {}", counted(steps, "step")),
        )
    }

    /// How what is of one step or device follows from sums, for tables that have both.
    pub fn note(self) -> String {
        match (self.steps, self.devices) {
            (None, 1) => {
                "one device and no steps: times, counts and amounts are sums of all executions"
                    .to_owned()
            }
            (None, _) => format!(
                "a device: the mean over {}; counts and amounts are sums",
                self.text()
            ),
            (Some(_), _) => {
                format!(
                    "a step: the mean over {}, with what runs between; counts and amounts are sums",
                    self.text()
                )
            }
        }
    }

    /// For tables that have sums only.
    pub fn sums_note(self) -> String {
        format!(
            "times and amounts: sums of all executions, over {}",
            self.text()
        )
    }
}
