//! The formats of exported files. To add one: its writer, and an entry of [`EXPORT_FORMATS`].

use std::io::{self, Write};

use crate::convert::{chrome_json, perfetto};
use crate::open::Session;
use crate::tables::files::{TableWriter, arrow, csv, parquet};

/// A format of exported files.
#[derive(Debug)]
pub struct ExportFormat {
    /// As on the command line.
    pub name: &'static str,
    pub about: &'static str,
    pub content: ExportContent,
}

#[derive(Debug)]
pub enum ExportContent {
    /// A file for each table, which ends with the name of the format.
    Tables(TableWriter),
    /// One file with the timeline.
    Timeline {
        file: &'static str,
        /// The second argument: whether slices keep their arguments.
        write: fn(&Session, bool, &mut dyn Write) -> io::Result<()>,
    },
}

pub const EXPORT_FORMATS: &[ExportFormat] = &[
    ExportFormat {
        name: "parquet",
        about: "Apache Parquet, compressed: for Spark, pandas and SQL engines",
        content: ExportContent::Tables(parquet),
    },
    ExportFormat {
        name: "arrow",
        about: "Arrow IPC (Feather): for pandas, polars, R",
        content: ExportContent::Tables(arrow),
    },
    ExportFormat {
        name: "csv",
        about: "Comma-separated values",
        content: ExportContent::Tables(csv),
    },
    ExportFormat {
        name: "chrome-json",
        about: "One file trace.json: Chrome's trace events, for Perfetto and Chrome",
        content: ExportContent::Timeline {
            file: "trace.json",
            write: |session, with_args, mut out| chrome_json::write(session, with_args, &mut out),
        },
    },
    ExportFormat {
        name: "perfetto",
        about: "One file trace.perfetto-trace: Perfetto's protobuf, in nanoseconds",
        content: ExportContent::Timeline {
            file: "trace.perfetto-trace",
            write: |session, _, mut out| perfetto::write(session, &mut out),
        },
    },
];

/// The formats of tables, with their writers.
pub fn table_formats() -> impl Iterator<Item = (&'static str, TableWriter)> {
    EXPORT_FORMATS
        .iter()
        .filter_map(|format| match format.content {
            ExportContent::Tables(write) => Some((format.name, write)),
            ExportContent::Timeline { .. } => None,
        })
}

/// The names of the formats of tables, for sentences.
pub fn table_format_names() -> String {
    let names: Vec<_> = table_formats().map(|(name, _)| name).collect();
    match names.split_last() {
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
        None => String::new(),
    }
}
