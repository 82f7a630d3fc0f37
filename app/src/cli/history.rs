//! `systole history`, and the file that it reads: a line of JSON a run, with its numbers,
//! its verdict, and what a later comparison needs of it.

use std::path::{Path, PathBuf};

use analysis::compare::{LOOP_COMPILATIONS, Summary, SummaryInput};
use analysis::gates::{GatesReport, Level, Status};
use analysis::math::stats::median;
use analysis::{Cell, Column, Provenance, Table, Unit};
use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::args::Format;
use super::failure::{Failure, Outcome};
use super::{Talk, output, terminal};
use crate::render::{Layout, NamedTable, Style, csv, md, ndjson, table};

/// Fields may be added under the same number, never changed or removed.
const SCHEMA: &str = "systole.history/1";
/// Runs that make a baseline.
pub const BASELINE_RUNS: usize = 5;
/// What is kept of a run: its largest ops, in so many of its steps; and of its series.
const OPS: usize = 20;
const OP_STEPS: usize = 12;
const SERIES: usize = 200;
/// Largest history that is read.
const MAX_FILE: u64 = 256 << 20;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The file that `--history` appends to
    pub path: PathBuf,
    /// Only the last N runs; 0 for all
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub last: usize,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A run, as a line of the file. The order of the fields is that of the line.
#[derive(Debug, Serialize, Deserialize)]
struct Line {
    schema: String,
    tool: String,
    commit: Option<String>,
    #[serde(default)]
    inputs: Vec<SummaryInput>,
    steps: usize,
    #[serde(default)]
    metrics: Map<String, Value>,
    #[serde(default)]
    gates: Vec<Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    summary: Option<Value>,
}

/// The line of a run: no times, so that the same run gives the same bytes; the commit is CI's.
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
    let line = Line {
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

fn read(path: &Path) -> Result<Vec<Line>, Failure> {
    let wrong = |why: String| Failure::Summary { why, path: path.to_owned() };
    let length = std::fs::metadata(path).map_err(|error| Failure::import(error.into(), path))?.len();
    if length > MAX_FILE {
        return Err(wrong("longer than any history: keep its last lines".to_owned()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| Failure::import(error.into(), path))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let lines = lines.map(|(at, line)| {
        let line: Line = serde_json::from_str(line)
            .map_err(|error| wrong(format!("line {} is no line of a history: {error}", at + 1)))?;
        if line.schema == SCHEMA {
            Ok(line)
        } else {
            Err(wrong(format!("line {}: this is {:?}, and this program reads {SCHEMA:?}", at + 1, line.schema)))
        }
    });
    lines.collect()
}

impl Line {
    fn has(&self, status: Status, level: Option<Level>) -> bool {
        let is = |gate: &Value, field: &str, wanted: &Value| gate.get(field) == Some(wanted);
        let (status, level) = (json!(status), level.map(|level| json!(level)));
        self.gates
            .iter()
            .any(|gate| is(gate, "status", &status) && level.as_ref().is_none_or(|level| is(gate, "level", level)))
    }

    fn failed(&self) -> bool {
        self.has(Status::Fail, Some(Level::Error))
    }

    fn verdict(&self) -> &'static str {
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

    fn number(&self, id: &str) -> Option<f64> {
        self.metrics.get(id)?.as_f64()
    }

    fn run(&self) -> String {
        Summary { inputs: self.inputs.clone(), ..Summary::default() }.title()
    }
}

/// The last runs that did not fail, as a baseline: the newest last.
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
        return Err(wrong("no run of this history passed and kept what a comparison needs".to_owned()));
    }
    Ok(runs)
}

/// Runs the command.
pub fn run(args: &HistoryArgs, talk: &Talk) -> Result<Outcome, Failure> {
    let mut lines = read(&args.path)?;
    if args.last > 0 && lines.len() > args.last {
        lines.drain(..lines.len() - args.last);
    }
    let trend = trend(&lines);
    let internal = |error: serde_json::Error| Failure::Internal(error.to_string());
    output::print(&match args.format {
        Format::Text => {
            let style = if talk.color_out { Style::COLOR } else { Style::PLAIN };
            table::table(&trend, &Layout { width: terminal::width(), top: 0, entries: 0, style })
        }
        Format::Json => {
            let runs: Vec<Value> = lines
                .iter()
                .map(|line| {
                    json!({"run": line.run(), "commit": line.commit, "verdict": line.verdict(), "steps": line.steps,
                       "metrics": line.metrics, "gates": line.gates})
                })
                .collect();
            let whole = json!({"schema": "systole.trend/1", "runs": runs});
            serde_json::to_string_pretty(&whole).map_err(internal)? + "\n"
        }
        Format::Ndjson => ndjson::lines(&[&NamedTable { report: "history", table: trend }], &[], 0),
        Format::Csv => csv::csv(&trend, 0),
        Format::Md => md::markdown(&trend, 0),
    })?;
    Ok(Outcome::Done)
}

/// One row a run, the oldest first.
fn trend(lines: &[Line]) -> Table {
    let column = |id, title, unit| Column { id, title, unit, provenance: Provenance::Derived };
    let mut before = None;
    let rows = lines.iter().map(|line| {
        let step = line.number("step.time_ps");
        let change =
            step.zip(before).filter(|(_, before)| *before > 0.0).map(|(now, before)| 100.0 * (now / before - 1.0));
        before = step.or(before);
        let commit = line.commit.as_deref().unwrap_or_default();
        vec![
            Cell::text(line.verdict()),
            Cell::text(commit.chars().take(10).collect::<String>()),
            Cell::maybe(Some(line.steps as f64)),
            Cell::maybe(step),
            Cell::maybe(change),
            Cell::maybe(line.number("loop.step_ps")),
            Cell::maybe(line.number(LOOP_COMPILATIONS)),
            Cell::maybe(line.number("step.exposed_comm_percent")),
            Cell::maybe(line.number("step.idle_percent")),
            Cell::maybe(line.number("mfu_steady_percent")),
            Cell::maybe(line.number("memory.peak_bytes")),
            Cell::text(line.run()),
        ]
    });
    Table {
        id: "trend",
        title: format!("The last {} runs", lines.len()),
        columns: vec![
            column("verdict", "Gates", Unit::None),
            column("commit", "Commit", Unit::None),
            column("steps", "Steps", Unit::Count),
            column("step_ps", "Step", Unit::Picoseconds),
            column("change_percent", "Change", Unit::Percent),
            column("loop_step_ps", "Loop step", Unit::Picoseconds),
            column("loop_compilations", "Compiled", Unit::Count),
            column("exposed_comm_percent", "Exposed", Unit::Percent),
            column("idle_percent", "Idle", Unit::Percent),
            column("mfu_percent", "MFU", Unit::Percent),
            column("memory_peak_bytes", "Memory", Unit::Bytes),
            column("run", "Run", Unit::None),
        ],
        rows: rows.collect(),
        notes: vec!["numbers of steps are medians; change is of the step, against the run before".to_owned()],
    }
}
