//! Arguments as typed, and what they mean.

use std::path::PathBuf;
use std::sync::Arc;

use analysis::hardware::ici::Topology;
use analysis::hints::Severity;
use analysis::{Options, Scope};
use clap::{Args, Parser, Subcommand, ValueEnum};
use importers::ImportOptions;

use super::chip_arg::ChipArg;
use super::compare::CompareArgs;
use super::completions::CompletionsArgs;
use super::config::ConfigArgs;
use super::gate::GateArgs;
use super::help;
use super::history::HistoryArgs;
use super::init::InitArgs;
use super::man::ManArgs;
use super::metrics::MetricsArgs;
use super::render::RenderArgs;
use super::schema::SchemaArgs;
use super::summarize::SummarizeArgs;
use super::values::{ClockArg, OutputFile, RangeArg, RolesArg, StepsArg};
use super::whatif::WhatifArgs;

/// Profiler-trace analyzer and visualizer for TPUs.
#[derive(Debug, Parser)]
#[command(
    name = "systole",
    version = env!("SYSTOLE_VERSION"),
    max_term_width = 100,
    after_help = "More, with examples: systole --help, systole COMMAND --help",
    after_long_help = help::SYSTOLE
)]
pub struct Cli {
    #[command(flatten)]
    pub talk: TalkArgs,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// What limits this program: verdict, steps, utilization, top ops, communication, compilation
    #[command(after_help = help::MORE, after_long_help = help::ANALYZE)]
    Analyze(AnalyzeArgs),
    /// What changed between two runs, whether it is more than noise, and where the time went
    #[command(after_help = help::MORE, after_long_help = help::COMPARE)]
    Compare(CompareArgs),
    /// Write a commented systole.toml whose limits are those of a good run
    Init(InitArgs),
    /// Check a file of settings and gates
    Config(ConfigArgs),
    /// The metrics that gates can ask for, with unit and meaning
    Metrics(MetricsArgs),
    /// The runs that `--history` kept, one row each
    History(HistoryArgs),
    /// JSON Schemas of what other programs read and write
    Schema(SchemaArgs),
    /// Keep what a comparison needs of a run: small JSON to commit as a baseline
    #[command(after_help = help::MORE, after_long_help = help::SUMMARIZE)]
    Summarize(SummarizeArgs),
    /// How far this trace can be trusted: what is missing, what was mended, where memory goes
    #[command(after_help = help::MORE, after_long_help = help::DOCTOR)]
    Doctor(DoctorArgs),
    /// What the run would have taken with faster links, hidden copies, cheaper ops
    #[command(after_help = help::MORE, after_long_help = help::WHATIF)]
    Whatif(WhatifArgs),
    /// What a hint means, how to check it and what to do
    Explain(ExplainArgs),
    /// The formats that can be read
    Formats(FormatsArgs),
    /// What is assumed of each TPU generation, and who says so
    Chips(ChipsArgs),
    /// A picture of the timeline, the roofline or the steps as SVG, without a window
    #[command(after_help = help::MORE, after_long_help = help::RENDER)]
    Render(RenderArgs),
    /// Show the timeline in a window
    Open(OpenArgs),
    /// Completions of commands and options for a shell
    Completions(CompletionsArgs),
    /// The manual page of the program or of one command
    Man(ManArgs),
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
pub struct TalkArgs {
    /// Say nothing but errors on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr: files read, times taken, every import issue
    #[arg(short, long, global = true, hide_short_help = true)]
    pub verbose: bool,
    /// No colour, also with the environment variable `NO_COLOR`
    #[arg(long, global = true, hide_short_help = true)]
    pub no_color: bool,
    /// Threads to use; all cores by default
    #[arg(long, global = true, hide_short_help = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// A profile, a run or log directory, a pattern in quotes, or - for standard input
    pub path: PathBuf,
    /// Run of a log directory; the newest by default
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub run: Option<String>,
    #[command(flatten)]
    pub assume: AssumeArgs,
}

/// What holds for all inputs and all reports.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What to assume")]
pub struct AssumeArgs {
    /// Clock of the device, for simulators that count cycles: 940MHz, 1.75GHz, or a number in MHz
    #[arg(long, hide_short_help = true, value_name = "CLOCK")]
    pub clock: Option<ClockArg>,
    /// What the tracks of a simulator's Chrome trace are, as described in docs/simulators.md
    #[arg(long, hide_short_help = true, value_name = "FILE.toml")]
    pub roles: Option<RolesArg>,
    /// Where the TPU compiler dumped the code of ops (`--xla_jf_dump_to`); beside a program it is found
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub llo: Option<PathBuf>,
    /// Only these devices, by ordinal
    #[arg(long, hide_short_help = true, value_name = "N,…", value_delimiter = ',')]
    pub device: Vec<u32>,
    /// Peaks of this chip where the profile records none: v5e, v6e … (`systole chips`), or a file of its facts
    #[arg(long, value_name = "CHIP")]
    pub device_spec: Option<ChipArg>,
    /// Chips along each axis of the slice, as 4x4 or 2x2x4: how fast collectives can be
    #[arg(long, hide_short_help = true, value_name = "AxBxC")]
    pub topology: Option<Topology>,
    /// Leave out the first N steps, besides partial ones
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 0)]
    pub warmup: u32,
    /// Thresholds and suppressions of hints; systole.toml in the working directory by default
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl AssumeArgs {
    /// What to import of a path.
    pub fn import(&self, run: Option<String>) -> ImportOptions {
        let roles = self.roles.as_ref().map(|roles| Arc::clone(&roles.0));
        ImportOptions { run, clock_mhz: self.clock.map(|clock| clock.0), roles, llo: self.llo.clone() }
    }

    /// Assumptions of all reports.
    pub fn options(&self) -> Options {
        let mut options = Options {
            topology: self.topology.clone(),
            devices: self.device.clone(),
            warmup_steps: self.warmup,
            ..Options::default()
        };
        if let Some(chip) = &self.device_spec {
            chip.assume(&mut options);
        }
        options
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
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
    /// Exit with 11 where the trace is too incomplete for a conclusion
    #[arg(long, hide_short_help = true)]
    pub strict: bool,
}

#[derive(Debug, Args)]
pub struct AnalyzeArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// Only these analyses, all of their tables (a wrong name lists them all)
    #[arg(long, value_name = "ID,…", value_delimiter = ',', help_heading = "Output")]
    pub only: Vec<String>,
    /// Exit with 10 where a hint is as severe as this, or more
    #[arg(long, value_enum, value_name = "SEVERITY", help_heading = "Gates")]
    pub fail_on: Option<SeverityArg>,
    #[command(flatten)]
    pub gates: GateArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Part of the trace")]
pub struct ScopeArgs {
    /// Only steps A to B, both included, as numbered in the report
    #[arg(long, value_name = "A..B", conflicts_with = "range")]
    pub steps: Option<StepsArg>,
    /// Only slices that begin in this part of the timeline, in times as on its ruler: 1.5ms..2ms, -2.7s..0
    #[arg(long, value_name = "FROM..TO", allow_hyphen_values = true)]
    pub range: Option<RangeArg>,
}

impl ScopeArgs {
    /// The part of the trace to analyze.
    pub fn scope(&self) -> Scope {
        match (self.steps, self.range) {
            (Some(StepsArg { first, last }), _) => Scope::Steps { first, last },
            (None, Some(RangeArg(range))) => Scope::Range(range),
            (None, None) => Scope::WholeTrace,
        }
    }
}

#[derive(Debug, Args)]
pub struct DoctorArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub output: OutputArgs,
}

