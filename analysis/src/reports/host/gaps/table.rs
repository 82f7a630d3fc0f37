//! Gaps as tables.

use trace_model::Picos;

use super::{Cause, CauseTime, DeviceGaps, Gap, GapPlace, GapsReport};
use crate::engine::counted;
use crate::engine::{Cell, Column, Provenance, Table, Tabular};
use crate::math::unit::Unit;

/// Gaps of each device that are printed.
const SHOWN: usize = 10;

fn column(id: &'static str, title: &'static str, unit: Unit, provenance: Provenance) -> Column {
    Column { id, title, unit, provenance }
}

impl Tabular for GapsReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![self.cause_table()];
        if self.devices.len() > 1 {
            tables.push(self.device_table());
        }
        tables.push(self.gap_table());
        if self.devices.iter().any(|device| !device.steps.is_empty()) {
            tables.push(self.step_table());
        }
        if self.devices.iter().any(|device| device.inside.is_some()) {
            tables.push(self.inside_table());
        }
        tables
    }
}

fn cause_columns() -> [Column; Cause::ALL.len()] {
    Cause::ALL.map(|cause| {
        let id = match cause {
            Cause::Compile => "compile_ps",
            Cause::Input => "input_ps",
            Cause::HostToDevice => "host_to_device_ps",
            Cause::DeviceToHost => "device_to_host_ps",
            Cause::Dispatch => "dispatch_ps",
            Cause::User => "user_ps",
            Cause::Wait => "wait_ps",
            Cause::Queued => "queued_ps",
            Cause::Unknown => "unknown_ps",
        };
        column(id, cause.title(), Unit::Picoseconds, Provenance::Inferred)
    })
}

fn text(text: Option<&str>) -> Cell {
    text.map_or(Cell::Missing, Cell::text)
}

fn event(part: &CauseTime) -> [Cell; 2] {
    [text(part.event()), part.event_ps().map_or(Cell::Missing, Cell::Int)]
}

impl GapsReport {
    /// All devices together, by place and cause.
    fn cause_table(&self) -> Table {
        let (measured, inferred) = (Provenance::Measured, Provenance::Inferred);
        let window = self.devices.iter().map(|device| device.window_ps).sum::<Picos>().ps();
        let count = self.devices.len().max(1) as i64;
        let row = |place: GapPlace, cause: Cause| {
            let parts = self.devices.iter().flat_map(|device| device.at(place)).filter(|part| part.cause == cause);
            let time = parts.clone().map(|part| part.time_ps).sum::<Picos>().ps();
            let top = parts.max_by_key(|part| part.event_ps())?;
            let mut row = vec![
                Cell::text(place.title()),
                Cell::text(cause.title()),
                Cell::Int(time / count),
                Cell::maybe(crate::reports::ops::op_stats::percent(time, window)),
            ];
            row.extend(event(top));
            Some(row)
        };
        let places = [GapPlace::BeforeFirst, GapPlace::Between, GapPlace::AfterLast];
        let rows =
            places.into_iter().flat_map(|place| Cause::ALL.into_iter().filter_map(move |cause| row(place, cause)));
        Table {
            id: "gap_causes",
            title: "What the host does while no program runs".to_owned(),
            columns: vec![
                column("place", "Where", Unit::None, measured),
                column("cause", "Host", Unit::None, inferred),
                column("time_ps", "Time", Unit::Picoseconds, measured),
                column("percent", "Of window", Unit::Percent, measured),
                column("event", "Mostly", Unit::None, inferred),
                column("event_ps", "for", Unit::Picoseconds, measured),
            ],
            rows: rows.collect(),
            notes: vec![
                format!("{}.", self.statement),
                format!(
                    "Before, between and after programs; means over {}. At each instant the most telling \
                     event of any thread counts: compiling, then input, transfers, dispatch, user code, waiting; none \
                     once the next program is queued. “Mostly” is the event with most of that time, and how much.",
                    counted(count, "device")
                ),
            ],
        }
    }

    /// A row a device, a column a cause.
    fn device_table(&self) -> Table {
        let measured = Provenance::Measured;
        let mut columns = vec![
            column("core", "Device", Unit::None, measured),
            column("window_ps", "Window", Unit::Picoseconds, measured),
            column("programs", "Programs", Unit::Count, measured),
            column("idle_ps", "No program", Unit::Picoseconds, measured),
        ];
        columns.extend(cause_columns());
        let rows = self.devices.iter().map(|device| {
            let mut row = vec![
                Cell::text(&device.core),
                Cell::Int(device.window_ps),
                Cell::count(device.programs),
                Cell::Int(device.idle_ps),
            ];
            row.extend(Cause::ALL.map(|cause| Cell::Int(device.time_ps(cause))));
            row
        });
        let notes = vec!["The causes of a device add up to its time without a program.".to_owned()];
        Table { id: "gap_devices", title: "By device".to_owned(), columns, rows: rows.collect(), notes }
    }

