//! The time of each device and host in a step, by activity.

use engine::Cell;
use facts::prelude::*;

use crate::communication::overlap::Overlap;
use crate::steps::devices::{CoreReport, DevicesReport};
use crate::steps::step_parts::{CoreParts, StepPart, StepParts, TimeByPart};

/// The load of one device, unless noted otherwise per step: means over steady steps, or the whole window without steps.
/// `None` for devices without recorded ops.
#[engine::row(measured)]
#[derive(Default)]
pub struct DeviceLoad {
    /// Name of the device.
    #[column("Device")]
    pub core: String,
    /// Which device.
    #[serde(skip)]
    pub group: Option<GroupId>,
    /// Name of its host.
    #[column]
    pub host: String,
    /// Steps that it took part in.
    #[column]
    pub steps: usize,
    /// Time of a step.
    #[column]
    pub step_ps: Option<f64>,
    /// Ops that neither communicate nor wait.
    #[column]
    pub work_ps: Option<f64>,
    /// Exposed communication.
    #[column]
    pub exposed_comm_ps: Option<f64>,
    /// Waiting for copies.
    #[column]
    pub copy_wait_ps: Option<f64>,
    /// Infeed, outfeed, transfers to and from the host.
    #[column("Host I/O")]
    pub host_io_ps: Option<f64>,
    /// No op.
    #[column]
    pub idle_ps: Option<f64>,
    /// Length of its window, which the next two are of.
    pub window_ps: Option<f64>,
    /// Waiting for the other devices before programs start (`barrier-cores`).
    #[column("Barriers")]
    pub barrier_ps: Option<f64>,
    /// Waiting in synchronous collectives for the last participant.
    #[column("Waits for others")]
    pub skew_wait_ps: Option<f64>,
    /// Time that other devices waited in collectives for this one, summed.
    #[column("Others wait")]
    pub awaited_ps: Option<f64>,
    /// Time with ops, of the longest window of any device.
    #[column("Ops, of window")]
    pub busy_percent: Option<Percent>,
    /// Modified z-score of its work; `None` with fewer than three devices.
    #[column("Modified z", derived, id = "z")]
    pub work_z: Option<f64>,
    /// Whether it keeps the others waiting.
    pub is_straggler: bool,
    /// Whether it is nearly unused while others work.
    pub is_unused: bool,
    /// What it does while others work: `runs nothing`, `joins at step 10`; `None` if it takes part in the whole run.
    #[column(id = "remark", with = |load| remark(load.is_straggler, load.absence.as_deref()))]
    pub absence: Option<String>,
}

impl DeviceLoad {
    /// A time as a part of its window; `None` where one of the two is not known.
    pub fn of_window(&self, time_ps: Option<f64>) -> Option<Percent> {
        Percent::ratio(time_ps?, self.window_ps?)
    }
}

/// How a device or host stands out.
fn remark(is_straggler: bool, absence: Option<&str>) -> Cell {
    let words = is_straggler
        .then_some("straggler")
        .into_iter()
        .chain(absence);
    Cell::text(joined(words, ", "))
}

/// The devices of one host.
#[engine::row(measured)]
#[derive(Default)]
pub struct HostLoad {
    /// Name of the host.
    #[column]
    pub host: String,
    /// Its devices that recorded ops.
    #[column]
    pub devices: usize,
    /// Mean work of its devices in a step.
    #[column("Work, mean")]
    pub work_ps: Option<f64>,
    /// Work of the one that works most.
    #[column("most")]
    pub most_work_ps: Option<f64>,
    /// Mean exposed communication.
    #[column]
    pub exposed_comm_ps: Option<f64>,
    /// Mean time waiting at barriers, of the window.
    #[column("Barriers")]
    pub barrier_ps: Option<f64>,
    /// Modified z-score of its mean work; `None` with fewer than three hosts.
    #[column("Modified z", derived, id = "z")]
    pub work_z: Option<f64>,
    /// Whether it keeps the others waiting.
    #[column(id = "remark", with = |load| remark(load.is_straggler, None))]
    pub is_straggler: bool,
}

