//! Names as they can be shown: shortened, and without characters that are no text.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Whether a character of a text from a file may be shown. Control characters give orders to a terminal; marks of
/// direction turn the text around them, so that a name or a number looks like another one.
pub fn is_printable(c: char) -> bool {
    !c.is_control() && !turns_text(c)
}

/// Whether a character sets the direction of the text around it: the marks, embeddings, overrides and isolates of the
/// Unicode Bidirectional Algorithm.
pub fn turns_text(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A text from a file on one line: a space for each character that is not [printable](is_printable).
pub fn printable(text: &str) -> String {
    text.replace(|c| !is_printable(c), " ")
}

/// A name shortened to at most `width` terminal columns. Names of ops differ at both ends, so the middle is cut.
pub fn shortened(text: &str, width: usize) -> String {
    let text = printable(text);
    if text.width() <= width {
        return text;
    }
    if width < 3 {
        return beginning(&text, width.max(1)).to_owned();
    }
    let tail = (width - 1) / 3;
    let head = beginning(&text, width - 1 - tail);
    // Letters from the end, as long as they fit.
    let mut begin = text.len();
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.width().unwrap_or(0);
        if used > tail {
            break;
        }
        begin = at;
    }
    format!("{head}…{}", &text[begin..])
}

/// The first letters that fit `width` columns.
pub fn beginning(text: &str, width: usize) -> &str {
    let mut used = 0;
    let fits = |&(_, c): &(usize, char)| {
        used += c.width().unwrap_or(0);
        used <= width
    };
    let end = text
        .char_indices()
        .take_while(fits)
        .last()
        .map_or(0, |(at, c)| at + c.len_utf8());
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_direction_are_no_text() {
        let marks = "\u{61c}\u{200e}\u{200f}\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}";
        assert_eq!(printable(marks), " ".repeat(12));
        assert_eq!(printable("a\u{202e}b\u{1b}[31mc\nd"), "a b [31mc d");
        assert_eq!(shortened("dot\u{202e}noisuf", 20), "dot noisuf");
        // Letters that are written from right to left, and joiners, are text.
        assert_eq!(printable("שלום e\u{301}\u{200d}"), "שלום e\u{301}\u{200d}");
    }
}
