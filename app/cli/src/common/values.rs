//! Values of arguments: formats, files, clocks, steps, ranges.

use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use analysis::ServingPattern;
use analysis::reports::host::serving::ServingPhase;
use clap::ValueEnum;
use importers::TrackRoles;
use trace_model::{Picos, TimeRange, Timestamp};

use session::files::read_small;

/// Stands for standard input or output in place of a path.
pub use session::stdin::STANDARD;

/// Output format on stdout.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
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

/// Output format of a file.
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

impl From<OutputFormat> for FileFormat {
    fn from(format: OutputFormat) -> Self {
        match format {
            OutputFormat::Text => Self::Text,
            OutputFormat::Json => Self::Json,
            OutputFormat::Ndjson => Self::Ndjson,
            OutputFormat::Csv => Self::Csv,
            OutputFormat::Md => Self::Md,
        }
    }
}

/// `json=report.json`, `json=-`, `csv=tables/`
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputFile {
    pub format: FileFormat,
    pub path: PathBuf,
}

impl OutputFile {
    /// Whether it goes to stdout.
    pub fn is_stdout(&self) -> bool {
        self.path.as_os_str() == STANDARD
    }
}

impl FromStr for OutputFile {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            let known: Vec<_> = FileFormat::value_variants().iter().filter_map(ValueEnum::to_possible_value).collect();
            let known: Vec<_> = known.iter().map(clap::builder::PossibleValue::get_name).collect();
            format!("write FORMAT=PATH with one of the formats {}, not {text:?}", known.join(", "))
        };
        let (format, name) = text.split_once('=').ok_or_else(wrong)?;
        let format = FileFormat::from_str(format, false).map_err(|_unknown| wrong())?;
        let path = PathBuf::from(name);
        if name.is_empty() || path.file_name().is_none() && format != FileFormat::Csv {
            return Err(wrong());
        }
        Ok(Self { format, path })
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
        // Outside this, it is a typing error or another unit.
        let plausible = (1.0..=100_000.0).contains(&mhz);
        plausible.then_some(Self(mhz)).ok_or_else(|| "write a clock from 1 MHz to 100 GHz: 940MHz, 1.75GHz".to_owned())
    }
}

/// Largest file with the roles of tracks.
const MAX_ROLES: u64 = 1 << 20;

/// A file with the roles of tracks.
#[derive(Clone, Debug)]
pub enum RolesArg {
    /// The roles, and the file.
    Read(Arc<TrackRoles>, PathBuf),
    /// The file could not be read: no mistake in the words of the command, but a path that is missing.
    Unread { error: String, path: PathBuf },
}

impl FromStr for RolesArg {
    type Err = String;
    fn from_str(path: &str) -> Result<Self, String> {
        let path = PathBuf::from(path);
        match read_small(&path, MAX_ROLES) {
            Ok(text) => Ok(Self::Read(Arc::new(TrackRoles::parse(&text)?), path)),
            Err(error) => Ok(Self::Unread { error: error.to_string(), path }),
        }
    }
}

/// `prefill=my_prefill*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServingArg(pub ServingPattern);

impl FromStr for ServingArg {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (phase, pattern) = text.split_once('=').unwrap_or((text, ""));
        if ServingPhase::named(phase).is_none() || pattern.is_empty() {
            let known = ServingPhase::ALL.map(ServingPhase::id).join(", ");
            return Err(format!("write PHASE=PATTERN with one of the phases {known}: prefill=my_prefill*"));
        }
        Ok(Self(ServingPattern { phase: phase.to_owned(), pattern: pattern.to_owned() }))
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
        let wrong = || "write two times with their units, the first before the second: 1.5ms..2ms".to_owned();
        let (from, to) = text.split_once("..").ok_or_else(wrong)?;
        let at = |text: &str, open: Timestamp| match text.trim() {
            "" => Ok(open),
            // Elsewhere a number without a unit means picoseconds; nobody means that here.
            text if text != "0" && !text.ends_with(|c: char| c.is_alphabetic()) => Err(wrong()),
            text => text.parse::<Picos>().map(|time| Timestamp::ZERO + time).map_err(|error| error.to_string()),
        };
        let (from, to) = (at(from, Timestamp::MIN)?, at(to, Timestamp::MAX)?);
        if from < to { Ok(Self(TimeRange::new(from, to))) } else { Err(wrong()) }
    }
}

/// A number of seconds, at most a day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok().filter(|number| (0.0..=86_400.0).contains(number));
    number.map(Duration::from_secs_f64).ok_or_else(|| "write a number of seconds up to 86400".to_owned())
}

/// Looked for in the working directory.
pub const SETTINGS_FILE: &str = "systole.toml";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::commands::analyze::AnalyzeArgs;
    use crate::commands::render::RenderArgs;
    use crate::embedded::parsed;

    #[test]
    fn parses_one_step_or_a_range() {
        assert_eq!("3..7".parse(), Ok(StepsArg { first: 3, last: 7 }));
        assert_eq!("3".parse(), Ok(StepsArg { first: 3, last: 3 }));
        assert_eq!("3..".parse(), Ok(StepsArg { first: 3, last: u32::MAX }));
        for wrong in ["", "7..3", "a..b", "-1..2", "1...2"] {
            assert!(wrong.parse::<StepsArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn clocks_default_to_megahertz() {
        for (text, mhz) in [("940", 940.0), ("940MHz", 940.0), ("1.75GHz", 1750.0), (" 1.05 ghz", 1050.0)] {
            assert_eq!(text.parse(), Ok(ClockArg(mhz)), "{text}");
        }
        for wrong in ["", "fast", "0", "-940", "NaN", "inf", "940000000", "940Hz", "1e308GHz"] {
            assert!(wrong.parse::<ClockArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn ranges_need_units() {
        let range = |start, end| RangeArg(TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end)));
        assert_eq!("1.5us..2us".parse(), Ok(range(1_500_000, 2_000_000)));
        assert_eq!("..7ps".parse(), Ok(range(i64::MIN, 7)));
        assert_eq!("0..2ns".parse(), Ok(range(0, 2000)));
        // Traces may begin before time 0, so a value may begin with a minus sign, like an option.
        let words = ["trace", "--range", "-2us..-1us"].map(Into::into);
        let asked = Some(range(-2_000_000, -1_000_000));
        assert_eq!(parsed::<AnalyzeArgs>(&words).unwrap().scope.range, asked);
        assert_eq!(parsed::<RenderArgs>(&words).unwrap().scope.range, asked);
        for wrong in ["2us..1us", "1us", "fast..slow", "1us..1us", "1..2", "..7", "5.."] {
            assert!(wrong.parse::<RangeArg>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn parses_output_format_and_file() {
        assert_eq!("json=a=b".parse(), Ok(OutputFile { format: FileFormat::Json, path: "a=b".into() }));
        assert_eq!("csv=tables/".parse(), Ok(OutputFile { format: FileFormat::Csv, path: "tables/".into() }));
        assert!("json=-".parse::<OutputFile>().unwrap().is_stdout());
        for wrong in ["json", "xml=a", "json=", "=a", "json=dir/.."] {
            assert!(wrong.parse::<OutputFile>().is_err(), "{wrong}");
        }
    }
}
