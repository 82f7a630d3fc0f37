//! Tables as comma-separated values (RFC 4180), exact and unscaled, units in the
//! column names.

use analysis::{Cell, Table, Tabular as _};

use super::Document;

/// Every table of a document. A single table is plain CSV; of several each
/// begins with a line `# analysis.table: title` and ends with an empty line.
pub fn document(document: &Document) -> String {
    let mut tables = Vec::new();
    if let Some(gated) = document.gated.as_ref().filter(|gated| gated.are_set) {
        tables.extend(gated.report.tables().into_iter().map(|table| ("gates", table)));
    }
    for section in document.sections() {
        if let Ok(report) = &section.result {
            tables.extend(report.tables().into_iter().map(|table| (section.id, table)));
        }
    }
    several(&tables)
}

/// Some tables, each with the id of its report.
pub fn several(tables: &[(&str, Table)]) -> String {
    if let [(_, only)] = tables {
        return csv(only);
    }
    let with_title = |(id, table): &(&str, Table)| {
        let title = table.title.replace(['\n', '\r'], " ");
        format!("# {id}.{}: {title}\n{}", table.id, csv(table))
    };
    tables.iter().map(with_title).collect::<Vec<_>>().join("\n")
}

/// One table.
pub fn csv(table: &Table) -> String {
    let heading: Vec<_> = table.columns.iter().map(|column| quoted(column.id)).collect();
    let mut text = heading.join(",") + "\n";
    for row in &table.rows {
        let cells: Vec<_> = row.iter().map(cell).collect();
        text.push_str(&cells.join(","));
        text.push('\n');
    }
    text
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Missing => String::new(),
        Cell::Text(text) => quoted(text),
        Cell::Int(number) => number.to_string(),
        Cell::Float(number) => number.to_string(),
    }
}

/// A text as one field.
pub fn quoted(text: &str) -> String {
    if text.contains(['"', ',', '\n', '\r']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_where_they_must_be() {
        assert_eq!(quoted("fusion.1"), "fusion.1");
        assert_eq!(quoted("f32[2,3] \"a\""), "\"f32[2,3] \"\"a\"\"\"");
        assert_eq!(cell(&Cell::Missing), "");
        assert_eq!(cell(&Cell::Float(0.1)), "0.1");
    }
}
