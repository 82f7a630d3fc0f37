//! Documents as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use analysis::hints::Hints;
use analysis::{Table, Unit};

use super::document::scope_in_words;
use super::verdict_md::Parts;
use super::{Document, Layout, number, verdict_md};

/// The Markdown of a document.
pub fn document(document: &Document, layout: &Layout) -> String {
    let names: Vec<_> = document.session.model().sources().iter().map(|source| escaped(&source.name)).collect();
    let mut text = format!("# {}\n\n{}\n\n", names.join(", "), scope_in_words(document.scope));
    if let Some(gated) = document.gated.as_ref().filter(|gated| gated.are_set) {
        let hints = document.session.report::<Hints>(document.scope).ok();
        let parts = Parts {
            run: &gated.run,
            gates: Some(&gated.report),
            comparison: gated.comparison.as_ref(),
            hints: hints.as_deref(),
        };
        text.push_str(&verdict_md::verdict(&parts, usize::MAX));
    }
    for section in document.sections() {
        match &section.result {
            Ok(report) => {
                for table in report.tables() {
                    text.push_str(&markdown(&table, layout.top));
                }
            }
            Err(why) => {
                let _ = write!(text, "\n## {}\n\nnot applicable: {}\n", section.title, escaped(&why.to_string()));
            }
        }
    }
    text
}

/// One table with its title.
pub fn markdown(table: &Table, top: usize) -> String {
    let shown = if top == 0 { table.rows.len() } else { table.rows.len().min(top) };
    let mut text = format!("\n## {}\n\n", escaped(&table.title));
    let titles: Vec<_> = table.columns.iter().map(|column| escaped(&column.heading())).collect();
    let rules: Vec<_> =
        table.columns.iter().map(|column| if column.unit == Unit::None { "---" } else { "---:" }).collect();
    let _ = write!(text, "| {} |\n|{}|\n", titles.join(" | "), rules.join("|"));
    for row in &table.rows[..shown] {
        let cells: Vec<_> =
            row.iter().zip(&table.columns).map(|(cell, column)| escaped(&number::in_column(cell, column))).collect();
        let _ = writeln!(text, "| {} |", cells.join(" | "));
    }
    if shown < table.rows.len() {
        let _ = writeln!(text, "\n… {} more rows", table.rows.len() - shown);
    }
    for note in table.mark().into_iter().chain(table.notes.iter().map(String::as_str)) {
        let _ = writeln!(text, "\n*{}*", escaped(note));
    }
    text
}

/// Text that stays text, and in one row.
pub fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '*' | '_' | '`' | '<' | '[' | '\\' | '#' => {
                out.push('\\');
                out.push(c);
            }
            _ => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_table() {
        assert_eq!(escaped("a|b\n<img>"), "a\\|b \\<img>");
    }
}
