//! What is collected of the events, by thread and kind; `phases.rs` adds each event.
//!
//! Names of processes and threads may come after their events, so slices wait in one batch per thread; `convert.rs`
//! creates groups and tracks at the end.

use importer_common::TrackRoles;
use importer_common::prelude::*;
use importer_common::roles::TimeUnit;

use super::asynchronous::AsyncEvents;
use super::counters::CounterEvents;
use super::dialects;
use super::event::{FactsCollector, Micros, RawEvent};
use super::facts::{EventFactsStore, FactsReader};
use super::flows::{FlowAnchor, FlowEvents};
use super::json::{JsonResult, JsonString, JsonValue};
use super::metadata::ProfilerSession;
use super::repeats::{EventRepeats, RestParts};
use super::threads::{ThreadId, ThreadTable};

/// Times beyond this (11.6 days) count from an epoch, not from the start of a session.
const EPOCH_LIKE: i128 = 1_000_000_000_000_000_000;
/// Maximum start and maximum length, whose sum is still a valid timestamp.
const MAX_PICOS: i64 = i64::MAX / 2;

/// Everything read so far.
pub(super) struct EventCollector<'b> {
    pub builder: &'b mut TraceBuilder,
    pub facts: EventFactsStore,
    pub threads: ThreadTable,
    pub asynchronous: AsyncEvents,
    pub flows: FlowEvents,
    pub counters: CounterEvents,
    pub session: ProfilerSession,
    /// Whether the file ends before its events do.
    pub is_cut: bool,
    /// Number of complete (`X`) events, to detect export limits.
    pub complete_events: u64,
    /// Time of [`Timestamp::ZERO`] in the file; unknown before the first event.
    pub origin: Option<i128>,
    /// Sequence number of the event, to keep the file order among equal times.
    pub sequence: u32,
    /// Roles of tracks, if no profiler wrote the document.
    pub roles: Arc<TrackRoles>,
    roles_are_given: bool,
    repeats: EventRepeats,
    time_unit: TimeUnit,
}

impl FactsCollector for EventCollector<'_> {
    #[inline]
    fn begin(&mut self) {
        self.facts.reset();
    }

    #[inline]
    fn read_args<'a>(
        &mut self,
        buf: &'a [u8],
        start: usize,
        name: JsonString<'a>,
    ) -> JsonResult<usize> {
        FactsReader {
            facts: &mut self.facts,
            builder: self.builder,
        }
        .read(buf, start, name)
    }

    #[inline]
    fn repeats(&mut self) -> &mut EventRepeats {
        &mut self.repeats
    }

    #[inline]
    fn recall_rest<'a>(&mut self, buf: &'a [u8], event: &mut RawEvent<'a>) -> Option<usize> {
        let (rest, len) = self.repeats.rest(buf)?;
        event.set_rest(buf, &rest.parts);
        self.facts.set(rest.facts);
        Some(len)
    }

    fn keep_rest(&mut self, rest: &[u8], parts: RestParts, name: JsonString<'_>) {
        if let Some(facts) = self.facts.shared(name) {
            self.repeats.keep_rest(rest, parts, facts);
        }
    }
}

impl<'b> EventCollector<'b> {
    /// `roles` gives the roles of tracks; without it known writers are recognized.
    pub fn new(builder: &'b mut TraceBuilder, roles: Option<Arc<TrackRoles>>) -> Self {
        Self {
            builder,
            facts: EventFactsStore::default(),
            threads: ThreadTable::default(),
            asynchronous: AsyncEvents::default(),
            flows: FlowEvents::default(),
            counters: CounterEvents::default(),
            session: ProfilerSession::default(),
            is_cut: false,
            complete_events: 0,
            origin: None,
            sequence: 0,
            roles_are_given: roles.is_some(),
            repeats: EventRepeats::default(),
            time_unit: roles
                .as_ref()
                .map(|roles| roles.time_unit())
                .unwrap_or_default(),
            roles: roles.unwrap_or_else(dialects::usual),
        }
    }

    /// Whether an object or array at the top level is kept.
    pub fn wants(&mut self, key: JsonString<'_>) -> bool {
        self.session.wants(key.raw)
    }

    /// Handles a member of the top-level object other than the events.
    pub fn top_level(&mut self, key: JsonString<'_>, value: JsonValue<'_>) {
        self.session.add(key, value);
        if !self.roles_are_given
            && let Some(known) = dialects::of_document(&self.session.facts)
        {
            self.time_unit = known.time_unit();
            self.roles = known;
        }
    }

