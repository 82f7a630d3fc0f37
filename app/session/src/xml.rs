//! Text in XML: `JUnit` reports and SVG.

use analysis::is_printable;

/// Text for XML 1.0: markup is escaped, invalid characters and those that turn the text around them are replaced.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\t' | '\n' | '\r' => out.push(' '),
            c if !is_printable(c) || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_in_xml() {
        assert_eq!(
            escaped("a\"><b>&'\u{1}\u{202e}"),
            "a&quot;&gt;&lt;b&gt;&amp;&#39;\u{fffd}\u{fffd}"
        );
    }
}
