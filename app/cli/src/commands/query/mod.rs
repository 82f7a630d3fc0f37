//! `systole query`: SQL over the tables of a trace.

mod list;

use crate::commands::prelude::*;
use analysis::{printable, shortened};
use serde_json::{Map, Value as Json};
use unicode_width::UnicodeWidthStr as _;

use crate::common::output::Printer;
use query::{AnswerRows, Database, QueryError, QueryLimits, SqlValue, reads_slices};
use session::tables::CsvCells;

#[derive(Debug, Args)]
#[command(next_help_heading = "Query")]
pub struct QueryArgs {
    #[command(flatten)]
    pub input: TraceRequest,
    /// SQL in quotes, or the name of a ready-made query (`--list` shows them)
    #[arg(required_unless_present = "list")]
    pub sql: Option<String>,
    /// List tables with their columns, functions and ready-made queries; with the name of a table (`--list ops`) its
    /// columns with their units and meaning
    #[arg(long)]
    pub list: bool,
    /// How to print the answer
    #[arg(long, value_enum, default_value_t = QueryFormat::Text)]
    pub format: QueryFormat,
    /// Most rows of the answer; 0 for all
    #[arg(long, value_name = "N", default_value_t = 1000)]
    pub limit: usize,
    /// Stop after this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub timeout: Option<Duration>,
    #[command(flatten)]
    pub csv: CsvArgs,
    #[command(flatten)]
    pub scope: PartRequest,
}

/// Formats of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum QueryFormat {
    /// Aligned columns.
    Text,
    /// One object: names of columns, rows, and whether some were left out.
    Json,
    /// One object a row.
    Ndjson,
    /// Comma-separated values.
    Csv,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0);
    let duration = number.and_then(|number| Duration::try_from_secs_f64(number).ok());
    duration.ok_or_else(|| "write a number of seconds above 0".to_owned())
}

pub fn run(args: &QueryArgs, stderr: &Stderr) -> Result<CommandOutcome> {
    let sql = args.sql.as_deref().filter(|_| !args.list);
    // The list counts slices.
    let open = if sql.is_none_or(reads_slices) {
        Session::open
    } else {
        Session::open_for_reports
    };
    let session = loading::open(&args.input, open, OutputFormat::TEXT, stderr)?;
    checks::check_part(&session, &args.scope)?;
    let mut database =
        Database::new(&session, args.scope.scope()).map_err(|error| refused(&error))?;
    let Some(sql) = sql else {
        let tables = database.tables().map_err(|error| refused(&error))?;
        let text = list::text(
            tables,
            args.sql.as_deref(),
            args.format == QueryFormat::Text,
        )?;
        output::print(&text)?;
        return Ok(CommandOutcome::Done);
    };
    let badge = session.model().badge();
    print(args, sql, &mut database, badge.as_deref(), stderr)?;
    if let Some(badge) = badge {
        stderr.warn(&format!("times are not measured: {badge}"));
    }
    Ok(CommandOutcome::Done)
}

/// Asks, and prints what comes: rows are kept only for columns that line up, and then not longer than a line.
fn print(
    args: &QueryArgs,
    sql: &str,
    database: &mut Database,
    badge: Option<&str>,
    stderr: &Stderr,
) -> Result<()> {
    let limits = QueryLimits {
        rows: args.limit,
        time: args.timeout,
        ..QueryLimits::default()
    };
    let mut rows = PrintedRows::new(args, badge);
    let asked = database.ask_each(sql, &limits, &mut rows);
    let (is_truncated, count, is_full) = (
        asked.as_ref().is_ok_and(|more| *more),
        rows.count,
        rows.printer.is_full(),
    );
    if asked.is_ok() {
        rows.end(is_truncated);
    }
    // What was printed before a failure stays printed.
    rows.printer.finish()?;
    asked.map_err(|error| refused(&error))?;
    if is_full {
        stderr.warn(&format!(
            "only the first {count} rows: an answer has at most 1 GB; select fewer rows or columns"
        ));
    } else if is_truncated && count == args.limit {
        stderr.warn(&format!("only the first {count} rows; --limit 0 shows all"));
    }
    Ok(())
}

/// Prints rows as they come.
struct PrintedRows<'a> {
    printer: Printer,
    format: QueryFormat,
    cells: CsvCells,
    badge: Option<&'a str>,
    columns: Vec<String>,
    /// Of a terminal; what is piped has texts in full.
    width: Option<usize>,
    /// Of columns that line up.
    kept: Vec<Vec<SqlValue>>,
    /// Bytes of the texts in them.
    kept_bytes: usize,
    count: usize,
}

/// Most bytes of texts in columns that line up, which are kept; beyond that they are shortened as for a terminal.
const MOST_KEPT: usize = 100_000_000;

impl<'a> PrintedRows<'a> {
    fn new(args: &QueryArgs, badge: Option<&'a str>) -> Self {
        Self {
            printer: Printer::to_stdout(),
            format: args.format,
            cells: args.csv.cells(),
            badge,
            columns: Vec::new(),
            width: terminal::width_of_stdout(),
            kept: Vec::new(),
            kept_bytes: 0,
            count: 0,
        }
    }

    fn json_head(&self) -> String {
        format!(
            "{{\"badge\":{},\"columns\":{},\"rows\":[",
            json!(self.badge),
            json!(self.columns)
        )
    }

