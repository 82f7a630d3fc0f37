//! The commands for programs that call them without a shell: arguments are the words of the command line, results are
//! values. Errors have the same messages and exit codes as on the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::compare::{CompareOptions, Summary, compare, to_json};
use analysis::gates::{self, GateConfig};
use analysis::what_if::Replay;
use analysis::{ANALYSES, Report, Scope};
use clap::Args;
use importers::{ImportOptions, ListedFile, Progress};

use crate::commands::compare::TestArgs;
use crate::commands::render::{self as render_command, LookArgs};
use crate::commands::whatif;
use crate::common::args::{InputArgs, MessageArgs, ScopeArgs};
use crate::common::failure::Failure;
use crate::common::stderr::Stderr;
use crate::common::{checks, loading, summaries};
use render::comparison::{self, ComparedRuns};
use render::pictures::{self, PictureFormat};
use render::{AnsiStyle, Document, DocumentView, GatedDocument, ReportSection, TextLayout, html};
use session::Session;
use session::tables::{DataTable, report_table};

/// Why a command failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// The message that the command line would print.
    pub message: String,
    /// The exit code that it would have.
    pub code: u8,
}

impl std::fmt::Display for CommandError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CommandError {}

impl From<Failure> for CommandError {
    fn from(failure: Failure) -> Self {
        Self { message: failure.to_string(), code: failure.exit_code() }
    }
}

impl From<serde_json::Error> for CommandError {
    fn from(error: serde_json::Error) -> Self {
        Failure::Internal(error.to_string()).into()
    }
}

/// The result of a command, in every format.
pub struct CommandAnswer {
    /// As the command prints it with `--format json`, with all entries of lists.
    pub json: String,
    /// As the command prints it with `--format text`, without colours.
    pub text: String,
    /// As an HTML page; empty if the command writes none.
    pub html: String,
    /// Its tables.
    pub tables: Vec<Arc<DataTable>>,
}

/// Arguments of `A` from words.
pub fn parsed<A: Args>(words: &[OsString]) -> Result<A, CommandError> {
    let command = A::augment_args(clap::Command::new("systole").no_binary_name(true).disable_help_flag(true));
    let matches = command.try_get_matches_from(words);
    let parsed = matches.and_then(|matches| A::from_arg_matches(&matches));
    parsed.map_err(|error| {
        let text = error.to_string();
        // The usage text of the command line does not help the caller of a function.
        let message = text.split("\n\n").next().unwrap_or(&text).trim_start_matches("error: ").trim();
        CommandError { message: message.to_owned(), code: 2 }
    })
}

/// Embedded commands print no messages except errors.
pub fn silent() -> Stderr {
    Stderr::new(&MessageArgs { quiet: true, verbose: false, no_color: true, jobs: None })
}

/// Opens a trace. The words are those of `systole analyze`: `--run`, `--device-spec`, `--warmup` …
///
/// # Errors
///
/// The path or a word is wrong, or the file cannot be read.
pub fn open(path: &Path, words: &[OsString], progress: &Progress) -> Result<Session, CommandError> {
    open_within(path, words, &[], progress)
}

/// The same, where files beside those that are named are read only below these directories.
pub fn open_within(
    path: &Path,
    words: &[OsString],
    roots: &[PathBuf],
    progress: &Progress,
) -> Result<Session, CommandError> {
    let words: Vec<OsString> = [path.as_os_str().to_owned()].into_iter().chain(words.iter().cloned()).collect();
    let input: InputArgs = parsed(&words)?;
    let options = loading::assumptions(&input.assume, &silent())?;
    let import = ImportOptions { roots: roots.to_vec(), ..input.assume.import(input.run.clone()) };
    let session = Session::open(path, &import, options, progress).map_err(|error| Failure::import(error, path))?;
    checks::check_devices(&session, &input.assume.device)?;
    Ok(session)
}

/// All files below a directory or a pattern, of this machine or a bucket.
///
/// # Errors
///
/// Nothing is there, or it cannot be read.
pub fn files(path: &Path, progress: &Progress) -> Result<Vec<ListedFile>, CommandError> {
    importers::list_files(path, progress).map_err(|error| Failure::import(error, path).into())
}

/// A part of a trace. The words are `--steps A..B` or `--range FROM..TO`, or none.
///
/// # Errors
///
/// A word is wrong, or the trace has no such part.
pub fn scope(session: &Session, words: &[OsString]) -> Result<Scope, CommandError> {
    let scope: ScopeArgs = parsed(words)?;
    checks::check_part(session, &scope)?;
    Ok(scope.scope())
}

/// The result of `systole analyze`: all reports, or those with these ids.
///
/// # Errors
///
/// There is no such report.
pub fn analyze(session: &Session, scope: Scope, ids: Option<&[&str]>) -> Result<CommandAnswer, CommandError> {
    let all: Vec<&str> = ANALYSES.iter().map(|entry| entry.id).collect();
    if let Some(unknown) = ids.unwrap_or_default().iter().find(|id| !all.contains(id)) {
        let why = format!("there is no report {unknown:?}; there are {}", all.join(", "));
        return Err(Failure::Usage(why).into());
    }
    let view = if ids.is_some() { DocumentView::Tables } else { DocumentView::Summary };
    let document = Document::new(session, scope, ids.unwrap_or(&all), view);
    answer(&document)
}

