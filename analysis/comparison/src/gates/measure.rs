//! Looks up the values of a metric in runs.
//!
//! Names are those of [`METRICS`](crate::compare::METRICS) with any fitting unit: `step.time_ms` and `step.time_us` are
//! both `step.time_ps`.

use device_reports::StepPart;
use engine::{LowerBound, glob};
use facts::prelude::*;
use math::stats::median;
use regex_lite::Regex;
use trace_model::without_number;

use super::limits::StepAggregate;
use super::metrics;
use super::nearest;
use crate::compare::{MetricScope, OpTimes, Summary};

/// Rejects a name that is wrong for every run.
pub(super) fn check_metric(name: &str, op: Option<&str>) -> Result<(), String> {
    let is_of_ops = metrics::find(name)?.metric.per == MetricScope::Op;
    match op {
        Some(pattern) if !is_of_ops => Err(format!(
            "op = {pattern:?} needs metric = \"op.time_ms_per_step\" or \"op.exposed_ms_per_step\", not {name:?}"
        )),
        Some(pattern) => matcher(pattern).map(|_| ()),
        None if is_of_ops => Err(format!(
            "{name} needs op = \"NAME\", a pattern with *, or re:REGEX"
        )),
        None => Ok(()),
    }
}

/// Whether the unit of a name is one of time.
pub(super) fn is_time(name: &str) -> bool {
    metrics::find(name).is_ok_and(|wanted| wanted.is_time())
}

/// Rejects a program that no step runs. Runs whose steps have no programs, or that do not list all classes, may have
/// it.
pub(super) fn check_module(module: &str, runs: &[&Summary]) -> Result<(), String> {
    if runs.iter().any(|run| run.classes_not_listed > 0) {
        return Ok(());
    }
    let there: BTreeSet<&str> = runs.iter().flat_map(|run| run.modules()).collect();
    if there.is_empty() || there.contains(module) {
        return Ok(());
    }
    let nearest =
        nearest::of(module, there.iter().copied()).map(|name| format!("; did you mean {name:?}?"));
    let there = joined(there, ", ");
    Err(format!(
        "no step runs the program {module:?}{}; steps run {there}",
        nearest.unwrap_or_default()
    ))
}

/// Rejects a pattern that no op of these runs matches; the error suggests the nearest op. `Ok` if a run does not list
/// all of its ops.
pub(super) fn check_op(pattern: &str, runs: &[&Summary]) -> Result<(), String> {
    let is_wanted = matcher(pattern)?;
    let ops = || runs.iter().flat_map(|run| run.op_names());
    let is_cut = runs.iter().any(|run| run.is_cut());
    if is_cut || ops().next().is_none() || ops().any(&is_wanted) {
        return Ok(());
    }
    let bare = pattern
        .trim_start_matches("re:")
        .trim_start_matches('^')
        .trim_end_matches(['*', '$', '.']);
    let nearest = nearest::of(bare, ops().map(without_number))
        .map(|name| format!("; did you mean \"{name}*\"?"));
    Err(format!(
        "no op in the steps of the run matches {pattern:?}{}",
        nearest.unwrap_or_default()
    ))
}

/// The numbers of a metric, in the unit of its name.
#[derive(Debug, Default)]
pub struct MetricRuns {
    /// The values of each run.
    pub runs: Vec<Vec<f64>>,
    /// Whether there is one value per step instead of one per run.
    pub is_series: bool,
    /// Picoseconds per unit of the name, for times.
    ps: Option<f64>,
    /// Number of matching ops, in the run with the most of them.
    ops: usize,
    /// Whether an op matches by its name, with time of this kind or not: what has none takes 0.
    is_named: bool,
    /// Possible additional time per step of small ops that a shortened summary does not list.
    unlisted: Option<f64>,
    /// Why the numbers of a run are only lower bounds, if they are.
    at_least_because: Option<String>,
}

/// A metric on both sides of a comparison.
pub(super) struct MetricOfBoth {
    /// The values of the baseline.
    pub base: MetricRuns,
    /// The values of the run.
    pub cand: MetricRuns,
    /// Possible additional time on each side of small ops that it does not list.
    pub unlisted: (f64, f64),
}

impl MetricOfBoth {
    /// Ops smaller than those that a shortened summary lists count on neither side, because the other side would seem
    /// to have more. An op listed on one side only may have up to that time on the other.
    pub(crate) fn of(
        base: &[Summary],
        cand: &[Summary],
        name: &str,
        op: Option<&str>,
    ) -> Result<Self, String> {
        let wanted = metrics::find(name)?;
        if wanted.id.starts_with("program.") && is_lowered(base) != is_lowered(cand) {
            return Err(format!(
                "{name}: one side is compiled and the other is not; what is divided over devices is not compared with the whole"
            ));
        }
        if wanted.metric.per != MetricScope::Op {
            return Ok(Self {
                base: MetricRuns::of_side("the baseline", base, name, op)?,
                cand: MetricRuns::of(cand, name, op)?,
                unlisted: (0.0, 0.0),
            });
        }
        let metric = wanted.metric.id;
        let scale = wanted.scale;
        let pattern = op.unwrap_or("*");
        let floor = listed_from(base).max(listed_from(cand));
        let [base, cand] = [base, cand].map(|runs| of_ops(runs, metric, scale, pattern, floor));
        let base = base?;
        let cand = cand?;
        if !(base.is_named || cand.is_named) {
            return Err(no_op(pattern, floor));
        }
        let more = |here: &MetricRuns, there: &MetricRuns| {
            floor / scale * there.ops.saturating_sub(here.ops) as f64
        };
        Ok(Self {
            unlisted: (more(&base, &cand), more(&cand, &base)),
            base,
            cand,
        })
    }
}

