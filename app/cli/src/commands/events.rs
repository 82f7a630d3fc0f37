//! `systole events`: events by name, category, track, time, step or length, as a list or in groups.

use std::sync::Arc;

use analysis::{Cell, Column, Report, Scope};
use clap::{Args, ValueEnum};
use serde_json::{Map, json};
use trace_model::Picos;

use crate::common::args::{CsvArgs, InputArgs, OutputArgs, ScopeArgs};
use crate::common::failure::{CommandOutcome, Failure};
use crate::common::output::Printer;
use crate::common::stderr::Stderr;
use crate::common::values::OutputFormat;
use crate::common::{checks, loading, output};
use render::{Document, ReportSection, csv};
use session::Session;
use session::events::{
    EventFilter, EventList, EventOrder, EventPage, EventTables, EventTotals, FoundEvents, GroupKey, ListedColumn,
    NamePattern, TotalOrder, find, totals,
};
use session::files::OutputGuard;

/// Arguments of the command.
#[derive(Debug, Args)]
pub struct EventsArgs {
    #[command(flatten)]
    pub input: InputArgs,
    #[command(flatten)]
    pub question: EventQuestionArgs,
    #[command(flatten)]
    pub scope: ScopeArgs,
    /// What to print on stdout
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, help_heading = "Output")]
    pub format: OutputFormat,
    #[command(flatten)]
    pub csv: CsvArgs,
}

/// Which events, and what of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Events")]
pub struct EventQuestionArgs {
    /// Events with this name; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub name: Vec<NamePattern>,
    /// Ops of this category, as in a report: Matmul, Collective, 'Copy wait' …
    #[arg(long, value_name = "PATTERN")]
    pub category: Vec<NamePattern>,
    /// Ops of this program
    #[arg(long, value_name = "PATTERN")]
    pub program: Vec<NamePattern>,
    /// Events on this track: a thread of a host, a line of a device
    #[arg(long, value_name = "PATTERN")]
    pub track: Vec<NamePattern>,
    /// Tracks that record this: ops, modules, steps, `async_ops`, `host_thread` …
    #[arg(long, value_name = "PATTERN")]
    pub kind: Vec<NamePattern>,
    /// Events that this host recorded
    #[arg(long, value_name = "PATTERN")]
    pub host: Vec<NamePattern>,
    /// Events of at least this length: 10us
    #[arg(long, value_name = "TIME")]
    pub least: Option<Picos>,
    /// Events of at most this length
    #[arg(long, value_name = "TIME")]
    pub most: Option<Picos>,
    /// Times in groups instead of a list, by up to four of name, category, track, kind, device, host, step, program, depth
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    pub group_by: Vec<GroupKey>,
    /// Columns of the list: start, dur, self, name, category, step, device, track; also host, program, `track_kind`,
    /// depth, `slice_id`, `parent_id`, `device_start`, `timeline_dur`, flops, `bytes_accessed`, args
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', conflicts_with = "group_by")]
    pub columns: Vec<ListedColumn>,
    /// By what to sort; by start, or groups by total
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<SortArg>,
    /// The list in the opposite order
    #[arg(long, conflicts_with = "group_by")]
    pub reverse: bool,
    /// Most rows; 0 for all
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub limit: usize,
    /// Rows to leave out before the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
}

/// By what rows can be sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SortArg {
    /// Events by start.
    Start,
    /// Events by length, the longest first.
    Duration,
    /// By self time, the most first.
    #[value(name = "self")]
    SelfTime,
    /// By name.
    Name,
    /// Groups by total time.
    Total,
    /// Groups by number of events.
    Count,
    /// Groups by mean length.
    Mean,
    /// Groups by the longest event.
    Max,
}

/// The answer to a question about events.
pub enum EventAnswer {
    /// A list.
    List(EventList),
    /// Groups.
    Totals(EventTotals),
}

impl EventAnswer {
    /// The rows.
    pub fn table(&self) -> &analysis::Table {
        match self {
            Self::List(list) => &list.events,
            Self::Totals(totals) => &totals.groups,
        }
    }

    /// How many rows there are in all, and where the next part begins.
    pub fn extent(&self) -> (usize, Option<usize>) {
        match self {
            Self::List(list) => (list.total, list.next_offset),
            Self::Totals(totals) => (totals.total, totals.next_offset),
        }
    }

