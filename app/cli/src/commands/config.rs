//! `systole config`: checks a configuration file.

use super::prelude::*;
use clap::Subcommand;
use request::{SETTINGS_FILE, SettingsFile};

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
pub fn run(args: &ConfigArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let ConfigCommand::Check { path } = &args.command;
    let path = path.as_deref().unwrap_or(Path::new(SETTINGS_FILE));
    let settings = SettingsFile::read(path)?;
    let (gates, hints) = (settings.gates()?, settings.hints()?);
    let expected = settings.listed_expectations()?.len();
    settings.expired().iter().for_each(|said| stderr.warn(said));
    let some =
        |count: usize, one: &str| format!("{count} {one}{}", if count == 1 { "" } else { "s" });
    let mut parts = vec![
        some(gates.budget.len(), "budget"),
        some(gates.regression.len(), "regression"),
        some(hints.thresholds.len(), "threshold"),
        some(hints.suppressions.len(), "suppression"),
    ];
    if expected > 0 {
        parts.push(some(expected, "expectation"));
    }
    output::print(&format!("{}: {}\n", path.display(), parts.join(", ")))?;
    Ok(CommandOutcome::Done)
}
