//! Advice, on top of reports: hints, and the time with other durations.

pub mod critical_path;
pub mod hints;
pub mod what_if;
