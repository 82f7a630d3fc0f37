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

/// Lines that fit a screen below a header.
const SCREEN: usize = 26;

impl TextLayout {
    /// The first `least` parts, those after them that fit a screen, and the names of the others; all parts if all rows are
    /// wanted.
    pub fn screen(&self, parts: &[(String, String)], least: usize) -> String {
        let (mut lines, mut left) = (0, Vec::new());
        let mut out = Vec::new();
        for (index, (name, text)) in parts.iter().enumerate() {
            lines += text.lines().count() + 1;
            let fits = left.is_empty() && lines <= SCREEN;
            if self.top == 0 || index < least || fits {
                out.push(text.trim_end().to_owned() + "\n");
            } else if !left.contains(name) {
                left.push(name.clone());
            }
        }
        if !left.is_empty() {
            let names = left.join("; ");
            out.push(self.dim_lines(0, &format!("Not shown: {names}. All of it: --top 0.")));
        }
        out.join("\n")
    }

    /// A text in lines of the terminal, each coloured and indented by `indent` spaces.
    pub fn lines(&self, indent: usize, text: &str, paint: impl Fn(&str) -> String) -> String {
        let mut out = String::new();
        for line in wrapped(text, self.width.saturating_sub(indent)) {
            let _ = writeln!(out, "{:indent$}{}", "", paint(&line));
        }
        out
    }

    /// A text, wrapped and indented.
    pub fn plain_lines(&self, indent: usize, text: &str) -> String {
        self.lines(indent, text, str::to_owned)
    }

    /// A text that is more important, wrapped and indented.
    pub fn bold_lines(&self, indent: usize, text: &str) -> String {
        self.lines(indent, text, |line| self.style.bold(line))
    }

    /// A text that is less important, wrapped and indented.
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
        .map(|end| end + 1);
    sign.filter(|&end| end > all.len() / 2)
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
    fn parts_beyond_a_screen_are_named() {
        let part = |name: &str, lines: usize| (name.to_owned(), "line\n".repeat(lines));
        let parts = [part("a", 20), part("b", 20), part("c", 1)];
        let layout = |top| TextLayout {
            width: 80,
            top,
            entries: 0,
            style: AnsiStyle::PLAIN,
        };
        let screen = layout(10).screen(&parts, 1);
        assert!(
            screen.ends_with("\n\nNot shown: b; c. All of it: --top 0.\n"),
            "{screen}"
        );
        assert_eq!(screen.matches("line").count(), 20);
        assert_eq!(layout(10).screen(&parts, 2).matches("line").count(), 40);
        assert_eq!(layout(0).screen(&parts, 1).matches("line").count(), 41);
    }

    #[test]
    fn words_wrap() {
        assert_eq!(wrapped("one two  three", 7), ["one two", "three"]);
        assert!(wrapped("", 10).is_empty());
        assert_eq!(wrapped("a\u{1b}[31mb\u{9b}2J\u{7}", 20), ["a [31mb 2J"]);
        assert_eq!(wrapped("a\u{202e}b", 20), ["a b"]);
    }
}
