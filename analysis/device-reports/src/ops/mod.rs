//! Reports about ops: their time, and how close they come to the limits of the chip.

pub mod bundles;
pub mod expected;
pub mod hardware_counters;
pub mod kernels;
pub mod loops;
pub mod matmuls;
pub mod op_stats;
pub mod roofline;
