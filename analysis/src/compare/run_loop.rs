//! The loop of a run: the steady steps of all classes and the time between them.
//!
//! Metrics of one class of steps exclude the time between the steps, and their median ignores a few slow steps. These
//! metrics show a loop that recompiles or stalls.

use super::comparison::Comparison;
use super::summary::{Better, RunValue, StepSeries, Summary, thinned};
use crate::engine::{Context, Percent, Provenance};
use crate::facts::steps::{Step, StepsReport};
use crate::math::resample::{self, Statistic};
use crate::math::unit::Unit;
use crate::reports::host::compile::{Compile, CompilePlace};

/// Time of each step of the loop, up to the start of the next.
pub const LOOP_STEP: &str = "loop.step_ps";
/// 100 for a slow step, 0 for any other: the mean is their share.
pub const SLOW_SHARE: &str = "loop.slow_percent";
/// Compilations after warm-up.
pub const LOOP_COMPILATIONS: &str = "compile.loop_count";

/// Smallest change of the loop that the headline mentions, in percent.
const WORTH_SAYING_PERCENT: f64 = 2.0;

/// Numbers of each step of the loop, in time order; none if no steady steps were found.
pub(super) fn series(steps: &StepsReport, most: usize) -> Vec<StepSeries> {
    let counted: Vec<&Step> = steps.counted().collect();
    let of = |id: &str, title: &str, unit, value: &dyn Fn(&Step) -> f64| StepSeries {
        id: id.to_owned(),
        title: title.to_owned(),
        unit,
        better: Better::Lower,
        values: thinned(&counted.iter().map(|step| value(step)).collect::<Vec<_>>(), most),
    };
    let time = |step: &Step| step.interval_ps.unwrap_or(step.time_ps) as f64;
    let slow = |step: &Step| if step.is_outlier { 100.0 } else { 0.0 };
    vec![
        of(LOOP_STEP, "Time of the loop, per step", Unit::Picoseconds, &time),
        of(SLOW_SHARE, "Slow steps", Unit::Percent, &slow),
    ]
}

/// Compilations from the first steady step to the last step; `None` if the capture has no host threads. `why_none` says
/// why there is no such step.
pub(super) fn compilations(cx: &Context<'_>, steps: &StepsReport, why_none: Option<&str>) -> Option<RunValue> {
    let report = cx.report::<Compile>().ok()?;
    let is_warmup = |number: u32| steps.steps.iter().any(|step| step.number == number && step.is_warmup);
    let in_loop = |place: Option<CompilePlace>| match place {
        Some(CompilePlace::InStep(step) | CompilePlace::AfterStep(step)) => !is_warmup(step),
        Some(CompilePlace::BeforeSteps | CompilePlace::AfterSteps) | None => false,
    };
    let count = report.list.iter().filter(|compilation| in_loop(compilation.place)).count();
    Some(RunValue {
        id: LOOP_COMPILATIONS.to_owned(),
        title: "Compilations in the loop".to_owned(),
        unit: Unit::Count,
        better: Better::Lower,
        value: why_none.is_none().then_some(count as f64),
        of: "the loop, after warm-up".to_owned(),
        provenance: Provenance::Measured,
        note: why_none.map(str::to_owned),
    })
}

/// The clause about the loop in the headline: `the loop takes +50.0 % a step (10.00 ms to 15.00 ms), 3 compilations in
/// it (0 before), 3 of 20 steps are slow (0 before)`.
pub(super) fn clause(base: &[Summary], cand: &[Summary]) -> Option<String> {
    let mut parts = Vec::new();
    let (first, second) = (values(base, LOOP_STEP), values(cand, LOOP_STEP));
    if let (Some(before), Some(after)) = (mean(&first), mean(&second)) {
        let change = after - before;
        let noise = resample::noise_of(&first, Statistic::Mean, 0.95).unwrap_or(f64::INFINITY);
        if before > 0.0 && 100.0 * change.abs() / before >= WORTH_SAYING_PERCENT && change.abs() > noise {
            let ps = |value: f64| trace_model::Picos::from_ps(value.round() as i64);
            let percent = 100.0 * change / before;
            parts.push(format!(
                "the loop takes {percent:+.1} per step ({} to {})",
                ps(before),
                ps(after),
                percent = Percent(percent)
            ));
        }
    }
    let most = |runs: &[Summary]| runs.iter().filter_map(|run| run.value(LOOP_COMPILATIONS)?.value).reduce(f64::max);
    if let (Some(before), Some(after)) = (most(base), most(cand))
        && after > before
    {
        let what = if after > 1.0 { "compilations" } else { "compilation" };
        parts.push(format!("{after} {what} in it ({before} before)"));
    }
    let (first, second) = (values(base, SLOW_SHARE), values(cand, SLOW_SHARE));
    if let (Some(before), Some(after)) = (mean(&first), mean(&second))
        && after > before
    {
        let slow = |runs: &[Vec<f64>]| runs.concat().iter().filter(|value| **value > 0.0).count();
        let (count, of) = (slow(&second), second.concat().len());
        let (base_count, base_of) = (slow(&first), first.concat().len());
        let are = if count == 1 { "is" } else { "are" };
        let before =
            if base_of == of { format!("{base_count} before") } else { format!("{base_count} of {base_of} before") };
        parts.push(format!("{count} of {of} steps {are} slow ({before})"));
    }
    if parts.is_empty() {
        return None;
    }
    let text = parts.join(", ");
    Some(if text.starts_with("the loop") { text } else { format!("in the loop: {}", text.replace(" in it (", " (")) })
}

fn values(runs: &[Summary], id: &str) -> Vec<Vec<f64>> {
    runs.iter().filter_map(|run| Some(run.step_values(id)?.into_owned())).filter(|values| !values.is_empty()).collect()
}

fn mean(runs: &[Vec<f64>]) -> Option<f64> {
    let all = runs.concat();
    (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64)
}

impl Comparison {
    /// Adds the clause about the loop to the headline.
    pub(super) fn say_of_loop(&mut self, base: &[Summary], cand: &[Summary]) {
        if self.prediction.is_none()
            && self.is_comparable
            && let Some(clause) = clause(base, cand)
        {
            // Before the clause about ops, which refers to the interquartile mean step.
            let at = self.statement.find("; mean step").or_else(|| self.statement.find("; most ops are"));
            let at = at.unwrap_or(self.statement.len());
            self.statement.insert_str(at, &format!("; {clause}"));
        }
    }
}
