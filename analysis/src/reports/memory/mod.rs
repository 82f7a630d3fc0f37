//! Where is the memory?

pub mod buffers;
pub mod hbm;
