//! `systole events`: events by name, category, track, time, step or length, as a list or in groups.

use std::sync::Arc;

use analysis::{Report, Scope, Table};
use clap::{Args, ValueEnum};
use serde_json::{Map, json};
use trace_model::Picos;

use crate::common::args::{CsvArgs, InputArgs, OutputArgs, ScopeArgs};
use crate::common::failure::{CommandOutcome, Failure};
use crate::common::stderr::Stderr;
use crate::common::values::OutputFormat;
use crate::common::{checks, loading, output};
use render::{Document, ReportSection, csv};
use session::Session;
use session::events::{
    EventFilter, EventList, EventOrder, EventPage, EventTables, EventTotals, GroupKey, ListedColumn, NamePattern,
    TotalOrder, list, totals,
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
    pub fn table(&self) -> &Table {
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

    /// What to say if the part that was asked for is beyond the last row.
    fn beyond(&self, offset: usize) -> Option<String> {
        let total = self.extent().0;
        let (what, verb) = match (self, total) {
            (Self::List(_), 1) => ("event", "matches"),
            (Self::List(_), _) => ("events", "match"),
            (Self::Totals(_), 1) => ("group", "matches"),
            (Self::Totals(_), _) => ("groups", "match"),
        };
        let [total_in_words, offset_in_words] = [total, offset].map(|number| analysis::number::count(number as f64));
        let is_beyond = total > 0 && offset >= total;
        is_beyond.then(|| format!("{total_in_words} {what} {verb}: --offset {offset_in_words} is past the last one"))
    }

    /// The answer for a reader, with a note that says how many rows are shown.
    fn report(mut self, offset: usize) -> Arc<dyn Report> {
        let (total, next) = self.extent();
        let beyond = self.beyond(offset);
        let count = |number: usize| analysis::number::count(number as f64);
        let (what, table) = match &mut self {
            Self::List(list) => ("events", &mut list.events),
            Self::Totals(totals) => ("groups", &mut totals.groups),
        };
        let (shown, all) = (count(table.rows.len()), count(total));
        let note = match (beyond, next) {
            (Some(beyond), _) => beyond,
            (None, Some(next)) => {
                format!("{shown} of {all} {what} are shown; --offset {next} continues, --limit 0 shows all")
            }
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

/// Runs the command.
pub fn run(args: &EventsArgs, stderr: &Stderr) -> Result<CommandOutcome, Failure> {
    check(&args.question)?;
    let session = loading::open(&args.input, args.format, stderr)?;
    checks::check_scope(&session, &args.input, &args.scope)?;
    let scope = args.scope.scope();
    let answer = answer(&session, &args.question, scope, &args.input.assume.device, &|| true)?;
    let (total, next) = answer.extent();
    let beyond = answer.beyond(args.question.offset);
    if let (OutputFormat::Ndjson | OutputFormat::Csv, Some(beyond)) = (args.format, beyond) {
        stderr.warn(&beyond);
    }
    match args.format {
        OutputFormat::Ndjson => output::print(&lines(answer.table(), total, next))?,
        OutputFormat::Csv => {
            output::print(&csv::csv(answer.table(), 0, args.csv.cells()))?;
            if let Some(next) = next {
                let shown = answer.table().rows.len();
                stderr.warn(&format!("{shown} of {total} rows; --offset {next} continues, --limit 0 shows all"));
            }
        }
        format => {
            let section =
                ReportSection { id: "events", title: "Events", result: Ok(answer.report(args.question.offset)) };
            let all =
                OutputArgs { format, output: Vec::new(), table: None, top: Some(0), csv: args.csv, strict: false };
            output::write(&Document::of(&session, scope, section), &all, &OutputGuard::default(), stderr)?;
        }
    }
    Ok(CommandOutcome::Done)
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
    let (event_order, total_order) = orders(args)?;
    let page = EventPage { offset: args.offset, limit: args.limit };
    let tables = EventTables::new(session);
    Ok(if args.group_by.is_empty() {
        let columns = if args.columns.is_empty() { ListedColumn::usual() } else { args.columns.clone() };
        EventAnswer::List(list(&tables, &filter, &columns, (event_order, args.reverse), page, goes_on))
    } else {
        EventAnswer::Totals(totals(&tables, &filter, &args.group_by, total_order, page, goes_on))
    })
}

/// An object for each row, and one that counts what is left out.
fn lines(table: &Table, total: usize, next: Option<usize>) -> String {
    let object = |row: &Vec<analysis::Cell>| {
        let fields = table.columns.iter().zip(row).map(|(column, cell)| (column.id.to_owned(), json!(cell)));
        serde_json::Value::Object(fields.collect::<Map<_, _>>())
    };
    let mut text: String = table.rows.iter().flat_map(|row| [object(row).to_string(), "\n".to_owned()]).collect();
    if let Some(next) = next {
        text += &json!({"truncated": true, "total": total, "next_offset": next}).to_string();
        text.push('\n');
    }
    text
}
