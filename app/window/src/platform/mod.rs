//! What differs between a desktop and a browser: background work, files, settings, saving, the address.
//!
//! `native` and `browser` have the same functions; nothing else in the window asks where it runs, except by
//! [`IN_BROWSER`].

// One by one: a prelude has names that a platform hands on, too.
use std::path::PathBuf;

use web_time::SystemTime;

#[cfg(target_arch = "wasm32")]
mod browser;
#[cfg(not(target_arch = "wasm32"))]
mod native;

#[cfg(target_arch = "wasm32")]
pub use self::browser::*;
#[cfg(not(target_arch = "wasm32"))]
pub use self::native::*;

/// Whether the window runs in a browser: one thread, no files by path, an address that others can open.
pub const IN_BROWSER: bool = cfg!(target_arch = "wasm32");

/// The file that the user chose, or `None`; the error says why the user cannot be asked, as a sentence.
pub type ChosenFile = Result<Option<PathBuf>, String>;

/// Called with the file that the user chose.
pub type ChosenFileTaker = Box<dyn FnOnce(ChosenFile)>;

/// Called with the runs of the server as JSON, or `None` if there is no server.
pub type RunsAnswer = Box<dyn FnOnce(Result<Option<String>, String>) + Send>;

/// Called once that part of a large file is there which is shown first, before all of it is; for other files at once or never.
pub type FirstFetched = Box<dyn FnOnce() + Send>;

/// Called once a file is there, or with the reason why it is not.
pub type Fetched = Box<dyn FnOnce(Result<(), String>) + Send>;

/// Seconds since 1970.
pub fn unix_seconds() -> u64 {
    SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .map_or(0, |since| since.as_secs())
}
