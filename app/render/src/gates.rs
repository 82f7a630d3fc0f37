//! Gates at the top of a screen, failed ones first.

use crate::prelude::*;
use analysis::gates::Gate;

use analysis::LowerBound;

/// Column where messages begin.
const INDENT: usize = 16;

/// The verdict, and each gate, beside a comparison that is shown, too.
pub fn lines(report: &GatesReport, comparison: Option<&Comparison>, layout: &TextLayout) -> String {
    let mut text = layout.heading(&capitalised(&report.statement));
    let statement = comparison.map_or("", |comparison| &comparison.statement);
    for alike in report.alike() {
        let (gate, message) = (alike.first, alike.text_beside(statement));
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
        text += &layout.beside(&format!("  {word}"), INDENT, &message);
    }
    text
}

/// What changed, and beside what.
pub fn change(comparison: &Comparison, layout: &TextLayout) -> String {
    let runs = format!("Beside {}", comparison.base.runs.join(", "));
    layout.plain_lines(2, &capitalised(&comparison.statement)) + &layout.dim_lines(2, &runs)
}

/// The number of the run in a table.
pub fn actual(gate: &Gate) -> String {
    LowerBound(gate.actual_is_lower_bound).of(cell(gate.actual))
}

/// The number of the baseline in a table.
pub fn base(gate: &Gate) -> String {
    LowerBound(gate.base_is_lower_bound).of(cell(gate.base))
}

/// A number of a gate in a table: `12.346`, `2`, `8,589,934,592`; a dash where it is not known.
fn cell(value: Option<f64>) -> String {
    match value {
        None => "–".to_owned(),
        Some(value) if value.fract() == 0.0 => analysis::number::count(value),
        // As in the messages of gates.
        Some(value) => analysis::gates::number(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_have_no_decimals() {
        let values = [1.0, 12.3456, 0.002, 0.001_234_56, 7.7e-7, 8_589_934_592.0];
        assert_eq!(
            values.map(|value| cell(Some(value))),
            [
                "1",
                "12.346",
                "0.002",
                "0.001235",
                "7.700e-7",
                "8,589,934,592"
            ]
        );
        assert_eq!(cell(None), "–");
    }
}