#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Id of a hint, as in a report: K01; all are listed without it
    pub hint: Option<String>,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct FormatsArgs {
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Debug, Args)]
pub struct OpenArgs {
    /// A profile, a session by its name, a run or log directory, or a pattern in quotes
    pub path: Option<PathBuf>,
    /// A second one, to be shown below the first and compared with it
    #[arg(value_name = "OTHER")]
    pub second: Option<PathBuf>,
    /// Run of a log directory; the newest by default
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    #[command(flatten)]
    pub assume: AssumeArgs,
    #[cfg(feature = "gui")]
    #[command(flatten)]
    pub screenshot: crate::gui::ScreenshotArgs,
}

#[derive(Debug, Args)]
pub struct ChipsArgs {
    /// Everything about this one: a name, or a file as for `--device-spec`
    pub chip: Option<ChipArg>,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

/// A severity of hints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SeverityArg {
    /// Any hint.
    Low,
    /// From 2 % of the step.
    Medium,
    /// From 5 %.
    High,
    /// From 15 %.
    Critical,
}

impl From<SeverityArg> for Severity {
    fn from(arg: SeverityArg) -> Self {
        match arg {
            SeverityArg::Low => Self::Low,
            SeverityArg::Medium => Self::Medium,
            SeverityArg::High => Self::High,
            SeverityArg::Critical => Self::Critical,
        }
    }
}

/// What a report is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading on a terminal.
    Text,
    /// Everything, for programs.
    Json,
    /// A line of JSON for each row of each table.
    Ndjson,
    /// One table, for spreadsheets.
    Csv,
    /// Tables, for pull requests.
    Md,
}

/// What a file is written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FileFormat {
    /// For reading on a terminal.
    Text,
    /// Everything, for programs.
    Json,
    /// A line of JSON for each row of each table.
    Ndjson,
    /// One table, for spreadsheets.
    Csv,
    /// For pull requests.
    Md,
    /// Gates as test cases, for CI.
    Junit,
    /// Hints and failed gates at their source, for code hosts.
    Sarif,
    /// One page with pictures, without network.
    Html,
}

impl From<Format> for FileFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Text => Self::Text,
            Format::Json => Self::Json,
            Format::Ndjson => Self::Ndjson,
            Format::Csv => Self::Csv,
            Format::Md => Self::Md,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }
}
