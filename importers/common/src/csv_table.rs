//! CSV tables of simulators: columns by name, values with their position for error messages.

use std::sync::Arc;

use csv::{ByteRecord, ReaderBuilder, StringRecord, Trim};
use hashbrown::HashMap;
use input::{ImportError, InputSource, Progress, Result};
use trace_model::{Arg, ArgSource, ArgValue, IssueKind, SavedArgs, TraceBuilder};

/// Maximum number of rows; simulators write one row per op or layer.
const MAX_ROWS: usize = 1_000_000;
/// Integers below this are exact as floating-point numbers.
const MAX_WHOLE: f64 = 9_007_199_254_740_992.0;

/// A whole table; damaged rows are left out.
#[derive(Debug, Default)]
pub struct CsvTable {
    format: &'static str,
    file: String,
    columns: Arc<[String]>,
    /// Places of columns, the first of each name.
    places: HashMap<String, usize>,
    rows: Vec<Arc<StringRecord>>,
}

impl CsvTable {
    /// Reads the table; rows that are too short are logged.
    ///
    /// # Errors
    ///
    /// The file cannot be read, is no table or too large, or the import was cancelled.
    pub fn read(
        source: &InputSource,
        format: &'static str,
        progress: &Progress,
        out: &mut TraceBuilder,
    ) -> Result<Self> {
        let content = source.content(progress)?;
        let bytes = (*content.bytes).as_ref();
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        let ends_in_a_line = content.damage.is_none() && bytes.ends_with(b"\n");
        if let Some(damage) = content.damage {
            out.log(IssueKind::TruncatedFile, || {
                format!("{}: {damage}", source.name())
            });
        }
        let mut reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .trim(Trim::All)
            .from_reader(bytes);
        let mut table = Self {
            format,
            file: source.name().to_owned(),
            ..Self::default()
        };
        let mut short = Vec::new();
        let mut record = ByteRecord::new();
        while reader
            .read_byte_record(&mut record)
            .map_err(|error| table.malformed(error.to_string()))?
        {
            let row = StringRecord::from_byte_record_lossy(record.clone());
            if table.columns.is_empty() {
                table.columns = row.iter().map(str::to_owned).collect();
                for (index, name) in row.iter().enumerate() {
                    table.places.entry_ref(name).or_insert(index);
                }
                continue;
            }
            if table.rows.len() == MAX_ROWS {
                let what = format!("{} has more than {MAX_ROWS} rows; split it", table.file);
                return Err(ImportError::TooLarge { what });
            }
            if table.rows.len().is_multiple_of(4096) {
                progress.check()?;
            }
            if row.len() < table.columns.len() {
                short.push(line(&row));
            } else {
                table.rows.push(Arc::new(row));
            }
        }
        table.log_short(&short, ends_in_a_line, out);
        Ok(table)
    }

    fn log_short(&self, short: &[u64], ends_in_a_line: bool, out: &mut TraceBuilder) {
        let last = self.rows.last().map_or(0, |row| line(row));
        for &line in short {
            let cut = !ends_in_a_line && line > last && Some(&line) == short.last();
            let kind = if cut {
                IssueKind::TruncatedFile
            } else {
                IssueKind::MalformedEvent
            };
            out.log(kind, || {
                format!(
                    "{} line {line}: fewer than {} values",
                    self.file,
                    self.columns.len()
                )
            });
        }
    }

    /// Checks that there are these columns.
    ///
    /// # Errors
    ///
    /// Some are missing; the error lists all.
    pub fn require(&self, names: &[&str]) -> Result<()> {
        let is_missing = |name: &&str| !self.has(name);
        let missing: Vec<&str> = names.iter().copied().filter(is_missing).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let missing = missing.join("\", \"");
        let what = "the first line must name its columns; is it the file that the simulator wrote?";
        Err(self.malformed(format!(
            "{} line 1: no column \"{missing}\": {what}",
            self.file
        )))
    }

