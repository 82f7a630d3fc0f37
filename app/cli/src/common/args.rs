//! Arguments shared by several commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analysis::hardware::ici::Topology;
use analysis::{Options, Scope};
use clap::Args;
use importers::ImportOptions;

use crate::common::chip_arg::ChipArg;
use crate::common::values::SETTINGS_FILE;
use crate::common::values::{
    ClockArg, OutputFile, OutputFormat, RangeArg, RolesArg, STANDARD, ServingArg, StepsArg, seconds,
};
use render::CsvCells;

#[derive(Debug, Args)]
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

#[derive(Clone, Debug, Args)]
pub struct InputArgs {
    /// A profile, a run or log directory, a pattern in quotes, an address (gs://, s3://, az://, https://), or - for
    /// standard input
    pub path: PathBuf,
    /// Run of a log directory; the newest by default
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub run: Option<String>,
    #[command(flatten)]
    pub assume: AssumeArgs,
}

/// Assumptions for all inputs and reports.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Assumptions")]
pub struct AssumeArgs {
    /// Clock of the device, for simulators that count cycles: 940MHz, 1.75GHz, or a number in MHz
    #[arg(long, hide_short_help = true, value_name = "CLOCK")]
    pub clock: Option<ClockArg>,
    /// Roles of the tracks in a simulator's Chrome trace, as described in docs/simulators.md
    #[arg(long, hide_short_help = true, value_name = "FILE.toml")]
    pub roles: Option<RolesArg>,
    /// Directory of the TPU compiler's dump of op code (`--xla_jf_dump_to`); found automatically next to a program
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub llo: Option<PathBuf>,
    /// Programs of the compiler for a profile that holds none: a directory of `--xla_dump_to` or of XProf's
    /// `*.hlo_proto.pb`, or one file; may be repeated
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub hlo: Vec<PathBuf>,
    /// Only these devices, by ordinal
    #[arg(long, hide_short_help = true, value_name = "N,…", value_delimiter = ',')]
    pub device: Vec<u32>,
    /// Peaks of this chip where the profile records none: v5e, v6e … (`systole chips`), or a file of its facts
    #[arg(long, value_name = "CHIP")]
    pub device_spec: Option<ChipArg>,
    /// Chips along each axis of the slice, as 4x4 or 2x2x4, for the expected times of collectives
    #[arg(long, hide_short_help = true, value_name = "AxBxC")]
    pub topology: Option<Topology>,
    /// Exclude the first N steps as warm-up, in addition to partial ones
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 0)]
    pub warmup: u32,
    /// Wait until a run that is being written is complete, for so many seconds at most; 300 by default
    #[arg(long, hide_short_help = true, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
        default_missing_value = "300", value_parser = seconds)]
    pub wait: Option<Duration>,
    /// Annotations of a server whose names match a pattern are of this phase: queue, prefill, decode, request or batch;
    /// may be repeated
    #[arg(long, hide_short_help = true, value_name = "PHASE=PATTERN")]
    pub serving: Vec<ServingArg>,
    /// Read files of buckets and web servers without keeping a copy for the next time
    #[arg(long, hide_short_help = true)]
    pub no_cache: bool,
    /// Thresholds and suppressions of hints; systole.toml in the working directory by default
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl InputArgs {
    /// What the command reads, as the user named it.
    pub fn files(&self) -> Vec<PathBuf> {
        let is_stdin = self.path.as_os_str() == STANDARD;
        // Standard input may be a file, too.
        let path = if is_stdin { PathBuf::from("/dev/stdin") } else { self.path.clone() };
        [path].into_iter().chain(self.assume.files()).collect()
    }
}

impl AssumeArgs {
    /// Files and directories that are read beside the input.
    pub fn files(&self) -> Vec<PathBuf> {
        let roles = self.roles.as_ref().map(|roles| match roles {
            RolesArg::Read(_, path) | RolesArg::Unread { path, .. } => path.clone(),
        });
        let chip = self.device_spec.as_ref().and_then(|chip| chip.file()).map(Path::to_owned);
        let there = Some(PathBuf::from(SETTINGS_FILE)).filter(|path| path.is_file());
        let config = self.config.clone().or(there);
        let others = self.llo.iter().chain(&self.hlo).cloned();
        roles.into_iter().chain(chip).chain(config).chain(others).collect()
    }

    /// The import options.
    pub fn import(&self, run: Option<String>) -> ImportOptions {
        let roles = match &self.roles {
            Some(RolesArg::Read(roles, _)) => Some(Arc::clone(roles)),
            Some(RolesArg::Unread { .. }) | None => None,
        };
        ImportOptions {
            run,
            clock_mhz: self.clock.map(|clock| clock.0),
            roles,
            llo: self.llo.clone(),
            hlo: self.hlo.clone(),
            programs_only: false,
            wait: self.wait,
            short_lived: false,
            no_cache: self.no_cache,
            roots: Vec::new(),
        }
    }

    /// The analysis options.
    pub fn options(&self) -> Options {
        let mut options = Options {
            topology: self.topology.clone(),
            devices: self.device.clone(),
            warmup_steps: self.warmup,
            serving: self.serving.iter().map(|own| own.0.clone()).collect(),
            ..Options::default()
        };
        if let Some(chip) = &self.device_spec {
            chip.assume(&mut options);
        }
        options
    }
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
        if self.spreadsheet { CsvCells::Spreadsheet } else { CsvCells::Exact }
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

#[derive(Debug, Args)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = OutputFormat::Text)]
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

#[derive(Debug, Args)]
#[command(next_help_heading = "Part of the trace")]
pub struct ScopeArgs {
    /// Only steps A to B, both included, as numbered in the report
    #[arg(long, value_name = "A..B", conflicts_with = "range")]
    pub steps: Option<StepsArg>,
    /// Only this part of the timeline; slices are cut at its ends, in times as on its ruler: 1.5ms..2ms, -2.7s..0
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
        self.baseline.iter().cloned().chain(self.judge.files()).collect()
    }

    /// Whether there is anything to judge.
    pub fn are_set(&self) -> bool {
        self.judge.budget.is_some() || !self.baseline.is_empty()
    }
}
