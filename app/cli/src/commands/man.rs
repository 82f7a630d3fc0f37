//! `systole man`: manual pages.

use super::prelude::*;
use clap_mangen::Man;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct ManArgs {
    /// Command to describe; by default the program. `systole man analyze | man -l -` shows it
    pub command: Option<String>,
}

/// Runs the command for this program.
pub fn run(args: &ManArgs, mut program: clap::Command) -> Result<CommandOutcome> {
    // Global options and full names of commands come with this.
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => program.find_subcommand(name).cloned().ok_or_else(|| {
            RequestError::Usage(format!(
                "there is no command {name:?}; the commands are {}",
                joined(program.get_subcommands().map(clap::Command::get_name), ", ")
            ))
        })?,
    };
    let mut text = Vec::new();
    Man::new(page)
        .render(&mut text)
        .map_err(RequestError::Stdout)?;
    output::print(&String::from_utf8_lossy(&text))?;
    Ok(CommandOutcome::Done)
}
