//! What an analysis is: how it is asked, what it sees, how its answer is kept and shown.
//!
//! Knows no particular analysis and no particular fact.

// What macros write names it so.
extern crate self as engine;

mod analysis;
mod cache;
mod columns;
mod context;
mod counted;
mod digits;
pub mod environment;
mod error;
mod fact;
mod glob;
pub mod json_text;
mod name;
pub mod number;
mod once;
mod options;
mod percent;
pub mod prelude;
mod provenance;
mod report;
mod scope;
mod table;
mod table_builder;
mod watched;
mod words;

pub use analysis::{Analysis, AnalysisEntry, entry};
pub use cache::{ReportCache, ReportCost};
pub use columns::{Columns, DeclaredColumns, NestedRow, cell_of, kind_of};
/// Derives the trait of the same name.
pub use columns_derive::{Columns, reported, row, titled};
pub use context::Context;
pub use counted::counted;
pub use environment::Environment;
pub use error::{AnalysisError, Result};
pub use fact::Fact;
pub use glob::glob;
pub use math::unit::Unit;
pub use name::{
    beginning, distinct, is_printable, printable, shortened, shortened_path, turns_text,
};
pub use once::OnceMap;
pub use options::{HintOptions, Options, ServingPattern, Suppression, Threshold};
pub use percent::Percent;
pub use provenance::Provenance;
pub use report::{Metric, Report, Tabular};
pub use scope::Scope;
pub use table::{Cell, CellKind, CellType, Column, LowerBound, Table};
pub use table_builder::TableBuilder;
pub use words::{and_more, capitalised, listed, listed_to, sentence};
