//! The file of `--history`: one line of JSON per run, with its numbers, its verdict, and what later comparisons need.

use crate::cli::common::failure::Failure;
use analysis::compare::{Summary, SummaryInput};
use analysis::gates::{GateLevel, GatesReport, Status};
use analysis::math::stats::median;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Fields may be added to this version, but never changed or removed.
const SCHEMA: &str = "systole.history/1";
/// Number of runs in a baseline.
pub const BASELINE_RUNS: usize = 5;
/// How much of a run is stored: its largest ops, the steps per op, and the length of series.
const OPS: usize = 20;
const OP_STEPS: usize = 12;
const SERIES: usize = 200;
/// Largest history that is read.
const MAX_FILE: u64 = 256 << 20;

/// A run, as a line of the file; the fields are in the order of the line.
#[derive(Debug, Serialize, Deserialize)]
pub struct HistoryLine {
    pub schema: String,
    pub tool: String,
    pub commit: Option<String>,
    #[serde(default)]
    pub inputs: Vec<SummaryInput>,
    pub steps: usize,
    #[serde(default)]
    pub metrics: Map<String, Value>,
    #[serde(default)]
    pub gates: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Value>,
}

/// The line of a run. It contains no timestamps, so the same run gives the same bytes; the commit is taken from CI.
pub fn line(run: &Summary, report: &GatesReport) -> Result<String, Failure> {
    let internal = |error: serde_json::Error| Failure::Internal(error.to_string());
    let mut metrics = Map::new();
    for series in run.series.iter().chain(&run.loop_series) {
        metrics.insert(series.id.clone(), json!(median(&series.values)));
    }
    for value in &run.values {
        metrics.insert(value.id.clone(), json!(value.value));
    }
    let gates = report.gates.iter().map(|gate| {
        json!({"name": gate.name(), "level": gate.level, "status": gate.status, "actual": gate.actual, "base": gate.base})
    });
    let line = HistoryLine {
        schema: SCHEMA.to_owned(),
        tool: run.tool.clone(),
        commit: std::env::var("GITHUB_SHA").ok(),
        inputs: run.inputs.clone(),
        steps: run.steps.counted,
        metrics,
        gates: gates.collect(),
        summary: Some(
            serde_json::to_value(run.clone().shortened(OPS, OP_STEPS).with_series(SERIES)).map_err(internal)?,
        ),
    };
    Ok(serde_json::to_string(&line).map_err(internal)? + "\n")
}

/// Whether a file that begins like this is a history.
pub fn is_meant(head: &[u8]) -> bool {
    let text = String::from_utf8_lossy(head);
    text.trim_start().starts_with('{') && text.contains("\"systole.history/")
}

/// The runs of a history, the oldest first.
pub fn read(path: &Path) -> Result<Vec<HistoryLine>, Failure> {
    let wrong = |why: String| Failure::Summary { why, path: path.to_owned() };
    let length = std::fs::metadata(path).map_err(|error| Failure::import(error.into(), path))?.len();
    if length > MAX_FILE {
        return Err(wrong("too large for a history file: keep only its last lines".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Failure::import(error.into(), path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let lines = lines.map(|(at, line)| {
        let line: HistoryLine = serde_json::from_str(line)
            .map_err(|error| wrong(format!("line {} is not a history entry: {error}", at + 1)))?;
        if line.schema == SCHEMA {
            Ok(line)
        } else {
            Err(wrong(format!("line {}: this is {:?}, and this program reads {SCHEMA:?}", at + 1, line.schema)))
        }
    });
    lines.collect()
}

impl HistoryLine {
    fn has(&self, status: Status, level: Option<GateLevel>) -> bool {
        let is = |gate: &Value, field: &str, wanted: &Value| gate.get(field) == Some(wanted);
        let (status, level) = (json!(status), level.map(|level| json!(level)));
        self.gates
            .iter()
            .any(|gate| is(gate, "status", &status) && level.as_ref().is_none_or(|level| is(gate, "level", level)))
    }

    /// Whether later runs can be compared with it.
    pub fn can_be_compared(&self) -> bool {
        !self.failed() && self.summary.is_some()
    }

    fn failed(&self) -> bool {
        self.has(Status::Fail, Some(GateLevel::Error))
    }

    /// The combined verdict of its gates.
    pub fn verdict(&self) -> &'static str {
        if self.gates.is_empty() {
            "not judged"
        } else if self.failed() {
            "FAIL"
        } else if self.has(Status::Fail, None) {
            "warned"
        } else if self.has(Status::Inconclusive, None) {
            "inconclusive"
        } else {
            "pass"
        }
    }

    /// A metric by its id.
    pub fn number(&self, id: &str) -> Option<f64> {
        self.metrics.get(id)?.as_f64()
    }

    /// Name of the run.
    pub fn run(&self) -> String {
        Summary { inputs: self.inputs.clone(), ..Summary::default() }.title()
    }
}

/// The last runs that did not fail, as a baseline; the newest last.
pub fn baseline(path: &Path) -> Result<Vec<Summary>, Failure> {
    let wrong = |why: String| Failure::Summary { why, path: path.to_owned() };
    let mut runs = Vec::new();
    for line in read(path)?.into_iter().rev().filter(|line| !line.failed()) {
        let Some(summary) = line.summary else { continue };
        let mut run = Summary::from_json(&summary.to_string()).map_err(|error| wrong(error.to_string()))?;
        run.saved_in = Some(path.display().to_string());
        runs.push(run);
        if runs.len() == BASELINE_RUNS {
            break;
        }
    }
    runs.reverse();
    if runs.is_empty() {
        return Err(wrong("no run of this history passed and contains what a comparison needs".to_owned()));
    }
    Ok(runs)
}
