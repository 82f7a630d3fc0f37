//! The time of each device and host in a step, by activity.

use std::collections::BTreeMap;

use trace_model::{GroupId, GroupKind, TraceModel};

use super::{DeviceLoad, HostLoad};
use crate::engine::Context;
use crate::facts::category::OpClass;
use crate::reports::communication::overlap::Overlap;
use crate::reports::steps::devices::{CoreReport, DevicesReport};
use crate::reports::steps::step_parts::{CoreParts, StepPart, StepParts, TimeByPart};

/// A step, or the whole window.
#[derive(Clone, Debug, PartialEq)]
pub struct StepLoad {
    /// Number; `None` for the whole window.
    pub step: Option<u32>,
    /// Every device that recorded ops in it.
    pub cores: Vec<CoreParts>,
}

/// Steady steps; the window as one step if devices recorded none.
pub(super) fn steps(cx: &Context<'_>, devices: &DevicesReport) -> Vec<StepLoad> {
    let found = cx.report::<StepParts>().ok();
    let counted = found.iter().flat_map(|report| &report.steps).filter(|step| step.is_counted);
    let steps: Vec<StepLoad> =
        counted.map(|step| StepLoad { step: Some(step.step), cores: step.cores.clone() }).collect();
    if !steps.is_empty() {
        return steps;
    }
    let cores = devices.cores.iter().filter(|core| core.op_time_ps.is_some()).map(whole_window);
    vec![StepLoad { step: None, cores: cores.collect() }]
}

fn whole_window(core: &CoreReport) -> CoreParts {
    let mut parts = TimeByPart::default();
    for entry in core.groups.iter().filter(|entry| entry.group != crate::facts::category::OpGroup::Idle) {
        parts.add(StepPart::of(&OpClass::of_group(entry.group)), entry.time_ps);
    }
    parts.add(StepPart::Idle, core.window_ps.saturating_sub(parts.total()));
    CoreParts { group: core.group, core: core.core.as_str().into(), time_ps: core.window_ps, parts }
}

/// Every device of the capture.
pub(super) fn devices(cx: &Context<'_>, devices: &DevicesReport, steps: &[StepLoad]) -> Vec<DeviceLoad> {
    let overlap = cx.report::<Overlap>().ok();
    let longest = devices.cores.iter().map(|core| core.window_ps).max().unwrap_or(0).max(1) as f64;
    let mut sums: BTreeMap<GroupId, (usize, i64, TimeByPart)> = BTreeMap::new();
    for core in steps.iter().flat_map(|step| &step.cores) {
        let (count, time, parts) = sums.entry(core.group).or_default();
        *count += 1;
        *time = time.saturating_add(core.time_ps);
        *parts = parts.plus(&core.parts);
    }
    let recorded: BTreeMap<GroupId, &CoreReport> = devices.cores.iter().map(|core| (core.group, core)).collect();
    let skews: BTreeMap<GroupId, _> =
        overlap.iter().flat_map(|overlap| &overlap.cores).map(|core| (core.group, core)).collect();
    let device = |group: GroupId| {
        let sum = sums.get(&group);
        let count = sum.map_or(0, |(count, ..)| *count);
        let mean = |total: i64| (count > 0).then(|| total as f64 / count as f64);
        let part = |part: StepPart| sum.and_then(|(_, _, parts)| mean(parts.get(part)));
        let (recorded, skew) = (recorded.get(&group), skews.get(&group));
        DeviceLoad {
            core: cx.model.device_name(group),
            group: Some(group),
            host: host_of(cx.model, group),
            steps: count,
            step_ps: sum.and_then(|(_, time, _)| mean(*time)),
            work_ps: sum.and_then(|(_, _, parts)| mean(parts.work())),
            exposed_comm_ps: part(StepPart::ExposedComm),
            copy_wait_ps: part(StepPart::CopyWait),
            host_io_ps: part(StepPart::HostIo),
            idle_ps: part(StepPart::Idle),
            barrier_ps: recorded.and_then(|core| core.barrier_ps).map(|ps| ps as f64),
            skew_wait_ps: skew.and_then(|core| core.skew_wait_ps).map(|ps| ps as f64),
            awaited_ps: skew.and_then(|core| core.awaited_ps).map(|ps| ps as f64),
            window_ps: recorded.map(|core| core.window_ps as f64),
            busy_percent: recorded.and_then(|core| core.op_time_ps).map(|ps| 100.0 * ps as f64 / longest),
            ..DeviceLoad::default()
        }
    };
    let mut loads: Vec<DeviceLoad> = cx.tensor_cores().into_iter().map(device).collect();
    mark_unused(&mut loads);
    loads
}

/// A device with less work than this is nearly unused …
const UNUSED_PERCENT: f64 = 5.0;
/// … if another one has more than this.
const USED_PERCENT: f64 = 50.0;

fn mark_unused(loads: &mut [DeviceLoad]) {
    let used = loads.iter().any(|load| load.busy_percent.is_some_and(|busy| busy > USED_PERCENT));
    for load in loads.iter_mut().filter(|_| used) {
        load.is_unused = load.busy_percent.is_none_or(|busy| busy < UNUSED_PERCENT);
    }
}

/// The machine around a device.
fn host_of(model: &TraceModel, group: GroupId) -> String {
    let around = std::iter::successors(Some(group), |&id| model.group(id).parent);
    let host = around.into_iter().find(|&id| model.group(id).kind == GroupKind::Host);
    host.map(|host| model.str(model.group(host).name).to_owned()).unwrap_or_default()
}

/// Devices by host.
pub(super) fn hosts(loads: &[DeviceLoad]) -> Vec<HostLoad> {
    let mut by_host: BTreeMap<&str, Vec<&DeviceLoad>> = BTreeMap::new();
    for load in loads.iter().filter(|load| load.work_ps.is_some()) {
        by_host.entry(&load.host).or_default().push(load);
    }
    let host = |(host, loads): (&str, Vec<&DeviceLoad>)| {
        let values = |of: fn(&DeviceLoad) -> Option<f64>| loads.iter().filter_map(|load| of(load)).collect::<Vec<_>>();
        let mean = |of| {
            let values = values(of);
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        HostLoad {
            host: host.to_owned(),
            devices: loads.len(),
            work_ps: mean(|load| load.work_ps),
            most_work_ps: values(|load| load.work_ps).into_iter().reduce(f64::max),
            exposed_comm_ps: mean(|load| load.exposed_comm_ps),
            barrier_ps: mean(|load| load.barrier_ps),
            ..HostLoad::default()
        }
    };
    by_host.into_iter().map(host).collect()
}
