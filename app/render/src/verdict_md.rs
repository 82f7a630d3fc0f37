//! Summary of a run for a pull request: the verdict first, then gates, changes, hints and data quality; long parts are
//! folded.

use std::fmt::Write as _;

use analysis::compare::{Comparison, Summary};
use analysis::gates::{GatesReport, Status};
use analysis::hints::{Hints, HintsReport};
use analysis::{Tabular as _, printable};

use crate::markdown::{escaped, markdown, shorten};
use crate::{Document, GatedDocument};
use view::words::capitalised;

/// Content of the summary.
pub struct VerdictParts<'a> {
    /// The judged run.
    pub run: &'a Summary,
    pub gates: Option<&'a GatesReport>,
    /// The comparison with the baseline.
    pub comparison: Option<&'a Comparison>,
    pub hints: Option<&'a HintsReport>,
}

/// The summary of a document with gates, at most `most` bytes.
pub fn of_document(document: &Document, gated: &GatedDocument, most: usize) -> String {
    let hints = document.session.report::<Hints>(document.scope).ok();
    let parts = VerdictParts {
        run: &gated.run,
        gates: Some(&gated.report),
        comparison: gated.comparison.as_ref(),
        hints: hints.as_deref(),
    };
    verdict(&parts, most)
}

/// The Markdown, at most `most` bytes.
pub fn verdict(parts: &VerdictParts<'_>, most: usize) -> String {
    let mut text = String::new();
    if let Some(badge) = parts.run.facts.badge() {
        let _ = write!(
            text,
            "**{}: no time here was measured**\n\n",
            escaped(&badge)
        );
    }
    if let Some(gates) = parts.gates {
        gates_table(&mut text, gates);
    }
    if let Some(comparison) = parts.comparison {
        let _ = writeln!(
            text,
            "**{}**\n",
            escaped(&capitalised(&comparison.statement))
        );
    }
    which_runs(&mut text, parts);
    hints(&mut text, parts.hints);
    health(&mut text, parts.run);
    if let Some(comparison) = parts.comparison {
        for table in comparison.tables() {
            // The title is the heading of the fold.
            let body = markdown(&table, 15);
            let body = body
                .split_once("\n\n")
                .map_or(body.as_str(), |(_, body)| body);
            let title = escaped_html(&table.title);
            let folded = format!("<details><summary>{title}</summary>\n\n{body}\n</details>\n\n");
            if text.len() + folded.len() > most {
                text.push_str("*Truncated: the other tables are in the full report.*\n");
                break;
            }
            text.push_str(&folded);
        }
    }
    shorten(&mut text, most);
    text
}

/// The run, and what it is compared with.
fn which_runs(text: &mut String, parts: &VerdictParts<'_>) {
    let _ = writeln!(text, "- Run: {}", code(&parts.run.title()));
    for base in parts
        .comparison
        .iter()
        .flat_map(|comparison| &comparison.base.runs)
    {
        let _ = writeln!(text, "- Baseline: {}", code(base));
    }
    text.push('\n');
}

/// The text as code, if possible.
fn code(text: &str) -> String {
    if text.contains(['`', '\n', '\r', '|']) {
        escaped(text)
    } else {
        format!("`{text}`")
    }
}

/// The verdict, and one row per gate.
pub fn gates_table(text: &mut String, gates: &GatesReport) {
    let (failed, unclear) = (gates.failed().count(), gates.inconclusive().count());
    let word = match (failed, unclear) {
        (1.., _) => "❌ Failed",
        (0, unclear) if unclear > 0 && unclear == gates.gates.len() => "❔ Inconclusive",
        _ => "✅ Passed",
    };
    let _ = writeln!(text, "## {word}: {}\n", escaped(&gates.statement));
    text.push_str("| | Gate | Actual | Baseline | What |\n|---|---|---:|---:|---|\n");
    for gate in &gates.gates {
        let mark = match gate.status {
            Status::Pass => "✅ pass",
            Status::Fail if gate.level == analysis::gates::GateLevel::Error => "❌ fail",
            Status::Fail => "⚠️ warn",
            Status::Inconclusive => "❔ inconclusive",
        };
        let number =
            |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
        let (actual, base) = (number(gate.actual), number(gate.base));
        let _ = writeln!(
            text,
            "| {mark} | {} | {actual} | {base} | {} |",
            escaped(&gate.name()),
            escaped(&gate.message)
        );
    }
    text.push('\n');
}

fn hints(text: &mut String, report: Option<&HintsReport>) {
    const SHOWN: usize = 5;
    let Some(report) = report.filter(|report| !report.hints.is_empty()) else {
        return;
    };
    text.push_str("**What to do**\n\n");
    for hint in report.hints.iter().take(SHOWN) {
        let saving = hint
            .saving_ps
            .map_or_else(String::new, |saving| format!(", saves at most {saving}"));
        let _ = writeln!(
            text,
            "- `{}` {}{saving}: {}",
            hint.id,
            escaped(hint.title),
            escaped(&hint.action)
        );
        code_block(text, "  ", hint.code.as_deref());
        for other in &hint.also {
            let (title, action) = (escaped(other.title), escaped(&other.action));
            let _ = writeln!(text, "  - `{}` {title}, the same time: {action}", other.id);
            code_block(text, "    ", other.code.as_deref());
        }
    }
    if report.hints.len() > SHOWN {
        let _ = writeln!(text, "- … {} more", report.hints.len() - SHOWN);
    }
    text.push('\n');
}

/// A block of code within a list.
pub(crate) fn code_block(text: &mut String, indent: &str, code: Option<&str>) {
    let Some(code) = code else { return };
    let _ = writeln!(text, "{indent}```");
    for line in code.lines() {
        let _ = writeln!(text, "{indent}{}", printable(line).replace('`', "'"));
    }
    let _ = writeln!(text, "{indent}```");
}

fn health(text: &mut String, run: &Summary) {
    if run.facts.health.is_empty() {
        return;
    }
    text.push_str("**Caution**\n\n");
    for fact in &run.facts.health {
        let _ = writeln!(text, "- {} ({})", escaped(&fact.message), escaped(&fact.id));
    }
    text.push('\n');
}

fn escaped_html(text: &str) -> String {
    session::xml::escaped(text)
}
