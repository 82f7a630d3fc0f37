//! Traces for tests, examples and benchmarks.
//!
//! - [`text_trace`]: a trace drawn as text, so that a test shows its input as a picture.
//! - [`synthetic`]: generated training runs as profiler sessions, with the answers that
//!   analyses must give about them.
//! - [`memory`]: such a run with its memory events.
//! - [`sample_files`]: the files under `assets/samples`.
//! - [`rare`]: sessions with features that no public capture has, with known answers.
//! - [`parallel()`]: devices that wait for the slowest of them in each step.
//! - [`fleet`]: many steps on many devices; all expected answers are sums.
//! - [`ring`]: a matmul whose operand is gathered around a ring, with and without overlap.
//! - [`prediction`]: a program with its compiler's estimates, and a measured run of it.
//! - [`big`]: traces with any number of slices, for benchmarks.
//! - [`session`] and [`mod@write`]: the data of a profiler session, and writers of its file formats.

pub mod big;
pub mod fleet;
pub mod memory;
mod parallel;
pub mod prediction;
pub mod rare;
pub mod ring;
mod samples;
pub mod session;
pub mod synthetic;
pub mod text;
pub mod wire_walk;
pub mod write;

pub use parallel::parallel;
pub use samples::{SampleFile, sample_files, sample_specs};
pub use text::{slices, text_builder, text_trace};
