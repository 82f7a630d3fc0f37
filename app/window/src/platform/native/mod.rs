//! On a desktop: threads and files.

mod dialogs;

use std::io;
use std::thread::Builder;

use crate::prelude::*;
use egui::DroppedFileHandle;
use importers::{ImportError, ImportOptions};

use super::{ChosenFileTaker, Fetched, FirstFetched, RunsAnswer};
pub use dialogs::{place_to_open, place_to_save};
use session::files::write_file;

/// Runs a task on a thread of its own.
pub fn run(name: &str, task: impl FnOnce() + Send + 'static) -> io::Result<()> {
    Builder::new().name(name.to_owned()).spawn(task).map(drop)
}

/// Makes a file readable under its path: it is.
pub fn fetch(_path: &Path, _progress: &Arc<Progress>, first: FirstFetched, then: Fetched) {
    first();
    then(Ok(()));
}

/// The part of a large file that is shown first.
pub fn first_look(path: &Path, import: &ImportOptions, progress: &Progress) -> Option<TraceModel> {
    importers::first_look(path, import, progress)
}

/// Does something that needs the files of a trace: they are there.
pub fn with_files(_trace: &Path, then: impl FnOnce(Result<(), String>) + Send + 'static) {
    then(Ok(()));
}

/// Imports what [`fetch`] made readable; `None` if it is read by its path.
pub fn import_fetched(
    _path: &Path,
    _import: &ImportOptions,
    _progress: &Progress,
) -> Option<Result<TraceModel, ImportError>> {
    None
}

/// The view in the archive at a path from which a trace was just opened, if it has one.
pub fn packed_view(path: &Path) -> Result<Option<Vec<u8>>, ImportError> {
    importers::packed_file(path, importers::PACKED_SESSION)
}

pub fn dropped(file: &DroppedFileHandle) -> PathBuf {
    file.path().to_owned()
}

/// Keeps bytes that are no file. The error is a sentence.
pub fn keep(_name: &str, _bytes: &[u8]) -> Result<PathBuf, String> {
    Err("files are kept in memory only in a browser".to_owned())
}

/// Passes on the runs of the server that the window comes from: there is none.
pub fn ask_for_runs(then: RunsAnswer) {
    then(Ok(None));
}

/// Whether a path leads to the same trace tomorrow.
pub fn can_open_again(_path: &Path) -> bool {
    true
}

/// Asks for a file to open and passes it on.
pub fn ask_to_open(then: ChosenFileTaker) {
    then(place_to_open());
}

pub fn save(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    write_file(path, content)
}

/// The command that opens these traces at a place.
pub fn link(opened: &[&Path], place: &str) -> String {
    let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
    let path = |path: &&Path| {
        let text = path.to_string_lossy();
        let is_local = !text.contains("://");
        let whole = is_local.then(|| std::path::absolute(path).ok()).flatten();
        quoted(&whole.map_or(text, |whole| whole.to_string_lossy().into_owned().into()))
    };
    format!(
        "systole open {} --view {}",
        joined(opened.iter().map(path), " "),
        quoted(place)
    )
}

/// Shows the place in the address of the window: there is none.
pub fn show_address(_opened: &[&Path], _place: &str) {}

/// Tells programs that watch the window what it shows: none do.
pub fn publish(_shown: impl FnOnce() -> String) {}
