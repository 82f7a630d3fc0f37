//! The part of a report that the next question needs: few columns, few rows. The rest is there on demand.

use serde_json::Value;

use crate::answer::AnswerTable;

/// How to get the rest of a table.
pub const MORE: &str = "top 0: all rows and columns";

/// What is shown of a table.
pub struct BriefTable {
    pub id: &'static str,
    /// Its columns; those without any value are left out.
    pub columns: &'static [&'static str],
    pub rows: BriefRows,
}

/// Which rows of a table are shown.
#[derive(Clone, Copy)]
pub enum BriefRows {
    /// The first of them.
    First(usize),
    /// The first of each subject of the table before: rows that begin with the same value.
    Each(usize),
}

/// The brief form of tables, in this order; `top` is the number of rows of the first one, `more` says how to get the rest.
pub fn brief(
    tables: Vec<AnswerTable>,
    wanted: &[BriefTable],
    top: Option<usize>,
    more: &str,
) -> Vec<AnswerTable> {
    let mut tables: Vec<Option<AnswerTable>> = tables.into_iter().map(Some).collect();
    let mut subjects: Vec<Value> = Vec::new();
    let mut out = Vec::new();
    for (index, brief) in wanted.iter().enumerate() {
        let is_it = |table: &&mut Option<AnswerTable>| {
            table.as_ref().is_some_and(|table| table.id == brief.id)
        };
        let Some(mut table) = tables.iter_mut().find(is_it).and_then(Option::take) else {
            continue;
        };
        let all = table.rows.len();
        match brief.rows {
            BriefRows::First(rows) => {
                let top = top.filter(|_| index == 0);
                table.rows.truncate(top.unwrap_or(rows));
                let first = table.rows.iter().filter_map(|row| row.first().cloned());
                subjects = first.collect();
            }
            BriefRows::Each(rows) => {
                let mut seen = vec![0; subjects.len()];
                table.rows.retain(|row| {
                    let subject = subjects.iter().position(|one| Some(one) == row.first());
                    subject.is_some_and(|subject| {
                        seen[subject] += 1;
                        seen[subject] <= rows
                    })
                });
            }
        }
        let table = table.with_columns(brief.columns);
        // Nothing to say, and not that something is missing.
        if table.rows.is_empty() && index > 0 {
            continue;
        }
        out.push(table.counted(all, more));
    }
    out
}

impl AnswerTable {
    /// Some of its columns, in this order; those without a value in any row are left out.
    pub fn with_columns(self, wanted: &[&str]) -> Self {
        let is_empty = |value: &Value| value.is_null() || value == "";
        let columns = wanted
            .iter()
            .filter_map(|id| self.columns.iter().position(|column| column.id == *id));
        let has_value = |index: &usize| {
            self.rows
                .iter()
                .any(|row| row.get(*index).is_some_and(|cell| !is_empty(cell)))
        };
        let places: Vec<usize> = columns
            .filter(|index| self.rows.is_empty() || has_value(index))
            .collect();
        let rows = self.rows.iter().map(|row| {
            places
                .iter()
                .map(|&index| row.get(index).cloned().unwrap_or_default())
                .collect()
        });
        Self {
            columns: places
                .iter()
                .map(|&index| self.columns[index].clone())
                .collect(),
            rows: rows.collect(),
            ..self
        }
    }

    /// Says how many rows are left out of `all`.
    pub fn counted(mut self, all: usize, more: &str) -> Self {
        self.total_rows = all;
        if self.rows.len() < all {
            let (shown, id) = (self.rows.len(), &self.id);
            self.notes
                .push(format!("{shown} of {all} rows of {id}; {more}"));
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn brief_tables_keep_what_belongs_to_the_rows_shown() {
        let hints = [["K01", "a", ""], ["K02", "b", ""], ["K03", "c", ""]];
        let ops = [
            ["K02", "x"],
            ["K01", "y"],
            ["K03", "z"],
            ["K01", "v"],
            ["K01", "w"],
        ];
        let tables = || {
            let text = |row: &[&str]| row.iter().map(|text| json!(text)).collect::<Vec<_>>();
            let mut first = AnswerTable::of_texts("hints", ["hint", "title", "also"], []);
            first.rows = hints.iter().map(|row| text(row)).collect();
            let mut second = AnswerTable::of_texts("ops", ["hint", "op"], []);
            second.rows = ops.iter().map(|row| text(row)).collect();
            vec![first, second]
        };
        let wanted = [
            BriefTable {
                id: "hints",
                columns: &["hint", "also", "none", "title"],
                rows: BriefRows::First(1),
            },
            BriefTable {
                id: "ops",
                columns: &["op", "hint"],
                rows: BriefRows::Each(2),
            },
        ];
        let found = brief(tables(), &wanted, None, MORE);
        assert_eq!(found[0].rows, [[json!("K01"), json!("a")]]);
        assert_eq!(
            found[1].rows,
            [[json!("y"), json!("K01")], [json!("v"), json!("K01")]]
        );
        assert_eq!((found[1].total_rows, found[1].notes.len()), (5, 1));
        let found = brief(tables(), &wanted, Some(9), MORE);
        assert_eq!(
            (
                found[0].rows.len(),
                found[1].rows.len(),
                found[0].notes.len()
            ),
            (3, 4, 0)
        );
    }
}
