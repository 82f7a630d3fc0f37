//! The screen that `doctor` prints: findings in sentences, the import log, clocks,
//! memory, and facts that the format does not record.

use std::fmt::Write as _;

use analysis::Unit;
use analysis::reports::summary::doctor::{CaptureFact, CaptureFinding, Doctor, DoctorReport};
use trace_model::Severity;
use unicode_width::UnicodeWidthStr as _;

use crate::number;
use crate::render::table::{padded, shortened, table, wrapped};
use crate::render::{AnsiStyle, Document, TextLayout};

/// Column in which sentences begin.
const INDENT: usize = 10;
/// Column in which names of facts begin.
const FACT: usize = 4;
/// Letters of the name of a fact.
const NAME: usize = 40;

/// The screen, without the header.
pub fn screen(document: &Document, layout: &TextLayout) -> String {
    let mut parts = Vec::new();
    match document.session.report::<Doctor>(document.scope) {
        Ok(report) => {
            parts.push(findings(&report, layout));
            parts.push(import_log(document, layout));
            parts.extend(clocks(&report, layout));
            parts.extend(facts(&report, layout));
        }
        Err(why) => parts.push(format!("{why}\n")),
    }
    parts.push(memory(document, layout));
    parts.extend(unknown(document, layout));
    parts.join("\n")
}

fn findings(report: &DoctorReport, layout: &TextLayout) -> String {
    let mut text = format!("{}\n", layout.style.bold("Findings"));
    if report.findings.is_empty() {
        text.push_str("  nothing limits this capture\n");
    }
    for CaptureFinding { id, severity, message, evidence, cure, .. } in &report.findings {
        let mut lines = wrapped(&format!("{message} ({id})"), layout.width.saturating_sub(INDENT)).into_iter();
        let first = lines.next().unwrap_or_default();
        let _ = writeln!(text, "  {}{first}", word(*severity, layout.style));
        for line in lines {
            let _ = writeln!(text, "{}{line}", " ".repeat(INDENT));
        }
        for (what, sentence) in [("seen: ", evidence.as_str()), ("fix: ", cure)] {
            for line in wrapped(&format!("{what}{sentence}"), layout.width.saturating_sub(INDENT)) {
                let _ = writeln!(text, "{}{}", " ".repeat(INDENT), layout.style.dim(&line));
            }
        }
    }
    text
}

/// As wide as the indent, less the two in front of it.
fn word(severity: Severity, style: AnsiStyle) -> String {
    match severity {
        Severity::Loss => style.bad("loss    "),
        Severity::Warning => style.warn("warning "),
        Severity::Info => style.dim("info    "),
    }
}

fn import_log(document: &Document, layout: &TextLayout) -> String {
    let mut text = format!("{}\n", layout.style.bold("Import log"));
    let counts = document.session.model().import_log().counts();
    if counts.is_empty() {
        text.push_str("  nothing lost, nothing mended\n");
    }
    for issue in counts {
        let count = number::value(issue.count as f64, Unit::Count);
        let severity = word(issue.kind.severity(), layout.style);
        let sentence = format!("{} ({count}×, {})", issue.kind.explain(), issue.kind.id());
        for (at, line) in wrapped(&sentence, layout.width.saturating_sub(INDENT)).iter().enumerate() {
            let head = if at == 0 { severity.clone() } else { " ".repeat(INDENT - 2) };
            let _ = writeln!(text, "  {head}{line}");
        }
        for example in &issue.examples {
            let line = shortened(example, layout.width.saturating_sub(INDENT));
            let _ = writeln!(text, "{}{}", " ".repeat(INDENT), layout.style.dim(&line));
        }
    }
    text
}

/// The table of clocks; nothing without devices.
fn clocks(report: &DoctorReport, layout: &TextLayout) -> Option<String> {
    let found = analysis::Tabular::tables(report).into_iter().find(|table| table.id == "clocks")?;
    (!found.rows.is_empty()).then(|| table(&found, layout))
}

/// What files and devices say of themselves; nothing where they say nothing.
fn facts(report: &DoctorReport, layout: &TextLayout) -> Option<String> {
    let mut text = format!("{}\n", layout.style.bold("Facts"));
    for same in report.facts.chunk_by(|one, other| one.of_whom() == other.of_whom()) {
        let of = same.first().map(CaptureFact::of_whom).unwrap_or_default();
        let _ = writeln!(text, "  {}", shortened(&of, layout.width.saturating_sub(2)));
        let name = |fact: &CaptureFact| shortened(&fact.name, NAME.min(layout.width / 2 - FACT));
        let width = same.iter().map(|fact| name(fact).width()).max().unwrap_or(0);
        let indent = FACT + width + 2;
        for fact in same {
            let value = wrapped(&fact.value, layout.width.saturating_sub(indent));
            let lines = if value.is_empty() { vec![number::MISSING.to_owned()] } else { value };
            for (at, line) in lines.iter().enumerate() {
                let name = if at == 0 { name(fact) } else { String::new() };
                let _ = writeln!(text, "{}{}  {line}", " ".repeat(FACT), layout.style.dim(&padded(&name, width)));
            }
        }
    }
    if let Some(line) = report.facts_note() {
        for line in wrapped(&line, layout.width.saturating_sub(2)) {
            let _ = writeln!(text, "  {}", layout.style.dim(&line));
        }
    }
    (!report.facts.is_empty()).then_some(text)
}

fn memory(document: &Document, layout: &TextLayout) -> String {
    let memory = document.session.model().memory_use();
    let bytes = |bytes: usize| number::value(bytes as f64, Unit::Bytes);
    let per_slice = memory.bytes_per_slice().map_or(number::MISSING.to_owned(), |bytes| format!("{bytes:.1} B"));
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
    formats.iter().map(|(format, what)| paragraph(&format!("{format} does not record"), what, layout)).collect()
}

fn paragraph(heading: &str, text: &str, layout: &TextLayout) -> String {
    let mut lines = format!("{}\n", layout.style.bold(heading));
    for line in wrapped(text, layout.width.saturating_sub(2)) {
        let _ = writeln!(lines, "  {line}");
    }
    lines
}
