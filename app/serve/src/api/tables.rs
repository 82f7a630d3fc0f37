//! Tables of the timeline and of reports, as `systole export` and `systole query` have them.

use super::prelude::*;
use serde_json::{Value, json};

use crate::noted::Noted;
use session::tables::{Catalog, DataColumn, DataTable, Value as Cell};

/// Rows of an answer.
const USUAL: usize = 1000;
const MOST: usize = 100_000;

/// Which rows, and which part of the trace reports are about.
#[derive(Deserialize, JsonSchema)]
pub(super) struct RowParams {
    /// Most rows.
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(default = "usual")]
    limit: usize,
    /// Rows to leave out at the beginning.
    #[schemars(range(max = 4_294_967_295u32))]
    #[serde(default)]
    offset: u32,
    #[serde(flatten)]
    about: AboutParams,
}

fn usual() -> usize {
    USUAL
}

/// The tables of a run.
#[derive(Serialize, JsonSchema)]
pub(super) struct TableList {
    /// The tables.
    tables: Vec<TableEntry>,
}

/// A table without its rows.
#[derive(Serialize, JsonSchema)]
struct TableEntry {
    /// Its name.
    name: String,
    /// What a row is.
    about: String,
    /// Number of rows.
    rows: usize,
    /// Its columns.
    columns: Vec<ColumnEntry>,
}

/// A column.
#[derive(Serialize, JsonSchema)]
struct ColumnEntry {
    /// Its name, which ends in its unit.
    name: String,
    /// What it means.
    about: String,
    /// Unit of the values; null for texts and pure numbers.
    unit: Option<String>,
    /// Where its numbers come from: measured, simulated, predicted, recorded, compiler, derived, assumed, inferred; null for names and ids.
    provenance: Option<&'static str>,
}

/// Rows of a table.
#[derive(Serialize, JsonSchema)]
pub(super) struct TableRows {
    /// Name of the table.
    name: String,
    /// Its columns.
    columns: Vec<ColumnEntry>,
    /// The rows, each as long as `columns`; null is a missing value, never 0.
    rows: Vec<Vec<Value>>,
    /// Rows of the whole table.
    total: usize,
    /// How many were left out at the beginning.
    offset: usize,
}

impl From<&DataColumn> for ColumnEntry {
    fn from(column: &DataColumn) -> Self {
        Self {
            name: column.name.clone().into_owned(),
            about: column.about.clone().into_owned(),
            unit: column.unit_name(),
            provenance: column.provenance.map(analysis::Provenance::title),
        }
    }
}

fn columns(table: &DataTable) -> Vec<ColumnEntry> {
    table.columns.iter().map(ColumnEntry::from).collect()
}

fn value(cell: Cell<'_>) -> Value {
    match cell {
        Cell::Missing => Value::Null,
        Cell::Int(number) => json!(number),
        Cell::Float(number) => json!(number),
        Cell::Text(text) => Value::String(text.into_owned()),
    }
}

pub(super) async fn list(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    Params(about): Params<AboutParams>,
) -> Result<Json<Noted<TableList>>, ApiError> {
    let tables = state.about(id, about, |session, scope, _| {
        let entry = |table: &DataTable| TableEntry {
            name: table.name.clone(),
            about: table.about.clone(),
            rows: table.len,
            columns: columns(table),
        };
        let tables = Catalog::new(session, scope);
        let tables = tables.all().iter().map(|table| entry(table)).collect();
        Ok(TableList { tables })
    });
    Ok(Json(tables.await?))
}

pub(super) async fn rows(
    State(state): State<Shared>,
    InPath((id, name)): InPath<(String, String)>,
    Params(params): Params<RowParams>,
) -> Result<Json<Noted<TableRows>>, ApiError> {
    check_number("limit", params.limit, MOST)?;
    let answer = state.about(id, params.about, move |session, scope, _| {
        let catalog = Catalog::new(session, scope);
        let table = catalog.table(&name).ok_or_else(|| {
            let names = trace_model::joined(catalog.all().iter().map(|table| &table.name), ", ");
            let view = query::VIEWS.iter().find(|view| view.name == name);
            let cure = view.map_or_else(String::new, |_| {
                format!("; {name} is a view of …/query: sql=SELECT * FROM {name}")
            });
            ApiError::missing(format!(
                "the run has no table {name:?}{cure}; the tables are {names}"
            ))
        })?;
        let offset = params.offset as usize;
        let row = |row| {
            table
                .columns
                .iter()
                .map(|column| value(column.value(row)))
                .collect()
        };
        Ok(TableRows {
            name: table.name.clone(),
            columns: columns(&table),
            rows: (0..table.len)
                .skip(offset)
                .take(params.limit)
                .map(row)
                .collect(),
            total: table.len,
            offset,
        })
    });
    Ok(Json(answer.await?))
}
