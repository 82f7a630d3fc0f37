//! What does communication cost, and what hides it?

pub mod collectives;
pub mod dcn;
pub mod overlap;
pub mod sparse_cores;
