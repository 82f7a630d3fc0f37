//! Events by name, category, track, time, step or length, as a list or in groups.

use analysis::Scope;
use clap::{Args, ValueEnum};
use schemars::JsonSchema;
use serde::Deserialize;
use trace_model::Picos;

use crate::error::{RequestError, Result};
use crate::values::Text;
use session::Session;
use session::events::{
    EventFilter, EventList, EventOrder, EventPage, EventTables, EventTotals, FoundEvents, GroupKey,
    ListedColumn, NamePattern, TotalOrder, find, totals,
};
use session::tables::{DataTable, report_table};

/// Which events, and what of them.
#[derive(Debug, Default, Args, Deserialize, JsonSchema)]
#[command(next_help_heading = "Events")]
#[serde(default)]
pub struct EventsRequest {
    /// Events with this name; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub name: Vec<Text<NamePattern>>,
    /// Ops of this category, as in a report: Matmul, Collective, 'Copy wait' …
    #[arg(long, value_name = "PATTERN")]
    pub category: Vec<Text<NamePattern>>,
    /// Ops of this program
    #[arg(long, value_name = "PATTERN")]
    pub program: Vec<Text<NamePattern>>,
    /// Events on this track: a thread of a host, a line of a device
    #[arg(long, value_name = "PATTERN")]
    pub track: Vec<Text<NamePattern>>,
    /// Tracks that record this: ops, modules, steps, `async_ops`, `host_thread` …
    #[arg(long, value_name = "PATTERN")]
    pub kind: Vec<Text<NamePattern>>,
    /// Events that this host recorded
    #[arg(long, value_name = "PATTERN")]
    pub host: Vec<Text<NamePattern>>,
    /// Events of at least this length: 10us
    #[arg(long, value_name = "TIME")]
    pub least: Option<Text<Picos>>,
    /// Events of at most this length
    #[arg(long, value_name = "TIME")]
    pub most: Option<Text<Picos>>,
    /// Times in groups instead of a list, by up to four of name, category, track, kind, device, host, step, program, depth
    #[arg(long, value_name = "KEY,…", value_delimiter = ',')]
    pub group_by: Vec<Text<GroupKey>>,
    /// Columns of the list: start, dur, self, name, category, step, device, track; also host, program, `track_kind`,
    /// depth, `slice_id`, `parent_id`, `device_start`, `timeline_dur`, flops, `bytes_accessed`, args
    #[arg(
        long,
        value_name = "NAME,…",
        value_delimiter = ',',
        conflicts_with = "group_by"
    )]
    pub columns: Vec<Text<ListedColumn>>,
    /// By what to sort; by start, or groups by total
    #[arg(long, value_enum, value_name = "KEY")]
    pub sort: Option<SortArg>,
    /// The list in the opposite order
    #[arg(long, conflicts_with = "group_by")]
    pub reverse: bool,
    /// Most rows; 0 for all
    #[arg(long, value_name = "N", default_value = "100")]
    #[schemars(description = "Most rows of a part.")]
    pub limit: Option<usize>,
    /// Rows to leave out before the first
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub offset: usize,
}

/// By what rows can be sorted.
#[derive(Clone, Copy, Debug, ValueEnum, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SortArg {
    /// Events by start.
    Start,
    /// Events by length, the longest first.
    Duration,
    /// By self time, the most first.
    #[value(name = "self")]
    #[serde(rename = "self")]
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
}

