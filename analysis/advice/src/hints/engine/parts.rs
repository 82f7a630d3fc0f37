//! What the time of a step, or of the window, of a device goes to.

use device_reports::{CoreTraffic, OpsReport, StepPart, StepParts, StepPartsReport};
use facts::prelude::*;
use run_reports::{Gaps, IdleCause};

use crate::hints::CountedDevices;
use crate::hints::facts::HintFacts;
use crate::hints::limit::TimePart;

/// A cause is named for the idle time if it makes up more than this part of it.
const MOST: f64 = 0.5;

/// The parts of the time of devices, those without time left out: of the counted steps, of the window where there are
/// none.
pub(super) fn of_devices(
    facts: &HintFacts<'_>,
    ops: &OpsReport,
    devices: &CountedDevices,
) -> Result<Vec<TimePart>> {
    let mut parts = match facts.steps().and_then(|_| facts.report::<StepParts>().ok()) {
        Some(steps) => parts_of_step(&steps, facts.step()?.ps, devices),
        None => parts_of_window(facts, ops, devices),
    };
    parts.retain(|part| part.time_ps > 0.0);
    Ok(parts)
}

/// Causes of idle time that are named in the sentence, and the use of time that each is.
const CAUSES: [(TimeUse, &[IdleCause]); 5] = [
    (TimeUse::Compile, &[IdleCause::Compile]),
    (TimeUse::Input, &[IdleCause::Input]),
    (TimeUse::Upload, &[IdleCause::HostToDevice]),
    (
        TimeUse::Results,
        &[IdleCause::DeviceToHost, IdleCause::Wait],
    ),
    (TimeUse::Launch, &[IdleCause::Dispatch]),
];

/// The parts of a step, mean over devices: what lies between two steps, up to `step_ps`, is idle time, and so is a step
/// in which a device runs nothing.
fn parts_of_step(steps: &StepPartsReport, step_ps: f64, devices: &CountedDevices) -> Vec<TimePart> {
    let counted = || steps.steps.iter().filter(|step| step.is_counted);
    let all = (counted().count() * devices.count()).max(1) as f64;
    let mean = |part: StepPart| {
        let cores = counted()
            .flat_map(|step| &step.cores)
            .filter(|core| devices.has(core.group));
        let times = cores.map(|core| core.parts.get(part).as_ps_f64());
        times.sum::<f64>() / all
    };
    let mut parts = StepPart::ALL.map(|part| TimePart {
        id: part.into(),
        time_ps: mean(part),
    });
    let sum: f64 = parts.iter().map(|part| part.time_ps).sum();
    for idle in parts.iter_mut().filter(|part| part.id == TimeUse::Idle) {
        idle.time_ps += (step_ps - sum).max(0.0);
    }
    parts.to_vec()
}

/// Makes the idle time with the most common cause a part of its own, where that is most of the idle time and it is
/// named.
pub(super) fn divide_idle(
    parts: &mut Vec<TimePart>,
    facts: &HintFacts<'_>,
    devices: &CountedDevices,
    is_named: impl Fn(&TimePart) -> bool,
) {
    let mut idle = parts.iter_mut();
    let Some(idle) = idle.find(|part| part.id == TimeUse::Idle) else {
        return;
    };
    let (Ok(gaps), Ok(step)) = (facts.in_steps::<Gaps>(), facts.step()) else {
        return;
    };
    let executions = (step.count * devices.count()).max(1) as f64;
    let counted = || {
        gaps.devices
            .iter()
            .filter(|device| devices.has(device.group))
    };
    let causes = CAUSES.map(|(id, causes)| {
        let between = counted().flat_map(|device| &device.between);
        let all: Picos = between
            .filter(|part| causes.contains(&part.cause))
            .map(|part| part.time_ps)
            .sum();
        // The host has another clock.
        let time_ps = (all.as_ps_f64() / executions).min(idle.time_ps);
        TimePart { id, time_ps }
    });
    if let Some(main) = causes
        .into_iter()
        .find(|part| part.time_ps > MOST * idle.time_ps && is_named(part))
    {
        idle.time_ps -= main.time_ps;
        parts.push(main);
        parts.retain(|part| part.time_ps > 0.0);
    }
}

/// The parts of the window of a device. Time in flight without an op is communication, not idle time.
fn parts_of_window(
    facts: &HintFacts<'_>,
    ops: &OpsReport,
    devices: &CountedDevices,
) -> Vec<TimePart> {
    let each = |time: Picos| time.as_ps_f64() / devices.count().max(1) as f64;
    let in_flight: Picos = facts
        .cx
        .tensor_cores()
        .into_iter()
        .filter(|&core| devices.has(core))
        .filter_map(|core| CoreTraffic::of(facts.cx, facts.classes, core).ok()?)
        .map(|traffic| traffic.in_flight_without_ops().measure())
        .sum();
    let mut parts: Vec<TimePart> = OpGroup::ALL
        .into_iter()
        .map(|group| TimePart {
            id: group.into(),
            time_ps: each(devices.group_self(ops, group)),
        })
        .collect();
    for part in &mut parts {
        match part.id {
            TimeUse::Collective => part.time_ps += each(in_flight),
            TimeUse::Idle => part.time_ps = each(devices.idle_ps(ops) - in_flight),
            _ => {}
        }
    }
    parts
}
