//! Where the time of two runs differs: the change by kind of op as a waterfall.

use analysis::compare::{Attribution, signed};
use maud::{Markup, html};

/// Maximum number of rows of the attribution and of the ops.
pub(super) const ROWS: usize = 25;

/// The change by kind of op as a waterfall: each bar begins where the one above it ends; the last one ends at the total
/// change.
pub fn waterfall(attribution: &Attribution) -> Markup {
    let changed: Vec<_> = attribution
        .families
        .iter()
        .filter(|family| family.change_ps.abs() >= 1.0)
        .collect();
    let shown = &changed[..changed.len().min(ROWS)];
    let mut rows: Vec<(String, &str, f64, &str)> = shown
        .iter()
        .map(|family| {
            let count = family.base_ops.max(family.cand_ops);
            let count = if count > 1 {
                format!(" ×{count}")
            } else {
                String::new()
            };
            (
                format!("{}{count}", family.name),
                family.part.title(),
                family.change_ps,
                family.verdict(),
            )
        })
        .collect();
    let rest = attribution.change_ps - shown.iter().map(|family| family.change_ps).sum::<f64>();
    if rest.abs() >= 1.0 {
        rows.push(("all else".to_owned(), "", rest, ""));
    }
    if rows.is_empty() {
        return html! { p { "Nothing changed." } };
    }
    let ends: Vec<f64> = rows
        .iter()
        .scan(0.0, |sum, row| {
            *sum += row.2;
            Some(*sum)
        })
        .collect();
    let begins = std::iter::once(0.0).chain(ends.iter().copied());
    let (low, high) = ends.iter().fold((0.0_f64, 0.0_f64), |(low, high), &end| {
        (low.min(end), high.max(end))
    });
    let place = |value: f64| {
        if high > low {
            100.0 * (value - low) / (high - low)
        } else {
            0.0
        }
    };
    let bar = |from: f64, to: f64| {
        let (left, right) = (place(from.min(to)), place(from.max(to)));
        let place = format!("left:{left:.2}%;width:{:.2}%", (right - left).max(0.3));
        html! { span class={ "bar " (if to > from { "up" } else { "down" }) } style=(place) {} }
    };
    html! {
        div.scroll {
            table.fall {
                tr { th { "Ops" } th.n { "Change" } th.wide { "Verdict" } th { "Adding up" } }
                @for ((begin, end), (name, part, change, what)) in begins.zip(&ends).zip(&rows) {
                    tr {
                        td { (name) " " span.dim { (part) } }
                        td.n { (signed(*change)) }
                        td.v.wide { (what) }
                        td.track { (bar(begin, *end)) }
                    }
                }
                tr {
                    td { b { "interquartile mean step" } }
                    td.n { b { (signed(attribution.change_ps)) } }
                    td.wide {}
                    td.track { (bar(0.0, attribution.change_ps)) }
                }
            }
        }
        @if changed.len() > ROWS { p.dim { (changed.len() - ROWS) " more kinds of ops are in “all else”." } }
    }
}
