//! What gates found in a run.

use std::fmt::Write as _;

use engine::LowerBound;
use facts::prelude::*;
use serde::Deserialize;

use super::limits::{GateLevel, StepAggregate};

/// The result of a gate.
#[engine::titled]
#[derive(Default, Deserialize)]
pub enum Status {
    /// The value keeps the limit.
    Pass,
    /// The value exceeds the limit.
    Fail = "FAIL",
    /// The gate is inconclusive.
    #[default]
    Inconclusive,
}

/// The result of one gate.
#[engine::row(derived)]
#[derive(Default)]
pub struct Gate {
    /// The result.
    #[column]
    pub status: Status,
    /// The effect of a failure.
    #[column]
    pub level: GateLevel,
    /// `budget` or `regression`.
    #[column(id = "gate", with = Self::name)]
    pub kind: &'static str,
    /// The metric as the user names it.
    pub metric: String,
    /// The ops, for metrics of ops.
    pub op: Option<String>,
    /// The program whose steps are judged; `None` for those of the loop.
    pub module: Option<String>,
    /// How the steps of a run are aggregated.
    pub aggregate: StepAggregate,
    /// Whether the value of the run is only a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[column("Bound", id = "actual_bound", with = |gate| LowerBound(gate.actual_is_lower_bound))]
    pub actual_is_lower_bound: bool,
    /// Value of the run, in the unit of the metric's name.
    #[column]
    pub actual: Option<f64>,
    /// Whether the value of the baseline is only a lower bound.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[column("Bound", id = "base_bound", with = |gate| LowerBound(gate.base_is_lower_bound))]
    pub base_is_lower_bound: bool,
    /// Value of the baseline.
    #[column("Baseline")]
    pub base: Option<f64>,
    /// The limit as text: `at most 412`.
    pub limit: String,
    /// One sentence.
    #[column]
    pub message: String,
}

impl Gate {
    /// A gate that is not judged yet.
    pub(crate) fn unjudged(kind: &'static str, metric: &str) -> Self {
        Self {
            kind,
            metric: metric.to_owned(),
            ..Self::default()
        }
    }

    /// `step.time_ms (p90) +10 %`: unique enough to identify the gate in every run.
    pub fn name(&self) -> String {
        // Expectations name no limit beside themselves.
        format!("{} {}", self.subject(), self.limit)
            .trim_end()
            .to_owned()
    }

    /// What is judged: `op.time_ms_per_step of all-reduce* in jit_step (p90)`; the median is not mentioned.
    pub(super) fn subject(&self) -> String {
        let mut text = self.metric.clone();
        if let Some(op) = &self.op {
            let _ = write!(text, " of {op}");
        }
        if let Some(module) = &self.module {
            let _ = write!(text, " in {module}");
        }
        if self.aggregate != StepAggregate::Median {
            let _ = write!(text, " ({})", self.aggregate.title());
        }
        text
    }

    /// The message where there is no number to judge.
    pub(super) fn without_number(&self, why: &str) -> String {
        if why.contains(&self.metric) {
            why.to_owned()
        } else {
            format!("{}: {why}", self.subject())
        }
    }

    /// The message without the name before it, for what several gates have in common.
    fn reason(&self) -> &str {
        let message = &*self.message;
        let after = |name: &str| message.strip_prefix(name)?.strip_prefix(": ");
        let said = after(&self.subject()).or_else(|| after(&self.metric));
        said.unwrap_or(message)
    }
}

/// What all gates say together, the most important first.
#[engine::titled]
pub enum GatesVerdict {
    /// A gate whose failure fails the run.
    Failed = "FAIL",
    /// Some gates could not be judged, and no other failed.
    Inconclusive,
    /// Only gates failed that warn.
    Warned,
    /// All limits are kept.
    Passed = "pass",
}

impl GatesVerdict {
    /// The verdict of gates, by whether any of them `has` a status, and at a level.
    pub fn of(has: impl Fn(Status, Option<GateLevel>) -> bool) -> Self {
        if has(Status::Fail, Some(GateLevel::Error)) {
            Self::Failed
        } else if has(Status::Inconclusive, None) {
            Self::Inconclusive
        } else if has(Status::Fail, None) {
            Self::Warned
        } else {
            Self::Passed
        }
    }
}

/// Gates of the same status that say the same.
#[derive(Debug)]
pub struct AlikeGates<'a> {
    /// The first of them.
    pub first: &'a Gate,
    /// `2 gates (step.time_ms, step.idle_pct)`; empty for one gate, which names itself.
    pub names: String,
    /// What they say.
    pub message: &'a str,
}

