//! Opens files for the window.

use std::path::Path;
use std::sync::Arc;

use analysis::Options;
use importers::{ImportError, ImportOptions, Progress};

use crate::jobs::CANCELLED;
use crate::platform;
use session::Session;
#[cfg(not(target_arch = "wasm32"))]
use view::timeline::trace::FirstLookLoader;
use view::timeline::trace::{OpenTrace, TraceLoader};

/// Reads the analysis options for each newly opened trace; the error is a sentence.
pub type StartOptions = Arc<dyn Fn() -> Result<Options, String> + Send + Sync>;

/// A loader for every supported format.
pub fn file_loader(import: ImportOptions, options: StartOptions) -> TraceLoader {
    Arc::new(
        move |path, progress| match session(path, &import, options()?, progress) {
            // Signatures of addresses are neither shown nor remembered.
            Ok(session) => Ok(OpenTrace::new(importers::shown_path(path), session)),
            Err(ImportError::Cancelled) => Err(CANCELLED.to_owned()),
            Err(error) => Err(format!(
                "{error}: {}",
                importers::shown_path(path).display()
            )),
        },
    )
}

/// A loader for what is shown first of a large file.
#[cfg(not(target_arch = "wasm32"))]
pub fn first_look_loader(import: ImportOptions, options: StartOptions) -> FirstLookLoader {
    Arc::new(move |path, progress| {
        let model = importers::first_look(path, &import, progress)?;
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
