//! `systole config`: checks a configuration file.

use crate::common::failure::{CommandOutcome, Failure};
use crate::common::stderr::Stderr;
use crate::common::{output, settings};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};

/// Arguments of `systole config`.
#[derive(Debug, Args)]
pub struct ConfigArgs {
    #[command(subcommand)]
    pub command: ConfigCommand,
}

/// What to do with a configuration file.
#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Report errors in a configuration file, or what it contains
    Check {
        /// The file; systole.toml in the working directory by default
        #[arg(value_name = "FILE")]
        path: Option<PathBuf>,
    },
}

/// Runs `systole config`.
pub fn run(args: &ConfigArgs, stderr: &Stderr) -> Result<CommandOutcome, Failure> {
    let ConfigCommand::Check { path } = &args.command;
    let path = path.as_deref().unwrap_or(Path::new(crate::common::values::SETTINGS_FILE));
    let wrong = |why: String| Failure::Config { why, path: path.to_owned() };
    let text = settings::read(path).map_err(|error| settings::unread(&error, path))?;
    let gates = settings::gates_of(&text).map_err(wrong)?;
    let (hints, expired) = settings::parse(&text, settings::today()).map_err(wrong)?;
    for hint in expired {
        stderr.warn(&format!("the suppression of {hint} has expired: {}", path.display()));
    }
    let some = |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let parts = [
        some(gates.budget.len(), "budget"),
        some(gates.regression.len(), "regression"),
        some(hints.thresholds.len(), "threshold"),
        some(hints.suppressions.len(), "suppression"),
    ];
    output::print(&format!("{}: {}\n", path.display(), parts.join(", ")))?;
    Ok(CommandOutcome::Done)
}
