//! Reports on memory: its use and its contents.

pub mod buffers;
pub mod hbm;
pub mod shortage;
