//! The step in which a compilation happened, and its cost for the step.

use facts::prelude::*;
use facts::steps::on_host;
use math::stats::median;
use serde::Serialize;

/// The position of an event relative to the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CompilePlace {
    /// Before the first step of the capture.
    BeforeSteps,
    /// In this step.
    InStep(u32),
    /// After this step and before the next.
    AfterStep(u32),
    /// After the last step.
    AfterSteps,
}

impl CompilePlace {
    /// Display name.
    pub fn title(self) -> String {
        match self {
            Self::BeforeSteps => "before the first step".to_owned(),
            Self::InStep(step) => format!("step {step}"),
            Self::AfterStep(step) => format!("after step {step}"),
            Self::AfterSteps => "after the last step".to_owned(),
        }
    }
}

engine::shown_by_title!(CompilePlace);

/// Steps by time, to find the one at a given instant.
pub(super) struct StepFinder<'a> {
    steps: Vec<(TimeRange, &'a Step)>,
    /// The first step of each number.
    by_number: BTreeMap<u32, usize>,
    /// Median time of the steps that do not compile.
    pub usual_ps: Option<Picos>,
}

impl<'a> StepFinder<'a> {
    /// By the clock of the host.
    pub fn new(cx: &Context<'_>, report: Option<&'a StepsReport>) -> Self {
        let report = report.filter(|report| report.has_steps());
        let steps = report.map(|report| &*report.steps).unwrap_or_default();
        let times = |keep: &dyn Fn(&&Step) -> bool| -> Option<Picos> {
            let counted = report?
                .counted()
                .filter(keep)
                .map(|step| step.time_ps.as_ps_f64());
            median(&counted.collect::<Vec<_>>()).map(|ps| Picos::from_ps(ps as i64))
        };
        let usual_ps = times(&|step| step.compile_ps == Picos::ZERO).or_else(|| times(&|_| true));
        let mut steps: Vec<_> = steps
            .iter()
            .filter_map(|step| Some((on_host(cx, &step.spans)?, step)))
            .collect();
        steps.sort_by_key(|(range, step)| (range.start, step.number));
        // The first step of a number counts, so it is inserted last.
        let by_number = steps
            .iter()
            .enumerate()
            .rev()
            .map(|(index, (_, step))| (step.number, index))
            .collect();
        Self {
            steps,
            by_number,
            usual_ps,
        }
    }

    /// The position of `time`; `None` without steps.
    pub fn place(&self, time: Timestamp) -> Option<CompilePlace> {
        let begun = self.steps.partition_point(|(range, _)| range.start <= time);
        let Some((range, step)) = begun.checked_sub(1).and_then(|last| self.steps.get(last)) else {
            return self.steps.first().map(|_| CompilePlace::BeforeSteps);
        };
        Some(match () {
            () if range.contains(time) => CompilePlace::InStep(step.number),
            () if begun < self.steps.len() => CompilePlace::AfterStep(step.number),
            () => CompilePlace::AfterSteps,
        })
    }

    /// The step with a number.
    pub fn step(&self, number: u32) -> Option<&'a Step> {
        self.steps
            .get(*self.by_number.get(&number)?)
            .map(|(_, step)| *step)
    }

    /// Spans of the steps up to the one with `number`, latest first.
    pub fn back_from(&self, number: u32) -> impl Iterator<Item = TimeRange> {
        let index = self.by_number.get(&number);
        self.steps[..index.map_or(0, |index| index + 1)]
            .iter()
            .rev()
            .map(|(range, _)| *range)
    }
}
