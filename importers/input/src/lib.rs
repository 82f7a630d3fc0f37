//! Input independent of the format: files and buckets, unpacking, lines, file name patterns, progress, errors.

pub mod archive;
mod error;
mod fingerprint;
pub mod glob;
pub mod lines;
mod memory;
pub mod network;
mod progress;
pub mod sniffing;
pub mod source;
pub mod storage;

pub use error::{ImportError, Result};
pub use fingerprint::FingerprintHash;
pub use memory::{prepare_heap, return_free_memory};
pub use network::may_ask;
pub use progress::{Progress, ProgressStage};
pub use source::{FeedResult, GZIP, InputSource, SharedBytes, SourceContent};
pub use storage::{is_remote, shown_path};
