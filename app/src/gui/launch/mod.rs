//! Starts the window.

#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod native;

use std::path::PathBuf;

use importers::ImportOptions;

#[cfg(target_arch = "wasm32")]
pub use self::browser::{import_in_worker, start_in_page};
#[cfg(not(target_arch = "wasm32"))]
pub use self::native::launch;
use crate::gui::loader::StartOptions;
use crate::gui::screenshot::Screenshot;
use crate::view::panels::source::SourcePrefix;

/// How to start.
#[derive(Clone)]
pub struct WindowOptions {
    /// What to open first.
    pub path: Option<PathBuf>,
    /// A second trace to compare with.
    pub second: Option<PathBuf>,
    /// How to find and read the files.
    pub import: ImportOptions,
    /// Reads the analysis options.
    pub options: StartOptions,
    /// Where source files are that the capture names elsewhere.
    pub source_prefixes: Vec<SourcePrefix>,
    /// Take a picture and quit.
    pub screenshot: Option<Screenshot>,
    /// Print how long the start took and quit.
    pub start_times: bool,
}

/// Keeps freed memory for the next frame.
///
/// The triangles of a frame take megabytes that glibc returns to the system when they are freed; getting them back page
/// by page cost three quarters of a frame (measured by `benches/timeline.rs`). glibc raises its thresholds to the size
/// of the largest mapped block that was freed, up to 32 MiB, so one such block is freed here. On other systems this
/// does nothing.
pub fn keep_freed_memory() {
    const LARGEST: usize = (32 << 20) - (64 << 10);
    drop(std::hint::black_box(Vec::<u8>::with_capacity(LARGEST)));
}

/// The system cannot open a window.
#[derive(Debug, thiserror::Error)]
#[error("cannot open a window: {0}")]
pub struct NoWindow(pub String);
