//! Arguments of models that were read from a snapshot.

use std::cell::RefCell;
use std::sync::Arc;

use input::{InputSource, Progress, SharedBytes};
use trace_model::{ArgSource, SavedArgs, SnapshotError, TraceModel};

use crate::registry::IMPORTERS;

/// The model that [`TraceModel::to_snapshot`] wrote, with the arguments that stayed in `files`.
///
/// # Errors
///
/// Those of [`TraceModel::from_snapshot`].
pub fn from_snapshot(bytes: &[u8], files: &[InputSource]) -> Result<TraceModel, SnapshotError> {
    // The planes of a profile share one file, which is unpacked only once.
    let unpacked: RefCell<Vec<Option<SharedBytes>>> = RefCell::new(vec![None; files.len()]);
    let content = |index: usize| -> Option<SharedBytes> {
        let known = unpacked.borrow().get(index)?.clone();
        let bytes = match known {
            Some(bytes) => bytes,
            None => files.get(index)?.content(&Progress::new()).ok()?.bytes,
        };
        *unpacked.borrow_mut().get_mut(index)? = Some(Arc::clone(&bytes));
        Some(bytes)
    };
    let reopen = |saved: SavedArgs| -> Result<Arc<dyn ArgSource>, SavedArgs> {
        let SavedArgs::InFile {
            file,
            format,
            state,
        } = &saved
        else {
            return Err(saved);
        };
        let importer = IMPORTERS
            .iter()
            .find(|importer| importer.format().id == format.as_str());
        let named = files.iter().position(|source| source.name() == file);
        let args = importer.zip(named).and_then(|(importer, index)| {
            importer.reopen_args(files.get(index)?, &|| content(index), state)
        });
        args.ok_or(saved)
    };
    TraceModel::from_snapshot(bytes, &reopen)
}
