//! Tables: typed columns over the rows of a report.

use std::sync::Arc;

use hardware::limits::BoundBy;
use hardware::padding::Dimension;
use math::unit::Unit;
use serde::Serialize;

use trace_model::{Picos, Timestamp};

use super::columns::{Columns, DeclaredColumn, DeclaredColumns};
use super::percent::Percent;
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
    /// This cell, or [`Cell::Missing`] for an empty text.
    pub fn non_empty(self) -> Self {
        match self {
            Self::Text(text) if text.is_empty() => Self::Missing,
            cell => cell,
        }
    }
    /// A count.
    pub fn count(count: u64) -> Self {
        count.cell()
    }
}

/// What a column can show: the types of fields of reports. `None` is [`Cell::Missing`].
pub trait CellType {
    /// What its cells are.
    const KIND: CellKind;

    /// The cell that shows it.
    fn cell(&self) -> Cell;
}

impl CellType for Cell {
    const KIND: CellKind = CellKind::Mixed;

    fn cell(&self) -> Cell {
        self.clone()
    }
}

impl<T: CellType> CellType for Option<T> {
    const KIND: CellKind = T::KIND;

    fn cell(&self) -> Cell {
        self.as_ref().map_or(Cell::Missing, CellType::cell)
    }
}

impl<T: CellType + ?Sized> CellType for &T {
    const KIND: CellKind = T::KIND;

    fn cell(&self) -> Cell {
        (*self).cell()
    }
}

/// Types of fields and their cells.
macro_rules! cells {
    ($($of:ty: $value:ident => $kind:ident($cell:expr);)*) => {
        $(impl CellType for $of {
            const KIND: CellKind = CellKind::$kind;

            fn cell(&self) -> Cell {
                let $value = self;
                Cell::$kind($cell)
            }
        })*
    };
}

cells! {
    String: text => Text(text.clone());
    str: text => Text(text.to_owned());
    Arc<str>: text => Text(text.to_string());
    Vec<String>: texts => Text(texts.join(", "));
    i64: value => Int(*value);
    u32: value => Int((*value).into());
    u64: count => Int(i64::try_from(*count).unwrap_or(i64::MAX));
    usize: count => Int(i64::try_from(*count).unwrap_or(i64::MAX));
    f64: value => Float(*value);
    Picos: time => Int(time.ps());
    Timestamp: at => Int(at.ps());
    Percent: percent => Float(percent.0);
}

/// Shows enums in tables by their `title()`.
#[macro_export]
macro_rules! shown_by_title {
    ($($of:ty),*) => {
        $(impl $crate::CellType for $of {
            const KIND: $crate::CellKind = $crate::CellKind::Text;

            fn cell(&self) -> $crate::Cell {
                $crate::Cell::text(self.title())
            }
        })*
    };
}

shown_by_title!(BoundBy, Dimension);

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
            peak: Provenance::Derived,
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
    peak: Provenance,
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
            cell: Box::new(move |row| cell(row).cell()),
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

    /// How well the peak is known that shares of a peak use, in the declared columns that follow.
    pub fn peak(mut self, provenance: Provenance) -> Self {
        self.peak = provenance;
        self
    }

    /// How well all columns so far are known, whatever they declare: no better than what they are computed from.
    pub fn known_as(mut self, provenance: Provenance) -> Self {
        for column in &mut self.columns {
            column.head.provenance = provenance;
        }
        self
    }

    /// Says that the columns of these ids are inferred, if they are.
    pub fn inferred_if<const N: usize>(mut self, is_inferred: bool, ids: [&str; N]) -> Self {
        for column in &mut self.columns {
            if is_inferred && ids.contains(&column.head.id) {
                column.head.provenance = Provenance::Inferred;
            }
        }
        self
    }

    /// Adds the columns of these ids that a part of the rows declares, in this order: for rows joined of several.
    ///
    /// # Panics
    /// If it does not declare one.
    pub fn declared_by<P: Columns, const N: usize>(
        mut self,
        part: impl Fn(R) -> &'a P + Copy + 'a,
        ids: [&str; N],
    ) -> Self {
        let mut all = DeclaredColumns::<P>::of_rows();
        for id in ids {
            let place = all.iter().position(|column| column.head.id == id);
            let place = place.unwrap_or_else(|| panic!("rows do not declare {id}"));
            self.add(all.swap_remove(place), part);
        }
        self
    }

    fn add<P: Columns>(&mut self, declared: DeclaredColumn<P>, part: impl Fn(R) -> &'a P + 'a) {
        let mut head = declared.head;
        if declared.is_of_peak {
            head.provenance = self.peak;
        }
        let cell = declared.cell;
        self.columns.push(TypedColumn {
            head,
            cell: Box::new(move |row| cell(part(row))),
        });
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

impl<'a, R: Columns> TableBuilder<'a, &'a R> {
    /// Adds the columns of these ids that the rows declare, in this order.
    ///
    /// # Panics
    /// If the rows do not declare one.
    pub fn declared<const N: usize>(self, ids: [&str; N]) -> Self {
        self.declared_by(|row| row, ids)
    }

    /// Adds the columns that the rows declare and the table does not have yet, in the order of the fields.
    pub fn remaining(mut self) -> Self {
        for column in DeclaredColumns::<R>::of_rows() {
            if self.columns.iter().all(|own| own.head.id != column.head.id) {
                self.add(column, |row| row);
            }
        }
        self
    }
}
