//! Parses one event object in place.
//!
//! Most of the import time is spent here. Common keys are therefore recognized by one comparison of eight bytes,
//! numbers are parsed in the same pass that finds their end, and rare values are kept as text.

use super::json::{JsonResult, JsonStop, JsonString, JsonValue, byte, skip_blank, text, value};
use super::number;

/// A process or thread id.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
    pub(super) fn picos(self) -> Result<i128, ()> {
        match self {
            Self::Missing => Err(()),
            Self::Picos(picos) => Ok(i128::from(picos)),
            Self::Written(text) => number::picos_from_micros(text).ok_or(()),
        }
    }
}

/// An event. Missing strings and objects are empty.
#[derive(Clone, Debug, Default)]
pub(super) struct RawEvent<'a> {
    /// First letter of the phase; 0 if missing.
    pub(super) ph: u8,
    pub(super) pid: EventId<'a>,
    pub(super) tid: EventId<'a>,
    pub(super) ts: Micros<'a>,
    pub(super) dur: Micros<'a>,
    pub(super) name: JsonString<'a>,
    /// Number of members.
    pub(super) members: u32,
    /// Whether it has arguments with facts.
    pub(super) has_args: bool,
    /// The args object; empty if there is none.
    pub(super) args: &'a [u8],
    /// Members that only few events have.
    pub(super) rare: Vec<(&'a [u8], JsonValue<'a>)>,
}

impl<'a> RawEvent<'a> {
    /// A rare member.
    pub(super) fn get(&self, key: &[u8]) -> Option<JsonValue<'a>> {
        self.rare.iter().find(|(name, _)| *name == key).map(|&(_, value)| value)
    }

    /// The text of a rare member; numbers as written.
    pub(super) fn get_text(&self, key: &[u8]) -> Option<&'a [u8]> {
        self.get(key).map(|value| match value {
            JsonValue::Text(text) => text.raw,
            JsonValue::Word(word) => word,
            JsonValue::Object(raw) | JsonValue::Array(raw) => raw,
        })
    }
}

/// Reads the arguments object at a position, with the event's name if known; returns the position after it.
pub(super) trait ArgReader {
    fn read<'a>(&mut self, buf: &'a [u8], at: usize, name: JsonString<'a>) -> JsonResult<usize>;
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

/// The key at `at` with the position of its value's first byte.
#[inline]
fn key(buf: &[u8], at: usize) -> JsonResult<(EventKey, &[u8], usize)> {
    const PH: (u64, u64) = word(b"\"ph\":");
    const TS: (u64, u64) = word(b"\"ts\":");
    const PID: (u64, u64) = word(b"\"pid\":");
    const TID: (u64, u64) = word(b"\"tid\":");
    const DUR: (u64, u64) = word(b"\"dur\":");
    const NAME: (u64, u64) = word(b"\"name\":");
    const ARGS: (u64, u64) = word(b"\"args\":");
    if let Some(&head) = buf.get(at..).and_then(<[u8]>::first_chunk::<8>) {
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
            return Ok((key, b"", skip_blank(buf, at + len)?));
        }
    }
    if byte(buf, at)? != b'"' {
        return Err(JsonStop::Bad);
    }
    let (key, end) = text(buf, at)?;
    let colon = skip_blank(buf, end)?;
    if buf[colon] != b':' {
        return Err(JsonStop::Bad);
    }
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
    Ok((kind, key.raw, skip_blank(buf, colon + 1)?))
}

