//! A JSON parser for trace events that works in place.
//!
//! Tolerates common defects: trailing commas, raw control characters in strings, `NaN` and `Infinity`, invalid UTF-8.
//! Reaching the end of the window is not an error but [`JsonStop::End`], because more may follow.

use importer_common::prelude::*;
use trace_model::Arg;

use super::number;

/// Why parsing stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonStop {
    /// The window ends; the value may continue in the next one.
    End,
    /// Invalid JSON.
    Bad,
}

pub(super) type JsonResult<T> = Result<T, JsonStop>;

/// Maximum nesting.
const MAX_DEPTH: usize = 128;

/// A string between its quotes, unescaped later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct JsonString<'a> {
    pub raw: &'a [u8],
    /// Whether it contains a backslash.
    pub escaped: bool,
}

/// A value in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonValue<'a> {
    /// Text, without the quotes.
    Text(JsonString<'a>),
    /// A number, `true`, `false`, `null`, or another bare word.
    Word(&'a [u8]),
    /// An object with its braces.
    Object(&'a [u8]),
    /// An array with its brackets.
    Array(&'a [u8]),
}

impl<'a> JsonValue<'a> {
    /// The bytes of a number, quoted or not.
    pub fn number(self) -> &'a [u8] {
        match self {
            Self::Text(text) => text.raw.trim_ascii(),
            Self::Word(word) => word,
            Self::Object(_) | Self::Array(_) => b"",
        }
    }

    /// Whether it is `true`, in quotes or not.
    pub fn is_true(self) -> bool {
        matches!(self.number(), b"true" | b"1")
    }
}

#[inline]
pub(super) fn byte(buf: &[u8], position: usize) -> JsonResult<u8> {
    buf.get(position).copied().ok_or(JsonStop::End)
}

/// The first position from `position` on that is not whitespace.
#[inline]
pub(super) fn skip_blank(buf: &[u8], mut position: usize) -> JsonResult<usize> {
    loop {
        match byte(buf, position)? {
            b' ' | b'\n' | b'\r' | b'\t' => position += 1,
            _ => return Ok(position),
        }
    }
}

/// The string whose opening quote is at `position`, and the position after it.
#[inline]
pub(super) fn text(buf: &[u8], position: usize) -> JsonResult<(JsonString<'_>, usize)> {
    let start = position + 1;
    let mut from = start;
    let mut escaped = false;
    loop {
        let rest = buf.get(from..).ok_or(JsonStop::End)?;
        let end = from + memchr::memchr2(b'"', b'\\', rest).ok_or(JsonStop::End)?;
        if buf[end] == b'"' {
            return Ok((
                JsonString {
                    raw: &buf[start..end],
                    escaped,
                },
                end + 1,
            ));
        }
        escaped = true;
        from = end + 2;
    }
}

/// The value that starts at `position`, and the position after it.
#[inline]
pub(super) fn value(buf: &[u8], position: usize) -> JsonResult<(JsonValue<'_>, usize)> {
    match byte(buf, position)? {
        b'"' => text(buf, position).map(|(text, end)| (JsonValue::Text(text), end)),
        b'{' => brackets(buf, position).map(|end| (JsonValue::Object(&buf[position..end]), end)),
        b'[' => brackets(buf, position).map(|end| (JsonValue::Array(&buf[position..end]), end)),
        b',' | b'}' | b']' | b':' => Err(JsonStop::Bad),
        _ => word(buf, position).map(|end| (JsonValue::Word(&buf[position..end]), end)),
    }
}

/// The end of a number, `true` or the like.
#[inline]
fn word(buf: &[u8], start: usize) -> JsonResult<usize> {
    let mut end = start;
    loop {
        match byte(buf, end)? {
            b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t' => return Ok(end),
            b'0'..=b'9' | b'.' | b'-' | b'+' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => end += 1,
            _ => return Err(JsonStop::Bad),
        }
    }
}

/// The end of an object or array; brackets in strings do not count. A mismatched bracket is an error at once, so that
/// it does not swallow the file.
fn brackets(buf: &[u8], position: usize) -> JsonResult<usize> {
    let mut depth = 0;
    let mut braces = 0_u128;
    let mut position = position;
    loop {
        match byte(buf, position)? {
            open @ (b'{' | b'[') => {
                depth += 1;
                braces = (braces << 1) | u128::from(open == b'{');
                if depth > MAX_DEPTH {
                    return Err(JsonStop::Bad);
                }
            }
            close @ (b'}' | b']') => {
                if (braces & 1 == 1) != (close == b'}') {
                    return Err(JsonStop::Bad);
                }
                depth -= 1;
                braces >>= 1;
                if depth == 0 {
                    return Ok(position + 1);
                }
            }
            b'"' => {
                position = text(buf, position)?.1;
                continue;
            }
            _ => {}
        }
        position += 1;
    }
}

/// The key at `position`, and the position of its value.
#[inline]
pub(super) fn key(buf: &[u8], position: usize) -> JsonResult<(JsonString<'_>, usize)> {
    if byte(buf, position)? != b'"' {
        return Err(JsonStop::Bad);
    }
    let (key, end) = text(buf, position)?;
    let colon = skip_blank(buf, end)?;
    if buf[colon] != b':' {
        return Err(JsonStop::Bad);
    }
    Ok((key, skip_blank(buf, colon + 1)?))
}

/// Calls `each` with every member of the object at `position`; returns the position after it. Trailing commas are
/// accepted.
#[inline]
pub(super) fn members<'a>(
    buf: &'a [u8],
    position: usize,
    mut each: impl FnMut(JsonString<'a>, JsonValue<'a>) -> JsonResult<()>,
) -> JsonResult<usize> {
    if byte(buf, position)? != b'{' {
        return Err(JsonStop::Bad);
    }
    let mut position = skip_blank(buf, position + 1)?;
    while byte(buf, position)? != b'}' {
        let (key, from) = key(buf, position)?;
        let (value, end) = value(buf, from)?;
        each(key, value)?;
        position = next_item(buf, end)?;
    }
    Ok(position + 1)
}

/// Calls `each` with every element of the array at `position`.
pub(super) fn elements<'a>(
    buf: &'a [u8],
    position: usize,
    mut each: impl FnMut(JsonValue<'a>) -> JsonResult<()>,
) -> JsonResult<usize> {
    if byte(buf, position)? != b'[' {
        return Err(JsonStop::Bad);
    }
    let mut position = skip_blank(buf, position + 1)?;
    while byte(buf, position)? != b']' {
        let (value, end) = value(buf, position)?;
        each(value)?;
        position = next_item(buf, end)?;
    }
    Ok(position + 1)
}

/// The position after an item: at the next one, or at the closing bracket.
#[inline]
pub(super) fn next_item(buf: &[u8], position: usize) -> JsonResult<usize> {
    let position = skip_blank(buf, position)?;
    match buf[position] {
        b',' => skip_blank(buf, position + 1),
        b'}' | b']' => Ok(position),
        _ => Err(JsonStop::Bad),
    }
}

impl<'a> JsonString<'a> {
    /// The decoded text. Unpaired surrogates and invalid UTF-8 become U+FFFD; the flag tells whether there were any.
    pub fn decode(self) -> (std::borrow::Cow<'a, str>, bool) {
        if !self.escaped {
            return lossy(self.raw);
        }
        let mut out: Vec<u8> = Vec::with_capacity(self.raw.len());
        let mut bad = false;
        let mut position = 0;
        while let Some(offset) = memchr::memchr(b'\\', self.raw.get(position..).unwrap_or_default())
        {
            out.extend_from_slice(&self.raw[position..position + offset]);
            position += offset;
            let (c, len) = escape(&self.raw[position..]);
            bad |= c == char::REPLACEMENT_CHARACTER;
            out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes());
            position += len;
        }
        out.extend_from_slice(self.raw.get(position..).unwrap_or_default());
        match String::from_utf8(out) {
            Ok(text) => (text.into(), bad),
            Err(error) => (
                String::from_utf8_lossy(error.as_bytes())
                    .into_owned()
                    .into(),
                true,
            ),
        }
    }
}

