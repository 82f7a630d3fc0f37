//! Rejects steps, times and devices that the trace does not have.

use crate::common::args::{InputArgs, ScopeArgs};
use crate::common::failure::Failure;
use crate::common::values::{RangeArg, StepsArg};
use analysis::Scope;
use analysis::reports::steps::step_times::Steps;
use session::Session;
use std::collections::BTreeSet;
use trace_model::GroupKind;

/// Rejects steps, times and devices that the trace does not have.
pub fn check_scope(session: &Session, input: &InputArgs, scope: &ScopeArgs) -> Result<(), Failure> {
    check_devices(session, &input.assume.device)?;
    check_part(session, scope)
}

/// Rejects steps and times that the trace does not have.
pub fn check_part(session: &Session, scope: &ScopeArgs) -> Result<(), Failure> {
    if let Some(RangeArg(range)) = scope.range
        && range.intersect(session.model().extent()).is_none_or(trace_model::TimeRange::is_empty)
    {
        let extent = session.model().extent();
        let [from, to] = [extent.start, extent.end].map(trace_model::Timestamp::since_origin);
        return Err(Failure::Usage(format!("--range is outside the capture, which is from {from} to {to}")));
    }
    scope.steps.map_or(Ok(()), |steps| check_steps(session, steps))
}

/// Rejects steps that the trace does not have.
pub fn check_steps(session: &Session, StepsArg { first, last }: StepsArg) -> Result<(), Failure> {
    let Ok(steps) = session.report::<Steps>(Scope::WholeTrace) else { return Ok(()) };
    if steps.steps.iter().any(|step| (first..=last).contains(&step.number)) {
        return Ok(());
    }
    let numbers = steps.steps.iter().map(|step| step.number);
    let (least, most) = (numbers.clone().min(), numbers.max());
    let there = least.zip(most).map_or("no steps".to_owned(), |(least, most)| format!("steps {least} to {most}"));
    Err(Failure::Usage(format!("--steps: the trace has {there}")))
}

/// Rejects devices that the trace does not have.
pub fn check_devices(session: &Session, wanted: &[u32]) -> Result<(), Failure> {
    let model = session.model();
    let ordinals: BTreeSet<u32> = model
        .tensor_cores()
        .into_iter()
        .filter_map(|core| match model.group(core).kind {
            GroupKind::TensorCore { ordinal } => Some(ordinal),
            _ => None,
        })
        .collect();
    let Some(missing) = wanted.iter().find(|ordinal| !ordinals.contains(ordinal)) else { return Ok(()) };
    let there: Vec<_> = ordinals.iter().map(u32::to_string).collect();
    let there = if there.is_empty() { "no TPU devices".to_owned() } else { format!("devices {}", there.join(", ")) };
    Err(Failure::Usage(format!("--device {missing}: the trace has {there}")))
}
