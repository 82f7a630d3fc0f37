//! `systole compile`: what was compiled in several runs, why, and what a cache would have saved.

use super::prelude::*;
use analysis::reports::host::compile::{CompileRuns, RunCompilations};
use analysis::reports::{Compile, CompileReport};
use analysis::{Tabular as _, distinct, shortened};
use request::history_file::{self, HistoryLine};
use session::files::is_same;

use crate::common::summaries::runs;

/// The name of the format and its version.
const SCHEMA: &str = "systole.compilations/1";

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CompileArgs {
    /// Profiles, run or log directories (all runs of them), logs of JAX programs, and folders of them
    #[arg(required_unless_present = "history")]
    pub paths: Vec<PathBuf>,
    /// Also the runs that this file of `--history` tells of
    #[arg(long, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// The table of CSV, NDJSON and Markdown
    #[arg(long, value_enum, default_value_t = CompileTable::Functions)]
    pub table: CompileTable,
    /// Rows of each table in text; 0 for all, with the reasons of each and a table by day
    #[arg(long, value_name = "N", default_value_t = 10)]
    pub top: usize,
    #[command(flatten)]
    pub csv: CsvArgs,
    #[command(flatten)]
    pub assume: Assumptions,
}

/// A table of the command.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum CompileTable {
    /// Each function in each run.
    Functions,
    /// Each compilation.
    Compilations,
    /// Each day.
    Days,
    /// Each run of the history.
    Recorded,
}

impl CompileTable {
    /// Why there may be no such table.
    fn missing(self) -> String {
        match self {
            Self::Recorded => "recorded needs --history".to_owned(),
            _ => "no run has a date".to_owned(),
        }
    }
}

/// A run that could be read.
struct OpenRun {
    name: String,
    session: Session,
    report: Arc<CompileReport>,
}

pub fn run(args: &CompileArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let loading = Loading::new(&args.assume, stderr)?;
    let mut open = Vec::new();
    let mut failed = Vec::new();
    let paths: Vec<PathBuf> = args
        .paths
        .iter()
        .flat_map(|path| logs_in(path, &loading).unwrap_or_else(|| vec![path.clone()]))
        .collect();
    for (index, path) in paths.iter().enumerate() {
        let before = paths.get(..index).unwrap_or_default();
        if before.iter().any(|other| is_same(other, path)) {
            stderr.warn(&format!("named twice, read once: {}", path.display()));
            continue;
        }
        for run in runs(path, true, &loading) {
            match opened(path, run.as_deref(), &loading, args.format) {
                Ok(run) => open.push(run),
                // Profiles of several sessions in one folder are several runs.
                Err(error) => match profiles_in(path).filter(|_| run.is_none()) {
                    Some(files) => {
                        let read = |file: &PathBuf| opened(file, None, &loading, args.format);
                        let (good, bad): (Vec<_>, Vec<_>) =
                            files.iter().map(read).partition(Result::is_ok);
                        open.extend(good.into_iter().flatten());
                        failed.extend(bad.into_iter().filter_map(Result::err));
                    }
                    None => failed.push(error),
                },
            }
        }
    }
    if open.is_empty() && !failed.is_empty() {
        return Err(failed.swap_remove(0));
    }
    for error in &failed {
        stderr.warn(&error.to_string());
    }
    let names: Vec<&str> = open.iter().map(|run| run.name.as_str()).collect();
    let names = distinct(&names);
    let runs = open
        .iter()
        .zip(&names)
        .map(|(run, name)| RunCompilations::new(name, run.session.model(), &run.report));
    let report = CompileRuns::new(runs.collect());
    let mut tables = report.tables();
    if let Some(history) = &args.history {
        tables.push(recorded(&history_file::read(history, stderr)?));
    }
    let id = args.table.to_possible_value();
    let id = id.as_ref().map_or("", |value| value.get_name());
    let chosen = tables
        .iter()
        .find(|table| table.id == id)
        .ok_or_else(|| RequestError::argument("table", args.table.missing()))?;
    let text = written(&report, &tables, chosen, args, stderr);
    output::print_as(args.format, &text)
}

/// The logs in a folder without profiles; `None` if it has runs, or no logs.
fn logs_in(path: &Path, loading: &Loading<'_>) -> Option<Vec<PathBuf>> {
    if importers::locate(path, &loading.import(None), &Progress::new()).is_ok() {
        return None;
    }
    files_in(path, &[".log", ".txt"])
}

