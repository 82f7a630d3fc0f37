//! Brackets, statements and functions of MLIR text. Whatever is cut ends where the text does.

use std::collections::HashMap;

use crate::syntax::split_at;

/// A function.
#[derive(Clone, Copy)]
pub(super) struct Function<'a> {
    pub arguments: &'a str,
    pub body: &'a str,
    /// The text ends inside of it.
    pub is_cut: bool,
}

/// Byte offset after the bracket that closes the one at `open`, or the end of the text.
pub(super) fn closing(text: &str, open: usize) -> (usize, bool) {
    let bytes = text.as_bytes();
    let (mut depth, mut quoted, mut place) = (0_usize, false, open);
    while let Some(&byte) = bytes.get(place) {
        match byte {
            b'\\' if quoted => place += 1,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return (place + 1, true);
                }
            }
            _ => {}
        }
        place += 1;
    }
    (text.len(), false)
}

/// What is between the brackets that open at `open`, and the offset after them.
pub(super) fn inside(text: &str, open: usize) -> (&str, usize, bool) {
    let (end, is_closed) = closing(text, open);
    let last = if is_closed { end - 1 } else { end };
    (text.get(open + 1..last).unwrap_or_default(), end, is_closed)
}

/// What is inside the round brackets at the end of a text.
pub(super) fn last_group(text: &str) -> Option<&str> {
    let text = text.trim_end();
    let mut position = 0;
    while let Some(open) = text.get(position..)?.find(['(', '[', '{', '"']) {
        let open = position + open;
        let end = if text.as_bytes().get(open) == Some(&b'"') {
            open + 2 + text.get(open + 1..)?.find('"')?
        } else {
            closing(text, open).0
        };
        if end == text.len() {
            let inner = text.get(open + 1..end - 1)?;
            return Some(inner).filter(|_| text.as_bytes().get(open) == Some(&b'('));
        }
        position = end;
    }
    None
}

/// All functions by name, the first of each.
pub(super) fn functions(text: &str) -> HashMap<&str, Function<'_>> {
    let mut out = HashMap::new();
    let mut rest = text;
    while let Some((name, function, end)) = next_function(rest) {
        out.entry(name).or_insert(function);
        rest = rest.get(end..).unwrap_or_default();
    }
    out
}

/// The name of the first function.
pub(super) fn first_function(text: &str) -> Option<&str> {
    next_function(text).map(|(name, _, _)| name)
}

fn next_function(text: &str) -> Option<(&str, Function<'_>, usize)> {
    let start = text.find("func.func ")?;
    let name_at = start + text.get(start..)?.find('@')? + 1;
    let open = name_at + text.get(name_at..)?.find('(')?;
    let name = text.get(name_at..open)?.trim_matches('"');
    let (arguments, after, _) = inside(text, open);
    // Results, which have attributes in braces, and attributes of the function come before the body.
    let mut position = after;
    loop {
        let brace = position + text.get(position..)?.find(['(', '{'])?;
        let is_body = text
            .get(brace + 1..)
            .is_some_and(|rest| rest.trim_start_matches([' ', '\r']).starts_with('\n'));
        if text.as_bytes().get(brace) == Some(&b'{') && is_body {
            let (body, end, is_closed) = inside(text, brace);
            let function = Function {
                arguments,
                body,
                is_cut: !is_closed,
            };
            return Some((name, function, end));
        }
        position = closing(text, brace).0;
    }
}

/// The parts between commas outside all brackets and quotes.
pub(super) fn split(text: &str) -> impl Iterator<Item = &str> {
    split_at(text, |rest| outside(rest, |rest| rest.starts_with(',')))
}

/// Byte offset of the first place outside all brackets and quotes that fits.
pub(super) fn outside(text: &str, fits: impl Fn(&str) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut position, mut quoted) = (0, false);
    while let Some(&byte) = bytes.get(position) {
        match byte {
            b'\\' if quoted => position += 1,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' => {
                position = closing(text, position).0;
                continue;
            }
            _ if text.get(position..).is_some_and(&fits) => return Some(position),
            _ => {}
        }
        position += 1;
    }
    None
}

/// The statements of a block: lines outside all brackets, and the regions of a loop, which begin on lines of their own.
pub(super) fn statements(body: &str) -> Vec<&str> {
    let mut out: Vec<&str> = Vec::new();
    let mut position = 0;
    while let Some(rest) = body.get(position..).filter(|rest| !rest.is_empty()) {
        let mut end = outside(rest, |it| it.starts_with('\n')).unwrap_or(rest.len());
        loop {
            let after = rest.get(end..).unwrap_or_default();
            let next = after.trim_start();
            if !["cond {", "do {"].iter().any(|word| next.starts_with(word)) {
                break;
            }
            let skipped = after.len() - next.len();
            end += skipped + outside(next, |it| it.starts_with('\n')).unwrap_or(next.len());
        }
        out.extend(rest.get(..end).map(str::trim).filter(|it| !it.is_empty()));
        position += end + 1;
    }
    out
}

/// The location at the end of a statement or argument: what is inside `loc(…)`.
pub(super) fn location(text: &str) -> Option<&str> {
    let start = text.rfind("loc(")?;
    // A location may be inside another one.
    let start = text.get(..start)?.rfind(" loc(").map_or(start, |outer| {
        let (end, _) = closing(text, outer + 4);
        if end > start { outer + 1 } else { start }
    });
    Some(inside(text, start + 3).0)
}

/// The number that follows a text.
pub(super) fn number_after(text: &str, key: &str) -> Option<u64> {
    let rest = text.get(text.find(key)? + key.len()..)?;
    let end = rest.find(|c: char| !c.is_ascii_digit());
    rest.get(..end.unwrap_or(rest.len()))?.parse().ok()
}