    /// Whether there is a column.
    pub fn has(&self, name: &str) -> bool {
        self.places.contains_key(name)
    }

    /// Name of the file.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// All complete rows.
    pub fn rows(&self) -> impl Iterator<Item = CsvRow<'_>> {
        self.rows.iter().map(|record| CsvRow {
            table: self,
            record,
        })
    }

    /// An error about this file.
    pub fn malformed(&self, what: String) -> ImportError {
        ImportError::Malformed {
            format: self.format,
            offset: 0,
            what,
        }
    }
}

fn line(record: &StringRecord) -> u64 {
    record.position().map_or(0, csv::Position::line)
}

/// One row of a table.
#[derive(Clone, Copy)]
pub struct CsvRow<'a> {
    table: &'a CsvTable,
    record: &'a Arc<StringRecord>,
}

impl<'a> CsvRow<'a> {
    /// The text in a column; empty if there is no such column.
    pub fn text(self, column: &str) -> &'a str {
        let place = self.table.places.get(column);
        place
            .and_then(|&place| self.record.get(place))
            .unwrap_or_default()
    }

    /// Number of the line in the file.
    pub(crate) fn line(self) -> u64 {
        line(self.record)
    }

    /// An error message about a row: `REPORT.csv line 3: ` and `what`.
    pub fn wrong(self, what: &str) -> String {
        format!("{} line {}: {what}", self.table.file, self.line())
    }

    /// A finite number.
    ///
    /// # Errors
    ///
    /// It is something else; the error names the place.
    pub fn number(self, column: &str) -> Result<f64, String> {
        let text = self.text(column);
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.ok_or_else(|| self.wrong(&format!("{column:?} is {text:?}, which is not a number")))
    }

    /// An integer, also as `12.0`.
    ///
    /// # Errors
    ///
    /// It is something else; the error names the place.
    pub fn whole(self, column: &str) -> Result<i64, String> {
        let number = self.number(column)?;
        if number.fract() == 0.0 && number.abs() < MAX_WHOLE {
            return Ok(number as i64);
        }
        Err(self.wrong(&format!(
            "{column:?} is {:?}, which is not a whole number",
            self.text(column)
        )))
    }

    /// An integer that is not negative.
    ///
    /// # Errors
    ///
    /// It is something else; the error names the place.
    pub fn count(self, column: &str) -> Result<u64, String> {
        let number = self.whole(column)?;
        u64::try_from(number)
            .map_err(|_negative| self.wrong(&format!("{column:?} is {number}, which is negative")))
    }

    /// The values of the row as arguments, which are created on first use.
    pub fn args(self) -> RowArgs {
        RowArgs {
            columns: Arc::clone(&self.table.columns),
            record: Arc::clone(self.record),
            without: None,
        }
    }
}

/// The values of one row as arguments. They are created on first use, because column names with every value would be
/// much larger than the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowArgs {
    columns: Arc<[String]>,
    record: Arc<StringRecord>,
    /// A column that is left out.
    without: Option<usize>,
}

impl RowArgs {
    /// Leaves out a column, because another row has the same value.
    pub fn without(self, column: &str) -> Self {
        Self {
            without: self.columns.iter().position(|name| name == column),
            ..self
        }
    }

    /// Every value with the name of its column; zeros and empty values are left out.
    pub(crate) fn args(&self) -> impl Iterator<Item = Arg> {
        let pairs = self.columns.iter().zip(&*self.record).enumerate();
        let shown = pairs.filter(|(index, (_, text))| {
            Some(*index) != self.without && !matches!(*text, "" | "0" | "0.0")
        });
        shown.map(|(_, (name, text))| Arg {
            name: name.clone(),
            value: value_of(text),
        })
    }
}

