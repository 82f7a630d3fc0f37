//! The answers, as values: what the commands of the same names print.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use analysis::compare::{CompareOptions, Summary, compare, to_json, without_repeated};
use analysis::gates::{self, GateConfig};
use analysis::hints::{rule, rules};
use analysis::reports::hlo::ProgramDiff;
use analysis::what_if::SharedReplay;
use analysis::{ANALYSES, AnalysisError, Report, Scope};
use importers::{ImportOptions, ListedFile, Progress};

use crate::assumptions::TraceRequest;
use crate::compare::CompareRequest;
use crate::error::{RequestError, Result};
use crate::events::{EventQuestion, EventsRequest};
use crate::expect::ExpectRequest;
use crate::hlo::{HloAnswer, HloRequest};
use crate::picture::{PictureRequest, drawn};
use crate::settings::SettingsFile;
use crate::what_if::{WhatIfRequest, changes};
use crate::{Warnings, checks, ignored, summaries};
use render::comparison::{self, ComparedRuns, ShownTables};
use render::pictures::PictureFormat;
use render::{AnsiStyle, Document, DocumentView, GatedDocument, NamedTable, TextLayout, html};
use session::tables::{DataTable, report_table};
use session::{ExecutionTimes, Session};

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

/// Opens a trace, where files beside those that are named are read only below `roots`; anywhere if there are none. With
/// `programs_only` a program without times will do.
pub fn open(
    trace: &TraceRequest,
    roots: &[PathBuf],
    programs_only: bool,
    progress: &Progress,
) -> Result<Session> {
    let options = trace
        .assume
        .options(&SettingsFile::of(trace.assume.reading.config.as_deref())?)?;
    let import = ImportOptions {
        roots: roots.to_vec(),
        programs_only,
        fingerprints: true,
        ..trace.assume.import(trace.run.clone())?
    };
    let opened = Session::open(&trace.path, &import, options, progress);
    let session = opened.map_err(|error| RequestError::import(error, &trace.path))?;
    checks::check_devices(&session, &trace.assume.values.device)?;
    ignored::check_topology(&session)?;
    let has_clock = trace.assume.values.clock.is_some();
    let unused = ignored::ignored(&session, has_clock);
    Ok(session.with_unused_arguments(unused.iter().map(ToString::to_string)))
}

/// All files below a directory or a pattern, of this machine or a bucket.
pub fn files(path: &Path, progress: &Progress) -> Result<Vec<ListedFile>> {
    importers::list_files(path, progress).map_err(|error| RequestError::import(error, path))
}

/// The reports with these ids, in their order; all if none is named.
pub fn reports(ids: &[impl AsRef<str>]) -> Result<Vec<&'static str>> {
    let all = || ANALYSES.iter().map(|entry| entry.id);
    if let Some(unknown) = ids
        .iter()
        .map(AsRef::as_ref)
        .find(|id| all().all(|one| one != *id))
    {
        let why = format!(
            "there is no report {unknown:?}; the analyses are {}",
            trace_model::joined(all(), ", ")
        );
        return Err(RequestError::Usage(why));
    }
    Ok(all()
        .filter(|one| ids.is_empty() || ids.iter().any(|id| id.as_ref() == *one))
        .collect())
}

/// The document of all reports, or of those with these ids.
pub fn document(session: &Session, scope: Scope, ids: &[impl AsRef<str>]) -> Result<Document> {
    let view = if ids.is_empty() {
        DocumentView::Summary
    } else {
        DocumentView::Tables
    };
    Ok(Document::new(session, scope, &reports(ids)?, view))
}

/// The result of `systole analyze`.
pub fn analyze(session: &Session, scope: Scope, ids: &[String]) -> Result<CommandAnswer> {
    answer(&document(session, scope, ids)?)
}

fn answer(document: &Document) -> Result<CommandAnswer> {
    Ok(CommandAnswer {
        json: render::json::document(document, 0)?.collect::<Result<_, _>>()?,
        text: render::text::document(document, &plain()),
        html: String::new(),
        tables: data_tables(render::csv::tables(document)),
    })
}

fn data_tables(named: Vec<NamedTable>) -> Vec<Arc<DataTable>> {
    let named = named.into_iter();
    named
        .map(|NamedTable { report, table }| Arc::new(report_table(table.id, report, table)))
        .collect()
}

