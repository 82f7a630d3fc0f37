//! The screen of `systole analyze`. The only renderer that knows particular analyses; full tables are available with
//! `--only`.

mod bars;
mod lines;
mod ops;

use analysis::hints::Hints;
use analysis::reports::communication::overlap::Overlap;
use analysis::reports::host::compile::Compile;
use analysis::reports::ops::op_stats::Ops;
use analysis::reports::steps::step_times::Steps;
use analysis::reports::summary::utilization::Utilization;
use analysis::reports::summary::verdict::{Verdict, VerdictReport};
use analysis::{ANALYSES, Analysis as _, Scope};

use trace_model::Caveat;

use crate::{Document, TextLayout, hints};
use view::overview::Overview;

/// Reports of the screen, computed together.
const REPORTS: [&str; 7] = [
    Verdict::ID,
    Hints::ID,
    Steps::ID,
    Overlap::ID,
    Compile::ID,
    Utilization::ID,
    Ops::ID,
];
/// Number of hints on the screen; the others are available with `--only`.
const HINTS_SHOWN: usize = 3;
const FOOTER: &str =
    "All numbers: --format json. All tables: --only ID --top 0. Data quality: systole doctor.";

/// The screen, without the header.
pub fn screen(document: &Document, layout: &TextLayout) -> String {
    let session = &document.session;
    let shown: Vec<_> = ANALYSES
        .iter()
        .filter(|entry| REPORTS.contains(&entry.id))
        .collect();
    session.context(document.scope).reports_of(&shown);
    let overview = Overview::of(document, document.scope == Scope::WholeTrace);
    let mut parts = Vec::new();
    parts.extend(
        overview
            .verdict
            .as_ref()
            .map(|report| verdict(report, layout)),
    );
    parts.extend(
        overview
            .hints
            .as_ref()
            .map(|report| hints::short(report, HINTS_SHOWN, layout)),
    );
    if !session.model().has_caveat(Caveat::PlaceholderTimes) {
        parts.push(lines::headlines(document, &overview, layout));
        parts.extend(
            overview
                .device_time
                .as_ref()
                .map(|time| bars::breakdown(document, time, layout)),
        );
        parts.push(ops::top(document, layout));
    }
    parts.push(lines::health(document, &overview, layout));
    parts.retain(|part| !part.is_empty());
    parts.push(layout.lines(0, FOOTER, |line| layout.style.dim(line)));
    parts.join("\n")
}

fn verdict(report: &VerdictReport, layout: &TextLayout) -> String {
    let mut of: Vec<&str> = Vec::new();
    for finding in &report.findings {
        if !of.contains(&finding.of.as_str()) && of.len() < 2 {
            of.push(&finding.of);
        }
    }
    let statement = layout.lines(0, &report.statement, |line| layout.style.bold(line));
    statement + &layout.lines(0, &of.join("; "), |line| layout.style.dim(line))
}
