//! How a query reads a table: what SQLite offers, chosen, and handed to the cursor as text.

use rusqlite::vtab::{IndexConstraintOp, IndexInfo};
use session::tables::{ColumnKind, DataTable};

/// A comparison that the cursor evaluates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FilterOperator {
    Equal,
    Above,
    AtLeast,
    Below,
    AtMost,
}

pub(super) const COMPARISONS: [(FilterOperator, &str); 5] = [
    (FilterOperator::Equal, "="),
    (FilterOperator::Above, ">"),
    (FilterOperator::AtLeast, "ge"),
    (FilterOperator::Below, "<"),
    (FilterOperator::AtMost, "le"),
];

/// One comparison of a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Constraint {
    /// Its index among the constraints that SQLite offers.
    pub number: usize,
    pub column: usize,
    pub comparison: FilterOperator,
}

/// How a query reads a table: chosen in `best_index`, passed to `filter` as text.
#[derive(Debug, Default)]
pub(super) struct ScanPlan {
    pub constraints: Vec<Constraint>,
    /// Columns by which rows are sorted, and whether in descending order.
    pub order: Vec<(usize, bool)>,
}

impl ScanPlan {
    pub fn of(table: &DataTable, info: &IndexInfo) -> Self {
        let mut plan = Self::default();
        for (number, constraint) in info.constraints().enumerate() {
            let Ok(column) = usize::try_from(constraint.column()) else {
                continue;
            };
            let Some(kind) = table
                .columns
                .get(column)
                .map(session::tables::DataColumn::kind)
            else {
                continue;
            };
            let comparison = match constraint.operator() {
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_EQ => FilterOperator::Equal,
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GT => FilterOperator::Above,
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_GE => FilterOperator::AtLeast,
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LT => FilterOperator::Below,
                IndexConstraintOp::SQLITE_INDEX_CONSTRAINT_LE => FilterOperator::AtMost,
                _ => continue,
            };
            let is_equal = comparison == FilterOperator::Equal;
            let is_exact = || {
                info.collation(number)
                    .is_ok_and(|collation| collation == "BINARY")
            };
            let fits =
                kind == ColumnKind::Int || (kind == ColumnKind::Choice && is_equal && is_exact());
            if constraint.is_usable() && fits {
                plan.constraints.push(Constraint {
                    number,
                    column,
                    comparison,
                });
            }
        }
        let order = info.order_bys().map(|order| {
            Some((
                usize::try_from(order.column()).ok()?,
                order.is_order_by_desc(),
            ))
        });
        plan.order = order
            .collect::<Option<Vec<_>>>()
            .filter(|order| key_space(table, order).is_some())
            .unwrap_or_default();
        plan
    }

    /// Whether at most one row can match.
    pub fn is_key(&self, table: &DataTable) -> bool {
        table.has_index()
            && self
                .constraints
                .iter()
                .any(|one| one.column == 0 && one.comparison == FilterOperator::Equal)
    }

    /// An estimate of the number of rows that match, of `all`.
    pub fn rows(&self, all: usize) -> usize {
        let left = self
            .constraints
            .iter()
            .fold(all as f64, |left, one| match one.comparison {
                FilterOperator::Equal if one.column == 0 => 1.0,
                FilterOperator::Equal => left / 50.0,
                _ => left / 3.0,
            });
        (left as usize).max(1)
    }

    pub fn encoded(&self) -> String {
        let sign = |wanted| {
            COMPARISONS
                .iter()
                .find(|(one, _)| *one == wanted)
                .map_or("", |(_, sign)| sign)
        };
        let constraints = self
            .constraints
            .iter()
            .map(|one| format!("{}{}", sign(one.comparison), one.column));
        let order = self
            .order
            .iter()
            .map(|(column, down)| format!("{}{column}", if *down { '-' } else { '+' }));
        trace_model::joined(constraints.chain(order), " ")
    }

    pub fn decoded(text: &str) -> Self {
        let mut plan = Self::default();
        for word in text.split_whitespace() {
            if let Some(column) = word
                .strip_prefix(['+', '-'])
                .and_then(|column| column.parse().ok())
            {
                plan.order.push((column, word.starts_with('-')));
                continue;
            }
            let comparison = COMPARISONS
                .iter()
                .find_map(|(comparison, sign)| Some((*comparison, word.strip_prefix(sign)?)));
            if let Some((comparison, column)) =
                comparison.and_then(|(one, column)| Some((one, column.parse().ok()?)))
            {
                plan.constraints.push(Constraint {
                    number: plan.constraints.len(),
                    column,
                    comparison,
                });
            }
        }
        plan
    }
}

/// How many different keys rows have in an order by choices; `None` if it is no such order, or there are too many.
pub(super) fn key_space(table: &DataTable, order: &[(usize, bool)]) -> Option<u64> {
    let fits = u32::try_from(table.len).is_ok() && !order.is_empty();
    let size = |column: usize| Some(table.columns.get(column)?.choices()?.len() as u64 + 1);
    let space = order.iter().try_fold(1_u64, |space, (column, _)| {
        space.checked_mul(size(*column)?)
    });
    space.filter(|&space| fits && u32::try_from(space).is_ok())
}
