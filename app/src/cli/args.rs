//! Arguments as typed, and what they mean.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use analysis::hints::Severity;
use analysis::ici::Topology;
use analysis::{Options, Scope};
use clap::{Args, Parser, Subcommand, ValueEnum};
use importers::{ImportOptions, Roles};
use trace_model::{Picos, TimeRange, Timestamp};

use super::chip_arg::ChipArg;
use super::compare::CompareArgs;
use super::config::ConfigArgs;
use super::gate::GateArgs;
use super::history::HistoryArgs;
use super::init::InitArgs;
use super::metrics::MetricsArgs;
use super::render::RenderArgs;
use super::schema::SchemaArgs;
use super::summarize::SummarizeArgs;
use super::whatif::WhatifArgs;

/// Profiler-trace analyzer and visualizer for TPUs.
#[derive(Debug, Parser)]
#[command(name = "systole", version, max_term_width = 100, after_help = EXIT_CODES)]
pub struct Cli {
    #[command(flatten)]
    pub talk: TalkArgs,
    #[command(subcommand)]
    pub command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done, 1 internal error, 2 wrong usage, 3 path missing or unreadable, \
4 input damaged or of unknown format, 10 a gate failed or a hint is as severe as --fail-on, 11 inconclusive (only with --strict), 130 interrupted.";

#[derive(Debug, Subcommand)]
pub enum Command {
    /// What limits this program: verdict, steps, utilization, top ops, communication, compilation
    Analyze(AnalyzeArgs),
    /// What changed between two runs, whether it is more than noise, and where the time went
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
    Summarize(SummarizeArgs),
    /// How far this trace can be trusted: what is missing, what was mended, where memory goes
    Doctor(DoctorArgs),
    /// What the run would have taken with faster links, hidden copies, cheaper ops
    Whatif(WhatifArgs),
    /// What a hint means, how to check it and what to do
    Explain(ExplainArgs),
    /// The formats that can be read
    Formats(FormatsArgs),
    /// What is assumed of each TPU generation, and who says so
    Chips(ChipsArgs),
    /// A picture of the timeline, the roofline or the steps as SVG, without a window
    Render(RenderArgs),
    /// Show the timeline in a window
    Open(OpenArgs),
}

#[derive(Debug, Args)]
pub struct TalkArgs {
    /// Say nothing but errors on stderr
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more on stderr: files read, times taken, every import issue
    #[arg(short, long, global = true)]
    pub verbose: bool,
    /// No colour, also with the environment variable `NO_COLOR`
    #[arg(long, global = true)]
    pub no_color: bool,
    /// Threads to use; all cores by default
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// A profile, a run or log directory, or a pattern in quotes
    pub path: PathBuf,
    /// Run of a log directory; the newest by default
    #[arg(long, value_name = "NAME")]
    pub run: Option<String>,
    #[command(flatten)]
    pub assume: AssumeArgs,
}

/// What holds for all inputs and all reports.
#[derive(Clone, Debug, Args)]
pub struct AssumeArgs {
    /// Clock of the device, for simulators that count cycles: 940MHz, 1.75GHz, or a number in MHz
    #[arg(long, value_name = "CLOCK")]
    pub clock: Option<ClockArg>,
    /// What the tracks of a simulator's Chrome trace are, as described in docs/simulators.md
    #[arg(long, value_name = "FILE.toml")]
    pub roles: Option<RolesArg>,
    /// Where the TPU compiler dumped the code of ops (`--xla_jf_dump_to`); beside a program it is found
    #[arg(long, value_name = "DIR")]
    pub llo: Option<PathBuf>,
    /// Only these devices, by ordinal
    #[arg(long, value_name = "N,…", value_delimiter = ',')]
    pub device: Vec<u32>,
    /// Peaks of this chip where the profile records none: v5e, v6e … (`systole chips`), or a file of its facts
    #[arg(long, value_name = "CHIP")]
    pub device_spec: Option<ChipArg>,
    /// Chips along each axis of the slice, as 4x4 or 2x2x4: how fast collectives can be
    #[arg(long, value_name = "AxBxC")]
    pub topology: Option<Topology>,
    /// Leave out the first N steps, besides partial ones
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warmup: u32,
    /// Thresholds and suppressions of hints; systole.toml in the working directory by default
    #[arg(long, value_name = "FILE")]
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
pub struct OutputArgs {
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Also write this format to this file; may be repeated
    #[arg(short, long, value_name = "FORMAT=PATH")]
    pub output: Vec<OutputFile>,
    /// Rows of each table and entries of each list, 0 for all; by default 10 in text and Markdown, 10000 in JSON
    #[arg(long, value_name = "N")]
    pub top: Option<usize>,
    /// Exit with 11 where the trace is too incomplete for a conclusion
    #[arg(long)]
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
    /// Only these analyses, all tables in full (a wrong name lists them all)
    #[arg(long, value_name = "ID,…", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Exit with 10 where a hint is as severe as this, or more
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub fail_on: Option<SeverityArg>,
    #[command(flatten)]
    pub gates: GateArgs,
}

#[derive(Debug, Args)]
pub struct ScopeArgs {
    /// Only steps A to B, both included, as numbered in the report
    #[arg(long, value_name = "A..B", conflicts_with = "range")]
    pub steps: Option<StepsArg>,
    /// Only slices that begin in this part of the timeline: 1.5ms..2ms
    #[arg(long, value_name = "FROM..TO")]
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
    /// Clock of the device, for simulators that count cycles: 940MHz, 1.75GHz, or a number in MHz
    #[arg(long, value_name = "CLOCK")]
    pub clock: Option<ClockArg>,
    /// What the tracks of a simulator's Chrome trace are, as described in docs/simulators.md
    #[arg(long, value_name = "FILE.toml")]
    pub roles: Option<RolesArg>,
    /// Where the TPU compiler dumped the code of ops (`--xla_jf_dump_to`); beside a program it is found
    #[arg(long, value_name = "DIR")]
    pub llo: Option<PathBuf>,
    /// Peaks of this chip where the profile records none: v5e, v6e … (`systole chips`), or a file of its facts
    #[arg(long, value_name = "CHIP")]
    pub device_spec: Option<ChipArg>,
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
    /// Tables, for spreadsheets.
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
    /// Tables, for spreadsheets.
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
            Format::Csv => Self::Csv,
            Format::Md => Self::Md,
        }
    }
}

