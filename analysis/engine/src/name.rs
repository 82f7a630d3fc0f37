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
    format!("{head}…{}", ending(&text, tail))
}

/// A path shortened to at most `width` terminal columns. What tells paths apart is at their end.
pub fn shortened_path(text: &str, width: usize) -> String {
    let text = printable(text);
    if text.width() <= width {
        return text;
    }
    format!("…{}", ending(&text, width.saturating_sub(1)))
}

/// Names without the beginning that all of them share, as far as a word of it goes: `…overlap.xplane.pb`. Of paths whole
/// folders are left out, and those that all of them end with, too: `…2027_01_31`. Equal names stay whole.
pub fn distinct(names: &[&str]) -> Vec<String> {
    /// A shorter beginning is no trouble.
    const LEAST: usize = 8;
    let whole = || names.iter().map(|name| printable(name)).collect();
    let Some((first, others)) = names.split_first() else {
        return Vec::new();
    };
    if others.iter().all(|other| other == first) {
        return whole();
    }
    let are_paths = names.iter().all(|name| name.contains(['/', '\\']));
    let is_end = |c: char| match c {
        '/' | '\\' => true,
        _ => !are_paths && ['_', '-', '.', ' '].contains(&c),
    };
    let shared = first.char_indices().filter(|&(_, c)| is_end(c));
    let after = |(index, c): (usize, char)| index + c.len_utf8();
    let begins = |&cut: &usize| others.iter().all(|other| other.starts_with(&first[..cut]));
    let cut = shared.clone().map(after).take_while(begins).last();
    let cut = cut.filter(|&cut| cut >= LEAST).unwrap_or(0);
    let ends = |&index: &usize| {
        others
            .iter()
            .all(|other| other[cut..].ends_with(&first[index..]))
    };
    let end = shared.rev().map(|(index, _)| index).take_while(ends).last();
    let end = end.filter(|&index| are_paths && index > cut && first.len() - index >= LEAST);
    let tail = end.map_or(0, |index| first.len() - index);
    let before = if cut > 0 { "…" } else { "" };
    let unshared = |name: &&str| printable(&name[cut..name.len() - tail]);
    names
        .iter()
        .map(|name| format!("{before}{}", unshared(name)))
        .collect()
}

/// Whether a letter after those before it fits `width` columns.
fn fits(width: usize) -> impl FnMut(&(usize, char)) -> bool {
    let mut used = 0;
    move |(_, c)| {
        used += c.width().unwrap_or(0);
        used <= width
    }
}

/// The last letters that fit `width` columns.
fn ending(text: &str, width: usize) -> &str {
    let letters = text.char_indices().rev();
    let begin = letters.take_while(fits(width)).last();
    &text[begin.map_or(text.len(), |(start, _)| start)..]
}

/// The first letters that fit `width` columns.
pub fn beginning(text: &str, width: usize) -> &str {
    let end = text
        .char_indices()
        .take_while(fits(width))
        .last()
        .map_or(0, |(index, c)| index + c.len_utf8());
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
    #[test]
    fn names_are_told_apart_by_what_they_do_not_share() {
        let of = |names: &[&str]| distinct(names).join(" ");
        assert_eq!(
            of(&[
                "synthetic_v5e_8chip_overlap.pb",
                "synthetic_v5e_8chip_serial.pb"
            ]),
            "…overlap.pb …serial.pb"
        );
        assert_eq!(
            of(&[
                "/logs/2027_01_30/host.xplane.pb",
                "/logs/2027_01_31/host.xplane.pb"
            ]),
            "/logs/2027_01_30 /logs/2027_01_31"
        );
        assert_eq!(
            of(&["gs://lab/a/b/2027/x.pb", "gs://lab/a/c/2028/y.pb"]),
            "…b/2027/x.pb …c/2028/y.pb"
        );
        // One is the beginning or the end of the other.
        assert_eq!(
            of(&["/logs/runs/a/b/long.pb", "/logs/runs/b/long.pb"]),
            "…a/b …b"
        );
        assert_eq!(of(&["host-0", "host-1"]), "host-0 host-1");
        assert_eq!(
            of(&["a-very-long-name", "a-very-long-name"]),
            "a-very-long-name a-very-long-name"
        );
        assert_eq!(of(&["é/ü/ö/ä/é", "é/ü/ö/ä/ü", "é/ü/ö/ä/e"]), "…é …ü …e");
        assert_eq!(of(&[]), "");
    }

    #[test]
    fn paths_are_cut_at_the_front() {
        assert_eq!(shortened_path("/runs/logs/host.pb", 8), "…host.pb");
        assert_eq!(shortened_path("host.pb", 8), "host.pb");
        assert_eq!(shortened_path("模型的第一个", 6), "…一个");
    }
}
