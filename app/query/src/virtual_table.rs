//! Tables of a trace as virtual tables of SQLite: it fetches rows and values on demand, without a copy.
//!
//! SQLite calls back through C structures that begin with its own fields. The two `unsafe impl` below promise exactly
//! that layout (`repr(C)`, SQLite's part first); everything else is safe code.
//!
//! What is pushed down: comparisons of integer columns with numbers, equality of [choices](ColumnKind::Choice), and the
//! order by choices, with which SQLite groups without sorting. SQLite tests every row again, so a filter may let too
//! many rows through, never too few. Whoever asks for one value after the other, as an outer join does, gets an
//! [index](ValueIndexes) of the column after a few scans.

#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::RefCell;
use std::ffi::{CStr, CString, c_int};
use std::ops::Range;
use std::sync::Arc;

use rayon::slice::ParallelSliceMut as _;
use rusqlite::types::ValueRef;
use rusqlite::vtab::{
    Context, Filters, IndexInfo, Module, VTab, VTabConfig, VTabConnection, VTabCursor,
    sqlite3_vtab, sqlite3_vtab_cursor,
};
use rusqlite::{Connection, Error, Result};

use session::tables::{ColumnKind, DataTable, RowFilter, Value, cut};

use crate::scan_plan::{Constraint, FilterOperator, ScanPlan};
use crate::value_index::{SCANS_BEFORE, ValueIndexes};

/// Registers a table in SQLite under its name.
pub(super) fn register(connection: &Connection, table: &Arc<DataTable>) -> Result<()> {
    const MODULE: Module<'_, TraceTable> = Module::eponymous_only_module();
    connection.create_module(table.name.as_str(), &MODULE, Some(Arc::clone(table)))
}

#[repr(C)]
struct TraceTable {
    base: sqlite3_vtab,
    table: Arc<DataTable>,
    indexes: Arc<ValueIndexes>,
}

/// The `CREATE TABLE` statement of a table.
fn definition(table: &DataTable) -> String {
    let kind = |kind| match kind {
        ColumnKind::Int => "INTEGER",
        ColumnKind::Float => "REAL",
        ColumnKind::Text | ColumnKind::Choice => "TEXT",
    };
    let columns = table
        .columns
        .iter()
        .map(|column| format!("\"{}\" {}", column.name, kind(column.kind())));
    format!("CREATE TABLE x({})", trace_model::joined(columns, ", "))
}

// SAFETY: `repr(C)`, and the first field is `sqlite3_vtab`.
unsafe impl<'vtab> VTab<'vtab> for TraceTable {
    type Aux = Arc<DataTable>;
    type Cursor = TraceCursor;

    fn connect(
        db: &mut VTabConnection,
        aux: Option<&Self::Aux>,
        _module: &[u8],
        _database: &[u8],
        _table: &[u8],
        _args: &[&[u8]],
    ) -> Result<(Cow<'static, CStr>, Self)> {
        let table = aux.ok_or_else(|| Error::ModuleError("a table without data".to_owned()))?;
        db.config(VTabConfig::Innocuous)?;
        let definition = CString::new(definition(table))
            .map_err(|error| Error::ModuleError(error.to_string()))?;
        Ok((
            Cow::Owned(definition),
            Self {
                base: sqlite3_vtab::default(),
                table: Arc::clone(table),
                indexes: Arc::default(),
            },
        ))
    }

    fn best_index(&self, info: &mut IndexInfo) -> Result<bool> {
        let plan = ScanPlan::of(&self.table, info);
        let mut places = 0;
        for constraint in &plan.constraints {
            places += 1;
            info.constraint_usage(constraint.number)
                .set_argv_index(places);
        }
        let rows = plan.rows(self.table.len);
        info.set_estimated_rows(i64::try_from(rows).unwrap_or(i64::MAX));
        // Skipping rows without an index costs a tenth of returning them to SQLite.
        let walked = if plan.is_key(&self.table) {
            1
        } else {
            self.table.len.max(1)
        };
        info.set_estimated_cost(walked as f64 * 0.1 + rows as f64);
        info.set_order_by_consumed(!plan.order.is_empty());
        info.set_idx_str(&plan.encoded());
        Ok(true)
    }

