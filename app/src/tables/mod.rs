//! Everything that a trace says as typed tables: the timeline (slices, tracks, counters, flows) and the tables of all
//! reports. Files for other programs, SQL and the Python module read these, so that a column is defined once.
//!
//! [`catalog`] lists the tables of a session; [`data`] is what a table is: columns that are asked for one value at a
//! time, straight from the trace, so that a table of millions of rows costs nothing until it is read.

#[cfg(feature = "export")]
pub mod arrow;
pub mod catalog;
pub mod data;
#[cfg(feature = "export")]
pub mod files;
mod instructions;
mod reports;
#[cfg(test)]
mod samples;
mod slices;
mod timeline;
mod tracks;

pub use catalog::Catalog;
pub use data::{Choices, ColumnKind, DataColumn, DataTable, RowFilter, Value, picked};
pub use reports::of_report as report_table;
pub use slices::{ARGS, arguments};
