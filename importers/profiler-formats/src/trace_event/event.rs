//! Parses one event object in place.
//!
//! Most of the import time is spent here. Common keys are therefore recognized by one comparison of eight bytes,
//! numbers are parsed in the same pass that finds their end, and rare values are kept as text.

use std::ops::Range;

use super::json::{self, JsonResult, JsonString, JsonValue, byte, skip_blank, value};
use super::number;
use super::repeats::{EventRepeats, HeadIds, RestParts};

/// A process or thread id.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum EventId<'a> {
    #[default]
    Missing,
    Number(i64),
    Text(JsonString<'a>),
}

/// A time in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Micros<'a> {
    #[default]
    Missing,
    /// Picoseconds, already converted from the usual format.
    Picos(i64),
    /// Any other number format.
    Written(&'a [u8]),
}

impl Micros<'_> {
    /// The time in picoseconds; `Err` if it is missing or not a number.
    #[inline]
    pub fn picos(self) -> Result<i128, ()> {
        match self {
            Self::Missing => Err(()),
            Self::Picos(picos) => Ok(i128::from(picos)),
            Self::Written(text) => number::picos_from_micros(text).ok_or(()),
        }
    }
}

/// An event. Missing strings and objects are empty.
#[derive(Debug, Default)]
pub(super) struct RawEvent<'a> {
    /// First letter of the phase; 0 if missing.
    pub ph: u8,
    pub pid: EventId<'a>,
    pub tid: EventId<'a>,
    pub ts: Micros<'a>,
    pub dur: Micros<'a>,
    pub name: JsonString<'a>,
    /// Number of members.
    pub members: u32,
    /// Whether it has arguments with facts.
    pub has_args: bool,
    /// The args object; empty if there is none.
    pub args: &'a [u8],
    /// Members that only few events have.
    pub rare: Vec<(&'a [u8], JsonValue<'a>)>,
}

/// Length of an arguments object without members.
const EMPTY_ARGS: usize = 2;

impl<'a> RawEvent<'a> {
    #[inline]
    fn reset(&mut self) {
        self.ph = 0;
        (self.pid, self.tid) = (EventId::Missing, EventId::Missing);
        (self.ts, self.dur) = (Micros::Missing, Micros::Missing);
        (self.name, self.args) = (JsonString::default(), b"");
        self.members = 0;
        self.has_args = false;
        self.rare.clear();
    }

    /// The phase and the ids, if these are all of its members so far.
    #[inline]
    fn ids(&self) -> Option<HeadIds> {
        match (self.ph, self.pid, self.tid, self.members) {
            (0, ..) => None,
            (ph, EventId::Number(pid), EventId::Number(tid), members @ 3) => Some(HeadIds {
                ph,
                pid,
                tid,
                members,
            }),
            _ => None,
        }
    }

    #[inline]
    fn set_ids(&mut self, ids: HeadIds) {
        self.ph = ids.ph;
        (self.pid, self.tid) = (EventId::Number(ids.pid), EventId::Number(ids.tid));
        self.members = ids.members;
    }

    /// Where the name and the arguments are in `rest`, which consists of so many members.
    fn parts_of(&self, rest: &[u8], members: u32) -> RestParts {
        let place = |part: &[u8]| {
            let from = part.as_ptr().addr().wrapping_sub(rest.as_ptr().addr());
            if part.is_empty() {
                0..0
            } else {
                from..from + part.len()
            }
        };
        RestParts {
            name: place(self.name.raw),
            name_is_escaped: self.name.escaped,
            args: place(self.args),
            members,
        }
    }

    /// Takes the members of a known rest, at whose name `buf` starts.
    #[inline]
    pub fn set_rest(&mut self, buf: &'a [u8], rest: &RestParts) {
        let part = |range: &Range<usize>| buf.get(range.clone()).unwrap_or_default();
        self.name = JsonString {
            raw: part(&rest.name),
            escaped: rest.name_is_escaped,
        };
        self.args = part(&rest.args);
        self.has_args |= self.args.len() > EMPTY_ARGS;
        self.members += rest.members;
    }

    /// An argument, the last one of this name.
    pub fn arg(&self, wanted: &[u8]) -> Option<JsonValue<'a>> {
        let mut last = None;
        if !self.args.is_empty() {
            let _ = json::members(self.args, 0, |key, value| {
                if key.raw == wanted {
                    last = Some(value);
                }
                Ok(())
            });
        }
        last
    }

    /// A rare member.
    pub fn get(&self, key: &[u8]) -> Option<JsonValue<'a>> {
        self.rare
            .iter()
            .find(|(name, _)| *name == key)
            .map(|&(_, value)| value)
    }

    /// The text of a rare member; numbers as written.
    pub fn get_text(&self, key: &[u8]) -> Option<&'a [u8]> {
        self.get(key).map(|value| match value {
            JsonValue::Text(text) => text.raw,
            JsonValue::Word(word) => word,
            JsonValue::Object(raw) | JsonValue::Array(raw) => raw,
        })
    }
}

