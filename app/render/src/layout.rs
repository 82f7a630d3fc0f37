//! Text in lines of a terminal.

use std::fmt::Write as _;

use analysis::{beginning, is_printable};
use unicode_width::UnicodeWidthStr as _;

use crate::AnsiStyle;

/// Minimum width of wrapped lines.
const MIN_LINE: usize = 8;

/// Limits and style of the output.
#[derive(Clone, Copy, Debug)]
pub struct TextLayout {
    /// Columns of the terminal.
    pub width: usize,
    /// Rows of each table; 0 for all.
    pub top: usize,
    /// Entries of each list of JSON; 0 for all.
    pub entries: usize,
    pub style: AnsiStyle,
}

impl TextLayout {
    /// A text in lines of the terminal, each coloured and indented by `indent` spaces.
    pub fn lines(&self, indent: usize, text: &str, paint: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        for line in wrapped(text, self.width.saturating_sub(indent)) {
            let _ = writeln!(out, "{:indent$}{}", "", paint(&line));
        }
        out
    }

    /// The same as it is.
    pub fn plain_lines(&self, indent: usize, text: &str) -> String {
        self.lines(indent, text, str::to_owned)
    }

    /// The same for what is less important.
    pub fn dim_lines(&self, indent: usize, text: &str) -> String {
        self.lines(indent, text, |line| self.style.dim(line))
    }

    /// A line above others.
    pub fn heading(&self, text: &str) -> String {
        format!("{}\n", self.style.bold(text))
    }

    /// A text after a head of `indent` columns; further lines are indented below it.
    pub fn beside(&self, head: &str, indent: usize, text: &str) -> String {
        self.plain_lines(indent, text)
            .get(indent..)
            .map_or_else(String::new, |lines| format!("{head}{lines}"))
    }
}

/// The text padded to `width` terminal columns.
pub fn padded(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(text.width())))
}

/// The text in lines of at most `width` columns, broken at spaces, without what is not printable, because names come
/// from files. A longer word is broken too.
pub fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    let is_between = |c: char| c.is_whitespace() || !is_printable(c);
    for mut word in text.split(is_between).filter(|word| !word.is_empty()) {
        match lines.last_mut() {
            Some(line) if line.width() + 1 + word.width() <= width => {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            _ => {}
        }
        while word.width() > width.max(MIN_LINE) {
            let (first, rest) = word.split_at(break_of(word, width.max(MIN_LINE)));
            lines.push(first.to_owned());
            word = rest;
        }
        lines.push(word.to_owned());
    }
    lines
}

/// Where to break a word that is wider than a line: after punctuation in its second half, if there is some.
fn break_of(word: &str, width: usize) -> usize {
    let all = beginning(word, width);
    let sign = all
        .rfind(['/', '-', '_', '.', ',', '=', ':'])
        .map(|at| at + 1);
    sign.filter(|&at| at > all.len() / 2)
        .unwrap_or(all.len())
        .max(word.chars().next().map_or(1, char::len_utf8))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_wider_than_a_line_are_broken() {
        assert_eq!(
            wrapped("a --xla_tpu_enable_async_collective_fusion=true", 20),
            ["a", "--xla_tpu_enable_", "async_collective_", "fusion=true"]
        );
        assert_eq!(
            wrapped(&"x".repeat(20), 8),
            ["xxxxxxxx", "xxxxxxxx", "xxxx"]
        );
    }

    #[test]
    fn words_wrap() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert!(wrapped("", 10).is_empty());
        assert_eq!(wrapped("a\u{1b}[31mb\u{9b}2J\u{7}", 20), ["a [31mb 2J"]);
        assert_eq!(wrapped("a\u{202e}b", 20), ["a b"]);
    }
}