fn lossy(raw: &[u8]) -> (std::borrow::Cow<'_, str>, bool) {
    match std::str::from_utf8(raw) {
        Ok(text) => (text.into(), false),
        Err(_not_utf8) => (String::from_utf8_lossy(raw), true),
    }
}

/// The character of the escape sequence that `raw` starts with, and its length.
fn escape(raw: &[u8]) -> (char, usize) {
    match raw.get(1) {
        Some(b'n') => ('\n', 2),
        Some(b't') => ('\t', 2),
        Some(b'r') => ('\r', 2),
        Some(b'b') => ('\u{8}', 2),
        Some(b'f') => ('\u{c}', 2),
        Some(b'u') => unicode_escape(raw),
        Some(&other) if other.is_ascii() => (char::from(other), 2),
        // Before a multi-byte character, the backslash is kept as it is.
        _ => ('\\', 1),
    }
}

fn unicode_escape(raw: &[u8]) -> (char, usize) {
    let unit = |position: usize| {
        let digits = raw.get(position..position + 4)?;
        u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
    };
    let Some(first) = unit(2) else {
        return (char::REPLACEMENT_CHARACTER, 2);
    };
    if let Some(c) = char::from_u32(first) {
        return (c, 6);
    }
    if (0xd800..0xdc00).contains(&first)
        && raw.get(6..8) == Some(b"\\u")
        && let Some(second @ 0xdc00..=0xdfff) = unit(8)
    {
        let code = 0x1_0000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        return (
            char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER),
            12,
        );
    }
    (char::REPLACEMENT_CHARACTER, 6)
}

