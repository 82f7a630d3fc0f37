//! SQL over the tables of a trace: SQLite reads them as virtual tables. Nothing can be written, and no file is opened.

#![allow(
    clippy::missing_errors_doc,
    rustdoc::private_intra_doc_links,
    reason = "part of the program, not a library for others"
)]

mod functions;
mod memory;
mod pivot;
mod presets;
mod reads;
mod scan_plan;
mod table;
mod value_index;
mod views;
mod virtual_table;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use trace_model::joined;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Error, ErrorCode, OpenFlags};

use memory::HeldBytes;

pub use functions::{FUNCTIONS, SqlFunction};
pub use pivot::{PIVOT_KEYS, PivotKey, pivot};
pub use presets::{PRESETS, QueryPreset, preset};
pub use reads::reads_slices;
pub use rusqlite::types::Value as SqlValue;
pub use table::{query_table, word_at};
pub use views::{QueryView, VIEWS};

use session::Session;
use session::tables::{Catalog, DataTable};

/// Most bytes of a value or row: a query can ask for a text of any length, and one call of `instr` or `replace` takes
/// a time with the square of it, in which nothing can stop it.
const MOST_OF_VALUE: i32 = 128 << 10;
/// Most bytes of a pattern of `LIKE` and `GLOB`.
const MOST_OF_PATTERN: i32 = 1000;
/// Memory of SQLite in this process.
const MOST_OF_HEAP: u64 = 4 << 30;

#[derive(Debug)]
pub struct QueryLimits {
    /// Maximum number of rows of the result; 0 for all.
    pub rows: usize,
    /// Maximum size of the texts of the result; without limit if `None`.
    pub bytes: Option<usize>,
    /// Memory that it may need for sorting, grouping and counting.
    pub memory: usize,
    /// How long it may take; without limit if `None`.
    pub time: Option<Duration>,
    /// Set from elsewhere to stop it.
    pub cancel: Arc<AtomicBool>,
}

impl Default for QueryLimits {
    fn default() -> Self {
        Self {
            rows: 1000,
            bytes: None,
            memory: 2 << 30,
            time: None,
            cancel: Arc::default(),
        }
    }
}

/// The result of a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryAnswer {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// The rows, each as long as `columns`.
    pub rows: Vec<Vec<SqlValue>>,
    /// Whether there are more rows than the limit.
    pub is_truncated: bool,
}

/// Takes the answer to a query, row by row.
pub trait AnswerRows {
    /// The names of the columns, before the first row; not called where there are none.
    fn begin(&mut self, columns: &[String]);
    /// One row, as long as the columns; false ends the answer before it.
    fn row(&mut self, row: Vec<SqlValue>) -> bool;
}

impl AnswerRows for QueryAnswer {
    fn begin(&mut self, columns: &[String]) {
        self.columns = columns.to_vec();
    }

    fn row(&mut self, row: Vec<SqlValue>) -> bool {
        self.rows.push(row);
        true
    }
}

/// Why a query failed.
#[derive(Debug, PartialEq, Eq)]
pub struct QueryError {
    pub message: String,
    /// The query, and the byte at which it is wrong.
    pub place: Option<(String, usize)>,
    /// A suggestion.
    pub help: Option<String>,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some((sql, position)) = &self.place {
            let before = sql.get(..*position).unwrap_or(sql);
            let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
            let line = sql[begin..].lines().next().unwrap_or_default();
            let indent = before[begin..].chars().count();
            write!(f, "\n  {line}\n  {:indent$}^", "")?;
        }
        self.help.iter().try_for_each(|help| write!(f, "\n{help}"))
    }
}

impl std::error::Error for QueryError {}

/// The tables of a session, ready for queries.
pub struct Database {
    connection: Connection,
    catalog: Catalog,
    tables: Vec<Arc<DataTable>>,
    has_reports: bool,
    held: HeldBytes,
    /// Whether the last query needed too much memory.
    is_too_large: Arc<AtomicBool>,
}

impl Database {
    /// The tables of a session; those of reports refer to the scope. A session that was opened for reports answers what
    /// does not [read slices](reads_slices).
    ///
    /// # Errors
    ///
    /// SQLite cannot be started.
    pub fn new(session: &Session, scope: analysis::Scope) -> Result<Self, QueryError> {
        let catalog = Catalog::new(session, scope);
        let tables = catalog.timeline().to_vec();
        let held = HeldBytes::default();
        let connection = connect(session, &tables, &held).map_err(|error| plain(&error))?;
        Ok(Self {
            connection,
            catalog,
            tables,
            has_reports: false,
            held,
            is_too_large: Arc::default(),
        })
    }

    /// Every table, those of reports included.
    ///
    /// # Errors
    ///
    /// SQLite refuses one.
    pub fn tables(&mut self) -> Result<&[Arc<DataTable>], QueryError> {
        self.add_reports()?;
        Ok(&self.tables)
    }

