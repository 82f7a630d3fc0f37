//! Converts the bytes of a profile to the common timeline model.
//!
//! Every format is one [`Importer`] in the list [`IMPORTERS`]. The format of a file is
//! detected from its bytes, never from its name. To add a format, write its module in the
//! directory that it belongs to, add one line to the list, and add fixtures.
//!
//! Each module of this table may use the modules below it, never those above it:
//!
//! | module | content |
//! |---|---|
//! | `import` | turns a path or bytes into a model: finds the files of a run, chooses importers |
//! | `registry` | the list of formats |
//! | `profiler`, `simulator`, `compiler` | one module for each format, grouped by the kind of writer |
//! | `common` | the importer interface, and code that several formats share |
//! | `input` | files and buckets, unpacking, lines, patterns, progress, errors |

#![warn(missing_docs)]

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
pub use import::packed::{
    PACK_FACTS, PACKED_PROFILES, PACKED_SESSION, packed_session, packed_session_in, source_for_args, sources_in,
};
pub use import::{
    HostFiles, ListedFile, ListedRun, LocatedRun, detect, from_snapshot, import, import_path, import_source,
    import_sources, list_files, list_runs, locate, open_file,
};
pub use input::archive::{Archive, ArchiveWriter, ArchivedFile};
#[cfg(feature = "remote")]
pub use input::remote::cache;
pub use input::{FeedResult, ImportError, InputSource, Progress, ProgressStage, SharedBytes, SourceContent};
pub use input::{is_remote, may_ask, remote_head, shown_path, write_remote};
pub use profiler::xplane::{SpaceElement, event_bytes, visit_xplane_elements};
pub use registry::IMPORTERS;
