//! Gates that a run must pass: budgets, which limit a number, and regressions, which limit its change against a
//! baseline.
//!
//! A gate passes, fails, or is [`Status::Inconclusive`]: too few steps, files of several sessions, no baseline, or a
//! baseline that is not comparable. The effect of a failure depends on the gate's [`GateLevel`].

mod config;
mod limits;
mod measure;
mod metrics;
pub mod nearest;
mod preset;
mod proof;
mod report;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::compare::{
    BoundSides, CompareOptions, Comparison, RunValue, Summary, are_computed, compare,
    matched_classes, without_repeated,
};
use measure::MetricOfBoth;
use metrics::{written_difference, written_unit};
use proof::{NoiseVerdict, proof};
use report::statement;
use run_reports::hlo::PeakMemory;

pub use config::{Comparable, GateConfig, GateConfigError, GateDefaults, OnMismatch};
pub use limits::{Budget, GateLevel, Regression, StepAggregate};
pub use measure::MetricRuns;
pub use metrics::{is_listed, meaning, number, suffixes};
pub use preset::preset;
pub use report::{AlikeGates, Gate, GatesReport, GatesVerdict, Status};

/// Options of the comparison, from the configuration of the gates: how many steps a gate needs changes no conclusion of the
/// comparison.
pub fn compare_options(config: &GateConfig) -> CompareOptions {
    CompareOptions {
        require: config.comparable.require.clone(),
        ..CompareOptions::default()
    }
}

/// The input of an evaluation.
#[derive(Clone, Copy)]
struct GateSides<'a> {
    runs: &'a [Summary],
    baseline: Option<(&'a [Summary], &'a Comparison)>,
}

impl GateSides<'_> {
    /// Whether all times are computed: without noise, one step says what many would.
    fn are_computed(&self) -> bool {
        let base = self.baseline.into_iter().flat_map(|(base, _)| base);
        are_computed(self.runs.iter().chain(base))
    }
}

/// Evaluates the gates for a run, or for several runs as one; regressions use a comparison with the baseline as the
/// first side.
pub fn judge(
    runs: &[Summary],
    baseline: Option<(&[Summary], &Comparison)>,
    config: &GateConfig,
) -> GatesReport {
    // The class of steps that the comparison is about, on both sides; all classes if a gate names a program.
    let matched = baseline.and_then(|(base, _)| matched_classes(base, runs).into_iter().next());
    let main = GateSides {
        runs: matched.as_ref().map_or(runs, |class| &class.cand),
        baseline: baseline.map(|(base, comparison)| {
            (
                matched.as_ref().map_or(base, |class| class.base.as_ref()),
                comparison,
            )
        }),
    };
    let all = GateSides { runs, baseline };
    let sides = |module: &Option<String>| if module.is_some() { all } else { main };
    let mut gates: Vec<Gate> = Vec::new();
    for budget in &config.budget {
        let level = budget.level.unwrap_or(config.defaults.level);
        if level != GateLevel::Off {
            gates.push(judge_budget(sides(&budget.module), budget, level, config));
        }
    }
    for regression in config.regressions(baseline.map(|(base, _)| base), runs) {
        let level = regression.level.unwrap_or(config.defaults.level);
        if level != GateLevel::Off {
            gates.push(judge_regression(
                sides(&regression.module),
                &regression,
                level,
                config,
            ));
        }
    }
    gates.sort_by_key(|gate| {
        let order = match (gate.status, gate.level) {
            (Status::Fail, GateLevel::Error) => 0,
            (Status::Fail, _) => 1,
            (Status::Inconclusive, _) => 2,
            (Status::Pass, _) => 3,
        };
        (order, gate.name())
    });
    let mismatch = baseline.filter(|(_, comparison)| !comparison.is_comparable);
    GatesReport {
        statement: statement(
            &gates,
            mismatch.map_or("", |(_, comparison)| &comparison.statement),
        ),
        gates,
    }
}

