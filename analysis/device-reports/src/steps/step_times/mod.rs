//! How long steps take, and which ones stand out.

#[cfg(test)]
mod tests;

use facts::prelude::*;

/// The step analysis.
pub struct Steps;

impl Analysis for Steps {
    type Report = StepsReport;
    const ID: &str = "steps";
    const TITLE: &str = "Steps";

    fn run(cx: &Context<'_>) -> Result<StepsReport> {
        if cx.scope == Scope::WholeTrace {
            return Ok(cx.steps().clone());
        }
        let mut report = cx.steps().clone();
        report.steps.retain(|step| match cx.scope {
            Scope::WholeTrace => true,
            // A step that a border cuts is none of the range: what is inside is not what a step takes.
            Scope::Range(range) => step
                .range()
                .is_some_and(|step_range| range.encloses(step_range)),
            Scope::Steps { first, last } => (first..=last).contains(&step.number),
        });
        report.summarise();
        Ok(report)
    }
}
