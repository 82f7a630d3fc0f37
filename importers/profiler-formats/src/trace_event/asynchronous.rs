//! Asynchronous spans: `b`, `n`, `e`, and the older `S`, `T`, `p`, `F`.
//!
//! Begin and end events are paired by category and id. An id is local to a process if it is written as `id2.local`;
//! otherwise an event of the same process is preferred, and any other is accepted. Spans with the same id nest; the
//! outermost one names the track.
//!
//! Steps divide a span. `T` starts a step, which lasts until the next one or the end of the span; `p` ends a step,
//! which started at the end of the one before or with the span. Steps are named as in Catapult: `name:step`.
//!
//! ```text
//! S    T a      T b    F          S     p a     p b    F
//! [span                )          [span                )
//!      [span:a  )[span:b)         [span:a)[span:b)
//! ```

use importer_common::prelude::*;

use super::event::RawEvent;
use super::json::{JsonValue, members};
use super::places::TrackTable;
use super::threads::ThreadId;

/// Maximum number of open spans of one id that an end is compared with, starting at the innermost. Without a limit,
/// damaged files could take quadratic time.
const MAX_LOOK_BACK: usize = 1024;

/// The effect of an event on its span.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SpanAction {
    Begin,
    Mark,
    /// A step of the span begins.
    StepInto,
    /// A step of the span has ended.
    StepPast,
    End,
}

struct AsyncEvent {
    at: Timestamp,
    key: u32,
    action: SpanAction,
    local: bool,
    thread: ThreadId,
    label: LabelId,
    /// Name of the step, for `T` and `p`.
    step: Option<LabelId>,
    named: bool,
    args: Option<u64>,
}

/// All asynchronous events.
#[derive(Default)]
pub(super) struct AsyncEvents {
    events: Vec<AsyncEvent>,
    keys: HashMap<Vec<u8>, u32>,
}

impl AsyncEvents {
    /// Adds an event, whose opening brace is at byte `offset`.
    pub fn add(
        &mut self,
        event: &RawEvent<'_>,
        time: Timestamp,
        thread: ThreadId,
        label: LabelId,
        step: Option<LabelId>,
        offset: u64,
    ) {
        let (scope, id) = async_id(event);
        let local = scope == AsyncIdScope::Local;
        let mut key = event.get_text(b"cat").unwrap_or_default().to_vec();
        key.push(0);
        key.extend_from_slice(event.get_text(b"scope").unwrap_or_default());
        key.push(0);
        key.extend_from_slice(id);
        let next = self.keys.len() as u32;
        let key = *self.keys.entry(key).or_insert(next);
        let action = match event.ph {
            b'b' | b'S' => SpanAction::Begin,
            b'e' | b'F' => SpanAction::End,
            b'T' => SpanAction::StepInto,
            b'p' => SpanAction::StepPast,
            _ => SpanAction::Mark,
        };
        let named = !event.name.raw.is_empty();
        let args = event.has_args.then_some(offset);
        self.events.push(AsyncEvent {
            at: time,
            key,
            action,
            local,
            thread,
            label,
            step,
            named,
            args,
        });
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum AsyncIdScope {
    Any,
    Local,
}

fn async_id<'a>(event: &RawEvent<'a>) -> (AsyncIdScope, &'a [u8]) {
    let Some(JsonValue::Object(id2)) = event.get(b"id2") else {
        return (AsyncIdScope::Any, event.get_text(b"id").unwrap_or_default());
    };
    let (mut scope, mut id) = (AsyncIdScope::Any, id2);
    let _ = members(id2, 0, |key, value| {
        scope = if key.raw == b"local" {
            AsyncIdScope::Local
        } else {
            AsyncIdScope::Any
        };
        id = value.number();
        Ok(())
    });
    (scope, id)
}

struct OpenSpan {
    pid: i64,
    local: bool,
    /// Name of the outermost span of its id, which names the track.
    outermost: LabelId,
    track: TrackId,
    begin: usize,
    /// The end of its last step, or the start of the open one.
    step_from: Timestamp,
    /// The open step.
    step: Option<usize>,
}

impl OpenSpan {
    /// Ends the open step at `time`.
    fn end_step(&mut self, events: &[AsyncEvent], time: Timestamp, builder: &mut TraceBuilder) {
        if let Some(step) = self.step.take() {
            self.add_step(&events[step], time, builder);
        }
    }