    fn end(&mut self, is_truncated: bool) {
        match self.format {
            QueryFormat::Text if self.columns.is_empty() => {}
            QueryFormat::Text => {
                let text = aligned(&self.columns, &self.kept, self.width);
                self.printer.print(&output::for_terminals(&text));
            }
            QueryFormat::Json => {
                let head = if self.columns.is_empty() {
                    self.json_head()
                } else {
                    String::new()
                };
                self.printer
                    .print(&format!("{head}],\"truncated\":{is_truncated}}}\n"));
            }
            QueryFormat::Ndjson | QueryFormat::Csv => {}
        }
    }
}

impl AnswerRows for PrintedRows<'_> {
    fn begin(&mut self, columns: &[String]) {
        self.columns = columns.to_vec();
        match self.format {
            QueryFormat::Json => drop(self.printer.print(&self.json_head())),
            QueryFormat::Csv => drop(self.printer.print(&csv::record(columns))),
            QueryFormat::Text | QueryFormat::Ndjson => {}
        }
    }

    fn row(&mut self, row: Vec<SqlValue>) -> bool {
        let is_taken = match self.format {
            QueryFormat::Text => {
                let full = (self.kept_bytes < MOST_KEPT).then_some(usize::MAX);
                let width = self.width.or(full).unwrap_or(terminal::DEFAULT_WIDTH);
                let bytes = &mut self.kept_bytes;
                let short = |value| match value {
                    SqlValue::Text(text) => {
                        let text = shortened(&printable(&text), width);
                        *bytes += text.len();
                        SqlValue::Text(text)
                    }
                    value => value,
                };
                self.kept.push(row.into_iter().map(short).collect());
                true
            }
            QueryFormat::Json => {
                let row = json!(row.iter().map(json_of).collect::<Vec<_>>());
                let before = if self.count > 0 { "," } else { "" };
                self.printer.takes(&format!("{before}{row}"))
            }
            QueryFormat::Ndjson => {
                let fields = self.columns.iter().cloned().zip(row.iter().map(json_of));
                self.printer.takes(&format!(
                    "{}\n",
                    Json::Object(fields.collect::<Map<_, _>>())
                ))
            }
            QueryFormat::Csv => {
                let text = |value: &SqlValue| match value {
                    SqlValue::Null => String::new(),
                    SqlValue::Text(text) => self.cells.text(text).into_owned(),
                    value => shown(value),
                };
                self.printer.takes(&csv::record(row.iter().map(text)))
            }
        };
        self.count += usize::from(is_taken);
        is_taken
    }
}

fn refused(error: &QueryError) -> RequestError {
    RequestError::Usage(error.to_string())
}

/// Columns that line up, numbers at the right; texts are shortened to the width of the terminal. Without one they are
/// whole, and those that are longer than most move the rest of their line.
fn aligned(columns: &[String], rows: &[Vec<SqlValue>], width: Option<usize>) -> String {
    /// Space between columns, least width of a shortened text, and greatest width of a column without a terminal.
    const GAP: usize = 2;
    const LEAST: usize = 12;
    const MOST: usize = 60;
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(shown).collect())
        .collect();
    let is_text = |index: usize| {
        rows.iter()
            .any(|row| matches!(row.get(index), Some(SqlValue::Text(_))))
    };
    let texts: Vec<bool> = (0..columns.len()).map(is_text).collect();
    let widest = |(index, name): (usize, &String)| {
        cells
            .iter()
            .map(|row| row[index].width())
            .fold(name.width(), usize::max)
            .min(if width.is_none() { MOST } else { usize::MAX })
    };
    let mut widths: Vec<usize> = columns.iter().enumerate().map(widest).collect();
    let most = width.map_or(usize::MAX, |width| width.saturating_add(GAP));
    while widths.iter().sum::<usize>() + GAP * widths.len() > most {
        let candidates = widths
            .iter_mut()
            .zip(&texts)
            .filter(|(width, is_text)| **is_text && **width > LEAST);
        let Some((widest, _)) = candidates.max_by_key(|(width, _)| **width) else {
            break;
        };
        *widest -= 1;
    }
    let line = |cells: &[String]| {
        let padded = cells
            .iter()
            .zip(&widths)
            .zip(&texts)
            .map(|((cell, &column), &is_text)| {
                let cell = shortened(cell, width.map_or(usize::MAX, |_| column));
                let space = " ".repeat(column.saturating_sub(cell.width()));
                if is_text {
                    format!("{cell}{space}")
                } else {
                    format!("{space}{cell}")
                }
            });
        let line = joined(padded, &" ".repeat(GAP));
        format!("{}\n", line.trim_end())
    };
    let rows: String = cells.iter().map(|row| line(row)).collect();
    format!("{}{rows}", line(columns))
}

fn shown(value: &SqlValue) -> String {
    match value {
        SqlValue::Null => "–".to_owned(),
        SqlValue::Integer(number) => number.to_string(),
        SqlValue::Real(number) => analysis::number::exact(*number),
        SqlValue::Text(text) => printable(text),
        SqlValue::Blob(bytes) => format!("<{} bytes>", bytes.len()),
    }
}

fn json_of(value: &SqlValue) -> Json {
    match value {
        SqlValue::Null => Json::Null,
        SqlValue::Integer(number) => json!(number),
        SqlValue::Real(number) => json!(number),
        SqlValue::Text(text) => json!(text),
        SqlValue::Blob(bytes) => json!(bytes),
    }
}
