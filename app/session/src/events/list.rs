//! A list of events.

use std::str::FromStr;
use std::sync::Arc;

use analysis::engine::json_text::TruncatedList;
use analysis::{Cell, CellKind, Column, Provenance, Table, Tabular};
use serde::Serialize;

use super::EventPage;
use super::filter::{EventFilter, EventTables};
use crate::tables::{ColumnKind, DataColumn, DataTable, Value, cut, picked};

/// By what a list is ordered; ties are in order of the tracks.
#[derive(Clone, Copy, Debug)]
pub enum EventOrder {
    /// The earliest first.
    Start,
    /// The longest first.
    Duration,
    /// The one with the most self time first.
    SelfTime,
    Name,
}

/// A column of the list: a column of the table of slices, with its heading.
#[derive(Clone, Copy, Debug)]
pub struct ListedColumn {
    /// Its name, as in the table of slices.
    pub id: &'static str,
    pub title: &'static str,
}

impl ListedColumn {
    /// All that can be listed.
    pub const ALL: [Self; 19] = [
        Self::new("start_ps", "Start"),
        Self::new("dur_ps", "Duration"),
        Self::new("self_ps", "Self"),
        Self::new("name", "Name"),
        Self::new("category", "Category"),
        Self::new("step", "Step"),
        Self::new("device", "Device"),
        Self::new("track", "Track"),
        Self::new("host", "Host"),
        Self::new("program", "Program"),
        Self::new("track_kind", "Kind"),
        Self::new("depth", "Depth"),
        Self::new("slice_id", "Slice"),
        Self::new("parent_id", "Parent"),
        Self::new("device_start_ps", "Device start"),
        Self::new("timeline_dur_ps", "On the timeline"),
        Self::new("flops", "FLOPs"),
        Self::new("bytes_accessed", "Bytes"),
        Self::new("args", "Arguments"),
    ];
    /// How many of them are listed unless others are named.
    const USUAL: usize = 8;

    const fn new(id: &'static str, title: &'static str) -> Self {
        Self { id, title }
    }

    /// What is listed unless others are named.
    pub fn usual() -> Vec<Self> {
        Self::ALL[..Self::USUAL].to_vec()
    }

    /// The column with this name, with or without the unit at its end.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|column| column.id == name || column.id.strip_suffix("_ps") == Some(name))
    }
}

/// A part of the events that match.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct EventList {
    /// How many events match.
    pub total: usize,
    /// How many of them were left out before the first row.
    pub offset: usize,
    /// Whether events are missing after the last row.
    pub truncated: bool,
    /// Where the next part begins.
    pub next_offset: Option<usize>,
    /// The events.
    pub events: Table,
}

impl Tabular for EventList {
    fn tables(&self) -> Vec<Table> {
        vec![self.events.clone()]
    }
    fn cut(&self) -> Option<TruncatedList> {
        cut_rows(self.truncated, "/events/rows", &self.events, self.total)
    }
}

/// The rows of a table at this place of an answer, if some of all are missing after them.
pub(super) fn cut_rows(
    is_cut: bool,
    place: &str,
    table: &Table,
    total: usize,
) -> Option<TruncatedList> {
    is_cut.then(|| TruncatedList {
        path: place.to_owned(),
        shown: table.rows.len(),
        total,
    })
}

/// Events that were found, of which the rows are not made yet.
pub struct FoundEvents<'a> {
    /// How many events match.
    pub total: usize,
    columns: Vec<(ListedColumn, &'a DataColumn)>,
    rows: Vec<u32>,
    page: EventPage,
    unmatched: Option<String>,
}

impl FoundEvents<'_> {
    pub fn columns(&self) -> Vec<Column> {
        self.columns
            .iter()
            .map(|(listed, column)| heading(listed.id, listed.title, column))
            .collect()
    }

    pub fn rows(&self) -> impl Iterator<Item = Vec<Cell>> {
        let cells = |&row: &u32| {
            self.columns
                .iter()
                .map(|(_, column)| cell(column, row as usize))
                .collect()
        };
        self.rows.iter().map(cells)
    }

    /// Where the part begins that follows so many rows.
    pub fn next(&self, shown: usize) -> Option<usize> {
        self.page.next(shown, self.total)
    }

    /// The rows as a part of the table of slices, read when they are asked for.
    pub fn table(&self, slices: &Arc<DataTable>) -> DataTable {
        let names = slices.columns.iter().map(|column| &column.name);
        let number = |id: &str| names.clone().position(|name| name == id);
        let columns: Vec<usize> = self
            .columns
            .iter()
            .filter_map(|(listed, _)| number(listed.id))
            .collect();
        let mut rows = picked(slices, &columns, Some(self.rows.clone()));
        "events".clone_into(&mut rows.name);
        rows
    }

    /// The list, as far as it fits into memory.
    pub fn into_list(self) -> EventList {
        let rows = that_fit(self.rows());
        let next_offset = self.next(rows.len());
        let notes = [
            "start is that of the timeline; duration and self time are by the most precise clock"
                .to_owned(),
        ];
        let (columns, total, offset) = (self.columns(), self.total, self.page.offset);
        let notes = notes.into_iter().chain(self.unmatched).collect();
        let events = Table {
            id: "events",
            title: matching(total),
            columns,
            rows,
            notes,
        };
        EventList {
            total,
            offset,
            truncated: next_offset.is_some(),
            next_offset,
            events,
        }
    }
}

