//! Times of events, in groups.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::str::FromStr;

use analysis::engine::json_text::TruncatedList;
use analysis::math::quantile::of_sorted;
use analysis::math::stats::Stats;
use analysis::{Cell, CellKind, CellType as _, Column, Provenance, Table, Tabular, Unit};
use serde::Serialize;

use super::EventPage;
use super::filter::{EventFilter, EventTables};
use super::list::{cut_rows, heading, matching, that_fit};
use crate::tables::{DataColumn, Value, cut};

/// By what events are grouped: a column of the table of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupKey {
    /// Its name, as in the table of slices.
    pub id: &'static str,
    /// What it is called in a question.
    pub word: &'static str,
    pub title: &'static str,
}

impl GroupKey {
    /// Most keys at once.
    pub const MOST: usize = 4;
    pub const ALL: [Self; 9] = [
        Self::new("name", "name", "Name"),
        Self::new("category", "category", "Category"),
        Self::new("track", "track", "Track"),
        Self::new("track_kind", "kind", "Kind"),
        Self::new("device", "device", "Device"),
        Self::new("host", "host", "Host"),
        Self::new("step", "step", "Step"),
        Self::new("program", "program", "Program"),
        Self::new("depth", "depth", "Depth"),
    ];

    const fn new(id: &'static str, word: &'static str, title: &'static str) -> Self {
        Self { id, word, title }
    }

    /// The key with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|key| key.word == name || key.id == name)
    }
}

/// By what groups are ordered, the greatest first; ties by the names of the groups.
#[derive(Clone, Copy, Debug)]
pub enum TotalOrder {
    /// By total time.
    Total,
    SelfTime,
    /// By number of events.
    Count,
    /// By mean length.
    Mean,
    /// By the longest event.
    Max,
    /// By the names of the groups, ascending.
    Name,
}

/// Times of the events that match, in groups.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct EventTotals {
    /// How many events match.
    pub events: usize,
    /// How many groups they make.
    pub total: usize,
    /// How many of the groups were left out before the first row.
    pub offset: usize,
    /// Whether groups are missing after the last row.
    pub truncated: bool,
    /// Where the next part begins.
    pub next_offset: Option<usize>,
    /// A row for each group.
    pub groups: Table,
}

impl Tabular for EventTotals {
    fn tables(&self) -> Vec<Table> {
        vec![self.groups.clone()]
    }
    fn cut(&self) -> Option<TruncatedList> {
        cut_rows(self.truncated, "/groups/rows", &self.groups, self.total)
    }
}

/// The values of a group's keys: codes of texts, or numbers; [`MISSING`] for none.
type KeyCodes = [i64; GroupKey::MOST];
const MISSING: i64 = i64::MIN;

/// Sums are wider than the times of which they are made: events on many threads add up to more than an `i64` holds.
#[derive(Default)]
struct GroupTimes {
    self_sum: i128,
    durations: Vec<i64>,
}

/// The value of a key of a group; missing ones come last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum KeyValue<'a> {
    Number(i64),
    Text(&'a str),
    Missing,
}

impl KeyValue<'_> {
    fn cell(self) -> Cell {
        match self {
            Self::Number(number) => Cell::Int(number),
            Self::Text(text) => Cell::text(cut(text)),
            Self::Missing => Cell::Missing,
        }
    }
}

/// A group, with what its row shows.
struct EventGroupRow<'a> {
    names: Vec<KeyValue<'a>>,
    self_sum: i128,
    total_sum: i128,
    min_ps: i64,
    max_ps: i64,
    stats: Stats,
    p50: Option<f64>,
    p90: Option<f64>,
    p95: Option<f64>,
    p99: Option<f64>,
}

