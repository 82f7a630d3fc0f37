//! From the bytes of a profile to the common timeline model.
//!
//! Every format is one [`Importer`] in the list [`IMPORTERS`]. Bytes decide what
//! a file is; its name never does. To add a format: write its file in the room it
//! belongs to, add one line to the list, add fixtures.
//!
//! The modules build on each other from the bottom of this list to its top, never the other way:
//!
//! | module | what it holds |
//! |---|---|
//! | `import` | from a path, or bytes, to a model: finding the files of a run, choosing importers |
//! | `registry` | the list of formats |
//! | `profiler`, `simulator`, `compiler` | one module for each format, by who writes it |
//! | `common` | what several formats share, and what an importer is |
//! | `input` | files, unpacking, lines, patterns, progress, errors |

mod common;
mod compiler;
mod import;
mod input;
mod profiler;
mod registry;
mod simulator;
#[cfg(test)]
mod testing;

pub use common::{DetectionConfidence, ImportOptions, Importer, TraceFormat, TrackRoles};
pub use import::{HostFiles, LocatedRun, detect, import, import_path, import_source, locate};
pub use input::{FeedResult, ImportError, InputSource, Progress, SharedBytes, SourceContent};
pub use registry::IMPORTERS;