/// One step, compared over devices.
#[engine::row(measured)]
pub struct StepBalance {
    /// Its number; `None` for the whole window.
    #[column(unit = None, with = Self::title)]
    pub step: Option<u32>,
    /// Its time on the device that took longest.
    #[column]
    pub time_ps: Picos,
    /// The device with the most work; empty where all work as long.
    #[column("Works most", non_empty)]
    pub most: Arc<str>,
    /// Its work.
    #[column("Its work")]
    pub max_ps: Picos,
    /// Work of the middle device.
    #[column]
    pub median_ps: f64,
    /// Mean work.
    #[column]
    pub mean_ps: f64,
    /// `(max − median) ÷ median`.
    #[column("Over median", derived)]
    pub imbalance_percent: Option<Percent>,
    /// `max − median`: the cost of the slowest device.
    #[column(derived)]
    #[column("Of step", derived, id = "cost_percent", with = Self::cost_percent)]
    pub cost_ps: f64,
}

impl StepBalance {
    fn title(&self) -> Cell {
        self.step
            .map_or_else(|| Cell::text("window"), |step| Cell::count(u64::from(step)))
    }

    fn cost_percent(&self) -> Option<Percent> {
        Percent::ratio(self.cost_ps, self.time_ps.as_ps_f64())
    }

    pub(super) fn of(step: &StepLoad) -> Option<Self> {
        let work: Vec<f64> = step
            .cores
            .iter()
            .map(|core| core.parts.work().as_ps_f64())
            .collect();
        let median_ps = math::stats::median(&work).filter(|_| work.len() > 1)?;
        let work_of = |core: &&CoreParts| core.parts.work().as_ps_f64();
        let (most, are_equal) = math::most(&step.cores, work_of, |core| &core.core)?;
        let max_ps = most.parts.work();
        let cost_ps = max_ps.as_ps_f64() - median_ps;
        Some(Self {
            step: step.step,
            time_ps: step.cores.iter().map(|core| core.time_ps).max()?,
            most: if are_equal {
                Arc::default()
            } else {
                most.core.clone()
            },
            max_ps,
            median_ps,
            mean_ps: math::stats::mean(&work)?,
            imbalance_percent: Percent::ratio(cost_ps, median_ps),
            cost_ps,
        })
    }
}

/// A step, or the whole window.
#[derive(Debug)]
pub struct StepLoad {
    /// Number; `None` for the whole window.
    pub step: Option<u32>,
    /// Every device that recorded ops in it.
    pub cores: Vec<CoreParts>,
}

/// Steady steps; the window as one step if devices recorded none, on those that take part in all of it.
pub(super) fn steps(
    cx: &Context<'_>,
    devices: &DevicesReport,
    absent: &[Absence],
) -> Vec<StepLoad> {
    let parts = cx.report::<StepParts>().ok();
    let counted = parts
        .iter()
        .flat_map(|report| &report.steps)
        .filter(|step| step.is_counted);
    // A short program of a device that is unused otherwise is no load of a step.
    let is_used = |core: &&CoreParts| {
        !absent
            .iter()
            .any(|absence| absence.is_unused && absence.core == core.group)
    };
    let steps: Vec<StepLoad> = counted
        .map(|step| StepLoad {
            step: Some(step.step),
            cores: step.cores.iter().filter(is_used).cloned().collect(),
        })
        .collect();
    if !steps.is_empty() {
        return steps;
    }
    let is_there = |core: &&CoreReport| {
        core.op_time_ps.is_some() && !absent.iter().any(|absence| absence.core == core.group)
    };
    vec![StepLoad {
        step: None,
        cores: devices
            .cores
            .iter()
            .filter(is_there)
            .map(whole_window)
            .collect(),
    }]
}