/// The first rows, up to a limit of bytes: names can have megabytes, and stand in many rows.
pub(super) fn that_fit(rows: impl Iterator<Item = Vec<Cell>>) -> Vec<Vec<Cell>> {
    /// Most bytes of all rows.
    const MOST: usize = 256 << 20;
    let size = |cell: &Cell| {
        size_of::<Cell>()
            + if let Cell::Text(text) = cell {
                text.len()
            } else {
                0
            }
    };
    let mut bytes = 0;
    let fits = |row: &Vec<Cell>| {
        bytes += row.iter().map(size).sum::<usize>();
        bytes <= MOST
    };
    rows.take_while(fits).collect()
}

/// The events that match, in order. `goes_on` is asked from time to time; if it answers false, the list ends early and
/// must not be used.
pub fn find<'a>(
    tables: &'a EventTables,
    filter: &EventFilter,
    columns: &[ListedColumn],
    order: (EventOrder, bool),
    page: EventPage,
    goes_on: &dyn Fn() -> bool,
) -> FoundEvents<'a> {
    let mut first = FirstRows {
        reach: page.reach(),
        rows: Vec::new(),
    };
    let mut total = 0_usize;
    let key = sort_key(tables, order);
    tables.each(filter, |row| {
        total += 1;
        first.add((key(row), row as u32));
        !total.is_multiple_of(1 << 16) || goes_on()
    });
    let rows = first
        .sorted()
        .into_iter()
        .skip(page.offset)
        .map(|(_, row)| row)
        .collect();
    let columns = columns
        .iter()
        .filter_map(|column| Some((*column, tables.slices.column(column.id)?)))
        .collect();
    FoundEvents {
        total,
        columns,
        rows,
        page,
        unmatched: tables.unmatched(filter).filter(|_| total == 0),
    }
}

/// How many events match, as a sentence.
pub(super) fn matching(count: usize) -> String {
    match count {
        0 => "no event matches".to_owned(),
        1 => "1 event matches".to_owned(),
        _ => format!("{} events match", analysis::number::count(count as f64)),
    }
}

/// What rows are sorted by, ascending.
fn sort_key(
    tables: &EventTables,
    (order, is_reversed): (EventOrder, bool),
) -> impl Fn(usize) -> i64 {
    let name = match order {
        EventOrder::Start => "start_ps",
        EventOrder::Duration => "dur_ps",
        EventOrder::SelfTime => "self_ps",
        EventOrder::Name => "name",
    };
    let column = tables.slices.column(name);
    let is_downwards = matches!(order, EventOrder::Duration | EventOrder::SelfTime) != is_reversed;
    move |row| {
        let key = column.map_or(0, |column| match column.value(row) {
            Value::Int(number) => number,
            _ => column
                .code(row)
                .and_then(|code| column.choices()?.rank(code))
                .map_or(-1, i64::from),
        });
        if is_downwards {
            key.saturating_neg()
        } else {
            key
        }
    }
}

/// The heading of a column of slices.
pub(super) fn heading(id: &'static str, title: &'static str, column: &DataColumn) -> Column {
    let kind = match column.kind() {
        ColumnKind::Int => CellKind::Int,
        ColumnKind::Float => CellKind::Float,
        ColumnKind::Text | ColumnKind::Choice => CellKind::Text,
    };
    Column {
        id,
        title,
        unit: column.unit,
        provenance: column.provenance.unwrap_or(Provenance::Profile),
        kind,
    }
}

pub(super) fn cell(column: &DataColumn, row: usize) -> Cell {
    match column.value(row) {
        Value::Missing => Cell::Missing,
        Value::Int(number) => Cell::Int(number),
        Value::Float(number) => Cell::Float(number),
        Value::Text(text) => Cell::text(cut(&text)),
    }
}

/// The first of many rows in order, without keeping the others.
struct FirstRows {
    /// How many are wanted; all if `None`.
    reach: Option<usize>,
    rows: Vec<(i64, u32)>,
}

impl FirstRows {
    fn add(&mut self, row: (i64, u32)) {
        /// Rows to collect at least before the last ones are dropped.
        const SLACK: usize = 4096;
        self.rows.push(row);
        if let Some(reach) = self.reach
            && self.rows.len() > reach.saturating_mul(2).saturating_add(SLACK)
        {
            self.rows.select_nth_unstable(reach);
            self.rows.truncate(reach);
        }
    }

    fn sorted(mut self) -> Vec<(i64, u32)> {
        self.rows.sort_unstable();
        self.rows.truncate(self.reach.unwrap_or(usize::MAX));
        self.rows
    }
}

impl FromStr for ListedColumn {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = || Self::ALL.map(|column| column.id).join(", ");
        Self::named(text).ok_or_else(|| format!("write one of {}", known()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rows_are_those_of_a_full_sort() {
        let rows =
            (0..20_000_u32).map(|row| (i64::from(row.wrapping_mul(2_654_435_761) % 977), row));
        let mut expected: Vec<_> = rows.clone().collect();
        expected.sort_unstable();
        for reach in [Some(1), Some(37), Some(5000), Some(30_000), None] {
            let mut first = FirstRows {
                reach,
                rows: Vec::new(),
            };
            rows.clone().for_each(|row| first.add(row));
            assert_eq!(
                first.sorted(),
                expected[..reach.unwrap_or(20_000).min(20_000)],
                "{reach:?}"
            );
        }
    }
}
