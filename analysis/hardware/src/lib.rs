//! Chips, the links between them, and the limits that they set.

pub mod chips;
pub mod ici;
pub mod limits;
pub mod padding;
pub mod peaks;
