//! Tables for Python: Arrow without a copy for other libraries, plain values for everyone else.

use std::path::PathBuf;
use std::sync::Arc;

use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict, PyList, PyString};
use render::CsvCells;
use session::export::{table_format_names, table_formats};
use session::tables::arrow::{BatchReader, Constant};
use session::tables::files::TableToWrite;
use session::tables::{ColumnKind, DataColumn, DataTable, Value, picked};

use crate::error::{CommandFailed, abandonable, interruptible, of_usage};
use crate::origin::Origin;

/// Rows that are read between two looks for Ctrl+C.
const CHUNK: usize = 4096;

/// A table with typed columns.
#[pyclass(frozen, module = "systole_tpu._systole")]
#[derive(Clone)]
pub(crate) struct Table(Arc<DataTable>, Origin);

impl Table {
    pub(crate) fn new(table: Arc<DataTable>, origin: Origin) -> Self {
        Self(table, origin)
    }

    pub(crate) fn data(&self) -> &Arc<DataTable> {
        &self.0
    }

    /// Numbers of the named columns, in their order; all if none are named.
    pub(crate) fn numbers(&self, names: Option<&[String]>) -> PyResult<Vec<usize>> {
        let Some(names) = names else {
            return Ok((0..self.0.columns.len()).collect());
        };
        let all = || {
            self.0
                .columns
                .iter()
                .map(|column| &*column.name)
                .collect::<Vec<_>>()
                .join(", ")
        };
        let number = |name: &String| {
            let numbers = self
                .0
                .columns
                .iter()
                .position(|column| column.name == *name);
            numbers.ok_or_else(|| {
                of_usage(format!(
                    "{} has no column {name:?}; it has {}",
                    self.0.name,
                    all()
                ))
            })
        };
        names.iter().map(number).collect()
    }

    /// Whether a column is read from the file when it is asked for.
    fn reads_arguments(&self, column: usize) -> bool {
        let column = self.0.columns.get(column);
        column.is_some_and(|column| column.name == "args")
    }

    /// Calls `take` with the values of columns, a chunk of rows at a time. Whoever presses Ctrl+C does not wait for the
    /// file, from which arguments are read.
    fn read_chunks(
        &self,
        py: Python<'_>,
        columns: &[usize],
        mut take: impl FnMut(&[Vec<Value<'static>>]) -> PyResult<()>,
    ) -> PyResult<()> {
        for start in (0..self.0.len).step_by(CHUNK) {
            let rows = start..self.0.len.min(start + CHUNK);
            let (table, columns) = (Arc::clone(&self.0), columns.to_vec());
            let read = move || -> Vec<Vec<Value<'static>>> {
                let of = |column: &DataColumn| {
                    let values = rows.clone().map(|row| column.value(row).into_owned());
                    values.collect()
                };
                let chosen = columns
                    .iter()
                    .filter_map(|&column| table.columns.get(column));
                chosen.map(of).collect()
            };
            take(&abandonable(py, read)?)?;
        }
        if columns.iter().any(|&column| self.reads_arguments(column)) {
            self.1.warn(py)?;
        }
        Ok(())
    }
}

#[pymethods]
impl Table {
    /// Stable name.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// What a row is.
    #[getter]
    fn about(&self) -> &str {
        &self.0.about
    }

    /// Of each column: name, type, unit, where its numbers come from, and what it says.
    #[getter]
    #[expect(clippy::type_complexity, reason = "a tuple of Python")]
    fn columns(
        &self,
    ) -> Vec<(
        String,
        &'static str,
        Option<String>,
        Option<&'static str>,
        String,
    )> {
        let kind = |kind| match kind {
            ColumnKind::Int => "int",
            ColumnKind::Float => "float",
            ColumnKind::Text | ColumnKind::Choice => "str",
        };
        let column = |column: &DataColumn| {
            let provenance = column.provenance.map(analysis::Provenance::title);
            (
                column.name.to_string(),
                kind(column.kind()),
                column.unit_name(),
                provenance,
                column.about.to_string(),
            )
        };
        self.0.columns.iter().map(column).collect()
    }

    fn __len__(&self) -> usize {
        self.0.len
    }

