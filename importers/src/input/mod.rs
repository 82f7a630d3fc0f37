//! Input independent of the format: files, unpacking, lines, file name patterns, progress, errors.

pub(crate) mod archive;
mod error;
pub(crate) mod glob;
pub(crate) mod lines;
mod memory;
mod progress;
pub(crate) mod sniffing;
pub(crate) mod source;

pub use error::ImportError;
pub(crate) use memory::prepare_heap;
pub use progress::Progress;
pub use source::{FeedResult, InputSource, SharedBytes, SourceContent};
