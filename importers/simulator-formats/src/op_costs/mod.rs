//! Tables of analytical simulators: one row per op with its cost and number of executions, without start times.
//! `NeuSim` and `GenZ` write them.
//!
//! Rows are in execution order, so they become a timeline: ops one after the other, in blocks (layers) that repeat. An
//! op takes as long as the slowest of its parts (MXU, VPU, HBM, ICI): the models assume that parts overlap perfectly
//! inside an op, and ops not at all. The models have no start times of parts; each part is drawn from the start of its
//! op.
//!
//! ```text
//! ops    [Q ][K ][all-gather  ] [Q ][K ][all-gather  ] …      pass 1, pass 2 …
//! MXU    [Q ][K ]               [Q ][K ]
//! ICI            [all-gather  ]         [all-gather  ]
//! ```
//!
//! All passes of a block are drawn if there are few. Of longer blocks, the first and the last
//! pass are drawn; between them, one op stands for all remaining executions of each op, so that
//! sums stay correct.

mod genz;
mod neusim;
mod program;
mod table;
mod timeline;

pub use genz::GENZ;
pub use neusim::NEUSIM;

#[cfg(test)]
mod tests;
