//! Processes and threads of the events, which may be named before or after them.

use std::ops::{Index, IndexMut};

use importer_common::prelude::*;
use trace_model::SliceBatch;

use super::event::{EventId, RawEvent};
use super::facts::FactsId;
use super::json::JsonString;
use super::stack::StackEvent;

/// A thread, by its row in the [`ThreadTable`].
pub(super) type ThreadId = u32;

/// A thread of a process, or a line of a plane.
#[derive(Default)]
pub(super) struct TraceThread {
    pub pid: i64,
    pub tid: i64,
    /// Name to show if no metadata names the thread.
    pub id_text: Option<String>,
    pub name: Option<String>,
    pub sort: Option<i64>,
    /// Whether its events are counter samples.
    pub is_counters: bool,
    /// Whether asynchronous events refer to it.
    pub is_async: bool,
    pub batch: SliceBatch,
    /// Where the first and the last of these slices are in the file.
    pub first_byte: u64,
    pub last_byte: u64,
    pub stack: Vec<StackEvent>,
    /// Facts about the ops of slices, by their index in the batch.
    pub op_facts: Vec<(u32, FactsId)>,
}

/// A process, or a plane.
#[derive(Default)]
pub(super) struct TraceProcess {
    pub name: Option<String>,
    pub labels: Option<String>,
    pub sort: Option<i64>,
}

/// All processes and threads.
#[derive(Default)]
pub(super) struct ThreadTable {
    pub rows: Vec<TraceThread>,
    pub processes: BTreeMap<i64, TraceProcess>,
    index: HashMap<(i64, i64), ThreadId>,
    last: Option<((i64, i64), ThreadId)>,
    /// Numbers for string ids, counting down from the smallest number.
    text_ids: HashMap<String, i64>,
}

impl ThreadTable {
    /// The thread of an event. Without a thread id it is the main thread, which has the id of the process.
    #[inline]
    pub fn thread_of(&mut self, event: &RawEvent<'_>) -> ThreadId {
        let pid = self.number_of(event.pid).unwrap_or(0);
        let tid = self.number_of(event.tid).unwrap_or(pid);
        match self.last {
            Some((key, thread)) if key == (pid, tid) => thread,
            _ => {
                let thread = self.thread(pid, tid);
                if self[thread].id_text.is_none()
                    && let EventId::Text(text) = event.tid
                {
                    self[thread].id_text = Some(text.decode().0.into_owned());
                }
                self.name_process(pid, event.pid);
                self.last = Some(((pid, tid), thread));
                thread
            }
        }
    }

    /// The process of an event.
    pub fn process_of(&mut self, event: &RawEvent<'_>) -> &mut TraceProcess {
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
    pub fn number_of(&mut self, id: EventId<'_>) -> Option<i64> {
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
        *self.index.entry((pid, tid)).or_insert_with(|| {
            self.rows.push(TraceThread {
                pid,
                tid,
                ..TraceThread::default()
            });
            (self.rows.len() - 1) as ThreadId
        })
    }

    /// A track of the process that no thread owns.
    pub fn shared_thread(&mut self, pid: EventId<'_>, name: &str) -> ThreadId {
        let pid_number = self.number_of(pid).unwrap_or(0);
        self.name_process(pid_number, pid);
        let tid = self
            .number_of(EventId::Text(JsonString {
                raw: name.as_bytes(),
                escaped: false,
            }))
            .unwrap_or(0);
        let thread = self.thread(pid_number, tid);
        self[thread].name.get_or_insert_with(|| name.to_owned());
        thread
    }
}

impl Index<ThreadId> for ThreadTable {
    type Output = TraceThread;

    #[inline]
    fn index(&self, thread: ThreadId) -> &TraceThread {
        &self.rows[thread as usize]
    }
}

impl IndexMut<ThreadId> for ThreadTable {
    #[inline]
    fn index_mut(&mut self, thread: ThreadId) -> &mut TraceThread {
        &mut self.rows[thread as usize]
    }
}
