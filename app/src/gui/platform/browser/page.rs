//! What the page does for the window: `systolePage` in `web/page/page.js`.

use std::cell::RefCell;
use std::path::PathBuf;
use std::sync::Arc;

use importers::{ImportError, ImportOptions, InputSource, Progress};
use js_sys::{Array, Promise, Uint8Array};
use trace_model::TraceModel;
use wasm_bindgen::closure::Closure;
use wasm_bindgen::{JsCast, JsValue};

use super::bytes::{self, BytesLater};
use super::script::{answer, call, field, words};

thread_local! {
    static SHOWN: RefCell<String> = const { RefCell::new(String::new()) };
}

/// What the window shows, as JSON.
pub fn state() -> String {
    SHOWN.with_borrow(Clone::clone)
}

/// Sets what [`state`] returns.
pub fn publish(shown: String) {
    SHOWN.set(shown);
}

/// Tells the page that the window is there.
pub fn started() {
    let _ = call("started", &[]);
}

/// Tells the page that the window stopped for good.
pub fn stopped(why: &str) {
    let _ = call("stopped", &[why.into()]);
}

/// The page sees the address that shows these traces and this place.
pub fn show_address(paths: &[impl AsRef<str>], place: &str) {
    let paths: Array = paths.iter().map(|path| JsValue::from(path.as_ref())).collect();
    let _ = call("showAddress", &[paths.into(), place.into()]);
}

/// Keeps a file of this machine and gives it a path.
pub fn keep_file(file: &web_sys::File) -> Option<PathBuf> {
    call("keep", &[file.into()]).ok()?.as_string().map(PathBuf::from)
}

/// Keeps bytes as a file and gives it a path. The error is a sentence.
pub fn keep_bytes(name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let path = call("keepBytes", &[name.into(), Uint8Array::from(bytes).into()]).map_err(|error| words(&error))?;
    path.as_string().map(PathBuf::from).ok_or_else(|| "the page keeps no files".to_owned())
}

/// Lets the user choose a file. The error is a sentence.
pub async fn pick() -> Result<Option<PathBuf>, String> {
    let path = answer(call("pick", &[])).await?;
    Ok(path.as_string().map(PathBuf::from))
}

/// The runs of the server as JSON, or `None` if there is no server of Systole. The error is a sentence.
pub async fn runs() -> Result<Option<String>, String> {
    Ok(answer(call("runs", &[])).await?.as_string())
}

/// Hands a file to the user. The error is a sentence.
pub fn save(name: &str, content: &[u8]) -> Result<(), String> {
    call("save", &[name.into(), Uint8Array::from(content).into()]).map(drop).map_err(|error| words(&error))
}

/// Files that were read, and the trace that a worker made of them.
pub struct ReadFiles {
    files: Vec<ReadFile>,
    snapshot: Option<Uint8Array>,
}

struct ReadFile {
    name: String,
    host: Option<String>,
    /// An array, or the promise of one.
    bytes: JsValue,
}

/// Reads the files that a path names, and imports them in a worker. `step` is told whether they are being imported, and
/// bytes done and in total; it answers whether to go on. The error is a sentence.
pub async fn read(path: &str, step: impl FnMut(bool, f64, f64) -> bool + 'static) -> Result<ReadFiles, String> {
    let step = Closure::<dyn FnMut(bool, f64, f64) -> bool>::new(step);
    let read = answer(call("read", &[path.into(), step.as_ref().clone()])).await?;
    let files = field(&read, "files").dyn_into::<Array>().unwrap_or_default();
    let file = |file: JsValue| ReadFile {
        name: field(&file, "name").as_string().unwrap_or_default(),
        host: field(&file, "host").as_string(),
        bytes: field(&file, "bytes"),
    };
    let snapshot = field(&read, "snapshot").dyn_into().ok();
    Ok(ReadFiles { files: files.iter().map(file).collect(), snapshot })
}

impl ReadFiles {
    /// The trace.
    pub fn into_model(self, import: &ImportOptions, progress: &Progress) -> Result<TraceModel, ImportError> {
        let Some(snapshot) = self.snapshot else {
            let sources = self.files.into_iter().map(ReadFile::into_sources).collect::<Result<Vec<_>, _>>()?;
            return importers::import_sources(sources.into_iter().flatten().collect(), import, progress);
        };
        let snapshot = bytes::copied(&snapshot);
        let sources = self.files.into_iter().map(ReadFile::into_sources_for_args).collect::<Result<Vec<_>, _>>()?;
        let model = importers::from_snapshot(&snapshot, &sources.concat());
        model.map_err(|error| ImportError::NothingFound { what: error.to_string() })
    }
}

impl ReadFile {
    fn into_sources(self) -> Result<Vec<(Option<String>, InputSource)>, ImportError> {
        let bytes = self.bytes.dyn_into::<Uint8Array>().unwrap_or_default();
        importers::sources_in(self.name, self.host, bytes::copied(&bytes))
    }

    /// Most files are needed only when the arguments of a slice are asked for.
    fn into_sources_for_args(self) -> Result<Vec<InputSource>, ImportError> {
        let (head, later) = match self.bytes.dyn_ref::<Promise>() {
            Some(coming) => (Vec::new(), BytesLater::coming(coming.clone())),
            None => {
                let bytes = self.bytes.dyn_ref::<Uint8Array>().cloned().unwrap_or_default();
                (bytes::head(&bytes), BytesLater::new(bytes))
            }
        };
        match importers::source_for_args(self.name.clone(), &head, Arc::new(later)) {
            Some(source) => Ok(vec![source]),
            None => Ok(self.into_sources()?.into_iter().map(|(_, source)| source).collect()),
        }
    }
}