    /// The answer for a reader, with a note that says how many rows are shown.
    fn report(mut self, EventPage { offset, limit }: EventPage) -> Arc<dyn Report> {
        let (total, next) = self.extent();
        let beyond = beyond(offset, total, matches!(self, Self::List(_)));
        let count = |number: usize| analysis::number::count(number as f64);
        let (what, table) = match &mut self {
            Self::List(list) => ("events", &mut list.events),
            Self::Totals(totals) => ("groups", &mut totals.groups),
        };
        let (shown, all) = (count(table.rows.len()), count(total));
        let note = match (beyond, next) {
            (Some(beyond), _) => beyond,
            (None, Some(next)) => format!("{shown} of {all} {what} are shown; {}", continues(next, limit)),
            (None, None) if table.rows.len() < total => format!("{shown} of {all} {what} are shown"),
            (None, None) => format!("all {all} {what} are shown"),
        };
        table.notes.insert(0, note);
        match self {
            Self::List(list) => Arc::new(list),
            Self::Totals(totals) => Arc::new(totals),
        }
    }
}

/// What to say if the part that was asked for is beyond the last row.
fn beyond(offset: usize, total: usize, is_list: bool) -> Option<String> {
    let (what, verb) = match (is_list, total) {
        (true, 1) => ("event", "matches"),
        (true, _) => ("events", "match"),
        (false, 1) => ("group", "matches"),
        (false, _) => ("groups", "match"),
    };
    let [total_in_words, offset_in_words] = [total, offset].map(|number| analysis::number::count(number as f64));
    let is_beyond = total > 0 && offset >= total;
    is_beyond.then(|| format!("{total_in_words} {what} {verb}: --offset {offset_in_words} is past the last one"))
}

/// How to get what follows.
fn continues(next: usize, limit: usize) -> String {
    let all = if limit > 0 { ", --limit 0 shows all" } else { "" };
    format!("--offset {next} continues{all}")
}

/// Runs the command.
pub fn run(args: &EventsArgs, stderr: &Stderr) -> Result<CommandOutcome, Failure> {
    check(&args.question)?;
    let session = loading::open(&args.input, args.format, stderr)?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let scope = args.scope.scope();
    let (devices, page) = (&args.input.assume.device, args.question.page());
    let question = || EventQuestion::new(&session, &args.question, scope, devices);
    match args.format {
        OutputFormat::Ndjson | OutputFormat::Csv if args.question.group_by.is_empty() => {
            let question = question()?;
            let found = question.find(&|| true);
            let next = |shown| found.next(shown);
            print(args, &found.columns(), found.rows(), (found.total, &next), stderr)?;
        }
        OutputFormat::Ndjson | OutputFormat::Csv => {
            let EventTotals { total, groups, .. } = question()?.totals(&|| true);
            let next = |shown| page.next(shown, total);
            print(args, &groups.columns, groups.rows.into_iter(), (total, &next), stderr)?;
        }
        format => {
            let report = answer(&session, &args.question, scope, devices, &|| true)?.report(page);
            let section = ReportSection { id: "events", title: "Events", result: Ok(report) };
            let all =
                OutputArgs { format, output: Vec::new(), table: None, top: Some(0), csv: args.csv, strict: false };
            output::write(&Document::of(&session, scope, section), &all, &OutputGuard::default(), stderr)?;
        }
    }
    Ok(CommandOutcome::Done)
}

/// Prints rows as they come, as CSV or as an object for each; what is left out is counted.
fn print(
    args: &EventsArgs,
    columns: &[Column],
    rows: impl Iterator<Item = Vec<Cell>>,
    (total, next): (usize, &dyn Fn(usize) -> Option<usize>),
    stderr: &Stderr,
) -> Result<(), Failure> {
    let (is_csv, cells, page) = (args.format == OutputFormat::Csv, args.csv.cells(), args.question.page());
    if let Some(beyond) = beyond(page.offset, total, args.question.group_by.is_empty()) {
        stderr.warn(&beyond);
    }
    let mut printer = Printer::to_stdout();
    if is_csv {
        printer.print(&csv::record(columns.iter().map(|column| column.id)));
    }
    let mut shown = 0;
    for row in rows {
        let line = if is_csv { csv::row(&row, cells) } else { line(columns, &row) };
        if !printer.takes(&line) {
            break;
        }
        shown += 1;
    }
    let next = next(shown);
    if let Some(next) = next.filter(|_| !is_csv) {
        printer.print(&format!("{}\n", json!({"truncated": true, "total": total, "next_offset": next})));
    }
    printer.finish()?;
    if let Some(next) = next.filter(|_| is_csv) {
        stderr.warn(&format!("{shown} of {total} rows; {}", continues(next, page.limit)));
    }
    Ok(())
}

/// A line with an object for a row.
fn line(columns: &[Column], row: &[Cell]) -> String {
    let fields = columns.iter().zip(row).map(|(column, cell)| (column.id.to_owned(), json!(cell)));
    format!("{}\n", serde_json::Value::Object(fields.collect::<Map<_, _>>()))
}

