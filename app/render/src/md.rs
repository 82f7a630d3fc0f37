//! Documents as GitHub-flavoured Markdown.

use std::fmt::Write as _;

use analysis::hints::Hints;
use analysis::{Analysis as _, Table};

use crate::document::scope_in_words;
use crate::markdown::{MOST_BYTES, escaped, markdown, within};
use crate::{Document, TextLayout, verdict_md};

/// The Markdown of a document.
pub fn document(document: &Document, layout: &TextLayout) -> String {
    let names: Vec<_> = document
        .session
        .model()
        .sources()
        .iter()
        .map(|source| escaped(&document.name_of(source)))
        .collect();
    let mut text = format!(
        "# {}\n\n{}\n\n",
        names.join(", "),
        scope_in_words(document.scope)
    );
    let is_said = document.gated.as_ref().is_some_and(|gated| gated.are_set);
    if let Some(badge) = document.session.model().badge().filter(|_| !is_said) {
        let _ = write!(
            text,
            "**{}: no time here was measured**\n\n",
            escaped(&badge)
        );
    }
    if let Some(gated) = document.gated.as_ref().filter(|gated| gated.are_set) {
        text.push_str(&verdict_md::of_document(document, gated, MOST_BYTES / 2));
    }
    let sections = document
        .sections()
        .iter()
        .flat_map(|section| match &section.result {
            Ok(report) => {
                let mut tables = report.tables();
                let is_hints = section.id == Hints::ID;
                tables.iter_mut().filter(|_| is_hints).for_each(remove_code);
                let code = is_hints.then(|| hint_code(document)).flatten();
                let tables = tables
                    .iter()
                    .map(|table| (table.title.clone(), markdown(table, layout.top)));
                tables.chain(code).collect::<Vec<_>>()
            }
            Err(why) => {
                let why = format!(
                    "\n## {}\n\nnot applicable: {}\n",
                    section.title,
                    escaped(&why.to_string())
                );
                vec![(section.title.to_owned(), why)]
            }
        });
    within(&mut text, sections, MOST_BYTES);
    text
}

/// Takes out the column whose lines a table of Markdown cannot hold.
fn remove_code(table: &mut Table) {
    let code = table.columns.iter().position(|column| column.id == "code");
    if let Some(place) = code {
        table.columns.remove(place);
        for row in &mut table.rows {
            row.remove(place);
        }
    }
}

/// The code of the hints, in blocks.
fn hint_code(document: &Document) -> Option<(String, String)> {
    const TITLE: &str = "Code of the hints";
    let report = document.session.report::<Hints>(document.scope).ok()?;
    let mut text = String::new();
    for hint in &report.hints {
        let also = hint.also.iter().map(|other| (other.id, &other.code));
        for (id, code) in std::iter::once((hint.id, &hint.code)).chain(also) {
            if code.is_some() {
                let _ = writeln!(text, "- `{id}`");
                verdict_md::code_block(&mut text, "  ", code.as_deref());
            }
        }
    }
    (!text.is_empty()).then(|| (TITLE.to_owned(), format!("\n## {TITLE}\n\n{text}")))
}