    /// Chosen columns, and rows from `start` to `stop`.
    #[pyo3(signature = (columns=None, start=0, stop=None))]
    fn select(
        &self,
        columns: Option<Vec<String>>,
        start: usize,
        stop: Option<usize>,
    ) -> PyResult<Self> {
        let numbers = self.numbers(columns.as_deref())?;
        let stop = stop.unwrap_or(self.0.len).min(self.0.len);
        let rows = (start.min(stop)..stop)
            .filter_map(|row| u32::try_from(row).ok())
            .collect();
        let rows = picked(&self.0, &numbers, Some(rows));
        Ok(Self(Arc::new(rows), self.1.clone()))
    }

    /// The values of one column; `None` where one is missing.
    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let column = self.numbers(Some(&[name.to_owned()]))?;
        let list = PyList::empty(py);
        self.read_chunks(py, &column, |values| {
            let mut values = values.iter().flatten();
            values.try_for_each(|one| list.append(value(py, one)?))
        })?;
        Ok(list)
    }

    /// The rows as dictionaries.
    fn to_pylist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let names: Vec<_> = self
            .0
            .columns
            .iter()
            .map(|column| PyString::new(py, &column.name))
            .collect();
        let list = PyList::empty(py);
        self.read_chunks(py, &self.numbers(None)?, |values| {
            let rows = values.first().map_or(0, Vec::len);
            (0..rows).try_for_each(|row| {
                let dict = PyDict::new(py);
                for (name, column) in names.iter().zip(values) {
                    dict.set_item(name, value(py, &column[row])?)?;
                }
                list.append(dict)
            })
        })?;
        Ok(list)
    }

    /// Writes the table as a file: `parquet`, `arrow` or `csv`. The first columns have one value in all rows. Files of others
    /// are replaced only with `force`.
    #[pyo3(signature = (path, format, constants, force))]
    fn write(
        &self,
        py: Python<'_>,
        path: PathBuf,
        format: &str,
        constants: Vec<(String, Option<String>)>,
        force: bool,
    ) -> PyResult<()> {
        let known = table_formats().find(|(name, _)| *name == format);
        let (_, writer) = known.ok_or_else(|| {
            let names = table_format_names();
            of_usage(format!("there is no format {format:?}; there are {names}"))
        })?;
        let constant = |(name, value): (String, Option<String>)| Constant {
            name: name.into(),
            value: value.map(Into::into),
        };
        let constants: Vec<Constant> = constants.into_iter().map(constant).collect();
        let mut headings: Vec<&str> = constants.iter().map(|constant| &*constant.name).collect();
        for column in &self.0.columns {
            if headings[..constants.len()].contains(&&*column.name) {
                let name = &column.name;
                return Err(of_usage(format!(
                    "constants: {} has a column {name:?}",
                    self.0.name
                )));
            }
            headings.push(&column.name);
        }
        self.1.check(&path, &headings, force)?;
        let written = interruptible(
            py,
            || (),
            |_| Ok(()),
            || {
                let wanted = TableToWrite {
                    table: &self.0,
                    columns: None,
                    constants: &constants,
                    cells: CsvCells::Exact,
                };
                wanted.write(writer, &path)
            },
        )?;
        if (0..self.0.columns.len()).any(|column| self.reads_arguments(column)) {
            self.1.warn(py)?;
        }
        written.map_err(|error| CommandFailed::new_err((format!("{error}: {}", path.display()), 3)))
    }

    /// The table as a stream of Arrow record batches, for pyarrow, pandas, polars and others. Columns are read
    /// from the trace while the stream is.
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // A consumer may ask for other types, and must accept that it gets these.
        drop(requested_schema);
        let reader = BatchReader::new(&self.0, None, &[]);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

fn value(py: Python<'_>, value: &Value<'_>) -> PyResult<Py<PyAny>> {
    Ok(match value {
        Value::Missing => py.None(),
        Value::Int(number) => number.into_pyobject(py)?.into_any().unbind(),
        Value::Float(number) => number.into_pyobject(py)?.into_any().unbind(),
        Value::Text(text) => PyString::new(py, text).into_any().unbind(),
    })
}
