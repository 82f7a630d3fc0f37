//! Protocol buffers as text: `name: value`, `name { … }`, comments after `#`.

use std::borrow::Cow;

/// One message: its fields in file order.
#[derive(Debug, Default)]
pub(super) struct TextProtoMessage<'a> {
    pub fields: Vec<(&'a str, TextProtoValue<'a>)>,
    /// Line and byte of its start.
    pub line: usize,
    pub offset: usize,
}

#[derive(Debug)]
pub(super) enum TextProtoValue<'a> {
    /// A number, a word, or a quoted text.
    Scalar(&'a str),
    Message(TextProtoMessage<'a>),
}

/// Why a text is not a message.
#[derive(Debug)]
pub(super) struct TextProtoDamage {
    pub offset: usize,
    pub line: usize,
    pub what: String,
}

/// The result of parsing, up to any truncation.
pub(super) struct ParsedTextProto<'a> {
    pub root: TextProtoMessage<'a>,
    /// Unclosed fields at the end of the text, outermost first.
    pub cut_in: Vec<&'a str>,
}

/// Maximum nesting; real schedules have about ten levels.
const MAX_DEPTH: usize = 64;

impl<'a> TextProtoMessage<'a> {
    /// Parses a text. If it is truncated, the complete fields are kept.
    pub fn parse(text: &'a str) -> Result<ParsedTextProto<'a>, TextProtoDamage> {
        let mut reader = TextProtoReader {
            text,
            at: 0,
            line: 1,
        };
        let mut open: Vec<(&'a str, TextProtoMessage<'a>)> = vec![(
            "",
            TextProtoMessage {
                line: 1,
                ..TextProtoMessage::default()
            },
        )];
        while let Some(byte) = reader.next_byte() {
            let damage = |reader: &TextProtoReader<'_>, what: String| TextProtoDamage {
                offset: reader.at,
                line: reader.line,
                what,
            };
            if matches!(byte, b'}' | b'>') {
                reader.at += 1;
                let closed = open.pop();
                let (Some((name, message)), Some((_, outer))) = (closed, open.last_mut()) else {
                    return Err(damage(&reader, "an unmatched }".to_owned()));
                };
                outer.fields.push((name, TextProtoValue::Message(message)));
                continue;
            }
            let name = reader.word();
            if name.is_empty() {
                return Err(damage(
                    &reader,
                    format!("expected a field name, found {:?}", char::from(byte)),
                ));
            }
            let colon = reader.next_byte() == Some(b':');
            if colon {
                reader.at += 1;
            }
            match reader.next_byte() {
                Some(b'{' | b'<') => {
                    reader.at += 1;
                    if open.len() > MAX_DEPTH {
                        return Err(damage(
                            &reader,
                            format!("more than {MAX_DEPTH} levels of nesting"),
                        ));
                    }
                    open.push((
                        name,
                        TextProtoMessage {
                            line: reader.line,
                            offset: reader.at,
                            ..TextProtoMessage::default()
                        },
                    ));
                }
                Some(_) if colon => {
                    let Some(value) = reader.scalar() else { break };
                    if value.is_empty() {
                        return Err(damage(&reader, format!("{name} has no value")));
                    }
                    if let Some((_, message)) = open.last_mut() {
                        message.fields.push((name, TextProtoValue::Scalar(value)));
                    }
                }
                Some(_) => return Err(damage(&reader, format!("neither : nor {{ after {name}"))),
                None => break,
            }
        }
        Ok(close(open))
    }

    /// The messages of a field.
    pub fn all(&self, name: &str) -> impl Iterator<Item = &TextProtoMessage<'a>> {
        self.fields
            .iter()
            .filter_map(move |(field, value)| match value {
                TextProtoValue::Message(message) if *field == name => Some(message),
                _ => None,
            })
    }

    /// The first message of a field.
    pub fn message(&self, name: &str) -> Option<&TextProtoMessage<'a>> {
        self.all(name).next()
    }

    /// The scalars of a field as written.
    pub fn scalars(&self, name: &str) -> impl Iterator<Item = &'a str> {
        self.fields
            .iter()
            .filter_map(move |(field, value)| match value {
                TextProtoValue::Scalar(scalar) if *field == name => Some(*scalar),
                _ => None,
            })
    }

    /// All scalars, with the names of their fields.
    pub fn every_scalar(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.fields.iter().filter_map(|(field, value)| match value {
            TextProtoValue::Scalar(scalar) => Some((*field, *scalar)),
            TextProtoValue::Message(_) => None,
        })
    }

    /// The first value of a field as a number; `None` if it is absent.
    pub fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.scalars(name).next()?.parse().ok()
    }

    /// The numbers of a repeated field; other values are skipped.
    pub fn numbers(&self, name: &str) -> Vec<u64> {
        self.scalars(name)
            .filter_map(|value| value.parse().ok())
            .collect()
    }

    /// The first value of a field as text, without quotes; empty if it is absent.
    pub fn text(&self, name: &str) -> Cow<'a, str> {
        unquoted(self.scalars(name).next().unwrap_or_default())
    }
}

