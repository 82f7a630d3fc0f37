//! Which trace, what is assumed of it, and which part of it is meant.

use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use analysis::hardware::chips::known;
use analysis::hardware::ici::Topology;
use analysis::{Options, Scope};
use clap::Args;
use importers::{ImportOptions, TrackRoles};
use schemars::JsonSchema;
use serde::Deserialize;
use session::files::read_small;
use session::stdin::STANDARD;

use crate::chip_arg::ChipArg;
use crate::error::{RequestError, Result};
use crate::places::Roots;
use crate::settings::{SETTINGS_FILE, SettingsFile};
use crate::values::{
    Clock, RangeArg, ServingArg, StepsArg, Text, USUAL_WAIT, list, seconds, unless_empty, wait,
};

/// Largest file with the roles of tracks.
const MAX_ROLES: u64 = 1 << 20;

/// A trace, and how to read it.
#[derive(Debug, Default, Args, Deserialize, JsonSchema)]
pub struct TraceRequest {
    /// A profile, a run or log directory, a pattern in quotes, an address (gs://, s3://, az://, https://), or - for
    /// standard input
    #[serde(skip)]
    pub path: PathBuf,
    /// Run of a log directory; the newest by default
    #[arg(long, hide_short_help = true, value_name = "NAME")]
    pub run: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    pub assume: Assumptions,
}

/// Assumptions for all inputs and reports.
#[derive(Clone, Debug, Default, Args, Deserialize, JsonSchema)]
pub struct Assumptions {
    #[command(flatten)]
    #[serde(flatten)]
    pub values: AssumedValues,
    #[command(flatten)]
    #[serde(flatten)]
    pub files: AssumedFiles,
    #[command(flatten)]
    #[serde(flatten)]
    pub reading: ReadingOptions,
}

/// What is assumed of a trace: for whoever asks.
#[derive(Clone, Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Assumptions")]
pub struct AssumedValues {
    /// Clock of the device, for simulators that count cycles: 940MHz, 1.75GHz, or a number in MHz
    #[arg(long, hide_short_help = true)]
    #[schemars(description = "Clock of a simulated device: 940MHz.")]
    pub clock: Option<Text<Clock>>,
    /// Only these devices, by ordinal
    #[arg(
        long,
        hide_short_help = true,
        value_name = "N,…",
        value_delimiter = ','
    )]
    #[serde(default, deserialize_with = "list")]
    pub device: Vec<u32>,
    /// Peaks of this chip where the profile records none: v5e, v6e … (`systole chips`), or a file of its facts
    #[arg(long, value_name = "CHIP")]
    #[schemars(
        description = "Chip whose peaks are assumed where the capture records none: v5e, v6e …"
    )]
    pub device_spec: Option<Text<ChipArg>>,
    /// Chips along each axis of the slice, as 4x4 or 2x2x4, for the expected times of collectives
    #[arg(long, hide_short_help = true, value_name = "AxBxC")]
    #[schemars(description = "Chips along each axis of the slice: 2x2x4.")]
    pub topology: Option<Text<Topology>>,
    /// Exclude the first N steps as warm-up, in addition to partial ones
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = 0)]
    #[serde(default)]
    #[schemars(description = "Leave out the first steps as warm-up.")]
    pub warmup: u32,
    /// Annotations of a server whose names match a pattern are of this phase: queue, prefill, decode, request or batch;
    /// may be repeated
    #[arg(long, hide_short_help = true, value_name = "PHASE=PATTERN")]
    #[serde(default)]
    #[schemars(description = "Annotations of a server by phase: prefill=my_prefill*.")]
    pub serving: Vec<Text<ServingArg>>,
}

