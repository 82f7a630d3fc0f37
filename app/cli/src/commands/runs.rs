//! `systole runs`: the runs of a log directory, with what they say of themselves.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use analysis::number::value;
use analysis::{Table, Unit, printable};
use clap::Args;
use importers::{ListedRun, Progress};
use serde_json::{Value, json};

use crate::common::args::CsvArgs;
use crate::common::loading::Loading;
use crate::common::outcome::CommandOutcome;
use crate::common::stderr::Stderr;
use crate::common::values::OutputFormat;
use crate::common::{loading, output};
use render::NamedTable;
use request::{Assumptions, RequestError};
use session::{RunSummary, Session};

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// A log directory, or anything around it, on this machine or in a bucket
    pub path: PathBuf,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
    pub format: OutputFormat,
    /// Open this many runs, the newest first, for their devices, steps and verdicts; 0 opens none
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub verdicts: usize,
    #[command(flatten)]
    pub csv: CsvArgs,
    #[command(flatten)]
    pub assume: Assumptions,
}

/// A run with what was found in it.
struct ListedRunRow {
    run: ListedRun,
    opened: Option<Result<RunSummary, String>>,
}

impl ListedRunRow {
    fn opened(&self) -> Option<&RunSummary> {
        self.opened.as_ref()?.as_ref().ok()
    }

    /// Why it could not be opened.
    fn error(&self) -> Option<&str> {
        self.opened.as_ref()?.as_ref().err().map(String::as_str)
    }
}

pub fn run(args: &RunsArgs, stderr: &Stderr) -> Result<CommandOutcome, RequestError> {
    let failed = |error| RequestError::import(error, &args.path);
    let runs = loading::list_runs(&args.path, stderr).map_err(failed)?;
    let loading = (args.verdicts > 0)
        .then(|| Loading::new(&args.assume, stderr))
        .transpose()?;
    let mut rows = Vec::new();
    for (at, run) in runs.into_iter().enumerate() {
        let loading = loading.as_ref().filter(|_| at < args.verdicts);
        let opened = loading.map(|loading| opened(args, &run.name, loading));
        rows.push(ListedRunRow { run, opened });
    }
    let list = NamedTable {
        report: "runs",
        table: table(&rows),
    };
    let json = || as_json(&args.path, &rows);
    let list = output::list(args.format, args.csv.cells(), list, |_| text(&rows), json);
    if args.format == OutputFormat::Text {
        output::print_names(&list)?;
    } else {
        output::print(&list)?;
    }
    Ok(CommandOutcome::Done)
}

fn opened(args: &RunsArgs, name: &str, loading: &Loading<'_>) -> Result<RunSummary, String> {
    let import = loading.import(Some(name.to_owned()));
    let session = Session::open(&args.path, &import, loading.options(), &Progress::new());
    let session = session.map_err(|error| error.to_string())?;
    Ok(RunSummary::of(&session))
}

fn text(rows: &[ListedRunRow]) -> String {
    let mut text = String::new();
    for row in rows {
        let run = &row.run;
        let hosts = match &run.hosts[..] {
            [] => "1 file without a host".to_owned(),
            [host] => format!("1 host ({})", printable(host)),
            all => format!("{} hosts ({})", all.len(), shortened(all)),
        };
        let mut parts = vec![hosts];
        parts.extend(run.bytes.map(|bytes| value(bytes as f64, Unit::Bytes)));
        if let Some(opened) = row.opened() {
            parts.extend(opened.facts());
        }
        let _ = writeln!(text, "{}  {}", printable(&run.name), parts.join(" · "));
        if !run.joined.is_empty() {
            let _ = writeln!(
                text,
                "    with {}: hosts of the same capture",
                printable(&run.joined.join(", "))
            );
        }
        if !run.empty_files.is_empty() {
            let _ = writeln!(
                text,
                "    without content: {}",
                printable(&run.empty_files.join(", "))
            );
        }
        for line in row.opened().map(RunSummary::lines).unwrap_or_default() {
            let _ = writeln!(text, "    {}", printable(&line));
        }
        if let Some(error) = row.error() {
            let _ = writeln!(text, "    cannot be opened: {}", printable(error));
        }
    }
    let left = rows.iter().filter(|row| row.opened.is_none()).count();
    if left > 0 {
        let _ = writeln!(
            text,
            "{left} of {} runs were not opened; --verdicts N opens more",
            rows.len()
        );
    }
    text
}

/// The first names of a long list.
fn shortened(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let shown = names
        .iter()
        .take(SHOWN)
        .map(|name| printable(name))
        .collect::<Vec<_>>()
        .join(", ");
    if names.len() > SHOWN {
        format!("{shown}, …")
    } else {
        shown
    }
}

fn as_json(path: &Path, rows: &[ListedRunRow]) -> Value {
    let runs: Vec<Value> = rows
        .iter()
        .map(|row| {
            let opened = row.opened();
            json!({
                "run": row.run.name,
                "joined_runs": row.run.joined,
                "hosts": row.run.hosts,
                "bytes": row.run.bytes,
                "empty_files": row.run.empty_files,
                "is_opened": row.opened.is_some(),
                "devices": opened.and_then(|it| it.devices.clone()),
                "steps": opened.and_then(|it| it.steps),
                "step_ps": opened.and_then(|it| it.step_ps),
                "verdict": opened.and_then(|it| it.verdict.clone()),
                "lost": opened.and_then(|it| it.lost.clone()),
                "error": row.error(),
            })
        })
        .collect();
    json!({"schema": "systole.runs/1", "path": importers::shown_path(path).display().to_string(), "runs": runs})
}

fn table(rows: &[ListedRunRow]) -> Table {
    Table::of("runs", "Runs, the newest first", rows.iter())
        .recorded("run", "Run", Unit::None, |row: &ListedRunRow| {
            row.run.name.clone()
        })
        .recorded("hosts", "Hosts", Unit::Count, |row| {
            row.run.hosts.len() as f64
        })
        .recorded("bytes", "Size", Unit::Bytes, |row| {
            row.run.bytes.map(|bytes| bytes as f64)
        })
        .recorded("devices", "Devices", Unit::None, |row| {
            row.opened().and_then(|it| it.devices.clone())
        })
        .derived("steps", "Steps", Unit::Count, |row| {
            row.opened()
                .and_then(|it| it.steps)
                .map(|steps| steps as f64)
        })
        .derived("step_ps", "Step", Unit::Picoseconds, |row| {
            row.opened().and_then(|it| it.step_ps)
        })
        .derived("verdict", "Verdict", Unit::None, |row| {
            row.opened().and_then(|it| it.verdict.clone())
        })
        .derived("lost", "Lost", Unit::None, |row| {
            row.opened().and_then(|it| it.lost.clone())
        })
        .derived("error", "Error", Unit::None, |row| {
            row.error().map(str::to_owned)
        })
        .build()
}