/// Closes all open messages.
fn close<'a>(mut open: Vec<(&'a str, TextProtoMessage<'a>)>) -> ParsedTextProto<'a> {
    let cut_in = open.iter().skip(1).map(|(name, _)| *name).collect();
    while let Some((name, message)) = open.pop() {
        match open.last_mut() {
            Some((_, outer)) => outer.fields.push((name, TextProtoValue::Message(message))),
            None => {
                return ParsedTextProto {
                    root: message,
                    cut_in,
                };
            }
        }
    }
    ParsedTextProto {
        root: TextProtoMessage::default(),
        cut_in,
    }
}

/// Removes quotes and resolves escapes; bytes above 127 become characters.
pub(super) fn unquoted(text: &str) -> Cow<'_, str> {
    let inner = text
        .strip_prefix(['"', '\''])
        .and_then(|text| text.strip_suffix(['"', '\'']))
        .unwrap_or(text);
    if !inner.contains('\\') {
        return Cow::Borrowed(inner);
    }
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => out.push('\n'),
            Some('t') => out.push('\t'),
            Some('r') => out.push('\r'),
            Some(digit @ '0'..='7') => {
                let mut code = u32::from(digit) - u32::from('0');
                while let Some(more) = chars
                    .peek()
                    .and_then(|c| c.to_digit(8))
                    .filter(|_| code < 32)
                {
                    code = code * 8 + more;
                    chars.next();
                }
                out.extend(char::from_u32(code));
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    Cow::Owned(out)
}

struct TextProtoReader<'a> {
    text: &'a str,
    at: usize,
    line: usize,
}

impl<'a> TextProtoReader<'a> {
    /// The next byte that is not a space, separator or comment.
    fn next_byte(&mut self) -> Option<u8> {
        while let Some(&byte) = self.text.as_bytes().get(self.at) {
            match byte {
                b'\n' => self.line += 1,
                b' ' | b'\t' | b'\r' | b',' | b';' => {}
                b'#' => {
                    self.at = self.text[self.at..]
                        .find('\n')
                        .map_or(self.text.len(), |end| self.at + end);
                    continue;
                }
                _ => return Some(byte),
            }
            self.at += 1;
        }
        None
    }

    /// A name; may be empty.
    fn word(&mut self) -> &'a str {
        self.take(|c: char| {
            c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '+' | '[' | ']' | '/')
        })
    }

    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = &self.text[self.at..];
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// A value; `None` if the text ends inside it.
    fn scalar(&mut self) -> Option<&'a str> {
        let quote = self
            .text
            .as_bytes()
            .get(self.at)
            .copied()
            .filter(|byte| matches!(byte, b'"' | b'\''));
        let Some(quote) = quote else {
            let word = self.word();
            return (self.at < self.text.len() || word.is_empty()).then_some(word);
        };
        let from = self.at;
        let mut bytes = self.text.bytes().enumerate().skip(from + 1);
        while let Some((index, byte)) = bytes.next() {
            match byte {
                b'\\' => {
                    bytes.next();
                }
                b'\n' => self.line += 1,
                _ if byte == quote => {
                    self.at = index + 1;
                    return self.text.get(from..self.at);
                }
                _ => {}
            }
        }
        self.at = self.text.len();
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_field_form() {
        let text = "# a comment\nname: \"a\\\"b\\n\\303\" id: 7, id: -8\nshape { dims: 4 dims: 5 inner: <x: 1.5e3> }\nkind: BF16\n";
        let ParsedTextProto { root, cut_in } = TextProtoMessage::parse(text).unwrap();
        assert!(cut_in.is_empty());
        assert_eq!(root.text("name"), "a\"b\n\u{c3}");
        assert_eq!(
            (root.number::<i64>("id"), root.number::<u64>("none")),
            (Some(7), None)
        );
        assert_eq!(root.scalars("id").collect::<Vec<_>>(), ["7", "-8"]);
        let shape = root.message("shape").unwrap();
        assert_eq!((shape.numbers("dims"), shape.line), (vec![4, 5], 3));
        assert_eq!(
            shape.message("inner").unwrap().number::<f64>("x"),
            Some(1500.0)
        );
        assert_eq!(root.text("kind"), "BF16");
    }

    #[test]
    fn truncated_text_keeps_complete_fields() {
        let text = "a {\n  b {\n    c: 12\n    d: \"text\"\n  }\n}\n";
        for cut in 0..text.len() - 2 {
            let parsed = TextProtoMessage::parse(&text[..cut]).map(|parsed| parsed.cut_in);
            assert_eq!(parsed.unwrap().is_empty(), cut < 3, "cut at {cut}");
        }
        assert_eq!(
            TextProtoMessage::parse("a { b {").unwrap().cut_in,
            ["a", "b"]
        );
        // A number at the very end may have lost digits.
        assert_eq!(
            TextProtoMessage::parse("a: 1")
                .unwrap()
                .root
                .number::<u64>("a"),
            None
        );
    }

    #[test]
    fn errors_name_the_line() {
        let damage = |text: &str| TextProtoMessage::parse(text).map(|_| ()).unwrap_err();
        assert_eq!(
            (damage("a: 1\n}\n").line, damage("a: 1\n}\n").what.as_str()),
            (2, "an unmatched }")
        );
        assert_eq!(damage("\n\na 1\n").line, 3);
        assert!(damage("a: *\n").what.contains("a has no value"));
        assert!(damage("*").what.contains("a field name"));
        assert!(
            damage(&"a {".repeat(100_000))
                .what
                .contains("levels of nesting")
        );
    }
}