fn value_of(text: &str) -> ArgValue {
    if let Ok(whole) = text.parse() {
        return ArgValue::Int(whole);
    }
    text.parse()
        .map_or_else(|_| ArgValue::Text(text.to_owned()), ArgValue::Float)
}

/// Table rows that describe one slice each, with additional arguments; handles count from 0.
#[derive(Debug, Default)]
pub struct KeptArgs(Vec<(Vec<RowArgs>, Vec<Arg>)>);

impl KeptArgs {
    /// Stores rows and additional arguments, and returns their handle.
    pub fn keep(&mut self, rows: Vec<RowArgs>, more: Vec<Arg>) -> u64 {
        self.0.push((rows, more));
        self.0.len() as u64 - 1
    }
}

impl ArgSource for KeptArgs {
    fn args(&self, handle: u64) -> Result<Vec<Arg>, String> {
        let kept = usize::try_from(handle)
            .ok()
            .and_then(|index| self.0.get(index));
        Ok(kept.map(all_args).unwrap_or_default())
    }

    fn save(&self) -> Option<SavedArgs> {
        Some(SavedArgs::Rows(self.0.iter().map(all_args).collect()))
    }
}

fn all_args((rows, more): &(Vec<RowArgs>, Vec<Arg>)) -> Vec<Arg> {
    rows.iter()
        .flat_map(RowArgs::args)
        .chain(more.iter().cloned())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (CsvTable, TraceBuilder) {
        let mut out = TraceBuilder::new();
        let source = InputSource::from_bytes("t.csv", text.as_bytes().to_vec()).unwrap();
        (
            CsvTable::read(&source, "test", &Progress::new(), &mut out).unwrap(),
            out,
        )
    }

    #[test]
    fn values_are_read_by_name_with_their_location() {
        let (table, _) = read("a, b,\n1,\"x, y\",\n2.5, z,\n");
        table.require(&["a", "b"]).unwrap();
        let rows: Vec<_> = table.rows().collect();
        assert_eq!((rows[0].count("a"), rows[0].text("b")), (Ok(1), "x, y"));
        assert_eq!(
            rows[1].whole("a"),
            Err("t.csv line 3: \"a\" is \"2.5\", which is not a whole number".to_owned())
        );
        let error = table.require(&["a", "c", "d"]).unwrap_err().to_string();
        assert!(
            error.contains("t.csv line 1: no column \"c\", \"d\""),
            "{error}"
        );
    }

    /// With a long header and many short rows, the column names are stored only once.
    #[test]
    fn rows_share_column_names() {
        let (table, _) = read(&format!("{},b\n1,2\n0,4\n", "a".repeat(100_000)));
        let rows: Vec<RowArgs> = table.rows().map(CsvRow::args).collect();
        assert!(Arc::ptr_eq(&rows[0].columns, &rows[1].columns));
        let mut kept = KeptArgs::default();
        let handle = kept.keep(
            vec![
                rows[1].clone(),
                rows[0].clone().without(&rows[0].columns[0]),
            ],
            Vec::new(),
        );
        let values: Vec<ArgValue> = kept
            .args(handle)
            .unwrap()
            .into_iter()
            .map(|arg| arg.value)
            .collect();
        assert_eq!(values, [ArgValue::Int(4), ArgValue::Int(2)]);
    }

    #[test]
    fn rejects_invalid_numbers() {
        let (table, _) = read("n\nNaN\ninf\n1e308\n-3\n9007199254740993\n1e400\n0x10\n");
        assert!(table.rows().all(|row| row.count("n").is_err()), "{table:?}");
    }

    #[test]
    fn truncated_row_is_skipped_and_logged() {
        let (table, out) = read("a,b\n1,2\n3\n4,5\n6");
        assert_eq!(table.rows().count(), 2);
        let model = out.finish();
        assert_eq!(model.import_log().count(IssueKind::TruncatedFile), 1);
        assert_eq!(model.import_log().count(IssueKind::MalformedEvent), 1);
    }
}