    fn add_reports(&mut self) -> Result<(), QueryError> {
        if self.has_reports {
            return Ok(());
        }
        self.has_reports = true;
        for table in self.catalog.reports() {
            if self.tables.iter().all(|known| known.name != table.name) {
                self.add(table)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, table: Arc<DataTable>) -> Result<(), QueryError> {
        virtual_table::register(&self.connection, &table).map_err(|error| plain(&error))?;
        self.tables.push(table);
        Ok(())
    }

    /// Runs a query, or a preset by its name.
    ///
    /// # Errors
    ///
    /// The query is wrong, wants to write, takes too long, or was cancelled.
    pub fn ask(&mut self, query: &str, limits: &QueryLimits) -> Result<QueryAnswer, QueryError> {
        let mut answer = QueryAnswer::default();
        answer.is_truncated = self.ask_each(query, limits, &mut answer)?;
        Ok(answer)
    }

    /// Asks row by row, without keeping the rows; whether there are more. A query of nothing (`;`, a comment) has no
    /// answer.
    ///
    /// # Errors
    ///
    /// As [`Self::ask`], also after some rows.
    pub fn ask_each(
        &mut self,
        query: &str,
        limits: &QueryLimits,
        rows: &mut impl AnswerRows,
    ) -> Result<bool, QueryError> {
        let sql = written_out(query)?;
        let sql = &*sql;
        if sql.trim().is_empty() {
            let message = "write a query, or the name of a ready-made one".to_owned();
            return Err(QueryError {
                message,
                place: None,
                help: None,
            });
        }
        while let Err(error) = self.connection.prepare(sql).map(drop) {
            let Some(missing) = missing_table(&error) else {
                break;
            };
            // A query that names one table needs one report, not all.
            match self
                .catalog
                .table(missing.trim_start_matches("main."))
                .filter(|_| !self.has_reports)
            {
                Some(table) if self.tables.iter().all(|known| known.name != table.name) => {
                    self.add(table)?;
                }
                _ if self.has_reports => break,
                _ => self.add_reports()?,
            }
        }
        self.limit(limits).map_err(|error| plain(&error))?;
        let ended = answer(&self.connection, sql, limits, rows);
        ended.map_err(|error| self.explained(sql, &error, limits))
    }

    fn limit(&mut self, limits: &QueryLimits) -> rusqlite::Result<()> {
        /// Steps of SQLite between two checks of the clock.
        const STEPS: i32 = 20;
        let until = limits.time.map(|time| Instant::now() + time);
        let cancel = Arc::clone(&limits.cancel);
        let (held, is_too_large, most) = (
            self.held.clone(),
            Arc::clone(&self.is_too_large),
            limits.memory,
        );
        is_too_large.store(false, Ordering::Relaxed);
        let before = held.with_sqlite();
        let is_over = move || {
            if held.with_sqlite().saturating_sub(before) > most {
                is_too_large.store(true, Ordering::Relaxed);
            }
            is_too_large.load(Ordering::Relaxed)
                || cancel.load(Ordering::Relaxed)
                || until.is_some_and(|until| Instant::now() > until)
        };
        self.connection.progress_handler(STEPS, Some(is_over))
    }

    fn explained(&self, sql: &str, error: &Error, limits: &QueryLimits) -> QueryError {
        let mut explained = plain(error);
        explained.help = self.help(sql, &explained.message);
        if let Error::SqlInputError { offset, .. } = error {
            explained.place = usize::try_from(*offset)
                .ok()
                .map(|offset| (sql.to_owned(), offset));
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::AuthorizationForStatementDenied) => {
                "a trace can only be read: SELECT, WITH and EXPLAIN are possible"
                    .clone_into(&mut explained.message);
            }
            Some(ErrorCode::OutOfMemory) => explained.message = too_large(limits),
            Some(ErrorCode::OperationInterrupted) if self.is_too_large.load(Ordering::Relaxed) => {
                explained.message = too_large(limits);
            }
            Some(ErrorCode::TooBig) => {
                let most = MOST_OF_VALUE >> 10;
                explained.message = format!(
                    "a text or a row would be longer than {most} KB: shorten texts with substr"
                );
            }
            Some(ErrorCode::OperationInterrupted) => {
                let limit = limits
                    .time
                    .filter(|_| !limits.cancel.load(Ordering::Relaxed));
                explained.message = limit.map_or_else(
                    || "the query was stopped".to_owned(),
                    |time| {
                        format!(
                            "the query was stopped after {} s, its limit",
                            time.as_secs_f64()
                        )
                    },
                );
            }
            _ => {}
        }
        explained
    }

    /// The names that exist where a query used one that does not.
    fn help(&self, sql: &str, message: &str) -> Option<String> {
        // A word alone is no SQL, but meant as a name.
        if message.contains("syntax error") && !sql.trim().contains(char::is_whitespace) {
            let names = PRESETS.iter().map(|preset| preset.name);
            return Some(format!("ready-made queries: {}", joined(names, ", ")));
        }
        if message.starts_with("no such table") {
            let tables = self.tables.iter().map(|table| &*table.name);
            let names: BTreeSet<&str> = tables.chain(reads::names_of_whole_traces()).collect();
            return Some(format!("tables: {}", joined(names, ", ")));
        }
        if message.starts_with("no such column") {
            let words: BTreeSet<&str> = sql
                .split(|c: char| !c.is_alphanumeric() && c != '_')
                .collect();
            let asked = self
                .tables
                .iter()
                .filter(|table| words.contains(&*table.name));
            let lists = asked.map(|table| {
                format!(
                    "columns of {}: {}",
                    table.name,
                    joined(table.columns.iter().map(|column| &*column.name), ", ")
                )
            });
            let views = VIEWS.iter().filter(|view| words.contains(view.name));
            let views = views
                .map(|view| format!("columns of {}: {}", view.name, joined(view.columns(), ", ")));
            return Some(joined(lists.chain(views), "\n")).filter(|help| !help.is_empty());
        }
        if message.starts_with("no such function") {
            return Some(format!(
                "functions in addition to SQLite's: {}",
                joined(FUNCTIONS.iter().map(|function| function.call), ", ")
            ));
        }
        None
    }
}

/// The SQL of a query, which may be the name of a ready-made one or of a pivot table.
fn written_out(query: &str) -> Result<Cow<'_, str>, QueryError> {
    let text = preset(query.trim()).map_or(query, |preset| preset.sql);
    match pivot::pivot_query(text) {
        None => Ok(Cow::Borrowed(text)),
        Some(Ok(sql)) => Ok(Cow::Owned(sql)),
        Some(Err(message)) => Err(QueryError {
            message,
            place: None,
            help: None,
        }),
    }
}

