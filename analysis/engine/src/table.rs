//! Tables: typed columns over the rows of a report.

use std::borrow::Cow;
use std::sync::Arc;

use hardware::limits::BoundBy;
use hardware::padding::Dimension;
use math::unit::Unit;

use trace_model::{Picos, Timestamp};

use super::number;
use super::percent::Percent;
use super::provenance::Provenance;

/// One column of a [`Table`].
#[engine::reported]
#[derive(Eq)]
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
    /// [`Cell::Text`] about the cell of the next column: people read both as one ([`Table::for_people`]).
    Mark,
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
#[engine::reported]
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

/// Whether a number is only a lower bound: a column in front of that of the number.
#[derive(Clone, Copy, Debug)]
pub struct LowerBound(pub bool);

impl LowerBound {
    const MARK: &'static str = "at least";

    /// The number as text, with the mark if it is a lower bound: `at least 9.000 %`.
    pub fn of(self, number: String) -> String {
        if self.0 {
            format!("{} {number}", Self::MARK)
        } else {
            number
        }
    }
}

impl CellType for LowerBound {
    const KIND: CellKind = CellKind::Mark;

    fn cell(&self) -> Cell {
        if self.0 {
            Cell::text(Self::MARK)
        } else {
            Cell::Missing
        }
    }
}

/// A table of a report, ready to be printed, exported or shown.
#[engine::reported]
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

    /// The table without the columns of these ids.
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

    /// The table without the marks ([`CellKind::Mark`]) that stand at no number.
    pub fn without_unused_marks(&self) -> Self {
        let is_unused = |column_index| {
            let mut cells = self
                .rows
                .iter()
                .map(|row: &Vec<Cell>| row.get(column_index));
            cells.all(|cell| cell == Some(&Cell::Missing))
        };
        let columns = self.columns.iter().enumerate();
        let unused = columns.filter(|(column_index, column)| {
            column.kind == CellKind::Mark && is_unused(*column_index)
        });
        let unused: Vec<&str> = unused.map(|(_, column)| column.id).collect();
        self.without(&unused)
    }

    /// The table with each mark ([`CellKind::Mark`]) in the cell of the number that it is about.
    pub fn for_people(&self) -> Cow<'_, Self> {
        let is_mark = |column: &&Column| column.kind == CellKind::Mark;
        let marks: Vec<&str> = self
            .columns
            .iter()
            .filter(is_mark)
            .map(|column| column.id)
            .collect();
        if marks.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut table = self.clone();
        for row in &mut table.rows {
            for (index, column) in self.columns.iter().enumerate().skip(1) {
                let [mark, number] = [row.get(index - 1), row.get(index)];
                let Some((Cell::Text(mark), &Cell::Float(value))) = mark.zip(number) else {
                    continue;
                };
                if marks.contains(&self.columns[index - 1].id) {
                    row[index] =
                        Cell::Text(format!("{mark} {}", number::value(value, column.unit)));
                }
            }
        }
        Cow::Owned(table.without(&marks))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_read_the_mark_of_a_lower_bound_before_its_number() {
        let rows = [
            ("HBM", true, Some(9.0)),
            ("idle", false, Some(2.5)),
            ("MFU", false, None),
        ];
        let table = Table::of("t", "", rows)
            .derived("metric", "Metric", Unit::None, |row| row.0)
            .derived("value_bound", "Bound", Unit::None, |row| LowerBound(row.1))
            .derived("value_percent", "Value", Unit::Percent, |row| row.2)
            .build();
        assert_eq!(
            table.rows[0][1..],
            [Cell::text("at least"), Cell::Float(9.0)]
        );
        let read = table.for_people();
        assert_eq!(read.columns.len(), 2);
        assert_eq!(
            read.rows[0],
            [Cell::text("HBM"), Cell::text("at least 9.000 %")]
        );
        assert_eq!(read.rows[1], [Cell::text("idle"), Cell::Float(2.5)]);
        assert_eq!(read.rows[2], [Cell::text("MFU"), Cell::Missing]);
    }
}
