//! Collects events by thread and phase.
//!
//! Names of processes and threads may come after their events, so slices wait in one batch per thread; `convert.rs`
//! creates groups and tracks at the end.

use std::collections::BTreeMap;
use std::sync::Arc;

use hashbrown::HashMap;
use trace_model::{IssueKind, Picos, SliceAttr, SliceBatch, SliceSpec, TimeRange, Timestamp, TraceBuilder};

use super::asynchronous::AsyncEvents;
use super::counters::CounterEvents;
use super::dialects;
use super::event::{ArgReader, EventId, Micros, RawEvent};
use super::facts::{EventFactsStore, FactsId, FactsReader};
use super::flows::FlowEvents;
use super::json::{JsonResult, JsonString, JsonValue};
use super::metadata::ProfilerSession;
use super::stack::StackEvent;
use crate::common::TrackRoles;
use crate::common::roles::TimeUnit;

/// Times beyond this (11.6 days) count from an epoch, not from the start of a session.
const EPOCH_LIKE: i128 = 1_000_000_000_000_000_000;
/// Maximum start and maximum length, whose sum is still a valid timestamp.
const MAX_PICOS: i64 = i64::MAX / 2;

/// A thread, by its row in [`EventCollector::threads`].
pub(super) type ThreadId = u32;

/// A thread of a process, or a line of a plane.
#[derive(Default)]
pub(super) struct TraceThread {
    pub(super) pid: i64,
    pub(super) tid: i64,
    /// Name to show if no metadata names the thread.
    pub(super) id_text: Option<String>,
    pub(super) name: Option<String>,
    pub(super) sort: Option<i64>,
    /// Whether its events are counter samples.
    pub(super) is_counters: bool,
    /// Whether asynchronous events refer to it.
    pub(super) is_async: bool,
    pub(super) batch: SliceBatch,
    pub(super) stack: Vec<StackEvent>,
    /// Facts about the ops of slices, by their index in the batch.
    pub(super) op_facts: Vec<(u32, FactsId)>,
}

/// A process, or a plane.
#[derive(Default)]
pub(super) struct TraceProcess {
    pub(super) name: Option<String>,
    pub(super) labels: Option<String>,
    pub(super) sort: Option<i64>,
}

/// Everything read so far.
pub(super) struct EventCollector<'b> {
    pub(super) builder: &'b mut TraceBuilder,
    pub(super) facts: EventFactsStore,
    pub(super) threads: Vec<TraceThread>,
    pub(super) processes: BTreeMap<i64, TraceProcess>,
    pub(super) asynchronous: AsyncEvents,
    pub(super) flows: FlowEvents,
    pub(super) counters: CounterEvents,
    pub(super) session: ProfilerSession,
    /// Number of complete (`X`) events, to detect export limits.
    pub(super) complete_events: u64,
    /// Time of [`Timestamp::ZERO`] in the file; unknown before the first event.
    pub(super) origin: Option<i128>,
    thread_index: HashMap<(i64, i64), ThreadId>,
    last_thread: Option<((i64, i64), ThreadId)>,
    /// Numbers for string ids, counting down from the smallest number.
    text_ids: HashMap<String, i64>,
    sequence: u32,
    /// Roles of tracks, if no profiler wrote the document.
    pub(super) roles: Arc<TrackRoles>,
    roles_are_given: bool,
    time_unit: TimeUnit,
}

impl ArgReader for EventCollector<'_> {
    #[inline]
    fn read<'a>(&mut self, buf: &'a [u8], at: usize, name: JsonString<'a>) -> JsonResult<usize> {
        FactsReader { facts: &mut self.facts, builder: self.builder }.read(buf, at, name)
    }
}

impl<'b> EventCollector<'b> {
    /// `roles` gives the roles of tracks; without it known writers are recognized.
    pub(super) fn new(builder: &'b mut TraceBuilder, roles: Option<Arc<TrackRoles>>) -> Self {
        Self {
            builder,
            facts: EventFactsStore::default(),
            threads: Vec::new(),
            processes: BTreeMap::new(),
            asynchronous: AsyncEvents::default(),
            flows: FlowEvents::default(),
            counters: CounterEvents::default(),
            session: ProfilerSession::default(),
            complete_events: 0,
            origin: None,
            thread_index: HashMap::new(),
            last_thread: None,
            text_ids: HashMap::new(),
            sequence: 0,
            roles_are_given: roles.is_some(),
            time_unit: roles.as_ref().map(|roles| roles.time_unit()).unwrap_or_default(),
            roles: roles.unwrap_or_else(dialects::usual),
        }
    }

    /// Whether an object or array at the top level is kept.
    pub(super) fn wants(&mut self, key: JsonString<'_>) -> bool {
        self.session.wants(key.raw)
    }