impl MetricRuns {
    /// The values in `runs`; an error names what is missing.
    ///
    /// # Errors
    ///
    /// The metric is unknown, or a run does not have it; the text says which.
    pub(crate) fn of(runs: &[Summary], name: &str, op: Option<&str>) -> Result<Self, String> {
        Self::of_side("this run", runs, name, op)
    }

    /// The values in the runs of one side, which an error calls `side`.
    fn of_side(side: &str, runs: &[Summary], name: &str, op: Option<&str>) -> Result<Self, String> {
        let wanted = metrics::find(name)?;
        let id = wanted.id.as_str();
        let scale = wanted.scale;
        if wanted.metric.per == MetricScope::Op {
            let pattern = op.unwrap_or("*");
            let of_ops = of_ops(runs, id, scale, pattern, 0.0)?;
            return if of_ops.is_named {
                Ok(of_ops)
            } else {
                Err(no_op(pattern, listed_from(runs)))
            };
        }
        let ps = wanted.is_time().then_some(scale);
        let mut by_run = Vec::new();
        let mut is_series = false;
        let mut why = None;
        let mut at_least_because = None;
        for run in runs {
            // A part in which this run spends no time has no series either.
            if let Some(values) = run.step_values(id).filter(|values| !values.is_empty()) {
                is_series = true;
                by_run.push(values.iter().map(|value| value / scale).collect());
            } else if let Some(value) = run.run_value(id) {
                match value {
                    Ok(number) => {
                        by_run.push(vec![number.value / scale]);
                        at_least_because = at_least_because.or(number.at_least_because);
                    }
                    Err(unknown) => why = Some(unknown.to_owned()),
                }
            } else if wanted.metric.per != MetricScope::Run && run.steps.why_none.is_some() {
                why.clone_from(&run.steps.why_none);
            }
        }
        // A run without steady steps cannot be judged, even if the others have some.
        if let Some(run) = runs
            .iter()
            .find(|run| run.steps.why_none.is_some() && run.steps.counted == 0)
            && wanted.metric.per != MetricScope::Run
        {
            let why = run.steps.why_none.as_deref().unwrap_or_default();
            return Err(format!("{name}: {why}"));
        }
        match (by_run.is_empty(), why) {
            (false, _) => Ok(Self {
                runs: by_run,
                is_series,
                ps,
                at_least_because: at_least_because.map(str::to_owned),
                ..Self::default()
            }),
            (true, Some(why)) => Err(format!("{name}: {why}")),
            (true, None) if id.starts_with("program.") => Err(format!(
                "{side} has no {name}: it holds no whole program that ran on a device"
            )),
            (true, None) => Err(format!(
                "{side} has no {name}: its capture does not record it"
            )),
        }
    }

    /// All steps of all runs as one number.
    pub(crate) fn aggregate(&self, how: StepAggregate) -> Option<f64> {
        how.statistic().of(&mut self.runs.concat())
    }

    /// The mean of all steps, if the longest of each run had taken as long as its median step.
    pub(super) fn mean_without_longest(&self) -> Option<f64> {
        let sums: Vec<f64> = self
            .runs
            .iter()
            .filter_map(|run| {
                let longest = run.iter().copied().reduce(f64::max)?;
                Some(run.iter().sum::<f64>() - longest + median(run)?)
            })
            .collect();
        (!sums.is_empty()).then(|| sums.iter().sum::<f64>() / self.steps() as f64)
    }

    /// Whether the numbers come from steps.
    #[cfg(test)]
    pub(super) fn of_steps(runs: Vec<Vec<f64>>) -> Self {
        Self {
            runs,
            is_series: true,
            ..Self::default()
        }
    }

    /// Why a number of these runs is only a lower bound, if it is one: then each aggregate is one, too.
    pub(super) fn at_least_because(&self) -> Option<&str> {
        self.at_least_because.as_deref()
    }

    /// Whether a number of these runs is only a lower bound.
    pub(super) fn is_lower_bound(&self) -> bool {
        self.at_least_because.is_some()
    }

    /// A number of these runs as a gate says it: `at least 9.000 %`.
    pub(super) fn said(&self, value: f64, metric: &str) -> String {
        self.said_beside([None; 2], value, metric)
    }