    fn open(&'vtab mut self) -> Result<Self::Cursor> {
        Ok(TraceCursor {
            base: sqlite3_vtab_cursor::default(),
            table: Arc::clone(&self.table),
            indexes: Arc::clone(&self.indexes),
            scans: 0,
            rows: RemainingRows::Ranges(Vec::new()),
            checks: Vec::new(),
            row: None,
            text: RefCell::default(),
        })
    }
}

/// A condition on a row.
enum RowCheck {
    Limits(RowFilter),
    Choice {
        column: usize,
        code: Option<u32>,
    },
    /// A comparison with NULL, as a join has on rows without the key: no row passes, and none need be read.
    Never,
}

impl RowCheck {
    fn of(table: &DataTable, constraint: Constraint, value: ValueRef<'_>) -> Option<Self> {
        let Constraint {
            column, comparison, ..
        } = constraint;
        match (table.columns.get(column)?.kind(), value) {
            (_, ValueRef::Null) => Some(Self::Never),
            (ColumnKind::Int, ValueRef::Integer(value)) => {
                let (least, most) = match comparison {
                    FilterOperator::Equal => (value, value),
                    FilterOperator::Above => (value.saturating_add(1), i64::MAX),
                    FilterOperator::AtLeast => (value, i64::MAX),
                    FilterOperator::Below => (i64::MIN, value.saturating_sub(1)),
                    FilterOperator::AtMost => (i64::MIN, value),
                };
                Some(Self::Limits(RowFilter {
                    column,
                    least,
                    most,
                }))
            }
            (ColumnKind::Choice, ValueRef::Text(text)) => {
                let choices = table.columns.get(column)?.choices()?;
                let code = std::str::from_utf8(text)
                    .ok()
                    .and_then(|text| choices.code(text));
                Some(Self::Choice { column, code })
            }
            _ => None,
        }
    }

    /// The column and the only value that passes, or its code; `None` if several pass, or no row.
    fn value(&self) -> Option<(usize, i64)> {
        match self {
            Self::Limits(limits) => {
                (limits.least == limits.most).then_some((limits.column, limits.least))
            }
            Self::Choice { column, code } => Some((*column, i64::from((*code)?))),
            Self::Never => None,
        }
    }

    fn passes(&self, table: &DataTable, row: usize) -> bool {
        match self {
            Self::Limits(RowFilter {
                column,
                least,
                most,
            }) => {
                let value = table.columns.get(*column).map(|column| column.value(row));
                matches!(value, Some(Value::Int(value)) if (*least..=*most).contains(&value))
            }
            Self::Choice { column, code } => {
                code.is_some()
                    && table
                        .columns
                        .get(*column)
                        .is_some_and(|column| column.code(row) == *code)
            }
            Self::Never => false,
        }
    }
}

/// Rows still to come, the next one last.
enum RemainingRows {
    Ranges(Vec<Range<usize>>),
    Sorted(Vec<u32>),
}

impl RemainingRows {
    fn next(&mut self) -> Option<usize> {
        match self {
            Self::Sorted(rows) => rows.pop().map(|row| row as usize),
            Self::Ranges(ranges) => loop {
                let range = ranges.last_mut()?;
                match range.next() {
                    Some(row) => return Some(row),
                    None => ranges.pop(),
                };
            },
        }
    }
}

#[repr(C)]
struct TraceCursor {
    base: sqlite3_vtab_cursor,
    table: Arc<DataTable>,
    indexes: Arc<ValueIndexes>,
    /// How often rows with a value were looked for among all rows.
    scans: usize,
    rows: RemainingRows,
    checks: Vec<RowCheck>,
    row: Option<usize>,
    /// Row and column of the last text that was made and not only looked up, and the text: SQLite asks again for each
    /// mention in a query, and arguments are read from the file.
    text: RefCell<Option<(usize, c_int, String)>>,
}

impl TraceCursor {
    fn passes(&self, row: usize) -> bool {
        self.checks
            .iter()
            .all(|check| check.passes(&self.table, row))
    }

    fn advance(&mut self) {
        self.row = loop {
            match self.rows.next() {
                Some(row) if !self.passes(row) => {}
                row => break row,
            }
        };
    }

