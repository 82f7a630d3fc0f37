//! The result of a query as a table, with units from the names of its columns.

use analysis::{Cell, CellKind, Column, Provenance, Table, Unit};

use crate::{QueryAnswer, SqlValue};
use trace_model::kept;

/// The rows and columns of an answer.
pub fn query_table(answer: QueryAnswer) -> Table {
    let rows: Vec<Vec<Cell>> = answer
        .rows
        .into_iter()
        .map(|row| row.into_iter().map(cell).collect())
        .collect();
    let columns = answer.columns.iter().enumerate().map(|(index, name)| {
        let (name, kind) = (
            kept(name),
            kind_of(rows.iter().filter_map(|row| row.get(index))),
        );
        Column {
            id: name,
            title: name,
            unit: unit_of(name),
            provenance: Provenance::Derived,
            kind,
        }
    });
    let columns: Vec<Column> = columns.collect();
    Table {
        id: "query",
        title: "Result".to_owned(),
        columns,
        rows,
        notes: Vec::new(),
    }
}

/// Columns are named like those of reports: with their unit at the end.
fn unit_of(name: &str) -> Unit {
    const UNITS: [(&str, Unit); 4] = [
        ("_ps", Unit::Picoseconds),
        ("bytes", Unit::Bytes),
        ("_percent", Unit::Percent),
        ("flops", Unit::Flop),
    ];
    UNITS
        .into_iter()
        .find(|(end, _)| name.ends_with(end))
        .map_or(Unit::None, |(_, unit)| unit)
}

/// The kind of all cells that have a value; SQL allows others in each row.
fn kind_of<'a>(cells: impl Iterator<Item = &'a Cell>) -> CellKind {
    let kinds = cells.filter_map(|cell| match cell {
        Cell::Missing => None,
        Cell::Text(_) => Some(CellKind::Text),
        Cell::Int(_) => Some(CellKind::Int),
        Cell::Float(_) => Some(CellKind::Float),
    });
    kinds
        .reduce(|all, kind| if all == kind { all } else { CellKind::Mixed })
        .unwrap_or(CellKind::Mixed)
}

fn cell(value: SqlValue) -> Cell {
    match value {
        SqlValue::Null => Cell::Missing,
        SqlValue::Integer(number) => Cell::Int(number),
        SqlValue::Real(number) => Cell::Float(number),
        SqlValue::Text(text) => Cell::text(text),
        SqlValue::Blob(bytes) => Cell::text(format!("{} bytes", bytes.len())),
    }
}

/// The bytes of the word at a place of a query: what an error is about.
pub fn word_at(sql: &str, position: usize) -> std::ops::Range<usize> {
    let Some(rest) = sql.get(position..) else {
        return sql.len()..sql.len();
    };
    let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(0, char::len_utf8);
    position..position + word.max(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_come_from_names_and_missing_stays_missing() {
        let answer = QueryAnswer {
            columns: ["name", "self_ps", "n"].map(str::to_owned).to_vec(),
            rows: vec![vec![
                SqlValue::Text("a".to_owned()),
                SqlValue::Integer(5),
                SqlValue::Null,
            ]],
            is_truncated: false,
        };
        let table = query_table(answer.clone());
        assert_eq!(
            table
                .columns
                .iter()
                .map(|column| column.unit)
                .collect::<Vec<_>>(),
            [Unit::None, Unit::Picoseconds, Unit::None]
        );
        assert_eq!(
            table
                .columns
                .iter()
                .map(|column| column.kind)
                .collect::<Vec<_>>(),
            [CellKind::Text, CellKind::Int, CellKind::Mixed]
        );
        assert_eq!(table.rows, [[Cell::text("a"), Cell::Int(5), Cell::Missing]]);
        assert!(
            std::ptr::eq(table.columns[0].id, query_table(answer).columns[0].id),
            "a name is kept once"
        );
    }

    #[test]
    fn error_marks_one_word() {
        let sql = "SELECT naem, 1 FROM slices";
        assert_eq!(&sql[word_at(sql, 7)], "naem");
        assert_eq!(&sql[word_at(sql, 11)], ",");
        assert_eq!(word_at(sql, 99), sql.len()..sql.len());
        assert_eq!(&"x é"[word_at("x é", 2)], "é");
    }
}
