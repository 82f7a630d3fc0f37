//! Reports as text, JSON, CSV and Markdown. Everything here works on
//! [`analysis::Report`] and [`analysis::Table`]; only the summary screen and
//! the health screen know particular analyses.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

mod compared_runs;
pub mod comparison;
mod comparison_md;
mod comparison_screen;
pub mod csv;
mod document;
pub mod dot;
mod expect;
mod gates;
mod health;
pub mod hints;
pub mod html;
pub mod json;
pub mod junit;
mod layout;
pub mod markdown;
pub mod md;
pub mod ndjson;
pub mod pictures;
mod prelude;
pub mod sarif;
mod style;
mod summary;
pub mod table;
pub mod text;
pub mod verdict_md;

pub use comparison_screen::ROWS_OF_DIFF;
pub use csv::NamedTable;
pub use document::{
    Document, DocumentView, GatedDocument, InputFile, ReportSection, USUAL_ROWS, scope_in_words,
};
pub use health::findings as doctor_findings;
pub use layout::TextLayout;
pub use session::tables::CsvCells;
pub use style::AnsiStyle;
pub use summary::remark;
