//! `systole runs`: the runs of a log directory, with what they say of themselves.

use super::prelude::*;
use analysis::{counted, distinct, printable};
use importers::{ImportError, ListedRun};
use unicode_width::UnicodeWidthStr as _;

use session::RunSummary;

/// Columns before what is said of a run.
const INDENT: usize = 4;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct RunsArgs {
    /// A log directory, or anything around it, on this machine or in a bucket
    pub path: PathBuf,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
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

pub fn run(args: &RunsArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let failed = |error| RequestError::import(error, &args.path);
    let runs = loading::list_runs(&args.path, stderr).map_err(failed)?;
    let loading = (args.verdicts > 0)
        .then(|| Loading::new(&args.assume, stderr))
        .transpose()?;
    let (mut rows, mut first_error) = (Vec::new(), None);
    for (index, run) in runs.into_iter().enumerate() {
        let loading = loading.as_ref().filter(|_| index < args.verdicts);
        let opened = loading.map(|loading| {
            opened(args, &run, loading).map_err(|error| {
                let said = error.to_string();
                first_error.get_or_insert(error);
                said
            })
        });
        rows.push(ListedRunRow { run, opened });
    }
    let list = table(&rows);
    let json = || as_json(&args.path, &rows);
    let list = output::list(
        args.format,
        args.csv.cells(),
        "runs",
        list,
        |_| text(&rows),
        json,
    );
    if args.format.is_text {
        output::print_names(&list)?;
    } else {
        output::print(&list)?;
    }
    // Nothing could be read: the code is that of the first failure.
    match first_error {
        Some(error) if rows.iter().all(|row| row.opened().is_none()) => Err(failed(error)),
        _ => Ok(CommandOutcome::Done),
    }
}

fn opened(
    args: &RunsArgs,
    run: &ListedRun,
    loading: &Loading<'_>,
) -> Result<RunSummary, ImportError> {
    // By its folder, a bucket is not listed again for each run.
    let folder = run.only_folder().unwrap_or(&args.path);
    let name = run.only_folder().is_none().then(|| run.name.clone());
    let (import, progress) = (loading.import(name), Progress::new());
    let session = Session::open_for_reports(folder, &import, loading.options(), &progress);
    let session = session.map_err(|error| {
        let (error, path) = error.with_place(folder);
        ImportError::InRun {
            error: Box::new(error),
            path,
        }
    });
    Ok(RunSummary::of(&session?))
}

/// The runs in lines of the terminal; names of runs stay whole, because `--run` takes them.
fn text(rows: &[ListedRunRow]) -> String {
    let layout = terminal::whole_tables(AnsiStyle::PLAIN);
    let mut text = String::new();
    for row in rows {
        let name = printable(&row.run.name);
        let indent = name.width() + 2;
        let parts = facts(row).join(" · ");
        if indent <= layout.width / 2 {
            text += &layout.beside(&format!("{name}  "), indent, &parts);
        } else {
            text += &layout.plain_lines(0, &format!("{name}  {parts}"));
        }
        for line in details(row) {
            text += &layout.plain_lines(INDENT, &line);
        }
    }
    let left = rows.iter().filter(|row| row.opened.is_none()).count();
    if left > 0 {
        let runs = counted(rows.len(), "run");
        let were = if left == 1 { "was" } else { "were" };
        let more = format!("{left} of {runs} {were} not opened; --verdicts N opens more");
        text += &layout.plain_lines(0, &more);
    }
    text
}

/// Hosts, size, devices and steps.
fn facts(row: &ListedRunRow) -> Vec<String> {
    let run = &row.run;
    let hosts = match &run.hosts[..] {
        [] => "1 file without a host".to_owned(),
        [host] => format!("1 host ({})", printable(host)),
        all => format!("{} ({})", counted(all.len(), "host"), first_of(all)),
    };
    let mut facts = vec![hosts];
    facts.extend(run.bytes.map(number::bytes));
    facts.extend(row.opened().map(RunSummary::facts).unwrap_or_default());
    facts
}

/// What else is said of a run, one line each.
fn details(row: &ListedRunRow) -> Vec<String> {
    let run = &row.run;
    let listed = |names: &[String]| (!names.is_empty()).then(|| names.join(", "));
    let before = [
        listed(&run.joined).map(|names| format!("with {names}: hosts of the same capture")),
        listed(&run.empty_files).map(|names| format!("without content: {names}")),
    ];
    let said = row.opened().map(RunSummary::lines).unwrap_or_default();
    let error = row.error();
    let error = error.map(|error| format!("cannot be opened: {error}"));
    before
        .into_iter()
        .flatten()
        .chain(said)
        .chain(error)
        .collect()
}

/// The first names of a long list, by what tells them apart.
fn first_of(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut shown = distinct(&names);
    let more = shown.len().saturating_sub(SHOWN);
    shown.truncate(SHOWN);
    if more > 0 {
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
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
    json!({"schema": "systole.run-list/1", "path": importers::shown_path(path).display().to_string(), "runs": runs})
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
