//! Invariants of the model on random traces.
//!
//! One program, so that it links once: `cargo test -p trace-model --test suite NAME`.

mod common;
mod invariants;
mod queries;
