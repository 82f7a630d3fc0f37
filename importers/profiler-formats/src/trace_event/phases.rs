//! The effect of an event, by its phase.

use importer_common::names::{PlaneKind, plane_kind};
use importer_common::prelude::*;

use super::collect::EventCollector;
use super::counters::NO_LINE;
use super::event::RawEvent;
use super::flows::FlowAnchor;
use super::json::{JsonValue, arg_value, elements, members};
use super::metadata::split_host;
use super::number;
use super::stack::StackEvent;
use super::threads::ThreadId;

impl EventCollector<'_> {
    /// Handles the event whose opening brace is at byte `offset`.
    #[inline]
    pub fn event(&mut self, event: &RawEvent<'_>, offset: u64) {
        self.sequence = self.sequence.wrapping_add(1);
        match event.ph {
            b'X' => self.complete(event, offset),
            b'M' => self.metadata(event),
            b'B' | b'E' => self.begin_or_end(event, offset),
            b'i' | b'I' | b'R' => self.instant(event, offset),
            b'C' => self.counter(event, offset),
            b'b' | b'n' | b'e' | b'S' | b'T' | b'p' | b'F' => {
                self.asynchronous_event(event, offset);
            }
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
        self.log(IssueKind::UnknownPhase, || {
            format!("{what} at byte {offset}")
        });
    }

    #[inline]
    fn complete(&mut self, event: &RawEvent<'_>, offset: u64) {
        self.complete_events += 1;
        let Some(start) = self.start(event, offset) else {
            return;
        };
        let thread = self.threads.thread_of(event);
        if self.threads[thread].is_counters {
            self.counter_slice(event, thread, start, offset);
            return;
        }
        let dur = self.dur(event, offset);
        self.add_slice(event, thread, TimeRange::at(start, dur), offset);
    }

    fn instant(&mut self, event: &RawEvent<'_>, offset: u64) {
        let Some(start) = self.start(event, offset) else {
            return;
        };
        let thread = match event.get_text(b"s") {
            Some(b"g") => self.threads.shared_thread(event.pid, "Global instants"),
            Some(b"p") => self.threads.shared_thread(event.pid, "Process instants"),
            _ => self.threads.thread_of(event),
        };
        let index = self.add_slice(event, thread, TimeRange::new(start, start), offset);
        self.threads[thread]
            .batch
            .set_attr(index, SliceAttr::Instant, 1);
    }

    fn begin_or_end(&mut self, event: &RawEvent<'_>, offset: u64) {
        let Some(start) = self.start(event, offset) else {
            return;
        };
        let thread = self.threads.thread_of(event);
        let begins = event.ph == b'B';
        let label = (begins || !event.name.raw.is_empty()).then(|| self.label_of(event));
        let attrs = self.facts.said.attrs.clone();
        let stack = &mut self.threads[thread].stack;
        stack.push(StackEvent {
            at: start,
            label,
            begins,
            offset,
            has_args: event.has_args,
            attrs,
        });
        let index = stack.len() as u32 - 1;
        if begins && !event.rare.is_empty() {
            self.flows.bind(
                event,
                start,
                self.sequence,
                thread,
                FlowAnchor::Begin(index),
            );
        }
    }

    fn asynchronous_event(&mut self, event: &RawEvent<'_>, offset: u64) {
        let Some(start) = self.start(event, offset) else {
            return;
        };
        if event.ph == b'T' && event.get_text(b"cat") == Some(b"thread_state") {
            self.thread_state(event, start, offset);
            return;
        }
        let thread = self.threads.thread_of(event);
        self.threads[thread].is_async = true;
        let label = self.label_of(event);
        let step = matches!(event.ph, b'T' | b'p').then(|| self.step_label(event, label));
        self.asynchronous
            .add(event, start, thread, label, step, offset);
    }

    /// The label of a step: the name of its span, followed by the step's own name if it has one.
    fn step_label(&mut self, event: &RawEvent<'_>, span: LabelId) -> LabelId {
        let Some(step) = event.arg(b"step").map(text_of) else {
            return span;
        };
        let name = format!("{}:{step}", self.builder.label_name(span));
        self.builder.label(&name, None)
    }

    /// The state of a thread, as Perfetto exports it: a complete event on a track next to that of the thread.
    fn thread_state(&mut self, event: &RawEvent<'_>, start: Timestamp, offset: u64) {
        let thread = self.threads.thread_of(event);
        let name = format!("state of {}", self.threads[thread].tid);
        let states = self.threads.shared_thread(event.pid, &name);
        let dur = self.dur(event, offset);
        self.add_slice(event, states, TimeRange::at(start, dur), offset);
    }

    fn flow(&mut self, event: &RawEvent<'_>, offset: u64) {
        let Some(start) = self.start(event, offset) else {
            return;
        };
        let Some(id) = event.get_text(b"id").or_else(|| event.get_text(b"bind_id")) else {
            self.log(IssueKind::MalformedEvent, || {
                format!("flow event without id at byte {offset}")
            });
            return;
        };
        let thread = self.threads.thread_of(event);
        self.flows.add(event, id, start, self.sequence, thread);
    }

    fn counter(&mut self, event: &RawEvent<'_>, offset: u64) {
        if let Some(JsonValue::Array(entries)) = event.get(b"entries") {
            self.counter_entries(event, entries, offset);
            return;
        }
        let Some(start) = self.start(event, offset) else {
            return;
        };
        let pid = self.threads.number_of(event.pid).unwrap_or(0);
        self.threads.process_of(event);
        let mut name = event.name.decode().0.into_owned();
        if let Some(id) = event.get_text(b"id") {
            name = format!("{name}[{}]", String::from_utf8_lossy(id));
        }
        if event.args.is_empty() {
            return;
        }
        let mut bad = 0;
        let Self {
            counters, builder, ..
        } = self;
        let _ = members(event.args, 0, |key, value| {
            match number::float(value.number()) {
                Some(value) => {
                    let name = builder.intern(&format!("{name} {}", key.decode().0));
                    counters
                        .series(pid, NO_LINE, name)
                        .samples
                        .push((start, None, value));
                }
                None => bad += 1,
            }
            Ok(())
        });
        self.builder
            .log_mut()
            .add_many(IssueKind::MalformedEvent, bad, || {
                format!("counter value that is not a number at byte {offset}")
            });
    }

    /// Reads all samples of a series, as XProf's viewer writes them.
    fn counter_entries(&mut self, event: &RawEvent<'_>, entries: &[u8], offset: u64) {
        let pid = self.threads.number_of(event.pid).unwrap_or(0);
        self.threads.process_of(event);
        let series = event
            .get_text(b"event_stats")
            .map(|text| String::from_utf8_lossy(text).into_owned());
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
            let time = numbers
                .first()
                .and_then(|value| number::picos_from_micros(value.number()));
            let value = numbers
                .get(1)
                .and_then(|value| number::float(value.number()));
            match (time, value) {
                (Some(time), Some(value)) => samples.push((time, value)),
                _ => bad += 1,
            }
            Ok(())
        });
        for (time, value) in samples {
            let time = self.timestamp(time, offset);
            self.counters
                .series(pid, NO_LINE, id)
                .samples
                .push((time, None, value));
        }
        let series = self.counters.series(pid, NO_LINE, id);
        series.unit = series.unit.take().or(unit);
        self.builder
            .log_mut()
            .add_many(IssueKind::MalformedEvent, bad, || {
                format!("counter entries at byte {offset}")
            });
    }

    /// Adds a sample from a counter line.
    fn counter_slice(
        &mut self,
        event: &RawEvent<'_>,
        thread: ThreadId,
        start: Timestamp,
        offset: u64,
    ) {
        let (pid, tid) = (self.threads[thread].pid, self.threads[thread].tid);
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
            self.log(IssueKind::MalformedEvent, || {
                format!("counter sample without a value at byte {offset}")
            });
            return;
        };
        // Without a length, its value holds until the next sample.
        let dur = Some(self.dur(event, offset)).filter(|dur| *dur > Picos::ZERO);
        let name = event.name.decode().0.into_owned();
        let id = self.builder.intern(&name);
        let series = self.counters.series(pid, tid, id);
        series.samples.push((start, dur, value));
        if unit != name && unit != "counter_value" {
            series.unit.get_or_insert(unit);
        }
    }

    fn metadata(&mut self, event: &RawEvent<'_>) {
        let wanted: &[u8] = match event.name.raw {
            b"process_name" | b"thread_name" => b"name",
            b"process_labels" => b"labels",
            b"process_sort_index" | b"thread_sort_index" => b"sort_index",
            _ => return,
        };
        let Some(value) = event.arg(wanted) else {
            self.log(IssueKind::MalformedEvent, || {
                "metadata event without its value".to_owned()
            });
            return;
        };
        match event.name.raw {
            b"process_name" => {
                let name = text_of(value);
                self.session.is_xprof |= plane_kind(split_host(&name).1) != PlaneKind::Other;
                self.threads.process_of(event).name = Some(name);
            }
            b"process_labels" => self.threads.process_of(event).labels = Some(text_of(value)),
            b"process_sort_index" => {
                self.threads.process_of(event).sort = number::integer(value.number());
            }
            b"thread_name" => {
                let name = text_of(value);
                let thread = self.threads.thread_of(event);
                let thread = &mut self.threads[thread];
                thread.is_counters = name == "_counters_";
                thread.name = Some(name);
            }
            _ => {
                let thread = self.threads.thread_of(event);
                self.threads[thread].sort = number::integer(value.number());
            }
        }
    }
}

fn text_of(value: JsonValue<'_>) -> String {
    arg_value(value).to_string()
}
