//! The rows of a printed schedule.

use hlo::{ComputationId, HloModule};
use importer_common::prelude::*;
use input::ImportError;

use super::proto::TextProtoMessage;

pub(super) static FORMAT: TraceFormat = TraceFormat {
    id: "xla-schedule",
    title: "latency-hiding schedule of XLA",
    extensions: &["schedule.txt"],
    markers: &[],
    about: "Schedules of XLA's latency-hiding scheduler (--xla_dump_latency_hiding_schedule): order, what is in \
            flight meanwhile, expected waits and memory.",
};

/// Latest plausible time: 27 hours, in picoseconds.
const LAST: f64 = 1e17;

/// Where a truncated file ends.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum ScheduleCut {
    /// After a row.
    Schedule,
    /// Inside a row.
    Row,
}

impl ScheduleCut {
    /// Determined by the names of the unclosed fields.
    pub fn of(open: &[&str]) -> Option<Self> {
        match open {
            ["computation_schedules", "instructions", ..] => Some(Self::Row),
            ["computation_schedules", ..] => Some(Self::Schedule),
            _ => None,
        }
    }
}

pub(super) fn malformed(offset: usize, line: usize, what: &str) -> ImportError {
    let what = format!("line {line}: {what}; dump the schedule again");
    ImportError::Malformed {
        format: FORMAT.title,
        offset: offset as u64,
        what,
    }
}

/// One instruction of a schedule, in picoseconds.
pub(super) struct ScheduleRow {
    pub id: u64,
    pub start: i64,
    pub end: i64,
    pub cycles: f64,
    pub memory: u64,
}

/// The schedule of one computation.
pub(super) struct ParsedSchedule {
    pub computation: Option<ComputationId>,
    /// Name of the computation.
    pub name: String,
    /// Whether the file ends inside it.
    pub is_cut: bool,
    pub mhz: f64,
    pub rows: Vec<ScheduleRow>,
    pub memory_peak: Option<u64>,
    pub statistics: Vec<(String, String)>,
}

impl ParsedSchedule {
    pub fn read(
        message: &TextProtoMessage<'_>,
        module: &HloModule,
        computation: Option<ComputationId>,
        options: &ImportOptions,
        cut: Option<ScheduleCut>,
    ) -> Result<Self> {
        let name = computation
            .and_then(|id| module.computation(id))
            .map_or("(unknown computation)", |it| &it.name);
        let recorded = message.number::<f64>("cycles_per_microsecond");
        let clock = options
            .clock_mhz
            .or(recorded)
            .filter(|mhz| mhz.is_finite() && *mhz > 0.0);
        let Some(mhz) = clock else {
            let what = format!(
                "line {}: the schedule of {name} has no clock (cycles_per_microsecond); give it with --clock 1.75GHz",
                message.line
            );
            return Err(ImportError::Unusable {
                format: FORMAT.title,
                what,
            });
        };
        let mut written: Vec<&TextProtoMessage<'_>> = message.all("instructions").collect();
        if cut == Some(ScheduleCut::Row) {
            // Missing numbers would be read as 0.
            written.pop();
        }
        let mut rows = Vec::new();
        for row in written {
            let cycles = |key| row.number::<f64>(key).unwrap_or(0.0);
            let (start, end) = (
                cycles("start_timestamp_cycles"),
                cycles("end_timestamp_cycles"),
            );
            let backwards = end < start || start < 0.0 || !start.is_finite() || !end.is_finite();
            if backwards {
                let what = format!("an instruction that lasts from cycle {start} to {end}");
                return Err(malformed(row.offset, row.line, &what));
            }
            let ps = |cycles: f64| (cycles / mhz * 1e6).min(LAST).round() as i64;
            rows.push(ScheduleRow {
                id: row.number("id").unwrap_or(0),
                start: ps(start),
                end: ps(end),
                cycles: end - start,
                memory: row.number("memory_usage_after").unwrap_or(0),
            });
        }
        let statistics = message.message("scheduler_statistics");
        Ok(Self {
            computation,
            name: name.to_owned(),
            is_cut: cut.is_some(),
            mhz,
            rows,
            memory_peak: statistics.and_then(|it| it.number("memory_pressure_peak")),
            statistics: statistics
                .into_iter()
                .flat_map(TextProtoMessage::every_scalar)
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .collect(),
        })
    }

    pub fn end(&self) -> i64 {
        self.rows.iter().map(|row| row.end).max().unwrap_or(0)
    }
}
