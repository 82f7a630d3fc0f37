//! `systole completions`: shell completions.

use super::prelude::*;
use clap_complete::Shell;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// Shell to write completions for; `systole completions bash > /etc/bash_completion.d/systole` installs them
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Runs the command for this program.
pub fn run(args: &CompletionsArgs, mut program: clap::Command) -> Result<CommandOutcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "systole", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(CommandOutcome::Done)
}
