//! In a browser: one thread, tasks that the page interrupts for its frames, and a page that reads files
//! (`web/page/page.js`).

mod bytes;
mod page;
mod script;
mod tasks;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::io;

use crate::prelude::*;
use egui::DroppedFileHandle;
use importers::{ImportError, ImportOptions, ProgressStage};
use js_sys::Array;
use wasm_bindgen::closure::Closure;
use wasm_bindgen_futures::spawn_local;

pub use self::bytes::{copied as joined, with_files};
pub use self::page::{started, state, stopped};
pub use self::tasks::{pause, run, run_task};
use super::{ChosenFile, ChosenFileTaker, Fetched, FirstFetched, RunsAnswer};

thread_local! {
    static THERE: RefCell<HashMap<PathBuf, page::ReadFiles>> = RefCell::new(HashMap::new());
    /// The snapshot that came last of what is shown first, in pieces.
    static FIRST: RefCell<Option<(PathBuf, Array)>> = const { RefCell::new(None) };
    /// The view that came with the trace that was imported last.
    static PACKED_VIEW: RefCell<Option<(PathBuf, page::PackedView)>> = const { RefCell::new(None) };
    static ADDRESS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Reads what a path names and imports it in a worker; [`import_fetched`] then has it, and before that [`first_look`] what is
/// shown first of a large file.
pub fn fetch(path: &Path, progress: &Arc<Progress>, first: FirstFetched, then: Fetched) {
    let (path, progress) = (path.to_owned(), Arc::clone(progress));
    let named = path.clone();
    let came = Closure::once(move |snapshot: Array| {
        FIRST.set(Some((named, snapshot)));
        let _ = run("first look", first);
    });
    spawn_local(async move {
        let read = page::read(&path.to_string_lossy(), counting(progress), came).await;
        let read = read.map(|files| drop(THERE.with_borrow_mut(|there| there.insert(path, files))));
        let _ = run("open", move || then(read));
    });
}

/// Takes what the page says over: stage, bytes done and in total. Answers whether to go on.
fn counting(progress: Arc<Progress>) -> impl FnMut(bool, f64, f64) -> bool {
    let (mut done_before, mut of) = (0, 0);
    let importing = Cell::new(false);
    move |imports, done, total| {
        if importing.replace(imports) != imports {
            progress.begin(if imports {
                ProgressStage::Reading
            } else {
                ProgressStage::Downloading
            });
            (done_before, of) = (0, 0);
        }
        let (done, total) = (done as u64, total as u64);
        progress.add_total(total.saturating_sub(of));
        progress.add_done(done.saturating_sub(done_before));
        (done_before, of) = (done.max(done_before), total.max(of));
        progress.check().is_ok()
    }
}

/// The part of a large file that is shown first, if it has come.
pub fn first_look(
    path: &Path,
    _import: &ImportOptions,
    _progress: &Progress,
) -> Option<TraceModel> {
    let (_, snapshot) = FIRST.take().filter(|(of, _)| of == path)?;
    importers::from_snapshot(&joined(&snapshot), &[]).ok()
}

/// Imports what [`fetch`] read.
pub fn import_fetched(
    path: &Path,
    import: &ImportOptions,
    progress: &Progress,
) -> Option<Result<TraceModel, ImportError>> {
    let files = THERE.with_borrow_mut(|there| there.remove(path))?;
    let (model, view) = match files.into_model(import, progress) {
        Ok(read) => read,
        Err(error) => return Some(Err(error)),
    };
    PACKED_VIEW.set(Some((path.to_owned(), view)));
    Some(Ok(model))
}

/// The view in the archive at a path from which a trace was just opened, if it has one.
pub fn packed_view(path: &Path) -> page::PackedView {
    PACKED_VIEW
        .take()
        .filter(|(archive, _)| archive == path)
        .map_or(Ok(None), |(_, view)| view)
}

/// The path of a dropped file, which the page keeps.
pub fn dropped(file: &DroppedFileHandle) -> PathBuf {
    file.web_file()
        .and_then(page::keep_file)
        .unwrap_or_else(|| file.path().to_owned())
}

/// Keeps bytes that are no file, and gives them a path. The error is a sentence.
pub fn keep(name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    page::keep_bytes(name, bytes)
}

/// Passes on the runs of the server that the page comes from as JSON, or `None` if it is no server of Systole.
pub fn ask_for_runs(then: RunsAnswer) {
    spawn_local(async move { then(page::runs().await) });
}

/// Whether a path leads to the same trace tomorrow: neither a file of this machine, which the page forgets, nor a run, which
/// the server lists.
pub fn can_open_again(path: &Path) -> bool {
    !["local", "run"].iter().any(|first| path.starts_with(first))
}

/// Asks for a file to open; here [`ask_to_open`] does it.
pub fn place_to_open() -> ChosenFile {
    Ok(None)
}

/// Asks for a file to open and passes it on.
pub fn ask_to_open(then: ChosenFileTaker) {
    spawn_local(async move { then(page::pick().await) });
}

/// Where to save: the browser chooses the folder.
pub fn place_to_save(name: &str) -> ChosenFile {
    Ok(Some(PathBuf::from(name)))
}

/// Hands a file to the browser as a download.
pub fn save(path: &Path, content: impl AsRef<[u8]>) -> io::Result<()> {
    page::save(&path.to_string_lossy(), content.as_ref()).map_err(io::Error::other)
}

/// Shows the place in the address of the page.
pub fn show_address(opened: &[&Path], place: &str) {
    let paths: Vec<_> = opened.iter().map(|path| path.to_string_lossy()).collect();
    let shown = format!("{}\n{place}", paths.join("\n"));
    if ADDRESS.with_borrow(|before| *before != shown) {
        page::show_address(&paths, place);
        ADDRESS.set(shown);
    }
}

/// The address that opens these traces at a place.
pub fn link(opened: &[&Path], place: &str) -> String {
    show_address(opened, place);
    let address = web_sys::window().and_then(|window| window.location().href().ok());
    address.unwrap_or_default()
}

/// Tells programs that watch the window what it shows.
pub fn publish(shown: impl FnOnce() -> String) {
    page::publish(shown());
}
