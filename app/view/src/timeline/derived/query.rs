//! The rows of a query as a track.

use std::collections::HashMap;

use crate::prelude::*;
use analysis::Cell;

use super::{DerivedData, DerivedName, DerivedSlice, packed};
use crate::palette::ColorKey;

/// Rows that overlap take at most so many lanes.
const MOST_LANES: usize = 16;

/// The columns of a result that make it a track.
#[derive(Clone, Copy, Debug)]
pub struct QueryColumns {
    /// Index of the column of times, and picoseconds of its unit.
    start: (usize, f64),
    /// Index of the column of lengths on the timeline, and picoseconds of its unit; `None` for values over time.
    dur: Option<(usize, f64)>,
    /// As `dur`, for the lengths that slices tell, where the result has others than those on the timeline.
    time: Option<(usize, f64)>,
    /// The value, or the name of the slice.
    other: Option<usize>,
}

/// Units at the end of the name of a column, with their picoseconds; without one, a time is in picoseconds.
const UNITS: [(&str, f64); 5] = [
    ("_ps", 1.0),
    ("_ns", 1e3),
    ("_us", 1e6),
    ("_ms", 1e9),
    ("_s", 1e12),
];
const STARTS: [&str; 5] = ["start", "ts", "begin", "time", "at"];
const DURATIONS: [&str; 3] = ["dur", "duration", "length"];

impl QueryColumns {
    /// The columns of a table; the error is a sentence that says which are missing.
    pub fn of(table: &Table) -> Result<Self, String> {
        let timed = |names: &[&str]| {
            let mut times =
                table
                    .columns
                    .iter()
                    .enumerate()
                    .filter_map(|(column_index, column)| {
                        let name = column.id.to_lowercase();
                        let (stem, ps) = unit_of(&name);
                        names.contains(&stem).then_some((column_index, ps))
                    });
            times.next()
        };
        let named = |wanted: &str| {
            let mut columns = table.columns.iter();
            columns.position(|column| column.id.eq_ignore_ascii_case(wanted))
        };
        let start = timed(&STARTS).ok_or(
            "A track needs a column with times, in picoseconds or with the unit at its end: start_ps, ts, begin_us.",
        )?;
        // The place on the timeline, where a result has it beside the measured length.
        let (drawn, time) = (timed(&["timeline_dur"]), timed(&DURATIONS));
        if let Some(dur) = drawn.or(time) {
            return Ok(Self {
                start,
                dur: Some(dur),
                time: time.filter(|time| *time != dur),
                other: named("name"),
            });
        }
        // A result without rows may be one of values.
        let is_number = |column_index: &usize| {
            let mut cells = table.rows.iter().filter_map(|row| row.get(*column_index));
            !cells.any(|cell| matches!(cell, Cell::Text(_)))
        };
        let value = named("value").or_else(|| {
            (0..table.columns.len())
                .rev()
                .find(|column_index| *column_index != start.0)
        });
        match value.filter(is_number) {
            Some(value) => Ok(Self {
                start,
                dur: None,
                time: None,
                other: Some(value),
            }),
            None => Err(
                "A track needs a column with lengths (dur_ps, duration, length_us) or one with values (value) beside its times."
                    .to_owned(),
            ),
        }
    }
}

/// The name of a column without its unit, and the picoseconds of this.
fn unit_of(name: &str) -> (&str, f64) {
    let unit = UNITS
        .iter()
        .find_map(|&(end, ps)| Some((name.strip_suffix(end)?, ps)));
    unit.unwrap_or((name, 1.0))
}

fn number(cell: Option<&Cell>) -> Option<f64> {
    match cell? {
        &Cell::Int(number) => Some(number as f64),
        &Cell::Float(number) => Some(number).filter(|number| number.is_finite()),
        Cell::Missing | Cell::Text(_) => None,
    }
}

/// A time in picoseconds; numbers that are no times of a trace have none.
fn picos(cell: Option<&Cell>, unit: f64) -> Option<i64> {
    // Integers of picoseconds are exact.
    if let (Some(&Cell::Int(ps)), true) = (cell, unit <= 1.0) {
        return Some(ps).filter(|ps| ps.unsigned_abs() < 1 << 62);
    }
    let ps = (number(cell)? * unit).round();
    (ps.abs() < 4e18).then_some(ps as i64)
}

