//! Systole: from a profile on disk to answers, on the command line or in a window. Here is what the program is made of;
//! each part is a crate below this folder.

mod command_line;
mod open;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, CommandFactory as _, FromArgMatches as _};
use cli::commands::{
    self, analyze, bisect, cache, chips, compare, compile, completions, config, doctor,
    environment, events, expect, explain, fleet, formats, history, hlo, init, kernels, man, memory,
    metrics, render, schema, skill, summarize, watch, whatif,
};
use cli::common::{CommandOutcome, MessageArgs, Stderr, help};

use command_line::{Cli, CliCommand, in_words, missing_command};

/// Runs the program with these arguments, the first being its own name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(run(args))
}

/// The command line. A negative number after an option is its value, which says itself what is wrong with it.
fn parsed(args: Vec<OsString>) -> Result<Cli, clap::Error> {
    let mut command = with_usual_settings(Cli::command());
    let mut matches = command.try_get_matches_from_mut(args)?;
    Cli::from_arg_matches_mut(&mut matches).map_err(|error| error.format(&mut command))
}

/// A command with what is the same for all; short help names the long one where that has examples.
fn with_usual_settings(command: Command) -> Command {
    let command = command
        .mut_args(|arg| {
            let has_value = !arg.is_positional() && arg.get_action().takes_values();
            arg.allow_negative_numbers(has_value)
        })
        .mut_subcommands(with_usual_settings);
    let has_more = command.get_after_long_help().is_some() && command.get_after_help().is_none();
    if has_more {
        command.after_help(help::MORE)
    } else {
        command
    }
}

/// Runs the program; returns the exit code as a number.
pub fn run(args: impl IntoIterator<Item = OsString>) -> u8 {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.len() == 1 && open::has_display() {
        // Started from a desktop, where nobody can read the help.
        args.push("open".into());
    }
    let path = args
        .get(1)
        .filter(|first| Path::new(first).exists())
        .cloned();
    let cli = match parsed(args) {
        Ok(cli) => cli,
        Err(error) => {
            let mut error = in_words(error);
            if let (ErrorKind::InvalidSubcommand, Some(path)) = (error.kind(), path) {
                let path = path.display();
                let tip = format!(
                    "'systole open {path}' shows it, 'systole analyze {path}' reports on it"
                );
                error.insert(
                    ContextKind::Suggested,
                    ContextValue::StyledStrs(vec![tip.into()]),
                );
            }
            // Help and version arrive here too, with code 0. A failure to print them is ignored.
            match missing_command(&error) {
                Some(why) => Stderr::new(&MessageArgs::default()).error(&why),
                None => drop(error.print()),
            }
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let stderr = Stderr::new(&cli.messages);
    if let Some(jobs) = cli.messages.jobs
        && let Err(error) = rayon::ThreadPoolBuilder::new()
            .num_threads(usize::from(jobs))
            .build_global()
    {
        stderr.warn(&format!("--jobs had no effect: {error}"));
    }
    let result = match cli.command {
        CliCommand::Analyze(args) => analyze::run(&args, &stderr),
        CliCommand::Init(args) => init::run(&args, &stderr),
        CliCommand::Config(args) => config::run(&args, &stderr),
        CliCommand::Metrics(args) => metrics::run(&args),
        CliCommand::History(args) => history::run(&args, &stderr),
        CliCommand::Schema(args) => schema::run(&args),
        CliCommand::Compare(args) => compare::run(&args, &stderr),
        CliCommand::Compile(args) => compile::run(&args, &stderr),
        CliCommand::Summarize(args) => summarize::run(&args, &stderr),
        CliCommand::Doctor(args) => doctor::run(&args, &stderr),
        CliCommand::Kernels(args) => kernels::run(&args, &stderr),
        CliCommand::Watch(args) => watch::run(&args, &stderr),
        CliCommand::Whatif(args) => whatif::run(&args, &stderr),
        CliCommand::Events(args) => events::run(&args, &stderr),
        CliCommand::Hlo(args) => hlo::run(&args, &stderr),
        CliCommand::Expect(args) => expect::run(&args, &stderr),
        CliCommand::Bisect(args) => bisect::run(&args, &stderr),
        CliCommand::Memory(args) => memory::run(&args, &stderr),
        CliCommand::Environment(args) => environment::run(&args, &stderr),
        CliCommand::Fleet(args) => fleet::run(&args),
        CliCommand::Explain(args) => explain::run(&args),
        CliCommand::Runs(args) => commands::runs::run(&args, &stderr),
        CliCommand::Cache(args) => cache::run(&args),
        CliCommand::Formats(args) => formats::run(&args),
        CliCommand::Chips(args) => chips::run(&args),
        CliCommand::Render(args) => render::run(&args, &stderr),
        #[cfg(feature = "export")]
        CliCommand::Export(args) => commands::export::run(&args, &stderr),
        #[cfg(feature = "query")]
        CliCommand::Query(args) => commands::query::run(&args, &stderr),
        #[cfg(feature = "capture")]
        CliCommand::Capture(args) => commands::capture::run(&args, &stderr),
        #[cfg(feature = "capture")]
        CliCommand::Top(args) => commands::top::run(&args, &stderr),
        CliCommand::Anonymize(args) => commands::anonymize::run(&args, &stderr),
        CliCommand::Pack(args) => commands::pack::run(&args, env!("SYSTOLE_VERSION"), &stderr),
        #[cfg(feature = "mcp")]
        CliCommand::Mcp(args) => mcp::run(&args),
        #[cfg(feature = "serve")]
        CliCommand::Serve(args) => serve::run(&args, &stderr),
        CliCommand::Skill(args) => skill::run(&args),
        CliCommand::Open(args) => open::run(args, &stderr),
        CliCommand::Completions(args) => completions::run(&args, Cli::command()),
        CliCommand::Man(args) => man::run(&args, Cli::command()),
    };
    match result {
        Ok(CommandOutcome::Done) => 0,
        Ok(CommandOutcome::Inconclusive(why)) => {
            stderr.error(&format!("inconclusive: {why}"));
            11
        }
        Ok(CommandOutcome::Failed { why, code }) => {
            stderr.error(&format!("failed: {why}"));
            code
        }
        Err(failure) => {
            stderr.error(&failure.on_command_line());
            failure.codes().exit
        }
    }
}
