//! Width and character set of the terminal.

use std::env;
use std::io::{self, Write as _};

use crate::prelude::*;
use unicode_width::UnicodeWidthChar as _;

/// Width if it is unknown.
pub const DEFAULT_WIDTH: usize = 100;
/// With less, lines would break inside words.
const MIN_WIDTH: usize = 40;
/// Wider tables are harder to read.
const MAX_WIDTH: usize = 140;

/// Writes to stderr at once; that a line cannot be shown is no reason to stop.
pub fn write_stderr(text: &str) {
    let mut stderr = io::stderr().lock();
    let _ = stderr
        .write_all(text.as_bytes())
        .and_then(|()| stderr.flush());
}

/// Columns of text on stdout: `COLUMNS`, else those of the terminal.
pub fn width() -> usize {
    let told = env::var("COLUMNS")
        .ok()
        .and_then(|columns| columns.trim().parse().ok())
        .filter(|&width| width > 0);
    let seen = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
    told.or_else(seen)
        .unwrap_or(DEFAULT_WIDTH)
        .clamp(MIN_WIDTH, MAX_WIDTH)
}

/// Columns of a terminal on stdout, or those that `COLUMNS` tells; `None` if stdout is a pipe or a file.
pub fn width_of_stdout() -> Option<usize> {
    (env::var_os("COLUMNS").is_some() || io::stdout().is_terminal()).then(width)
}

/// The layout of tables with all their rows.
pub fn whole_tables(style: AnsiStyle) -> TextLayout {
    TextLayout {
        width: width(),
        top: 0,
        entries: 0,
        style,
    }
}

/// Whether the locale supports non-ASCII characters. If no variable names a locale, as in most containers, it does.
pub fn has_unicode() -> bool {
    let named = ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| env::var(name).ok());
    is_unicode(
        named
            .into_iter()
            .find(|locale| !locale.is_empty())
            .as_deref(),
    )
}

fn is_unicode(locale: Option<&str>) -> bool {
    let is_utf8 = |locale: &str| {
        let locale = locale.to_ascii_lowercase();
        locale.contains("utf-8") || locale.contains("utf8")
    };
    cfg!(any(windows, target_os = "macos")) || locale.is_none_or(is_utf8)
}

/// The text in ASCII, with the same width; unknown characters become `?`.
pub fn ascii(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii() {
                c.to_string()
            } else {
                ascii_of(c)
            }
        })
        .collect()
}

fn ascii_of(c: char) -> String {
    let plain = match c {
        '·' | '•' => '.',
        '–' | '—' | '−' | '─' | '░' => '-',
        '…' | '±' => '~',
        '×' | '✕' => 'x',
        'µ' | 'μ' => 'u',
        '→' | '▶' | '≥' => '>',
        '↔' => '|',
        '≤' => '<',
        '†' => '^',
        '“' | '”' => '"',
        '‘' | '’' => '\'',
        '█' => '@',
        '▓' => '%',
        '▒' | '✓' => '+',
        '✗' => '!',
        _ => return "?".repeat(c.width().unwrap_or(0)),
    };
    plain.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_replacement_keeps_the_width() {
        assert_eq!(ascii("a · 1.5 µs … 模型\u{301}"), "a . 1.5 us ~ ????");
        for text in ["█▓▒#=~hsc?·", "≤ 5 × 3 → 2", "“K01” — “plus”"] {
            let plain = ascii(text);
            assert!(plain.is_ascii(), "{plain}");
            assert_eq!(plain.chars().count(), text.chars().count());
        }
        // The fill characters of bars must stay distinct.
        let fills: std::collections::BTreeSet<_> = ascii("█▓▒#=~hsc?·").chars().collect();
        assert_eq!(fills.len(), 11);
    }

    #[cfg(not(any(windows, target_os = "macos")))]
    #[test]
    fn locale_decides_between_unicode_and_ascii() {
        for (locale, expected) in [
            (None, true),
            (Some("en_US.UTF-8"), true),
            (Some("C.utf8"), true),
            (Some("C"), false),
            (Some("POSIX"), false),
            (Some("de_DE.ISO-8859-1"), false),
        ] {
            assert_eq!(is_unicode(locale), expected, "{locale:?}");
        }
    }
}
