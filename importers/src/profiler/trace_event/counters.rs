//! Counter events, which have three forms:
//!
//! - `C` events of Chrome: every numeric member of `args` is one series, called
//!   `name member`.
//! - `C` events of XProf's viewer: `entries` has all samples of a series.
//! - Slices on a `_counters_` line of XProf's export: the value is the only argument,
//!   and its name is the unit.

use hashbrown::HashMap;
use trace_model::{GroupId, IssueKind, Picos, StringId, Timestamp, TraceBuilder, TrackKind};

use super::collect::{EventCollector, ThreadId};
use super::event::RawEvent;
use super::json::{JsonValue, elements, members};
use super::number;

/// One series of a process.
struct CounterEventSeries {
    pid: i64,
    /// Its line, in XProf's export.
    tid: i64,
    name: StringId,
    unit: Option<String>,
    samples: Vec<(Timestamp, Option<Picos>, f64)>,
}

/// All series.
#[derive(Default)]
pub(super) struct CounterEvents {
    series: Vec<CounterEventSeries>,
    index: HashMap<(i64, i64, StringId), usize>,
}

impl CounterEvents {
    fn series(&mut self, pid: i64, tid: i64, name: StringId) -> &mut CounterEventSeries {
        let at = *self.index.entry((pid, tid, name)).or_insert_with(|| {
            self.series.push(CounterEventSeries { pid, tid, name, unit: None, samples: Vec::new() });
            self.series.len() - 1
        });
        &mut self.series[at]
    }

    /// Processes with counters.
    pub(super) fn pids(&self) -> impl Iterator<Item = i64> {
        self.series.iter().map(|series| series.pid)
    }

    /// Adds a track for each series below the group of its process.
    pub(super) fn build(self, builder: &mut TraceBuilder, group_of: impl Fn(i64) -> Option<GroupId>) {
        for series in self.series {
            let Some(group) = group_of(series.pid) else { continue };
            let name = builder.str(series.name).to_owned();
            let track = builder.track(group, TrackKind::Counter, series.tid, &name);
            builder.track_mut(track).sort = crate::common::names::track_sort(TrackKind::Counter);
            for (at, dur, value) in series.samples {
                builder.add_counter_sample(track, at, dur, value);
            }
            if let Some(unit) = series.unit {
                builder.set_counter_unit(track, &unit);
            }
        }
    }
}

/// The thread id of counters of `C` events, which belong to no line.
const NO_LINE: i64 = i64::MAX - 1;

impl EventCollector<'_> {
    pub(super) fn counter(&mut self, event: &RawEvent<'_>, offset: u64) {
        if let Some(JsonValue::Array(entries)) = event.get(b"entries") {
            self.counter_entries(event, entries, offset);
            return;
        }
        let Some(at) = self.start(event, offset) else { return };
        let pid = self.number_of(event.pid).unwrap_or(0);
        self.process_of(event);
        let mut name = event.name.decode().0.into_owned();
        if let Some(id) = event.get_text(b"id") {
            name = format!("{name}[{}]", String::from_utf8_lossy(id));
        }
        if event.args.is_empty() {
            return;
        }
        let mut bad = 0;
        let Self { counters, builder, .. } = self;
        let _ = members(event.args, 0, |key, value| {
            match number::float(value.number()) {
                Some(value) => {
                    let name = builder.intern(&format!("{name} {}", key.decode().0));
                    counters.series(pid, NO_LINE, name).samples.push((at, None, value));
                }
                None => bad += 1,
            }
            Ok(())
        });
        self.builder.log_mut().add_many(IssueKind::MalformedEvent, bad, || {
            format!("counter value that is not a number at byte {offset}")
        });
    }

    /// Reads all samples of a series, as XProf's viewer writes them.
    fn counter_entries(&mut self, event: &RawEvent<'_>, entries: &[u8], offset: u64) {
        let pid = self.number_of(event.pid).unwrap_or(0);
        self.process_of(event);
        let series = event.get_text(b"event_stats").map(|text| String::from_utf8_lossy(text).into_owned());
        let name = event.name.decode().0.into_owned();
        let unit = series.filter(|series| *series != name);
        let id = self.builder.intern(&name);
        let mut bad = 0;
        let mut samples = Vec::new();
        let _ = elements(entries, 0, |entry| {
            let JsonValue::Array(raw) = entry else {
                bad += 1;
                return Ok(());
            };
            let mut numbers = Vec::new();
            let _ = elements(raw, 0, |value| {
                numbers.push(value);
                Ok(())
            });
            let at = numbers.first().and_then(|value| number::picos_from_micros(value.number()));
            let value = numbers.get(1).and_then(|value| number::float(value.number()));
            match (at, value) {
                (Some(at), Some(value)) => samples.push((at, value)),
                _ => bad += 1,
            }
            Ok(())
        });
        for (at, value) in samples {
            let at = self.timestamp(at, offset);
            self.counters.series(pid, NO_LINE, id).samples.push((at, None, value));
        }
        let series = self.counters.series(pid, NO_LINE, id);
        series.unit = series.unit.take().or(unit);
        self.builder.log_mut().add_many(IssueKind::MalformedEvent, bad, || format!("counter entries at byte {offset}"));
    }

    /// Adds a sample from a counter line.
    pub(super) fn counter_slice(&mut self, event: &RawEvent<'_>, thread: ThreadId, at: Timestamp, offset: u64) {
        let (pid, tid) = (self.threads[thread as usize].pid, self.threads[thread as usize].tid);
        let mut sample = None;
        if !event.args.is_empty() {
            let _ = members(event.args, 0, |key, value| {
                if let (None, Some(value)) = (&sample, number::float(value.number())) {
                    sample = Some((key.decode().0.into_owned(), value));
                }
                Ok(())
            });
        }
        let Some((unit, value)) = sample else {
            self.log(IssueKind::MalformedEvent, || format!("counter sample without a value at byte {offset}"));
            return;
        };
        // Without a length, its value holds until the next sample.
        let dur = Some(self.dur(event, offset)).filter(|dur| *dur > Picos::ZERO);
        let name = event.name.decode().0.into_owned();
        let id = self.builder.intern(&name);
        let series = self.counters.series(pid, tid, id);
        series.samples.push((at, dur, value));
        if unit != name && unit != "counter_value" {
            series.unit.get_or_insert(unit);
        }
    }
}
