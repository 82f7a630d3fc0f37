//! An open trace and what is read from it: its reports, its tables, its events, and the files that are written of them.
//! All front ends work on it; nothing here knows how anything is shown.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

pub mod anonymize;
mod capture_size;
pub mod convert;
mod devices;
pub mod environment;
#[cfg(not(target_arch = "wasm32"))]
pub mod events;
mod execution_times;
#[cfg(feature = "columnar")]
pub mod export;
pub mod files;
pub mod fingerprint;
pub mod number;
mod open;
mod run_summary;
pub mod stdin;
pub mod tables;
pub mod user_files;
mod watched_runs;
pub mod xml;

pub use capture_size::{CaptureSize, LARGEST_BYTES, SizeOfPart};
pub use devices::{devices_in_words, devices_of_all};
pub use execution_times::{DeviceExecutions, ExecutionTimes, RecordedBy};
pub use open::{RequestSession, Session, losses_in_words, lost_on_import};
pub use run_summary::RunSummary;
pub use watched_runs::{RunLook, WatchedRuns};
