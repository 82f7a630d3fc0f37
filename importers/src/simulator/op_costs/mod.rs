//! Tables of analytical simulators: one row per op with its cost and number of executions, without start times.
//! `NeuSim` and `GenZ` write them.
//!
//! Rows follow each other, so they become a timeline: ops one after the other, in blocks (layers) that repeat. An op
//! takes as long as the slowest of its parts (MXU, VPU, HBM, ICI): the models assume that parts overlap perfectly
//! inside an op, and ops not at all. The parts are drawn next to the op from its start; these models have no times of
//! parts.
//!
//! ```text
//! ops    [Q ][K ][all-gather  ] [Q ][K ][all-gather  ] …      pass 1, pass 2 …
//! MXU    [Q ][K ]               [Q ][K ]
//! ICI            [all-gather  ]         [all-gather  ]
//! ```
//!
//! All passes are drawn while there are few. Of longer blocks the first and the last
//! are, and one op for each op between them stands for all of its executions there:
//! sums stay right.

mod genz;
mod neusim;
mod program;
mod timeline;

pub use genz::GenZ;
pub use neusim::NeuSim;

#[cfg(test)]
mod tests;
