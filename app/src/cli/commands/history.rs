//! `systole history`: the runs that were kept, one row each.

use crate::cli::common::failure::{Failure, Outcome};
use crate::cli::common::history_file::HistoryLine;
use crate::cli::common::stderr::Stderr;
use crate::cli::common::values::Format;
use crate::cli::common::{history_file, output, terminal};
use crate::render::{Layout, NamedTable, Style, csv, md, ndjson, table};
use analysis::compare::LOOP_COMPILATIONS;
use analysis::{Cell, Column, Provenance, Table, Unit};
use clap::Args;
use serde_json::{Value, json};
use std::path::PathBuf;

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

/// Runs the command.
pub fn run(args: &HistoryArgs, stderr: &Stderr) -> Result<Outcome, Failure> {
    let mut lines = history_file::read(&args.path)?;
    if args.last > 0 && lines.len() > args.last {
        lines.drain(..lines.len() - args.last);
    }
    let trend = trend(&lines);
    let internal = |error: serde_json::Error| Failure::Internal(error.to_string());
    output::print(&match args.format {
        Format::Text => {
            let style = if stderr.colors_stdout() { Style::COLOR } else { Style::PLAIN };
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
fn trend(lines: &[HistoryLine]) -> Table {
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
