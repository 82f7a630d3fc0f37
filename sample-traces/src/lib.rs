//! Traces for tests, examples and benchmarks, none of them measured.
//!
//! - [`text_trace`]: a trace drawn as text, so that a test shows what it expects.

mod text;

pub use text::{text_builder, text_trace};
