//! Reports as text, JSON, CSV and Markdown. Everything here works on
//! [`analysis::Report`] and [`analysis::Table`]; only the summary screen and
//! the health screen know particular analyses.

pub mod comparison;
pub mod csv;
mod document;
pub mod dot;
mod gates;
mod health;
pub(crate) mod hints;
pub mod html;
pub mod json;
pub mod junit;
mod layout;
pub mod markdown;
pub mod md;
pub mod ndjson;
pub(crate) mod overview;
pub mod sarif;
mod style;
mod summary;
pub mod table;
pub mod text;
pub mod verdict_md;
pub(crate) mod words;

pub use crate::tables::CsvCells;
pub use csv::NamedTable;
pub use document::{Document, DocumentView, GatedDocument, InputFile, ReportSection};
pub use health::findings as doctor_findings;
pub use layout::TextLayout;
pub use style::AnsiStyle;
