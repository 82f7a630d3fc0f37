//! Reports on the host, and on a run as a whole: one module for each question.

pub mod host;
pub mod summary;
