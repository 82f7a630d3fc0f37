//! Values of arguments: formats and files.

use crate::prelude::*;

/// Stands for standard input or output in place of a path.
pub use session::stdin::STANDARD;

/// Output format on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OutputFormat {
    /// For reading on a terminal.
    #[default]
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