/// A value as an argument.
pub(super) fn arg_value(value: JsonValue<'_>) -> ArgValue {
    match value {
        JsonValue::Text(text) => ArgValue::Text(text.decode().0.into_owned()),
        JsonValue::Word(b"true") => ArgValue::Bool(true),
        JsonValue::Word(b"false") => ArgValue::Bool(false),
        JsonValue::Word(b"null") => ArgValue::Null,
        JsonValue::Word(word) => word_value(word),
        JsonValue::Object(raw) | JsonValue::Array(raw) => ArgValue::Text(lossy(raw).0.into_owned()),
    }
}

fn word_value(word: &[u8]) -> ArgValue {
    let text = String::from_utf8_lossy(word);
    if let Ok(int) = text.parse::<i64>() {
        ArgValue::Int(int)
    } else if let Ok(uint) = text.parse::<u64>() {
        ArgValue::Uint(uint)
    } else if let Some(float) = number::float(word) {
        ArgValue::Float(float)
    } else {
        match &*text {
            "NaN" => ArgValue::Float(f64::NAN),
            "Infinity" | "+Infinity" => ArgValue::Float(f64::INFINITY),
            "-Infinity" => ArgValue::Float(f64::NEG_INFINITY),
            _ => ArgValue::Text(text.into_owned()),
        }
    }
}

/// Adds the value under `name`. Members of objects become `name.member`; an array of simple values becomes one text.
pub(super) fn flatten(name: &str, value: JsonValue<'_>, into: &mut Vec<Arg>) {
    flatten_below(name, value, 0, into);
}

fn flatten_below(name: &str, value: JsonValue<'_>, depth: usize, into: &mut Vec<Arg>) {
    if let JsonValue::Object(raw) = value
        && depth < MAX_DEPTH
    {
        let before = into.len();
        let end = members(raw, 0, |key, value| {
            let (key, _) = key.decode();
            let joined = if name.is_empty() {
                key.into_owned()
            } else {
                format!("{name}.{key}")
            };
            flatten_below(&joined, value, depth + 1, into);
            Ok(())
        });
        if end.is_ok() && (into.len() > before || name.is_empty()) {
            return;
        }
        into.truncate(before);
    }
    into.push(Arg {
        name: name.to_owned(),
        value: arg_value(value),
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(raw: &str) -> String {
        let quoted = format!("\"{raw}\"");
        let (text, end) = text(quoted.as_bytes(), 0).unwrap();
        assert_eq!(end, quoted.len());
        text.decode().0.into_owned()
    }

    #[test]
    fn escapes_match_serde_json() {
        for raw in [
            r"a\nb",
            r#"quote \" slash \/ back \\"#,
            r"\u00e4\u20ac",
            r"\ud83d\ude00",
            "plain ä",
            r"\\\\",
            "",
        ] {
            let expected: String = serde_json::from_str(&format!("\"{raw}\"")).unwrap();
            assert_eq!(decoded(raw), expected, "{raw}");
        }
    }

    #[test]
    fn invalid_escapes_are_repaired() {
        assert_eq!(decoded(r"\ud83d!"), "\u{fffd}!");
        assert_eq!(decoded(r"\ude00"), "\u{fffd}");
        assert_eq!(decoded(r"\uzz"), "\u{fffd}zz");
        assert_eq!(decoded("line\nbreak"), "line\nbreak");
        let (text, _) = text(b"\"a\xffb\"", 0).unwrap();
        assert_eq!(text.decode(), ("a\u{fffd}b".into(), true));
    }

    #[test]
    fn chunk_may_end_anywhere() {
        let whole = br#"{"a": "x\"y", "b": [1, {"c": "]"}], "d": 1e5, "e": null,}"#;
        let all = members(whole, 0, |_, _| Ok(()));
        assert_eq!(all, Ok(whole.len()));
        for end in 0..whole.len() {
            assert_eq!(
                members(&whole[..end], 0, |_, _| Ok(())),
                Err(JsonStop::End),
                "cut at {end}"
            );
        }
    }

    #[test]
    fn objects_flatten_and_arrays_stay_as_written() {
        let raw =
            br#"{"a": {"b": 1, "c": {}}, "d": [1, 2], "e": 18446744073709551615, "f": NaN, "g": true, "h": -1.5}"#;
        let mut args = Vec::new();
        flatten("", JsonValue::Object(raw), &mut args);
        let shown: Vec<_> = args
            .iter()
            .map(|arg| format!("{}={}", arg.name, arg.value))
            .collect();
        assert_eq!(
            shown,
            [
                "a.b=1",
                "a.c={}",
                "d=[1, 2]",
                "e=18446744073709551615",
                "f=NaN",
                "g=true",
                "h=-1.5"
            ]
        );
    }

    #[test]
    fn rejects_deep_nesting_and_mismatched_brackets() {
        let deep = [vec![b'['; 100_000], vec![b']'; 100_000]].concat();
        assert_eq!(value(&deep, 0), Err(JsonStop::Bad));
        let fair = [vec![b'['; MAX_DEPTH], vec![b']'; MAX_DEPTH]].concat();
        assert!(value(&fair, 0).is_ok());
        assert_eq!(value(b"{\"a\":[1}", 0), Err(JsonStop::Bad));
    }
}