    /// A number of these runs as a gate says it, with as many digits as tell it from these limits.
    pub(super) fn said_beside(&self, limits: [Option<f64>; 2], value: f64, metric: &str) -> String {
        let text = metrics::told_apart(
            value,
            limits,
            metrics::written(value, metric),
            &metrics::written_unit(metric),
        );
        LowerBound(self.is_lower_bound()).of(text)
    }

    /// Number of values.
    pub(crate) fn steps(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// Whether ops that are not listed in `actual` could exceed `limit`: their time is only known for the middle half
    /// of steps.
    pub(super) fn may_exceed(&self, actual: f64, limit: f64, how: StepAggregate) -> bool {
        self.unlisted
            .is_some_and(|more| actual <= limit && (!how.is_middle() || actual + more > limit))
    }

    /// `ms` milliseconds in the unit of the metric; `None` if it is not a time.
    pub(super) fn of_ms(&self, ms: f64) -> Option<f64> {
        self.ps.map(|ps| ms * 1e9 / ps)
    }
}

/// Whether the programs of a side are not compiled yet.
fn is_lowered(runs: &[Summary]) -> bool {
    let mut programs = runs.iter().filter_map(|run| run.facts.programs.first());
    programs.any(|program| program.is_lowered)
}

/// Sums the matching ops that take at least `floor` in a step, for each step.
fn of_ops(
    runs: &[Summary],
    metric: &str,
    scale: f64,
    pattern: &str,
    floor: f64,
) -> Result<MetricRuns, String> {
    let is_wanted = matcher(pattern)?;
    let is_metric = |op: &&OpTimes| metric == "op.time" || op.part == StepPart::ExposedComm;
    let mut measured = MetricRuns {
        is_series: true,
        ps: Some(scale),
        ..MetricRuns::default()
    };
    for run in runs.iter().filter(|run| !run.ops.is_empty()) {
        let steps = run.ops.iter().map(|op| op.values.len()).max().unwrap_or(0);
        let mut sums = vec![0.0; steps];
        let mut ops = 0;
        let mut named = 0;
        let has_name = |op: &OpTimes| {
            is_wanted(&op.name) || op.collective_kind().is_some_and(|kind| is_wanted(&kind))
        };
        let is_meant = |op: &&OpTimes| (op.middle_ps >= floor || !is_metric(op)) && has_name(op);
        for op in run.ops.iter().filter(is_meant) {
            named += 1;
            if !is_metric(&op) {
                continue;
            }
            ops += 1;
            for (sum, value) in sums.iter_mut().zip(&op.values) {
                *sum += value / scale;
            }
        }
        measured.ops = measured.ops.max(ops);
        measured.is_named |= named > 0;
        if run.ops_not_listed > 0 {
            let of_metric = |part: StepPart| {
                if metric == "op.time" {
                    part != StepPart::Idle
                } else {
                    part == StepPart::ExposedComm
                }
            };
            let rest = || {
                run.rest
                    .iter()
                    .filter(|rest| of_metric(rest.part))
                    .map(|rest| rest.middle_ps)
            };
            // A name selects one op per program, a pattern any number of ops.
            let is_pattern = is_pattern(pattern);
            let others = run.facts.programs.len().saturating_sub(named);
            // Ops that run in a few steps only may take no time in the middle half, but still count.
            if (is_pattern || others > 0) && rest().next().is_some() {
                let rest: f64 = rest().sum();
                let most = if is_pattern {
                    rest
                } else {
                    rest.min(others as f64 * run.listed_from_ps())
                };
                measured.unlisted = Some(measured.unlisted.unwrap_or(0.0).max(most / scale));
            }
        }
        measured.runs.push(sums);
    }
    if measured.runs.is_empty() {
        Err("the ops of a step are not known".to_owned())
    } else {
        Ok(measured)
    }
}

fn listed_from(runs: &[Summary]) -> f64 {
    runs.iter().map(Summary::listed_from_ps).fold(0.0, f64::max)
}

fn no_op(pattern: &str, floor: f64) -> String {
    let floor = Picos::rounded(floor);
    let above = if floor > Picos::ZERO {
        format!(
            " among those above {floor} a step; a saved summary lists no others (systole summarize --ops N)"
        )
    } else {
        String::new()
    };
    format!("no op in the steps of the run matches {pattern:?}{above}")
}

/// Whether the pattern can match several ops.
fn is_pattern(pattern: &str) -> bool {
    pattern.starts_with("re:") || pattern.contains('*')
}

/// `re:REGEX`, or a name in which `*` matches any characters.
fn matcher(pattern: &str) -> Result<impl Fn(&str) -> bool, String> {
    let regex = match pattern.strip_prefix("re:") {
        Some(regex) => {
            Some(Regex::new(regex).map_err(|error| format!("op = {pattern:?}: {error}"))?)
        }
        None => None,
    };
    let pattern = pattern.to_owned();
    Ok(move |name: &str| {
        regex
            .as_ref()
            .map_or_else(|| glob(&pattern, name), |regex| regex.is_match(name))
    })
}
