//! Code shared by importers of several formats: the importer interface, names of tracks and ops, tables, cycles.

pub mod async_spans;
pub mod csv_table;
pub mod cycles;
mod importer;
pub mod names;
pub mod op_track;
pub mod prelude;
pub mod roles;
pub mod simulated;
mod source_lines;
pub mod waits;

pub use importer::{DetectionConfidence, HostEvents, ImportOptions, Importer, TraceFormat};
pub use roles::TrackRoles;
pub use source_lines::fill_source_lines;