    fn gap_table(&self) -> Table {
        let (measured, inferred) = (Provenance::Measured, Provenance::Inferred);
        let row = |device: &DeviceGaps, gap: &Gap| {
            let top = gap.causes.iter().min_by_key(|part| (std::cmp::Reverse(part.time_ps), part.cause));
            vec![
                Cell::text(&device.core),
                Cell::Int(gap.start_ps),
                Cell::Int(gap.length_ps),
                top.map_or(Cell::Missing, |part| Cell::text(part.cause.title())),
                Cell::maybe(top.and_then(|part| crate::reports::ops::op_stats::percent(part.time_ps, gap.length_ps))),
                text(top.and_then(CauseTime::event)),
                gap.step.map_or(Cell::Missing, |step| Cell::count(u64::from(step))),
                text(gap.after.as_deref()),
                text(gap.before.as_deref()),
            ]
        };
        let rows =
            self.devices.iter().flat_map(|device| device.gaps.iter().take(SHOWN).map(move |gap| row(device, gap)));
        let between: u64 = self.devices.iter().map(|device| device.count).sum();
        Table {
            id: "gaps",
            title: "Longest gaps".to_owned(),
            columns: vec![
                column("core", "Device", Unit::None, measured),
                column("start_ps", "Begin", Unit::Picoseconds, measured),
                column("length_ps", "Length", Unit::Picoseconds, measured),
                column("cause", "Host", Unit::None, inferred),
                column("cause_percent", "Of gap", Unit::Percent, measured),
                column("event", "Mostly", Unit::None, inferred),
                column("step", "Step", Unit::None, measured),
                column("after", "After", Unit::None, measured),
                column("before", "Before", Unit::None, measured),
            ],
            rows: rows.collect(),
            notes: vec![format!(
                "{between} gaps between programs on {}. Begin is on the timeline as recorded; gaps without a \
                 program before or after reach to the end of the window.",
                counted(self.devices.len(), "device")
            )],
        }
    }

    /// Means over the devices, a row a step.
    fn step_table(&self) -> Table {
        let mut steps: std::collections::BTreeMap<u32, Vec<&super::StepGaps>> = std::collections::BTreeMap::new();
        for step in self.devices.iter().flat_map(|device| &device.steps) {
            steps.entry(step.step).or_default().push(step);
        }
        let rows = steps.iter().map(|(&number, own)| {
            let mean = |get: &dyn Fn(&super::StepGaps) -> i64| {
                Cell::Int(own.iter().map(|step| get(step)).sum::<Picos>().ps() / own.len().max(1) as i64)
            };
            let mut row = vec![Cell::count(u64::from(number)), mean(&|step| step.length_ps), mean(&|s| s.idle_ps())];
            row.extend(Cause::ALL.map(|cause| mean(&|step| step.time_ps(cause))));
            row
        });
        let measured = Provenance::Measured;
        let mut columns = vec![
            column("step", "Step", Unit::None, measured),
            column("length_ps", "Length", Unit::Picoseconds, measured),
            column("idle_ps", "No program", Unit::Picoseconds, measured),
        ];
        columns.extend(cause_columns());
        Table {
            id: "gap_steps",
            title: "Time without a program in each step".to_owned(),
            columns,
            rows: rows.collect(),
            notes: vec!["Means over the devices that ran the step, on the clock of the host.".to_owned()],
        }
    }

    fn inside_table(&self) -> Table {
        let measured = Provenance::Measured;
        let rows = self.devices.iter().filter_map(|device| {
            let inside = device.inside.as_ref()?;
            Some(vec![
                Cell::text(&device.core),
                Cell::Int(inside.program_ps),
                Cell::Int(inside.idle_ps),
                Cell::maybe(crate::reports::ops::op_stats::percent(inside.idle_ps, inside.program_ps)),
                Cell::Int(inside.edges_ps),
                Cell::count(inside.long_gaps),
                Cell::Int(inside.long_gaps_ps),
                Cell::Int(inside.longest_ps),
                text(inside.longest_after.as_deref()),
                text(inside.longest_before.as_deref()),
            ])
        });
        Table {
            id: "gaps_inside",
            title: "Time without an op within programs".to_owned(),
            columns: vec![
                column("core", "Device", Unit::None, measured),
                column("program_ps", "Programs", Unit::Picoseconds, measured),
                column("idle_ps", "No op", Unit::Picoseconds, measured),
                column("idle_percent", "Of programs", Unit::Percent, measured),
                column("edges_ps", "At begin and end", Unit::Picoseconds, measured),
                column("long_gaps", "Over 1 µs", Unit::Count, measured),
                column("long_gaps_ps", "together", Unit::Picoseconds, measured),
                column("longest_ps", "Longest", Unit::Picoseconds, measured),
                column("longest_after", "After", Unit::None, measured),
                column("longest_before", "Before", Unit::None, measured),
            ],
            rows: rows.collect(),
            notes: vec!["By the clock that timed the ops. The host has no part in it.".to_owned()],
        }
    }
}
