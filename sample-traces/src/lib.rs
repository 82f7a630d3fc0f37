//! Traces for tests, examples and benchmarks.
//!
//! - [`text_trace`]: a trace drawn as text, so that a test shows what it expects.
//! - [`synthetic`]: training runs that never happened, as sessions of a profiler,
//!   with the answers that analyses must give about them.
//! - [`memory`]: such a run with what it does with memory.
//! - [`sample_files`]: the files under `assets/samples`.
//! - [`rare`]: sessions of what no public capture shows, with known answers.
//! - [`fleet`]: many steps on many devices, whose answers are sums.
//! - [`ring`]: a matmul gathered around a ring, with and without overlap.
//! - [`prediction`]: a program as its compiler expects it, and as it ran.
//! - [`big`]: as many slices as a benchmark needs.
//! - [`session`] and [`mod@write`]: such a session, and the files that hold it.

pub mod big;
pub mod fleet;
pub mod memory;
pub mod prediction;
pub mod rare;
pub mod ring;
mod samples;
pub mod session;
pub mod synthetic;
pub mod text;
pub mod write;

pub use samples::{SampleFile, sample_files, sample_specs};
pub use text::{text_builder, text_trace};
