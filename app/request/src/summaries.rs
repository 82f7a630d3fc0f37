//! Summaries of runs: saved ones, and those of traces.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use analysis::Scope;
use analysis::compare::{Summary, SummaryInput, from_json, is_meant};
use importers::{ImportOptions, Progress};
use render::InputFile;
use session::Session;

use crate::Warnings;
use crate::error::{RequestError, Result};
use crate::history_file;

/// Maximum size of a summary: ten thousand ops in as many steps as are stored.
const MAX_SUMMARY: u64 = 256 << 20;

/// Saved runs, if the file contains some: a summary, several, or the last runs of a history that did not fail.
pub fn saved(
    path: &Path,
    import: &ImportOptions,
    warnings: &dyn Warnings,
) -> Result<Option<Vec<Summary>>> {
    if importers::is_remote(path) {
        return saved_in_bucket(path, import);
    }
    let Some((file, mut head)) = begun(path) else {
        return Ok(None);
    };
    if history_file::is_meant(&head) {
        let runs = history_file::baseline(path, None, warnings)?;
        let why = "no run of this history passed and contains what a comparison needs";
        return if runs.is_empty() {
            Err(RequestError::summary(path)(why))
        } else {
            Ok(Some(runs))
        };
    }
    if !is_meant(&head) {
        return Ok(None);
    }
    file.take(MAX_SUMMARY)
        .read_to_end(&mut head)
        .map_err(RequestError::summary(path))?;
    parsed(head, path).map(Some)
}

/// Whether this file is a history.
pub fn is_history(path: &Path) -> bool {
    begun(path).is_some_and(|(_, head)| history_file::is_meant(&head))
}

/// A file and how it begins. What cannot be read here is reported by the import.
fn begun(path: &Path) -> Option<(File, Vec<u8>)> {
    const HEAD: u64 = 4096;
    if !path.is_file() {
        return None;
    }
    let (mut file, mut head) = (File::open(path).ok()?, Vec::new());
    file.by_ref().take(HEAD).read_to_end(&mut head).ok()?;
    Some((file, head))
}

/// The same for a file in a bucket or on a web server.
fn saved_in_bucket(path: &Path, import: &ImportOptions) -> Result<Option<Vec<Summary>>> {
    let progress = Progress::new();
    let failed = |error| RequestError::import(error, path);
    match importers::remote_head(path, &progress).map_err(failed)? {
        Some(head) if is_meant(&head) => {}
        Some(head) if history_file::is_meant(&head) => {
            return Err(RequestError::Usage(
                "a file of --history must be on this machine".to_owned(),
            ));
        }
        _ => return Ok(None),
    }
    let source = importers::open_file(path, import, &progress).map_err(failed)?;
    let content = source.content(&progress).map_err(failed)?;
    parsed((*content.bytes).as_ref().to_vec(), path).map(Some)
}

fn parsed(text: Vec<u8>, path: &Path) -> Result<Vec<Summary>> {
    let path = importers::shown_path(path);
    let text = String::from_utf8(text).map_err(RequestError::summary(&path))?;
    let mut runs = from_json(&text).map_err(RequestError::summary(&path))?;
    for run in &mut runs {
        run.saved_in = Some(path.display().to_string());
    }
    Ok(runs)
}

/// The summary of a trace.
pub fn plain_summary(session: &Session, scope: Scope) -> Result<Summary> {
    Summary::of(&session.context(scope)).map_err(|error| RequestError::Internal(error.to_string()))
}

/// The same with fingerprints of the input files.
pub fn summary_of(session: &Session, scope: Scope) -> Result<Summary> {
    let mut summary = plain_summary(session, scope)?;
    let input = |file: InputFile| SummaryInput {
        name: file.name,
        path: file.path,
        format: file.format.to_owned(),
        fingerprint: file.fingerprint,
        sha256: file.sha256,
    };
    summary.inputs = InputFile::all(session).into_iter().map(input).collect();
    Ok(summary)
}
