//! Devices that run nothing, next to nothing, or only a part of the run while others work.

use facts::CoreTime;
use facts::clock_alignment::programs;
use facts::prelude::*;
use facts::steps::function_of;
use facts::window::{own_extent, ran_nothing};

use super::load::{Absence, DeviceLoad};
use crate::steps::devices::{CoreReport, DevicesReport};

/// A device with less than this of the busiest device's time in ops is nearly unused.
const UNUSED_PERCENT: f64 = 5.0;

/// Those devices, in their order. None if no device works.
pub(super) fn absences(cx: &Context<'_>, devices: &DevicesReport) -> Result<Vec<Absence>> {
    let busiest = devices
        .cores
        .iter()
        .filter_map(|core| core.op_time_ps)
        .max()
        .unwrap_or_default();
    if busiest <= Picos::ZERO {
        return Ok(Vec::new());
    }
    let steps = Some(cx.steps()).filter(|steps| steps.has_steps());
    let mut out = Vec::new();
    for core in &devices.cores {
        let Some(time) = cx.core_time(core.group)? else {
            continue;
        };
        let is_unused = core
            .op_time_ps
            .is_some_and(|time| 100.0 * (time.as_ps_f64()) < UNUSED_PERCENT * busiest.as_ps_f64());
        let what = if is_unused {
            Some(little(cx, core))
        } else {
            part(cx, &time, steps)
        };
        out.extend(what.map(|what| Absence {
            core: core.group,
            is_unused,
            what,
        }));
    }
    Ok(out)
}

fn little(cx: &Context<'_>, core: &CoreReport) -> String {
    match core.programs {
        _ if ran_nothing(cx.model, core.group) => "runs nothing".to_owned(),
        0 => "runs next to nothing".to_owned(),
        1 => match programs(cx.model, core.group).first() {
            Some(program) => format!("runs {} once and nothing else", function_of(program.name())),
            None => "runs 1 short program and nothing else".to_owned(),
        },
        count => format!("runs {count} short programs and nothing else"),
    }
}

/// The part of the run in which the device works, if it is away for long.
fn part(cx: &Context<'_>, time: &CoreTime, steps: Option<&StepsReport>) -> Option<String> {
    let first = time.segments.first()?;
    let last = time.segments.last()?;
    let window = time.window.measured;
    let slice = |segment: &SelfTimeSegment| cx.model.slice(segment.slice);
    // A window is longer than the own time of a device only where it is away.
    let extent = own_extent(cx, time.core)?.measured;
    let before = (extent.start - window.start).clamped();
    let after = (window.end - extent.end).clamped();
    let is_long = |away: Picos| away > Picos::ZERO;
    let numbers = |is_in: &dyn Fn(&Step) -> bool| {
        let ran = steps?
            .steps
            .iter()
            .filter(|step| is_in(step))
            .map(|step| step.number);
        Some(ran.clone().next()?..=ran.last()?)
    };
    let ran = |step: &Step| {
        let in_step = |slice: SliceRef<'_>| {
            step.range()
                .is_some_and(|range| range.contains(slice.start()))
        };
        step.span_on(time.core).is_some() || in_step(slice(&first)) || in_step(slice(&last))
    };
    let ran = numbers(&ran);
    let from = match &ran {
        Some(ran) => format!("joins at step {}", ran.start()),
        None => format!("joins {before} after the others"),
    };
    let until = match &ran {
        Some(ran) => format!("stops after step {}", ran.end()),
        None => format!("stops {after} before the others"),
    };
    match (is_long(before), is_long(after)) {
        (true, true) => Some(format!("{from} and {until}")),
        (true, false) => Some(from),
        (false, true) => Some(until),
        (false, false) => None,
    }
}

/// In a clause: `1 of 4 devices runs nothing (/device:TPU:3)`.
pub(super) fn clause(loads: &[DeviceLoad]) -> Option<String> {
    const NAMED: usize = 4;
    let mut kinds: Vec<(&str, Vec<&str>)> = Vec::new();
    for load in loads {
        let Some(what) = load.absence.as_deref() else {
            continue;
        };
        match kinds.iter_mut().find(|(known, _)| *known == what) {
            Some((_, names)) => names.push(&load.core),
            None => kinds.push((what, vec![&load.core])),
        }
    }
    let of = counted(loads.len(), "device");
    let clause = |(what, names): &(&str, Vec<&str>)| {
        let what = if names.len() > 1 {
            plural(what)
        } else {
            (*what).to_owned()
        };
        let more = if names.len() > NAMED { ", …" } else { "" };
        let listed = joined(names.iter().take(NAMED), ", ");
        format!("{} of {of} {what} ({listed}{more})", names.len())
    };
    (!kinds.is_empty()).then(|| joined(kinds.iter().map(clause), "; "))
}

/// `runs nothing` of several.
fn plural(what: &str) -> String {
    let words = [("runs", "run"), ("joins", "join"), ("stops", "stop")];
    joined(
        what.split(' ').map(|word| {
            words
                .iter()
                .find(|(one, _)| *one == word)
                .map_or(word, |(_, many)| many)
                .to_owned()
        }),
        " ",
    )
}
