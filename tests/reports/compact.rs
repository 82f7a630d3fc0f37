//! A report's JSON as compact text: a line for each value at the top level and for each group of
//! such values, and a CSV table for each list of rows. Lists within rows are separate tables, whose first column is
//! the index of the row that they belong to.
//!
//! ```text
//! devices: 8
//! peaks: flops=2.0e14, source=recorded
//! [rows] 12
//! name,total_ps
//! fusion.1,70
//! 11 more,930
//! [rows.per_core] 2
//! of,core,total_ps
//! 0,TPU:0,70
//! ```
//!
//! The last line of a long table has the sums of the omitted rows. Columns that are missing in
//! all rows are left out.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// Rounds floats, whose last bits may differ between machines.
const DIGITS: usize = 6;

/// Rows of a table that are written.
const MAX_ROWS: usize = 6;
/// Values of a list of texts or numbers that are written.
const MAX_ITEMS: usize = 12;

pub fn lines(report: &Value) -> Vec<String> {
    let mut tables = Tables::default();
    let mut own = Row::new();
    tables.walk("", report, "", &mut own, None);
    let mut lines: Vec<String> = Vec::new();
    let mut inside: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (name, value) in &own {
        match name.rsplit_once('.') {
            None => lines.push(format!("{name}: {}", text(value))),
            Some((outer, name)) => inside
                .entry(outer)
                .or_default()
                .push(format!("{name}={}", text(value))),
        }
    }
    lines.extend(
        inside
            .iter()
            .map(|(outer, fields)| format!("{outer}: {}", fields.join(", "))),
    );
    for (name, rows) in tables.0 {
        lines.extend(table(&name, &rows));
    }
    lines
}

/// A field that is no list of rows, by its name.
type Row = BTreeMap<String, Value>;

/// The rows of each list, by the path to it.
#[derive(Default)]
struct Tables(BTreeMap<String, Vec<Row>>);

impl Tables {
    /// Takes `value` apart: its fields into `row`, its lists of rows into tables below `path`.
    fn walk(
        &mut self,
        path: &str,
        value: &Value,
        name: &str,
        row: &mut Row,
        number: Option<usize>,
    ) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields {
                    self.walk(path, value, &joined(name, field), row, number);
                }
            }
            Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
                let path = joined(path, name);
                for item in items {
                    let mut inner = Row::new();
                    if let Some(number) = number {
                        // Sorts before all names of fields.
                        inner.insert(OF.to_owned(), number.into());
                    }
                    let number = self.0.get(&path).map_or(0, Vec::len);
                    self.0.entry(path.clone()).or_default().push(Row::new());
                    self.walk(&path, item, "", &mut inner, Some(number));
                    if let Some(place) = self.0.get_mut(&path).and_then(|rows| rows.get_mut(number))
                    {
                        *place = inner;
                    }
                }
            }
            Value::Array(items) => drop(row.insert(name.to_owned(), listed(items).into())),
            other => drop(row.insert(name.to_owned(), other.clone())),
        }
    }
}

/// The column with the row of the enclosing table.
const OF: &str = "#of";

fn joined(path: &str, name: &str) -> String {
    match (path, name) {
        (path, "") => path.to_owned(),
        ("", name) => name.to_owned(),
        _ => format!("{path}.{name}"),
    }
}

/// Texts or numbers in one cell; of many, the first ones and a summary of the rest.
fn listed(items: &[Value]) -> String {
    let (shown, rest) = items.split_at(items.len().min(MAX_ITEMS));
    let mut words: Vec<String> = shown.iter().map(text).collect();
    if !rest.is_empty() {
        words.push(format!(
            "{} more: {}",
            rest.len(),
            sum(&rest.iter().collect::<Vec<_>>())
        ));
    }
    words.join(" | ")
}

