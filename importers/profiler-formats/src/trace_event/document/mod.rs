//! Parses the document around the events, window by window.
//!
//! Accepts the object form with its keys in any order, the bare array, and common defects: a byte order mark, trailing
//! commas, `{}`, a missing end. After an unreadable event it continues with the next readable one. The result does not
//! depend on the window borders.

use importer_common::prelude::*;
use input::ImportError;

use super::collect::EventCollector;
use super::event::{RawEvent, read_event};
use super::json::{self, JsonResult, JsonStop, JsonString, JsonValue, skip_blank, value};

pub(crate) static FORMAT: TraceFormat = TraceFormat {
    id: "trace-event-json",
    title: "trace-event JSON",
    extensions: &["trace.json", "trace.json.gz", "json", "json.gz"],
    markers: &[],
    about: "Exports of XProf and JAX (*.trace.json.gz, perfetto_trace.json.gz), answers of XProf's trace viewer, \
            and Chrome traces of any program.",
};

/// Members with data of other recorders: V8 profiler samples, Linux ftrace, power meters.
const OTHER_DATA: &[&str] = &["samples", "systemTraceEvents", "powerTraceAsString"];

/// Maximum distance to search for the end of an unreadable event.
const MAX_EVENT: usize = 1 << 20;

/// State of the parser.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DocumentState {
    Start,
    /// Between members of the top-level object.
    Members,
    /// Inside the array of events.
    Events,
    /// Looking for the next readable event.
    Resync,
    /// Inside a top-level value that is not needed.
    Skipping {
        depth: u32,
        in_text: bool,
        /// If its data is lost: its name.
        lost: Option<&'static str>,
        elements: u64,
    },
    Done,
    /// After the end of the document, where something follows.
    Rest,
}

/// Reads a document in windows.
pub(super) struct DocumentReader {
    state: DocumentState,
    /// Whether the document is a bare array of events.
    bare: bool,
    /// Bytes used in windows before this one.
    offset: u64,
    /// End of the last window.
    seen: u64,
    /// Number of events; `None` before the first array of events.
    events: Option<u64>,
    /// Whether the last window ended inside a value.
    cut: bool,
}

/// The position that was reached, or the request for more of the file.
enum ReadProgress {
    To(usize),
    Wait(usize),
}

impl DocumentReader {
    pub fn new() -> Self {
        Self {
            state: DocumentState::Start,
            bare: false,
            offset: 0,
            seen: 0,
            events: None,
            cut: false,
        }
    }

    /// Whether there was an array of events.
    pub fn found_events(&self) -> bool {
        self.events.is_some()
    }

    /// Whether the file is truncated. A bare array may lack its end; the format allows this for writers that crash or
    /// never close it. A bracket alone is the start of a file that was never written.
    pub fn is_truncated(&self) -> bool {
        let may_end = self.bare && self.state == DocumentState::Events && self.events > Some(0);
        self.cut || !(matches!(self.state, DocumentState::Done | DocumentState::Rest) || may_end)
    }

    /// Whether the array of events was read to its end.
    pub fn is_past_events(&self) -> bool {
        self.events.is_some()
            && !matches!(self.state, DocumentState::Events | DocumentState::Resync)
    }

    /// Whether the document is complete and nothing follows.
    pub fn is_complete(&self) -> bool {
        self.state == DocumentState::Done
    }

    /// Bytes seen.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Reads as much of a window as possible and returns the number of bytes used.
    pub fn consume(
        &mut self,
        window: &[u8],
        last: bool,
        into: &mut EventCollector<'_>,
    ) -> Result<usize> {
        let mut position = 0;
        while position < window.len() {
            let step = match self.state {
                DocumentState::Start => self.start(window, position)?,
                DocumentState::Members => self.member(window, position, into)?,
                DocumentState::Events => self.events(window, position, last, into),
                DocumentState::Resync => self.resync(window, position, into),
                DocumentState::Skipping { .. } => self.skip(window, position, into),
                DocumentState::Done => self.rest(window, position, into),
                DocumentState::Rest => ReadProgress::To(window.len()),
            };
            match step {
                ReadProgress::To(next) => position = next,
                ReadProgress::Wait(next) => {
                    position = next;
                    break;
                }
            }
        }
        let blank = skip_blank(window, position).is_err();
        self.cut = last && !blank;
        self.seen = self.offset + window.len() as u64;
        self.offset += position as u64;
        Ok(position)
    }

