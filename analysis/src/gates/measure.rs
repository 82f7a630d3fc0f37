//! From the name of a metric to its numbers in runs.
//!
//! Names are those of a summary with any fitting unit: `step.time_ms` and
//! `step.time_us` are both `step.time_ps`. A few names that people use stand for
//! others.

use regex_lite::Regex;
use trace_model::Picos;

use super::Aggregate;
use crate::compare::{Change, OpTimes, Summary, TestOptions};
use crate::hints::glob;
use crate::report::Unit;
use crate::stats::quantile;
use crate::step_parts::Part;

/// Names that stand for others.
const ALIASES: [(&str, &str); 9] = [
    ("mfu_pct", "mfu_window_percent"),
    ("mxu.utilization_pct", "mxu_util_on_mxu_ops_percent"),
    ("flops.utilization_pct", "flops_util_window_percent"),
    ("hbm.utilization_pct", "hbm_util_window_percent"),
    ("ici.exposed_pct", "overlap.exposed_share_percent"),
    ("compile.count_in_window", "compile.count"),
    ("time.communication_share", "step.exposed_comm_share"),
    ("time.idle_share", "step.idle_share"),
    ("time.stall_share", "step.idle_share"),
];

/// Said of names that no run knows.
pub const METRIC_HELP: &str = "`systole summarize RUN` lists the metrics under \"series\" and \"values\"";

/// Suffix, unit, and how many of the summary's unit one is.
const SUFFIXES: [(&str, Unit, f64); 14] = [
    ("_ps", Unit::Picoseconds, 1.0),
    ("_ns", Unit::Picoseconds, 1e3),
    ("_us", Unit::Picoseconds, 1e6),
    ("_ms", Unit::Picoseconds, 1e9),
    ("_s", Unit::Picoseconds, 1e12),
    ("_percent", Unit::Percent, 1.0),
    ("_pct", Unit::Percent, 1.0),
    ("_share", Unit::Percent, 100.0),
    ("_bytes", Unit::Bytes, 1.0),
    ("_mib", Unit::Bytes, 1_048_576.0),
    ("_gib", Unit::Bytes, 1_073_741_824.0),
    ("_gb", Unit::Bytes, 1e9),
    ("_bytes_per_second", Unit::BytesPerSecond, 1.0),
    ("_gb_per_s", Unit::BytesPerSecond, 1e9),
];

/// A name without its unit; the longest suffix counts.
fn split_unit(name: &str) -> (&str, Option<(Unit, f64)>) {
    let fitting =
        SUFFIXES.iter().filter_map(|(suffix, unit, scale)| Some((name.strip_suffix(suffix)?, (*unit, *scale))));
    fitting.min_by_key(|(stem, _)| stem.len()).map_or((name, None), |(stem, unit)| (stem, Some(unit)))
}

/// Metrics of ops, in a step.
const OP_METRICS: [&str; 2] = ["op.time", "op.exposed"];

/// `op.time_ms_per_step` as `("op.time", scale)`.
fn op_metric(name: &str) -> Option<(&'static str, f64)> {
    let (stem, unit) = split_unit(name.strip_suffix("_per_step").unwrap_or(name));
    let (unit, scale) = unit?;
    let known = OP_METRICS.into_iter().find(|known| *known == stem)?;
    (unit == Unit::Picoseconds).then_some((known, scale))
}

/// Refuses a name that is wrong whatever the run.
pub(super) fn check_metric(name: &str, op: Option<&str>) -> Result<(), String> {
    if let Some(pattern) = op {
        if op_metric(name).is_none() {
            return Err(format!(
                "op = {pattern:?} needs metric = \"op.time_ms_per_step\" or \"op.exposed_ms_per_step\""
            ));
        }
        return matcher(pattern).map(|_| ());
    }
    if op_metric(name).is_some() {
        return Err(format!("{name} needs op = \"NAME\", a pattern with *, or re:REGEX"));
    }
    Ok(())
}

/// Whether the unit of a name is one of time.
pub(super) fn is_time(name: &str) -> bool {
    let full = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, full)| full);
    op_metric(name).is_some() || split_unit(full).1.is_some_and(|(unit, _)| unit == Unit::Picoseconds)
}

