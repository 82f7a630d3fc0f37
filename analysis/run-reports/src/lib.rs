//! Reports on the host, on programs, and on a run as a whole: one module for each question.

pub mod hlo;
pub mod host;
pub mod summary;
