//! Tables as Parquet files. The columns of a row group are read and encoded beside each other, each by one thread from
//! end to end: encoding takes longer than reading, and columns do not need each other.

use std::collections::HashSet;
use std::fs::File;

use arrow_array::RecordBatchReader as _;
use arrow_schema::DataType;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::{ArrowColumnChunk, ArrowColumnWriter, compute_leaves};
use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use rayon::prelude::*;

use super::arrow::{BATCH, BatchReader};
use super::error::TableFileError;
use crate::tables::data::Value;

/// Rows of a row group: a multiple of the rows of a batch.
const GROUP: usize = 8 * BATCH;

/// Rows that are looked at to see whether the values of a column repeat.
const SAMPLE: usize = 1024;

pub(super) fn write(reader: &BatchReader, file: &mut File) -> Result<(), TableFileError> {
    let properties = properties(reader)?;
    let (mut writer, factory) =
        ArrowWriter::try_new(file, reader.schema(), Some(properties))?.into_serialized_writer()?;
    for (number, from) in (0..reader.len()).step_by(GROUP).enumerate() {
        let to = reader.len().min(from + GROUP);
        // No thread takes several at once: they differ much in cost.
        let columns = factory
            .create_column_writers(number)?
            .into_par_iter()
            .enumerate()
            .with_max_len(1);
        let chunks: Result<Vec<_>, _> = columns
            .map(|(index, column)| encoded(reader, index, column, from, to))
            .collect();
        let mut group = writer.next_row_group()?;
        for chunk in chunks? {
            chunk.append_to_row_group(&mut group)?;
        }
        group.close()?;
    }
    writer.close()?;
    Ok(())
}

fn encoded(
    reader: &BatchReader,
    index: usize,
    mut column: ArrowColumnWriter,
    from: usize,
    to: usize,
) -> Result<ArrowColumnChunk, TableFileError> {
    let schema = reader.schema();
    for from in (from..to).step_by(BATCH) {
        let array = reader.array(index, from, to.min(from + BATCH))?;
        for leaf in compute_leaves(schema.field(index), &array)? {
            column.write(&leaf)?;
        }
    }
    Ok(column.close()?)
}

/// A dictionary pays where values repeat. Numbers that do not, such as ids and times, differ little from their neighbours.
fn properties(reader: &BatchReader) -> Result<WriterProperties, TableFileError> {
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("systole ", env!("CARGO_PKG_VERSION"), " (parquet-rs)").to_owned())
        .set_compression(Compression::ZSTD(ZstdLevel::try_new(1)?))
        .set_statistics_enabled(EnabledStatistics::Chunk);
    for (index, field) in reader.schema().fields().iter().enumerate() {
        if *field.data_type() == DataType::Int64 && !repeats(reader, index) {
            let path = ColumnPath::from(field.name().as_str());
            properties = properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
        }
    }
    Ok(properties.build())
}

/// Whether the values of a column repeat, judged by rows from all over the table.
fn repeats(reader: &BatchReader, column: usize) -> bool {
    let step = (reader.len() / SAMPLE).max(1);
    let values =
        (0..reader.len())
            .step_by(step)
            .filter_map(|row| match reader.value(column, row)? {
                Value::Int(number) => Some(number),
                _ => None,
            });
    let (mut seen, mut distinct) = (0, HashSet::new());
    for value in values {
        seen += 1;
        distinct.insert(value);
    }
    2 * distinct.len() <= seen
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::cast::AsArray as _;
    use arrow_array::types::Int64Type;
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

    use super::*;
    use crate::tables::arrow::Constant;
    use crate::tables::data::{DataTable, Field};

    #[test]
    fn several_row_groups_hold_every_row_in_order() {
        let len = GROUP + BATCH + 5;
        let table = DataTable::of("numbers", "Numbers.", len, Arc::new(()))
            .id(
                "number",
                "of the row",
                Field::Int(|(), row| Some(row as i64)),
            )
            .id(
                "few",
                "one of seven, or none",
                Field::Int(|(), row| (row % 8 > 0).then_some((row % 8) as i64)),
            )
            .build();
        let constant = Constant {
            name: "run".into(),
            value: Some("night".into()),
        };
        let reader = BatchReader::new(&Arc::new(table), None, &[constant]);
        let mut file = tempfile::tempfile().unwrap();
        write(&reader, &mut file).unwrap();

        let read = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let groups = read.metadata().row_groups();
        assert_eq!(
            groups
                .iter()
                .map(|group| group.num_rows() as usize)
                .collect::<Vec<_>>(),
            [GROUP, BATCH + 5]
        );
        let has_dictionary = groups[0]
            .columns()
            .iter()
            .map(|column| column.dictionary_page_offset().is_some());
        assert_eq!(
            has_dictionary.collect::<Vec<_>>(),
            [true, false, true],
            "run, number, few"
        );
        let mut row = 0;
        for batch in read.build().unwrap() {
            let batch = batch.unwrap();
            let column = |at: usize| batch.column(at).as_primitive::<Int64Type>();
            for (number, few) in column(1).iter().zip(column(2)) {
                assert_eq!(number, Some(row as i64));
                assert_eq!(few, (row % 8 > 0).then_some((row % 8) as i64));
                row += 1;
            }
        }
        assert_eq!(row, len);
    }
}
