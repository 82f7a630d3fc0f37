//! Gates at the top of a screen, failed ones first.

use analysis::compare::Comparison;
use analysis::gates::{Gate, GateLevel, GatesReport, Status};

use crate::TextLayout;
use view::words::capitalised;

/// Column where messages begin.
const INDENT: usize = 16;

/// The verdict, each gate, and what changed.
pub fn lines(report: &GatesReport, comparison: Option<&Comparison>, layout: &TextLayout) -> String {
    let mut text = format!("{}\n", layout.style.bold(&capitalised(&report.statement)));
    // Gates with the same message are merged into one entry.
    for alike in report
        .gates
        .chunk_by(|a, b| (a.status, a.level, &a.message) == (b.status, b.level, &b.message))
    {
        let [gate, ..] = alike else { continue };
        let message = if alike.len() == 1 {
            gate.message.clone()
        } else {
            let names: Vec<_> = alike.iter().map(Gate::name).collect();
            format!(
                "{} gates ({}): {}",
                alike.len(),
                names.join(", "),
                gate.message
            )
        };
        let word = match (gate.status, gate.level) {
            (Status::Fail, GateLevel::Warn) => "warning",
            (status, _) => status.title(),
        };
        let word = format!("{word:<width$}", width = INDENT - 2);
        let word = match gate.status {
            Status::Fail if gate.level == GateLevel::Error => layout.style.bad(&word),
            Status::Pass => layout.style.dim(&word),
            _ => layout.style.warn(&word),
        };
        text.push_str(&layout.beside(&format!("  {word}"), INDENT, &message));
    }
    if let Some(comparison) = comparison {
        text.push_str(&layout.lines(2, &capitalised(&comparison.statement), str::to_owned));
        let runs = format!("Beside {}", comparison.base.runs.join(", "));
        text.push_str(&layout.lines(2, &runs, |line| layout.style.dim(line)));
    }
    text
}
