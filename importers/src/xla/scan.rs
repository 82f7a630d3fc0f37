//! Finding ends of brackets in HLO text.

/// Byte offset after the bracket that closes the one at `at`; `None` in a text that
/// was cut inside. Quoted text hides brackets, a backslash hides a quote.
pub(super) fn after_brackets(text: &str, at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    let mut bytes = text.bytes().enumerate().skip(at);
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
                depth = depth.checked_sub(1)?;
                if depth == 0 {
                    return Some(i + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Byte offset of the first `wanted` outside of all brackets and quotes.
fn find_outside(text: &str, wanted: u8) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            _ if byte == wanted => return Some(at),
            b'(' | b'[' | b'{' => after_brackets(text, at)?,
            b'"' => at + 2 + text.get(at + 1..)?.find('"')?,
            _ => at + 1,
        };
    }
    None
}

/// The parts of a text between commas outside of all brackets and quotes, trimmed.
pub(super) fn split_commas(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(text).filter(|text| !text.trim().is_empty());
    std::iter::from_fn(move || {
        let text = rest?;
        let comma = find_outside(text, b',');
        rest = comma.and_then(|at| text.get(at + 1..));
        text.get(..comma.unwrap_or(text.len())).map(str::trim)
    })
}

/// The value of `key=value` among attributes.
pub(super) fn attribute<'a>(attributes: &'a str, key: &str) -> Option<&'a str> {
    split_commas(attributes).find_map(|part| part.split_once('=').filter(|(name, _)| *name == key)).map(|(_, v)| v)
}

/// The number behind `"key":"…` or `"key":…` of JSON text.
pub(super) fn json_number(json: &str, key: &str) -> Option<u64> {
    let quoted = format!("\"{key}\":");
    let value = json.get(json.find(&quoted)? + quoted.len()..)?.trim_start_matches([' ', '"']);
    let end = value.find(|c: char| !c.is_ascii_digit()).unwrap_or(value.len());
    value.get(..end)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn brackets_quotes_and_commas() {
        let attributes = r#"kind=kLoop, calls=%f, metadata={op_name="a,\"(b" id=1}, backend_config={"x":"}","n":"12"}"#;
        assert_eq!(attribute(attributes, "calls"), Some("%f"));
        assert_eq!(attribute(attributes, "backend_config"), Some(r#"{"x":"}","n":"12"}"#));
        assert_eq!(attribute(attributes, "op_name"), None);
        assert_eq!(json_number(attributes, "n"), Some(12));
        assert_eq!(json_number(attributes, "m"), None);
        assert_eq!(after_brackets("(a(b)c)d", 0), Some(7));
        assert_eq!(after_brackets("(a(b)", 0), None);
        assert_eq!(split_commas("").count(), 0);
        assert_eq!(split_commas("(a, b), c{,}").collect::<Vec<_>>(), ["(a, b)", "c{,}"]);
    }
}
