//! Reports as text, JSON, CSV and Markdown. Everything here works on
//! [`analysis::Report`] and [`analysis::Table`]; only the summary screen and
//! the health screen know particular analyses.

pub mod comparison;
pub mod csv;
mod document;
mod gates;
mod health;
pub(crate) mod hints;
pub mod html;
pub mod json;
pub mod junit;
pub mod md;
pub mod ndjson;
pub(crate) mod overview;
pub mod sarif;
mod style;
mod summary;
pub mod table;
pub mod text;
pub mod verdict_md;

pub use csv::NamedTable;
pub use document::{Document, DocumentView, GatedDocument, InputFile, ReportSection, hex};
pub use style::AnsiStyle;

/// How text is laid out.
#[derive(Clone, Copy, Debug)]
pub struct TextLayout {
    /// Columns of the terminal.
    pub width: usize,
    /// Rows of each table; 0 for all.
    pub top: usize,
    /// Entries of each list of JSON; 0 for all.
    pub entries: usize,
    /// Colours, or none.
    pub style: AnsiStyle,
}

impl TextLayout {
    /// A text in lines of the terminal, each painted and behind `indent` spaces.
    fn lines(&self, indent: usize, text: &str, paint: impl Fn(&str) -> String) -> String {
        let lines = table::wrapped(text, self.width.saturating_sub(indent)).into_iter();
        lines.map(|line| format!("{}{}\n", " ".repeat(indent), paint(&line))).collect()
    }

    /// A text beside a head of `indent` columns, and below it.
    fn beside(&self, head: &str, indent: usize, text: &str) -> String {
        let lines = self.lines(indent, text, str::to_owned);
        lines.get(indent..).map_or_else(String::new, |lines| format!("{head}{lines}"))
    }
}
