//! `systole man`: manual pages.

use clap::{Args, CommandFactory as _};
use clap_mangen::Man;

use super::args::Cli;
use super::failure::{Failure, Outcome};
use super::output;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Of this command; of the program without it. `systole man analyze | man -l -` shows it
    pub command: Option<String>,
}

/// Runs the command.
pub fn run(args: &ManArgs) -> Result<Outcome, Failure> {
    let mut program = Cli::command();
    // Global options and full names of commands come with this.
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            let known: Vec<_> = program.get_subcommands().map(clap::Command::get_name).collect();
            Failure::Usage(format!("no command is called {name:?}; there are {}", known.join(", ")))
        })?,
    };
    let mut text = Vec::new();
    Man::new(page).render(&mut text).map_err(Failure::Stdout)?;
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(Outcome::Done)
}
