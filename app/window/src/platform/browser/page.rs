//! What the page does for the window: `systolePage` in `web/page/page.js`.

use std::cell::RefCell;

use crate::prelude::*;
use importers::{ImportError, ImportOptions, InputSource};
use js_sys::{Array, Function, Promise, Uint8Array};
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
    let paths: Array = paths
        .iter()
        .map(|path| JsValue::from(path.as_ref()))
        .collect();
    let _ = call("showAddress", &[paths.into(), place.into()]);
}

/// Keeps a file of this machine and gives it a path.
pub fn keep_file(file: &web_sys::File) -> Option<PathBuf> {
    call("keep", &[file.into()])
        .ok()?
        .as_string()
        .map(PathBuf::from)
}

/// Keeps bytes as a file and gives it a path. The error is a sentence.
pub fn keep_bytes(name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
    let path = call("keepBytes", &[name.into(), Uint8Array::from(bytes).into()])
        .map_err(|error| words(&error))?;
    path.as_string()
        .map(PathBuf::from)
        .ok_or_else(|| "the page keeps no files".to_owned())
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
    call("save", &[name.into(), Uint8Array::from(content).into()])
        .map(drop)
        .map_err(|error| words(&error))
}

/// The view in an archive of `systole pack`, if it has one.
pub type PackedView = Result<Option<Vec<u8>>, ImportError>;

/// Files that were read, and the trace that a worker made of them, in pieces.
pub struct ReadFiles {
    /// The path of the trace, as it is shown.
    trace: PathBuf,
    files: Vec<ReadFile>,
    snapshot: Option<Array>,
}

struct ReadFile {
    name: String,
    host: Option<String>,
    /// An array of pieces, or the promise of one.
    bytes: JsValue,
    /// For a promise: tells the page that it needs not be kept.
    stop: Option<Function>,
}

/// Reads the files that a path names, and imports them in a worker. `step` is told whether they are being imported, and
/// bytes done and in total; it answers whether to go on. `first` gets a snapshot of what is shown first of a large file. The
/// error is a sentence.
pub async fn read(
    path: &str,
    step: impl FnMut(bool, f64, f64) -> bool + 'static,
    first: Closure<dyn FnMut(Array)>,
) -> Result<ReadFiles, String> {
    let step = Closure::<dyn FnMut(bool, f64, f64) -> bool>::new(step);
    let told = [path.into(), step.as_ref().clone(), first.as_ref().clone()];
    let read = answer(call("read", &told)).await?;
    let files = field(&read, "files")
        .dyn_into::<Array>()
        .unwrap_or_default();
    let file = |file: JsValue| ReadFile {
        name: field(&file, "name").as_string().unwrap_or_default(),
        host: field(&file, "host").as_string(),
        bytes: field(&file, "bytes"),
        stop: field(&file, "stop").dyn_into().ok(),
    };
    let snapshot = field(&read, "snapshot").dyn_into().ok();
    let trace = importers::shown_path(Path::new(path)).into();
    Ok(ReadFiles {
        trace,
        files: files.iter().map(file).collect(),
        snapshot,
    })
}

/// What a file holds.
struct DecodedFile {
    /// Each with the name of its host, if it is known.
    sources: Vec<(Option<String>, InputSource)>,
    view: PackedView,
}

impl ReadFiles {
    /// The trace, and the view that came with it.
    pub fn into_model(
        self,
        import: &ImportOptions,
        progress: &Progress,
    ) -> Result<(TraceModel, PackedView), ImportError> {
        let Some(snapshot) = self.snapshot else {
            let DecodedFile { sources, view } = opened(self.files, None)?;
            return Ok((importers::import_sources(sources, import, progress)?, view));
        };
        let snapshot = bytes::copied(&snapshot);
        let DecodedFile { sources, view } = opened(self.files, Some(&self.trace))?;
        let sources: Vec<InputSource> = sources.into_iter().map(|(_, source)| source).collect();
        let model = importers::from_snapshot(&snapshot, &sources);
        Ok((
            model.map_err(|error| ImportError::NothingFound {
                what: error.to_string(),
            })?,
            view,
        ))
    }
}

/// What all files hold.
fn opened(files: Vec<ReadFile>, for_args_of: Option<&Path>) -> Result<DecodedFile, ImportError> {
    let mut all = DecodedFile {
        sources: Vec::new(),
        view: Ok(None),
    };
    for file in files {
        let DecodedFile { sources, view } = file.opened(for_args_of)?;
        all.sources.extend(sources);
        if matches!(all.view, Ok(None)) {
            all.view = view;
        }
    }
    Ok(all)
}

impl ReadFile {
    /// With a trace that was imported already, most files are needed only when the arguments of a slice are asked for.
    fn opened(self, for_args_of: Option<&Path>) -> Result<DecodedFile, ImportError> {
        if let Some(trace) = for_args_of {
            let (head, later) = match (self.bytes.dyn_ref::<Promise>(), &self.stop) {
                (Some(coming), Some(stop)) => (
                    Vec::new(),
                    BytesLater::coming(trace, coming.clone(), stop.clone()),
                ),
                _ => {
                    let bytes = self.bytes.dyn_ref::<Array>().cloned().unwrap_or_default();
                    (bytes::head(&bytes), BytesLater::new(trace, bytes))
                }
            };
            if let Some(source) =
                importers::source_for_args(self.name.clone(), &head, Arc::new(later))
            {
                return Ok(DecodedFile {
                    sources: vec![(None, source)],
                    view: Ok(None),
                });
            }
        }
        let bytes = self.bytes.dyn_into::<Array>().unwrap_or_default();
        let source = InputSource::from_bytes(self.name, bytes::copied(&bytes))?;
        let view = importers::packed_file_in(source.clone(), importers::PACKED_SESSION);
        Ok(DecodedFile {
            sources: importers::sources_in(source, self.host)?,
            view,
        })
    }
}
