//! Totals over the steady steps, which several reports show.

use engine::{Context, Fact, Scope};
use facts::steps::{Step, StepsReport};

use super::{CoreOps, cores_without_duty};

/// The longest run of steady steps ([`StepsReport::steady`]).
pub struct SteadyOps {
    /// Number of its first step.
    pub first: u32,
    /// Number of its last step.
    pub last: u32,
    /// How many steps it has.
    pub steps: u32,
    /// Totals of the cores, without duty.
    pub cores: Vec<CoreOps>,
}

impl SteadyOps {
    /// `None` without steps, or if no device recorded ops in them: steps of the host may be at times when no device runs.
    pub fn of<'a>(cx: &Context<'a>) -> Option<&'a Self> {
        cx.fact::<SteadyOpsFact>().0.as_ref()
    }
}

/// The steady steps, if the trace has any.
struct SteadyOpsFact(Option<SteadyOps>);

impl Fact for SteadyOpsFact {
    fn find(cx: &Context<'_>) -> Self {
        Self(found(cx))
    }
}

fn found(cx: &Context<'_>) -> Option<SteadyOps> {
    let steady = cx.fact::<StepsReport>().steady()?;
    let [first, last] = [steady.first()?, steady.last()?].map(|step: &Step| step.number);
    let cores = cores_without_duty(&cx.scoped(Scope::Steps { first, last })).ok()?;
    Some(SteadyOps {
        first,
        last,
        steps: steady.len() as u32,
        cores,
    })
}
