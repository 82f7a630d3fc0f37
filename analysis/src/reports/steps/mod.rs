//! Where does the time of a step go, and which device takes longer?

pub mod balance;
pub mod devices;
pub mod step_parts;
pub mod step_times;
