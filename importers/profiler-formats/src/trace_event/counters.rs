//! Counter events, which have three forms:
//!
//! - `C` events of Chrome: every numeric member of `args` is one series, called
//!   `name member`.
//! - `C` events of XProf's viewer: `entries` has all samples of a series.
//! - Slices on a `_counters_` line of XProf's export: the value is the only argument,
//!   and its name is the unit.

use importer_common::prelude::*;

/// One series of a process.
pub(super) struct CounterEventSeries {
    pid: i64,
    /// Its line, in XProf's export.
    tid: i64,
    name: StringId,
    pub unit: Option<String>,
    pub samples: Vec<(Timestamp, Option<Picos>, f64)>,
}

/// All series.
#[derive(Default)]
pub(super) struct CounterEvents {
    series: Vec<CounterEventSeries>,
    index: HashMap<(i64, i64, StringId), usize>,
}

impl CounterEvents {
    /// The series of a line, which is added if it is new.
    pub fn series(&mut self, pid: i64, tid: i64, name: StringId) -> &mut CounterEventSeries {
        let index = *self.index.entry((pid, tid, name)).or_insert_with(|| {
            self.series.push(CounterEventSeries {
                pid,
                tid,
                name,
                unit: None,
                samples: Vec::new(),
            });
            self.series.len() - 1
        });
        &mut self.series[index]
    }

    /// Processes with counters.
    pub fn pids(&self) -> impl Iterator<Item = i64> {
        self.series.iter().map(|series| series.pid)
    }

    /// Adds a track for each series below the group of its process.
    pub fn build(self, builder: &mut TraceBuilder, group_of: impl Fn(i64) -> Option<GroupId>) {
        for series in self.series {
            let Some(group) = group_of(series.pid) else {
                continue;
            };
            let name = builder.str(series.name).to_owned();
            let track = builder.track(group, TrackKind::Counter, series.tid, &name);
            builder.track_mut(track).sort = importer_common::names::track_sort(TrackKind::Counter);
            for (time, dur, value) in series.samples {
                builder.add_counter_sample(track, time, dur, value);
            }
            if let Some(unit) = series.unit {
                builder.set_counter_unit(track, &unit);
            }
        }
    }
}

/// The thread id of counters of `C` events, which belong to no line.
pub(super) const NO_LINE: i64 = i64::MAX - 1;
