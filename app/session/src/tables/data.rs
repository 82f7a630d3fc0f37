//! Tables whose columns are read one value at a time.

use std::borrow::Cow;
use std::iter;
use std::ops::Range;
use std::sync::Arc;

use analysis::{Provenance, Unit};

/// A value of a [`DataTable`].
#[derive(Debug, PartialEq)]
pub enum Value<'a> {
    /// Unknown or not applicable; never 0 or an empty text.
    Missing,
    /// An integer in the unit of its column.
    Int(i64),
    /// A number in the unit of its column.
    Float(f64),
    Text(Cow<'a, str>),
}

impl Value<'_> {
    /// The value apart from its table.
    pub fn into_owned(self) -> Value<'static> {
        match self {
            Self::Missing => Value::Missing,
            Self::Int(number) => Value::Int(number),
            Self::Float(number) => Value::Float(number),
            Self::Text(text) => Value::Text(Cow::Owned(text.into_owned())),
        }
    }
}

/// The type of the values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnKind {
    /// Integers of 64 bits.
    Int,
    /// Floating point numbers of 64 bits.
    Float,
    Text,
    /// One of a few texts: see [`DataColumn::choices`].
    Choice,
}

/// The distinct texts of a column that repeats a few texts.
#[derive(Debug, Default)]
pub struct Choices {
    texts: Vec<Arc<str>>,
    /// Rank of each text in byte order.
    ranks: Vec<u32>,
    /// Codes in byte order of their texts.
    sorted: Vec<u32>,
}

impl Choices {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.texts.len()
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
    pub fn text(&self, code: u32) -> Option<&str> {
        self.texts.get(code as usize).map(|text| &**text)
    }
    /// All texts, by their codes.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.texts.iter().map(|text| &**text)
    }
    pub fn code(&self, text: &str) -> Option<u32> {
        let index = self
            .sorted
            .binary_search_by(|&code| self.text(code).cmp(&Some(text)))
            .ok()?;
        self.sorted.get(index).copied()
    }
    /// Rank of a text in byte order, from 0.
    pub fn rank(&self, code: u32) -> Option<u32> {
        self.ranks.get(code as usize).copied()
    }
}

/// Collects [`Choices`].
#[derive(Debug, Default)]
pub struct ChoicesBuilder {
    texts: Vec<Arc<str>>,
    codes: std::collections::HashMap<Arc<str>, u32>,
}

impl ChoicesBuilder {
    /// The code of a text, a new one for a new text.
    pub fn code(&mut self, text: &str) -> u32 {
        if let Some(&code) = self.codes.get(text) {
            return code;
        }
        let (text, code): (Arc<str>, u32) = (text.into(), self.texts.len() as u32);
        self.texts.push(Arc::clone(&text));
        self.codes.insert(text, code);
        code
    }

    /// All texts so far.
    pub fn build(self) -> Choices {
        let mut sorted: Vec<u32> = (0..self.texts.len() as u32).collect();
        sorted.sort_unstable_by_key(|&code| &self.texts[code as usize]);
        let mut ranks = vec![0; sorted.len()];
        for (rank, &code) in (0..).zip(&sorted) {
            ranks[code as usize] = rank;
        }
        Choices {
            texts: self.texts,
            ranks,
            sorted,
        }
    }
}

/// How a column of rows of `T` gets its value: from the rows and a row number.
pub enum Field<T> {
    Int(fn(&T, usize) -> Option<i64>),
    Float(fn(&T, usize) -> Option<f64>),
    Text(fn(&T, usize) -> Option<Cow<'_, str>>),
    /// One of a few texts: all texts, and the code of the text of a row.
    Choice(fn(&T) -> &Choices, fn(&T, usize) -> Option<u32>),
}

/// What a column needs of its data.
trait ColumnData: Send + Sync {
    fn kind(&self) -> ColumnKind;
    fn value(&self, row: usize) -> Value<'_>;
    fn choices(&self) -> Option<&Choices>;
    fn code(&self, row: usize) -> Option<u32>;
}

struct FieldOf<T> {
    rows: Arc<T>,
    field: Field<T>,
}

impl<T: Send + Sync> ColumnData for FieldOf<T> {
    fn kind(&self) -> ColumnKind {
        match self.field {
            Field::Int(_) => ColumnKind::Int,
            Field::Float(_) => ColumnKind::Float,
            Field::Text(_) => ColumnKind::Text,
            Field::Choice(..) => ColumnKind::Choice,
        }
    }

