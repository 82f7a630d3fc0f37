//! Shared by commands: argument groups and values, loading, output, messages, failures, gates.

pub(super) mod args;
pub(super) mod checks;
pub(super) mod chip_arg;
pub(super) mod failure;
pub(super) mod gating;
pub(super) mod help;
pub(super) mod history_file;
pub(super) mod loading;
pub(super) mod output;
pub(super) mod settings;
pub(super) mod stderr;
pub(super) mod summaries;
pub(super) mod terminal;
pub(super) mod values;