fn judge_budget(
    sides: GateSides<'_>,
    budget: &Budget,
    level: GateLevel,
    config: &GateConfig,
) -> Gate {
    let aggregate = budget.aggregate.unwrap_or(config.defaults.aggregate);
    let unit = written_unit(&budget.metric);
    let limit = match (budget.max, budget.min) {
        (Some(max), Some(min)) => format!("from {min} to {max}{unit}"),
        (Some(max), None) => format!("at most {max}{unit}"),
        (None, Some(min)) => format!("at least {min}{unit}"),
        (None, None) => "no limit".to_owned(),
    };
    let mut gate = Gate {
        op: budget.op.clone(),
        module: budget.module.clone(),
        aggregate,
        level,
        limit,
        ..Gate::unjudged("budget", &budget.metric)
    };
    if let Some(why) = mixed_sessions(sides.runs) {
        gate.message = format!("{}: {why}", budget.metric);
        return gate;
    }
    let runs = of_module(sides.runs, budget.module.as_deref());
    let measured =
        runs.and_then(|runs| MetricRuns::of(&runs, &budget.metric, budget.op.as_deref()));
    let measured = match measured {
        Ok(measured) => measured,
        Err(why) => {
            gate.message = gate.without_number(&why);
            return gate;
        }
    };
    let actual = measured.aggregate(aggregate);
    (gate.actual, gate.actual_is_lower_bound) = (actual, measured.is_lower_bound());
    let Some(actual) = actual else { return gate };
    let is_above = budget.max.is_some_and(|max| actual > max);
    let exceeds = is_above || budget.min.is_some_and(|min| actual < min);
    gate.message = format!(
        "{} is {}, allowed {}",
        gate.subject(),
        measured.said_beside([budget.max, budget.min], actual, &budget.metric),
        gate.limit
    );
    // The number may be higher: what is above a maximum already is above it in any case, and so is what reaches a minimum.
    if let Some(why) = measured.at_least_because()
        && !is_above
        && (exceeds || budget.max.is_some())
    {
        gate.message.push_str(&only_a_bound(why));
        return gate;
    }
    let is_near = |max| is_near_estimate(sides.runs, &budget.metric, max);
    if budget.max.is_some_and(is_near) {
        gate.message.push_str(
            ", but only an estimate without padding is known: a limit needs the compiler's plan",
        );
        return gate;
    }
    let steps = measured.steps();
    if measured.is_series
        && !sides.are_computed()
        && let Some(few) = too_few(steps, aggregate, config)
    {
        let _ = write!(gate.message, ", but {few}");
        return gate;
    }
    let may_exceed = |limit: Option<f64>| {
        limit.is_some_and(|limit| measured.may_exceed(actual, limit, aggregate))
    };
    // The additional time would exceed one limit or satisfy the other.
    if may_exceed(budget.max)
        || (exceeds && budget.max.is_none_or(|max| actual <= max) && may_exceed(budget.min))
    {
        gate.message.push_str(
            ", but ops that the saved summary does not list may add to it (systole summarize --ops N)",
        );
        return gate;
    }
    gate.status = if exceeds { Status::Fail } else { Status::Pass };
    gate
}

/// Peak memory that is no plan of the compiler, if this is one.
pub fn estimated_peak(value: &RunValue) -> Option<PeakMemory> {
    let peak = PeakMemory {
        bytes: value.value? as u64,
        is_planned: false,
    };
    value.of.ends_with(peak.how()).then_some(peak)
}

/// Whether a limit is so near to an estimate of peak memory that the compiler's plan may be on either side of it.
fn is_near_estimate(runs: &[Summary], metric: &str, max: f64) -> bool {
    let Ok(wanted) = metrics::find(metric) else {
        return false;
    };
    let max = (max * wanted.scale) as u64;
    let known = runs.iter().filter_map(|run| run.value(&wanted.id));
    let mut peaks = known.filter_map(estimated_peak);
    peaks.any(|peak| peak.fits(max).is_none())
}

/// What a gate says that a lower bound does not decide.
fn only_a_bound(why: &str) -> String {
    format!(", but only a lower bound is known: {why}")
}

/// The reason why a run that mixes sessions proves nothing.
fn mixed_sessions(runs: &[Summary]) -> Option<String> {
    let sessions = runs.iter().find_map(|run| run.facts.sessions_apart)?;
    Some(format!(
        "the files are of {sessions} sessions that are far apart, and numbers mix them: name the file of one host, or put \
         each session into a folder of its own"
    ))
}

