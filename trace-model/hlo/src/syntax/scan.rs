//! Brackets, quotes and commas of HLO text.
//!
//! Brackets and commas inside quotes do not count, and neither does a quote after a backslash. Truncated text ends
//! where it was cut.

use std::borrow::Cow;

/// Byte offset after the bracket that closes the one at `open`; `None` if the text ends before it.
pub(crate) fn after_brackets(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate().skip(open);
    let mut quoted = false;
    while let Some((i, byte)) = bytes.next() {
        match byte {
            b'\\' if quoted => {
                bytes.next();
            }
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Byte offset of the closing quote of a string; `text` starts after its opening quote.
fn closing_quote(text: &str) -> Option<usize> {
    let mut bytes = text.bytes().enumerate();
    while let Some((i, byte)) = bytes.next() {
        match byte {
            b'\\' => {
                bytes.next();
            }
            b'"' => return Some(i),
            _ => {}
        }
    }
    None
}

/// Byte offset of the first `wanted` outside all brackets and quotes.
pub(super) fn find_outside(text: &str, wanted: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut position = 0;
    while let Some(&byte) = bytes.get(position) {
        position = match byte {
            _ if byte == wanted => return Some(position),
            b'(' | b'[' | b'{' => after_brackets(text, position)?,
            b'"' => position + 2 + closing_quote(text.get(position + 1..)?)?,
            _ => position + 1,
        };
    }
    None
}

/// The parts between commas outside all brackets and quotes, trimmed.
pub(crate) fn split_commas(text: &str) -> impl Iterator<Item = &str> {
    split_at(text, |rest| find_outside(rest, b','))
}

/// The parts between the commas that `comma` finds, trimmed; none of blank text.
pub(crate) fn split_at(
    text: &str,
    comma: impl Fn(&str) -> Option<usize>,
) -> impl Iterator<Item = &str> {
    let mut rest = Some(text).filter(|text| !text.trim().is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let comma = comma(text);
        rest = comma.and_then(|comma| text.get(comma + 1..));
        text.get(..comma.unwrap_or(text.len())).map(str::trim)
    })
}

/// Key that follows a mesh after a comma but belongs to the same attribute:
/// `mesh['x'=2,'y'=4], device_ids=([2,4]) {'x'}`.
const DEVICES_OF_MESH: &str = "device_ids=";

/// The `key=value` attributes in the text after the operands of an instruction.
pub fn split_attributes(text: &str) -> impl Iterator<Item = &str> + use<'_> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let text = rest.trim_start();
        if text.is_empty() {
            return None;
        }
        let mut end = find_outside(text, b',').unwrap_or(text.len());
        if let Some(after) = text
            .get(end + 1..)
            .filter(|after| after.trim_start().starts_with(DEVICES_OF_MESH))
        {
            end += 1 + find_outside(after, b',').unwrap_or(after.len());
        }
        rest = text.get(end + 1..).unwrap_or_default();
        text.get(..end).map(str::trim)
    })
}

/// The value of `key=value` among attributes, as written.
pub fn attribute<'a>(attributes: &'a str, key: &str) -> Option<&'a str> {
    if !attributes.contains(key) {
        return None;
    }
    split_attributes(attributes)
        .find_map(|part| part.split_once('=').filter(|(name, _)| name.trim() == key))
        .map(|(_, value)| value.trim())
}

/// Keys and values of `{a="b c",d=1}` or `{a="b c" d=1}`, without quotes and escapes.
pub fn pairs(braces: &str) -> impl Iterator<Item = (&str, Cow<'_, str>)> {
    let inner = braces.strip_prefix('{').unwrap_or(braces);
    let mut rest = inner.strip_suffix('}').unwrap_or(inner);
    std::iter::from_fn(move || {
        let (key, after) = rest.trim_start_matches([',', ' ']).split_once('=')?;
        let (value, after) = if let Some(quoted) = after.strip_prefix('"') {
            let end = closing_quote(quoted).unwrap_or(quoted.len());
            (
                unescaped(quoted.get(..end)?),
                quoted.get(end + 1..).unwrap_or_default(),
            )
        } else {
            let (value, after) = after.split_at(after.find([',', ' ']).unwrap_or(after.len()));
            (Cow::Borrowed(value), after)
        };
        rest = after;
        Some((key.trim(), value))
    })
}

/// Resolves the escapes of a quoted string. The compiler uses those of C: `\"`, `\\`, `\n`, bytes as three octal
/// digits.
pub fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.bytes().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(first @ b'0'..=b'7') => {
                let mut code = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit) = bytes.next_if(|byte| matches!(byte, b'0'..=b'7')) else {
                        break;
                    };
                    code = code * 8 + u32::from(digit - b'0');
                }
                out.push(u8::try_from(code).unwrap_or(b'?'));
            }
            Some(other) => out.push(other),
            None => out.push(b'\\'),
        }
    }
    Cow::Owned(String::from_utf8_lossy(&out).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scans_brackets_quotes_and_commas() {
        let attributes = r#"kind=kLoop, calls=%f, metadata={op_name="a,\"(b" id=1}, backend_config={"x":"}","n":"12"}"#;
        assert_eq!(attribute(attributes, "calls"), Some("%f"));
        assert_eq!(
            attribute(attributes, "backend_config"),
            Some(r#"{"x":"}","n":"12"}"#)
        );
        assert_eq!(attribute(attributes, "op_name"), None);
        assert_eq!(after_brackets("(a(b)c)d", 0), Some(7));
        assert_eq!(after_brackets("(a(b)", 0), None);
        assert_eq!(split_commas("").count(), 0);
        assert_eq!(
            split_commas("(a, b), c{,}").collect::<Vec<_>>(),
            ["(a, b)", "c{,}"]
        );
        assert_eq!(
            split_commas(r#"x="a\",b", c"#).collect::<Vec<_>>(),
            [r#"x="a\",b""#, "c"]
        );
    }

    #[test]
    fn device_ids_stay_with_their_mesh() {
        let text =
            "replica_groups=mesh['x'=2,'y'=4], device_ids=([2,4]) {'x':(1)2}, dimensions={0}";
        assert_eq!(
            attribute(text, "replica_groups"),
            Some("mesh['x'=2,'y'=4], device_ids=([2,4]) {'x':(1)2}")
        );
        assert_eq!(attribute(text, "dimensions"), Some("{0}"));
        assert_eq!(split_attributes("").count(), 0);
    }

    #[test]
    fn values_are_unescaped() {
        let found: Vec<_> = pairs(r#"{op_name="a \"b\" \\ \303\251" line=7,x="{}"}"#).collect();
        let expected = [("op_name", r#"a "b" \ é"#), ("line", "7"), ("x", "{}")];
        assert_eq!(
            found,
            expected.map(|(key, value)| (key, Cow::Borrowed(value)))
        );
        assert_eq!(
            pairs(r#"{op_name="cut \"#)
                .map(|(_, value)| value)
                .collect::<Vec<_>>(),
            ["cut \\"]
        );
        assert_eq!(unescaped("\\777\\"), "?\\");
    }
}