    /// The rows with a wanted value, the first one last, by the index of its column; `None` where fewer are `walked`,
    /// or nobody asked often enough.
    fn indexed(&mut self, plan: &ScanPlan, walked: usize) -> Option<Vec<u32>> {
        if !plan.order.is_empty() || plan.is_key(&self.table) {
            return None;
        }
        let (column, value) = self.checks.iter().find_map(RowCheck::value)?;
        self.scans += 1;
        if self.scans <= SCANS_BEFORE {
            return None;
        }
        let index = self.indexes.of(&self.table, column)?;
        let rows = index.rows(value);
        (rows.len() < walked).then(|| rows.iter().rev().map(|(_, row)| *row).collect())
    }

    /// Rows sorted by choices, the first one last. Missing values come first, as in SQLite.
    fn sorted(&self, ranges: Vec<Range<usize>>, order: &[(usize, bool)]) -> Vec<u32> {
        let columns = order
            .iter()
            .filter_map(|(column, down)| Some((self.table.columns.get(*column)?, *down)));
        let columns: Vec<_> = columns
            .filter_map(|(column, down)| Some((column, column.choices()?, down)))
            .collect();
        let key = |row: usize| {
            columns.iter().fold(0_u64, |key, (column, choices, down)| {
                let size = choices.len() as u64 + 1;
                let rank = column
                    .code(row)
                    .and_then(|code| choices.rank(code))
                    .map_or(0, |rank| u64::from(rank) + 1);
                key * size + if *down { size - 1 - rank } else { rank }
            })
        };
        let wanted = ranges.into_iter().flatten().filter(|&row| self.passes(row));
        let mut keys: Vec<u64> = wanted.map(|row| key(row) << 32 | row as u64).collect();
        keys.par_sort_unstable_by(|a, b| b.cmp(a));
        keys.into_iter().map(|key| key as u32).collect()
    }
}

// SAFETY: `repr(C)`, and the first field is `sqlite3_vtab_cursor`.
unsafe impl VTabCursor for TraceCursor {
    fn filter(&mut self, _number: c_int, plan: Option<&str>, args: &Filters<'_>) -> Result<()> {
        let plan = ScanPlan::decoded(plan.unwrap_or_default());
        let checks = plan.constraints.iter().zip(args.iter());
        self.checks = checks
            .filter_map(|(constraint, value)| RowCheck::of(&self.table, *constraint, value))
            .collect();
        let limits = self.checks.iter().filter_map(|check| {
            if let RowCheck::Limits(limits) = check {
                Some(*limits)
            } else {
                None
            }
        });
        let is_none = self
            .checks
            .iter()
            .any(|check| matches!(check, RowCheck::Never));
        let mut ranges = if is_none {
            Vec::new()
        } else {
            self.table.find(&limits.collect::<Vec<_>>())
        };
        let walked = ranges.iter().map(ExactSizeIterator::len).sum();
        self.rows = if let Some(rows) = self.indexed(&plan, walked) {
            RemainingRows::Sorted(rows)
        } else if plan.order.is_empty() {
            ranges.reverse();
            RemainingRows::Ranges(ranges)
        } else {
            RemainingRows::Sorted(self.sorted(ranges, &plan.order))
        };
        self.advance();
        Ok(())
    }

    fn next(&mut self) -> Result<()> {
        self.advance();
        Ok(())
    }

    fn eof(&self) -> bool {
        self.row.is_none()
    }

    fn column(&self, context: &mut Context, number: c_int) -> Result<()> {
        let known = self.text.borrow();
        if let Some((row, column, text)) = &*known
            && (Some(*row), *column) == (self.row, number)
        {
            return context.set_result(text);
        }
        drop(known);
        let column = usize::try_from(number)
            .ok()
            .and_then(|column| self.table.columns.get(column));
        match self.row.zip(column).map(|(row, column)| column.value(row)) {
            Some(Value::Text(Cow::Owned(text))) => {
                let text = cut(&text).into_owned();
                context.set_result(&text)?;
                *self.text.borrow_mut() = self.row.map(|row| (row, number, text));
                Ok(())
            }
            Some(Value::Int(number)) => context.set_result(number),
            Some(Value::Float(number)) => context.set_result(number),
            Some(Value::Text(text)) => context.set_result(&*cut(&text)),
            Some(Value::Missing) | None => context.set_result(rusqlite::types::Null),
        }
    }

    fn rowid(&self) -> Result<i64> {
        Ok(self.row.map_or(-1, |row| row as i64))
    }
}