/// The numbers of a metric, in the unit of its name.
#[derive(Clone, Debug, PartialEq)]
pub struct Measured {
    /// Of each run.
    pub runs: Vec<Vec<f64>>,
    /// One of each step, rather than one of the run.
    pub is_series: bool,
    /// Picoseconds that one is, for times.
    ps: Option<f64>,
    /// Ops that match, in the run that has most of them.
    ops: usize,
    /// So much more may be in a step, in small ops that a shortened summary does not list.
    unlisted: Option<f64>,
}

/// A metric on both sides of a comparison.
pub(super) struct Both {
    /// Of the baseline.
    pub base: Measured,
    /// Of the run.
    pub cand: Measured,
    /// So much more may be on either side, in small ops that it does not list.
    pub unlisted: (f64, f64),
}

impl Both {
    /// An op that is below what a shortened summary lists counts on neither side: the
    /// other side would seem to have more. One that only one side has above that may
    /// still take as much on the other.
    pub fn of(base: &[Summary], cand: &[Summary], name: &str, op: Option<&str>) -> Result<Self, String> {
        let Some((stem, scale)) = op_metric(name) else {
            return Ok(Self {
                base: Measured::of(base, name, op)?,
                cand: Measured::of(cand, name, op)?,
                unlisted: (0.0, 0.0),
            });
        };
        let pattern = op.unwrap_or("*");
        let floor = listed_from(base).max(listed_from(cand));
        let [base, cand] = [base, cand].map(|runs| of_ops(runs, stem, scale, pattern, floor));
        let (base, cand) = (base?, cand?);
        if base.ops + cand.ops == 0 {
            return Err(no_op(pattern, floor));
        }
        let more = |here: &Measured, there: &Measured| floor / scale * there.ops.saturating_sub(here.ops) as f64;
        let unlisted = (more(&base, &cand), more(&cand, &base));
        Ok(Self { base, cand, unlisted })
    }
}

impl Measured {
    /// In `runs`; an error says what is missing.
    pub fn of(runs: &[Summary], name: &str, op: Option<&str>) -> Result<Self, String> {
        if let Some((stem, scale)) = op_metric(name) {
            let pattern = op.unwrap_or("*");
            let found = of_ops(runs, stem, scale, pattern, 0.0)?;
            return if found.ops > 0 { Ok(found) } else { Err(no_op(pattern, listed_from(runs))) };
        }
        let full = ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, full)| full);
        let (stem, unit) = split_unit(full);
        let fits = |id: &str, of: Unit| match unit {
            Some((unit, _)) => split_unit(id).0 == stem && of == unit,
            None => id == full,
        };
        let scale = unit.map_or(1.0, |(_, scale)| scale);
        let ps = unit.filter(|(unit, _)| *unit == Unit::Picoseconds).map(|_| scale);
        let (mut found, mut is_series, mut why) = (Vec::new(), false, None);
        for run in runs {
            let series = run.series.iter().find(|series| fits(&series.id, series.unit));
            // A part that this run has no time of has no series either.
            let part = format!("{stem}_ps");
            let id =
                series.map(|series| series.id.as_str()).or(fits(&part, Unit::Picoseconds).then_some(part.as_str()));
            if let Some(values) = id.and_then(|id| run.step_values(id)) {
                is_series = true;
                found.push(values.iter().map(|value| value / scale).collect());
            } else if let Some(value) = run.values.iter().find(|value| fits(&value.id, value.unit)) {
                match value.value {
                    Some(number) => found.push(vec![number / scale]),
                    None => why = Some(value.note.clone().unwrap_or_else(|| "it is not known".to_owned())),
                }
            }
        }
        match (found.is_empty(), why) {
            (false, _) => Ok(Self { runs: found, is_series, ps, ops: 0, unlisted: None }),
            (true, Some(why)) => Err(format!("{name}: {why}")),
            (true, None) => Err(format!("this run has no {name:?}: {METRIC_HELP}")),
        }
    }

    /// All steps of all runs as one number.
    pub fn aggregate(&self, how: Aggregate) -> Option<f64> {
        let all: Vec<f64> = self.runs.concat();
        match how {
            Aggregate::Median | Aggregate::WorstDevice => quantile(&all, 0.5),
            Aggregate::P90 => quantile(&all, 0.9),
            Aggregate::P95 => quantile(&all, 0.95),
            Aggregate::Max => quantile(&all, 1.0),
            Aggregate::Mean => (!all.is_empty()).then(|| all.iter().sum::<f64>() / all.len() as f64),
        }
    }

    /// How many numbers there are.
    pub fn steps(&self) -> usize {
        self.runs.iter().map(Vec::len).sum()
    }

    /// What can be said of the difference to `other`.
    pub(super) fn change(&self, other: &Self, effect: f64, options: &TestOptions) -> Change {
        Change::of_runs(&self.runs, &other.runs, effect, options)
    }

    /// Whether ops that are not listed, and so are no part of `actual`, may take it
    /// beyond `limit`: how much they take is known of the middle of the steps only.
    pub(super) fn may_exceed(&self, actual: f64, limit: f64, how: Aggregate) -> bool {
        self.unlisted.is_some_and(|more| actual <= limit && (!how.is_middle() || actual + more > limit))
    }

    /// So many milliseconds in the unit of the metric; `None` where it is no time.
    pub(super) fn of_ms(&self, ms: f64) -> Option<f64> {
        self.ps.map(|ps| ms * 1e9 / ps)
    }
}

