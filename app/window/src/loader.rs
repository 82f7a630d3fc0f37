//! Opens files for the window.

use std::sync::Mutex;

use crate::prelude::*;
use analysis::Options;
use importers::{ImportError, ImportOptions};

use crate::jobs::{CANCELLED, WakeUi, Worker};
use crate::platform;
use view::timeline::trace::{FirstLookLoader, TraceLoader};

/// A trace that is being opened.
#[derive(Clone, PartialEq)]
pub struct TraceToOpen {
    pub path: PathBuf,
    /// Whether to compare it with the open trace instead of replacing that.
    pub beside: bool,
}

/// Loads traces, one at a time.
pub type LoadJob = Worker<TraceToOpen, OpenTrace>;

/// Where a task that loads a trace leaves the first look at it.
pub type EarlyTrace = Arc<Mutex<Option<OpenTrace>>>;

/// How traces are loaded.
pub struct Loaders {
    pub whole: TraceLoader,
    pub first_look: Option<FirstLookLoader>,
}

impl Loaders {
    /// Starts to load a trace; the first look at it is there before.
    pub fn load(&self, loading: &mut LoadJob, wanted: TraceToOpen, wake: &WakeUi) -> EarlyTrace {
        let early = EarlyTrace::default();
        let (whole, path) = (Arc::clone(&self.whole), wanted.path.clone());
        let look = self.first_look.clone().filter(|_| !wanted.beside);
        let (slot, wake) = (Arc::clone(&early), WakeUi::clone(wake));
        loading.ask_later(wanted, move |progress, answer| {
            let (first, shared) = (path.clone(), Arc::clone(&progress));
            let begin = move || {
                if let Some(trace) = look.and_then(|look| look(&first, &shared)) {
                    *locked(&slot) = Some(trace);
                    wake();
                }
            };
            let (named, shared) = (path.clone(), Arc::clone(&progress));
            let load = move |there: Result<(), String>| {
                answer.give(there.and_then(|()| whole(&path, &shared)));
            };
            platform::fetch(&named, &progress, Box::new(begin), Box::new(load));
        });
        early
    }
}

/// Reads the analysis options for each newly opened trace; the error is a sentence.
pub type StartOptions = Arc<dyn Fn() -> Result<Options, String> + Send + Sync>;

/// A loader for every supported format.
pub fn file_loader(import: ImportOptions, options: StartOptions) -> TraceLoader {
    Arc::new(
        move |path, progress| match session(path, &import, options()?, progress) {
            // Signatures of addresses are neither shown nor remembered.
            Ok(session) => Ok(OpenTrace::new(importers::shown_path(path), session)),
            Err(ImportError::Cancelled) => Err(CANCELLED.to_owned()),
            Err(error) => {
                let (error, path) = error.with_place(path);
                Err(format!(
                    "{error}: {}",
                    importers::shown_path(&path).display()
                ))
            }
        },
    )
}

/// A loader for what is shown first of a large file.
pub fn first_look_loader(import: ImportOptions, options: StartOptions) -> FirstLookLoader {
    Arc::new(move |path, progress| {
        let model = platform::first_look(path, &import, progress)?;
        let session = Session::from_model(model, options().ok()?);
        Some(OpenTrace::new(importers::shown_path(path), session))
    })
}

fn session(
    path: &Path,
    import: &ImportOptions,
    options: Options,
    progress: &Progress,
) -> Result<Session, ImportError> {
    match platform::import_fetched(path, import, progress) {
        Some(model) => Ok(Session::from_model(model?, options)),
        None => Session::open(path, import, options, progress),
    }
}
