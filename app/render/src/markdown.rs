//! Tables and texts as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use analysis::{Table, Unit, is_printable, printable};

use session::number;

/// Limit of the text: GitHub rejects step summaries above 1 MiB and comments above 64 Ki characters.
pub const MOST_BYTES: usize = 60_000;

/// Adds sections with their titles while they fit, and names those that do not.
pub fn within(text: &mut String, parts: impl Iterator<Item = (String, String)>, most: usize) {
    /// Room for the names of sections that do not fit.
    const ROOM: usize = 2_000;
    let mut left_out: Vec<String> = Vec::new();
    for (title, part) in parts {
        if left_out.is_empty() && text.len() + part.len() + ROOM <= most {
            text.push_str(&part);
        } else {
            left_out.push(title);
        }
    }
    if !left_out.is_empty() {
        let named: Vec<String> = left_out
            .iter()
            .take(20)
            .map(|title| escaped(title))
            .collect();
        let more = if left_out.len() > named.len() {
            " …"
        } else {
            ""
        };
        let _ = write!(
            text,
            "\n*{} fit here (comments end at 64 KiB): {}{more}. `--format json` and `-o html=` have all.*\n",
            match left_out.len() {
                1 => "1 more table does not".to_owned(),
                n => format!("{n} more tables do not"),
            },
            named.join(", ")
        );
    }
    shorten(text, most);
}

/// One table with its title.
pub fn markdown(table: &Table, top: usize) -> String {
    let shown = if top == 0 {
        table.rows.len()
    } else {
        table.rows.len().min(top)
    };
    let mut text = format!("\n## {}\n\n", escaped(&table.title));
    let titles: Vec<_> = table
        .columns
        .iter()
        .map(|column| escaped(&column.heading()))
        .collect();
    let rules: Vec<_> = table
        .columns
        .iter()
        .map(|column| {
            if column.unit == Unit::None {
                "---"
            } else {
                "---:"
            }
        })
        .collect();
    let _ = write!(text, "| {} |\n|{}|\n", titles.join(" | "), rules.join("|"));
    for row in &table.rows[..shown] {
        let cells: Vec<_> = row
            .iter()
            .zip(&table.columns)
            .map(|(cell, column)| escaped(&number::in_column(cell, column)))
            .collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if shown < table.rows.len() {
        let _ = writeln!(text, "\n… {} more rows", table.rows.len() - shown);
    }
    for note in table
        .mark()
        .into_iter()
        .chain(table.notes.iter().map(String::as_str))
    {
        let _ = writeln!(text, "\n*{}*", escaped(note));
    }
    text
}

/// Escapes text for a table row. Text between two backticks stays code.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, code, after)) = code_span(rest) {
        escape(&mut out, before);
        out.push('`');
        out.push_str(&printable(code));
        out.push('`');
        rest = after;
    }
    escape(&mut out, rest);
    out
}

/// The first code span: the text before it, its content, the text after it. Inside a span nothing is markup except `|`,
/// which ends a table cell.
fn code_span(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    let is_plain =
        !code.trim().is_empty() && !code.contains(['|', '\n', '\r']) && !before.ends_with('\\');
    // Two backticks in a row would open another kind of span.
    (is_plain && !after.starts_with('`')).then_some((before, code, after))
}

fn escape(out: &mut String, text: &str) {
    for c in text.chars() {
        match c {
            c if !is_printable(c) => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
}

/// Truncates the text and says so.
pub fn shorten(text: &mut String, most: usize) {
    const END: &str = "\n\n*(truncated)*\n";
    if text.len() > most {
        let mut end = most.saturating_sub(END.len());
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        text.truncate(end);
        text.push_str(END);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_table() {
        assert_eq!(escaped("a|b\n<img>"), "a\\|b \\<img>");
        assert_eq!(
            escaped("a\u{202e}b `c\u{2067}d` \u{1b}[2J"),
            "a b `c d`  \\[2J"
        );
        assert_eq!(escaped("``a`"), "\\`\\`a\\`");
        assert_eq!(escaped("`a|b` `c"), "\\`a\\|b\\` \\`c");
    }

    #[test]
    fn code_stays_code() {
        assert_eq!(
            escaped("set `--xla_flag=x*y` or _b_"),
            "set `--xla_flag=x*y` or \\_b\\_"
        );
        assert_eq!(escaped("`a` and `<b>`"), "`a` and `<b>`");
    }

    #[test]
    fn verdict_fits_every_subject() {
        let mut cut = "é".repeat(100_000);
        shorten(&mut cut, MOST_BYTES);
        assert!(cut.len() <= MOST_BYTES && cut.ends_with("(truncated)*\n"));
    }
}
