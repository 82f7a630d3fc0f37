//! Parts shared by the page of one run and the page of two runs.

use crate::prelude::*;
use maud::{Markup, PreEscaped, html};

use super::style;
use crate::gates::{actual, base};

/// Maximum number of rows of a table.
pub const ROWS: usize = 15;
/// A page with its title, and the `command` that has every number.
pub fn whole(title: &str, command: &str, body: &Markup) -> String {
    let page = html! {
        (PreEscaped("<!doctype html>\n"))
        html lang="en" {
            head { (style::head()) title { (title) " · Systole" } }
            body {
                main {
                    (body)
                    footer.dim { "Systole " (env!("CARGO_PKG_VERSION")) ". Every number: systole " (command) " --format json." }
                }
            }
        }
    };
    // Names can hold letters that turn the text or command whatever prints the page.
    page.into_string().replace(
        |letter| letter != '\n' && !analysis::is_printable(letter),
        " ",
    )
}

/// A note if the times of a side were not measured.
pub fn marked(side: &str, badge: Option<String>) -> Markup {
    html! { @if let Some(badge) = badge { p { (side) b.warn { (badge) } } } }
}

/// A section; nothing if it is empty.
pub fn section(title: &str, body: &Markup) -> Markup {
    html! { @if !body.0.is_empty() { "\n" section { h2 { (title) } (body) } } }
}

/// Failed gates, at the top of the page.
pub fn failures(report: &GatesReport) -> Markup {
    let failed: Vec<_> = report.failed().collect();
    let title = if let [only] = failed[..] {
        only.name()
    } else {
        format!("{} gates", failed.len())
    };
    html! {
        @if !failed.is_empty() { h1.fail { "✗ Failed: " (title) } }
        // A message begins with the id of a metric.
        @for gate in failed { p.fail { (gate.message) } }
    }
}

pub fn gates_section(report: &GatesReport) -> Markup {
    let word = |status, level| match (status, level) {
        (Status::Pass, _) => ("pass", "✓ pass"),
        (Status::Fail, GateLevel::Error) => ("fail", "✗ fail"),
        (Status::Fail, _) => ("warn", "! warning"),
        (Status::Inconclusive, _) => ("warn", "? inconclusive"),
    };
    let rows = report
        .gates
        .iter()
        .map(|gate| (gate, word(gate.status, gate.level)));
    let body = html! {
        div.scroll {
            table {
                tr { th { "Gate" } th.n.wide { "Actual" } th.n.wide { "Baseline" } th { "What" } }
                @for (gate, (class, word)) in rows {
                    tr {
                        td { b class=(class) { (word) } " " (gate.name()) }
                        td.n.wide { (actual(gate)) }
                        td.n.wide { (base(gate)) }
                        td { (gate.message) }
                    }
                }
            }
        }
    };
    section(&capitalised(&report.statement), &body)
}

/// A table with formatted numbers; a wide one scrolls.
pub fn html_table(table: &Table) -> Markup {
    let table = &*table.for_people();
    let is_number =
        |row: &Vec<Cell>, index| matches!(row.get(index), Some(Cell::Int(_) | Cell::Float(_)));
    let are_numbers =
        |index, unit| unit != Unit::None || table.rows.iter().any(|row| is_number(row, index));
    let classes: Vec<_> = table
        .columns
        .iter()
        .enumerate()
        .map(|(index, column)| are_numbers(index, column.unit).then_some("n"))
        .collect();
    html! {
        div.scroll {
            table {
                tr { @for (column, class) in table.columns.iter().zip(&classes) { th class=[class] { (column.title) } } }
                @for row in table.rows.iter().take(ROWS) {
                    tr {
                        @for ((cell, column), class) in row.iter().zip(&table.columns).zip(&classes) {
                            td class=[class] { (number::in_column(cell, column)) }
                        }
                    }
                }
            }
        }
        @if table.rows.len() > ROWS { p.dim { "… " (table.rows.len() - ROWS) " more rows" } }
    }
}

/// File and line; the tooltip has the whole path.
pub fn source_cell(source: Option<&str>) -> Markup {
    let source = source.unwrap_or_default();
    html! { td.dim.wide title=(source) { (source.rsplit(['/', '\\']).next().unwrap_or_default()) } }
}