/// Files beside a trace: for those who may name files. Over HTTP, clients name runs of the list and nothing else.
#[derive(Clone, Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Assumptions")]
pub struct AssumedFiles {
    /// Roles of the tracks in a simulator's Chrome trace, as described in docs/simulators.md
    #[arg(long, hide_short_help = true, value_name = "FILE.toml")]
    #[schemars(description = "File with roles of tracks of a simulator.")]
    pub roles: Option<PathBuf>,
    /// Directory of the TPU compiler's dump of op code (`--xla_jf_dump_to`); found automatically next to a program
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    #[schemars(description = "Directory of the compiler's dump of op code.")]
    pub llo: Option<PathBuf>,
    /// Programs of the compiler for a profile that holds none: a directory of `--xla_dump_to` or of XProf's
    /// `*.hlo_proto.pb`, or one file; may be repeated
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    #[serde(default, deserialize_with = "list")]
    #[schemars(description = "Directories of programs (xla_dump_to) for a profile without.")]
    pub hlo: Vec<PathBuf>,
}

/// Files of the first of two runs alone: for those who may name files.
#[derive(Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Assumptions")]
pub struct BaseFiles {
    /// Programs of the compiler for the first run, where those of --hlo are of the second; may be repeated
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    #[serde(default, deserialize_with = "list")]
    #[schemars(description = "As hlo, for base alone.")]
    pub base_hlo: Vec<PathBuf>,
}

/// How this process reads: for those whose process it is. A server decides it for its clients.
#[derive(Clone, Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Assumptions")]
pub struct ReadingOptions {
    /// Wait until a run that is being written is complete, for so many seconds at most; 300 by default
    #[arg(long, hide_short_help = true, value_name = "SECONDS", num_args = 0..=1, require_equals = true,
        default_missing_value = USUAL_WAIT, value_parser = seconds)]
    #[serde(default, deserialize_with = "wait")]
    #[schemars(with = "Option<f64>")]
    pub wait: Option<Duration>,
    /// Read files of buckets and web servers without keeping a copy for the next time
    #[arg(long, hide_short_help = true)]
    #[serde(default)]
    pub no_cache: bool,
    /// Thresholds and suppressions of hints; systole.toml in the working directory by default
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

/// A part of a trace.
#[derive(Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Part of the trace")]
pub struct PartRequest {
    /// Only steps A to B, both included, as numbered in the report
    #[arg(long, value_name = "A..B", conflicts_with = "range")]
    #[serde(default, deserialize_with = "unless_empty")]
    #[schemars(description = "Only these steps, both included: 3..7.")]
    pub steps: Option<Text<StepsArg>>,
    /// Only this part of the timeline, in times as on its ruler: 1.5ms..2ms, -2.7s..0; reports cut slices at its ends, lists of
    /// events, SQL and exports have them whole
    #[arg(long, value_name = "FROM..TO", allow_hyphen_values = true)]
    #[serde(default, deserialize_with = "unless_empty")]
    #[schemars(
        description = "Only this part of the timeline, 1.5ms..2ms; reports cut slices at its ends."
    )]
    pub range: Option<Text<RangeArg>>,
}

/// By what the files of an answer are identified.
#[derive(Clone, Copy, Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Output")]
pub struct DigestRequest {
    /// Write the SHA-256 of each file that was read to JSON, beside its fingerprint
    #[arg(long, hide_short_help = true)]
    #[serde(default)]
    #[schemars(description = "Add the SHA-256 of each file that was read.")]
    pub digest: bool,
}

impl TraceRequest {
    /// A trace with nothing else said of it.
    pub fn of(path: PathBuf) -> Self {
        Self {
            path,
            ..Self::default()
        }
    }

    /// What is read, as the user named it.
    pub fn files(&self) -> Vec<PathBuf> {
        let is_stdin = self.path.as_os_str() == STANDARD;
        // Standard input may be a file, too.
        let path = if is_stdin {
            PathBuf::from("/dev/stdin")
        } else {
            self.path.clone()
        };
        [path].into_iter().chain(self.assume.files()).collect()
    }
}