    fn value(&self, row: usize) -> Value<'_> {
        let value = match &self.field {
            Field::Int(get) => get(&self.rows, row).map(Value::Int),
            // Infinities and NaN are missing values, because neither SQL nor JSON has them.
            Field::Float(get) => get(&self.rows, row)
                .filter(|number| number.is_finite())
                .map(Value::Float),
            Field::Text(get) => get(&self.rows, row).map(Value::Text),
            Field::Choice(choices, code) => {
                let text = code(&self.rows, row).and_then(|code| choices(&self.rows).text(code));
                text.map(|text| Value::Text(Cow::Borrowed(text)))
            }
        };
        value.unwrap_or(Value::Missing)
    }

    fn choices(&self) -> Option<&Choices> {
        match &self.field {
            Field::Choice(choices, _) => Some(choices(&self.rows)),
            _ => None,
        }
    }

    fn code(&self, row: usize) -> Option<u32> {
        match &self.field {
            Field::Choice(_, code) => code(&self.rows, row),
            _ => None,
        }
    }
}

/// A column of a [`DataTable`].
pub struct DataColumn {
    /// Stable name, snake case, unit as suffix (`start_ps`).
    pub name: Cow<'static, str>,
    /// Its meaning, in a few words.
    pub about: Cow<'static, str>,
    /// Unit of every value.
    pub unit: Unit,
    /// Where its numbers come from; `None` for names and ids.
    pub provenance: Option<Provenance>,
    data: Box<dyn ColumnData>,
}

impl DataColumn {
    /// Type of its values.
    pub fn kind(&self) -> ColumnKind {
        self.data.kind()
    }
    /// The unit as JSON reports name it; `None` without one.
    pub fn unit_name(&self) -> Option<String> {
        let name = serde_json::to_value(self.unit).ok()?;
        name.as_str()
            .filter(|name| *name != "none")
            .map(str::to_owned)
    }
    /// The value of a row below the `len` of its table.
    ///
    /// # Panics
    ///
    /// For other rows of some tables.
    pub fn value(&self, row: usize) -> Value<'_> {
        self.data.value(row)
    }
    /// The texts of a column of [`ColumnKind::Choice`].
    pub fn choices(&self) -> Option<&Choices> {
        self.data.choices()
    }
    /// The code of a row among its [`choices`](Self::choices).
    pub fn code(&self, row: usize) -> Option<u32> {
        self.data.code(row)
    }
}

/// Limits of an integer column that exclude all rows outside.
#[derive(Clone, Copy, Debug)]
pub struct RowFilter {
    /// Number of the column.
    pub column: usize,
    /// Least wanted value.
    pub least: i64,
    /// Greatest wanted value.
    pub most: i64,
}

impl RowFilter {
    /// Least and greatest wanted value of a column.
    pub fn limits(filters: &[Self], column: usize) -> (i64, i64) {
        let of_column = filters.iter().filter(|filter| filter.column == column);
        of_column.fold((i64::MIN, i64::MAX), |(least, most), filter| {
            (least.max(filter.least), most.min(filter.most))
        })
    }
}

/// The wanted rows of `len`, where `column` contains the row number.
pub(super) fn limits_of(filters: &[RowFilter], column: usize, len: usize) -> Range<usize> {
    let (least, most) = RowFilter::limits(filters, column);
    let from = usize::try_from(least.max(0)).unwrap_or(len).min(len);
    let to = usize::try_from(most.saturating_add(1).max(0))
        .unwrap_or(len)
        .min(len);
    from..to.max(from)
}