fn answer(document: &Document) -> Result<CommandAnswer, CommandError> {
    let named = render::csv::tables(document).into_iter();
    Ok(CommandAnswer {
        json: render::json::document(document, 0)?,
        text: render::text::document(document, &plain()),
        html: String::new(),
        tables: named.map(|one| Arc::new(report_table(one.table.id, one.report, one.table.clone()))).collect(),
    })
}

/// The page that `systole analyze -o html=FILE` writes.
///
/// # Errors
///
/// The trace cannot be summarized.
pub fn page(session: &Session, scope: Scope) -> Result<String, CommandError> {
    let all: Vec<&str> = ANALYSES.iter().map(|entry| entry.id).collect();
    let document = Document::new(session, scope, &all, DocumentView::Summary);
    let run = summaries::summary_of(session, scope)?;
    let (report, comparison) = gates::against(&run, &[], &GateConfig::default());
    Ok(html::page(&document, &GatedDocument { are_set: false, report, run, comparison }))
}

/// The result of `systole compare` for two runs. The words are `--alpha`, `--min-effect`, `--force`.
///
/// # Errors
///
/// A word is wrong, or a trace cannot be summarized.
pub fn compared(
    base: (&Session, Scope),
    cand: (&Session, Scope),
    words: &[OsString],
) -> Result<CommandAnswer, CommandError> {
    let options = parsed::<TestArgs>(words)?.options()?;
    let summary =
        |(session, scope): (&Session, Scope)| Ok::<Summary, CommandError>(summaries::summary_of(session, scope)?);
    let (base, cand, trace) = ([summary(base)?], [summary(cand)?], cand.0.path());
    comparison_of(&base, &cand, trace.unwrap_or(Path::new("trace")), &options)
}

/// The result of `systole compare` for saved summaries: each side is a list of files. The words are those of
/// [`compared`].
///
/// # Errors
///
/// A word is wrong, or a file is no summary.
pub fn compared_summaries(
    base: &[PathBuf],
    cand: &[PathBuf],
    words: &[OsString],
) -> Result<CommandAnswer, CommandError> {
    let options = parsed::<TestArgs>(words)?.options()?;
    let read = |paths: &[PathBuf]| {
        let mut runs = Vec::new();
        for path in paths {
            let why = "this is not a summary of a run".to_owned();
            runs.extend(
                summaries::saved(path, &ImportOptions::default(), &silent())?
                    .ok_or_else(|| Failure::Summary { why, path: path.clone() })?,
            );
        }
        Ok::<_, CommandError>(runs)
    };
    comparison_of(&read(base)?, &read(cand)?, Path::new("trace"), &options)
}

fn comparison_of(
    base: &[Summary],
    cand: &[Summary],
    trace: &Path,
    options: &CompareOptions,
) -> Result<CommandAnswer, CommandError> {
    let comparison = compare(base, cand, options);
    let compared = ComparedRuns { base, cand, comparison: &comparison, gates: None, trace };
    let tables = comparison::tables(&compared).into_iter();
    Ok(CommandAnswer {
        json: comparison::json(&compared, 0)?,
        text: comparison::text(&compared, &plain()),
        html: html::comparison::page(&compared),
        tables: tables.map(|one| Arc::new(report_table(one.table.id, one.report, one.table.clone()))).collect(),
    })
}

/// The result of `systole summarize`: JSON for comparisons.
///
/// # Errors
///
/// The trace has nothing to compare.
pub fn summary(session: &Session, scope: Scope) -> Result<String, CommandError> {
    const OPS: usize = 200;
    const STEPS_OF_OPS: usize = 40;
    let summary = summaries::summary_of(session, scope)?.shortened(OPS, STEPS_OF_OPS);
    Ok(to_json(&[summary])?)
}

/// The picture that `systole render` draws, as SVG. The words are `--panel`, `--size`, `--dark`, `--by-name`.
///
/// # Errors
///
/// A word is wrong, or the trace does not have what such a picture shows.
pub fn picture(session: &Session, scope: Scope, words: &[OsString]) -> Result<String, CommandError> {
    let look: LookArgs = parsed(words)?;
    let drawing = render_command::drawn(session, session.path().unwrap_or(Path::new("trace")), scope, &look)?;
    let file = pictures::encoded(&drawing, PictureFormat::Svg, 1.0).map_err(Failure::Usage)?;
    Ok(String::from_utf8_lossy(&file).into_owned())
}

/// The result of `systole whatif`. The words are its changes: `--ici 2x`, `--hide-collectives` …
///
/// # Errors
///
/// A word is wrong, or the recorded run cannot be replayed.
pub fn what_if(session: &Session, scope: Scope, words: &[OsString]) -> Result<CommandAnswer, CommandError> {
    let args: whatif::ChangeArgs = parsed(words)?;
    let changes = whatif::changes(&args, session, scope)?;
    let context = session.context(scope);
    let result = Replay::new(&context).and_then(|replay| replay.with(&context, &changes));
    let prediction = result.map_err(|error| CommandError { message: error.to_string(), code: 11 })?;
    let result = Ok(Arc::new(prediction) as Arc<dyn Report>);
    answer(&Document::of(session, scope, ReportSection { id: "whatif", title: "What if", result }))
}

fn plain() -> TextLayout {
    TextLayout { width: 100, top: 10, entries: 0, style: AnsiStyle::PLAIN }
}