/// The page that `systole analyze -o html=FILE` writes.
pub fn page(session: &Session, scope: Scope) -> Result<String> {
    let document = document(session, scope, &[] as &[&str])?;
    let run = summaries::summary_of(session, scope)?;
    let (report, comparison) = gates::against(&run, &[], &GateConfig::default());
    Ok(html::page(
        &document,
        &GatedDocument {
            are_set: false,
            report,
            run,
            comparison,
        },
    ))
}

/// The result of `systole compare` for two runs, with these notes.
pub fn compared(
    base: (&Session, Scope),
    cand: (&Session, Scope),
    request: &CompareRequest,
    notes: Vec<String>,
) -> Result<CommandAnswer> {
    let summary = |(session, scope): (&Session, Scope)| summaries::summary_of(session, scope);
    let (options, trace) = (request.options()?, cand.0.path());
    comparison_of(
        &[summary(base)?],
        &[summary(cand)?],
        trace.unwrap_or(Path::new("trace")),
        &options,
        notes,
    )
}

/// The result of `systole compare` for saved summaries: each side is a list of files.
pub fn compared_summaries(
    base: &[PathBuf],
    cand: &[PathBuf],
    request: &CompareRequest,
) -> Result<CommandAnswer> {
    let read = |paths: &[PathBuf]| {
        let mut runs = Vec::new();
        for path in paths {
            let saved = summaries::saved(path, &ImportOptions::default(), &())?;
            let why = "this is not a summary of a run";
            runs.extend(saved.ok_or_else(|| RequestError::summary(path)(why))?);
        }
        Ok::<_, RequestError>(runs)
    };
    comparison_of(
        &read(base)?,
        &read(cand)?,
        Path::new("trace"),
        &request.options()?,
        Vec::new(),
    )
}

fn comparison_of(
    base: &[Summary],
    cand: &[Summary],
    trace: &Path,
    options: &CompareOptions,
    notes: Vec<String>,
) -> Result<CommandAnswer> {
    let mut comparison = compare(base, cand, options);
    comparison.notes.extend(notes);
    let [(base, _), (cand, _)] = [base, cand].map(without_repeated);
    let compared = ComparedRuns {
        base: &base,
        cand: &cand,
        comparison: &comparison,
        gates: None,
        trace,
        shown: ShownTables::Screen,
    };
    Ok(CommandAnswer {
        json: comparison::json(&compared, 0)?,
        text: comparison::text(&compared, &plain()),
        html: html::comparison::page(&compared),
        tables: data_tables(comparison::tables(&compared)),
    })
}

/// The result of `systole summarize`: JSON for comparisons.
pub fn summary(session: &Session, scope: Scope) -> Result<String> {
    const OPS: usize = 200;
    const STEPS_OF_OPS: usize = 40;
    let session = session.clone().with_sha256(true);
    let summary = summaries::summary_of(&session, scope)?.shortened(OPS, STEPS_OF_OPS);
    Ok(to_json(&[summary])?)
}

/// The picture that `systole render` draws, as SVG.
pub fn picture(session: &Session, scope: Scope, request: &PictureRequest) -> Result<String> {
    let drawing = drawn(
        session,
        session.path().unwrap_or(Path::new("trace")),
        scope,
        request,
    )?;
    let file = drawing
        .encoded(PictureFormat::Svg, 1.0)
        .map_err(RequestError::Usage)?;
    Ok(String::from_utf8_lossy(&file).into_owned())
}

/// The recorded run with changes.
pub fn prediction(
    session: &Session,
    scope: Scope,
    request: &WhatIfRequest,
) -> Result<Result<Arc<dyn Report>, AnalysisError>> {
    let changes = changes(request, session, scope)?;
    let context = session.context(scope);
    let result = context
        .report::<SharedReplay>()
        .and_then(|replay| replay.with(&context, &changes));
    Ok(result.map(|prediction| Arc::new(prediction) as Arc<dyn Report>))
}

/// The result of `systole whatif`.
pub fn what_if(session: &Session, scope: Scope, request: &WhatIfRequest) -> Result<CommandAnswer> {
    let report = prediction(session, scope, request)??;
    with_page(session, scope, ("whatif", "What if"), report)
}

