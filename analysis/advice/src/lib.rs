//! Advice and judgement, on top of reports: hints, comparisons of runs, gates, expectations, and the time with other durations.

pub mod compare;
pub mod critical_path;
pub mod expect;
pub mod gates;
pub mod hints;
pub mod kernels;
pub mod what_if;