/// The profiles in a folder, if there are several.
fn profiles_in(path: &Path) -> Option<Vec<PathBuf>> {
    files_in(path, &[".xplane.pb", ".xplane.pb.gz"]).filter(|files| files.len() > 1)
}

/// The files of a folder with one of these endings, by name; `None` without any.
fn files_in(path: &Path, endings: &[&str]) -> Option<Vec<PathBuf>> {
    let is_meant = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        endings.iter().any(|ending| name.ends_with(ending)) && path.is_file()
    };
    let entries = std::fs::read_dir(path).ok()?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> = files.filter(is_meant).collect();
    files.sort();
    (!files.is_empty()).then_some(files)
}

fn opened(
    path: &Path,
    run: Option<&str>,
    loading: &Loading<'_>,
    format: OutputFormat,
) -> Result<OpenRun> {
    let session = loading.open_for_reports(path, run.map(str::to_owned), format, false)?;
    let report = session
        .report::<Compile>(Scope::WholeTrace)
        .map_err(|error| RequestError::DoesNotApply(format!("{error}: {}", path.display())))?;
    let name = run.map_or_else(|| path.to_owned(), |run| path.join(run));
    Ok(OpenRun {
        name: importers::shown_path(&name).display().to_string(),
        session,
        report,
    })
}

/// The runs of a history.
fn recorded(lines: &[HistoryLine]) -> Table {
    let number = |id: &'static str| move |line: &HistoryLine| line.number(id);
    let commit = |line: &HistoryLine| line.commit.clone();
    Table::of("recorded", "Runs of the history", lines.iter())
        .derived("run", "Run", Unit::None, |line: &HistoryLine| line.run())
        .derived("commit", "Commit", Unit::None, commit)
        .derived(
            "compilations",
            "Compiled",
            Unit::Count,
            number("compile.count"),
        )
        .derived(
            "recompilations",
            "Again",
            Unit::Count,
            number("compile.recompilations"),
        )
        .derived(
            "wall_ps",
            "Time",
            Unit::Picoseconds,
            number("compile.wall_ps"),
        )
        .build()
}

fn written(
    report: &CompileRuns,
    tables: &[Table],
    chosen: &Table,
    args: &CompileArgs,
    stderr: &Stderr,
) -> String {
    let recorded = tables.iter().find(|table| table.id == "recorded");
    let json = || json!({"schema": SCHEMA, "compilations": report, "recorded": recorded});
    output::list(
        args.format,
        args.csv.cells(),
        "compile",
        chosen.clone(),
        |_| text(report, tables, args, stderr),
        json,
    )
}

fn text(report: &CompileRuns, tables: &[Table], args: &CompileArgs, stderr: &Stderr) -> String {
    let style = stderr.stdout_style();
    let layout = TextLayout {
        top: args.top,
        ..terminal::whole_tables(style)
    };
    let mut text = String::new();
    for sentence in report.statements.iter().filter(|_| report.runs > 0) {
        text += &layout.plain_lines(0, sentence);
    }
    for one in tables {
        let is_shown = match one.id {
            "functions" => !one.rows.is_empty(),
            "days" => args.top == 0,
            "compilations" => false,
            _ => true,
        };
        if is_shown {
            text.push('\n');
            // Reasons are sentences, which columns would cut.
            text.push_str(&table::table(&one.without(&["why"]), &layout));
        }
    }
    text += &reasons(report, args.top, &layout);
    text
}

/// Why the functions were compiled that took longest.
fn reasons(report: &CompileRuns, top: usize, layout: &TextLayout) -> String {
    let shown = if top == 0 { usize::MAX } else { REASONS };
    let mut text = String::new();
    for row in report.functions.iter().take(shown) {
        if text.is_empty() {
            text += "\nWhy, the last time in the run\n";
        }
        let line = format!(
            "{}, {}: {}",
            shortened(&row.function, NAME),
            row.run,
            row.why
        );
        text += &layout.plain_lines(2, &line);
    }
    let left = report.functions.len().saturating_sub(shown);
    if left > 0 {
        let more = format!("… {left} more; --top 0 shows all");
        text += &layout.plain_lines(2, &more);
    }
    text
}

/// Letters of a function's name beside its reason.
const NAME: usize = 60;
/// Reasons on the first screen.
const REASONS: usize = 3;
