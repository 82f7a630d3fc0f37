//! The commands: one file each, with its arguments and its implementation.

pub(super) mod analyze;
#[cfg(feature = "capture")]
pub(super) mod capture;
pub(super) mod chips;
pub(super) mod compare;
pub(super) mod completions;
pub(super) mod config;
pub(super) mod doctor;
pub(super) mod explain;
#[cfg(feature = "export")]
pub(super) mod export;
pub(super) mod formats;
pub(super) mod history;
pub(super) mod hlo;
pub(super) mod init;
pub(super) mod man;
pub(super) mod metrics;
pub(super) mod open;
#[cfg(feature = "query")]
pub(super) mod query;
pub(super) mod render;
pub(super) mod schema;
pub(super) mod summarize;
#[cfg(feature = "capture")]
pub(super) mod top;
pub(super) mod whatif;
