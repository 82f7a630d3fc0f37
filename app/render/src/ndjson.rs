//! Tables as lines of JSON: one object per row, exact and unscaled, with units in the field names.

use serde_json::{Map, Value, json};

use analysis::Cell;

use crate::NamedTable;

/// Every row of the tables with the names of its report and table, at most `rows` rows of each (or all if that is 0); a
/// separate line counts the rows left out. Reports without an answer also have a line.
pub fn lines(tables: &[&NamedTable], not_applicable: &[(&str, String)], rows: usize) -> String {
    let mut text = String::new();
    let mut push = |line: Value| {
        text += &line.to_string();
        text.push('\n');
    };
    for NamedTable { report, table } in tables {
        let shown = if rows == 0 {
            table.rows.len()
        } else {
            table.rows.len().min(rows)
        };
        for row in &table.rows[..shown] {
            let mut line = Map::new();
            line.insert("report".to_owned(), json!(report));
            line.insert("table".to_owned(), json!(table.id));
            let cells = table.columns.iter().zip(row);
            line.extend(cells.map(|(column, cell)| (column.id.to_owned(), value(cell))));
            push(Value::Object(line));
        }
        if shown < table.rows.len() {
            push(
                json!({"report": report, "table": table.id, "truncated": true, "total": table.rows.len()}),
            );
        }
    }
    for (report, why) in not_applicable {
        push(json!({"report": report, "not_applicable": why}));
    }
    text
}

/// A cell as JSON; a missing one is null.
fn value(cell: &Cell) -> Value {
    match cell {
        Cell::Missing => Value::Null,
        Cell::Text(text) => json!(text),
        Cell::Int(number) => json!(number),
        Cell::Float(number) => json!(number),
    }
}