/// Collects the facts of one event while it is parsed.
pub(super) trait FactsCollector {
    /// Starts the next event.
    fn begin(&mut self);

    /// Reads the arguments object at a position, with the event's name if known; returns the position after it.
    fn read_args<'a>(
        &mut self,
        buf: &'a [u8],
        start: usize,
        name: JsonString<'a>,
    ) -> JsonResult<usize>;

    /// What recent events began and ended with.
    fn repeats(&mut self) -> &mut EventRepeats;

    /// If `buf` starts with a known rest, takes its members and facts, and returns its length.
    fn recall_rest<'a>(&mut self, buf: &'a [u8], event: &mut RawEvent<'a>) -> Option<usize>;

    /// Keeps the rest of the event that was read, unless it says something about one execution only.
    fn keep_rest(&mut self, rest: &[u8], parts: RestParts, name: JsonString<'_>);
}

const fn word(key: &[u8]) -> (u64, u64) {
    let (mut bytes, mut mask) = ([0_u8; 8], [0_u8; 8]);
    let mut i = 0;
    while i < key.len() {
        bytes[i] = key[i];
        mask[i] = 0xff;
        i += 1;
    }
    (u64::from_le_bytes(bytes), u64::from_le_bytes(mask))
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum EventKey {
    Ph,
    Pid,
    Tid,
    Ts,
    Dur,
    Name,
    Args,
    Rare,
}

/// The key at `position` with the position of its value's first byte.
#[inline]
fn key(buf: &[u8], position: usize) -> JsonResult<(EventKey, &[u8], usize)> {
    const PH: (u64, u64) = word(b"\"ph\":");
    const TS: (u64, u64) = word(b"\"ts\":");
    const PID: (u64, u64) = word(b"\"pid\":");
    const TID: (u64, u64) = word(b"\"tid\":");
    const DUR: (u64, u64) = word(b"\"dur\":");
    const NAME: (u64, u64) = word(b"\"name\":");
    const ARGS: (u64, u64) = word(b"\"args\":");
    if let Some(&head) = buf.get(position..).and_then(<[u8]>::first_chunk::<8>) {
        let head = u64::from_le_bytes(head);
        let is = |(bytes, mask): (u64, u64)| head & mask == bytes;
        let (key, len) = if is(PID) {
            (EventKey::Pid, 6)
        } else if is(TID) {
            (EventKey::Tid, 6)
        } else if is(TS) {
            (EventKey::Ts, 5)
        } else if is(DUR) {
            (EventKey::Dur, 6)
        } else if is(NAME) {
            (EventKey::Name, 7)
        } else if is(PH) {
            (EventKey::Ph, 5)
        } else if is(ARGS) {
            (EventKey::Args, 7)
        } else {
            (EventKey::Rare, 0)
        };
        if key != EventKey::Rare {
            return Ok((key, b"", skip_blank(buf, position + len)?));
        }
    }
    let (key, from) = json::key(buf, position)?;
    let kind = match key.raw {
        b"ph" => EventKey::Ph,
        b"pid" => EventKey::Pid,
        b"tid" => EventKey::Tid,
        b"ts" => EventKey::Ts,
        b"dur" => EventKey::Dur,
        b"name" => EventKey::Name,
        b"args" => EventKey::Args,
        _ => EventKey::Rare,
    };
    Ok((kind, key.raw, from))
}

/// Parses the event whose opening brace is at `start` into `event`; returns the position after it.
#[inline]
pub(super) fn read_event<'a>(
    buf: &'a [u8],
    start: usize,
    event: &mut RawEvent<'a>,
    facts: &mut impl FactsCollector,
) -> JsonResult<usize> {
    event.reset();
    facts.begin();
    let head = facts.repeats().head(&buf[start..]);
    let mut position = match head {
        Some((ids, len)) => {
            event.set_ids(ids);
            start + len
        }
        None => skip_blank(buf, start + 1)?,
    };
    // Where the name begins and how many members precede it, while only arguments follow it.
    let mut rest = None;
    while byte(buf, position)? != b'}' {
        let (key, raw_key, from) = key(buf, position)?;
        match key {
            EventKey::Name if event.args.is_empty() => {
                if let Some(len) = facts.recall_rest(&buf[position..], event) {
                    return Ok(position + len);
                }
                rest = rest.is_none().then_some((position, event.members));
            }
            EventKey::Args if buf[from] == b'{' => {}
            _ => {
                if key == EventKey::Ts
                    && head.is_none()
                    && let Some(ids) = event.ids()
                {
                    facts.repeats().keep_head(&buf[start..position], ids);
                }
                rest = None;
            }
        }
        event.members += 1;
        let end = read_member(buf, (key, raw_key, from), event, facts)?;
        position = json::next_item(buf, end)?;
    }
    if let Some((from, before)) = rest {
        let rest = &buf[from..=position];
        facts.keep_rest(
            rest,
            event.parts_of(rest, event.members - before),
            event.name,
        );
    }
    Ok(position + 1)
}

