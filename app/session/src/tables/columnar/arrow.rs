//! Tables as Arrow record batches: what Parquet files, Arrow files and Python libraries are made of.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, DictionaryArray, Int32Array, RecordBatch, RecordBatchReader, StringArray,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef};
use rayon::prelude::*;

use crate::tables::data::{ColumnKind, DataColumn, DataTable, Value};

/// Version of the schemas of all tables: rises when a column is removed, renamed or changes its meaning.
pub const SCHEMA_VERSION: u32 = 2;

/// Rows of a batch.
pub const BATCH: usize = 1 << 17;

/// A column that all rows share: the run that they belong to.
#[derive(Clone, Debug)]
pub struct Constant {
    /// Name of the column.
    pub name: Cow<'static, str>,
    /// Its value; `None` if it is unknown.
    pub value: Option<Arc<str>>,
}

/// Reads a table batch by batch.
pub struct BatchReader {
    table: Arc<DataTable>,
    /// Indices of the columns; for choices also their texts, which all batches share.
    columns: Vec<(usize, Option<ArrayRef>)>,
    constants: Vec<Constant>,
    schema: SchemaRef,
    next: usize,
}

impl BatchReader {
    /// The wanted columns of a table (all if `None`), after `constants`.
    pub fn new(table: &Arc<DataTable>, columns: Option<&[usize]>, constants: &[Constant]) -> Self {
        let columns = columns.map_or_else(|| (0..table.columns.len()).collect(), <[usize]>::to_vec);
        let columns: Vec<usize> = columns
            .into_iter()
            .filter(|&column| column < table.columns.len())
            .collect();
        let schema = Arc::new(schema(table, &columns, constants));
        let texts = |column: &DataColumn| {
            Some(Arc::new(StringArray::from_iter_values(column.choices()?.iter())) as ArrayRef)
        };
        let columns = columns
            .into_iter()
            .map(|column| (column, table.columns.get(column).and_then(texts)))
            .collect();
        Self {
            table: Arc::clone(table),
            columns,
            constants: constants.to_vec(),
            schema,
            next: 0,
        }
    }

    /// Number of rows of the table.
    pub(super) fn len(&self) -> usize {
        self.table.len
    }

    /// Rows of the column of a field of the schema.
    pub(super) fn array(
        &self,
        column: usize,
        from: usize,
        to: usize,
    ) -> Result<ArrayRef, ArrowError> {
        if let Some(constant) = self.constants.get(column) {
            return same(constant.value.as_deref(), to - from);
        }
        let missing = || ArrowError::SchemaError(format!("there is no column {column}"));
        let (column, texts) = self
            .columns
            .get(column - self.constants.len())
            .ok_or_else(missing)?;
        array(
            self.table.columns.get(*column).ok_or_else(missing)?,
            texts.as_ref(),
            from,
            to,
        )
    }

    /// One value of the column of a field of the schema; `None` for columns that all rows share.
    pub(super) fn value(&self, column: usize, row: usize) -> Option<Value<'_>> {
        let (column, _) = self
            .columns
            .get(column.checked_sub(self.constants.len())?)?;
        Some(self.table.columns.get(*column)?.value(row))
    }

    fn batch(&self, from: usize, to: usize) -> Result<RecordBatch, ArrowError> {
        let arrays = (0..self.schema.fields().len())
            .into_par_iter()
            .map(|column| self.array(column, from, to));
        RecordBatch::try_new(
            Arc::clone(&self.schema),
            arrays.collect::<Result<Vec<_>, _>>()?,
        )
    }
}

impl Iterator for BatchReader {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (from, to) = (
            self.next,
            self.table.len.min(self.next.saturating_add(BATCH)),
        );
        if from >= to {
            return None;
        }
        self.next = to;
        Some(self.batch(from, to))
    }
}

impl RecordBatchReader for BatchReader {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

/// The schema of the wanted columns. Metadata of the table: what a row is, version of the schema. Metadata of a
/// column: its meaning, its unit, the source of its numbers.
fn schema(table: &DataTable, columns: &[usize], constants: &[Constant]) -> Schema {
    let constants = constants
        .iter()
        .map(|constant| Field::new(constant.name.as_ref(), choice_type(), true));
    let columns = columns
        .iter()
        .filter_map(|&column| table.columns.get(column))
        .map(field);
    let about = [
        ("systole.table", table.name.clone()),
        ("systole.about", table.about.clone()),
        ("systole.schema_version", SCHEMA_VERSION.to_string()),
    ];
    let about: HashMap<String, String> = about.map(|(key, value)| (key.to_owned(), value)).into();
    Schema::new_with_metadata(constants.chain(columns).collect::<Vec<_>>(), about)
}

fn choice_type() -> DataType {
    DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8))
}

fn field(column: &DataColumn) -> Field {
    let kind = match column.kind() {
        ColumnKind::Int => DataType::Int64,
        ColumnKind::Float => DataType::Float64,
        ColumnKind::Text => DataType::Utf8,
        ColumnKind::Choice => choice_type(),
    };
    let mut about = HashMap::from([("about".to_owned(), column.about.to_string())]);
    about.extend(column.unit_name().map(|unit| ("unit".to_owned(), unit)));
    about.extend(
        column
            .provenance
            .map(|provenance| ("provenance".to_owned(), provenance.title().to_owned())),
    );
    Field::new(column.name.as_ref(), kind, true).with_metadata(about)
}

/// A column with one text in every row, or none.
fn same(text: Option<&str>, rows: usize) -> Result<ArrayRef, ArrowError> {
    let keys: Int32Array = std::iter::repeat_n(text.map(|_| 0), rows).collect();
    let texts = Arc::new(StringArray::from_iter_values(text));
    Ok(Arc::new(DictionaryArray::<Int32Type>::try_new(
        keys, texts,
    )?))
}

fn array(
    column: &DataColumn,
    texts: Option<&ArrayRef>,
    from: usize,
    to: usize,
) -> Result<ArrayRef, ArrowError> {
    let rows = from..to;
    Ok(match column.kind() {
        ColumnKind::Int => {
            let mut array = Int64Builder::with_capacity(rows.len());
            rows.for_each(|row| match column.value(row) {
                Value::Int(number) => array.append_value(number),
                _ => array.append_null(),
            });
            Arc::new(array.finish())
        }
        ColumnKind::Float => {
            let mut array = Float64Builder::with_capacity(rows.len());
            rows.for_each(|row| match column.value(row) {
                Value::Float(number) => array.append_value(number),
                _ => array.append_null(),
            });
            Arc::new(array.finish())
        }
        ColumnKind::Text => {
            // Texts can be slow to make: arguments are read from the file of the trace.
            let texts: Vec<_> = rows
                .into_par_iter()
                .with_min_len(1 << 10)
                .map(|row| column.value(row))
                .collect();
            let mut array = StringBuilder::new();
            for text in texts {
                match text {
                    Value::Text(text) => array.append_value(text),
                    _ => array.append_null(),
                }
            }
            Arc::new(array.finish())
        }
        ColumnKind::Choice => {
            let codes = rows.map(|row| column.code(row).and_then(|code| i32::try_from(code).ok()));
            let codes: Int32Array = codes.collect();
            let texts = texts
                .cloned()
                .unwrap_or_else(|| Arc::new(StringArray::from_iter_values([""; 0])));
            Arc::new(DictionaryArray::<Int32Type>::try_new(codes, texts)?)
        }
    })
}
