//! Rows by the values of a column, for joins that ask a table for one value after the other.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use rayon::slice::ParallelSliceMut as _;
use session::tables::{ColumnKind, DataTable, Value};

/// Scans of a table for single values before its rows are sorted: sorting takes as long as a few scans.
pub(super) const SCANS_BEFORE: usize = 8;

/// Rows with a value, sorted by it.
pub(super) struct ValueIndex(Vec<(i64, u32)>);

impl ValueIndex {
    /// The index of a column of integers or choices, whose values are their codes; `None` for others.
    fn of(table: &DataTable, column: usize) -> Option<Self> {
        let column = table.columns.get(column)?;
        let key = |row: usize| match column.kind() {
            ColumnKind::Int => match column.value(row) {
                Value::Int(value) => Some(value),
                _ => None,
            },
            ColumnKind::Choice => column.code(row).map(i64::from),
            ColumnKind::Float | ColumnKind::Text => None,
        };
        let rows = u32::try_from(table.len).ok()?;
        let mut keys: Vec<(i64, u32)> = (0..rows)
            .filter_map(|row| Some((key(row as usize)?, row)))
            .collect();
        keys.par_sort_unstable();
        Some(Self(keys))
    }

    /// The value and each row that has it, in order.
    pub(super) fn rows(&self, value: i64) -> &[(i64, u32)] {
        let from = self.0.partition_point(|(key, _)| *key < value);
        let until = self.0.partition_point(|(key, _)| *key <= value);
        self.0.get(from..until).unwrap_or_default()
    }
}

/// The indexes of a table by their columns, made when first needed; `None` for columns that have none.
#[derive(Default)]
pub(super) struct ValueIndexes(Mutex<BTreeMap<usize, Option<Arc<ValueIndex>>>>);

impl ValueIndexes {
    pub(super) fn of(&self, table: &DataTable, column: usize) -> Option<Arc<ValueIndex>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .entry(column)
            .or_insert_with(|| ValueIndex::of(table, column).map(Arc::new))
            .clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use analysis::{Provenance, Unit};
    use session::tables::data::Field;

    #[test]
    fn rows_are_found_by_value_in_their_order() {
        let rows = Arc::new([Some(3), None, Some(-1), Some(3)]);
        let table = DataTable::of("numbers", "some numbers", rows.len(), rows)
            .fact(
                "n",
                "a number",
                Unit::None,
                Provenance::Derived,
                Field::Int(|all, row| all[row]),
            )
            .build();
        let index = ValueIndexes::default().of(&table, 0).unwrap();
        assert_eq!(index.rows(3), [(3, 0), (3, 3)]);
        assert_eq!(index.rows(-1), [(-1, 2)]);
        assert!(index.rows(0).is_empty(), "a missing value is none");
    }
}
