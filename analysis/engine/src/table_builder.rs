//! Building tables from rows.

use math::unit::Unit;

use super::columns::{Columns, DeclaredColumn, DeclaredColumns};
use super::provenance::Provenance;
use super::table::{Cell, CellType, Column, Table};

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
            if self
                .columns
                .iter()
                .all(|listed| listed.head.id != column.head.id)
            {
                self.add(column, |row| row);
            }
        }
        self
    }
}
