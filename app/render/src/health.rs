//! The screen of `doctor`: findings, import log, clocks, memory, and facts that the format does not record.

use crate::prelude::*;
use analysis::is_printable;
use analysis::reports::summary::doctor::CaptureFact;
use analysis::reports::{CaptureFinding, Doctor, DoctorReport};
use trace_model::Severity;

use crate::AnsiStyle;
use crate::layout::padded;
use crate::table::{shortened, table};

/// Column where sentences begin.
const INDENT: usize = 10;
/// Column where names of facts begin.
const FACT: usize = 4;
/// Width of the name of a fact.
const NAME: usize = 40;

/// The screen, without the header.
pub fn screen(document: &Document, layout: &TextLayout) -> String {
    let mut parts = Vec::new();
    let mut add = |name: &str, text: String| parts.push((name.to_owned(), text));
    let mut least = 1;
    match document.session.report::<Doctor>(document.scope) {
        Ok(report) => {
            add("findings", findings(&report, layout));
            add("import log", import_log(document, layout));
            least = 2;
            if let Some(text) = clocks(&report, layout) {
                add("clocks of devices", text);
            }
            if let Some(text) = facts(&report, layout) {
                add("recorded facts", text);
            }
        }
        Err(why) => add("findings", format!("{why}\n")),
    }
    add("memory of the model", memory(document, layout));
    for text in unknown(document, layout) {
        add("what the format does not record", text);
    }
    layout.screen(&parts, least)
}

/// What limits a capture, with causes and cures.
pub fn findings(report: &DoctorReport, layout: &TextLayout) -> String {
    let mut text = layout.heading("Findings");
    if report.findings.is_empty() {
        text += &layout.plain_lines(2, report.nothing_found());
    }
    for CaptureFinding {
        id,
        severity,
        message,
        evidence,
        cure,
        ..
    } in &report.findings
    {
        text += &layout.beside(
            &word(*severity, layout.style),
            INDENT,
            &format!("{message} ({id})"),
        );
        for (what, sentence) in [("seen: ", evidence.as_str()), ("fix: ", cure)] {
            text += &layout.dim_lines(INDENT, &format!("{what}{sentence}"));
        }
    }
    if let Some(which) = report.not_applicable {
        text += &layout.dim_lines(2, which);
    }
    text
}

/// As wide as the indent.
fn word(severity: Severity, style: AnsiStyle) -> String {
    let word = match severity {
        Severity::Loss => style.bad("loss    "),
        Severity::Warning => style.warn("warning "),
        Severity::Info => style.dim("info    "),
    };
    format!("  {word}")
}

fn import_log(document: &Document, layout: &TextLayout) -> String {
    let mut text = layout.heading("Import log");
    let counts = document.session.model().import_log().counts();
    if counts.is_empty() {
        text += "  nothing lost, nothing repaired\n";
    }
    for issue in counts {
        let count = number::value(issue.count as f64, Unit::Count);
        let sentence = format!("{} ({count}×, {})", issue.kind.explain(), issue.kind.id());
        text += &layout.beside(
            &word(issue.kind.severity(), layout.style),
            INDENT,
            &sentence,
        );
        for example in &issue.examples {
            text += &layout.dim_lines(INDENT, &printable(example));
        }
    }
    text
}

/// The table of clocks; nothing without devices.
fn clocks(report: &DoctorReport, layout: &TextLayout) -> Option<String> {
    let clocks = report
        .tables()
        .into_iter()
        .find(|table| table.id == "clocks")?;
    (!clocks.rows.is_empty()).then(|| table(&clocks, layout))
}

/// Recorded facts of files and devices; nothing if there are none.
fn facts(report: &DoctorReport, layout: &TextLayout) -> Option<String> {
    let mut text = layout.heading("Facts");
    for same in report
        .facts
        .chunk_by(|one, other| one.of_whom() == other.of_whom())
    {
        let of = same.first().map(CaptureFact::of_whom).unwrap_or_default();
        let _ = writeln!(text, "  {}", shortened(&of, layout.width.saturating_sub(2)));
        let name = |fact: &CaptureFact| shortened(&fact.name, NAME.min(layout.width / 2 - FACT));
        let width = same
            .iter()
            .map(|fact| name(fact).width())
            .max()
            .unwrap_or(0);
        let indent = FACT + width + 2;
        for fact in same {
            let value = if fact
                .value
                .chars()
                .all(|c| c.is_whitespace() || !is_printable(c))
            {
                number::MISSING
            } else {
                &fact.value
            };
            let name = layout.style.dim(&padded(&name(fact), width));
            text += &layout.beside(&format!("{}{name}  ", " ".repeat(FACT)), indent, value);
        }
    }
    if let Some(line) = report.facts_note() {
        text += &layout.dim_lines(2, &line);
    }
    (!report.facts.is_empty()).then_some(text)
}

fn memory(document: &Document, layout: &TextLayout) -> String {
    let memory = document.session.model().memory_use();
    let bytes = |bytes: usize| number::value(bytes as f64, Unit::Bytes);
    let per_slice = memory
        .bytes_per_slice()
        .map_or(number::MISSING.to_owned(), |bytes| format!("{bytes:.1} B"));
    let text = format!(
        "slices {} ({per_slice} each, arguments excluded) · argument handles {} · texts {} · counters {}",
        bytes(memory.slice_bytes),
        bytes(memory.arg_bytes),
        bytes(memory.string_bytes),
        bytes(memory.counter_bytes)
    );
    paragraph("Memory of the model", &text, layout)
}

/// Facts that the formats of the files do not record.
fn unknown(document: &Document, layout: &TextLayout) -> Vec<String> {
    let mut formats: Vec<(&str, String)> = Vec::new();
    for source in document.session.model().sources() {
        let entry = (source.format, source.cannot_know.join("; "));
        if !source.cannot_know.is_empty() && !formats.contains(&entry) {
            formats.push(entry);
        }
    }
    formats
        .iter()
        .map(|(format, what)| paragraph(&format!("{format} does not record"), what, layout))
        .collect()
}

fn paragraph(heading: &str, text: &str, layout: &TextLayout) -> String {
    format!(
        "{}\n{}",
        layout.style.bold(heading),
        layout.plain_lines(2, text)
    )
}