/// The first row for which `is_before` is false; it is false for all later rows.
pub(super) fn partition(rows: Range<usize>, is_before: impl Fn(usize) -> bool) -> usize {
    let (mut from, mut to) = (rows.start, rows.end);
    while from < to {
        let middle = from.midpoint(to);
        if is_before(middle) {
            from = middle + 1;
        } else {
            to = middle;
        }
    }
    from
}

/// Rows that may pass filters, as sorted disjoint ranges. All other rows fail them.
pub type FindRows = dyn Fn(&[RowFilter]) -> Vec<Range<usize>> + Send + Sync;

pub struct DataTable {
    /// Stable name, snake case.
    pub name: String,
    /// What a row is, in a sentence.
    pub about: String,
    /// Number of rows.
    pub len: usize,
    pub columns: Vec<DataColumn>,
    find: Option<Box<FindRows>>,
}

impl DataTable {
    /// Starts a table over `rows`, `len` of them.
    pub fn of<T: Send + Sync + 'static>(
        name: &str,
        about: &str,
        len: usize,
        rows: Arc<T>,
    ) -> DataTableBuilder<T> {
        let table = Self {
            name: name.to_owned(),
            about: about.to_owned(),
            len,
            columns: Vec::new(),
            find: None,
        };
        DataTableBuilder { table, rows }
    }

    pub fn column(&self, name: &str) -> Option<&DataColumn> {
        self.columns.iter().find(|column| column.name == name)
    }

    /// Whether rows can be found by the first column without reading all rows.
    pub fn has_index(&self) -> bool {
        self.find.is_some()
    }

    /// Rows that may pass all filters, in order: found by an index where the table has one, else all rows.
    pub fn find(&self, filters: &[RowFilter]) -> Vec<Range<usize>> {
        match &self.find {
            Some(find) if !filters.is_empty() => find(filters),
            _ => iter::once(0..self.len).collect(),
        }
    }
}

/// A column of selected rows of another table.
struct PickedRows {
    table: Arc<DataTable>,
    column: usize,
    rows: Arc<[u32]>,
}

impl PickedRows {
    fn column(&self) -> Option<&DataColumn> {
        self.table.columns.get(self.column)
    }
    fn row(&self, row: usize) -> usize {
        self.rows.get(row).map_or(usize::MAX, |&row| row as usize)
    }
}

impl ColumnData for PickedRows {
    fn kind(&self) -> ColumnKind {
        self.column().map_or(ColumnKind::Text, DataColumn::kind)
    }
    fn value(&self, row: usize) -> Value<'_> {
        self.column()
            .filter(|_| row < self.rows.len())
            .map_or(Value::Missing, |column| column.value(self.row(row)))
    }
    fn choices(&self) -> Option<&Choices> {
        self.column()?.choices()
    }
    fn code(&self, row: usize) -> Option<u32> {
        self.column()
            .filter(|_| row < self.rows.len())?
            .code(self.row(row))
    }
}

/// Selected columns and rows of a table, in the given order; all rows if `rows` is `None`.
pub fn picked(table: &Arc<DataTable>, columns: &[usize], rows: Option<Vec<u32>>) -> DataTable {
    let rows: Arc<[u32]> = rows
        .unwrap_or_else(|| (0..table.len as u32).collect())
        .into();
    let column = |&column: &usize| {
        let of = table.columns.get(column)?;
        let data = Box::new(PickedRows {
            table: Arc::clone(table),
            column,
            rows: Arc::clone(&rows),
        });
        let (name, about) = (of.name.clone(), of.about.clone());
        Some(DataColumn {
            name,
            about,
            unit: of.unit,
            provenance: of.provenance,
            data,
        })
    };
    DataTable {
        name: table.name.clone(),
        about: table.about.clone(),
        len: rows.len(),
        columns: columns.iter().filter_map(column).collect(),
        find: None,
    }
}

