//! Summaries of runs: read if saved, else computed from a trace.

use crate::common::args::AssumeArgs;
use crate::common::failure::Failure;
use crate::common::stderr::Stderr;
use crate::common::values::{OutputFormat, StepsArg};
use crate::common::{checks, history_file, loading};
use analysis::Scope;
use analysis::compare::{Summary, SummaryInput, from_json, is_meant};
use importers::{ImportOptions, Progress};
use render::InputFile;
use session::Session;
use std::fs::File;
use std::io::Read as _;
use std::path::Path;

/// An input, and whether all runs of a log directory count.
pub type RequestedInput<'a> = (&'a Path, bool);

/// Maximum size of a summary: ten thousand ops in as many steps as are stored.
const MAX_SUMMARY: u64 = 256 << 20;

/// Every run of a side.
pub fn summaries(
    paths: &[RequestedInput<'_>],
    assume: &AssumeArgs,
    steps: Option<StepsArg>,
    format: OutputFormat,
    stderr: &Stderr,
) -> Result<Vec<Summary>, Failure> {
    let mut out = Vec::new();
    for &(path, all_runs) in paths {
        if let Some(saved) = saved(path, &assume.import(None), stderr)? {
            if steps.is_some() {
                let why = "--steps needs the trace: a saved summary has only the steps it was made from";
                return Err(Failure::Usage(format!("{why}: {}", path.display())));
            }
            out.extend(saved);
            continue;
        }
        for run in runs(path, all_runs, assume) {
            let session = loading::open_path(path, run, assume, format, stderr)?;
            let scope = match steps {
                Some(steps) => {
                    checks::check_steps(&session, steps)?;
                    Scope::Steps { first: steps.first, last: steps.last }
                }
                None => Scope::WholeTrace,
            };
            out.push(plain_summary(&session, scope)?);
        }
    }
    Ok(out)
}

/// The runs of a log directory; otherwise just the path.
fn runs(path: &Path, all: bool, assume: &AssumeArgs) -> Vec<Option<String>> {
    let may_be_directory = path.is_dir() || importers::is_remote(path);
    let located = if all && may_be_directory {
        importers::locate(path, &assume.import(None), &Progress::new()).ok()
    } else {
        None
    };
    match located {
        Some(located) if !located.other_runs.is_empty() => {
            let mut names: Vec<_> = located.run.into_iter().chain(located.other_runs).map(Some).collect();
            names.sort();
            names
        }
        _ => vec![None],
    }
}

/// Saved runs, if the file contains some: a summary, several, or the last runs of a history that did not fail.
pub fn saved(path: &Path, import: &ImportOptions, stderr: &Stderr) -> Result<Option<Vec<Summary>>, Failure> {
    const HEAD: u64 = 4096;
    if importers::is_remote(path) {
        return saved_in_bucket(path, import);
    }
    let mut head = Vec::new();
    let opened = if path.is_file() { File::open(path).ok() } else { None };
    let Some(mut file) = opened else { return Ok(None) };
    // What cannot be read here is reported by the import.
    if file.by_ref().take(HEAD).read_to_end(&mut head).is_err() {
        return Ok(None);
    }
    if history_file::is_meant(&head) {
        return history_file::baseline(path, stderr).map(Some);
    }
    if !is_meant(&head) {
        return Ok(None);
    }
    let wrong = |why: String| Failure::Summary { why, path: path.to_owned() };
    file.take(MAX_SUMMARY).read_to_end(&mut head).map_err(|error| wrong(error.to_string()))?;
    parsed(head, path).map(Some)
}

/// The same for a file in a bucket or on a web server.
fn saved_in_bucket(path: &Path, import: &ImportOptions) -> Result<Option<Vec<Summary>>, Failure> {
    let progress = Progress::new();
    let failed = |error| Failure::import(error, path);
    match importers::remote_head(path, &progress) {
        Ok(Some(head)) if is_meant(&head) => {}
        Ok(Some(head)) if history_file::is_meant(&head) => {
            return Err(Failure::Usage("a file of --history must be on this machine".to_owned()));
        }
        // What cannot be read here is reported by the import.
        _ => return Ok(None),
    }
    let source = importers::open_file(path, import, &progress).map_err(failed)?;
    let content = source.content(&progress).map_err(failed)?;
    parsed((*content.bytes).as_ref().to_vec(), path).map(Some)
}

fn parsed(text: Vec<u8>, path: &Path) -> Result<Vec<Summary>, Failure> {
    let path = importers::shown_path(path);
    let wrong = |why: String| Failure::Summary { why, path: path.clone() };
    let text = String::from_utf8(text).map_err(|error| wrong(error.to_string()))?;
    let mut runs = from_json(&text).map_err(|error| wrong(error.to_string()))?;
    for run in &mut runs {
        run.saved_in = Some(path.display().to_string());
    }
    Ok(runs)
}

/// The summary of a trace.
fn plain_summary(session: &Session, scope: Scope) -> Result<Summary, Failure> {
    Summary::of(&session.context(scope)).map_err(|error| Failure::Internal(error.to_string()))
}

/// The same with fingerprints of the input files, which requires reading them again.
pub fn summary_of(session: &Session, scope: Scope) -> Result<Summary, Failure> {
    let mut summary = plain_summary(session, scope)?;
    let input = |file: InputFile| SummaryInput {
        name: file.name,
        path: file.path,
        format: file.format.to_owned(),
        sha256: file.sha256,
    };
    summary.inputs = InputFile::all(session).into_iter().map(input).collect();
    Ok(summary)
}
