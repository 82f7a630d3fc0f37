//! Synthetic traces: their files, and the reports about them.
//!
//! One program, so that it links once: `cargo test -p sample-traces --test suite NAME`.

mod arithmetic;
mod closed_form;
mod files;
mod fleet;
mod gaps;
mod host_clocks;
mod real_capture;
