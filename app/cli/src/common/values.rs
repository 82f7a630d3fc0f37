//! Values of arguments: formats and files.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

use crate::common::formats::{REPORT_FORMATS, ReportFormat, format_named};

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

/// `json=report.json`, `json=-`, `csv=tables/`
#[derive(Clone, Debug)]
pub struct OutputFile {
    pub format: &'static ReportFormat,
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
            let known: Vec<_> = REPORT_FORMATS.iter().map(|format| format.name).collect();
            format!(
                "write FORMAT=PATH with one of the formats {}, not {text:?}",
                known.join(", ")
            )
        };
        let (format, name) = text.split_once('=').ok_or_else(wrong)?;
        let format = format_named(format).ok_or_else(wrong)?;
        let path = PathBuf::from(name);
        if name.is_empty() || path.file_name().is_none() && !format.is_table() {
            return Err(wrong());
        }
        Ok(Self { format, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_output_format_and_file() {
        for (text, format, path) in [
            ("json=a=b", "json", "a=b"),
            ("csv=tables/", "csv", "tables/"),
        ] {
            let file: OutputFile = text.parse().unwrap();
            assert_eq!((file.format.name, file.path), (format, path.into()));
        }
        assert!("json=-".parse::<OutputFile>().unwrap().is_stdout());
        for wrong in ["json", "xml=a", "json=", "=a", "json=dir/.."] {
            assert!(wrong.parse::<OutputFile>().is_err(), "{wrong}");
        }
    }
}
