//! A table of a report as a [`DataTable`].

use std::borrow::Cow;
use std::sync::Arc;

use analysis::{Cell, CellKind, Column, Table, Unit};
use trace_model::TraceModel;

use super::data::{DataTable, Field};

struct ReportColumn {
    table: Arc<Table>,
    column: usize,
}

impl ReportColumn {
    fn cell(&self, row: usize) -> Option<&Cell> {
        self.table.rows.get(row)?.get(self.column)
    }
}

impl DataTable {
    /// Sets the provenance that columns have in this trace: what a simulator or model computed was not measured, but
    /// counts are those of the file.
    pub(super) fn in_trace(mut self, model: &TraceModel) -> Self {
        let columns = self.columns.iter_mut();
        for column in columns.filter(|column| column.unit != Unit::Count) {
            column.provenance = column.provenance.map(|from| from.in_trace(model));
        }
        self
    }
}

pub fn of_report(name: &str, report: &str, table: Table) -> DataTable {
    let about = format!("{} (report {report})", table.title);
    let table = Arc::new(table);
    let mut data = DataTable::of(name, &about, table.rows.len(), Arc::new(())).build();
    for (column, head) in table.columns.iter().enumerate() {
        let rows = Arc::new(ReportColumn {
            table: Arc::clone(&table),
            column,
        });
        let (id, title) = (Cow::Borrowed(head.id), Cow::Borrowed(head.title));
        let one = DataTable::of(name, "", 0, rows).with(
            id,
            title,
            head.unit,
            Some(head.provenance),
            field(head),
        );
        data.columns.extend(one.build().columns);
    }
    data
}

fn field(head: &Column) -> Field<ReportColumn> {
    let kind = match (head.kind, head.unit) {
        (CellKind::Mixed, Unit::None) => CellKind::Text,
        (CellKind::Mixed, Unit::Count) => CellKind::Int,
        (CellKind::Mixed, _) => CellKind::Float,
        (kind, _) => kind,
    };
    match kind {
        CellKind::Int => Field::Int(|all, row| match all.cell(row)? {
            Cell::Int(number) => Some(*number),
            Cell::Float(number) => Some(*number as i64),
            Cell::Text(_) | Cell::Missing => None,
        }),
        CellKind::Float => Field::Float(|all, row| match all.cell(row)? {
            Cell::Int(number) => Some(*number as f64),
            Cell::Float(number) => Some(*number),
            Cell::Text(_) | Cell::Missing => None,
        }),
        CellKind::Text | CellKind::Mark | CellKind::Mixed => {
            Field::Text(|all, row| match all.cell(row)? {
                // Nothing to say of a row is a missing value.
                Cell::Text(text) => Some(Cow::Borrowed(&**text)).filter(|text| !text.is_empty()),
                Cell::Int(number) => Some(Cow::Owned(number.to_string())),
                Cell::Float(number) => Some(Cow::Owned(number.to_string())),
                Cell::Missing => None,
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::data::{ColumnKind, Value};
    use super::super::samples;
    use super::*;
    use analysis::{ANALYSES, Scope};

    #[test]
    fn mixed_type_columns_keep_every_cell() {
        let mut seen = 0;
        for (file, session) in samples::sessions() {
            for entry in ANALYSES {
                let Ok(report) = session.report_by_id(entry.id, Scope::WholeTrace) else {
                    continue;
                };
                for table in report.tables() {
                    let data = of_report(table.id, entry.id, table.clone());
                    for (column, head) in data.columns.iter().zip(0..) {
                        for (row, cells) in table.rows.iter().enumerate() {
                            let (cell, value) = (&cells[head], column.value(row));
                            let place = format!(
                                "{file} {}.{}: {cell:?} as {value:?}",
                                table.id, column.name
                            );
                            let is_finite =
                                !matches!(cell, Cell::Float(number) if !number.is_finite());
                            let is_missing =
                                matches!(cell, Cell::Missing) || *cell == Cell::text("");
                            assert_eq!(is_missing, value == Value::Missing && is_finite, "{place}");
                            let whole = column.kind() == ColumnKind::Int;
                            assert!(!(whole && matches!(cell, Cell::Float(_))), "{place}");
                            seen += 1;
                        }
                    }
                }
            }
        }
        assert!(seen > 1000, "{seen}");
    }
}