    fn start(&mut self, window: &[u8], position: usize) -> Result<ReadProgress> {
        let from = if self.offset == 0 && window.starts_with(b"\xef\xbb\xbf") {
            position.max(3)
        } else {
            position
        };
        if self.offset == 0 && b"\xef\xbb\xbf".starts_with(window) {
            return Ok(ReadProgress::Wait(position));
        }
        let Ok(from) = skip_blank(window, from) else {
            return Ok(ReadProgress::Wait(window.len()));
        };
        match window[from] {
            b'{' => self.state = DocumentState::Members,
            b'[' => self.begin_events(true),
            _ => return Err(self.malformed(from, "expected an object or an array")),
        }
        Ok(ReadProgress::To(from + 1))
    }

    fn begin_events(&mut self, bare: bool) {
        self.bare = bare;
        self.events.get_or_insert(0);
        self.state = DocumentState::Events;
    }

    fn member(
        &mut self,
        window: &[u8],
        position: usize,
        into: &mut EventCollector<'_>,
    ) -> Result<ReadProgress> {
        let (key, from) = match member_key(window, position) {
            Ok((Some(key), from)) => (key, from),
            Ok((None, end)) => {
                self.state = DocumentState::Done;
                return Ok(ReadProgress::To(end));
            }
            Err(JsonStop::End) => return Ok(ReadProgress::Wait(position)),
            Err(JsonStop::Bad) => return self.bad_member(position, into),
        };
        if key.raw == b"traceEvents" && window[from] == b'[' {
            self.begin_events(false);
            return Ok(ReadProgress::To(from + 1));
        }
        let lost = OTHER_DATA
            .iter()
            .copied()
            .find(|name| name.as_bytes() == key.raw);
        if matches!(window[from], b'{' | b'[') && !into.wants(key) {
            self.state = DocumentState::Skipping {
                depth: 0,
                in_text: false,
                lost,
                elements: 0,
            };
            return Ok(ReadProgress::To(from));
        }
        match value(window, from) {
            Ok((value, end)) => {
                if let (Some(name), JsonValue::Text(_)) = (lost, value) {
                    into.log(IssueKind::NotRead, || {
                        format!("{name:?}, a text of {} bytes", end - from)
                    });
                }
                into.top_level(key, value);
                Ok(ReadProgress::To(end))
            }
            Err(JsonStop::End) => Ok(ReadProgress::Wait(position)),
            Err(JsonStop::Bad) => self.bad_member(from, into),
        }
    }

    /// Handles an unreadable member: fatal only if nothing was read before.
    fn bad_member(
        &mut self,
        position: usize,
        into: &mut EventCollector<'_>,
    ) -> Result<ReadProgress> {
        if self.events.is_none() {
            return Err(self.malformed(position, "expected a quoted key and a value"));
        }
        let offset = self.offset + position as u64;
        into.log(IssueKind::MalformedEvent, || {
            format!("top level of the document at byte {offset}")
        });
        self.state = DocumentState::Done;
        Ok(ReadProgress::To(position))
    }

    /// Handles content after the end of the document.
    fn rest(
        &mut self,
        window: &[u8],
        position: usize,
        into: &mut EventCollector<'_>,
    ) -> ReadProgress {
        if let Ok(start) = skip_blank(window, position) {
            let offset = self.offset + start as u64;
            let first = char::from(window[start]);
            into.log(IssueKind::ContentAfterEnd, || {
                format!("from byte {offset} on, which begins with {first:?}")
            });
            self.state = DocumentState::Rest;
        }
        ReadProgress::To(window.len())
    }

    /// Continues to skip a top-level value that is not needed.
    fn skip(&mut self, window: &[u8], from: usize, into: &mut EventCollector<'_>) -> ReadProgress {
        let DocumentState::Skipping {
            mut depth,
            mut in_text,
            lost,
            mut elements,
        } = self.state
        else {
            return ReadProgress::To(from);
        };
        let mut position = from;
        while position < window.len() {
            if in_text {
                match memchr::memchr2(b'"', b'\\', &window[position..])
                    .map(|distance| position + distance)
                {
                    None => position = window.len(),
                    Some(quote) if window[quote] == b'"' => {
                        (in_text, position) = (false, quote + 1);
                    }
                    Some(backslash) if backslash + 1 < window.len() => position = backslash + 2,
                    Some(backslash) => {
                        self.state = DocumentState::Skipping {
                            depth,
                            in_text,
                            lost,
                            elements,
                        };
                        return ReadProgress::Wait(backslash);
                    }
                }
                continue;
            }
            if depth == 1 {
                let begins = elements == 0
                    && !matches!(window[position], b' ' | b'\n' | b'\r' | b'\t' | b'}' | b']');
                elements += u64::from(begins || window[position] == b',');
            }
            match window[position] {
                b'"' => in_text = true,
                b'{' | b'[' => depth += 1,
                b'}' | b']' => depth -= 1,
                _ => {}
            }
            position += 1;
            if depth == 0 {
                self.state = DocumentState::Members;
                if let Some(name) = lost {
                    into.log_many(IssueKind::NotRead, elements, || {
                        format!("{elements} elements of {name:?}")
                    });
                }
                return ReadProgress::To(position);
            }
        }
        self.state = DocumentState::Skipping {
            depth,
            in_text,
            lost,
            elements,
        };
        ReadProgress::To(position)
    }

