//! The ops that take most time.

use analysis::ops::{OpRow, Ops};
use analysis::{Cell, Column, Provenance, Table, Unit};

use super::super::table::table;
use super::super::{Document, Layout, number};

/// One screen has room for these.
const ROWS: usize = 8;

/// The top of the op table, with the columns that say what to do about it.
pub fn top(document: &Document, layout: &Layout) -> String {
    let Ok(report) = document.session.report::<Ops>(document.scope) else { return String::new() };
    let top = if layout.top == 0 { ROWS } else { layout.top.min(ROWS) };
    let rows = &report.rows[..report.rows.len().min(top)];
    let mut notes = Vec::new();
    let hidden = report.rows.len() - rows.len();
    if hidden > 0 {
        let rest: i64 = report.rows[rows.len()..].iter().map(|row| row.self_time_ps).sum();
        let rest = trace_model::Picos::from_ps(rest);
        notes.push(format!("{hidden} more ops take {rest} together: --only ops --top 0"));
    }
    let column = |id, title, unit| Column { id, title, unit, provenance: Provenance::Derived };
    let columns = [
        column("name", "Op", Unit::None),
        column("category", "Category", Unit::None),
        column("occurrences", "Runs", Unit::Count),
        column("self_time_ps", "Self time", Unit::Picoseconds),
        column("share", "of device", Unit::Percent),
        column("flops_per_second", "FLOP/s", Unit::FlopPerSecond),
        column("limit", "Limit reached", Unit::None),
        column("source", "Source", Unit::None),
    ];
    let cells: Vec<Vec<Cell>> = rows.iter().map(row).collect();
    let title = match report.cores.len() {
        1 => "Top ops by self time".to_owned(),
        n => format!("Top ops by self time, {n} devices together"),
    };
    let table_of_rows =
        without_empty_columns(Table { id: "top_ops", title, columns: columns.into(), rows: cells, notes });
    table(&table_of_rows, &Layout { top: 0, ..*layout })
}

fn row(row: &OpRow) -> Vec<Cell> {
    let text = |text: Option<String>| text.filter(|text| !text.is_empty()).map_or(Cell::Missing, Cell::Text);
    vec![
        Cell::text(&row.name),
        text(Some(row.category.clone())),
        Cell::count(row.occurrences),
        Cell::Int(row.self_time_ps),
        Cell::maybe(row.self_of_total_percent),
        Cell::maybe(row.flops_per_second.filter(|&rate| rate > 0.0)),
        text(limit(row)),
        text(row.source.as_ref().map(|source| source.rsplit('/').next().unwrap_or(source).to_owned())),
    ]
}

/// `38.61 % Compute`: how near the op comes to the limit that binds it.
fn limit(row: &OpRow) -> Option<String> {
    let reached = number::value(row.efficiency_percent?, Unit::Percent);
    Some(format!("{reached} {}", row.bound_by?.title()))
}

/// Columns that say nothing about any row only take room.
fn without_empty_columns(mut table: Table) -> Table {
    let used: Vec<bool> =
        (0..table.columns.len()).map(|at| table.rows.iter().any(|row| row[at] != Cell::Missing)).collect();
    let mut keep = used.iter();
    table.columns.retain(|_| *keep.next().unwrap_or(&true));
    for row in &mut table.rows {
        let mut keep = used.iter();
        row.retain(|_| *keep.next().unwrap_or(&true));
    }
    table
}