    /// Adds a step from the end of the last one to `time`.
    fn add_step(&self, step: &AsyncEvent, time: Timestamp, builder: &mut TraceBuilder) {
        let range = TimeRange::new(self.step_from, time.max(self.step_from));
        let spec = SliceSpec::new(range, step.step.unwrap_or(step.label));
        builder.add_slice(
            self.track,
            SliceSpec {
                args: step.args,
                ..spec
            },
        );
    }
}

/// The result of converting asynchronous events.
#[derive(Default)]
pub(super) struct AddedAsyncSpans {
    /// Tracks with spans.
    pub tracks: BTreeSet<TrackId>,
    /// Positions of additional arguments: `(of the begin, of the end)`.
    pub end_args: Vec<(u64, u64)>,
}

impl AddedAsyncSpans {
    /// Adds the slice of a span that ends with `event`.
    fn end(
        &mut self,
        mut span: OpenSpan,
        event: &AsyncEvent,
        events: &[AsyncEvent],
        builder: &mut TraceBuilder,
    ) {
        span.end_step(events, event.at, builder);
        let begin = &events[span.begin];
        let handle = begin.args.or(event.args);
        if let (Some(first), Some(second)) = (begin.args, event.args) {
            self.end_args.push((first, second));
        }
        let range = TimeRange::new(begin.at, event.at.max(begin.at));
        builder.add_slice(
            span.track,
            SliceSpec {
                args: handle,
                ..SliceSpec::new(range, begin.label)
            },
        );
    }
}

/// Adds all spans, on separate tracks except for lines of devices.
pub(super) fn build(
    asynchronous: AsyncEvents,
    builder: &mut TraceBuilder,
    places: &TrackTable,
) -> AddedAsyncSpans {
    let events = asynchronous.events;
    let mut order: Vec<usize> = (0..events.len()).collect();
    order.sort_by_key(|&i| events[i].at);
    let mut open: HashMap<u32, Vec<OpenSpan>> = HashMap::new();
    let mut spans = AddedAsyncSpans::default();
    let mut last = Timestamp::MIN;
    for i in order {
        let event = &events[i];
        last = last.max(event.at);
        let pid = places.pid_of(event.thread);
        let stack = open.entry(event.key).or_default();
        let same_process = |span: &OpenSpan| span.pid == pid && span.local == event.local;
        let begun = if matches!(event.action, SpanAction::Begin | SpanAction::Mark) {
            None
        } else {
            found_open(stack, event, pid, &events)
        };
        if let (Some(index), SpanAction::StepInto | SpanAction::StepPast) = (begun, event.action) {
            let span = &mut stack[index];
            span.end_step(&events, event.at, builder);
            if event.action == SpanAction::StepInto {
                span.step = Some(i);
            } else {
                span.add_step(event, event.at, builder);
            }
            span.step_from = event.at;
            continue;
        }
        if event.action == SpanAction::End {
            let Some(index) = begun else {
                let name = builder.label_name(event.label).to_owned();
                builder.log(IssueKind::EndWithoutBegin, || {
                    format!("{name:?} at {} ps", event.at.ps())
                });
                continue;
            };
            spans.end(stack.remove(index), event, &events, builder);
            continue;
        }
        let outermost = stack
            .iter()
            .find(|span| same_process(span))
            .map_or(event.label, |span| span.outermost);
        let Some(group) = places.group_of(pid) else {
            continue;
        };
        let track = places.line_of(event.thread).unwrap_or_else(|| {
            let name = builder.label_name(outermost).to_owned();
            builder.track(group, TrackKind::Async, ASYNC_LINE, &name)
        });
        spans.tracks.insert(track);
        if event.action == SpanAction::Begin {
            stack.push(OpenSpan {
                pid,
                local: event.local,
                outermost,
                track,
                begin: i,
                step_from: event.at,
                step: None,
            });
        } else {
            // An instant event, or a step without a span.
            let range = TimeRange::new(event.at, event.at);
            let spec = SliceSpec::new(range, event.step.unwrap_or(event.label));
            let key = builder.add_slice(
                track,
                SliceSpec {
                    args: event.args,
                    ..spec
                },
            );
            builder.set_attr(key, SliceAttr::Instant, 1);
        }
    }
    close_all(builder, &events, open, last);
    spans
}

/// The innermost open span that an end or a step belongs to, as an index into `stack`.
fn found_open(
    stack: &[OpenSpan],
    event: &AsyncEvent,
    pid: i64,
    events: &[AsyncEvent],
) -> Option<usize> {
    let same_process = |span: &OpenSpan| span.pid == pid && span.local == event.local;
    let named = |span: &OpenSpan| !event.named || events[span.begin].label == event.label;
    let older = stack.len().saturating_sub(MAX_LOOK_BACK);
    let recent = &stack[older..];
    let index = recent
        .iter()
        .rposition(|span| same_process(span) && named(span))
        .or_else(|| {
            recent
                .iter()
                .rposition(|span| !event.local && !span.local && named(span))
        })?;
    Some(older + index)
}

/// The thread id of asynchronous tracks, which belong to no thread.
const ASYNC_LINE: i64 = i64::MAX;

/// Ends open spans at the last asynchronous event.
fn close_all(
    builder: &mut TraceBuilder,
    events: &[AsyncEvent],
    open: HashMap<u32, Vec<OpenSpan>>,
    last: Timestamp,
) {
    let mut left: Vec<OpenSpan> = open.into_values().flatten().collect();
    left.sort_by_key(|span| span.begin);
    for mut span in left {
        span.end_step(events, last, builder);
        let begin = &events[span.begin];
        let spec = SliceSpec {
            args: begin.args,
            ..SliceSpec::new(TimeRange::new(begin.at, last), begin.label)
        };
        let key = builder.add_slice(span.track, spec);
        builder.set_attr(key, SliceAttr::Unterminated, 1);
        let name = builder.label_name(begin.label).to_owned();
        builder.log(IssueKind::BeginWithoutEnd, || format!("{name:?}"));
    }
}