fn whole_window(core: &CoreReport) -> CoreParts {
    let mut parts = TimeByPart::default();
    for entry in core
        .groups
        .iter()
        .filter(|entry| entry.group != OpGroup::Idle)
    {
        parts.add(StepPart::of(&OpClass::of_group(entry.group)), entry.time_ps);
    }
    parts.add(StepPart::Idle, core.window_ps - parts.total());
    CoreParts {
        group: core.group,
        core: core.core.as_str().into(),
        time_ps: core.window_ps,
        parts,
    }
}

/// Every device of the capture.
pub(super) fn devices(
    cx: &Context<'_>,
    devices: &DevicesReport,
    steps: &[StepLoad],
    absent: &[Absence],
) -> Vec<DeviceLoad> {
    let overlap = cx.report::<Overlap>().ok();
    let longest = devices
        .cores
        .iter()
        .map(|core| core.window_ps)
        .max()
        .map_or(1, |longest| longest.ps().max(1)) as f64;
    let mut sums: BTreeMap<GroupId, (usize, Picos, TimeByPart)> = BTreeMap::new();
    for core in steps.iter().flat_map(|step| &step.cores) {
        let (count, time, parts) = sums.entry(core.group).or_default();
        *count += 1;
        *time += core.time_ps;
        *parts = parts.plus(&core.parts);
    }
    let recorded: BTreeMap<GroupId, &CoreReport> = devices
        .cores
        .iter()
        .map(|core| (core.group, core))
        .collect();
    let skews: BTreeMap<GroupId, _> = overlap
        .iter()
        .flat_map(|overlap| &overlap.cores)
        .map(|core| (core.group, core))
        .collect();
    let ps = |time: Picos| time.as_ps_f64();
    let device = |group: GroupId| {
        let sum = sums.get(&group);
        let count = sum.map_or(0, |(count, ..)| *count);
        let mean = |total: Picos| (count > 0).then(|| total.as_ps_f64() / count as f64);
        let part = |part: StepPart| sum.and_then(|(_, _, parts)| mean(parts.get(part)));
        let recorded = recorded.get(&group);
        let skew = skews.get(&group);
        let absence = absent.iter().find(|absence| absence.core == group);
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
            barrier_ps: recorded.and_then(|core| core.barrier_ps).map(ps),
            skew_wait_ps: skew.and_then(|core| core.skew_wait_ps).map(ps),
            awaited_ps: skew.and_then(|core| core.awaited_ps).map(ps),
            window_ps: recorded.map(|core| ps(core.window_ps)),
            busy_percent: recorded
                .and_then(|core| core.op_time_ps)
                .map(|time| Percent(100.0 * ps(time) / longest)),
            is_unused: absence.is_some_and(|absence| absence.is_unused),
            absence: absence.map(|absence| absence.what.clone()),
            ..DeviceLoad::default()
        }
    };
    cx.tensor_cores().into_iter().map(device).collect()
}

/// The machine around a device.
fn host_of(model: &TraceModel, group: GroupId) -> String {
    let around = std::iter::successors(Some(group), |&id| model.group(id).parent);
    let host = around
        .into_iter()
        .find(|&id| model.group(id).kind == GroupKind::Host);
    host.map(|host| model.str(model.group(host).name).to_owned())
        .unwrap_or_default()
}

/// Devices by host.
pub(super) fn hosts(loads: &[DeviceLoad]) -> Vec<HostLoad> {
    let by_host = grouped(
        loads
            .iter()
            .filter(|load| load.work_ps.is_some())
            .map(|load| (&*load.host, load)),
    );
    let host = |(host, loads): (&str, Vec<&DeviceLoad>)| {
        let values = |of: fn(&DeviceLoad) -> Option<f64>| {
            loads.iter().filter_map(|load| of(load)).collect::<Vec<_>>()
        };
        let mean = |of| math::stats::mean(&values(of));
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

/// What a device that does not take part in the whole run does instead.
pub(super) struct Absence {
    pub core: GroupId,
    /// Whether it is nearly unused.
    pub is_unused: bool,
    /// `runs nothing`, `joins at step 10`.
    pub what: String,
}