/// The rows of a result as a track. `title` is the name of slices without one.
pub fn query_rows(title: &str, table: &Table, is_truncated: bool) -> Result<DerivedData, String> {
    let columns = QueryColumns::of(table)?;
    let start = |row: &[Cell]| {
        let ps = picos(row.get(columns.start.0), columns.start.1)?;
        Some(Timestamp::from_ps(ps))
    };
    let mut notes = Vec::new();
    let mut data = DerivedData::default();
    let mut left_out = 0_u64;
    if let Some(dur) = columns.dur {
        let mut numbers: HashMap<&str, u32> = HashMap::new();
        let mut slices = Vec::new();
        for row in &table.rows {
            let length = |(column, unit): (usize, f64)| {
                let ps = picos(row.get(column), unit).filter(|ps| *ps >= 0)?;
                Some(Picos::from_ps(ps))
            };
            let (Some(start), Some(dur)) = (start(row), length(dur)) else {
                left_out += 1;
                continue;
            };
            let name = match columns.other.and_then(|index| row.get(index)) {
                Some(Cell::Text(name)) => name.as_str(),
                _ => title,
            };
            let names = &mut data.names;
            let number = *numbers.entry(name).or_insert_with(|| {
                names.push(DerivedName::new(name));
                (names.len() - 1) as u32
            });
            slices.push(DerivedSlice {
                range: TimeRange::at(start, dur),
                time: columns.time.and_then(length).unwrap_or(dur),
                name: number,
                color: ColorKey::of_name(name),
                slice: None,
            });
        }
        let (lanes, deeper) = packed(slices, MOST_LANES);
        data.lanes = lanes;
        if deeper > 0 {
            let deeper = counted(deeper as u64, "row");
            notes.push(format!(
                "left out because {MOST_LANES} lanes are full: {deeper}"
            ));
        }
    } else {
        for row in &table.rows {
            let value = number(columns.other.and_then(|index| row.get(index)));
            match start(row).zip(value) {
                Some(sample) => data.values.push(sample),
                None => left_out += 1,
            }
        }
        data.values.sort_by_key(|&(time, _)| time);
    }
    if left_out > 0 {
        let rows = counted(left_out, "row");
        notes.push(format!("{rows} without a time, length or value left out"));
    }
    if is_truncated {
        let rows = counted(table.rows.len() as u64, "row");
        notes.push(format!("only the first {rows} of the result"));
    }
    if data.is_empty() && notes.is_empty() {
        notes.push("the query finds no rows".to_owned());
    }
    data.note = notes.join("; ");
    Ok(data)
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::{CellKind, Column, Provenance, Unit};

    fn table(columns: &[&'static str], rows: Vec<Vec<Cell>>) -> Table {
        let column = |&name: &&'static str| Column {
            id: name,
            title: name,
            unit: Unit::None,
            provenance: Provenance::Derived,
            kind: CellKind::Mixed,
        };
        Table {
            id: "query",
            title: String::new(),
            columns: columns.iter().map(column).collect(),
            rows,
            notes: Vec::new(),
        }
    }

    #[test]
    fn rows_with_times_and_lengths_are_slices() {
        let rows = vec![
            vec![Cell::text("a"), Cell::Float(1.5), Cell::Int(2)],
            vec![Cell::Missing, Cell::Float(2.0), Cell::Int(2)],
            vec![Cell::text("b"), Cell::Missing, Cell::Int(2)],
            vec![Cell::text("b"), Cell::Float(9.0), Cell::Int(-1)],
        ];
        let data = query_rows("Mine", &table(&["name", "ts_us", "dur_ns"], rows), false).unwrap();
        let shown: Vec<_> = data
            .lanes
            .iter()
            .flat_map(super::super::DerivedLane::slices)
            .map(|slice| {
                let name = data.name(slice).unwrap().short().to_owned();
                (name, slice.range.start.ps(), slice.time.ps())
            })
            .collect();
        assert_eq!(
            shown,
            [
                ("a".to_owned(), 1_500_000, 2_000),
                ("Mine".to_owned(), 2_000_000, 2_000)
            ]
        );
        assert_eq!(data.note, "2 rows without a time, length or value left out");
    }

    #[test]
    fn slices_tell_the_measured_length_and_have_that_of_the_timeline() {
        let row = |dur: Cell| vec![Cell::Int(5), Cell::Int(3), dur];
        let rows = vec![row(Cell::Int(2)), row(Cell::Missing)];
        let columns = ["start_ps", "timeline_dur_ps", "dur_ps"];
        let data = query_rows("Mine", &table(&columns, rows), false).unwrap();
        let slices = data
            .lanes
            .iter()
            .flat_map(super::super::DerivedLane::slices);
        let lengths = slices.map(|slice| (slice.range.dur().ps(), slice.time.ps()));
        assert_eq!(lengths.collect::<Vec<_>>(), [(3, 2), (3, 3)]);
    }

    #[test]
    fn a_result_without_rows_says_so() {
        for columns in [["start_ps", "value"], ["start_ps", "dur_ps"]] {
            let data = query_rows("Mine", &table(&columns, Vec::new()), false).unwrap();
            assert_eq!(data.note, "the query finds no rows");
        }
    }

    #[test]
    fn rows_without_a_lane_are_counted() {
        let rows = vec![vec![Cell::Int(0), Cell::Int(9)]; 17];
        let data = query_rows("Mine", &table(&["ts", "dur"], rows), false).unwrap();
        assert_eq!(data.note, "left out because 16 lanes are full: 1 row");
    }

    #[test]
    fn rows_with_times_and_values_are_a_counter() {
        let rows = vec![
            vec![Cell::Int(5), Cell::Float(-2.0)],
            vec![Cell::Int(3), Cell::Int(7)],
        ];
        let data = query_rows("Mine", &table(&["start_ps", "most"], rows), true).unwrap();
        let at = Timestamp::from_ps;
        assert_eq!(data.values, [(at(3), 7.0), (at(5), -2.0)]);
        assert_eq!(data.bounds(), Some((-2.0, 7.0)));
        assert_eq!(data.note, "only the first 2 rows of the result");
    }

    #[test]
    fn the_missing_column_is_named() {
        let why = |columns: &[&'static str]| {
            let row = columns.iter().map(|_| Cell::text("x")).collect();
            QueryColumns::of(&table(columns, vec![row])).unwrap_err()
        };
        assert!(why(&["name", "dur_ps"]).contains("column with times"));
        assert!(why(&["start_ps", "name"]).contains("column with lengths"));
    }
}
