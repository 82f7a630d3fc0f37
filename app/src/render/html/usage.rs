//! Utilization, and the targets that it is judged by.

use std::fmt::Write as _;

use analysis::reports::summary::targets::{TargetColor, Targets};
use analysis::reports::summary::utilization::Utilization;
use analysis::{Scope, Unit};

use super::super::junit::escaped;
use super::super::{Document, figures};
use crate::number;

/// Both, as far as they are known.
pub fn usage(document: &Document) -> String {
    targets(document) + &utilization(document)
}

/// A word beside each colour: colour alone says nothing to some readers.
fn targets(document: &Document) -> String {
    let Ok(report) = document.session.report::<Targets>(document.scope) else { return String::new() };
    let mut text = String::from("<table><tr><th>Target<th class=n>Is<th class=n>Should be<th>Met</tr>\n");
    for target in &report.targets {
        let (class, sign) = match target.light {
            TargetColor::Green => ("pass", "✓ "),
            TargetColor::Amber => ("warn", "! "),
            TargetColor::Red => ("fail", "✗ "),
            TargetColor::NotJudged | TargetColor::Unknown => ("dim", ""),
        };
        let value =
            target.value_percent.map_or(number::MISSING.to_owned(), |value| number::value(value, Unit::Percent));
        let note =
            target.note.as_deref().map_or(String::new(), |note| format!("<span class=dim>; {}</span>", escaped(note)));
        let of = if target.of.is_empty() {
            String::new()
        } else {
            format!(" <span class=dim>of {}</span>", escaped(&target.of))
        };
        let _ = writeln!(
            text,
            "<tr><td>{}{of}{note}<td class=n>{value}<td class=n>{}<td class=v><b class={class}>{sign}{}</b></tr>",
            escaped(target.title),
            escaped(&target.goal()),
            escaped(target.light.title()),
        );
    }
    text.push_str("</table>\n");
    text
}

fn utilization(document: &Document) -> String {
    let Ok(report) = document.session.report::<Utilization>(document.scope) else { return String::new() };
    let shown = figures::utilization(&report, document.scope == Scope::WholeTrace);
    let known = shown.into_iter().filter_map(|(title, metric)| Some((title, metric, metric.value?)));
    let mut rows = String::new();
    for (title, metric, value) in known {
        let share = if metric.unit == Unit::Percent { value.clamp(0.0, 100.0) } else { 0.0 };
        let _ = writeln!(
            rows,
            "<tr><td>{}<td class=n>{}<span class=share style=\"width:{share:.1}%\"></span><td class=dim>of {}, {}</tr>",
            escaped(title),
            number::value(value, metric.unit),
            escaped(&metric.of),
            metric.provenance.title(),
        );
    }
    if rows.is_empty() {
        return String::new();
    }
    format!("<table><tr><th>Utilization<th class=n>Is<th>Of what</tr>\n{rows}</table>\n")
}
