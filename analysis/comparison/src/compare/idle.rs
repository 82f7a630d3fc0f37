//! Idle time of the steps by what the host does meanwhile, so that a comparison can name it.
//!
//! The analysis of gaps explains idle time between programs on the clock of the host, a step is divided by the clock of
//! its ops. Where both differ, the idle time of the step counts, and the rest of it has no known cause.

use device_reports::StepPart;
use facts::prelude::*;
use run_reports::{Gaps, IdleCause};

use super::summary::RestTimes;
use super::times::DividedSteps;

/// Idle time between programs in each step of each device, by cause.
pub(super) type IdleByCause = BTreeMap<(GroupId, u32), Vec<(IdleCause, Picos)>>;

/// `None` if no host thread was recorded.
pub(super) fn idle_by_cause(cx: &Context<'_>) -> Option<IdleByCause> {
    host_threads(cx.model).next()?;
    let gaps = cx.whole().report::<Gaps>().ok()?;
    let mut by_cause = IdleByCause::new();
    for device in &gaps.devices {
        for step in &device.steps {
            let times = NAMED.map(|(cause, _)| (cause, step.time_ps(cause)));
            let times = times.into_iter().filter(|(_, time)| *time > Picos::ZERO);
            by_cause.insert((device.group, step.step), times.collect());
        }
    }
    Some(by_cause)
}

/// The cause of waiting for input.
pub(super) const INPUT_WAIT: &str = "input wait";
/// The cause of waiting for the compiler.
pub(super) const COMPILE_WAIT: &str = "idle while the host compiles";

/// Causes that a comparison names; idle time of other causes is `idle`.
const NAMED: [(IdleCause, &str); 7] = [
    (IdleCause::Input, INPUT_WAIT),
    (IdleCause::Compile, COMPILE_WAIT),
    (
        IdleCause::HostToDevice,
        "idle while the host copies to the device",
    ),
    (IdleCause::DeviceToHost, "idle while the host reads results"),
    (IdleCause::Dispatch, "idle while the host launches programs"),
    (IdleCause::User, "idle while the host runs its own code"),
    (IdleCause::Wait, "idle while the host waits"),
];

/// Idle time in the mean step of the middle half, by cause as far as it is known. If it is, there is always an entry for
/// waiting for input.
pub(super) fn idle_times(
    divided: &DividedSteps<'_>,
    known: Option<&IdleByCause>,
) -> Vec<RestTimes> {
    let mut sums: BTreeMap<IdleCause, f64> = BTreeMap::new();
    let mut all = 0.0;
    for &step in &divided.middle {
        let Some((_, parts)) = divided.steps.get(step) else {
            continue;
        };
        let idle = parts.get(StepPart::Idle);
        all += idle.as_ps_f64();
        let place = divided
            .cores
            .get(step)
            .zip(divided.chosen.get(step))
            .map(|(core, step)| (*core, step.number));
        let mut left = idle;
        for &(cause, time) in place
            .and_then(|place| known?.get(&place))
            .into_iter()
            .flatten()
        {
            *sums.entry(cause).or_default() += time.min(left).as_ps_f64();
            left -= time.min(left);
        }
    }
    let count = divided.middle.len().max(1) as f64;
    let rest = |cause: Option<&str>, sum: f64| RestTimes {
        part: StepPart::Idle,
        shape: None,
        cause: cause.map(str::to_owned),
        middle_ps: sum / count,
    };
    let mut out = vec![rest(None, all - sums.values().sum::<f64>())];
    if known.is_some() {
        let named = NAMED
            .iter()
            .map(|(cause, name)| (name, sums.get(cause).copied()));
        let shown = named.filter(|(name, sum)| sum.is_some() || **name == NAMED[0].1);
        out.extend(shown.map(|(name, sum)| rest(Some(name), sum.unwrap_or(0.0))));
    }
    out
}
