//! Messages on stderr.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::sync::Mutex;

use crate::prelude::*;
use analysis::{is_printable, printable, turns_text};
use trace_model::locked;

use crate::common::args::MessageArgs;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

impl request::Warnings for Stderr {
    fn warn(&self, text: &str) {
        Self::warn(self, text);
    }
}

/// Writes messages to stderr.
#[derive(Clone)]
pub struct Stderr {
    level: Verbosity,
    /// Whether to use colour on stderr.
    color: bool,
    /// Whether to use colour on stdout.
    color_out: bool,
    /// The warnings so far, where each is printed once.
    told: Option<Arc<Mutex<BTreeSet<String>>>>,
}

impl Stderr {
    /// Configured by the arguments.
    pub fn new(args: &MessageArgs) -> Self {
        let wanted =
            !args.no_color && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        let wanted = wanted && std::env::var_os("TERM").is_none_or(|term| term != "dumb");
        let level = match (args.quiet, args.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Self {
            level,
            color: wanted && std::io::stderr().is_terminal(),
            color_out: wanted && std::io::stdout().is_terminal(),
            told: None,
        }
    }

    /// This output for a command that looks again and again: each warning is printed once.
    pub fn once(&self) -> Self {
        Self {
            told: Some(Arc::default()),
            ..self.clone()
        }
    }

    /// The style of text on stdout.
    pub fn stdout_style(&self) -> AnsiStyle {
        if self.color_out {
            AnsiStyle::COLOR
        } else {
            AnsiStyle::PLAIN
        }
    }

    /// Whether warnings are printed.
    pub fn warns(&self) -> bool {
        self.level > Verbosity::Quiet
    }

    /// Prints a detail, only with `-v`.
    pub fn detail(&self, text: &str) {
        if self.level == Verbosity::Verbose {
            self.say("", "2", text);
        }
    }

    pub fn warn(&self, text: &str) {
        let is_new = self
            .told
            .as_ref()
            .is_none_or(|told| locked(told).insert(text.to_owned()));
        if self.warns() && is_new {
            self.say("warning: ", "33", text);
        }
    }

    /// Prints a line for CI, regardless of the verbosity.
    pub fn command(line: &str) {
        write_line(&printable(line));
    }

    pub fn error(&self, text: &str) {
        self.say("error: ", "31", text);
    }

    fn say(&self, kind: &str, color: &str, text: &str) {
        let text = harmless(text);
        write_line(&if self.color {
            format!("\x1b[{color}m{kind}\x1b[0m{text}")
        } else {
            format!("{kind}{text}")
        });
    }
}

/// Writes a message. Where it cannot be written, the disk of a log for example is full, the work goes on: the exit code
/// tells how it ends.
fn write_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// Makes text from files safe to print: it must neither control the terminal, nor turn its lines, nor give commands to a
/// CI runner. GitHub's runner takes `::command` at the start of a line, also after spaces, and `##[command]` anywhere.
pub fn harmless(text: &str) -> String {
    without_orders(&text.replace(|c| !is_printable(c) && c != '\n', " "))
}

/// Only the latter two, for text that contains colours.
pub fn without_orders(text: &str) -> String {
    let text = text.replace(turns_text, " ").replace("##[", "# #[");
    let line = |line: &str| {
        if line.trim_start().starts_with("::") {
            format!("· {line}")
        } else {
            line.to_owned()
        }
    };
    joined(text.split('\n').map(line), "\n")
}

#[cfg(test)]
mod tests {
    use super::{harmless, without_orders};

    #[test]
    fn names_cannot_inject_terminal_or_workflow_commands() {
        assert_eq!(harmless("a\n  ::error::b\x1b[2J"), "a\n·   ::error::b [2J");
        assert_eq!(
            without_orders("\x1b[1mTop ops\n  ::add-mask::x"),
            "\x1b[1mTop ops\n·   ::add-mask::x"
        );
        assert_eq!(harmless("a\u{202e}b\n\u{2066}c"), "a b\n c");
        assert_eq!(without_orders("\x1b[1ma\u{202e}b"), "\x1b[1ma b");
        assert_eq!(
            harmless("tpu::System ##[error]x"),
            "tpu::System # #[error]x"
        );
    }
}
