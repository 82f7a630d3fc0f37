//! Rejects steps, times and devices that the trace does not have.

use crate::assumptions::PartRequest;
use crate::error::{RequestError, Result};
use crate::values::{RangeArg, StepsArg, Text};
use analysis::Scope;
use analysis::reports::Steps;
use session::Session;
use std::collections::BTreeSet;
use trace_model::GroupKind;

/// The part of the trace; rejects steps and times that it does not have.
pub fn check_part(session: &Session, part: &PartRequest) -> Result<Scope> {
    if part.steps.is_some() && part.range.is_some() {
        return Err(RequestError::Usage(
            "steps and range: write one of them".to_owned(),
        ));
    }
    if let Some(Text(RangeArg(range))) = part.range
        && range
            .intersect(session.model().extent())
            .is_none_or(trace_model::TimeRange::is_empty)
    {
        let extent = session.model().extent();
        let [from, to] = [extent.start, extent.end].map(trace_model::Timestamp::since_origin);
        return Err(RequestError::argument(
            "range",
            format!("outside the capture, which is from {from} to {to}"),
        ));
    }
    part.steps
        .map_or(Ok(()), |steps| check_steps(session, steps.0))?;
    Ok(match part.scope() {
        Scope::Steps { first, last } => steps_that_are_there(session, first, last),
        scope => scope,
    })
}

/// Steps `first` to `last` as far as the trace has them, so that answers name no others; `3..` stays without an end.
fn steps_that_are_there(session: &Session, first: u32, last: u32) -> Scope {
    let steps = session.report::<Steps>(Scope::WholeTrace).ok();
    let chosen = steps.iter().flat_map(|steps| steps.selected(first, last));
    let numbers: Vec<u32> = chosen.map(|step| step.number).collect();
    match (numbers.iter().min(), numbers.iter().max()) {
        (Some(&first), Some(&there)) => Scope::Steps {
            first,
            last: if last == u32::MAX { last } else { there },
        },
        _ => Scope::Steps { first, last },
    }
}

/// Rejects steps that the trace does not have.
pub fn check_steps(session: &Session, StepsArg { first, last }: StepsArg) -> Result<()> {
    let Ok(steps) = session.report::<Steps>(Scope::WholeTrace) else {
        return Ok(());
    };
    let mut all = steps.steps.iter();
    if all.any(|step| (first..=last).contains(&step.number)) {
        return Ok(());
    }
    let numbers = steps.steps.iter().map(|step| step.number);
    let there = match (numbers.clone().min(), numbers.max()) {
        (Some(least), Some(most)) => format!("steps {least} to {most}"),
        _ => "no steps".to_owned(),
    };
    Err(RequestError::argument(
        "steps",
        format!("the trace has {there}"),
    ))
}

/// Rejects devices that the trace does not have.
pub fn check_devices(session: &Session, wanted: &[u32]) -> Result<()> {
    let model = session.model();
    let ordinals: BTreeSet<u32> = model
        .tensor_cores()
        .into_iter()
        .filter_map(|core| match model.group(core).kind {
            GroupKind::TensorCore { ordinal } => Some(ordinal),
            _ => None,
        })
        .collect();
    let Some(missing) = wanted.iter().find(|ordinal| !ordinals.contains(ordinal)) else {
        return Ok(());
    };
    let there: Vec<_> = ordinals.iter().map(u32::to_string).collect();
    let there = if there.is_empty() {
        "no TPU devices".to_owned()
    } else {
        format!("devices {}", there.join(", "))
    };
    Err(RequestError::argument(
        "device",
        format!("{missing} is not there: the trace has {there}"),
    ))
}