    /// Counts an issue.
    pub fn log(&mut self, kind: IssueKind, example: impl FnOnce() -> String) {
        self.builder.log(kind, example);
    }

    /// Counts `count` issues with one example.
    pub fn log_many(&mut self, kind: IssueKind, count: u64, example: impl FnOnce() -> String) {
        self.builder.log_mut().add_many(kind, count, example);
    }

    /// Adds a slice with all facts of the event; returns its index in the thread's batch.
    #[inline]
    pub fn add_slice(
        &mut self,
        event: &RawEvent<'_>,
        thread: ThreadId,
        range: TimeRange,
        offset: u64,
    ) -> u32 {
        let label = self.label_of(event);
        let said = &self.facts.said;
        let device = match (said.device_start, said.device_dur) {
            (Some(start), Some(dur)) => Some(TimeRange::at(
                Timestamp::from_ps(start.clamp(-MAX_PICOS, MAX_PICOS)),
                Picos::from_ps(dur.clamp(0, MAX_PICOS)),
            )),
            _ => None,
        };
        let args = event.has_args.then_some(offset);
        let to = &mut self.threads[thread];
        if to.batch.is_empty() {
            to.first_byte = offset;
        }
        to.last_byte = offset;
        let index = to.batch.push(SliceSpec {
            range,
            label,
            args,
            device,
        });
        for &(attr, value) in &self.facts.said.attrs {
            to.batch.set_attr(index, attr, value);
        }
        if let Some(facts) = self.facts.current() {
            self.threads[thread].op_facts.push((index, facts));
        }
        if !event.rare.is_empty() {
            self.flows.bind(
                event,
                range.start,
                self.sequence,
                thread,
                FlowAnchor::Slice(index),
            );
        }
        index
    }

    /// The label of an event's name.
    #[inline]
    pub fn label_of(&mut self, event: &RawEvent<'_>) -> LabelId {
        let names = &mut self.facts.names;
        let id = match self.facts.name {
            Some(id) => id,
            None => names.id(event.name),
        };
        let (label, mended) = names.label(id, event.name, self.builder);
        if mended {
            self.builder.log(IssueKind::InvalidUtf8, || {
                event.name.decode().0.into_owned()
            });
        }
        label
    }

    /// The time of an event; a missing one is logged.
    #[inline]
    pub fn start(&mut self, event: &RawEvent<'_>, offset: u64) -> Option<Timestamp> {
        let Ok(picos) = event.ts.picos() else {
            self.log(IssueKind::BadTimestamp, || {
                format!("event at byte {offset}")
            });
            return None;
        };
        Some(self.timestamp(self.time_unit.scaled(picos), offset))
    }

    /// Converts a time of the file to the timeline. The first one defines the origin.
    #[inline]
    pub fn timestamp(&mut self, picos: i128, offset: u64) -> Timestamp {
        let origin = *self
            .origin
            .get_or_insert_with(|| if picos.abs() > EPOCH_LIKE { picos } else { 0 });
        Timestamp::from_ps(self.clip(picos.saturating_sub(origin), offset))
    }

    fn clip(&mut self, picos: i128, offset: u64) -> i64 {
        match i64::try_from(picos) {
            Ok(picos) if (-MAX_PICOS..=MAX_PICOS).contains(&picos) => picos,
            _ => {
                self.log(IssueKind::TimeOutOfRange, || {
                    format!("event at byte {offset}")
                });
                if picos < 0 { -MAX_PICOS } else { MAX_PICOS }
            }
        }
    }

    /// The length of a complete event.
    #[inline]
    pub fn dur(&mut self, event: &RawEvent<'_>, offset: u64) -> Picos {
        match event.dur {
            // XProf writes one picosecond for events without length.
            Micros::Picos(1) if self.session.is_xprof => Picos::ZERO,
            Micros::Picos(picos) if picos <= MAX_PICOS && self.time_unit == TimeUnit::Us => {
                Picos::from_ps(picos)
            }
            other => self.unusual_dur(other, offset),
        }
    }

    fn unusual_dur(&mut self, dur: Micros<'_>, offset: u64) -> Picos {
        match dur.picos() {
            Ok(1) if self.session.is_xprof => Picos::ZERO,
            Ok(picos) if picos >= 0 => {
                Picos::from_ps(self.clip(self.time_unit.scaled(picos), offset))
            }
            Ok(_) | Err(()) => {
                self.log(IssueKind::BadDuration, || format!("event at byte {offset}"));
                Picos::ZERO
            }
        }
    }
}