impl EventsRequest {
    /// Rejects contradictions before a trace is opened.
    pub fn check(&self) -> Result<()> {
        let keys = self.groups();
        if keys.len() > GroupKey::MOST {
            return Err(RequestError::argument(
                "group_by",
                format!("write at most {} keys", GroupKey::MOST),
            ));
        }
        if let Some((twice, _)) = (1..keys.len())
            .map(|index| keys[index])
            .zip(1..)
            .find(|(key, index)| keys[..*index].contains(key))
        {
            return Err(RequestError::argument(
                "group_by",
                format!("{} is named twice", twice.word),
            ));
        }
        let only_of_lists = [
            ("columns", !self.columns.is_empty()),
            ("reverse", self.reverse),
        ];
        if let Some((name, _)) = only_of_lists.iter().find(|(_, is_set)| *is_set)
            && !keys.is_empty()
        {
            return Err(RequestError::argument(
                name,
                "only a list of events has it: leave it out, or group_by",
            ));
        }
        for (name, length) in [("least", self.least), ("most", self.most)] {
            if length.is_some_and(|length| length.0 < Picos::ZERO) {
                return Err(RequestError::argument(
                    name,
                    "no event is shorter than nothing",
                ));
            }
        }
        if self
            .least
            .zip(self.most)
            .is_some_and(|(least, most)| least.0 > most.0)
        {
            return Err(RequestError::argument(
                "least",
                "is more than the greatest length: no event fits both",
            ));
        }
        orders(self).map(|_| ())
    }

    /// The rows that are wanted.
    pub fn page(&self) -> EventPage {
        EventPage {
            offset: self.offset,
            limit: self.limit.unwrap_or(0),
        }
    }

    fn groups(&self) -> Vec<GroupKey> {
        plain(&self.group_by)
    }
}

fn plain<T: Clone>(texts: &[Text<T>]) -> Vec<T> {
    texts.iter().map(|text| text.0.clone()).collect()
}

/// The order of a list and of groups.
fn orders(args: &EventsRequest) -> Result<(EventOrder, TotalOrder)> {
    let is_grouped = !args.group_by.is_empty();
    let wrong = |list: &str| Err(RequestError::argument("sort", list));
    let grouped = |order| {
        if is_grouped {
            Ok((EventOrder::Start, order))
        } else {
            wrong("a list has start, duration, self or name")
        }
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

/// A question about the events of a trace.
pub struct EventQuestion<'a> {
    tables: EventTables,
    filter: EventFilter,
    orders: (EventOrder, TotalOrder),
    args: &'a EventsRequest,
}

impl<'a> EventQuestion<'a> {
    pub fn new(
        session: &Session,
        args: &'a EventsRequest,
        scope: Scope,
        devices: &[u32],
    ) -> Result<Self> {
        let filter = EventFilter {
            name: plain(&args.name),
            category: plain(&args.category),
            program: plain(&args.program),
            track: plain(&args.track),
            kind: plain(&args.kind),
            host: plain(&args.host),
            device: devices.to_vec(),
            scope: Some(scope),
            least: args.least.map(|length| length.0),
            most: args.most.map(|length| length.0),
        };
        args.check()?;
        if let Some(why) = filter.unknown_kind() {
            return Err(RequestError::argument("kind", why));
        }
        let tables = EventTables::new(session);
        if let Some((name, why)) = tables.not_there(&filter) {
            return Err(RequestError::argument(name, why));
        }
        Ok(Self {
            tables,
            filter,
            orders: orders(args)?,
            args,
        })
    }

    pub fn find(&self, goes_on: &dyn Fn() -> bool) -> FoundEvents<'_> {
        let args = self.args;
        let columns = if args.columns.is_empty() {
            ListedColumn::usual()
        } else {
            plain(&args.columns)
        };
        find(
            &self.tables,
            &self.filter,
            &columns,
            (self.orders.0, args.reverse),
            args.page(),
            goes_on,
        )
    }

    pub fn totals(&self, goes_on: &dyn Fn() -> bool) -> EventTotals {
        totals(
            &self.tables,
            &self.filter,
            &self.args.groups(),
            self.orders.1,
            self.args.page(),
            goes_on,
        )
    }

    /// The rows as a table; those of a list are read when they are asked for.
    pub fn table(&self, goes_on: &dyn Fn() -> bool) -> DataTable {
        if self.args.group_by.is_empty() {
            self.find(goes_on).table(&self.tables.slices)
        } else {
            report_table("events", "events", self.totals(goes_on).groups)
        }
    }

    pub fn answer(&self, goes_on: &dyn Fn() -> bool) -> EventAnswer {
        if self.args.group_by.is_empty() {
            EventAnswer::List(self.find(goes_on).into_list())
        } else {
            EventAnswer::Totals(self.totals(goes_on))
        }
    }
}