/// `json=report.json`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    pub format: FileFormat,
    pub path: PathBuf,
}

impl FromStr for OutputFile {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("write FORMAT=PATH with one of the formats text, json, csv, md, junit, sarif, html, not {text:?}")
        };
        let (format, path) = text.split_once('=').ok_or_else(wrong)?;
        let format = <FileFormat as ValueEnum>::from_str(format, false).map_err(|_unknown| wrong())?;
        if path.is_empty() || Path::new(path).file_name().is_none() {
            return Err(wrong());
        }
        Ok(Self { format, path: path.into() })
    }
}

/// A clock in MHz: `940`, `940MHz` or `0.94GHz`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockArg(pub f64);

impl FromStr for ClockArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.trim().to_ascii_lowercase();
        let (number, scale) = match (lower.strip_suffix("ghz"), lower.strip_suffix("mhz")) {
            (Some(number), _) => (number, 1e3),
            (None, Some(number)) => (number, 1.0),
            (None, None) => (lower.as_str(), 1.0),
        };
        let mhz = number.trim().parse::<f64>().map_or(f64::NAN, |number| number * scale);
        // Outside of this, it is a typing error or another unit.
        let plausible = (1.0..=100_000.0).contains(&mhz);
        plausible.then_some(Self(mhz)).ok_or_else(|| "write a clock from 1 MHz to 100 GHz: 940MHz, 1.75GHz".to_owned())
    }
}

/// A file that says which tracks are what.
#[derive(Clone, Debug)]
pub struct RolesArg(pub Arc<Roles>);

impl FromStr for RolesArg {
    type Err = String;
    fn from_str(path: &str) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(Roles::parse(&text)?)))
    }
}

/// `3..7`, `3..`, `..7` or `3`, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepsArg {
    pub first: u32,
    pub last: u32,
}

impl FromStr for StepsArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let number = |text: &str, open| if text.is_empty() { Ok(open) } else { text.trim().parse::<u32>() };
        let (first, last) = text.split_once("..").unwrap_or((text, text));
        match (number(first, 0), number(last, u32::MAX)) {
            (Ok(first), Ok(last)) if first <= last && !text.trim().is_empty() => Ok(Self { first, last }),
            _ => Err("write two step numbers, the first not after the last: 3..7".to_owned()),
        }
    }
}

/// `1.5ms..2ms`, `1s..`, `..40us`
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeArg(pub TimeRange);

impl FromStr for RangeArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || "write two times, the first before the second: 1.5ms..2ms".to_owned();
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let at = |text: &str, open: Timestamp| match text.trim() {
            "" => Ok(open),
            text => text.parse::<Picos>().map(|time| Timestamp::ZERO + time).map_err(|error| error.to_string()),
        };
        let (from, to) = (at(from, Timestamp::MIN)?, at(to, Timestamp::MAX)?);
        if from < to { Ok(Self(TimeRange::new(from, to))) } else { Err(wrong()) }
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

    #[test]
    fn steps_are_one_number_or_two() {
        assert_eq!("3..7".parse(), Ok(StepsArg { first: 3, last: 7 }));
        assert_eq!("3".parse(), Ok(StepsArg { first: 3, last: 3 }));
        assert_eq!("3..".parse(), Ok(StepsArg { first: 3, last: u32::MAX }));
        for wrong in ["", "7..3", "a..b", "-1..2", "1...2"] {
            assert!(wrong.parse::<StepsArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn clocks_are_in_megahertz_unless_they_say_otherwise() {
        for (text, mhz) in [("940", 940.0), ("940MHz", 940.0), ("1.75GHz", 1750.0), (" 1.05 ghz", 1050.0)] {
            assert_eq!(text.parse(), Ok(ClockArg(mhz)), "{text}");
        }
        for wrong in ["", "fast", "0", "-940", "NaN", "inf", "940000000", "940Hz", "1e308GHz"] {
            assert!(wrong.parse::<ClockArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_have_units() {
        let range = |start, end| RangeArg(TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end)));
        assert_eq!("1.5us..2us".parse(), Ok(range(1_500_000, 2_000_000)));
        assert_eq!("..7".parse(), Ok(range(i64::MIN, 7)));
        for wrong in ["2us..1us", "1us", "fast..slow", "1us..1us"] {
            assert!(wrong.parse::<RangeArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn outputs_name_a_format_and_a_file() {
        assert_eq!("json=a=b".parse(), Ok(OutputFile { format: FileFormat::Json, path: "a=b".into() }));
        for wrong in ["json", "xml=a", "json=", "=a", "json=dir/.."] {
            assert!(wrong.parse::<OutputFile>().is_err(), "{wrong}");
        }
    }
}
