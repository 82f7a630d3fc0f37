//! `query`: SQL over the tables of a trace.

use std::sync::Arc;
use std::time::Duration;

use super::prelude::*;
use serde_json::{Value, json};

use crate::answer::{AnswerColumn, rounded};

use query::{Database, PRESETS, QueryError, QueryLimits, QueryView, SqlValue, VIEWS};
use session::tables::DataTable;

/// Most rows of an answer, which is sent in parts.
const MOST_ROWS: usize = 10_000;
/// Most rows of a part unless a call says otherwise.
const USUAL_ROWS: usize = 1_000;
/// Most bytes of all texts of the rows, before they are shortened.
const MOST_BYTES: usize = 64_000_000;
/// Memory of a query.
const MOST_MEMORY: usize = 512 << 20;
/// How long a query may take unless a call says otherwise, and at most.
const SECONDS: u32 = 60;
const MOST_SECONDS: u32 = 600;

pub(super) struct QueryTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct QueryInput {
    /// SQL of SQLite, or the name of a ready-made query; without it, tables and these are listed. Times are picoseconds:
    /// us(x), ms(x), seconds(x).
    sql: Option<String>,
    /// Most rows of a part; 1000 by default, 10000 in all.
    limit: Option<usize>,
    /// Stop after so many seconds; 60 by default, at most 600.
    seconds: Option<u32>,
    #[serde(flatten)]
    of: PartOfTrace,
}

impl McpTool for QueryTool {
    type Input = QueryInput;
    const NAME: &'static str = "query";
    const ABOUT: &'static str = "SQL over op_slices (ops, safe to sum), slices, tracks, counters, flows, instructions and \
        the tables of all reports. Nothing can be written.";

    fn run(call: &Call, input: QueryInput) -> Result<ToolOutput> {
        let refused = |error: QueryError| RequestError::Usage(error.to_string());
        let from = input.of.bound.check()?.0.unwrap_or(0);
        let (session, scope) = input.of.open(call)?;
        let mut database = Database::new(&session, scope).map_err(refused)?;
        let content = match &input.sql {
            Some(_) if from >= MOST_ROWS => {
                let why = format!(
                    "cursor: a query answers {MOST_ROWS} rows at most; narrow it, or write OFFSET in it"
                );
                return Err(RequestError::Usage(why));
            }
            None => listed(database.tables().map_err(refused)?),
            Some(sql) => {
                let rows = input.limit.filter(|&limit| limit > 0).unwrap_or(USUAL_ROWS);
                let rows = rows.saturating_add(from).min(MOST_ROWS);
                let seconds = input.seconds.unwrap_or(SECONDS).clamp(1, MOST_SECONDS);
                let limits = QueryLimits {
                    rows,
                    bytes: Some(MOST_BYTES),
                    memory: MOST_MEMORY,
                    time: Some(Duration::from_secs(seconds.into())),
                    cancel: Arc::clone(&call.cancel.flag),
                };
                let answer = database.ask(sql, &limits).map_err(refused)?;
                let mut table = AnswerTable::of_texts::<0>("answer", [], []);
                let column = |id: String| AnswerColumn {
                    id,
                    unit: None,
                    provenance: None,
                };
                table.columns = answer.columns.into_iter().map(column).collect();
                table.rows = answer
                    .rows
                    .into_iter()
                    .map(|row| row.into_iter().map(json_of).collect())
                    .collect();
                let after = usize::from(answer.is_truncated);
                table.total_rows = table.rows.len() + after;
                if answer.is_truncated {
                    table
                        .notes
                        .push(format!("more than {rows} rows: they were not counted"));
                }
                AnswerContent {
                    after,
                    is_cut: answer.is_truncated,
                    ..AnswerContent::default()
                }
                .with(table)
            }
        };
        input.of.answer(&session, content)
    }
}

fn json_of(value: SqlValue) -> Value {
    /// Letters of a text.
    const TEXT: usize = 600;
    match value {
        SqlValue::Null => Value::Null,
        SqlValue::Integer(number) => json!(number),
        SqlValue::Real(number) => rounded(number),
        SqlValue::Text(text) => json!(analysis::shortened(&text, TEXT)),
        SqlValue::Blob(bytes) => json!(format!("<{} bytes>", bytes.len())),
    }
}

/// The tables with their columns, and the ready-made queries.
fn listed(tables: &[Arc<DataTable>]) -> AnswerContent {
    let names = |table: &DataTable| {
        [
            json!(table.name),
            json!(table.len),
            json!(trace_model::joined(
                table.columns.iter().map(|column| &*column.name),
                ", "
            )),
        ]
    };
    let view = |view: &QueryView| {
        [
            json!(view.name),
            Value::Null,
            json!(trace_model::joined(view.columns(), ", ")),
        ]
    };
    let tables = VIEWS
        .iter()
        .map(view)
        .chain(tables.iter().map(|table| names(table)));
    let queries = PRESETS
        .iter()
        .map(|one| [one.name.to_owned(), one.about.to_owned()]);
    AnswerContent::default()
        .with(
            AnswerTable::of_values("tables", ["table", "rows", "columns"], tables)
                .in_unit("rows", "count", "derived"),
        )
        .with(AnswerTable::of_texts("queries", ["name", "about"], queries))
}
