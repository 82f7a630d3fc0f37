//! Documents as GitHub-flavoured Markdown.

use std::fmt::Write as _;

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
            Ok(report) => report
                .tables()
                .iter()
                .map(|table| (table.title.clone(), markdown(table, layout.top)))
                .collect(),
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