/// The times of the events that match, in groups. `goes_on` is asked from time to time; if it answers false, the answer
/// is not complete and must not be used.
pub fn totals(
    tables: &EventTables,
    filter: &EventFilter,
    by: &[GroupKey],
    order: TotalOrder,
    page: EventPage,
    goes_on: &dyn Fn() -> bool,
) -> EventTotals {
    let columns: Vec<(GroupKey, &DataColumn)> = by
        .iter()
        .take(GroupKey::MOST)
        .filter_map(|key| Some((*key, tables.slices.column(key.id)?)))
        .collect();
    let (dur, self_times) = (
        tables.slices.column("dur_ps"),
        tables.slices.column("self_ps"),
    );
    let int = |column: Option<&DataColumn>, row| match column.map(|column| column.value(row)) {
        Some(Value::Int(number)) => number,
        _ => 0,
    };
    let mut times: HashMap<KeyCodes, GroupTimes> = HashMap::new();
    let mut events = 0_usize;
    tables.each(filter, |row| {
        let mut keys = [MISSING; GroupKey::MOST];
        for (key, (_, column)) in keys.iter_mut().zip(&columns) {
            *key = key_of(column, row);
        }
        let group = times.entry(keys).or_default();
        group.self_sum += i128::from(int(self_times, row));
        group.durations.push(int(dur, row));
        events += 1;
        !events.is_multiple_of(1 << 16) || goes_on()
    });
    let self_of_all: i128 = times.values().map(|group| group.self_sum).sum();
    let mut groups: Vec<EventGroupRow<'_>> = times
        .into_iter()
        .filter_map(|(keys, times)| group(&columns, keys, &times))
        .collect();
    groups.sort_by(|a, b| in_order(order, a, b));
    let total = groups.len();
    let is_beyond = groups
        .iter()
        .any(|group| exact(group.total_sum).is_none() || exact(group.self_sum).is_none());
    let limit = if page.limit == 0 {
        usize::MAX
    } else {
        page.limit
    };
    let rows = groups
        .into_iter()
        .skip(page.offset)
        .take(limit)
        .map(|group| row(group, self_of_all));
    let rows = that_fit(rows);
    let next_offset = page.next(rows.len(), total);
    let mut notes = vec![
        "times are by the most precise clock; total, mean and the others count nested events again, self time counts \
         no time twice within a track"
            .to_owned(),
        "the share is of the self time of all events that match; p90 needs 10 events, p95 20, p99 100".to_owned(),
    ];
    notes.extend(tables.unmatched(filter).filter(|_| events == 0));
    if is_beyond {
        notes.push("a sum above 2^63 ps (106 days) is missing".to_owned());
    }
    let count = |number: usize| analysis::number::count(number as f64);
    let keys = columns
        .iter()
        .map(|(key, column)| heading(key.id, key.title, column));
    let groups = Table {
        id: "event_totals",
        title: format!("{}, in {} groups", matching(events), count(total)),
        columns: keys.chain(FIGURES.map(figure)).collect(),
        notes,
        rows,
    };
    EventTotals {
        events,
        total,
        offset: page.offset,
        truncated: next_offset.is_some(),
        next_offset,
        groups,
    }
}

fn key_of(column: &DataColumn, row: usize) -> i64 {
    match column.code(row) {
        Some(code) => i64::from(code),
        None => match column.value(row) {
            Value::Int(number) => number,
            _ => MISSING,
        },
    }
}

