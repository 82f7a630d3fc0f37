//! What gates found in a run.

use engine::{Table, Tabular};

use super::limits::{GateLevel, StepAggregate};

/// The result of a gate.
#[engine::titled]
pub enum Status {
    /// The value keeps the limit.
    Pass = "pass",
    /// The value exceeds the limit.
    Fail = "FAIL",
    /// The gate is inconclusive.
    Inconclusive = "inconclusive",
}

/// The result of one gate.
#[engine::row(derived)]
pub struct Gate {
    /// The result.
    #[column("Status")]
    pub status: Status,
    /// The effect of a failure.
    #[column("Level")]
    pub level: GateLevel,
    /// `budget` or `regression`.
    #[column("Gate", id = "gate", with = Self::name)]
    pub kind: &'static str,
    /// The metric as the user names it.
    pub metric: String,
    /// The ops, for metrics of ops.
    pub op: Option<String>,
    /// How the steps of a run are aggregated.
    pub aggregate: StepAggregate,
    /// Value of the run, in the unit of the metric's name.
    #[column("Actual")]
    pub actual: Option<f64>,
    /// Value of the baseline.
    #[column("Baseline")]
    pub base: Option<f64>,
    /// The limit as text: `at most 412`.
    pub limit: String,
    /// One sentence.
    #[column("Message")]
    pub message: String,
}

impl Gate {
    /// `step.time_ms (p90)`: unique enough to identify the gate in every run.
    pub fn name(&self) -> String {
        let op = self
            .op
            .as_ref()
            .map(|op| format!(" of {op}"))
            .unwrap_or_default();
        let name = titled(&self.metric, self.aggregate);
        // Expectations name no limit beside themselves.
        format!("{name}{op} {}", self.limit).trim_end().to_owned()
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
    /// Gates whose failure fails the run.
    pub fn failed(&self) -> impl Iterator<Item = &Gate> {
        self.gates
            .iter()
            .filter(|gate| gate.status == Status::Fail && gate.level == GateLevel::Error)
    }

    /// Gates that fail with a warning only.
    pub fn warned(&self) -> impl Iterator<Item = &Gate> {
        self.gates
            .iter()
            .filter(|gate| gate.status == Status::Fail && gate.level == GateLevel::Warn)
    }

    /// Inconclusive gates.
    pub fn inconclusive(&self) -> impl Iterator<Item = &Gate> {
        self.gates
            .iter()
            .filter(|gate| gate.status == Status::Inconclusive)
    }
}

pub(super) fn statement(gates: &[Gate]) -> String {
    let count = |wanted: &dyn Fn(&&Gate) -> bool| gates.iter().filter(wanted).count();
    let failed = count(&|gate| gate.status == Status::Fail && gate.level == GateLevel::Error);
    let warned = count(&|gate| gate.status == Status::Fail && gate.level == GateLevel::Warn);
    let unclear = count(&|gate| gate.status == Status::Inconclusive);
    let passed = count(&|gate| gate.status == Status::Pass);
    if gates.is_empty() {
        return "no gates are set".to_owned();
    }
    let mut parts = Vec::new();
    for (number, what) in [
        (failed, "failed"),
        (warned, "warned"),
        (unclear, "inconclusive"),
        (passed, "passed"),
    ] {
        if number > 0 {
            parts.push(format!("{number} {what}"));
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

/// `step.time_ms (p90)`; the median is not mentioned.
pub(super) fn titled(metric: &str, aggregate: StepAggregate) -> String {
    if aggregate == StepAggregate::Median {
        metric.to_owned()
    } else {
        format!("{metric} ({})", aggregate.title())
    }
}
