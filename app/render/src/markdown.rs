//! Tables and texts as GitHub-flavoured Markdown.

use crate::prelude::*;

use analysis::is_printable;

/// Limit of the text: GitHub rejects step summaries above 1 MiB and comments above 64 Ki characters.
pub const MOST_BYTES: usize = 60_000;

/// Lines and bytes of what is read without unfolding anything.
pub const MOST_LINES: usize = 40;
pub const MOST_SHOWN: usize = 6_000;

/// What is left of [`MOST_LINES`] and [`MOST_SHOWN`]. Blocks are taken as a whole or not at all, so that no sentence is
/// cut.
pub struct MarkdownRoom {
    lines: usize,
    bytes: usize,
}

impl MarkdownRoom {
    /// Bytes of the heading of a fold.
    const FOLD: usize = 100;

    /// The room beside the headings of this many folds.
    pub fn beside(folds: usize) -> Self {
        Self {
            lines: MOST_LINES.saturating_sub(folds),
            bytes: MOST_SHOWN.saturating_sub(folds * Self::FOLD),
        }
    }

    /// Takes the block if it fits.
    pub fn take(&mut self, block: String) -> String {
        self.largest("", [block])
    }

    /// Takes the first of these blocks that fits beside `later`.
    pub fn largest(&mut self, later: &str, blocks: impl IntoIterator<Item = String>) -> String {
        let [lines, bytes] = size(later);
        let fits = |block: &String| {
            let needed = size(block);
            needed[0] + lines <= self.lines && needed[1] + bytes <= self.bytes
        };
        let chosen = blocks.into_iter().find(fits).unwrap_or_default();
        let needed = size(&chosen);
        self.lines -= needed[0].min(self.lines);
        self.bytes -= needed[1].min(self.bytes);
        chosen
    }
}

/// Lines and bytes.
fn size(text: &str) -> [usize; 2] {
    [text.lines().count(), text.len()]
}

/// A text and the blank line after it; nothing for an empty one.
pub fn block(text: &str) -> String {
    let text = text.trim_end();
    if text.is_empty() {
        String::new()
    } else {
        format!("{text}\n\n")
    }
}

/// A text below a heading that unfolds it.
pub fn folded(title: &str, body: &str) -> String {
    let title = session::xml::escaped(&printable(title));
    format!("<details><summary>{title}</summary>\n\n{body}\n</details>\n")
}

/// Each table below its title.
pub fn folded_tables(tables: &[Table], top: usize) -> impl Iterator<Item = (String, String)> {
    tables.iter().map(move |table| {
        let fold = folded(&table.title, &body(table, top));
        (table.title.clone(), fold + "\n")
    })
}

/// Parts with their titles below one heading, as many as fit into `most` bytes.
pub fn group(
    title: &str,
    parts: impl IntoIterator<Item = (String, String)>,
    most: usize,
) -> String {
    let around = folded(title, "").len();
    let mut body = String::new();
    within(&mut body, parts.into_iter(), most.saturating_sub(around));
    folded(title, &body)
}

/// Adds sections with their titles while they fit, and names those that do not.
pub fn within(text: &mut String, parts: impl Iterator<Item = (String, String)>, most: usize) {
    /// Room for the names of sections that do not fit.
    const ROOM: usize = 2_000;
    let mut left_out: Vec<String> = Vec::new();
    for (title, part) in parts {
        if text.len() + part.len() + ROOM <= most {
            text.push_str(&part);
        } else {
            left_out.push(title);
        }
    }
    if left_out.is_empty() {
        return;
    }
    let mut named = String::new();
    for title in &left_out {
        let title = escaped(title);
        if named.len() + title.len() > ROOM - 300 {
            named += ", …";
            break;
        }
        named += if named.is_empty() { "" } else { ", " };
        named += &title;
    }
    let _ = write!(
        text,
        "\n*{} fit here (comments end at 64 KiB): {named}. `--format json` and `-o html=` have all.*\n",
        match left_out.len() {
            1 => "1 more table does not".to_owned(),
            n => format!("{n} more tables do not"),
        },
    );
}

/// One table with its title.
pub fn markdown(table: &Table, top: usize) -> String {
    format!("\n## {}\n\n{}", escaped(&table.title), body(table, top))
}

/// Heading, rows and notes of a table.
pub fn body(table: &Table, top: usize) -> String {
    let table = &*table.for_people();
    let shown = if top == 0 {
        table.rows.len()
    } else {
        table.rows.len().min(top)
    };
    let mut text = String::new();
    let titles = table
        .columns
        .iter()
        .map(|column| escaped(&column.heading()));
    let rules = table.columns.iter().map(|column| {
        if column.unit == Unit::None {
            "---"
        } else {
            "---:"
        }
    });
    let _ = write!(
        text,
        "| {} |\n|{}|\n",
        joined(titles, " | "),
        joined(rules, "|")
    );
    for row in &table.rows[..shown] {
        let cells = row
            .iter()
            .zip(&table.columns)
            .map(|(cell, column)| escaped(&number::in_column(cell, column)));
        let _ = writeln!(text, "| {} |", joined(cells, " | "));
    }
    if shown < table.rows.len() {
        let more = number::counted((table.rows.len() - shown) as u64, "more row");
        let _ = writeln!(text, "\n… {more}");
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
        out += &printable(code);
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
    fn only_whole_blocks_are_taken() {
        let mut room = MarkdownRoom::beside(2);
        let long = block(&"é".repeat(MOST_SHOWN));
        assert_eq!(room.take(long.clone()), "");
        assert_eq!(room.largest("", [long, block("Short.")]), "Short.\n\n");
        let lines = |lines: usize| block(&"a\n".repeat(lines));
        assert_eq!(room.take(lines(MOST_LINES - 4)), "");
        assert_eq!(
            room.largest("b\n", [lines(MOST_LINES - 5), lines(3)]),
            lines(3)
        );
    }

    #[test]
    fn parts_that_do_not_fit_are_named() {
        let parts = || (0..100).map(|n| (format!("T{n}"), "é".repeat(500)));
        let text = group("All", parts(), 20_000);
        assert!(
            text.len() <= 20_000 && text.contains("83 more tables do not fit here"),
            "{text}"
        );
        assert!(text.ends_with("</details>\n"));
        let long = (String::from("é").repeat(5_000), "b".repeat(20_000));
        assert!(group("All", [long], 3_000).len() <= 3_000);
    }
}
