//! What can be asked: tables and views with their columns, functions, ready-made queries.

use crate::prelude::*;
use analysis::{Provenance, counted};
use query::{FUNCTIONS, PRESETS, QueryPreset, QueryView, SqlFunction, VIEWS};
use serde_json::Value as Json;
use session::tables::{ColumnKind, DataColumn, DataTable};

/// Everything, or the columns of one table, as text or JSON.
pub(super) fn text(tables: &[Arc<DataTable>], only: Option<&str>, is_text: bool) -> Result<String> {
    let Some(name) = only else {
        return Ok(if is_text {
            all(tables)
        } else {
            format!("{:#}\n", all_as_json(tables))
        });
    };
    let one = if let Some(table) = tables.iter().find(|table| table.name == name) {
        table_as_json(table)
    } else if let Some(view) = VIEWS.iter().find(|view| view.name == name) {
        view_as_json(view, tables)
    } else {
        let why = format!(
            "there is no table {name:?}: {}",
            joined(names(tables), ", ")
        );
        return Err(RequestError::Usage(why));
    };
    Ok(if is_text {
        columns_of(&one)
    } else {
        format!("{one:#}\n")
    })
}

fn names(tables: &[Arc<DataTable>]) -> impl Iterator<Item = &str> {
    let views = VIEWS.iter().map(|view| view.name);
    tables.iter().map(|table| &*table.name).chain(views)
}

fn all(tables: &[Arc<DataTable>]) -> String {
    let table = |table: &Arc<DataTable>| {
        format!(
            "  {} ({}): {}\n      {}",
            table.name,
            counted(table.len as u64, "row"),
            table.about,
            joined(table.columns.iter().map(|column| &*column.name), ", ")
        )
    };
    let view = |view: &QueryView| {
        format!(
            "  {} (of slices): {}\n      {}",
            view.name,
            view.about,
            joined(view.columns(), ", ")
        )
    };
    let function = |function: &SqlFunction| format!("  {:<24}{}", function.call, function.about);
    let preset = |preset: &QueryPreset| format!("  {:<16}{}", preset.name, preset.about);
    let mut lines = vec!["Tables (--list TABLE: its columns with units and meaning)".to_owned()];
    lines.extend(VIEWS.iter().map(view));
    lines.extend(tables.iter().map(table));
    lines.push("\nFunctions in addition to SQLite's".to_owned());
    lines.extend(FUNCTIONS.iter().map(function));
    lines.push("\nReady-made queries".to_owned());
    lines.extend(PRESETS.iter().map(preset));
    lines.push(
        "\nExample\n  systole query PATH \"SELECT name, us(sum(self_ps)) AS us FROM op_slices GROUP BY name\"\n"
            .to_owned(),
    );
    lines.join("\n")
}

fn column_as_json(column: &DataColumn) -> Json {
    let kind = match column.kind() {
        ColumnKind::Int => "integer",
        ColumnKind::Float => "number",
        ColumnKind::Text | ColumnKind::Choice => "text",
    };
    json!({
        "name": column.name, "type": kind, "about": column.about, "unit": column.unit_name(),
        "provenance": column.provenance.map(Provenance::title),
    })
}

fn table_as_json(table: &DataTable) -> Json {
    let columns: Vec<Json> = table.columns.iter().map(column_as_json).collect();
    json!({"name": table.name, "about": table.about, "rows": table.len, "columns": columns})
}

/// A view has types, units and sources of the columns of slices that are called the same.
fn view_as_json(view: &QueryView, tables: &[Arc<DataTable>]) -> Json {
    let slices = tables.iter().find(|table| table.name == "slices");
    let columns = view.selected.iter().map(|(_, name, about)| {
        let of = slices.and_then(|slices| slices.column(name));
        let mut column = of.map_or(json!({"name": name}), column_as_json);
        column["about"] = json!(about);
        column
    });
    let columns: Vec<Json> = columns.collect();
    json!({"name": view.name, "about": view.about, "view_of": "slices", "columns": columns})
}

fn all_as_json(tables: &[Arc<DataTable>]) -> Json {
    let functions = FUNCTIONS
        .iter()
        .map(|function| json!({"call": function.call, "about": function.about}));
    let queries = PRESETS
        .iter()
        .map(|one| json!({"name": one.name, "about": one.about, "sql": one.sql}));
    let views: Vec<Json> = VIEWS
        .iter()
        .map(|view| view_as_json(view, tables))
        .collect();
    json!({
        "tables": tables.iter().map(|table| table_as_json(table)).collect::<Vec<_>>(),
        "views": views,
        "functions": functions.collect::<Vec<_>>(),
        "queries": queries.collect::<Vec<_>>(),
    })
}

/// One table as text: a line for each column.
fn columns_of(table: &Json) -> String {
    let word = |value: &Json| value.as_str().unwrap_or("–").to_owned();
    let columns: Vec<&Json> = table["columns"].as_array().into_iter().flatten().collect();
    let width = |key: &str| {
        let widths = columns
            .iter()
            .map(|column| word(&column[key]).chars().count());
        widths.fold(0, usize::max)
    };
    let (name, unit) = (width("name"), width("unit"));
    let rows = table["rows"].as_u64();
    let rows = rows.map_or_else(|| "of slices".to_owned(), |rows| format!("{rows} rows"));
    let head = format!(
        "{} ({rows}): {}\n",
        word(&table["name"]),
        word(&table["about"])
    );
    columns.iter().fold(head, |text, column| {
        let (title, kind) = (word(&column["name"]), word(&column["type"]));
        let (of, about) = (word(&column["unit"]), word(&column["about"]));
        text + &format!("  {title:<name$}  {kind:<7}  {of:<unit$}  {about}\n")
    })
}