/// Some rows of a table, in its order, whose first column is the number of the row: rows are found by it here, too.
pub(super) fn some_rows(table: &Arc<DataTable>, rows: Vec<u32>) -> DataTable {
    let columns: Vec<usize> = (0..table.columns.len()).collect();
    let numbers = rows.clone();
    let find = move |filters: &[RowFilter]| {
        let (least, most) = RowFilter::limits(filters, 0);
        let from = numbers.partition_point(|&row| i64::from(row) < least);
        iter::once(
            from..numbers
                .partition_point(|&row| i64::from(row) <= most)
                .max(from),
        )
        .collect()
    };
    DataTable {
        find: Some(Box::new(find)),
        ..picked(table, &columns, Some(rows))
    }
}

/// Builds a [`DataTable`]; see [`DataTable::of`].
pub struct DataTableBuilder<T> {
    table: DataTable,
    rows: Arc<T>,
}

impl<T: Send + Sync + 'static> DataTableBuilder<T> {
    /// Adds a column without a provenance, such as an id or a name.
    pub fn id(self, name: &'static str, about: &'static str, field: Field<T>) -> Self {
        self.with(name.into(), about.into(), Unit::None, None, field)
    }

    /// Adds a column of numbers or facts with their provenance.
    pub fn fact(
        self,
        name: &'static str,
        about: &'static str,
        unit: Unit,
        provenance: Provenance,
        field: Field<T>,
    ) -> Self {
        self.with(name.into(), about.into(), unit, Some(provenance), field)
    }

    /// Adds a measured time in picoseconds.
    pub fn time(self, name: &'static str, about: &'static str, field: Field<T>) -> Self {
        self.fact(name, about, Unit::Picoseconds, Provenance::Measured, field)
    }

    pub fn with(
        mut self,
        name: Cow<'static, str>,
        about: Cow<'static, str>,
        unit: Unit,
        provenance: Option<Provenance>,
        field: Field<T>,
    ) -> Self {
        let data = Box::new(FieldOf {
            rows: Arc::clone(&self.rows),
            field,
        });
        self.table.columns.push(DataColumn {
            name,
            about,
            unit,
            provenance,
            data,
        });
        self
    }

    /// Finds rows by the first column, which is the row number.
    pub fn numbered(self) -> Self {
        let len = self.table.len;
        self.found_by(move |_, filters| iter::once(limits_of(filters, 0, len)).collect())
    }

    /// Finds rows by the first column, whose values increase from row to row.
    pub fn rising(self, value: fn(&T, usize) -> i64) -> Self {
        let len = self.table.len;
        self.found_by(move |rows, filters| {
            let (least, most) = RowFilter::limits(filters, 0);
            let from = partition(0..len, |row| value(rows, row) < least);
            iter::once(from..partition(from..len, |row| value(rows, row) <= most)).collect()
        })
    }

    /// Uses an index to find rows.
    pub fn found_by(
        mut self,
        find: impl Fn(&T, &[RowFilter]) -> Vec<Range<usize>> + Send + Sync + 'static,
    ) -> Self {
        let rows = Arc::clone(&self.rows);
        self.table.find = Some(Box::new(move |filters| find(&rows, filters)));
        self
    }

    pub fn build(self) -> DataTable {
        self.table
    }
}

/// Most bytes of a text in an answer: a name can have megabytes, and stand in many rows.
pub const MOST_OF_CELL: usize = 64 << 10;

/// A text of at most [`MOST_OF_CELL`] bytes; where it is cut, its length is named.
pub fn cut(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_OF_CELL {
        return Cow::Borrowed(text);
    }
    let end = text.floor_char_boundary(MOST_OF_CELL);
    Cow::Owned(format!("{}… ({} bytes)", &text[..end], text.len()))
}
