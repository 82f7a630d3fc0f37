//! Tables: typed columns over the rows of a report.

use std::sync::Arc;

use hardware::limits::BoundBy;
use hardware::padding::Dimension;
use math::unit::Unit;
use serde::Serialize;

use trace_model::{Picos, Timestamp};

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
    /// Those of `tables` that have rows.
    pub fn filled(tables: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut tables: Vec<Self> = tables.into_iter().collect();
        tables.retain(|table| !table.rows.is_empty());
        tables
    }

    /// The same without the columns of these ids.
    #[must_use]
    pub fn without(&self, ids: &[&str]) -> Self {
        let mut table = self.clone();
        let is_kept: Vec<bool> = table
            .columns
            .iter()
            .map(|column| !ids.contains(&column.id))
            .collect();
        let mut kept = is_kept.iter();
        table
            .columns
            .retain(|_| kept.next().is_none_or(|kept| *kept));
        for row in &mut table.rows {
            let mut kept = is_kept.iter();
            row.retain(|_| kept.next().is_none_or(|kept| *kept));
        }
        table
    }

    /// Explanation of the mark in headings, if one is marked.
    pub fn mark(&self) -> Option<&'static str> {
        let marked = self
            .columns
            .iter()
            .any(|column| column.provenance == Provenance::AssumedPeak);
        marked.then_some("† against assumed peaks, where this capture records none")
    }
}
