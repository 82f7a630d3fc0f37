//! How texts are written into CSV files.

use std::borrow::Cow;

/// How texts are written in cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CsvCells {
    #[default]
    Exact,
    /// With an apostrophe before those that a spreadsheet would take for a formula.
    Spreadsheet,
}

impl CsvCells {
    /// A text as it is written.
    pub fn text(self, text: &str) -> Cow<'_, str> {
        let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
        if self == Self::Spreadsheet && is_formula {
            Cow::Owned(format!("'{text}"))
        } else {
            Cow::Borrowed(text)
        }
    }
}