    /// Handles a member of the top-level object other than the events.
    pub(super) fn top_level(&mut self, key: JsonString<'_>, value: JsonValue<'_>) {
        self.session.add(key, value);
        if !self.roles_are_given
            && let Some(known) = dialects::of_document(&self.session.facts)
        {
            self.time_unit = known.time_unit();
            self.roles = known;
        }
    }

    /// Counts an issue.
    pub(super) fn log(&mut self, kind: IssueKind, example: impl FnOnce() -> String) {
        self.builder.log(kind, example);
    }

    /// Counts `count` issues with one example.
    pub(super) fn log_many(&mut self, kind: IssueKind, count: u64, example: impl FnOnce() -> String) {
        self.builder.log_mut().add_many(kind, count, example);
    }

    /// Handles the event whose opening brace is at byte `offset`.
    #[inline]
    pub(super) fn event(&mut self, event: &RawEvent<'_>, offset: u64) {
        if event.args.is_empty() {
            self.facts.reset();
        }
        self.sequence = self.sequence.wrapping_add(1);
        match event.ph {
            b'X' => self.complete(event, offset),
            b'M' => self.metadata(event),
            b'B' | b'E' => self.begin_or_end(event, offset),
            b'i' | b'I' | b'R' => self.instant(event, offset),
            b'C' => self.counter(event, offset),
            b'b' | b'n' | b'e' | b'S' | b'T' | b'p' | b'F' => self.asynchronous_event(event, offset),
            b's' | b't' | b'f' => self.flow(event, offset),
            // Writers end their list with `{}` so that every event is followed by a comma.
            0 if event.members == 0 => {}
            other => self.unknown_phase(other, offset),
        }
    }

    #[cold]
    fn unknown_phase(&mut self, ph: u8, offset: u64) {
        let what = match ph {
            0 => "no phase".to_owned(),
            b'N' | b'O' | b'D' => format!("object phase {:?}", char::from(ph)),
            b'P' => "sample phase \"P\"".to_owned(),
            b'c' => "clock synchronisation phase \"c\"".to_owned(),
            b'v' | b'V' => format!("memory dump phase {:?}", char::from(ph)),
            other => format!("phase {:?}", char::from(other)),
        };
        self.log(IssueKind::UnknownPhase, || format!("{what} at byte {offset}"));
    }

    #[inline]
    fn complete(&mut self, event: &RawEvent<'_>, offset: u64) {
        self.complete_events += 1;
        let Some(start) = self.start(event, offset) else { return };
        let thread = self.thread_of(event);
        if self.threads[thread as usize].is_counters {
            self.counter_slice(event, thread, start, offset);
            return;
        }
        let dur = self.dur(event, offset);
        self.add_slice(event, thread, TimeRange::at(start, dur), offset);
    }

    /// Adds a slice with all facts of the event; returns its index in the thread's batch.
    #[inline]
    pub(super) fn add_slice(&mut self, event: &RawEvent<'_>, thread: ThreadId, range: TimeRange, offset: u64) -> u32 {
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
        let to = &mut self.threads[thread as usize];
        let index = to.batch.push(SliceSpec { range, label, args, device });
        for &(attr, value) in &self.facts.said.attrs {
            to.batch.set_attr(index, attr, value);
        }
        if let Some(facts) = self.facts.current() {
            self.threads[thread as usize].op_facts.push((index, facts));
        }
        if !event.rare.is_empty() {
            self.flows.bind_slice(event, range.start, self.sequence, thread, index);
        }
        index
    }

    /// The label of an event's name.
    #[inline]
    pub(super) fn label_of(&mut self, event: &RawEvent<'_>) -> trace_model::LabelId {
        let names = &mut self.facts.names;
        let id = match self.facts.name {
            Some(id) => id,
            None => names.id(event.name),
        };
        let (label, mended) = names.label(id, event.name, self.builder);
        if mended {
            self.builder.log(IssueKind::InvalidUtf8, || event.name.decode().0.into_owned());
        }
        label
    }

    fn instant(&mut self, event: &RawEvent<'_>, offset: u64) {
        let Some(start) = self.start(event, offset) else { return };
        let thread = match event.get_text(b"s") {
            Some(b"g") => self.shared_thread(event.pid, "Global instants"),
            Some(b"p") => self.shared_thread(event.pid, "Process instants"),
            _ => self.thread_of(event),
        };
        let index = self.add_slice(event, thread, TimeRange::new(start, start), offset);
        self.threads[thread as usize].batch.set_attr(index, SliceAttr::Instant, 1);
    }

    /// The time of an event; a missing one is logged.
    #[inline]
    pub(super) fn start(&mut self, event: &RawEvent<'_>, offset: u64) -> Option<Timestamp> {
        let Ok(picos) = event.ts.picos() else {
            self.log(IssueKind::BadTimestamp, || format!("event at byte {offset}"));
            return None;
        };
        Some(self.timestamp(self.time_unit.scaled(picos), offset))
    }

