//! Open traces, shared between calls.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use importers::{ImportOptions, Progress};

use super::roots::Roots;
use crate::cli::common::failure::Failure;
use crate::cli::embedded::{self, CommandError};
use crate::session::Session;

/// The last traces that were asked about.
#[derive(Debug)]
pub struct OpenTraces {
    most: usize,
    /// The one asked about last comes last.
    open: Mutex<Vec<OpenTrace>>,
    /// Held while one is read, so that two calls do not read the same.
    reading: Mutex<()>,
}

#[derive(Debug)]
struct OpenTrace {
    asked: (PathBuf, Vec<OsString>),
    files: Vec<FileState>,
    session: Session,
}

/// What changes when a file is written again.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileState {
    path: PathBuf,
    bytes: u64,
    changed: Option<SystemTime>,
}

impl OpenTraces {
    /// Keeps so many traces, at least one.
    pub fn new(most: usize) -> Self {
        Self { most: most.max(1), open: Mutex::default(), reading: Mutex::default() }
    }

    /// An open trace, or the files of `path` read anew: the first time, and after they have changed. The words are those
    /// of `systole analyze`.
    pub fn get(
        &self,
        roots: &Roots,
        path: &Path,
        run: Option<String>,
        words: Vec<OsString>,
        progress: &Progress,
    ) -> Result<Session, CommandError> {
        let files = files(roots, path, run, progress)?;
        let asked = (path.to_owned(), words);
        if let Some(found) = self.found(&asked, &files) {
            return Ok(found);
        }
        let reading = self.reading.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = self.found(&asked, &files) {
            return Ok(found);
        }
        let session = embedded::open(path, &asked.1, progress)?;
        drop(reading);
        // An importer can find more files beside those that were named.
        let sources = session.model().sources().iter().filter_map(|source| source.path.as_deref());
        if let Some(outside) = sources.into_iter().find(|file| !roots.contain(file)) {
            return Err(outside_of(roots, outside));
        }
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|trace| trace.asked != asked);
        if open.len() >= self.most {
            open.remove(0);
        }
        open.push(OpenTrace { asked, files, session: session.clone() });
        Ok(session)
    }

    fn found(&self, asked: &(PathBuf, Vec<OsString>), files: &[FileState]) -> Option<Session> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let at = open.iter().position(|trace| trace.asked == *asked && trace.files == files)?;
        let trace = open.remove(at);
        let session = trace.session.clone();
        open.push(trace);
        Some(session)
    }
}

/// The state of the files that a path names; an error if one of them must not be read.
fn files(roots: &Roots, path: &Path, run: Option<String>, progress: &Progress) -> Result<Vec<FileState>, CommandError> {
    let options = ImportOptions { run, ..ImportOptions::default() };
    let located = importers::locate(path, &options, progress).map_err(|error| Failure::import(error, path))?;
    let files = located.hosts.into_iter().flat_map(|host| host.files);
    let state = |path: PathBuf| {
        if !roots.contain(&path) {
            return Err(outside_of(roots, &path));
        }
        let about = std::fs::metadata(&path).ok();
        let bytes = about.as_ref().map_or(0, std::fs::Metadata::len);
        Ok(FileState { bytes, changed: about.and_then(|about| about.modified().ok()), path })
    };
    files.map(state).collect()
}

fn outside_of(roots: &Roots, path: &Path) -> CommandError {
    let error = roots.path(&path.to_string_lossy()).err();
    let message = error.map_or_else(
        || format!("this file is a link that leads outside: {}", path.display()),
        |failure| failure.to_string(),
    );
    CommandError { message, code: 3 }
}
