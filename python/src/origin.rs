//! What answers and tables were read from: files that are not written over, and arguments that are gone.

use std::ffi::CString;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;
use request::RequestError;
use request::ignored::lost_arguments;
use request::places::check_place;
use session::Session;
use session::files::{OutputGuard, TEXT_MARK, write_with};

use crate::error::{of_request, of_usage};

/// What an answer was read from.
#[derive(Clone, Default)]
pub(crate) struct Origin {
    trace: Option<Session>,
    /// The path that was opened, and those of its options.
    files: Arc<[PathBuf]>,
}

impl Origin {
    pub(crate) fn new(trace: Session, files: Vec<PathBuf>) -> Self {
        Self {
            trace: Some(trace),
            files: files.into(),
        }
    }

    /// The same with the files of another one.
    pub(crate) fn and(&self, other: &Self) -> Self {
        Self {
            trace: self.trace.clone(),
            files: self.files.iter().chain(&*other.files).cloned().collect(),
        }
    }

    /// Warns if arguments of slices cannot be read any more: what is made of them is missing then.
    pub(crate) fn warn(&self, py: Python<'_>) -> PyResult<()> {
        let Some(why) = self.trace.as_ref().and_then(lost_arguments) else {
            return Ok(());
        };
        let message = CString::new(why)?;
        PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &message, 2)
    }

    /// Refuses what was read, and without `force` what this program did not write; a table with these headings it did.
    pub(crate) fn check(&self, path: &Path, headings: &[&str], force: bool) -> PyResult<()> {
        let guard = OutputGuard::new(self.files.iter().cloned(), force);
        let checked = guard.check_table(path, headings);
        checked.map_err(|why| of_usage(why.replace("--force", "force=True")))
    }
}

/// Writes a text, or a page or JSON, as `-o` of the command line does: not over `inputs`, and not over files of others
/// unless `force`.
#[pyfunction]
pub(crate) fn write_text(
    path: PathBuf,
    text: &str,
    inputs: Vec<PathBuf>,
    force: bool,
) -> PyResult<()> {
    check_place(&path).map_err(|error| of_request(&error))?;
    let guard = OutputGuard::new(inputs, force);
    guard.check(&path).map_err(of_usage)?;
    let written = write_with(&path, |file| -> io::Result<()> {
        file.write_all(text.as_bytes())?;
        // Pages and JSON are known for what they are.
        if text.starts_with(['<', '{']) {
            return Ok(());
        }
        write!(file, "\n{TEXT_MARK}\n")
    });
    written.map_err(|error| of_request(&RequestError::write(&path)(error)))
}
