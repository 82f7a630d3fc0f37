//! How good is this run, and can the capture be trusted?

pub mod doctor;
pub mod hardware_counters;
pub mod targets;
pub mod utilization;
pub mod verdict;
