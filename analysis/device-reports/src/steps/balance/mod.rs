//! Whether devices and hosts share the work evenly, and who keeps the others waiting.
//!
//! ```text
//! TPU:0  [work      ][all-reduce      ]     waits for TPU:1
//! TPU:1  [work              ][all-red.]     the straggler
//! TPU:2  [work     ][all-reduce       ]
//! ```
//!
//! Collectives make all devices take equally long, so step times do not tell a
//! straggler: its *work* does, the time in ops that neither communicate nor wait.
//! What it costs is its work less the median device's: were it like the others, the
//! step would be that much shorter, as far as the others do wait for it.
//!
//! A device is a straggler if its work stands out by modified z-score, which takes
//! at least three devices. Spreads below half a percent of the step are taken for
//! that much: devices that are equal but for the last digits have no straggler.

mod absent;
mod judge;
mod late;
mod load;
mod table;
#[cfg(test)]
mod tests;

use facts::prelude::*;

use crate::steps::devices::Devices;

pub use judge::{BalancedQuantity, ImbalancePattern};
pub use late::LateDevices;
pub use load::StepLoad;

pub use load::{DeviceLoad, HostLoad, StepBalance};

/// The load balance analysis.
pub struct Balance;

impl Analysis for Balance {
    type Report = BalanceReport;
    const ID: &str = "balance";
    const TITLE: &str = "Load balance";

    fn run(cx: &Context<'_>) -> Result<BalanceReport> {
        let cores = cx.tensor_cores();
        if cores.len() < 2 {
            let count = if cores.is_empty() {
                "no TPU device was"
            } else {
                "only one TPU device was"
            };
            return Err(format!("{count} recorded: there is nothing to compare").into());
        }
        let devices = cx.report::<Devices>()?;
        let absent = absent::absences(cx, &devices)?;
        let steps = load::steps(cx, &devices, &absent);
        let mut loads = load::devices(cx, &devices, &steps, &absent);
        let mut hosts = load::hosts(&loads);
        let quantities = judge::quantities(&mut loads);
        let host_quantities = if hosts.len() > 1 {
            judge::host_quantities(&mut hosts)
        } else {
            Vec::new()
        };
        let compared: Vec<StepBalance> = steps.iter().filter_map(StepBalance::of).collect();
        let pattern = judge::pattern(&compared);
        let statement = judge::statement(&loads, &quantities, &compared, &pattern);
        Ok(BalanceReport {
            statement,
            pattern,
            devices: loads,
            hosts,
            quantities,
            host_quantities,
            steps: compared,
            least_wait: Percent(SKEW.of(cx.options)),
        })
    }
}

/// The distribution of work over devices.
#[engine::reported]
pub struct BalanceReport {
    /// In a sentence.
    pub statement: String,
    /// Whether the slowest device is always the same.
    pub pattern: ImbalancePattern,
    /// Every device that was recorded.
    pub devices: Vec<DeviceLoad>,
    /// Every host, where there are several.
    pub hosts: Vec<HostLoad>,
    /// Devices compared by what they spend time on.
    pub quantities: Vec<BalancedQuantity>,
    /// Hosts compared by the same; empty with one host.
    pub host_quantities: Vec<BalancedQuantity>,
    /// Each counted step; the whole window as one where no steps were found.
    pub steps: Vec<StepBalance>,
    /// Devices that wait a smaller part of their windows for the last one do not wait for anyone.
    #[serde(skip)]
    pub least_wait: Percent,
}

/// From which part of the window of a device on it matters that it waits for the last one.
pub static SKEW: Threshold = Threshold::percent(
    "K06.wait_percent",
    3.0,
    "chips of one kind at one clock differ by a percent",
);

impl BalanceReport {
    /// The load of a device.
    pub fn device(&self, group: Option<GroupId>) -> Option<&DeviceLoad> {
        self.devices.iter().find(|device| device.group == group)
    }

    /// The device that the others wait for longest in collectives, and its share of all such waiting; `None` if
    /// nobody waits, all are awaited as long, or it is not known.
    pub fn awaited(&self) -> Option<(&DeviceLoad, Percent)> {
        let known = || {
            self.devices
                .iter()
                .filter_map(|device| Some((device, device.awaited_ps?)))
        };
        let all: f64 = known().map(|(_, time)| time).sum();
        let ((device, time), are_equal) =
            math::most(known(), |known| known.1, |known| &known.0.core)?;
        (time > 0.0 && !are_equal).then(|| (device, Percent(100.0 * time / all)))
    }

    /// Devices that run nothing, next to nothing, or only a part of the run, as a clause: `1 of 4 devices runs nothing`.
    pub fn absent(&self) -> Option<String> {
        absent::clause(&self.devices)
    }

    /// Time that all devices together wait in collectives for the one that comes last, ps of their windows; `None` if
    /// it is not known.
    pub fn skew_wait_ps(&self) -> Option<f64> {
        let known: Vec<f64> = self
            .devices
            .iter()
            .filter_map(|device| device.skew_wait_ps)
            .collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }
}
