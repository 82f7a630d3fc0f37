//! Reports: one module for each question.

pub use device_reports::*;
pub use run_reports::*;
