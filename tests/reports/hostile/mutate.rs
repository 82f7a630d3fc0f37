//! Random changes of a file, from a seed: of raw bytes, of words and lines of text, of the
//! fields of a protobuf, of the values of a JSON document.

use serde_json::{Map, Value};

/// Random numbers, the same from the same seed (`SplitMix64`, Steele and others 2014).
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 0x5353_5953_544f_4c45)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`; 0 if `n` is 0.
    pub fn below(&mut self, n: usize) -> usize {
        if n == 0 {
            0
        } else {
            (self.next() % n as u64) as usize
        }
    }

    pub fn one_in(&mut self, n: usize) -> bool {
        self.below(n) == 0
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// A boundary value, or a number near `from`.
fn number(rng: &mut Rng, from: u64) -> u64 {
    const EDGES: [u64; 16] = [
        0,
        1,
        2,
        u64::MAX,
        u64::MAX - 1,
        i64::MAX as u64,
        i64::MIN as u64,
        (i64::MAX / 2) as u64,
        (i64::MAX / 1000) as u64,
        u32::MAX as u64,
        i32::MAX as u64,
        1 << 32,
        1 << 53,
        1 << 62,
        1_000_000_000_000_000_000,
        1_000_000,
    ];
    match rng.below(8) {
        0 => from.wrapping_add(1),
        1 => from.wrapping_sub(1),
        2 => from.wrapping_neg(),
        3 => from.wrapping_mul(1000),
        4 => rng.next() >> rng.below(64),
        _ => *rng.pick(&EDGES),
    }
}

/// A number as text, or a text that programs write instead of a number.
fn number_text(rng: &mut Rng, from: &str) -> String {
    const ODD: [&str; 12] = [
        "NaN",
        "inf",
        "-inf",
        "1e308",
        "-1e308",
        "1e-300",
        "-0",
        "0.1",
        "",
        "99999999999999999999999",
        "1e18",
        "-1",
    ];
    if rng.one_in(2) {
        return (*rng.pick(&ODD)).to_owned();
    }
    let number = number(rng, from.parse().unwrap_or(7));
    if rng.one_in(3) {
        (number as i64).to_string()
    } else {
        number.to_string()
    }
}

pub fn bytes(rng: &mut Rng, bytes: &mut Vec<u8>) {
    if bytes.is_empty() {
        return;
    }
    let at = rng.below(bytes.len());
    let end = (at + rng.below((bytes.len() - at).min(64)) + 1).min(bytes.len());
    match rng.below(7) {
        0 => bytes[at] = rng.next() as u8,
        1 => bytes[at] ^= 1 << rng.below(8),
        2 => bytes.insert(at, rng.next() as u8),
        3 => drop(bytes.drain(at..end)),
        4 => {
            let copied = bytes[at..end].to_vec();
            let to = rng.below(bytes.len());
            bytes.splice(to..to, copied);
        }
        5 => bytes[at..end].fill([0, 0xff][rng.below(2)]),
        _ => bytes.truncate(at),
    }
}

/// Changes a line or a number of a text.
pub fn text(rng: &mut Rng, text: &mut String) {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let (at, to) = (rng.below(lines.len()), rng.below(lines.len()));
    if lines.is_empty() {
        return;
    }
    match rng.below(9) {
        0 => drop(lines.remove(at)),
        1 => lines.insert(to, lines[at]),
        2 => lines.swap(at, to),
        3 => lines.truncate(at),
        _ => {
            let changed = change_token(rng, lines[at]);
            lines[at] = &changed;
            *text = lines.concat();
            return;
        }
    }
    *text = lines.concat();
}

/// A line with one of its numbers or words changed.
fn change_token(rng: &mut Rng, line: &str) -> String {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut tokens: Vec<(usize, &str)> = Vec::new();
    let mut from = None;
    for (at, c) in line.char_indices().chain([(line.len(), ' ')]) {
        match (from, is_part(c)) {
            (None, true) => from = Some(at),
            (Some(begin), false) => {
                tokens.push((begin, &line[begin..at]));
                from = None;
            }
            _ => {}
        }
    }
    let numbers: Vec<_> = tokens
        .iter()
        .filter(|(_, token)| token.starts_with(|c: char| c.is_ascii_digit()))
        .collect();
    let chosen = if numbers.is_empty() || rng.one_in(4) {
        if tokens.is_empty() {
            return format!("{}{line}", number_text(rng, "1"));
        }
        *rng.pick(&tokens)
    } else {
        **rng.pick(&numbers)
    };
    let (at, token) = chosen;
    let new = if rng.one_in(4) {
        rng.pick(&tokens).1.to_owned()
    } else {
        number_text(rng, token)
    };
    format!("{}{new}{}", &line[..at], &line[at + token.len()..])
}

/// A field of a protobuf message.
#[derive(Clone)]
pub struct Field {
    number: u64,
    value: Wire,
}

#[derive(Clone)]
enum Wire {
    Varint(u64),
    Fixed(Vec<u8>),
    Bytes(Vec<u8>),
    Message(Vec<Field>),
}

/// Maximum depth of nested messages.
const MAX_DEPTH: usize = 12;

/// The fields of a message; `None` if the bytes are not a message.
pub fn fields(bytes: &[u8], depth: usize) -> Option<Vec<Field>> {
    let mut fields = Vec::new();
    let mut rest = bytes;
    while !rest.is_empty() {
        let key = varint(&mut rest)?;
        let number = key >> 3;
        let value = match key & 7 {
            0 => Wire::Varint(varint(&mut rest)?),
            1 => Wire::Fixed(take(&mut rest, 8)?.to_vec()),
            5 => Wire::Fixed(take(&mut rest, 4)?.to_vec()),
            2 => {
                let len = usize::try_from(varint(&mut rest)?).ok()?;
                let inner = take(&mut rest, len)?;
                let is_text =
                    !inner.is_empty() && inner.iter().all(|byte| (0x20..0x7f).contains(byte));
                let message = if depth < MAX_DEPTH && !is_text {
                    fields_of(inner, depth)
                } else {
                    None
                };
                message.map_or_else(|| Wire::Bytes(inner.to_vec()), Wire::Message)
            }
            _ => return None,
        };
        if number == 0 || number > 1000 {
            return None;
        }
        fields.push(Field { number, value });
    }
    Some(fields)
}

fn fields_of(inner: &[u8], depth: usize) -> Option<Vec<Field>> {
    fields(inner, depth + 1).filter(|fields| !fields.is_empty())
}

fn varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn take<'a>(rest: &mut &'a [u8], len: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(len)?;
    *rest = after;
    Some(taken)
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Encodes fields as a message, with their current lengths.
pub fn encoded(fields: &[Field]) -> Vec<u8> {
    let mut out = Vec::new();
    for field in fields {
        let mut bytes = |wire: u64, payload: &[u8]| {
            put_varint(&mut out, field.number << 3 | wire);
            if wire == 2 {
                put_varint(&mut out, payload.len() as u64);
            }
            out.extend_from_slice(payload);
        };
        match &field.value {
            Wire::Varint(value) => {
                let mut payload = Vec::new();
                put_varint(&mut payload, *value);
                bytes(0, &payload);
            }
            Wire::Fixed(payload) => bytes(if payload.len() == 8 { 1 } else { 5 }, payload),
            Wire::Bytes(payload) => bytes(2, payload),
            Wire::Message(inner) => bytes(2, &encoded(inner)),
        }
    }
    out
}

/// Changes a field somewhere in a message.
pub fn message(rng: &mut Rng, fields: &mut Vec<Field>) {
    if fields.is_empty() {
        return;
    }
    let (at, other) = (rng.below(fields.len()), rng.below(fields.len()));
    if let Wire::Message(inner) = &mut fields[at].value
        && !rng.one_in(6)
    {
        return message(rng, inner);
    }
    match rng.below(10) {
        0 => drop(fields.remove(at)),
        1 => fields.insert(other, fields[at].clone()),
        2 => fields.swap(at, other),
        3 => fields[at].number = fields[other].number,
        4 => fields[at].number = rng.below(20) as u64 + 1,
        5 => fields[at].value = fields[other].value.clone(),
        _ => change_value(rng, &mut fields[at].value),
    }
}

fn change_value(rng: &mut Rng, value: &mut Wire) {
    match value {
        Wire::Varint(value) => *value = number(rng, *value),
        Wire::Fixed(payload) if payload.len() == 8 => {
            const DOUBLES: [f64; 8] = [
                f64::NAN,
                f64::INFINITY,
                f64::NEG_INFINITY,
                1e308,
                -1.0,
                0.0,
                1e-300,
                1e18,
            ];
            *payload = rng.pick(&DOUBLES).to_le_bytes().to_vec();
        }
        Wire::Fixed(payload) | Wire::Bytes(payload) => match std::str::from_utf8(payload) {
            Ok(words) if !rng.one_in(3) => {
                let mut words = words.to_owned();
                text(rng, &mut words);
                *payload = words.into_bytes();
            }
            _ => bytes(rng, payload),
        },
        Wire::Message(inner) => inner.clear(),
    }
    if let Wire::Fixed(payload) = value {
        payload.resize(if payload.len() > 4 { 8 } else { 4 }, 0);
    }
}

/// Changes a value somewhere in a document.
pub fn json(rng: &mut Rng, value: &mut Value) {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let (at, other) = (rng.below(items.len()), rng.below(items.len()));
            match rng.below(14) {
                0 => drop(items.remove(at)),
                1 => items.insert(other, items[at].clone()),
                2 => items.swap(at, other),
                3 => items[at] = odd(rng),
                _ => json(rng, &mut items[at]),
            }
        }
        Value::Object(members) if !members.is_empty() => change_member(rng, members),
        Value::Number(old) => {
            let text = number_text(rng, &old.to_string());
            *value = match serde_json::from_str(&text) {
                Ok(number @ Value::Number(_)) => number,
                _ => Value::String(text),
            };
        }
        Value::String(old) if !rng.one_in(3) => {
            text(rng, old);
            if old.len() == 1 {
                *old = (*rng.pick(&[
                    "X", "B", "E", "b", "n", "e", "S", "T", "p", "F", "C", "M", "i", "s", "t", "f",
                ]))
                .to_owned();
            }
        }
        other => *other = odd(rng),
    }
}

fn change_member(rng: &mut Rng, members: &mut Map<String, Value>) {
    let keys: Vec<String> = members.keys().cloned().collect();
    let (key, other) = (rng.pick(&keys).clone(), rng.pick(&keys).clone());
    match rng.below(10) {
        0 => drop(members.remove(&key)),
        1 => {
            let taken = members.get(&other).cloned();
            members.extend(taken.map(|taken| (key, taken)));
        }
        2 => {
            let moved = members.remove(&key);
            members.extend(moved.map(|moved| ("dur".to_owned(), moved)));
        }
        _ => {
            if let Some(member) = members.get_mut(&key) {
                json(rng, member);
            }
        }
    }
}

/// An unexpected value.
fn odd(rng: &mut Rng) -> Value {
    match rng.below(7) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => Value::String(String::new()),
        3 => Value::Array(vec![Value::Null; 3]),
        4 => Value::Object(Map::new()),
        5 => (0..200).fold(Value::Null, |inner, _| Value::Array(vec![inner])),
        _ => number(rng, 5).into(),
    }
}
