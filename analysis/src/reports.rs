//! Reports: one module for each question.

pub use device_reports::{communication, memory, ops, steps};
pub use run_reports::{hlo, host, summary};
