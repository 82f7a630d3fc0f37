//! All data of a trace as typed tables: the timeline (slices, tracks, counters, flows) and the tables of all reports.
//! Files for other programs, SQL and the Python module use these tables, so that each column is defined once.
//!
//! [`catalog`] lists the tables of a session; [`data`] defines a table: its columns are read one value at a time,
//! directly from the trace, so that a table of millions of rows costs nothing until it is read.

pub mod catalog;
#[cfg(feature = "columnar")]
mod columnar;
mod csv_cells;
pub mod data;
mod from_report;
mod instructions;
mod reports;
mod runs;
#[cfg(test)]
mod samples;
mod slices;
mod timeline;
mod tracks;

pub use catalog::{Catalog, OF_WHOLE_TRACES};
#[cfg(feature = "columnar")]
pub use columnar::{arrow, error, files, partitions};
pub use csv_cells::CsvCells;
pub use data::{
    Choices, ColumnKind, DataColumn, DataTable, MOST_OF_CELL, RowFilter, Value, cut, picked,
};
pub use from_report::of_report as report_table;
pub use slices::{ARGS, arguments, is_on_device};
#[cfg(not(target_arch = "wasm32"))]
pub(crate) use tracks::track_kinds;
