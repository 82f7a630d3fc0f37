//! `systole completions`: what a shell needs to complete commands and options.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::args::Cli;
use super::failure::{Failure, Outcome};
use super::output;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct CompletionsArgs {
    /// For which shell; `systole completions bash > /etc/bash_completion.d/systole` installs them
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Runs the command.
pub fn run(args: &CompletionsArgs) -> Result<Outcome, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "systole", &mut script);
    output::print(&String::from_utf8_lossy(&script))?;
    Ok(Outcome::Done)
}