/// Parses the member whose value is at `from`; returns the position after it.
#[inline]
fn read_member<'a>(
    buf: &'a [u8],
    (key, raw_key, from): (EventKey, &'a [u8], usize),
    event: &mut RawEvent<'a>,
    facts: &mut impl FactsCollector,
) -> JsonResult<usize> {
    let end;
    match key {
        EventKey::Pid => (event.pid, end) = id(buf, from)?,
        EventKey::Tid => (event.tid, end) = id(buf, from)?,
        EventKey::Ts => (event.ts, end) = micros(buf, from)?,
        EventKey::Dur => (event.dur, end) = micros(buf, from)?,
        EventKey::Name => {
            let name;
            (name, end) = value(buf, from)?;
            event.name = match name {
                JsonValue::Text(name) => name,
                JsonValue::Word(raw) | JsonValue::Object(raw) | JsonValue::Array(raw) => {
                    JsonString {
                        raw,
                        escaped: false,
                    }
                }
            };
        }
        EventKey::Ph => {
            let ph;
            (ph, end) = value(buf, from)?;
            event.ph = ph.number().first().copied().unwrap_or(0);
        }
        EventKey::Args if buf[from] == b'{' => {
            end = facts.read_args(buf, from, event.name)?;
            event.args = &buf[from..end];
            event.has_args |= end - from > EMPTY_ARGS;
        }
        EventKey::Args | EventKey::Rare => {
            let value_of;
            (value_of, end) = value(buf, from)?;
            event.has_args = true;
            event.rare.push((raw_key, value_of));
        }
    }
    Ok(end)
}

#[inline]
fn id(buf: &[u8], start: usize) -> JsonResult<(EventId<'_>, usize)> {
    let mut end = start;
    let mut number = 0_i64;
    loop {
        let digit = byte(buf, end)?.wrapping_sub(b'0');
        if digit >= 10 || end - start >= 18 {
            break;
        }
        number = number * 10 + i64::from(digit);
        end += 1;
    }
    if end > start && matches!(buf[end], b',' | b'}' | b' ' | b'\n') {
        return Ok((EventId::Number(number), end));
    }
    let (value, end) = value(buf, start)?;
    let id = match value {
        JsonValue::Word(b"null") => EventId::Missing,
        JsonValue::Text(text) => {
            number::integer(text.raw).map_or(EventId::Text(text), EventId::Number)
        }
        JsonValue::Word(raw) | JsonValue::Object(raw) | JsonValue::Array(raw) => {
            number::integer(raw).map_or(
                EventId::Text(JsonString {
                    raw,
                    escaped: false,
                }),
                EventId::Number,
            )
        }
    };
    Ok((id, end))
}

/// How XProf and Python write one picosecond, the length of events without a duration.
const ONE_PICO: [&[u8]; 2] = [b"9.9999999999999995e-07", b"1e-06"];

#[inline]
fn micros(buf: &[u8], start: usize) -> JsonResult<(Micros<'_>, usize)> {
    // Two thirds of the events of a host have no length.
    let picosecond = &ONE_PICO[0];
    if buf[start..].starts_with(picosecond) && buf.get(start + picosecond.len()) == Some(&b',') {
        return Ok((Micros::Picos(1), start + picosecond.len()));
    }
    let mut digits = number::ShortNumber::default();
    let end = start + digits.read(&buf[start..]);
    match byte(buf, end)? {
        b',' | b'}' | b' ' | b'\n' => Ok((
            digits
                .picos()
                .map_or(Micros::Written(&buf[start..end]), Micros::Picos),
            end,
        )),
        _ => unusual_micros(buf, start),
    }
}

fn unusual_micros(buf: &[u8], start: usize) -> JsonResult<(Micros<'_>, usize)> {
    let end = start + ONE_PICO[1].len();
    if buf[start..].starts_with(ONE_PICO[1]) && byte(buf, end)? == b',' {
        return Ok((Micros::Picos(1), end));
    }
    let (value, end) = value(buf, start)?;
    Ok((Micros::Written(value.number()), end))
}
