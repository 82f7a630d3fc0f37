//! Values of arguments: formats and files.

use std::path::PathBuf;
use std::str::FromStr;

use clap::ValueEnum;

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
            let known: Vec<_> = FileFormat::value_variants()
                .iter()
                .filter_map(ValueEnum::to_possible_value)
                .collect();
            let known: Vec<_> = known
                .iter()
                .map(clap::builder::PossibleValue::get_name)
                .collect();
            format!(
                "write FORMAT=PATH with one of the formats {}, not {text:?}",
                known.join(", ")
            )
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_output_format_and_file() {
        assert_eq!(
            "json=a=b".parse(),
            Ok(OutputFile {
                format: FileFormat::Json,
                path: "a=b".into()
            })
        );
        assert_eq!(
            "csv=tables/".parse(),
            Ok(OutputFile {
                format: FileFormat::Csv,
                path: "tables/".into()
            })
        );
        assert!("json=-".parse::<OutputFile>().unwrap().is_stdout());
        for wrong in ["json", "xml=a", "json=", "=a", "json=dir/.."] {
            assert!(wrong.parse::<OutputFile>().is_err(), "{wrong}");
        }
    }
}
