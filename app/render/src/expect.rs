//! Expectations on a screen, those that are not met first.

use crate::prelude::*;
use analysis::expect::{ExpectReport, Verdict};

/// Column where messages begin.
const INDENT: usize = 11;

/// The headline, and each expectation with what was found; of those that are met as many as a table has rows.
pub fn lines(report: &ExpectReport, layout: &TextLayout) -> String {
    let headline = capitalised(&report.statement);
    let mut text = layout.heading(&headline);
    let (mut met, mut left_out) = (0, 0);
    for row in &report.rows {
        if row.verdict == Verdict::Met {
            met += 1;
            if layout.top > 0 && met > layout.top {
                left_out += 1;
                continue;
            }
        }
        let word = format!("{:<width$}", row.verdict.title(), width = INDENT - 2);
        let word = match row.verdict {
            Verdict::NotMet => layout.style.bad(&word),
            Verdict::Unknown => layout.style.warn(&word),
            Verdict::Met => layout.style.dim(&word),
        };
        let message = format!("{}: {}", row.name, row.message);
        text += &layout.beside(&format!("  {word}"), INDENT, &message);
    }
    if left_out > 0 {
        let _ = writeln!(text, "  … {left_out} more are met; --top 0 shows all");
    }
    for note in &report.notes {
        text += &layout.dim_lines(2, note);
    }
    text
}