    fn events(
        &mut self,
        window: &[u8],
        from: usize,
        last: bool,
        into: &mut EventCollector<'_>,
    ) -> ReadProgress {
        let mut event = RawEvent::default();
        let mut position = from;
        loop {
            match window.get(position) {
                None => return ReadProgress::To(position),
                Some(b',' | b' ' | b'\n' | b'\r' | b'\t') => position += 1,
                Some(b'{') => match read_event(window, position, &mut event, into) {
                    Ok(end) => {
                        *self.events.get_or_insert(0) += 1;
                        into.event(&event, self.offset + position as u64);
                        position = end;
                    }
                    Err(JsonStop::End) => return ReadProgress::Wait(position),
                    Err(JsonStop::Bad) => match self.step_over(window, position, last, into) {
                        ReadProgress::To(next) if self.state == DocumentState::Events => {
                            position = next;
                        }
                        step => return step,
                    },
                },
                Some(b']') => {
                    self.state = if self.bare {
                        DocumentState::Done
                    } else {
                        DocumentState::Members
                    };
                    return ReadProgress::To(position + 1);
                }
                Some(_) => match self.step_over(window, position, last, into) {
                    ReadProgress::To(next) if self.state == DocumentState::Events => {
                        position = next;
                    }
                    step => return step,
                },
            }
        }
    }

    /// Skips something at `position` that is not an event, to its end if it has one.
    fn step_over(
        &mut self,
        window: &[u8],
        position: usize,
        last: bool,
        into: &mut EventCollector<'_>,
    ) -> ReadProgress {
        let whole = window.len().min(position + MAX_EVENT);
        let end = match value(&window[..whole], position) {
            Ok((_, end)) => Some(end),
            Err(JsonStop::End) if whole == window.len() && !last => {
                return ReadProgress::Wait(position);
            }
            Err(_) => None,
        };
        let offset = self.offset + position as u64;
        into.log(IssueKind::MalformedEvent, || format!("at byte {offset}"));
        if end.is_none() {
            self.state = DocumentState::Resync;
        }
        ReadProgress::To(end.unwrap_or(position + 1))
    }

    /// Searches the next brace at which an event can be read.
    fn resync(
        &mut self,
        window: &[u8],
        from: usize,
        into: &mut EventCollector<'_>,
    ) -> ReadProgress {
        let mut event = RawEvent::default();
        let mut position = from;
        while let Some(distance) = memchr::memchr(b'{', &window[position..]) {
            position += distance;
            match read_event(window, position, &mut event, into) {
                Ok(_) if event.ph != 0 => {
                    self.state = DocumentState::Events;
                    return ReadProgress::To(position);
                }
                Err(JsonStop::End) => return ReadProgress::Wait(position),
                Ok(_) | Err(JsonStop::Bad) => position += 1,
            }
        }
        ReadProgress::To(window.len())
    }

    fn malformed(&self, position: usize, what: &str) -> ImportError {
        let what = format!("{what}; this is not trace-event JSON, or the file is damaged");
        FORMAT.malformed(self.offset + position as u64, what)
    }
}

/// The next key of the top-level object with the position of its value; no key at
/// its closing brace.
fn member_key(window: &[u8], position: usize) -> JsonResult<(Option<JsonString<'_>>, usize)> {
    let mut position = skip_blank(window, position)?;
    if window[position] == b',' {
        position = skip_blank(window, position + 1)?;
    }
    if window[position] == b'}' {
        return Ok((None, position + 1));
    }
    let (key, from) = json::key(window, position)?;
    Ok((Some(key), from))
}

#[cfg(test)]
mod tests;
