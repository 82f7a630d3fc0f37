//! Which steps the totals over the steady steps are of.

use facts::prelude::*;

use super::report::SteadyOps;

impl SteadyOps {
    /// The steady steps, still without the totals of cores; `None` without any, or if the scope is not the whole trace.
    pub(super) fn wanted(cx: &Context<'_>) -> Option<Self> {
        let whole = (cx.scope == Scope::WholeTrace).then(|| cx.fact::<StepsReport>());
        let steady = whole?.steady()?;
        let [first, last] = [steady.first()?, steady.last()?].map(|step: &Step| step.number);
        let steps = Self {
            first,
            last,
            steps: steady.len() as u32,
            cores: Vec::new(),
        };
        // Steps of the host may be at times when no device runs.
        let scoped = cx.scoped(steps.scope());
        cx.tensor_cores()
            .iter()
            .all(|&core| scoped.window(core).is_ok())
            .then_some(steps)
    }

    /// Its steps.
    pub(super) fn scope(&self) -> Scope {
        let Self { first, last, .. } = *self;
        Scope::Steps { first, last }
    }
}
