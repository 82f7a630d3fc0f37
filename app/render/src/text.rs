//! Documents as text for a terminal.

use crate::document::scope_in_words;
use crate::prelude::*;
use crate::table::{shortened, table};
use crate::{DocumentView, expect, gates, health, hints, summary};
use analysis::expect::ExpectReport;
use analysis::hints::HintsReport;
use session::devices_in_words;
use trace_model::Source;

pub fn document(document: &Document, layout: &TextLayout) -> String {
    let is_summary = document.view == DocumentView::Summary;
    let mut text = if is_summary {
        String::new()
    } else {
        header(document, layout)
    };
    if let Some(gated) = document.gated.as_ref().filter(|gated| gated.are_set) {
        let comparison = gated.comparison.as_ref();
        text += &gates::lines(&gated.report, comparison, layout);
        text.extend(comparison.map(|comparison| gates::change(comparison, layout)));
        text.push('\n');
    }
    match document.view {
        DocumentView::Summary => text.push_str(&summary::screen(document, layout)),
        DocumentView::Tables => {
            let parts = sections(document, layout).into_iter();
            text.extend(parts.map(|(_, part)| part));
        }
        DocumentView::Screen => text.push_str(&layout.screen(&sections(document, layout), 1)),
        DocumentView::Doctor => {
            text += &health::screen(document, layout);
        }
    }
    text
}

fn header(document: &Document, layout: &TextLayout) -> String {
    const SHOWN: usize = 4;
    const LEAST_NAME: usize = 10;
    let model = document.session.model();
    let mut text = String::new();
    let mut line = |side: &str, name: &str, source: &Source| {
        let facts = format!(
            " · {} · {}",
            source.format,
            number::bytes(source.packed_bytes)
        );
        let width = layout.width.saturating_sub(facts.width() + side.width());
        let name = shortened(name, width.max(LEAST_NAME));
        let _ = writeln!(text, "{side}{}{facts}", layout.style.bold(&name));
    };
    if let Some(second) = &document.second {
        for (side, session) in [("first   ", &document.session), ("second  ", second)] {
            for source in session.model().sources().iter().take(1) {
                let path = source.path.as_deref().or(session.path());
                let name = path.map(|path| path.display().to_string());
                line(side, name.as_deref().unwrap_or(&source.name), source);
            }
        }
    } else {
        for source in model.sources().iter().take(SHOWN) {
            line("", &document.name_of(source), source);
        }
    }
    if model.sources().len() > SHOWN && document.second.is_none() {
        let rest: u64 = model.sources()[SHOWN..]
            .iter()
            .map(|source| source.packed_bytes)
            .sum();
        let _ = writeln!(
            text,
            "… {} more files · {}",
            model.sources().len() - SHOWN,
            number::bytes(rest)
        );
    }
    if let Some(badge) = model.badge_in_words() {
        text += &layout.bold_lines(0, &badge);
    }
    let mut facts = if model.has_programs_only() {
        let programs = number::counted(model.programs().len() as u64, "program");
        vec![format!("{programs} without times")]
    } else {
        let slices = number::counted(model.recorded_slices(), "slice");
        vec![format!("{} captured", model.extent().dur()), slices]
    };
    facts.extend(devices_in_words(model, document.session.options()));
    facts.push(scope_in_words(document.scope));
    text += &layout.plain_lines(0, &facts.join(" · "));
    if let Some(lost) = document.losses() {
        text += &layout.bold_lines(0, &lost);
    }
    text.push('\n');
    text
}

/// The tables of all sections, each with its title.
fn sections(document: &Document, layout: &TextLayout) -> Vec<(String, String)> {
    let mut parts = Vec::new();
    for section in document.sections() {
        let title = || section.title.to_owned();
        match &section.result {
            Ok(report) if report.as_any().is::<ExpectReport>() => {
                if let Some(report) = report.as_any().downcast_ref() {
                    parts.push((title(), expect::lines(report, layout)));
                }
            }
            Ok(report) if report.as_any().is::<HintsReport>() => {
                if let Some(report) = report.as_any().downcast_ref() {
                    parts.push((title(), hints::full(report, layout) + "\n"));
                }
            }
            Ok(report) => {
                let tables = report.tables().into_iter();
                parts.extend(tables.map(|one| {
                    let text = table(&one, layout) + "\n";
                    (one.title, text)
                }));
            }
            Err(why) => {
                let why = layout.plain_lines(2, &format!("not applicable: {why}"));
                let text = format!("{}\n{why}\n", layout.style.bold(section.title));
                parts.push((title(), text));
            }
        }
    }
    parts
}
