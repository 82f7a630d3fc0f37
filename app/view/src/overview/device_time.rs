//! What devices spend their time on.

use crate::prelude::*;
use analysis::reports::{CoreOps, DeviceLoad, OpsReport};
use trace_model::short_device_name;

/// What devices spend their time on.
pub struct DeviceTime {
    /// A bar for each device.
    pub devices: Vec<DeviceBar>,
    /// Time of each kind of work on all devices together, the longest first.
    pub parts: Vec<(OpGroup, Picos)>,
    /// Length of the windows of all devices.
    pub total_ps: Picos,
}

/// What one device spends its time on.
pub struct DeviceBar {
    /// Name of the device.
    pub name: String,
    pub ordinal: u32,
    /// Length of its window: from its first op to the end of its last.
    pub window_ps: Picos,
    /// Time in ops that neither communicate nor wait.
    pub work_ps: Picos,
    /// Time of each kind of work and of idling, in the order of [`OpGroup::ALL`].
    pub parts: Vec<(OpGroup, Picos)>,
    /// A remark about an unusual device.
    pub remark: Option<&'static str>,
}

impl DeviceTime {
    pub(super) fn of(report: &OpsReport, loads: &[DeviceLoad]) -> Option<Self> {
        let loads: BTreeMap<&str, &DeviceLoad> = loads
            .iter()
            .map(|load| (load.core.as_str(), load))
            .collect();
        let devices: Vec<_> = report
            .cores
            .iter()
            .map(|core| DeviceBar::of(core, loads.get(core.name.as_str()).copied()))
            .collect();
        let mut parts = sum(&devices);
        parts.sort_by_key(|&(group, time)| (Reverse(time), group));
        (report.total_time_ps > Picos::ZERO).then_some(Self {
            devices,
            parts,
            total_ps: report.total_time_ps,
        })
    }

    /// The part of one device, of a sum over all: not of a step, because a window holds more than the steps that are
    /// counted.
    pub fn each(&self, sum: Picos) -> Picos {
        Picos::rounded(sum.as_ps_f64() / self.devices.len().max(1) as f64)
    }
}

impl DeviceBar {
    fn of(core: &CoreOps, load: Option<&DeviceLoad>) -> Self {
        let remark = load.and_then(|load| match (load.is_straggler, load.is_unused) {
            (true, _) => Some("straggler"),
            (_, true) => Some("nearly unused"),
            _ => None,
        });
        let time = |group| {
            if group == OpGroup::Idle {
                core.idle_ps
            } else {
                core.group_self(group)
            }
        };
        let parts = OpGroup::ALL
            .map(|group| (group, time(group)))
            .into_iter()
            .filter(|&(_, time)| time > Picos::ZERO)
            .collect();
        let waits = [OpGroup::Collective, OpGroup::AsyncWait, OpGroup::HostIo].map(time);
        let work_ps = core.busy_ps - waits.into_iter().sum();
        let (name, ordinal) = (core.name.clone(), core.ordinal);
        Self {
            name,
            ordinal,
            window_ps: core.total_time_ps,
            work_ps,
            parts,
            remark,
        }
    }

    /// The name without `/device:`.
    pub fn short_name(&self) -> &str {
        short_device_name(&self.name)
    }
}

/// Time of each kind of work of several devices, in the order of [`OpGroup::ALL`].
pub fn sum<'a>(bars: impl IntoIterator<Item = &'a DeviceBar>) -> Vec<(OpGroup, Picos)> {
    let mut sums = OpGroup::ALL.map(|group| (group, Picos::ZERO));
    for &(group, time) in bars.into_iter().flat_map(|bar| &bar.parts) {
        for sum in sums.iter_mut().filter(|sum| sum.0 == group) {
            sum.1 += time;
        }
    }
    sums.into_iter()
        .filter(|&(_, time)| time > Picos::ZERO)
        .collect()
}

/// A part of a whole in percent; a tiny part is never rounded to 0.
pub fn share(part: Picos, whole: Picos) -> String {
    match Percent::of(part, whole) {
        Some(share @ Percent(0.05..)) => format!("{share:.1}"),
        _ => "<0.1 %".to_owned(),
    }
}