/// Rejects contradictions before a trace is opened.
fn check(args: &EventQuestionArgs) -> Result<(), Failure> {
    if args.group_by.len() > GroupKey::MOST {
        return Err(Failure::Usage(format!("--group-by: write at most {} keys", GroupKey::MOST)));
    }
    let keys = &args.group_by;
    if let Some(twice) = (1..keys.len()).map(|at| keys[at]).zip(1..).find(|(key, at)| keys[..*at].contains(key)) {
        return Err(Failure::Usage(format!("--group-by: {} is named twice", twice.0.word)));
    }
    for (name, length) in [("least", args.least), ("most", args.most)] {
        if length.is_some_and(|length| length < Picos::ZERO) {
            return Err(Failure::Usage(format!("--{name}: no event is shorter than nothing")));
        }
    }
    if args.least.zip(args.most).is_some_and(|(least, most)| least > most) {
        return Err(Failure::Usage("--least is above --most: no event has such a length".to_owned()));
    }
    orders(args).map(|_| ())
}

/// The order of a list and of groups.
fn orders(args: &EventQuestionArgs) -> Result<(EventOrder, TotalOrder), Failure> {
    let is_grouped = !args.group_by.is_empty();
    let wrong = |list: &str| Err(Failure::Usage(format!("--sort: {list}")));
    let grouped = |order| {
        if is_grouped { Ok((EventOrder::Start, order)) } else { wrong("a list has start, duration, self or name") }
    };
    let listed = |order| {
        if is_grouped {
            wrong("groups have total, self, count, mean, max or name")
        } else {
            Ok((order, TotalOrder::Total))
        }
    };
    match args.sort {
        None => Ok((EventOrder::Start, TotalOrder::Total)),
        Some(SortArg::SelfTime) => Ok((EventOrder::SelfTime, TotalOrder::SelfTime)),
        Some(SortArg::Name) => Ok((EventOrder::Name, TotalOrder::Name)),
        Some(SortArg::Start) => listed(EventOrder::Start),
        Some(SortArg::Duration) => listed(EventOrder::Duration),
        Some(SortArg::Total) => grouped(TotalOrder::Total),
        Some(SortArg::Count) => grouped(TotalOrder::Count),
        Some(SortArg::Mean) => grouped(TotalOrder::Mean),
        Some(SortArg::Max) => grouped(TotalOrder::Max),
    }
}

/// The answer; `goes_on` can end the search.
pub fn answer(
    session: &Session,
    args: &EventQuestionArgs,
    scope: Scope,
    devices: &[u32],
    goes_on: &dyn Fn() -> bool,
) -> Result<EventAnswer, Failure> {
    check(args)?;
    Ok(EventQuestion::new(session, args, scope, devices)?.answer(goes_on))
}

impl EventQuestionArgs {
    fn page(&self) -> EventPage {
        EventPage { offset: self.offset, limit: self.limit }
    }
}

/// A question about the events of a trace.
struct EventQuestion<'a> {
    tables: EventTables,
    filter: EventFilter,
    orders: (EventOrder, TotalOrder),
    args: &'a EventQuestionArgs,
}

impl<'a> EventQuestion<'a> {
    fn new(session: &Session, args: &'a EventQuestionArgs, scope: Scope, devices: &[u32]) -> Result<Self, Failure> {
        let filter = EventFilter {
            name: args.name.clone(),
            category: args.category.clone(),
            program: args.program.clone(),
            track: args.track.clone(),
            kind: args.kind.clone(),
            host: args.host.clone(),
            device: devices.to_vec(),
            scope: Some(scope),
            least: args.least,
            most: args.most,
        };
        Ok(Self { tables: EventTables::new(session), filter, orders: orders(args)?, args })
    }

    fn find(&self, goes_on: &dyn Fn() -> bool) -> FoundEvents<'_> {
        let args = self.args;
        let columns = if args.columns.is_empty() { ListedColumn::usual() } else { args.columns.clone() };
        find(&self.tables, &self.filter, &columns, (self.orders.0, args.reverse), args.page(), goes_on)
    }

    fn totals(&self, goes_on: &dyn Fn() -> bool) -> EventTotals {
        totals(&self.tables, &self.filter, &self.args.group_by, self.orders.1, self.args.page(), goes_on)
    }

    fn answer(&self, goes_on: &dyn Fn() -> bool) -> EventAnswer {
        if self.args.group_by.is_empty() {
            EventAnswer::List(self.find(goes_on).into_list())
        } else {
            EventAnswer::Totals(self.totals(goes_on))
        }
    }
}