impl<'a> AlikeGates<'a> {
    fn of(group: &[&'a Gate]) -> Option<Self> {
        let first = *group.first()?;
        let mut subjects: Vec<String> = group.iter().map(|gate| gate.subject()).collect();
        subjects.dedup();
        let (names, message) = match group.len() {
            1 => (String::new(), &*first.message),
            gates => {
                let names = format!("{gates} gates ({})", subjects.join(", "));
                (names, first.reason())
            }
        };
        Some(Self {
            first,
            names,
            message,
        })
    }

    /// The names and what they say.
    pub fn text(&self) -> String {
        if self.names.is_empty() {
            self.message.to_owned()
        } else {
            format!("{}: {}", self.names, self.message)
        }
    }

    /// The names and what they say, beside `statement`, which is said anyway and only begun here: `not the same work`.
    pub fn text_beside(&self, statement: &str) -> String {
        let text = self.text();
        match text.strip_suffix(statement) {
            Some(names) if !statement.is_empty() => format!("{names}{}", brief(statement)),
            _ => text,
        }
    }
}

/// The results of all gates; none by default.
#[engine::reported]
#[derive(Default)]
pub struct GatesReport {
    /// The headline.
    pub statement: String,
    /// Failed gates first, then inconclusive ones.
    pub gates: Vec<Gate>,
}

impl GatesReport {
    /// What all of them say together.
    pub fn verdict(&self) -> GatesVerdict {
        GatesVerdict::of(|status, level| self.with(status, level).next().is_some())
    }

    /// The gates in their order; those of one status with the same reason are one entry.
    pub fn alike(&self) -> Vec<AlikeGates<'_>> {
        let mut groups: Vec<Vec<&Gate>> = Vec::new();
        for gate in &self.gates {
            let same = |group: &&mut Vec<&Gate>| {
                let is_unclear = gate.status == Status::Inconclusive;
                group.first().is_some_and(|first| {
                    first.status == gate.status
                        && (is_unclear || first.level == gate.level)
                        && first.reason() == gate.reason()
                })
            };
            match groups.iter_mut().find(same) {
                Some(group) => group.push(gate),
                None => groups.push(vec![gate]),
            }
        }
        groups
            .iter()
            .filter_map(|group| AlikeGates::of(group))
            .collect()
    }

    /// Gates with this result, of a level if one is given.
    fn with(&self, status: Status, level: Option<GateLevel>) -> impl Iterator<Item = &Gate> {
        let is_of = move |gate: &Gate| level.is_none_or(|level| gate.level == level);
        let gates = self.gates.iter();
        gates.filter(move |gate| gate.status == status && is_of(gate))
    }

    /// Gates whose failure fails the run.
    pub fn failed(&self) -> impl Iterator<Item = &Gate> {
        self.with(Status::Fail, Some(GateLevel::Error))
    }

    /// Gates that fail with a warning only.
    pub fn warned(&self) -> impl Iterator<Item = &Gate> {
        self.with(Status::Fail, Some(GateLevel::Warn))
    }

    /// Inconclusive gates.
    pub fn inconclusive(&self) -> impl Iterator<Item = &Gate> {
        self.with(Status::Inconclusive, None)
    }
}

/// `not the same work`, of a sentence that goes on to say what differs.
fn brief(statement: &str) -> &str {
    statement
        .split_once(": ")
        .map_or(statement, |parts| parts.0)
}

/// The numbers of gates by their results; `mismatch` says why the runs are not compared.
pub(super) fn statement(gates: &[Gate], mismatch: &str) -> String {
    let count = |wanted: &dyn Fn(&&Gate) -> bool| gates.iter().filter(wanted).count();
    let failed = count(&|gate| gate.status == Status::Fail && gate.level == GateLevel::Error);
    let warned = count(&|gate| gate.status == Status::Fail && gate.level == GateLevel::Warn);
    let unclear = count(&|gate| gate.status == Status::Inconclusive);
    let passed = count(&|gate| gate.status == Status::Pass);
    let other = count(&|gate| !mismatch.is_empty() && gate.reason() == mismatch);
    if gates.is_empty() {
        return "no gates are set".to_owned();
    }
    let mut parts = Vec::new();
    let why = match other {
        0 => String::new(),
        other if other == unclear => format!(" ({})", brief(mismatch)),
        other => format!(" ({other}: {})", brief(mismatch)),
    };
    for (number, what, why) in [
        (failed, "failed", ""),
        (warned, "warned", ""),
        (unclear, "inconclusive", &why),
        (passed, "passed", ""),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}{why}"));
        }
    }
    let all = gates.len();
    format!(
        "{all} {}: {}",
        if all == 1 { "gate" } else { "gates" },
        parts.join(", ")
    )
}

impl Tabular for GatesReport {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("gates", "Gates", &self.gates)
            .remaining()
            .note(self.statement.clone());
        vec![table.build()]
    }
}
