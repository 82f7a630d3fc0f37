//! Shared by commands: argument groups and values, loading, output, messages, failures, gates.

pub mod args;
pub mod checks;
pub mod chip_arg;
pub mod failure;
pub mod gating;
pub mod help;
pub mod history_file;
pub mod loading;
pub mod output;
pub mod settings;
pub mod stderr;
pub mod summaries;
pub mod terminal;
pub mod values;