/// Ops that match and take at least `floor` in a step, added up in each step.
fn of_ops(runs: &[Summary], stem: &str, scale: f64, pattern: &str, floor: f64) -> Result<Measured, String> {
    let is_wanted = matcher(pattern)?;
    let is_metric = |op: &&OpTimes| stem == "op.time" || op.part == Part::ExposedComm;
    let mut found = Measured { runs: Vec::new(), is_series: true, ps: Some(scale), ops: 0, unlisted: None };
    for run in runs.iter().filter(|run| !run.ops.is_empty()) {
        let steps = run.ops.iter().map(|op| op.values.len()).max().unwrap_or(0);
        let mut sums = vec![0.0; steps];
        let mut ops = 0;
        let counts = |op: &&OpTimes| op.middle_ps >= floor && is_metric(op) && is_wanted(&op.name);
        for op in run.ops.iter().filter(counts) {
            ops += 1;
            for (sum, value) in sums.iter_mut().zip(&op.values) {
                *sum += value / scale;
            }
        }
        found.ops = found.ops.max(ops);
        if run.ops_not_listed > 0 {
            let of_metric = |part: Part| if stem == "op.time" { part != Part::Idle } else { part == Part::ExposedComm };
            let rest = || run.rest.iter().filter(|rest| of_metric(rest.part)).map(|rest| rest.middle_ps);
            // A name stands for one op of each program, a pattern for any number of ops.
            let (is_pattern, others) = (is_pattern(pattern), run.facts.programs.len().saturating_sub(ops));
            // Ops of a few steps only take nothing in the middle ones, and count all the same.
            if (is_pattern || others > 0) && rest().next().is_some() {
                let rest: f64 = rest().sum();
                let most = if is_pattern { rest } else { rest.min(others as f64 * run.listed_from_ps()) };
                found.unlisted = Some(found.unlisted.unwrap_or(0.0).max(most / scale));
            }
        }
        found.runs.push(sums);
    }
    if found.runs.is_empty() { Err("the ops of a step are not known".to_owned()) } else { Ok(found) }
}

fn listed_from(runs: &[Summary]) -> f64 {
    runs.iter().map(Summary::listed_from_ps).fold(0.0, f64::max)
}

fn no_op(pattern: &str, floor: f64) -> String {
    let floor = Picos::from_ps(floor.round() as i64);
    let above = if floor > Picos::ZERO {
        format!(" among those above {floor} a step; a saved summary lists no others (systole summarize --ops N)")
    } else {
        String::new()
    };
    format!("no op is called {pattern:?}{above}")
}

/// Whether it can stand for several ops.
fn is_pattern(pattern: &str) -> bool {
    pattern.starts_with("re:") || pattern.contains('*')
}

/// `re:REGEX`, or a name in which `*` stands for anything.
fn matcher(pattern: &str) -> Result<impl Fn(&str) -> bool, String> {
    let regex = match pattern.strip_prefix("re:") {
        Some(regex) => Some(Regex::new(regex).map_err(|error| format!("op = {pattern:?}: {error}"))?),
        None => None,
    };
    let pattern = pattern.to_owned();
    Ok(move |name: &str| regex.as_ref().map_or_else(|| glob(&pattern, name), |regex| regex.is_match(name)))
}
