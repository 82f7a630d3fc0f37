//! The file dialogs of the system. A bare machine has none: neither a desktop portal nor `zenity`.

use std::cell::RefCell;

use crate::prelude::*;
use importers::IMPORTERS;

use super::super::ChosenFile;

thread_local! {
    /// Why the dialog that this thread asked for could not be shown.
    static COMPLAINT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Keeps what the library of dialogs complains of last: only its log tells a dialog that was cancelled from one that could
/// not be shown. Complaints of its modules below are about portals, after which it still tries `zenity`.
struct DialogLog;

impl log::Log for DialogLog {
    fn enabled(&self, metadata: &log::Metadata<'_>) -> bool {
        metadata.target() == "rfd::backend::xdg_desktop_portal"
    }

    fn log(&self, record: &log::Record<'_>) {
        if self.enabled(record.metadata()) && record.level() == log::Level::Error {
            COMPLAINT.set(Some(record.args().to_string()));
        }
    }

    fn flush(&self) {}
}

fn chosen(ask: impl FnOnce() -> Option<PathBuf>) -> ChosenFile {
    if log::set_logger(&DialogLog).is_ok() {
        log::set_max_level(log::LevelFilter::Error);
    }
    COMPLAINT.take();
    match (ask(), COMPLAINT.take()) {
        (None, Some(complaint)) => Err(format!(
            "This system has no file dialog: neither a desktop portal nor zenity answers ({complaint})"
        )),
        (path, _) => Ok(path),
    }
}

/// Asks for a file to open; blocks until the dialog is closed.
pub fn place_to_open() -> ChosenFile {
    let mut extensions: Vec<&str> = IMPORTERS
        .iter()
        .flat_map(|importer| importer.format().extensions)
        .copied()
        .collect();
    extensions.sort_unstable();
    extensions.dedup();
    let dialog = rfd::FileDialog::new()
        .set_title("Open a profile")
        .add_filter("Profiles", &extensions)
        .add_filter("All files", &["*"]);
    chosen(|| dialog.pick_file())
}

/// Asks where to save; blocks until the dialog is closed.
pub fn place_to_save(name: &str) -> ChosenFile {
    let dialog = rfd::FileDialog::new()
        .set_title("Save as")
        .set_file_name(name);
    chosen(|| dialog.save_file())
}
