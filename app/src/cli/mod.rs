//! The command line: data on stdout, talk on stderr, exit codes that scripts can
//! rely on.

mod analyze;
mod args;
mod chip_arg;
mod chips;
mod compare;
mod completions;
mod config;
mod doctor;
mod explain;
mod failure;
mod formats;
pub(crate) mod gate;
mod help;
mod history;
mod init;
mod loading;
mod man;
mod metrics;
mod open;
mod output;
mod render;
mod schema;
mod stdin;
mod summarize;
mod terminal;
mod values;
mod whatif;

use std::ffi::OsString;
use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;

use args::{Cli, Command, TalkArgs};
use failure::Outcome;

/// Runs the program with these arguments, the first being its own name.
pub fn main(args: impl IntoIterator<Item = OsString>) -> ExitCode {
    let mut args: Vec<OsString> = args.into_iter().collect();
    if args.len() == 1 && open::has_display() {
        // Started from a desktop: there is nobody to read the help.
        args.push("open".into());
    }
    let cli = match Cli::try_parse_from(args) {
        Ok(cli) => cli,
        Err(error) => {
            // Help and version come here too, with code 0. Nobody reads a failure to print them.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    let talk = Talk::new(&cli.talk);
    if let Some(jobs) = cli.talk.jobs
        && let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(usize::from(jobs)).build_global()
    {
        talk.warn(&format!("--jobs had no effect: {error}"));
    }
    let result = match cli.command {
        Command::Analyze(args) => analyze::run(&args, &talk),
        Command::Init(args) => init::run(&args, &talk),
        Command::Config(args) => config::run(&args, &talk),
        Command::Metrics(args) => metrics::run(&args),
        Command::History(args) => history::run(&args, &talk),
        Command::Schema(args) => schema::run(&args),
        Command::Compare(args) => compare::run(&args, &talk),
        Command::Summarize(args) => summarize::run(&args, &talk),
        Command::Doctor(args) => doctor::run(&args, &talk),
        Command::Whatif(args) => whatif::run(&args, &talk),
        Command::Explain(args) => explain::run(&args),
        Command::Formats(args) => formats::run(&args),
        Command::Chips(args) => chips::run(&args),
        Command::Render(args) => render::run(&args, &talk),
        Command::Open(args) => open::run(args, &talk),
        Command::Completions(args) => completions::run(&args),
        Command::Man(args) => man::run(&args),
    };
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Inconclusive(why)) => {
            talk.error(&format!("inconclusive: {why}"));
            ExitCode::from(11)
        }
        Ok(Outcome::Failed { why, code }) => {
            talk.error(&format!("failed: {why}"));
            ExitCode::from(code)
        }
        Err(failure) => {
            talk.error(&failure.to_string());
            ExitCode::from(failure.exit_code())
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Level {
    Quiet,
    Normal,
    Verbose,
}

/// What is said on stderr.
#[derive(Clone)]
pub(crate) struct Talk {
    level: Level,
    /// Colour on stderr.
    color: bool,
    /// Colour on stdout.
    color_out: bool,
}

impl Talk {
    fn new(args: &TalkArgs) -> Self {
        let wanted = !args.no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let wanted = wanted && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let level = match (args.quiet, args.verbose) {
            (true, _) => Level::Quiet,
            (_, true) => Level::Verbose,
            _ => Level::Normal,
        };
        Self {
            level,
            color: wanted && std::io::stderr().is_terminal(),
            color_out: wanted && std::io::stdout().is_terminal(),
        }
    }

    /// Whether anything but errors is said.
    pub fn warns(&self) -> bool {
        self.level > Level::Quiet
    }

    /// Something that the user asked to hear with `-v`.
    pub fn detail(&self, text: &str) {
        if self.level == Level::Verbose {
            self.say("", "2", text);
        }
    }

    /// Something that the user should hear.
    pub fn warn(&self, text: &str) {
        if self.warns() {
            self.say("warning: ", "33", text);
        }
    }

    /// A line for the CI that runs this, whatever the user wants to hear.
    #[expect(clippy::print_stderr, reason = "the one place that talks")]
    pub fn command(line: &str) {
        eprintln!("{line}");
    }

    fn error(&self, text: &str) {
        self.say("error: ", "31", text);
    }

    #[expect(clippy::print_stderr, reason = "the one place that talks")]
    fn say(&self, kind: &str, color: &str, text: &str) {
        let text = harmless(text);
        if self.color { eprintln!("\x1b[{color}m{kind}\x1b[0m{text}") } else { eprintln!("{kind}{text}") }
    }
}

/// What a file calls things must neither steer a terminal nor give orders to a CI
/// runner: GitHub's takes `::command` from the begin of a line, behind spaces as well,
/// and `##[command]` from anywhere.
fn harmless(text: &str) -> String {
    without_orders(&text.replace(|c: char| c.is_control() && c != '\n', " "))
}

/// The latter alone, for text that has colours.
fn without_orders(text: &str) -> String {
    let text = text.replace("##[", "# #[");
    let line = |line: &str| if line.trim_start().starts_with("::") { format!("· {line}") } else { line.to_owned() };
    text.split('\n').map(line).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{harmless, without_orders};

    #[test]
    fn names_give_no_orders() {
        assert_eq!(harmless("a\n  ::error::b\x1b[2J"), "a\n·   ::error::b [2J");
        assert_eq!(without_orders("\x1b[1mTop ops\n  ::add-mask::x"), "\x1b[1mTop ops\n·   ::add-mask::x");
        assert_eq!(harmless("tpu::System ##[error]x"), "tpu::System # #[error]x");
    }
}
