//! Input independent of the format: files and buckets, unpacking, lines, file name patterns, progress, errors.

pub(crate) mod archive;
mod error;
pub(crate) mod glob;
pub(crate) mod lines;
mod memory;
pub(crate) mod network;
mod progress;
pub(crate) mod sniffing;
pub(crate) mod source;
pub(crate) mod storage;

pub use error::ImportError;
pub(crate) use memory::prepare_heap;
pub use network::may_ask;
pub use progress::{Progress, ProgressStage};
pub(crate) use source::GZIP;
pub use source::{FeedResult, InputSource, SharedBytes, SourceContent};
pub use storage::{is_remote, shown_path};