/// What `systole hlo` says about the programs of a trace.
pub fn programs(session: &Session, scope: Scope, request: &HloRequest) -> Result<CommandAnswer> {
    let open = |path: &Path| {
        let import = ImportOptions {
            programs_only: true,
            ..ImportOptions::default()
        };
        let (options, progress) = (session.options().clone(), Progress::new());
        let opened = Session::open_for_reports(path, &import, options, &progress);
        opened
            .map(Box::new)
            .map_err(|error| RequestError::import(error, path))
    };
    let answer = request.answer(&session.context(scope), open, &())??;
    with_page(session, scope, ("hlo", "Programs"), answer.report())
}

/// The rows of `systole events`.
pub fn events(
    session: &Session,
    scope: Scope,
    request: &EventsRequest,
    goes_on: &dyn Fn() -> bool,
) -> Result<DataTable> {
    Ok(EventQuestion::new(session, request, scope, &[])?.table(goes_on))
}

/// How long the executions of a program take, and the calls of it that are annotated as `call`.
pub fn execution_times(session: &Session, program: &str, call: &str) -> Result<CommandAnswer> {
    let times = ExecutionTimes::of(session.whole_model(), program, call);
    let times = times.map_err(RequestError::DoesNotApply)?;
    let names = ("execution_times", "Time of a program");
    with_page(session, Scope::WholeTrace, names, Arc::new(times))
}

/// The page of a hint, with its thresholds.
pub fn explained(id: &str) -> Result<String> {
    let rule = rule(id).ok_or_else(|| {
        let all = trace_model::joined(rules().iter().map(|rule| rule.id), ", ");
        RequestError::Usage(format!("there is no hint {id:?}; the hints are {all}"))
    })?;
    let mut text = rule.page.to_owned();
    if !rule.thresholds.is_empty() {
        text.push_str("\n## Thresholds\n");
    }
    for limit in rule.thresholds {
        let _ = writeln!(text, "- `{}` = {}: {}.", limit.id, limit.value, limit.why);
    }
    Ok(text)
}

/// The answer that is one report, with a page of its tables.
fn with_page(
    session: &Session,
    scope: Scope,
    title: (&'static str, &'static str),
    report: Arc<dyn Report>,
) -> Result<CommandAnswer> {
    let document = Document::of(session, scope, title, Ok(report));
    Ok(CommandAnswer {
        html: html::tables_page(&document),
        ..answer(&document)?
    })
}

/// What `systole expect` says of these expectations.
pub fn expected(session: &Session, scope: Scope, request: &ExpectRequest) -> Result<CommandAnswer> {
    let report: Arc<dyn Report> = Arc::new(request.answer(&session.context(scope))?);
    with_page(session, scope, ("expect", "Expectations"), report)
}

/// What `systole hlo --diff` says of the programs of two traces.
pub fn program_diff((first, scope): (&Session, Scope), second: &Session) -> Result<CommandAnswer> {
    let report = diff_of(first, scope, second, &())??;
    answer(&Document::of(first, scope, ("hlo", "Programs"), Ok(report)))
}

/// The instructions in which two programs differ; `None` if these cannot be read whole.
pub fn instructions_that_differ(first: &Session, second: &Session) -> Result<Option<ProgramDiff>> {
    let report = diff_of(first, Scope::WholeTrace, second, &())?.ok();
    Ok(report.and_then(|report| report.as_any().downcast_ref().cloned()))
}

/// The same as a report, or why there is none.
pub fn diff_of(
    first: &Session,
    scope: Scope,
    second: &Session,
    warnings: &dyn Warnings,
) -> Result<Result<Arc<dyn Report>, AnalysisError>> {
    let question = HloRequest {
        diff: Some(PathBuf::new()),
        ..HloRequest::default()
    };
    let other = |_: &Path| Ok(Box::new(second.clone()));
    let answer = question.answer(&first.context(scope), other, warnings)?;
    Ok(answer.map(HloAnswer::report))
}

fn plain() -> TextLayout {
    TextLayout {
        width: 100,
        top: 10,
        entries: 0,
        style: AnsiStyle::PLAIN,
    }
}