/// Parses the event whose opening brace is at `start` into `event`; returns the position after it.
#[inline]
pub(super) fn read_event<'a>(
    buf: &'a [u8],
    start: usize,
    event: &mut RawEvent<'a>,
    args: &mut impl ArgReader,
) -> JsonResult<usize> {
    event.ph = 0;
    (event.pid, event.tid) = (EventId::Missing, EventId::Missing);
    (event.ts, event.dur) = (Micros::Missing, Micros::Missing);
    (event.name, event.args) = (JsonString::default(), b"");
    event.members = 0;
    event.has_args = false;
    event.rare.clear();

    let mut at = skip_blank(buf, start + 1)?;
    while byte(buf, at)? != b'}' {
        let (key, raw_key, from) = key(buf, at)?;
        event.members += 1;
        at = match key {
            EventKey::Pid => {
                let end;
                (event.pid, end) = id(buf, from)?;
                end
            }
            EventKey::Tid => {
                let end;
                (event.tid, end) = id(buf, from)?;
                end
            }
            EventKey::Ts => {
                let end;
                (event.ts, end) = micros(buf, from)?;
                end
            }
            EventKey::Dur => {
                let end;
                (event.dur, end) = micros(buf, from)?;
                end
            }
            EventKey::Name => match value(buf, from)? {
                (JsonValue::Text(name), end) => {
                    event.name = name;
                    end
                }
                (JsonValue::Word(raw) | JsonValue::Object(raw) | JsonValue::Array(raw), end) => {
                    event.name = JsonString { raw, escaped: false };
                    end
                }
            },
            EventKey::Ph => {
                let (value, end) = value(buf, from)?;
                event.ph = value.number().first().copied().unwrap_or(0);
                end
            }
            EventKey::Args if buf[from] == b'{' => {
                let end = args.read(buf, from, event.name)?;
                event.args = &buf[from..end];
                event.has_args |= end - from > 2;
                end
            }
            EventKey::Args | EventKey::Rare => {
                let (value, end) = value(buf, from)?;
                event.has_args = true;
                event.rare.push((raw_key, value));
                end
            }
        };
        at = skip_blank(buf, at)?;
        match buf[at] {
            b',' => at = skip_blank(buf, at + 1)?,
            b'}' => {}
            _ => return Err(JsonStop::Bad),
        }
    }
    Ok(at + 1)
}

#[inline]
fn id(buf: &[u8], at: usize) -> JsonResult<(EventId<'_>, usize)> {
    let mut end = at;
    let mut number = 0_i64;
    loop {
        let digit = byte(buf, end)?.wrapping_sub(b'0');
        if digit >= 10 || end - at >= 18 {
            break;
        }
        number = number * 10 + i64::from(digit);
        end += 1;
    }
    if end > at && matches!(buf[end], b',' | b'}' | b' ' | b'\n') {
        return Ok((EventId::Number(number), end));
    }
    let (value, end) = value(buf, at)?;
    let id = match value {
        JsonValue::Word(b"null") => EventId::Missing,
        JsonValue::Text(text) => number::integer(text.raw).map_or(EventId::Text(text), EventId::Number),
        JsonValue::Word(raw) | JsonValue::Object(raw) | JsonValue::Array(raw) => {
            number::integer(raw).map_or(EventId::Text(JsonString { raw, escaped: false }), EventId::Number)
        }
    };
    Ok((id, end))
}

/// How XProf and Python write one picosecond, the length of events without a duration.
const ONE_PICO: [&[u8]; 2] = [b"9.9999999999999995e-07", b"1e-06"];

#[inline]
fn micros(buf: &[u8], at: usize) -> JsonResult<(Micros<'_>, usize)> {
    let mut digits = number::ShortNumber::default();
    let mut end = at;
    loop {
        match byte(buf, end)? {
            b',' | b'}' | b' ' | b'\n' => break,
            byte if digits.push(byte) => end += 1,
            _ => return unusual_micros(buf, at),
        }
    }
    Ok((digits.picos().map_or(Micros::Written(&buf[at..end]), Micros::Picos), end))
}

fn unusual_micros(buf: &[u8], at: usize) -> JsonResult<(Micros<'_>, usize)> {
    for text in ONE_PICO {
        let end = at + text.len();
        if buf[at..].starts_with(text) && byte(buf, end)? == b',' {
            return Ok((Micros::Picos(1), end));
        }
    }
    let (value, end) = value(buf, at)?;
    Ok((Micros::Written(value.number()), end))
}
