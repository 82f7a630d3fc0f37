//! Shared by commands: argument groups and values, loading, output, messages, failures, gates.

pub mod answer;
pub mod args;
pub mod formats;
pub mod gating;
pub mod help;
pub mod loading;
pub mod outcome;
pub mod output;
pub mod process;
pub mod programs;
pub mod stderr;
pub mod summaries;
pub mod terminal;
pub mod values;

pub use answer::Answer;
pub use args::{CsvArgs, ForceArgs, GateArgs, JudgeArgs, MessageArgs, OutputArgs};
pub use formats::OutputFormat;
pub use loading::Loading;
pub use outcome::CommandOutcome;
pub use stderr::Stderr;
