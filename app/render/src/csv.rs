//! Tables as comma-separated values (RFC 4180): exact and unscaled, with units in the column names. A file contains one
//! table, as most programs expect.

use crate::prelude::*;
use session::tables::CsvCells;

use ::csv::WriterBuilder;
use analysis::{CellKind, Column, Provenance};

/// A table of a report.
#[derive(Debug)]
pub struct NamedTable {
    /// Id of the report.
    pub report: &'static str,
    pub table: Table,
}

impl NamedTable {
    /// `ops.groups`
    pub fn name(&self) -> String {
        format!("{}.{}", self.report, self.table.id)
    }

    fn is_called(&self, name: &str) -> bool {
        self.table.id == name || self.name() == name
    }
}

/// Every table of a document, gates first.
pub fn tables(document: &Document) -> Vec<NamedTable> {
    let named = |report: &'static str, tables: Vec<Table>| {
        tables
            .into_iter()
            .map(move |table| NamedTable { report, table })
    };
    let gated = document.gated.iter().filter(|gated| gated.are_set);
    let mut tables: Vec<_> = gated
        .flat_map(|gated| named("gates", gated.report.tables()))
        .collect();
    for section in document.sections() {
        if let Ok(report) = &section.result {
            tables.extend(named(section.id, report.tables()));
        }
    }
    if let Some(badge) = document.session.model().badge() {
        for one in &mut tables {
            add_badge(&mut one.table, &badge);
        }
    }
    tables
}

/// Adds a column that states in every row what produced times that were not measured.
fn add_badge(table: &mut Table, badge: &str) {
    let (id, title) = ("times_from", "Times from");
    table.columns.push(Column {
        id,
        title,
        unit: Unit::None,
        provenance: Provenance::Derived,
        kind: CellKind::Text,
    });
    table
        .rows
        .iter_mut()
        .for_each(|row| row.push(Cell::text(badge)));
}

/// The tables with this name, alone or with the name of the report; all if there is no name. `missing` are reports without
/// tables, and why.
pub fn chosen<'a>(
    tables: &'a [NamedTable],
    wanted: Option<&str>,
    missing: &[(&str, String)],
) -> Result<Vec<&'a NamedTable>, String> {
    let chosen: Vec<_> = tables
        .iter()
        .filter(|one| wanted.is_none_or(|wanted| one.is_called(wanted)))
        .collect();
    let Some(wanted) = wanted.filter(|_| chosen.is_empty()) else {
        return Ok(chosen);
    };
    let of_report = |(report, _): &&(&str, String)| wanted.split('.').next() == Some(*report);
    let only = || {
        missing
            .first()
            .filter(|_| tables.is_empty() && missing.len() == 1)
    };
    Err(match missing.iter().find(of_report).or_else(only) {
        Some((report, why)) => {
            format!("there is no table {wanted:?}: {report} does not apply: {why}")
        }
        None => format!("there is no table {wanted:?}; {}", there_are(tables)),
    })
}

/// The one table for a CSV file.
pub fn one<'a>(
    tables: &'a [NamedTable],
    wanted: Option<&str>,
    missing: &[(&str, String)],
) -> Result<&'a NamedTable, String> {
    match chosen(tables, wanted, missing)?[..] {
        [only] => Ok(only),
        [] => Err(
            "none of these reports has a table for this trace; --format text says why".to_owned(),
        ),
        _ => Err(format!(
            "CSV is one table: name it with --table NAME, or write all with -o csv=DIRECTORY/; {}",
            there_are(tables)
        )),
    }
}

fn there_are(tables: &[NamedTable]) -> String {
    match tables {
        [] => "no report has one for this trace, and --format text says why".to_owned(),
        tables => format!(
            "there are {}",
            joined(tables.iter().map(NamedTable::name), ", ")
        ),
    }
}

/// One table with at most `rows` rows, or all if that is 0.
pub fn csv(table: &Table, rows: usize, cells: CsvCells) -> String {
    let shown = table
        .rows
        .iter()
        .take(if rows == 0 { usize::MAX } else { rows });
    let written = |cell: &Cell| written(cell, cells);
    records(
        table.columns.iter().map(|column| column.id),
        shown.map(|row| row.iter().map(written)),
    )
}

/// One row of a table.
pub fn row(row: &[Cell], cells: CsvCells) -> String {
    record(row.iter().map(|cell| written(cell, cells)))
}

fn written(cell: &Cell, cells: CsvCells) -> String {
    match cell {
        Cell::Text(text) => cells.text(text).into_owned(),
        cell => exact(cell),
    }
}

/// One line.
pub fn record<T: AsRef<[u8]>>(cells: impl IntoIterator<Item = T>) -> String {
    records(cells, std::iter::empty::<[&str; 0]>())
}

/// A line of headings and a line each row.
///
/// # Panics
///
/// Never: writing to memory cannot fail and yields UTF-8.
pub fn records<T: AsRef<[u8]>, R: IntoIterator<Item: AsRef<[u8]>>>(
    head: impl IntoIterator<Item = T>,
    rows: impl IntoIterator<Item = R>,
) -> String {
    const IN_MEMORY: &str = "writing to memory cannot fail and yields UTF-8";
    let mut out = WriterBuilder::new().flexible(true).from_writer(Vec::new());
    out.write_record(head).expect(IN_MEMORY);
    for row in rows {
        out.write_record(row).expect(IN_MEMORY);
    }
    String::from_utf8(out.into_inner().expect(IN_MEMORY)).expect(IN_MEMORY)
}

/// A cell as programs read it: exact and without its unit; empty where it is missing.
pub fn exact(cell: &Cell) -> String {
    match cell {
        Cell::Missing => String::new(),
        Cell::Text(text) => text.clone(),
        Cell::Int(number) => number.to_string(),
        Cell::Float(number) => analysis::number::exact(*number),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_quoted_only_if_needed() {
        let plain = CsvCells::Exact;
        let rows = [
            ("fusion.1", Some(0.1)),
            ("f32[2,3] \"a\"", None),
            ("two\nlines", Some(-7.0)),
        ];
        let table = Table::of("t", "", rows)
            .measured("name", "", Unit::None, |row| row.0)
            .measured("value", "", Unit::None, |row| row.1)
            .build();
        assert_eq!(
            csv(&table, 0, plain),
            "name,value\nfusion.1,0.1\n\"f32[2,3] \"\"a\"\"\",\n\"two\nlines\",-7\n"
        );
        assert_eq!(csv(&table, 1, plain), "name,value\nfusion.1,0.1\n");
        let one = Table::of("t", "", [None::<f64>])
            .measured("value", "", Unit::None, |row| row)
            .build();
        assert_eq!(
            csv(&one, 0, plain),
            "value\n\"\"\n",
            "a row of nothing is no empty line: readers skip those"
        );
    }

    #[test]
    fn spreadsheets_get_no_formulas_if_asked_for() {
        let guarded = CsvCells::Spreadsheet;
        for text in ["=1+1", "+1", "-1", "@sum", "\t=1", "\r=1"] {
            assert_eq!(guarded.text(text), format!("'{text}"));
            assert_eq!(CsvCells::Exact.text(text), text);
        }
        assert_eq!(guarded.text("fusion.1"), "fusion.1");
        let table = Table::of("t", "", [("-x", -7.0)])
            .measured("name", "", Unit::None, |row| row.0)
            .measured("value", "", Unit::None, |row| row.1)
            .build();
        assert_eq!(
            csv(&table, 0, guarded),
            "name,value\n'-x,-7\n",
            "numbers are no texts"
        );
    }
}
