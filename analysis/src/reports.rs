//! Reports: one module for each question.

pub use device_reports::{communication, hlo, memory, ops, steps};
pub use run_reports::{host, summary};
