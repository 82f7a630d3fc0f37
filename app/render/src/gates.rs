//! Gates at the top of a screen, failed ones first.

use analysis::compare::Comparison;
use analysis::gates::{Gate, GateLevel, GatesReport, Status};

use crate::TextLayout;
use analysis::capitalised;

/// Column where messages begin.
const INDENT: usize = 16;

/// The verdict, each gate, and what changed.
pub fn lines(report: &GatesReport, comparison: Option<&Comparison>, layout: &TextLayout) -> String {
    let mut text = layout.heading(&capitalised(&report.statement));
    for (gate, message) in alike(report) {
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
        text.push_str(&layout.plain_lines(2, &capitalised(&comparison.statement)));
        let runs = format!("Beside {}", comparison.base.runs.join(", "));
        text.push_str(&layout.dim_lines(2, &runs));
    }
    text
}

/// A number of a gate in a table: `12.346`, `2`, `8,589,934,592`; a dash where it is not known.
pub fn cell(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 => analysis::number::count(value),
        // As in the messages of gates.
        Some(value) => analysis::gates::number(value),
    }
}

/// Each gate and its message; gates with the same message are one entry.
pub fn alike(report: &GatesReport) -> impl Iterator<Item = (&Gate, String)> {
    let same =
        |a: &Gate, b: &Gate| (a.status, a.level, &a.message) == (b.status, b.level, &b.message);
    report.gates.chunk_by(same).filter_map(|alike| {
        let gate = alike.first()?;
        let names = || alike.iter().map(Gate::name).collect::<Vec<_>>().join(", ");
        let message = match alike.len() {
            1 => gate.message.clone(),
            gates => format!("{gates} gates ({}): {}", names(), gate.message),
        };
        Some((gate, message))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_no_decimals() {
        let values = [1.0, 12.3456, 7.7e-7, 8_589_934_592.0];
        assert_eq!(
            values.map(|value| cell(Some(value))),
            ["1", "12.346", "7.700e-7", "8,589,934,592"]
        );
        assert_eq!(cell(None), "–");
    }
}
