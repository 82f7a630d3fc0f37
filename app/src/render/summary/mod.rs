//! The screen that `analyze` prints: what an engineer wants to read first. The
//! only renderer that knows particular analyses; full tables are one `--only` away.

mod bars;
mod lines;
mod ops;

use std::fmt::Write as _;

use analysis::hints::Hints;
use analysis::reports::communication::overlap::Overlap;
use analysis::reports::host::compile::Compile;
use analysis::reports::ops::op_stats::Ops;
use analysis::reports::steps::step_times::Steps;
use analysis::reports::summary::utilization::Utilization;
use analysis::reports::summary::verdict::{Verdict, VerdictReport};
use analysis::{ANALYSES, Analysis as _};

use trace_model::Caveat;

use crate::render::table::wrapped;
use crate::render::{AnsiStyle, Document, TextLayout, hints};

/// Indent of everything below a heading.
const INDENT: usize = 2;
/// What the screen is made of, to be computed at once.
const REPORTS: [&str; 7] = [Verdict::ID, Hints::ID, Steps::ID, Overlap::ID, Compile::ID, Utilization::ID, Ops::ID];
/// Hints on the screen; the others are one `--only` away.
const HINTS_SHOWN: usize = 3;

/// The screen, without the header.
pub fn screen(document: &Document, layout: &TextLayout) -> String {
    let session = &document.session;
    let shown: Vec<_> = ANALYSES.iter().filter(|entry| REPORTS.contains(&entry.id)).collect();
    session.context(document.scope).reports_of(&shown);
    let mut parts = Vec::new();
    if let Ok(verdict) = session.report::<Verdict>(document.scope) {
        parts.push(verdict_lines(&verdict, layout));
    }
    if let Ok(report) = session.report::<Hints>(document.scope) {
        parts.push(hints::short(&report, HINTS_SHOWN, layout));
    }
    parts.push(lines::headlines(document, layout));
    if !session.model().has_caveat(Caveat::PlaceholderTimes) {
        parts.push(bars::breakdown(document, layout));
        parts.push(ops::top(document, layout));
    }
    parts.push(lines::health(document, layout));
    parts.retain(|part| !part.is_empty());
    parts.push(footer(layout));
    parts.join("\n")
}

fn verdict_lines(report: &VerdictReport, layout: &TextLayout) -> String {
    let mut text = String::new();
    for line in wrapped(&report.statement, layout.width) {
        let _ = writeln!(text, "{}", layout.style.bold(&line));
    }
    let mut denominators: Vec<&str> = Vec::new();
    for finding in &report.findings {
        if !denominators.contains(&finding.of.as_str()) && denominators.len() < 2 {
            denominators.push(&finding.of);
        }
    }
    for line in wrapped(&denominators.join("; "), layout.width) {
        let _ = writeln!(text, "{}", layout.style.dim(&line));
    }
    text
}

fn footer(layout: &TextLayout) -> String {
    let text = "All numbers: --format json. All tables: --only ID --top 0. How far to trust this: systole doctor.";
    wrapped(text, layout.width).iter().map(|line| layout.style.dim(line) + "\n").collect()
}

/// A heading and the lines beside and below it, aligned after it.
fn entry(heading: &str, body: &str, style: AnsiStyle, width: usize) -> String {
    const HEADING: usize = 10;
    let mut text = String::new();
    let lines = wrapped(body, width.saturating_sub(HEADING));
    for (index, line) in lines.iter().enumerate() {
        let pad = HEADING.saturating_sub(heading.chars().count());
        if index == 0 {
            let _ = writeln!(text, "{}{}{line}", style.bold(heading), " ".repeat(pad));
        } else {
            let _ = writeln!(text, "{}{line}", " ".repeat(HEADING));
        }
    }
    text
}
