//! Reports on communication: its cost, and the compute that hides it.

pub mod collectives;
pub mod dcn;
pub mod overlap;
pub mod sparse_cores;
