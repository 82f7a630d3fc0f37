//! Documents as GitHub-flavoured Markdown.

use crate::prelude::*;
use analysis::Analysis as _;
use analysis::hints::Hints;

use crate::document::scope_in_words;
use crate::markdown::{MOST_BYTES, MOST_SHOWN, escaped, folded_tables, group, markdown, within};
use crate::verdict_md::FirstScreen;
use crate::{DocumentView, ReportSection, summary, verdict_md};

/// The Markdown of a document.
pub fn document(document: &Document, layout: &TextLayout) -> String {
    if document.view == DocumentView::Summary {
        return run(document, true, layout.top);
    }
    let is_judged = document.gated.as_ref().is_some_and(|gated| gated.are_set);
    let mut text = match &document.gated {
        Some(gated) if is_judged && document.has_no_run() => {
            let mut text = heading(document);
            verdict_md::gates_table(&mut text, &gated.report);
            text
        }
        _ if is_judged => run(document, false, layout.top),
        _ => heading(document),
    };
    let parts = document
        .sections()
        .iter()
        .flat_map(|section| match tables_of(section) {
            Ok(tables) => {
                let tables = tables
                    .iter()
                    .map(|table| (table.title.clone(), markdown(table, layout.top)));
                let code = (section.id == Hints::ID).then(|| hint_code(document));
                let code = code.flatten().map(|(title, code)| {
                    let text = format!("\n## {title}\n\n{code}");
                    (title, text)
                });
                tables.chain(code).collect::<Vec<_>>()
            }
            Err(why) => {
                let why = format!("\n## {}\n\nnot applicable: {why}\n", section.title);
                vec![(section.title.to_owned(), why)]
            }
        });
    within(&mut text, parts, MOST_BYTES);
    text
}

/// What a step summary of CI shows: what comes first, and what it is judged by.
pub fn step_summary(document: &Document) -> String {
    const TOP: usize = 10;
    run(document, false, TOP)
}

/// The files, the part that is shown, and whether anything was measured.
fn heading(document: &Document) -> String {
    let model = document.session.model();
    let names: Vec<_> = model
        .sources()
        .iter()
        .map(|source| escaped(&document.name_of(source)))
        .collect();
    let mut names = names.join(", ");
    let second = document.second.iter();
    for source in second.flat_map(|second| second.model().sources().iter().take(1)) {
        let _ = write!(names, " and {}", escaped(&source.name));
    }
    let scope = scope_in_words(document.scope);
    let mut text = format!("# {names}\n\n{scope}\n\n");
    if let Some(lost) = document.losses() {
        let _ = write!(text, "**{}**\n\n", escaped(&lost));
    }
    if let Some(badge) = model.badge_in_words() {
        let _ = write!(text, "**{}**\n\n", escaped(&badge));
    }
    text
}

/// What comes first, and the folds below it, of each table the first `top` rows; `is_whole`: with every report.
fn run(document: &Document, is_whole: bool, top: usize) -> String {
    let overview = summary::overview(document);
    let first = first_screen(document, &overview);
    let mut folds = first.folds(MOST_BYTES / 2);
    folds.extend(hints(document, top));
    if is_whole {
        let used: usize = folds.iter().map(String::len).sum();
        let room = MOST_BYTES.saturating_sub(used + MOST_SHOWN);
        folds.push(group("Every report", reports(document, top), room));
    }
    first.markdown(folds.len()) + &folds.concat()
}

fn first_screen<'a>(document: &'a Document, overview: &'a Overview) -> FirstScreen<'a> {
    let model = document.session.model();
    let gated = document.gated.as_ref().filter(|gated| gated.are_set);
    let sources = model.sources();
    let name = match gated {
        Some(gated) => gated.run.title(),
        None => sources
            .first()
            .map_or_else(|| "a run".to_owned(), |first| document.name_of(first)),
    };
    let ran = summary::ran(document, overview).join(" · ");
    FirstScreen {
        gates: gated.map(|gated| &gated.report),
        comparison: gated.and_then(|gated| gated.comparison.as_ref()),
        badge: model.badge_in_words(),
        run: name,
        facts: format!("{} · {ran}", summary::files(sources)),
        overview: Some(overview),
        figures: summary::figures(document, overview),
        cautions: overview
            .health
            .iter()
            .map(|finding| (finding.message.clone(), finding.id.to_owned()))
            .collect(),
    }
}

/// The hints in full.
fn hints(document: &Document, top: usize) -> Option<String> {
    let report = document.session.report::<Hints>(document.scope).ok()?;
    let mut tables = report.tables();
    tables.iter_mut().for_each(remove_code);
    let parts = folded_tables(&tables, top);
    let parts = hint_code(document).into_iter().chain(parts);
    Some(group(
        "All hints, with code and evidence",
        parts,
        MOST_BYTES / 4,
    ))
}

/// Each table of every report but the hints, and which reports there are not.
fn reports(document: &Document, top: usize) -> Vec<(String, String)> {
    let others = document
        .sections()
        .iter()
        .filter(|section| section.id != Hints::ID);
    let mut parts = Vec::new();
    let mut missing = String::new();
    for section in others {
        match tables_of(section) {
            Ok(tables) => parts.extend(folded_tables(&tables, top)),
            Err(why) => {
                let _ = writeln!(missing, "- {}: not applicable: {why}", section.title);
            }
        }
    }
    if !missing.is_empty() {
        parts.push(("Reports that are not applicable".to_owned(), missing));
    }
    parts
}

/// The tables of a report, or why there is none.
fn tables_of(section: &ReportSection) -> Result<Vec<Table>, String> {
    match &section.result {
        Ok(report) => {
            let mut tables = report.tables();
            tables.iter_mut().for_each(remove_code);
            Ok(tables)
        }
        Err(why) => Err(escaped(&why.to_string())),
    }
}

/// Takes out the column whose lines a table of Markdown cannot hold.
fn remove_code(table: &mut Table) {
    let code = table.columns.iter().position(|column| column.id == "code");
    if let Some(place) = code.filter(|_| table.id == Hints::ID) {
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
        let also = hint.also.iter();
        let also = also.map(|other| (other.id, other.title, &other.code));
        let own = std::iter::once((hint.id, hint.title, &hint.code));
        for (id, title, code) in own.chain(also) {
            if code.is_some() {
                let _ = writeln!(text, "- `{id}` {}", escaped(title));
                verdict_md::code_block(&mut text, "  ", code.as_deref());
            }
        }
    }
    (!text.is_empty()).then(|| (TITLE.to_owned(), text + "\n"))
}
