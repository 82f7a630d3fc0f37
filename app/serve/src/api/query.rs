//! SQL, as `systole query` answers it.

use std::sync::Arc;
use std::time::Duration;

use super::prelude::*;
use serde_json::{Value, json};

use crate::input::JsonBody;
use crate::noted::Noted;
use query::{Database, QueryLimits, SqlValue};

const MOST_ROWS: usize = 100_000;
const MOST_SECONDS: usize = 300;
/// Most bytes of all texts of an answer.
const MOST_BYTES: usize = 64_000_000;
const MOST_MEMORY: usize = 512 << 20;

/// A query.
#[derive(Deserialize, JsonSchema)]
pub(super) struct QueryParams {
    /// SQL of SQLite, or the name of a ready-made query. Times are picoseconds: us(x), ms(x), seconds(x).
    #[schemars(length(min = 1))]
    sql: String,
    /// Most rows.
    #[schemars(range(min = 1, max = 100_000))]
    #[serde(default = "rows")]
    limit: usize,
    /// Stop after so many seconds.
    #[schemars(range(min = 1, max = 300))]
    #[serde(default = "seconds")]
    seconds: u32,
    #[serde(flatten)]
    about: AboutParams,
}

fn rows() -> usize {
    1000
}

fn seconds() -> u32 {
    30
}

/// The rows that a query finds.
#[derive(Serialize, JsonSchema)]
pub(super) struct QueryRows {
    /// Names of the columns.
    columns: Vec<String>,
    /// The rows, each as long as `columns`.
    rows: Vec<Vec<Value>>,
    /// Whether there are more rows than `limit`; a note says how to go on.
    truncated: bool,
}

fn value(value: SqlValue) -> Value {
    match value {
        SqlValue::Null => Value::Null,
        SqlValue::Integer(number) => json!(number),
        SqlValue::Real(number) => json!(number),
        SqlValue::Text(text) => Value::String(text),
        SqlValue::Blob(bytes) => json!(format!("<{} bytes>", bytes.len())),
    }
}

async fn answer(
    state: Shared,
    id: String,
    params: QueryParams,
) -> Result<Json<Noted<QueryRows>>, ApiError> {
    check_number("limit", params.limit, MOST_ROWS)?;
    check_number("seconds", params.seconds as usize, MOST_SECONDS)?;
    let limit = params.limit;
    // A query ends by its own clock, and answers before a single step of SQLite that takes longer.
    let most = Duration::from_secs(u64::from(params.seconds) + 2);
    let answer = state.answered(
        Some(most),
        id,
        params.about,
        move |session, scope, cancel| {
            let wrong = |error: query::QueryError| ApiError::wrong(error.to_string());
            let limits = QueryLimits {
                rows: params.limit,
                bytes: Some(MOST_BYTES),
                memory: MOST_MEMORY,
                time: Some(Duration::from_secs(params.seconds.into())),
                cancel: Arc::clone(&cancel.flag),
            };
            let answer = Database::new(session, scope)
                .and_then(|mut database| database.ask(&params.sql, &limits));
            let answer = answer.map_err(wrong)?;
            let rows = answer.rows.into_iter();
            Ok(QueryRows {
                columns: answer.columns,
                rows: rows
                    .map(|row| row.into_iter().map(value).collect())
                    .collect(),
                truncated: answer.is_truncated,
            })
        },
    );
    let mut answer = answer.await?;
    if answer.answer.truncated {
        answer.notes.push(format!(
            "more than {limit} rows, which were not counted: ask with a greater limit ({MOST_ROWS} at most), or write LIMIT and \
             OFFSET in the query"
        ));
    }
    Ok(Json(answer))
}

pub(super) async fn by_address(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    Params(params): Params<QueryParams>,
) -> Result<Json<Noted<QueryRows>>, ApiError> {
    answer(state, id, params).await
}

pub(super) async fn by_body(
    State(state): State<Shared>,
    InPath(id): InPath<String>,
    JsonBody(params): JsonBody<QueryParams>,
) -> Result<Json<Noted<QueryRows>>, ApiError> {
    answer(state, id, params).await
}
