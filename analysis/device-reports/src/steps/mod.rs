//! Step times, their parts, and differences between devices.

pub mod balance;
pub mod devices;
pub mod step_parts;
pub mod step_times;
