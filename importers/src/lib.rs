//! Converts the bytes of a profile to the common timeline model.
//!
//! Every format is one [`Importer`] in the list [`IMPORTERS`]. The format of a file is detected from its bytes, never
//! from its name. To add a format, write its module in the crate of who writes it, add one line to the list, and add
//! fixtures.
//!
//! The formats are in crates below this one: `profiler-formats`, `simulator-formats` and `compiler-formats` stand on
//! `importer-common` (the importer interface, and code that several formats share), that on `input` (files, unpacking,
//! lines, patterns, progress, errors). `remote` reads buckets. Here are `import`, which turns a path or bytes into a
//! model, and `registry`, the list of formats.

#![warn(missing_docs)]

mod access;
mod import;
mod registry;
#[cfg(not(feature = "remote"))]
#[path = "without_remote.rs"]
mod remote;

#[cfg(feature = "remote")]
use ::remote;
pub use access::{post_json, remote_head, write_remote};
pub use import::packed::{
    PACK_FACTS, PACKED_PROFILES, PACKED_SESSION, is_archive_file, packed_file, packed_file_in,
    source_for_args, sources_in,
};
pub use import::{
    HostFiles, ListedFile, ListedRun, LocatedRun, detect, first_look, first_look_at, from_snapshot,
    holds_programs_only, import, import_path, import_source, import_sources, list_files,
    list_log_directory, list_runs, locate, open_file, small_remote_file,
};
pub use importer_common::{
    DetectionConfidence, HostEvents, ImportOptions, Importer, TraceFormat, TrackRoles,
};
pub use input::archive::{Archive, ArchiveWriter, ArchivedFile};
pub use input::source::{file_name, is_within, small_text};
pub use input::{
    FeedResult, FingerprintHash, ImportError, InputSource, Progress, ProgressStage, SharedBytes,
    SourceContent, is_remote, may_ask, return_free_memory, shown_path,
};
pub use profiler_formats::xplane::{
    PartSize, ProfilePart, SpaceElement, event_bytes, part_sizes, visit_xplane_elements,
};
pub use registry::IMPORTERS;
#[cfg(feature = "remote")]
pub use remote::cache;