fn group<'a>(
    columns: &[(GroupKey, &'a DataColumn)],
    keys: KeyCodes,
    times: &GroupTimes,
) -> Option<EventGroupRow<'a>> {
    let name = |(&(_, column), key): (&(GroupKey, &'a DataColumn), i64)| match column.choices() {
        _ if key == MISSING => KeyValue::Missing,
        Some(choices) => {
            let text = u32::try_from(key).ok().and_then(|code| choices.text(code));
            text.map_or(KeyValue::Missing, KeyValue::Text)
        }
        None => KeyValue::Number(key),
    };
    let names = columns.iter().zip(keys).map(name).collect();
    let (min_ps, max_ps) = (
        *times.durations.iter().min()?,
        *times.durations.iter().max()?,
    );
    let mut sorted: Vec<f64> = times
        .durations
        .iter()
        .map(|&duration| duration as f64)
        .collect();
    sorted.sort_by(f64::total_cmp);
    let at_least =
        |count: usize, share: f64| of_sorted(&sorted, share).filter(|_| sorted.len() >= count);
    Some(EventGroupRow {
        names,
        self_sum: times.self_sum,
        total_sum: times
            .durations
            .iter()
            .map(|&duration| i128::from(duration))
            .sum(),
        min_ps,
        max_ps,
        stats: Stats::of(&sorted)?,
        p50: at_least(1, 0.5),
        p90: at_least(10, 0.9),
        p95: at_least(20, 0.95),
        p99: at_least(100, 0.99),
    })
}

/// A sum as a cell holds it; `None` if it does not.
fn exact(sum_ps: i128) -> Option<i64> {
    i64::try_from(sum_ps).ok()
}

fn in_order(order: TotalOrder, a: &EventGroupRow<'_>, b: &EventGroupRow<'_>) -> Ordering {
    let first = match order {
        TotalOrder::Total => b.total_sum.cmp(&a.total_sum),
        TotalOrder::SelfTime => b.self_sum.cmp(&a.self_sum),
        TotalOrder::Count => b.stats.count.cmp(&a.stats.count),
        TotalOrder::Mean => b.stats.mean.total_cmp(&a.stats.mean),
        TotalOrder::Max => b.max_ps.cmp(&a.max_ps),
        TotalOrder::Name => Ordering::Equal,
    };
    first.then_with(|| a.names.cmp(&b.names))
}

/// The figures of a group: id and heading.
const FIGURES: [(&str, &str); 12] = [
    ("count", "Events"),
    ("total_ps", "Total"),
    ("self_ps", "Self"),
    ("self_of_matching_percent", "Share"),
    ("mean_ps", "Mean"),
    ("min_ps", "Min"),
    ("p50_ps", "p50"),
    ("p90_ps", "p90"),
    ("p95_ps", "p95"),
    ("p99_ps", "p99"),
    ("max_ps", "Max"),
    ("stddev_ps", "Std. dev."),
];

fn figure((id, title): (&'static str, &'static str)) -> Column {
    let (unit, kind) = match id {
        "count" => (Unit::Count, CellKind::Int),
        "total_ps" | "self_ps" | "min_ps" | "max_ps" => (Unit::Picoseconds, CellKind::Int),
        "self_of_matching_percent" => (Unit::Percent, CellKind::Float),
        _ => (Unit::Picoseconds, CellKind::Float),
    };
    Column {
        id,
        title,
        unit,
        provenance: Provenance::Measured,
        kind,
    }
}

fn row(group: EventGroupRow<'_>, self_of_all: i128) -> Vec<Cell> {
    let share: Option<f64> =
        (self_of_all > 0).then(|| 100.0 * group.self_sum as f64 / self_of_all as f64);
    let figures = [
        Cell::count(group.stats.count as u64),
        exact(group.total_sum).cell(),
        exact(group.self_sum).cell(),
        share.cell(),
        Cell::Float(group.stats.mean),
        Cell::Int(group.min_ps),
        group.p50.cell(),
        group.p90.cell(),
        group.p95.cell(),
        group.p99.cell(),
        Cell::Int(group.max_ps),
        group.stats.stddev.cell(),
    ];
    group
        .names
        .into_iter()
        .map(KeyValue::cell)
        .chain(figures)
        .collect()
}

impl FromStr for GroupKey {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(|key| key.word).join(", ");
        Self::named(text).ok_or_else(|| format!("write one of {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use analysis::Options;
    use trace_model::{GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    use super::*;
    use crate::open::Session;

    /// An event of six days on each of some threads: no capture is longer.
    fn totals_of(threads: i64) -> EventTotals {
        const DAYS: i64 = 6 * 86_400 * trace_model::time::PS_PER_S;
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::HostProcess, "host");
        let label = builder.label("long", None);
        for thread in 0..threads {
            let track = builder.track(host, TrackKind::HostThread, thread, "thread");
            let range = TimeRange::at(Timestamp::from_ps(0), Picos::from_ps(DAYS));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        let session = Session::from_model(builder.finish(), Options::default());
        let page = EventPage {
            offset: 0,
            limit: 0,
        };
        let by = [GroupKey::named("name").unwrap()];
        totals(
            &EventTables::new(&session),
            &EventFilter::default(),
            &by,
            TotalOrder::Total,
            page,
            &|| true,
        )
    }

    #[test]
    fn sums_beyond_the_range_are_missing_and_not_wrong() {
        let cell = |totals: &EventTotals, id: &str| {
            let at = totals
                .groups
                .columns
                .iter()
                .position(|column| column.id == id)
                .unwrap();
            totals.groups.rows[0][at].clone()
        };
        let one = totals_of(1);
        assert_eq!(cell(&one, "total_ps"), cell(&one, "max_ps"));
        assert!(
            one.groups
                .notes
                .iter()
                .all(|note| !note.contains("106 days"))
        );
        let many = totals_of(18);
        assert_eq!(
            (cell(&many, "total_ps"), cell(&many, "self_ps")),
            (Cell::Missing, Cell::Missing)
        );
        assert_eq!(
            (cell(&many, "count"), cell(&many, "max_ps")),
            (Cell::Int(18), cell(&one, "max_ps"))
        );
        assert_eq!(cell(&many, "self_of_matching_percent"), Cell::Float(100.0));
        assert!(
            many.groups
                .notes
                .iter()
                .any(|note| note.contains("106 days")),
            "{:?}",
            many.groups.notes
        );
    }
}
