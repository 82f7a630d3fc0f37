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

mod judge;
mod load;
mod table;
#[cfg(test)]
pub(crate) mod tests;

use serde::Serialize;
use std::sync::Arc;
use trace_model::GroupId;

pub use judge::{BalancedQuantity, ImbalancePattern};
pub use load::StepLoad;

use crate::engine::{Analysis, AnalysisError, Context};
use crate::reports::steps::devices::Devices;

/// The load balance analysis.
pub struct Balance;

impl Analysis for Balance {
    type Report = BalanceReport;
    const ID: &'static str = "balance";
    const TITLE: &'static str = "Load balance";

    fn run(cx: &Context<'_>) -> Result<BalanceReport, AnalysisError> {
        let cores = cx.tensor_cores();
        if cores.len() < 2 {
            let count = if cores.is_empty() { "no TPU device was" } else { "only one TPU device was" };
            return Err(AnalysisError::NotApplicable(format!("{count} recorded: there is nothing to compare")));
        }
        let devices = cx.report::<Devices>()?;
        let steps = load::steps(cx, &devices);
        let mut loads = load::devices(cx, &devices, &steps);
        let mut hosts = load::hosts(&loads);
        let quantities = judge::quantities(&mut loads);
        let host_quantities = if hosts.len() > 1 { judge::host_quantities(&mut hosts) } else { Vec::new() };
        let compared: Vec<StepBalance> = steps.iter().filter_map(StepBalance::of).collect();
        let pattern = judge::pattern(&compared);
        let statement = judge::statement(&loads, &quantities, &compared, &pattern);
        Ok(BalanceReport { statement, pattern, devices: loads, hosts, quantities, host_quantities, steps: compared })
    }
}

/// The distribution of work over devices.
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
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
}

impl BalanceReport {
    /// The device that the others wait for longest in collectives, and its percent of all such waiting; `None` if
    /// nobody waits, or it is not known.
    pub(crate) fn awaited(&self) -> Option<(&DeviceLoad, f64)> {
        let known = || self.devices.iter().filter_map(|device| Some((device, device.awaited_ps?)));
        let all: f64 = known().map(|(_, time)| time).sum();
        let (device, time) = known().reduce(|most, next| if next.1 > most.1 { next } else { most })?;
        (time > 0.0).then(|| (device, 100.0 * time / all))
    }

    /// Time that all devices together wait in collectives for the one that comes last, ps of their windows; `None` if
    /// it is not known.
    pub(crate) fn skew_wait_ps(&self) -> Option<f64> {
        let known: Vec<f64> = self.devices.iter().filter_map(|device| device.skew_wait_ps).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }
}

/// The load of one device, unless noted otherwise per step: means over steady steps, or the whole window without steps.
/// `None` for devices without recorded ops.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct DeviceLoad {
    /// Name of the device.
    pub core: String,
    /// Which device.
    #[serde(skip)]
    pub group: Option<GroupId>,
    /// Name of its host.
    pub host: String,
    /// Steps that it took part in.
    pub steps: usize,
    /// Time of a step.
    pub step_ps: Option<f64>,
    /// Ops that neither communicate nor wait.
    pub work_ps: Option<f64>,
    /// Exposed communication.
    pub exposed_comm_ps: Option<f64>,
    /// Waiting for copies.
    pub copy_wait_ps: Option<f64>,
    /// Infeed, outfeed, transfers to and from the host.
    pub host_io_ps: Option<f64>,
    /// No op.
    pub idle_ps: Option<f64>,
    /// Length of its window, which the next two are of.
    pub window_ps: Option<f64>,
    /// Waiting for the other devices before programs start (`barrier-cores`).
    pub barrier_ps: Option<f64>,
    /// Waiting in synchronous collectives for the last participant.
    pub skew_wait_ps: Option<f64>,
    /// Time that other devices waited in collectives for this one, summed.
    pub awaited_ps: Option<f64>,
    /// Time with ops, of the longest window of any device.
    pub busy_percent: Option<f64>,
    /// Modified z-score of its work; `None` with fewer than three devices.
    pub work_z: Option<f64>,
    /// Whether it keeps the others waiting.
    pub is_straggler: bool,
    /// Whether it is nearly unused while others work.
    pub is_unused: bool,
}

/// The devices of one host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, schemars::JsonSchema)]
pub struct HostLoad {
    /// Name of the host.
    pub host: String,
    /// Its devices that recorded ops.
    pub devices: usize,
    /// Mean work of its devices in a step.
    pub work_ps: Option<f64>,
    /// Work of the one that works most.
    pub most_work_ps: Option<f64>,
    /// Mean exposed communication.
    pub exposed_comm_ps: Option<f64>,
    /// Mean time waiting at barriers, of the window.
    pub barrier_ps: Option<f64>,
    /// Modified z-score of its mean work; `None` with fewer than three hosts.
    pub work_z: Option<f64>,
    /// Whether it keeps the others waiting.
    pub is_straggler: bool,
}

/// One step, compared over devices.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct StepBalance {
    /// Its number; `None` for the whole window.
    pub step: Option<u32>,
    /// Its time on the device that took longest.
    pub time_ps: i64,
    /// The device with the most work.
    pub most: Arc<str>,
    /// Its work.
    pub max_ps: i64,
    /// Work of the middle device.
    pub median_ps: f64,
    /// Mean work.
    pub mean_ps: f64,
    /// `(max − median) ÷ median`.
    pub imbalance_percent: Option<f64>,
    /// `max − median`: the cost of the slowest device.
    pub cost_ps: f64,
}

impl StepBalance {
    fn of(step: &StepLoad) -> Option<Self> {
        let work: Vec<f64> = step.cores.iter().map(|core| core.parts.work() as f64).collect();
        let median_ps = crate::math::stats::median(&work).filter(|_| work.len() > 1)?;
        let most = step.cores.iter().max_by_key(|core| (core.parts.work(), std::cmp::Reverse(&core.core)))?;
        let max_ps = most.parts.work();
        let cost_ps = max_ps as f64 - median_ps;
        Some(Self {
            step: step.step,
            time_ps: step.cores.iter().map(|core| core.time_ps).max()?,
            most: most.core.clone(),
            max_ps,
            median_ps,
            mean_ps: work.iter().sum::<f64>() / work.len() as f64,
            imbalance_percent: (median_ps > 0.0).then(|| 100.0 * cost_ps / median_ps),
            cost_ps,
        })
    }
}
