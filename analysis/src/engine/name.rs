//! Shortened names.

use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// A name shortened to at most `width` terminal columns. Names of ops differ at both ends, so the middle is cut.
pub fn shortened(text: &str, width: usize) -> String {
    let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
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
    let end = text.char_indices().take_while(fits).last().map_or(0, |(at, c)| at + c.len_utf8());
    &text[..end]
}
