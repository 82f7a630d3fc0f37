//! Summary reports: the efficiency of a run, and how far the capture can be trusted.

pub mod doctor;
pub mod targets;
pub mod utilization;
pub mod verdict;
