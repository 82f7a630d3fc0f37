//! Reports on the host: what it does while devices run or wait.

pub mod clocks;
pub mod compile;
pub mod dispatch;
pub mod gaps;
pub mod input;
pub mod serving;