    /// Converts a time of the file to the timeline. The first one defines the origin.
    #[inline]
    pub(super) fn timestamp(&mut self, picos: i128, offset: u64) -> Timestamp {
        let origin = *self.origin.get_or_insert_with(|| if picos.abs() > EPOCH_LIKE { picos } else { 0 });
        Timestamp::from_ps(self.clip(picos.saturating_sub(origin), offset))
    }

    fn clip(&mut self, picos: i128, offset: u64) -> i64 {
        match i64::try_from(picos) {
            Ok(picos) if (-MAX_PICOS..=MAX_PICOS).contains(&picos) => picos,
            _ => {
                self.log(IssueKind::TimeOutOfRange, || format!("event at byte {offset}"));
                if picos < 0 { -MAX_PICOS } else { MAX_PICOS }
            }
        }
    }

    /// The length of a complete event.
    #[inline]
    pub(super) fn dur(&mut self, event: &RawEvent<'_>, offset: u64) -> Picos {
        match event.dur {
            // XProf writes one picosecond for events without length.
            Micros::Picos(1) if self.session.is_xprof => Picos::ZERO,
            Micros::Picos(picos) if picos <= MAX_PICOS && self.time_unit == TimeUnit::Us => Picos::from_ps(picos),
            other => self.unusual_dur(other, offset),
        }
    }

    fn unusual_dur(&mut self, dur: Micros<'_>, offset: u64) -> Picos {
        match dur.picos() {
            Ok(1) if self.session.is_xprof => Picos::ZERO,
            Ok(picos) if picos >= 0 => Picos::from_ps(self.clip(self.time_unit.scaled(picos), offset)),
            Ok(_) | Err(()) => {
                self.log(IssueKind::BadDuration, || format!("event at byte {offset}"));
                Picos::ZERO
            }
        }
    }

    /// Sequence number of the event, to keep the file order among equal times.
    pub(super) fn sequence(&self) -> u32 {
        self.sequence
    }

    /// The thread of an event. Without a thread id it is the main thread, which has the id of the process.
    #[inline]
    pub(super) fn thread_of(&mut self, event: &RawEvent<'_>) -> ThreadId {
        let pid = self.number_of(event.pid).unwrap_or(0);
        let tid = self.number_of(event.tid).unwrap_or(pid);
        match self.last_thread {
            Some((key, thread)) if key == (pid, tid) => thread,
            _ => {
                let thread = self.thread(pid, tid);
                if self.threads[thread as usize].id_text.is_none()
                    && let EventId::Text(text) = event.tid
                {
                    self.threads[thread as usize].id_text = Some(text.decode().0.into_owned());
                }
                self.name_process(pid, event.pid);
                self.last_thread = Some(((pid, tid), thread));
                thread
            }
        }
    }

    /// The process of an event.
    pub(super) fn process_of(&mut self, event: &RawEvent<'_>) -> &mut TraceProcess {
        let pid = self.number_of(event.pid).unwrap_or(0);
        self.name_process(pid, event.pid);
        self.processes.entry(pid).or_default()
    }

    /// Names a process with a string id after that id, until metadata names it.
    fn name_process(&mut self, pid: i64, id: EventId<'_>) {
        let process = self.processes.entry(pid).or_default();
        if let (None, EventId::Text(text)) = (&process.name, id) {
            process.name = Some(text.decode().0.into_owned());
        }
    }

    /// A process or thread id as a number.
    #[inline]
    pub(super) fn number_of(&mut self, id: EventId<'_>) -> Option<i64> {
        match id {
            EventId::Number(number) => Some(number),
            EventId::Missing => None,
            EventId::Text(text) => {
                let next = i64::MIN + self.text_ids.len() as i64;
                let (text, _) = text.decode();
                Some(*self.text_ids.entry_ref(&*text).or_insert(next))
            }
        }
    }

    fn thread(&mut self, pid: i64, tid: i64) -> ThreadId {
        *self.thread_index.entry((pid, tid)).or_insert_with(|| {
            self.threads.push(TraceThread { pid, tid, ..TraceThread::default() });
            (self.threads.len() - 1) as ThreadId
        })
    }

    /// A track of the process that no thread owns.
    pub(super) fn shared_thread(&mut self, pid: EventId<'_>, name: &str) -> ThreadId {
        let pid_number = self.number_of(pid).unwrap_or(0);
        self.name_process(pid_number, pid);
        let tid = self.number_of(EventId::Text(JsonString { raw: name.as_bytes(), escaped: false })).unwrap_or(0);
        let thread = self.thread(pid_number, tid);
        self.threads[thread as usize].name.get_or_insert_with(|| name.to_owned());
        thread
    }
}
