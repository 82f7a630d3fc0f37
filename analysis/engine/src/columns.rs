//! Columns that the rows of a report declare.

use std::sync::Arc;

use math::unit::Unit;

use super::provenance::Provenance;
use super::table::{Cell, CellKind, CellType, Column};

/// A row of a report, whose fields declare their columns of tables beside their place in JSON.
///
/// `#[engine::row(PROVENANCE)]` declares it, with one of `measured`, `recorded`, `compiler`, `derived`, `inferred`, and derives
/// what JSON needs; `#[derive(Columns)]` with `#[columns(PROVENANCE)]` is for rows that are not written. Columns are the fields
/// with `#[column]` or `#[column("Title")]`. The id of the column is the name of the field. Its unit is told by the
/// name (`…_ps`, `…_percent`, `…_bytes`, `…bandwidth`); other whole numbers are counts. Without a title it has the words of
/// its id: that of `self_time_ps` is `Self time`. After the title may stand
///
/// - another provenance; `peak`: that of the peak which the table names with [`TableBuilder::peak`],
/// - `unit = BytesPerSecond`,
/// - `id = "…"`, for a column of another name than the field,
/// - `with = FUNCTION`, from the row to what the column shows,
/// - `non_empty`: an empty text is missing.
///
/// A field may declare several columns. `#[column(nested)]` takes those of a row within this one.
///
/// ```
/// # use engine::{Columns, Table};
/// #[derive(Columns)]
/// #[columns(measured)]
/// struct Kernel {
///     #[column("Kernel")]
///     name: String,
///     #[column("Runs")]
///     occurrences: u64,
///     #[column(compiler)]
///     bytes: Option<u64>,
/// }
///
/// let kernels = [Kernel { name: "attention".to_owned(), occurrences: 3, bytes: None }];
/// let table = Table::of("kernels", "Kernels", &kernels).remaining().build();
/// assert_eq!(table.columns[1].heading(), "Runs");
/// assert_eq!(table.columns[2].title, "Bytes");
/// ```
///
/// [`TableBuilder::peak`]: super::TableBuilder::peak
pub trait Columns: Sized + 'static {
    /// Adds the columns, in the order of the fields.
    fn declare(columns: &mut DeclaredColumns<Self>);
}

/// One column that rows of type `R` declare.
pub(crate) struct DeclaredColumn<R> {
    pub head: Column,
    /// Whether the provenance is that of the peak which the table names.
    pub is_of_peak: bool,
    pub cell: Box<dyn Fn(&R) -> Cell>,
}

/// The columns that rows of type `R` declare.
pub struct DeclaredColumns<R>(Vec<DeclaredColumn<R>>);

impl<R: Columns> DeclaredColumns<R> {
    /// All of them, in the order of the fields.
    pub(crate) fn of_rows() -> Vec<DeclaredColumn<R>> {
        let mut columns = Self(Vec::new());
        R::declare(&mut columns);
        columns.0
    }

    /// Declares a column; without `provenance`, that of the peak which the table names applies.
    pub fn column(
        &mut self,
        [id, title]: [&'static str; 2],
        unit: Unit,
        provenance: Option<Provenance>,
        kind: CellKind,
        cell: impl Fn(&R) -> Cell + 'static,
    ) {
        let head = Column {
            id,
            title,
            unit,
            provenance: provenance.unwrap_or(Provenance::Derived),
            kind,
        };
        self.0.push(DeclaredColumn {
            head,
            is_of_peak: provenance.is_none(),
            cell: Box::new(cell),
        });
    }

    /// Declares the columns of a row within this one; their cells are missing where it is.
    pub fn nested<N: Columns>(&mut self, inner: impl Fn(&R) -> Option<&N> + Copy + 'static) {
        for column in DeclaredColumns::<N>::of_rows() {
            let cell = column.cell;
            self.0.push(DeclaredColumn {
                head: column.head,
                is_of_peak: column.is_of_peak,
                cell: Box::new(move |row| inner(row).map_or(Cell::Missing, &cell)),
            });
        }
    }
}

/// A row within another: there, or perhaps missing.
pub trait NestedRow {
    /// Type of the row.
    type Row;
    /// The row, if it is there.
    fn row(&self) -> Option<&Self::Row>;
}

impl<R: Columns> NestedRow for R {
    type Row = R;
    fn row(&self) -> Option<&R> {
        Some(self)
    }
}

impl<R: Columns> NestedRow for Option<R> {
    type Row = R;
    fn row(&self) -> Option<&R> {
        self.as_ref()
    }
}

impl<R: Columns> Columns for Arc<R> {
    fn declare(columns: &mut DeclaredColumns<Self>) {
        columns.nested(|row| Some(&**row));
    }
}

/// What the cells of a column are that `show` computes from a row.
pub fn kind_of<'a, R: 'a, C: CellType, F: Fn(&'a R) -> C>(_show: F) -> CellKind {
    C::KIND
}

/// The cell that `show` computes from `row`.
pub fn cell_of<'a, R, C: CellType>(row: &'a R, show: impl Fn(&'a R) -> C) -> Cell {
    show(row).cell()
}
