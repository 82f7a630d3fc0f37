//! Reads the one-line text of an HLO instruction: in exported JSON it is all that
//! is known of an op.
//!
//! ```text
//! %name = <shape> opcode(<shape> %operand, …), attribute=value, …
//! ```
//!
//! The text comes from a file and may be cut anywhere: every function answers
//! `None`, or what could be read, and never panics.

/// Byte offset after the balanced brackets that begin at `at`, or the end of a
/// text that was cut inside.
fn after_brackets(text: &str, at: usize) -> usize {
    let mut depth = 0usize;
    let mut quoted = false;
    for (i, byte) in text.bytes().enumerate().skip(at) {
        match byte {
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return i + 1;
                }
            }
            _ => {}
        }
    }
    text.len()
}

/// Byte offset of the first byte at or after `at`, outside all brackets and
/// quotes, for which `wanted` holds.
fn find_outside(text: &str, at: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = at;
    while let Some(&byte) = bytes.get(at) {
        if wanted(byte) {
            return Some(at);
        }
        at = match byte {
            b'(' | b'[' | b'{' => after_brackets(text, at),
            b'"' => text.get(at + 1..)?.find('"').map_or(text.len(), |end| at + end + 2),
            _ => at + 1,
        };
    }
    None
}

/// The parts of an instruction's text, still as text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HloText<'a> {
    /// Name of the instruction, without `%`.
    pub name: &'a str,
    /// The result's shape.
    pub shape: &'a str,
    /// `fusion`, `all-reduce-start`, `copy-done` …
    pub opcode: &'a str,
    /// What is between the parentheses after the opcode.
    pub operands: &'a str,
    /// What follows them: `kind=kLoop, calls=%fused_computation`.
    pub attributes: &'a str,
}

impl<'a> HloText<'a> {
    /// Splits `%name = shape opcode(operands), attributes`; `None` for any text
    /// that has no such form at its beginning.
    pub fn parse(text: &'a str) -> Option<Self> {
        let (name, rest) = text.split_once(" = ")?;
        let name = name.trim().trim_start_matches("ROOT ").trim_start_matches('%');
        let rest = rest.trim_start();
        let shape_end = find_outside(rest, 0, |byte| byte == b' ')?;
        let shape = rest.get(..shape_end)?;
        let rest = rest.get(shape_end..)?.trim_start();
        let open = rest.find('(')?;
        let opcode = rest.get(..open)?;
        let is_opcode = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if opcode.is_empty() || !opcode.bytes().all(is_opcode) {
            return None;
        }
        let close = after_brackets(rest, open);
        let inside = rest.get(open + 1..close)?;
        Some(Self {
            name,
            shape,
            opcode,
            operands: inside.strip_suffix(')').unwrap_or(inside),
            attributes: rest.get(close..)?.trim_start_matches([',', ' ']),
        })
    }

    /// The value of an attribute, as written.
    pub fn attribute(&self, name: &str) -> Option<&'a str> {
        let mut rest = self.attributes;
        loop {
            let end = find_outside(rest, 0, |byte| byte == b',').unwrap_or(rest.len());
            let (key, value) = rest.get(..end)?.split_once('=').unwrap_or_default();
            if key.trim() == name {
                return Some(value.trim());
            }
            rest = rest.get(end + 1..)?;
        }
    }
}