/// The reason why this many steps are too few.
fn too_few(steps: usize, aggregate: StepAggregate, config: &GateConfig) -> Option<String> {
    let needed = aggregate.steps_needed(config.defaults.min_steps);
    let steady = if steps == 1 {
        "1 steady step is".to_owned()
    } else {
        format!("{steps} steady steps are")
    };
    let why = if needed > config.defaults.min_steps {
        format!(
            "{} needs {needed}, one of them beyond it",
            aggregate.title()
        )
    } else {
        format!("min_steps = {needed}")
    };
    (steps < needed).then(|| format!("{steady} too few ({why})"))
}

/// The runs with the steps of one program; the error lists the programs that exist.
fn of_module<'a>(runs: &'a [Summary], module: Option<&str>) -> Result<Cow<'a, [Summary]>, String> {
    let Some(module) = module else {
        return Ok(Cow::Borrowed(runs));
    };
    let of_module: Vec<Summary> = runs
        .iter()
        .filter_map(|run| Some(run.of_module(module)?.into_owned()))
        .collect();
    if !of_module.is_empty() {
        return Ok(Cow::Owned(of_module));
    }
    let main = runs
        .first()
        .and_then(|run| run.facts.programs.first())
        .map_or("none", |program| &program.name);
    let listed = if runs.iter().any(|run| run.classes_not_listed > 0) {
        "; the saved summary does not list all kinds of steps"
    } else {
        ""
    };
    Err(format!(
        "most steps of this run are of {main}, none are of {module}{listed}"
    ))
}

fn judge_regression(
    sides: GateSides<'_>,
    regression: &Regression,
    level: GateLevel,
    config: &GateConfig,
) -> Gate {
    let aggregate = regression.aggregate.unwrap_or(config.defaults.aggregate);
    let mut gate = Gate {
        op: regression.op.clone(),
        module: regression.module.clone(),
        aggregate,
        level,
        limit: regression.limit(),
        ..Gate::unjudged("regression", &regression.metric)
    };
    match compared(sides, regression, &mut gate, config) {
        Ok(status) => gate.status = status,
        Err(why) => gate.message = gate.without_number(&why),
    }
    gate
}

/// The values of a metric on both sides; the error says why they are not known.
fn metric_of_both(
    sides: GateSides<'_>,
    regression: &Regression,
    config: &GateConfig,
) -> Result<MetricOfBoth, String> {
    let GateSides { runs, baseline } = sides;
    let Some((base, comparison)) = baseline else {
        return Err("there is no baseline: --baseline names one, and a history, also that of watch, has one after its first good run".to_owned());
    };
    if let Some(why) = mixed_sessions(runs).or_else(|| mixed_sessions(base)) {
        return Err(why);
    }
    if !comparison.is_comparable && config.comparable.on_mismatch == OnMismatch::Inconclusive {
        return Err(comparison.statement.clone());
    }
    let module = regression.module.as_deref();
    let (base, runs) = (of_module(base, module)?, of_module(runs, module)?);
    MetricOfBoth::of(&base, &runs, &regression.metric, regression.op.as_deref())
}

