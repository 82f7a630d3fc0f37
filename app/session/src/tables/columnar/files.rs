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

/// What is written of a table.
pub struct TableToWrite<'a> {
    pub table: &'a Arc<DataTable>,
    /// The wanted columns; all if `None`.
    pub columns: Option<&'a [usize]>,
    /// Columns with one value in all rows, before the others.
    pub constants: &'a [Constant],
    /// How texts are written where a program could run them.
    pub cells: CsvCells,
}

/// Writes a table in one format.
pub type TableWriter = fn(&TableToWrite<'_>, &mut File) -> Result<(), TableFileError>;

impl TableToWrite<'_> {
    /// # Errors
    ///
    /// The file cannot be written; no part of it remains.
    pub fn write(&self, write: TableWriter, path: &Path) -> Result<(), TableFileError> {
        crate::files::write_with(path, |file| write(self, file))
    }

    fn batches(&self) -> BatchReader {
        BatchReader::new(self.table, self.columns, self.constants)
    }
}

/// Apache Parquet, compressed with zstd.
pub fn parquet(wanted: &TableToWrite<'_>, file: &mut File) -> Result<(), TableFileError> {
    parquet_file::write(&wanted.batches(), file)
}

/// Arrow IPC file (Feather 2), compressed with zstd.
pub fn arrow(wanted: &TableToWrite<'_>, file: &mut File) -> Result<(), TableFileError> {
    let reader = wanted.batches();
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

/// Comma-separated values with a line of headings.
pub fn csv(wanted: &TableToWrite<'_>, file: &mut File) -> Result<(), TableFileError> {
    let TableToWrite {
        table,
        columns,
        constants,
        cells,
    } = *wanted;
    let wanted = |index: &usize| columns.is_none_or(|columns| columns.contains(index));
    let columns: Vec<_> = (0..table.columns.len())
        .filter(wanted)
        .map(|index| &table.columns[index])
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