fn too_large(limits: &QueryLimits) -> String {
    let most = limits.memory >> 20;
    format!(
        "the query needs more than {most} MB of memory: sort, group or count fewer rows, or select fewer columns"
    )
}

fn connect(
    session: &Session,
    tables: &[Arc<DataTable>],
    held: &HeldBytes,
) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open_in_memory_with_flags(OpenFlags::SQLITE_OPEN_READ_WRITE)?;
    // What is sorted stays in memory: nothing is ever written to a disk.
    connection.execute_batch(&format!(
        "PRAGMA temp_store = MEMORY; PRAGMA hard_heap_limit = {MOST_OF_HEAP}"
    ))?;
    let is_whole = !session.model().is_partial();
    let whole = is_whole.then(|| session.whole_model());
    functions::register(&connection, whole, held)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, MOST_OF_PATTERN)?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, MOST_OF_VALUE)?;
    for table in tables {
        virtual_table::register(&connection, table)?;
    }
    for view in &VIEWS {
        connection.execute_batch(&view.definition())?;
    }
    connection.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Select
        | AuthAction::Read { .. }
        | AuthAction::Function { .. }
        | AuthAction::Recursive => Authorization::Allow,
        _ => Authorization::Deny,
    }))?;
    Ok(connection)
}

/// Runs a query; whether it has more rows than were taken.
fn answer(
    connection: &Connection,
    sql: &str,
    limits: &QueryLimits,
    rows: &mut impl AnswerRows,
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare(sql)?;
    let columns = distinct(statement.column_names());
    // Nothing was asked; other statements without columns write.
    if columns.is_empty() && statement.readonly() {
        return Ok(false);
    }
    rows.begin(&columns);
    let (mut count, mut bytes) = (0, 0);
    let mut rows_of_query = statement.query([])?;
    while let Some(row) = rows_of_query.next()? {
        if limits.rows > 0 && count == limits.rows {
            return Ok(true);
        }
        let values = (0..columns.len())
            .map(|index| row.get(index))
            .collect::<rusqlite::Result<Vec<_>>>()?;
        bytes += values.iter().map(size).sum::<usize>();
        count += 1;
        if let Some(most) = limits.bytes.filter(|&most| bytes > most) {
            let most = most / 1_000_000;
            let why = format!(
                "the first {count} rows have more than {most} MB: select fewer rows or shorter texts"
            );
            return Err(Error::UserFunctionError(why.into()));
        }
        if !rows.row(values) {
            return Ok(true);
        }
    }
    Ok(false)
}

fn size(value: &SqlValue) -> usize {
    match value {
        SqlValue::Text(text) => text.len(),
        SqlValue::Blob(bytes) => bytes.len(),
        SqlValue::Null | SqlValue::Integer(_) | SqlValue::Real(_) => size_of::<SqlValue>(),
    }
}

/// Names of columns, with a number behind those that occur again (`name_2`): an object of JSON has each name once.
fn distinct<'a>(names: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut names_so_far: Vec<String> = Vec::new();
    for name in names {
        let numbered = (2..).map(|number| format!("{name}_{number}"));
        let free = std::iter::once(name.to_owned())
            .chain(numbered)
            .find(|name| !names_so_far.contains(name));
        names_so_far.extend(free);
    }
    names_so_far
}

fn plain(error: &Error) -> QueryError {
    let message = match error {
        Error::SqlInputError { msg, .. } | Error::SqliteFailure(_, Some(msg)) => msg.clone(),
        error => error.to_string(),
    };
    QueryError {
        message,
        place: None,
        help: None,
    }
}

/// The table that a query names and SQLite does not know.
fn missing_table(error: &Error) -> Option<String> {
    plain(error)
        .message
        .strip_prefix("no such table: ")
        .map(str::to_owned)
}
