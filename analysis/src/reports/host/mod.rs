//! What does the host do meanwhile?

pub mod clocks;
pub mod compile;
pub mod dispatch;
pub mod gaps;
pub mod input;