/// A summary of many values: their sum, or the number of distinct texts.
fn sum(values: &[&Value]) -> String {
    let numbers: Vec<f64> = values.iter().filter_map(|value| value.as_f64()).collect();
    if !numbers.is_empty() {
        return rounded(numbers.iter().sum());
    }
    let texts: BTreeSet<String> = values
        .iter()
        .filter(|value| !value.is_null())
        .map(|value| text(value))
        .collect();
    if texts.is_empty() {
        String::new()
    } else {
        format!("{} different", texts.len())
    }
}

fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.replace('\n', " / "),
        Value::Number(number) if number.is_f64() => {
            number.as_f64().map_or_else(String::new, rounded)
        }
        other => other.to_string(),
    }
}

fn rounded(number: f64) -> String {
    let digits: f64 = format!("{number:.*e}", DIGITS - 1)
        .parse()
        .unwrap_or(number);
    Value::from(digits).to_string()
}

fn table(name: &str, rows: &[Row]) -> Vec<String> {
    let mut names: Vec<&String> = rows.iter().flat_map(Row::keys).collect();
    names.sort_unstable();
    names.dedup();
    let values = |name: &String, from: usize| {
        rows.iter()
            .skip(from)
            .filter_map(|row| row.get(name))
            .collect::<Vec<_>>()
    };
    names.retain(|name| values(name, 0).iter().any(|value| !value.is_null()));
    // Columns that identify a row come before its numbers.
    names.sort_by_key(|name| {
        (
            *name != OF,
            !values(name, 0).iter().any(|value| value.is_string()),
        )
    });
    let mut lines = vec![format!("[{name}] {}", rows.len())];
    lines.push(csv(names.iter().map(|name| {
        if name.is_empty() {
            "value".to_owned()
        } else {
            (*name).clone()
        }
    })));
    for row in rows.iter().take(MAX_ROWS) {
        lines.push(csv(names
            .iter()
            .map(|name| row.get(*name).map_or_else(String::new, text))));
    }
    if rows.len() > MAX_ROWS {
        let rest = names.iter().map(|name| match name.as_str() {
            OF => String::new(),
            _ => sum(&values(name, MAX_ROWS)),
        });
        lines.push(format!("{} more: {}", rows.len() - MAX_ROWS, csv(rest)));
    }
    lines
}

fn csv(cells: impl Iterator<Item = String>) -> String {
    let quoted = cells.map(|cell| {
        if cell.contains([',', '"']) {
            format!("\"{}\"", cell.replace('"', "\"\""))
        } else {
            cell
        }
    });
    quoted.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lists_of_rows_are_tables_and_the_rest_are_lines() {
        let report = json!({
            "count": 2, "missing": null, "inner": {"share_percent": 33.333_333_33}, "notes": ["a", "b, c"],
            "rows": [
                {"name": "x", "time_ps": 7, "none": null, "cores": [{"core": 0}, {"core": 1}]},
                {"name": "y, z", "time_ps": 8, "none": null, "cores": [{"core": 2}]},
            ],
        });
        let expected = [
            "count: 2",
            "missing: ",
            "notes: a | b, c",
            "inner: share_percent=33.3333",
            "[rows] 2",
            "name,time_ps",
            "x,7",
            "\"y, z\",8",
            "[rows.cores] 3",
            "#of,core",
            "0,0",
            "0,1",
            "1,2",
        ];
        assert_eq!(lines(&report), expected);
    }

    #[test]
    fn end_of_a_long_list_is_compared() {
        let report = |last: u32| {
            let row = |number: u32| json!({ "name": format!("op.{number}"), "time_ps": number });
            lines(&json!({ "rows": (0..20).chain([last]).map(row).collect::<Vec<_>>() }))
        };
        let all = report(20);
        assert_eq!(
            (all.len(), all.last().unwrap().as_str()),
            (2 + MAX_ROWS + 1, "15 more: 15 different,195.0")
        );
        assert_ne!(report(20), report(21));
    }
}
