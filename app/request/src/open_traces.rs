//! Open traces, shared between calls.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use importers::{ImportOptions, ListedFile, Progress};

use crate::answers;
use crate::assumptions::TraceRequest;
use crate::error::{RequestError, Result};
use crate::places::Roots;
use session::{RequestSession, Session};
use trace_model::{TraceModel, locked};

/// The last traces that were asked about.
#[derive(Debug)]
pub struct OpenTraces {
    most: usize,
    /// Memory of their models.
    most_bytes: usize,
    /// The one asked about last comes last.
    open: Mutex<Vec<KeptTrace>>,
    /// Held while a trace is read, so that two calls do not read the same.
    reading: Mutex<BTreeMap<String, Arc<Mutex<()>>>>,
}

/// A trace that is asked for.
#[derive(Debug)]
pub struct AskedTrace {
    /// How to read it.
    pub trace: TraceRequest,
    /// Size and time of the last change of a run in a bucket, as its listing says; its files are not looked at.
    pub listed: Option<(Option<u64>, Option<SystemTime>)>,
    /// Whether the question is about programs, so that one without times will do.
    pub programs_only: bool,
}

#[derive(Debug)]
struct KeptTrace {
    key: String,
    files: Vec<ListedFile>,
    session: Session,
    bytes: usize,
}

impl AskedTrace {
    /// What tells it from others: all that is said of it, so that nothing can be forgotten.
    pub fn key(&self) -> String {
        format!("{:?} {}", self.trace, self.programs_only)
    }
}

impl OpenTraces {
    /// Keeps so many traces of so many bytes together, at least one.
    pub fn new(most: usize, most_bytes: usize) -> Self {
        Self {
            most: most.max(1),
            most_bytes,
            open: Mutex::default(),
            reading: Mutex::default(),
        }
    }

    /// An open trace, or the files of its path read anew: the first time, and after they have changed.
    pub fn get(
        &self,
        roots: &Roots,
        asked: &AskedTrace,
        progress: &Progress,
    ) -> Result<RequestSession> {
        let files = files(roots, asked, progress)?;
        let key = asked.key();
        if let Some(session) = self.found(&key, &files) {
            return Ok(session);
        }
        let mut all = locked(&self.reading);
        all.retain(|_, one| Arc::strong_count(one) > 1);
        let one = Arc::clone(all.entry(key.clone()).or_default());
        drop(all);
        let reading = locked(&one);
        if let Some(session) = self.found(&key, &files) {
            return Ok(session);
        }
        let mut session =
            answers::open(&asked.trace, roots.local(), asked.programs_only, progress)?;
        // An importer can find more files beside those that were named.
        let sources = session
            .model()
            .sources()
            .iter()
            .filter_map(|source| source.path.as_deref());
        if let Some(outside) = sources.into_iter().find(|file| !roots.contain(file)) {
            return Err(roots.outside(outside));
        }
        let request = session.for_request();
        self.keep(KeptTrace {
            key,
            files,
            bytes: bytes_of(session.model()),
            session,
        });
        drop(reading);
        Ok(request)
    }

    fn found(&self, key: &str, files: &[ListedFile]) -> Option<RequestSession> {
        let mut open = locked(&self.open);
        let index = open
            .iter()
            .position(|trace| trace.key == key && trace.files == files)?;
        let mut trace = open.remove(index);
        let request = trace.session.for_request();
        open.push(trace);
        Some(request)
    }

    fn keep(&self, trace: KeptTrace) {
        let mut open = locked(&self.open);
        open.retain(|other| other.key != trace.key);
        open.push(trace);
        while open.len() > 1
            && (open.len() > self.most
                || open.iter().map(|trace| trace.bytes).sum::<usize>() > self.most_bytes)
        {
            open.remove(0);
        }
    }
}

/// The part of a large trace that is shown first, while all of it is read: see [`importers::first_look`].
///
/// # Errors
///
/// There is no such trace, or one of its files must not be read.
pub fn first_look(
    roots: &Roots,
    asked: &AskedTrace,
    progress: &Progress,
) -> Result<Option<TraceModel>> {
    files(roots, asked, progress)?;
    let TraceRequest { path, run, assume } = &asked.trace;
    let import = ImportOptions {
        roots: roots.local().to_vec(),
        ..assume.import(run.clone())?
    };
    Ok(importers::first_look(path, &import, progress))
}

/// Memory of a model.
pub fn bytes_of(model: &TraceModel) -> usize {
    let memory = model.memory_use();
    memory.slice_bytes + memory.arg_bytes + memory.string_bytes + memory.counter_bytes
}

/// The state of the files that a path names; an error if one of them must not be read.
fn files(roots: &Roots, asked: &AskedTrace, progress: &Progress) -> Result<Vec<ListedFile>> {
    let path = &asked.trace.path;
    if let Some((bytes, modified)) = asked.listed {
        return Ok(vec![ListedFile {
            path: path.clone(),
            bytes,
            modified,
        }]);
    }
    let options = ImportOptions {
        run: asked.trace.run.clone(),
        ..ImportOptions::default()
    };
    let located = match importers::locate(path, &options, progress) {
        // A folder of programs is read as a whole.
        Err(_) if asked.programs_only && path.is_dir() && roots.contain(path) => {
            return Ok(vec![ListedFile::now(path)]);
        }
        located => located.map_err(|error| RequestError::import(error, path))?,
    };
    let files = located.hosts.into_iter().flat_map(|host| host.files);
    let state = |path: PathBuf| {
        if !roots.contain(&path) {
            return Err(roots.outside(&path));
        }
        Ok(ListedFile::now(&path))
    };
    let beside = asked.trace.assume.files();
    files
        .map(state)
        .chain(beside.iter().map(|path| Ok(ListedFile::now(path))))
        .collect()
}
