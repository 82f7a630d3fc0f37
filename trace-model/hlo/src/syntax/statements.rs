//! The statements of HLO text: lines without comments. A line that ends in a comma or inside brackets or quotes
//! continues on the next one.

/// A statement.
#[derive(Clone, Copy)]
pub(crate) struct Statement<'a> {
    /// The number of its first line, from 1.
    pub line: usize,
    /// Its text, trimmed; never empty.
    pub text: &'a str,
    /// Whether the text ends in it, without a line break.
    pub is_last: bool,
}

/// Splits a text.
pub(crate) struct Statements<'a> {
    rest: &'a str,
    line: usize,
    /// No comment ends after this point.
    is_comment_open: bool,
}

impl<'a> Statements<'a> {
    pub fn of(text: &'a str) -> Self {
        Self {
            rest: text,
            line: 1,
            is_comment_open: false,
        }
    }

    /// Takes some bytes and counts their lines.
    fn take(&mut self, len: usize) -> &'a str {
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or((self.rest, ""));
        self.line += taken.bytes().filter(|&byte| byte == b'\n').count();
        self.rest = rest;
        taken
    }
}

impl<'a> Iterator for Statements<'a> {
    type Item = Statement<'a>;

    fn next(&mut self) -> Option<Statement<'a>> {
        loop {
            let indent = self.rest.len() - self.rest.trim_start().len();
            self.take(indent);
            if self.rest.starts_with("/*") && !self.is_comment_open {
                match self.rest.find("*/") {
                    Some(end) => {
                        self.take(end + 2);
                        continue;
                    }
                    None => self.is_comment_open = true,
                }
            }
            let first = self.rest.split_inclusive('\n').next()?;
            if first.starts_with("//") {
                self.take(first.len());
                continue;
            }
            let line = self.line;
            let len = if is_open(first) {
                end_of(self.rest).unwrap_or(first.len())
            } else {
                first.len()
            };
            let text = self.take(len);
            let is_last = self.rest.is_empty() && !text.ends_with('\n');
            return Some(Statement {
                line,
                text: without_trailing_comment(text).trim_end(),
                is_last,
            });
        }
    }
}

/// Whether a line may continue on the next one. The head of a computation, which ends in a brace, does not.
fn is_open(line: &str) -> bool {
    let line = line.trim_end();
    match line.as_bytes().last() {
        Some(b'{') => computation_head(line).is_none(),
        Some(b',' | b'(' | b'[' | b'=') => true,
        _ => false,
    }
}

/// Name of the computation whose head a line is, without `%`, and whether it is the entry computation:
/// `ENTRY %main (a: f32[8]) -> f32[8] {` or `main {`. Rows of tables begin with a number.
pub(crate) fn computation_head(line: &str) -> Option<(&str, bool)> {
    let head = line.strip_suffix('{')?;
    let entry = head.strip_prefix("ENTRY ");
    let head = super::without_comment(entry.unwrap_or(head).trim_start()).trim_start_matches('%');
    let (name, rest) = head.split_at(head.find([' ', '(']).unwrap_or(head.len()));
    let rest = rest.trim();
    let is_name = name.starts_with(|first: char| !first.is_ascii_digit());
    let is_head = is_name && (rest.is_empty() || rest.starts_with('(') && rest.contains("->"));
    is_head.then_some((name, entry.is_some()))
}

/// Whether a line begins like an instruction: `ROOT %name = `.
fn begins_instruction(line: &str) -> bool {
    let line = line.trim_start();
    let name = line
        .strip_prefix("ROOT ")
        .unwrap_or(line)
        .trim_start_matches('%');
    let is_name = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let end = name
        .bytes()
        .position(|byte| !is_name(byte))
        .unwrap_or(name.len());
    end > 0 && name.get(end..).is_some_and(|rest| rest.starts_with(" = "))
}

/// Where the statement at the start of `text` ends: after the first line that closes all brackets and quotes and does
/// not end in a comma or equals sign. `None` if another instruction begins, or the text ends, before that: then it is
/// damaged. A computation that is written where it is called, between lines with its braces, has instructions inside.
fn end_of(text: &str) -> Option<usize> {
    let (mut position, mut depth, mut is_quoted) = (0, 0_usize, false);
    // The depth inside each open computation.
    let mut bodies: Vec<usize> = Vec::new();
    for line in text.split_inclusive('\n') {
        if position > 0 && !is_quoted && begins_instruction(line) && bodies.last() != Some(&depth) {
            return None;
        }
        if position > 0 && !is_quoted && line.trim() == "{" {
            bodies.push(depth + 1);
        }
        let mut bytes = line.bytes();
        while let Some(byte) = bytes.next() {
            match byte {
                b'\\' if is_quoted => {
                    bytes.next();
                }
                b'"' => is_quoted = !is_quoted,
                b'(' | b'[' | b'{' if !is_quoted => depth += 1,
                b')' | b']' | b'}' if !is_quoted => depth = depth.saturating_sub(1),
                _ => {}
            }
        }
        bodies.retain(|&body| body <= depth);
        position += line.len();
        if depth == 0 && !is_quoted && !line.trim_end().ends_with([',', '=']) {
            return Some(position);
        }
    }
    None
}

/// A statement without `// comment` at its end.
fn without_trailing_comment(text: &str) -> &str {
    if !text.contains("//") {
        return text;
    }
    let (mut is_quoted, mut is_escaped) = (false, false);
    for (position, byte) in text.bytes().enumerate() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' if is_quoted => is_escaped = true,
            b'"' => is_quoted = !is_quoted,
            b'/' if !is_quoted
                && text
                    .get(position..)
                    .is_some_and(|rest| rest.starts_with("//")) =>
            {
                return text.get(..position).unwrap_or(text);
            }
            _ => {}
        }
    }
    text
}
