//! Tables: typed columns over the rows of a report.

use std::sync::Arc;

use math::unit::Unit;
use serde::Serialize;

use super::provenance::Provenance;

/// One column of a [`Table`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Column {
    /// Stable name, snake case, unit as suffix (`self_time_ps`).
    pub id: &'static str,
    /// Display heading.
    pub title: &'static str,
    /// Unit of every cell.
    pub unit: Unit,
    /// Provenance of the numbers.
    pub provenance: Provenance,
    /// What all cells are that are not missing, whatever the trace: programs that read tables of many runs rely on it.
    #[serde(skip)]
    pub kind: CellKind,
}

/// What the cells of a column are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// [`Cell::Text`].
    Text,
    /// [`Cell::Int`].
    Int,
    /// [`Cell::Float`].
    Float,
    /// Cells of several kinds.
    Mixed,
}

impl Column {
    /// The title, with a mark if the numbers use an assumed peak ([`Table::mark`] explains it).
    pub fn heading(&self) -> String {
        let mark = if self.provenance == Provenance::AssumedPeak {
            "†"
        } else {
            ""
        };
        format!("{}{mark}", self.title)
    }
}

/// One cell of a [`Table`].
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Cell {
    /// Unknown; never shown as 0.
    Missing,
    /// Text.
    Text(String),
    /// An integer in the column's unit.
    Int(i64),
    /// A number in the column's unit.
    Float(f64),
}

impl Cell {
    /// A text.
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }
    /// A string, or [`Cell::Missing`] if it is empty.
    pub fn non_empty(text: &str) -> Self {
        if text.is_empty() {
            Self::Missing
        } else {
            Self::text(text)
        }
    }
    /// A count.
    pub fn count(count: u64) -> Self {
        count.into()
    }
}

/// A type of the cells of a column.
pub trait CellType: Into<Cell> {
    /// What its cells are.
    const KIND: CellKind;
}

impl CellType for Cell {
    const KIND: CellKind = CellKind::Mixed;
}

impl<T: CellType> CellType for Option<T> {
    const KIND: CellKind = T::KIND;
}

impl<'a, T> CellType for &'a Option<T>
where
    &'a T: CellType,
{
    const KIND: CellKind = <&'a T>::KIND;
}

/// Conversions from the types of report fields; `None` becomes [`Cell::Missing`].
macro_rules! cells {
    ($($of:ty: $value:ident => $kind:ident($cell:expr);)*) => {
        $(impl From<$of> for Cell {
            fn from($value: $of) -> Self {
                Self::$kind($cell)
            }
        }
        impl CellType for $of {
            const KIND: CellKind = CellKind::$kind;
        })*
    };
}

cells! {
    String: text => Text(text);
    &String: text => Text(text.clone());
    &str: text => Text(text.to_owned());
    &Arc<str>: text => Text(text.to_string());
    i64: value => Int(value);
    u32: value => Int(value.into());
    u64: count => Int(i64::try_from(count).unwrap_or(i64::MAX));
    usize: count => Int(i64::try_from(count).unwrap_or(i64::MAX));
    f64: value => Float(value);
}

impl<T: Into<Self>> From<Option<T>> for Cell {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Missing, Into::into)
    }
}

impl<'a, T> From<&'a Option<T>> for Cell
where
    &'a T: Into<Self>,
{
    fn from(value: &'a Option<T>) -> Self {
        value.as_ref().map_or(Self::Missing, Into::into)
    }
}

/// A table of a report, ready to be printed, exported or shown.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct Table {
    /// Stable name.
    pub id: &'static str,
    /// Heading for people.
    pub title: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, best first; each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// Notes for the reader (denominators, exclusions).
    pub notes: Vec<String>,
}

impl Table {
    /// Starts a table of `rows`. Columns follow; [`build`](TableBuilder::build) ends it.
    pub fn of<'a, R: Copy>(
        id: &'static str,
        title: impl Into<String>,
        rows: impl IntoIterator<Item = R>,
    ) -> TableBuilder<'a, R> {
        let rows = rows.into_iter().collect();
        TableBuilder {
            id,
            title: title.into(),
            columns: Vec::new(),
            rows,
            notes: Vec::new(),
        }
    }

    /// Explanation of the mark in headings, if one is marked.
    pub fn mark(&self) -> Option<&'static str> {
        let marked = self
            .columns
            .iter()
            .any(|column| column.provenance == Provenance::AssumedPeak);
        marked.then_some("† against an assumed peak: this capture does not record it")
    }
}

/// A column over rows of type `R`.
struct TypedColumn<'a, R> {
    head: Column,
    cell: Box<dyn Fn(R) -> Cell + 'a>,
}

/// Builds a [`Table`] from rows of type `R`; see [`Table::of`]. Each method call adds a column: id, title, unit and the
/// cell of a row. The method names the provenance.
pub struct TableBuilder<'a, R> {
    id: &'static str,
    title: String,
    columns: Vec<TypedColumn<'a, R>>,
    rows: Vec<R>,
    notes: Vec<String>,
}

/// Methods that add a column with a fixed provenance.
macro_rules! columns_by_provenance {
    ($($method:ident: $provenance:ident;)*) => {
        $(
            #[doc = concat!("Adds a column of [`Provenance::", stringify!($provenance), "`].")]
            pub fn $method<C: CellType>(
                self,
                id: &'static str,
                title: &'static str,
                unit: Unit,
                cell: impl Fn(R) -> C + 'a,
            ) -> Self {
                self.column(id, title, unit, Provenance::$provenance, cell)
            }
        )*
    };
}

impl<'a, R: Copy> TableBuilder<'a, R> {
    /// Adds a column of any provenance.
    pub fn column<C: CellType>(
        mut self,
        id: &'static str,
        title: &'static str,
        unit: Unit,
        provenance: Provenance,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        let head = Column {
            id,
            title,
            unit,
            provenance,
            kind: C::KIND,
        };
        self.columns.push(TypedColumn {
            head,
            cell: Box::new(move |row| cell(row).into()),
        });
        self
    }

    columns_by_provenance! {
        measured: Measured;
        recorded: Profile;
        compiler: StaticCost;
        derived: Derived;
        inferred: Inferred;
    }

    /// Adds a note for the reader.
    pub fn note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// Adds notes for the reader.
    pub fn notes(mut self, notes: impl IntoIterator<Item = String>) -> Self {
        self.notes.extend(notes);
        self
    }

    /// Computes the cells, row by row.
    pub fn build(self) -> Table {
        let cells = |row: &R| {
            self.columns
                .iter()
                .map(|column| (column.cell)(*row))
                .collect()
        };
        Table {
            id: self.id,
            title: self.title,
            rows: self.rows.iter().map(cells).collect(),
            columns: self.columns.into_iter().map(|column| column.head).collect(),
            notes: self.notes,
        }
    }
}
