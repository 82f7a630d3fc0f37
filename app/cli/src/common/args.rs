//! Arguments shared by several commands.

use crate::prelude::*;

use crate::common::formats::{OutputFile, OutputFormat, ReportFormat};
use crate::common::outcome::CommandOutcome;

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Messages")]
pub struct MessageArgs {
    /// Print only errors on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Print details on stderr: files read, times taken, every import issue
    #[arg(short, long, global = true, hide_short_help = true)]
    pub verbose: bool,
    /// No colour; also set by the environment variable `NO_COLOR`
    #[arg(long, global = true, hide_short_help = true)]
    pub no_color: bool,
    /// Threads to use; all cores by default
    #[arg(long, global = true, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// How cells of CSV are written.
#[derive(Clone, Copy, Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct CsvArgs {
    /// In CSV, put an apostrophe before texts that a spreadsheet would take for a formula: those that begin with =, +, -,
    /// @ or a tab
    #[arg(long, hide_short_help = true)]
    pub spreadsheet: bool,
}

impl CsvArgs {
    /// How cells are written.
    pub fn cells(self) -> CsvCells {
        if self.spreadsheet {
            CsvCells::Spreadsheet
        } else {
            CsvCells::Exact
        }
    }
}

/// Whether any file may be replaced.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct ForceArgs {
    /// Replace output files that Systole did not write, too; never an input
    #[arg(long, hide_short_help = true)]
    pub force: bool,
}

#[derive(Debug, Default, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t)]
    pub format: OutputFormat,
    /// Also write this format to this file: text, json, ndjson, csv, md, junit, sarif or html; may be repeated
    ///
    /// json=report.json writes a file; json=- prints it instead of --format. CSV is one table (--table), or all
    /// tables in a directory: csv=tables/
    #[arg(short, long, value_name = "FORMAT=PATH")]
    pub output: Vec<OutputFile>,
    /// Only this table of CSV and NDJSON (a wrong name lists them all)
    #[arg(long, value_name = "NAME")]
    pub table: Option<String>,
    /// Rows of each table, entries of each list; 0 for all
    ///
    /// 10 by default in text and Markdown, 10000 in JSON; what is left out is counted. CSV and NDJSON have
    /// all rows by default.
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    #[command(flatten)]
    pub csv: CsvArgs,
    /// Exit with 11 if the trace is too incomplete for a conclusion
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
}

impl OutputArgs {
    /// Whether what is written names the fingerprint of the input.
    pub fn identifies_input(&self) -> bool {
        self.output
            .iter()
            .map(|file| file.format)
            .chain([self.format.0])
            .any(ReportFormat::identifies_input)
    }

    /// The outcome where a conclusion may be in doubt.
    pub fn outcome(&self, doubt: Option<String>) -> CommandOutcome {
        doubt
            .filter(|_| self.strict)
            .map_or(CommandOutcome::Done, CommandOutcome::Inconclusive)
    }
}

/// Arguments that can make a run fail.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gates")]
pub struct GateArgs {
    /// Compare with this run or saved summary, and fail if the run is worse; may be repeated
    #[arg(long, value_name = "PATH")]
    pub baseline: Vec<PathBuf>,
    #[command(flatten)]
    pub judge: JudgeArgs,
}

/// Gates and what follows from them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Gates")]
pub struct JudgeArgs {
    /// Judge by the budgets and regressions of this file (`systole init` writes one)
    #[arg(long, value_name = "FILE")]
    pub budget: Option<PathBuf>,
    /// Append the numbers and the verdict to this file, one line of JSON per run
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub history: Option<PathBuf>,
    /// Exit code if a gate fails
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 10)]
    pub exit_code_on_fail: u8,
    /// Exit with 0 even if a gate fails: report only
    #[arg(long, hide_short_help = true)]
    pub exit_zero: bool,
}

impl JudgeArgs {
    /// The files that are read.
    pub fn files(&self) -> Vec<PathBuf> {
        self.budget.iter().chain(&self.history).cloned().collect()
    }
}

impl GateArgs {
    /// The files that are read.
    pub fn files(&self) -> Vec<PathBuf> {
        self.baseline
            .iter()
            .cloned()
            .chain(self.judge.files())
            .collect()
    }

    /// Whether there is anything to judge.
    pub fn are_set(&self) -> bool {
        self.judge.budget.is_some() || !self.baseline.is_empty()
    }
}
