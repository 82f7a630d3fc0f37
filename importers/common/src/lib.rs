//! Code shared by importers of several formats: the importer interface, names of tracks and ops, tables, cycles.

pub(crate) mod async_spans;
pub(crate) mod csv_table;
pub(crate) mod cycles;
mod importer;
pub(crate) mod names;
pub(crate) mod op_track;
pub(crate) mod roles;
pub(crate) mod waits;

pub use importer::{DetectionConfidence, ImportOptions, Importer, TraceFormat};
pub use roles::TrackRoles;
