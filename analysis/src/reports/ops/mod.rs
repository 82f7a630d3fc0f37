//! Which ops take the time, and how near do they come to the limits of the chip?

pub mod bundles;
pub mod expected;
pub mod kernels;
pub mod loops;
pub mod matmuls;
pub mod op_stats;
pub mod roofline;