impl Assumptions {
    /// Files and directories that are read beside the input.
    pub fn files(&self) -> Vec<PathBuf> {
        let AssumedFiles { roles, llo, hlo } = &self.files;
        let chip = self
            .values
            .device_spec
            .as_ref()
            .and_then(|chip| chip.0.file())
            .map(Path::to_owned);
        let there = Some(PathBuf::from(SETTINGS_FILE)).filter(|path| path.is_file());
        let config = self.reading.config.clone().or(there);
        let named = roles.iter().cloned().chain(chip).chain(config);
        named.chain(llo.iter().chain(hlo).cloned()).collect()
    }

    /// The same with files below the places that may be read, where a relative path is below the first.
    pub fn below(mut self, roots: &Roots) -> Result<Self> {
        let AssumedFiles { roles, llo, hlo } = &mut self.files;
        for path in roles.iter_mut().chain(llo).chain(hlo) {
            *path = roots.path(&path.to_string_lossy())?;
            let mut inside = std::fs::read_dir(&path)
                .into_iter()
                .flatten()
                .flatten()
                .map(|entry| entry.path());
            if let Some(link) = inside.find(|file| !roots.contain(file)) {
                return Err(roots.outside(&link));
            }
        }
        if let Some(Text(ChipArg::File(path))) = &mut self.values.device_spec {
            let refused =
                |error| RequestError::argument("device_spec", format!("{error}; {}", known()));
            *path = roots.path(&path.to_string_lossy()).map_err(refused)?;
        }
        Ok(self)
    }

    /// The import options.
    pub fn import(&self, run: Option<String>) -> Result<ImportOptions> {
        Ok(ImportOptions {
            run,
            clock_mhz: self.values.clock.map(|clock| clock.0.0),
            roles: self.files.roles.as_deref().map(roles).transpose()?,
            llo: self.files.llo.clone(),
            hlo: self.files.hlo.clone(),
            programs_only: false,
            wait: self.reading.wait,
            short_lived: false,
            no_cache: self.reading.no_cache,
            roots: Vec::new(),
            fingerprints: false,
            for_reports: None,
            first_look: None,
        })
    }

    /// The analysis options, with what the settings say.
    pub fn options(&self, settings: &SettingsFile) -> Result<Options> {
        let AssumedValues {
            clock: _,
            device,
            device_spec,
            topology,
            warmup,
            serving,
        } = &self.values;
        let chip = device_spec.as_ref().map(|chip| chip.0.chip()).transpose();
        let chip = chip.map_err(|why| RequestError::argument("device_spec", why))?;
        Ok(Options {
            environment: None,
            hints: settings.hints()?,
            topology: topology.as_ref().map(|topology| topology.0.clone()),
            devices: device.clone(),
            warmup_steps: if *warmup > 0 {
                *warmup
            } else {
                settings.warmup_steps()
            },
            serving: serving.iter().map(|pattern| pattern.0.0.clone()).collect(),
            device_spec: chip.as_ref().map(|chip| chip.id.clone()),
            own_chip: chip.and_then(|chip| match chip {
                Cow::Borrowed(_) => None,
                Cow::Owned(chip) => Some(Arc::new(chip)),
            }),
        })
    }
}

fn roles(path: &Path) -> Result<Arc<TrackRoles>> {
    let cure = "write one as docs/simulators.md shows";
    let text = read_small(path, MAX_ROLES).map_err(RequestError::unread(
        "the roles of tracks",
        cure,
        path,
    ))?;
    let wrong = |why| RequestError::argument("roles", format!("{}: {why}", path.display()));
    TrackRoles::parse(&text).map(Arc::new).map_err(wrong)
}

impl PartRequest {
    /// The part of the trace to analyze.
    pub fn scope(&self) -> Scope {
        match (self.steps, self.range) {
            (Some(Text(StepsArg { first, last })), _) => Scope::Steps { first, last },
            (None, Some(Text(RangeArg(range)))) => Scope::Range(range),
            (None, None) => Scope::WholeTrace,
        }
    }
}
