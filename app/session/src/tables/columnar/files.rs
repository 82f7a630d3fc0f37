//! Tables as files: Parquet, Arrow, CSV.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::thread;

use arrow_array::{RecordBatch, RecordBatchReader as _};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{FileWriter, IpcWriteOptions};

use super::arrow::{BatchReader, Constant};
use super::error::TableFileError;
use super::parquet_file;
use crate::tables::csv_cells::CsvCells;
use crate::tables::data::{DataTable, Value};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableFormat {
    /// Apache Parquet, compressed with zstd.
    Parquet,
    /// Arrow IPC file (Feather 2), compressed with zstd.
    Arrow,
    /// Comma-separated values with a line of headings.
    Csv,
}

impl TableFormat {
    pub fn extension(self) -> &'static str {
        match self {
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Csv => "csv",
        }
    }
}

/// Writes the wanted columns of a table (all if `None`), after `constants`.
///
/// # Errors
///
/// The file cannot be written; no part of it remains.
pub fn write(
    table: &Arc<DataTable>,
    columns: Option<&[usize]>,
    constants: &[Constant],
    format: TableFormat,
    cells: CsvCells,
    path: &Path,
) -> Result<(), TableFileError> {
    crate::files::write_with(path, |file| match format {
        TableFormat::Parquet => {
            parquet_file::write(&BatchReader::new(table, columns, constants), file)
        }
        TableFormat::Arrow => arrow(BatchReader::new(table, columns, constants), file),
        TableFormat::Csv => csv(table, columns, constants, cells, file),
    })
}

fn arrow(reader: BatchReader, file: &mut File) -> Result<(), TableFileError> {
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::ZSTD))?;
    let mut writer =
        FileWriter::try_new_with_options(BufWriter::new(file), &reader.schema(), options)?;
    read_ahead(reader, |batch| Ok(writer.write(batch)?))?;
    writer.finish()?;
    writer.into_inner()?.flush()?;
    Ok(())
}

/// Reads a batch while the previous one is written.
fn read_ahead(
    reader: BatchReader,
    mut write: impl FnMut(&RecordBatch) -> Result<(), TableFileError>,
) -> Result<(), TableFileError> {
    thread::scope(|scope| {
        let (send, received) = sync_channel(1);
        let read = move || {
            for batch in reader {
                // The writer has failed.
                if send.send(batch).is_err() {
                    break;
                }
            }
        };
        thread::Builder::new()
            .name("read-batches".to_owned())
            .spawn_scoped(scope, read)?;
        received.into_iter().try_for_each(|batch| write(&batch?))
    })
}

fn csv(
    table: &DataTable,
    columns: Option<&[usize]>,
    constants: &[Constant],
    cells: CsvCells,
    file: &mut File,
) -> Result<(), TableFileError> {
    let wanted = |at: &usize| columns.is_none_or(|columns| columns.contains(at));
    let columns: Vec<_> = (0..table.columns.len())
        .filter(wanted)
        .map(|at| &table.columns[at])
        .collect();
    let failed = |error: ::csv::Error| io::Error::other(error);
    let mut out = ::csv::Writer::from_writer(BufWriter::new(file));
    let heads = constants
        .iter()
        .map(|constant| &*constant.name)
        .chain(columns.iter().map(|column| &*column.name));
    out.write_record(heads).map_err(failed)?;
    for row in 0..table.len {
        let same = constants.iter().map(|constant| {
            cells
                .text(constant.value.as_deref().unwrap_or_default())
                .into_owned()
        });
        let cells = columns.iter().map(|column| match column.value(row) {
            Value::Missing => String::new(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => analysis::number::exact(number),
            Value::Text(text) => cells.text(&text).into_owned(),
        });
        out.write_record(same.chain(cells)).map_err(failed)?;
    }
    out.flush()?;
    Ok(())
}