/// Adds to a gate the numbers of both sides and what is said of them; the error says why they are not known.
fn compared(
    sides: GateSides<'_>,
    regression: &Regression,
    gate: &mut Gate,
    config: &GateConfig,
) -> Result<Status, String> {
    let aggregate = gate.aggregate;
    let is_computed = sides.are_computed();
    let MetricOfBoth {
        base: first,
        cand: second,
        unlisted,
    } = metric_of_both(sides, regression, config)?;
    let (Some(before), Some(after)) = (first.aggregate(aggregate), second.aggregate(aggregate))
    else {
        return Err(format!("{} is not known on both sides", regression.metric));
    };
    let of_base = |change: f64, base: f64| (base.abs() > 0.0).then(|| 100.0 * change / base.abs());
    let is_exceeded = |base: f64, actual: f64| {
        let change = actual - base;
        regression.exceeds(change, of_base(change, base), BoundSides::default()) == Some(true)
    };
    let change = after - before;
    let percent = of_base(change, before);
    let bounds = BoundSides {
        base: first.is_lower_bound(),
        cand: second.is_lower_bound(),
    };
    (gate.actual, gate.actual_is_lower_bound) = (Some(after), bounds.cand);
    (gate.base, gate.base_is_lower_bound) = (Some(before), bounds.base);
    let test = (regression.alpha, config.defaults.min_steps);
    let effect = regression
        .min_effect_ms
        .and_then(|ms| first.of_ms(ms))
        .or(regression.min_effect)
        .unwrap_or(0.0);
    let difference = written_difference(&regression.metric);
    let shown = Some(regression.shown(change, percent));
    let shown = shown.filter(|shown| !(shown.is_empty() || bounds.any()));
    gate.message = format!(
        "{} is {}, was {}{}, allowed {}",
        gate.subject(),
        second.said(after, &regression.metric),
        first.said(before, &regression.metric),
        shown.map(|shown| format!(" ({shown})")).unwrap_or_default(),
        gate.limit
    );
    let message = &mut gate.message;
    // More than a bound may be more than the smallest change that counts.
    let exceeds = regression
        .exceeds(change, percent, bounds)
        .filter(|exceeds| !(*exceeds && bounds.any() && change.abs() < effect));
    let Some(exceeds) = exceeds else {
        let why = first.at_least_because().or(second.at_least_because());
        message.push_str(&only_a_bound(why.unwrap_or_default()));
        return Ok(Status::Inconclusive);
    };
    let is_series = first.is_series && second.is_series;
    let has_several = first.runs.len().max(second.runs.len()) > 1;
    let needs_proof = regression
        .require_significance
        .unwrap_or((is_series || has_several) && !is_computed);
    if is_series
        && !is_computed
        && let Some(few) = too_few(first.steps().min(second.steps()), aggregate, config)
    {
        let _ = write!(message, ", but {few}");
        return Ok(Status::Inconclusive);
    }
    if is_exceeded(before + unlisted.0, after + unlisted.1) != exceeds
        && change.abs() + unlisted.0.max(unlisted.1) >= effect
    {
        let unlisted = unlisted.0.max(unlisted.1);
        let more = number(unlisted);
        let _ = write!(
            message,
            ", but one side lists only its largest ops and may have {more}{difference} more"
        );
        return Ok(Status::Inconclusive);
    }
    if exceeds && change.abs() < effect {
        let _ = write!(
            message,
            "; less than the minimum of {}{difference}",
            number(effect)
        );
    }
    if !exceeds || change.abs() < effect {
        return Ok(Status::Pass);
    }
    // One long step proves nothing: garbage collection, a checkpoint, another job on the host.
    let without = second
        .mean_without_longest()
        .filter(|_| needs_proof && is_series && aggregate == StepAggregate::Mean);
    if without.is_some_and(|without| !is_exceeded(before, without)) {
        message.push_str("; within noise: a single long step makes the difference");
        return Ok(Status::Pass);
    }
    let verdict = if needs_proof {
        proof(&first, &second, aggregate, effect, test)
    } else {
        NoiseVerdict::Real
    };
    let (status, more) = status_beside_noise(verdict);
    message.push_str(more);
    Ok(status)
}

/// The outcome of a limit that is exceeded, and what the message adds.
fn status_beside_noise(verdict: NoiseVerdict) -> (Status, &'static str) {
    match verdict {
        NoiseVerdict::Real => (Status::Fail, ""),
        NoiseVerdict::Noise => (Status::Pass, "; within noise"),
        NoiseVerdict::TooFew => (
            Status::Inconclusive,
            "; too few steps to tell it from noise",
        ),
        NoiseVerdict::Untested => (
            Status::Inconclusive,
            "; a single value per side does not show its variation: give several runs",
        ),
    }
}

/// Compares with a baseline and evaluates the gates.
pub fn against(
    run: &Summary,
    baseline: &[Summary],
    config: &GateConfig,
) -> (GatesReport, Option<Comparison>) {
    let run = std::slice::from_ref(run);
    if baseline.is_empty() {
        return (judge(run, None, config), None);
    }
    let comparison = compare(baseline, run, &compare_options(config));
    let baseline = &*without_repeated(baseline).0;
    (
        judge(run, Some((baseline, &comparison)), config),
        Some(comparison),
    )
}
