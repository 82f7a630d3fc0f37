//! What the time of a step, or of the window, of a device goes to.

use device_reports::CoreTraffic;
use facts::prelude::*;
use run_reports::host::input::infeed;
use run_reports::{Gaps, IdleCause};

use crate::hints::CountedDevices;
use crate::hints::facts::HintFacts;
use crate::hints::limit::TimePart;

/// A cause is named for the idle time if it makes up more than this part of it.
const MOST: f64 = 0.5;

/// The parts of the time of devices, those without time left out: of a counted step and what follows it, mean over the
/// devices, whether or not a device shows steps of its own; of the window where there are no steps. Time in flight
/// without an op is communication, not idle time.
pub(super) fn of_devices(facts: &HintFacts<'_>, devices: &CountedDevices) -> Result<Vec<TimePart>> {
    let cx = facts.cx.scoped(facts.step_scope());
    let mut sums: BTreeMap<TimeUse, Picos> = BTreeMap::new();
    let mut add = |id, time| *sums.entry(id).or_default() += time;
    let cores = cx.tensor_cores().into_iter();
    for core in cores.filter(|&core| devices.has(core)) {
        let Some(traffic) = CoreTraffic::of(&cx, facts.classes, core)? else {
            continue;
        };
        let time = &traffic.time;
        for segment in &time.segments {
            add(segment.class.group.into(), segment.range.dur());
        }
        let in_flight = traffic.in_flight_without_ops().measure();
        add(TimeUse::Collective, in_flight);
        add(
            TimeUse::Idle,
            time.window.dur() - time.busy_time() - in_flight,
        );
        // As the hint about input counts it.
        let infeed = infeed(&cx, facts.classes, core)?.map_or(Picos::ZERO, |ops| ops.measure());
        add(TimeUse::Input, infeed);
        add(TimeUse::HostIo, Picos::ZERO - infeed);
    }
    let step = facts.step()?;
    let executions = (step.count * devices.count()).max(1) as f64;
    if facts.steps().is_some() {
        // What a device lacks of the longest loop is idle time of it.
        let all: Picos = sums.values().copied().sum();
        let lacking = Picos::rounded(step.ps * executions) - all;
        *sums.entry(TimeUse::Idle).or_default() += lacking.clamped();
    }
    let parts = sums.into_iter().map(|(id, time)| {
        let time_ps = time.as_ps_f64() / executions;
        TimePart {
            id,
            time_ps,
            // Causes of idle time are added later.
            in_ops_ps: if id == TimeUse::Input { time_ps } else { 0.0 },
        }
    });
    Ok(parts.filter(|part| part.time_ps > 0.0).collect())
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

/// Makes the idle time with the most common cause a part of its own, where that is most of the idle time and it is
/// named. Input that ops wait for is a part already, of which gaps are the rest.
pub(super) fn divide_idle(
    parts: &mut Vec<TimePart>,
    facts: &HintFacts<'_>,
    devices: &CountedDevices,
    is_named: impl Fn(&TimePart) -> bool,
) {
    let Some(at) = parts.iter().position(|part| part.id == TimeUse::Idle) else {
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
    let idle_ps = parts[at].time_ps;
    let causes = CAUSES.map(|(id, causes)| {
        let between = counted().flat_map(|device| &device.between);
        let all: Picos = between
            .filter(|part| causes.contains(&part.cause))
            .map(|part| part.time_ps)
            .sum();
        TimePart {
            id,
            time_ps: all.as_ps_f64() / executions,
            in_ops_ps: 0.0,
        }
    });
    let is_main = |part: &&TimePart| part.time_ps > MOST * idle_ps && is_named(part);
    let main = causes.iter().find(is_main).map(|part| part.id);
    for cause in causes {
        // The host has another clock.
        let time_ps = cause.time_ps.min(parts[at].time_ps);
        match parts.iter().position(|part| part.id == cause.id) {
            Some(own) => parts[own].time_ps += time_ps,
            None if main == Some(cause.id) => parts.push(TimePart { time_ps, ..cause }),
            None => continue,
        }
        parts[at].time_ps -= time_ps;
    }
    parts.retain(|part| part.time_ps > 0.0);
}
