//! HTML page about two runs: what changed, whether it is more than noise, and where the time went. No scripts, no
//! network access.

use crate::prelude::*;
use analysis::compare::{
    Attribution, CauseChain, CompareBrief, MetricChange, OpChange, ShiftEstimate, WHY_ROWS, Weight,
    matched_classes, signed,
};
use maud::{Markup, PreEscaped, html};

use super::charts;
use super::parts::{failures, gates_section, html_table, marked, section, source_cell, whole};
use crate::comparison::ComparedRuns;

/// Ops that are listed.
const ROWS: usize = 25;

pub fn page(compared: &ComparedRuns<'_>) -> String {
    let comparison = compared.comparison;
    let [base, cand] = [&comparison.base, &comparison.cand].map(|side| side.runs.join(", "));
    // The error of a model refers to the class of steps with the most time.
    let others = comparison
        .classes
        .iter()
        .filter(|_| comparison.prediction.is_none());
    let classes = std::iter::once(comparison)
        .chain(others)
        .zip(matched_classes(compared.base, compared.cand));
    let body = html! {
        header {
            p.dim {
                "base " (base) " · " (comparison.base.about(compared.base))
                br;
                "cand " (cand) " · " (comparison.cand.about(compared.cand))
            }
            @if let Some(gates) = compared.gates { (failures(gates)) }
            @for (side, runs) in [("base ", compared.base), ("cand ", compared.cand)] {
                (marked(side, runs.iter().find_map(|run| run.facts.badge_in_words())))
            }
            h1 { (headline(comparison)) }
            @if comparison.brief.conclusion.is_some() { p { (sentence(&comparison.brief.work)) } }
            (brief(&comparison.brief))
        }
        @if let Some(gates) = compared.gates { (gates_section(gates)) }
        @if let Some(environment) = comparison.tables().first().filter(|table| table.id == "environment") {
            (section("Environment", &html_table(environment)))
        }
        @if comparison.is_comparable {
            @for (index, (one, sides)) in classes.enumerate() {
                @if index > 0 { (section(&format!("Steps of {}", one.class_title()), &html! { p { (capitalised(&one.statement)) } })) }
                (class(one, &sides.base, &sides.cand))
            }
            (section("Whole runs", &values(comparison)))
        }
        (section("Differences between the runs", &differences(comparison)))
        (section("Data quality", &health(compared)))
    };
    whole(&format!("{base} → {cand}"), "compare", &body)
}

fn differences(comparison: &Comparison) -> Markup {
    let class = |weight| match weight {
        Weight::Incomparable | Weight::OtherWork => "fail",
        Weight::Care => "warn",
        Weight::Note => "dim",
    };
    html! {
        @for difference in &comparison.differences {
            details {
                summary {
                    (difference.title) " " b class=(class(difference.weight)) { (difference.weight.title()) } " "
                    span.dim { (difference.base) " ↔ " (difference.cand) }
                }
                p { (capitalised(difference.why)) }
            }
        }
        @if let Some(agreement) = comparison.agreement() { p { (capitalised(&agreement)) } }
    }
}

/// The section about the steps of one class.
fn class(comparison: &Comparison, base: &[Summary], cand: &[Summary]) -> Markup {
    if let Some(prediction) = &comparison.prediction {
        // Compared with a prediction, the difference is an error of the model; nothing became slower.
        return html! {
            @let table = prediction.table();
            (section(&table.title, &html_table(&table)))
            (notes(comparison))
        };
    }
    let steps = html! {
        @if !comparison.steps.is_empty() { (charts::both(base, cand)) (numbers(comparison)) }
    };
    html! {
        @if let Some(attribution) = &comparison.attribution { (section("Why it changed", &why(attribution))) }
        @if let Some(causes) = &comparison.causes { (section("From cause to milliseconds", &chain(causes))) }
        (section("Steps", &steps))
        (section("Ops", &ops(comparison)))
    }
}

/// The uses of time as bars that add up, and the same as numbers.
fn why(attribution: &Attribution) -> Markup {
    let rows = attribution.why(WHY_ROWS);
    html! {
        (charts::waterfall(&rows))
        (html_table(&attribution.why_table(WHY_ROWS)))
    }
}

/// A line for each group of ops that moved, and what no line explains.
fn chain(causes: &CauseChain) -> Markup {
    html! {
        ul { @for line in &causes.lines { li { (line.text) } } }
        p.dim { (causes.ending(causes.lines.len())) }
    }
}

/// What to read first, below the headline.
fn brief(brief: &CompareBrief) -> Markup {
    let said = |head: &str, text: &Option<String>| {
        text.as_ref().map(|text| sentence(&format!("{head}{text}")))
    };
    html! {
        @if let Some(differ) = said("", &brief.differ) { p.dim { (differ) } }
        @if let Some(step) = said("", &brief.step) { p { (step) } }
        @if let Some(of_loop) = said("", &brief.of_loop) { p { (of_loop) } }
        @if let Some(look) = said("look first at ", &brief.look_first) { p { (look) } }
        @if let Some(record) = said("", &brief.record_next) { p { (record) } }
    }
}

/// The conclusion, else what is known of the work.
fn headline(comparison: &Comparison) -> String {
    let brief = &comparison.brief;
    match &brief.conclusion {
        _ if comparison.prediction.is_some() => sentence(&comparison.statement),
        Some(conclusion) => sentence(conclusion),
        None => sentence(&brief.work),
    }
}

fn values(comparison: &Comparison) -> Markup {
    let tables: Vec<_> = comparison
        .tables()
        .into_iter()
        .filter(|table| table.id.starts_with("run_"))
        .collect();
    html! {
        @if !tables.is_empty() {
            details {
                summary { "One value per run: their variation is unknown" }
                @for table in tables { h3 { (table.title) } (html_table(&table)) }
            }
        }
    }
}

fn notes(comparison: &Comparison) -> Markup {
    html! { @for note in &comparison.notes { p.dim { (capitalised(note)) } } }
}

/// Step time, its parts and shares, with confidence intervals.
pub fn numbers(comparison: &Comparison) -> Markup {
    html! {
        div.scroll {
            table {
                tr {
                    th { "What" }
                    th.n.wide { "Base" }
                    th.n { "Cand" }
                    th.n { "Change" }
                    th.n.wide { "with 95 %, from … to" }
                    th.n.wide { "Of base" }
                    th { "Verdict" }
                }
                @for row in &comparison.steps {
                    @let (unit, change) = (row.unit, &row.change);
                    tr {
                        td { (row.title) }
                        td.n.wide { (estimate(change.base, unit)) }
                        td.n { (estimate(change.cand, unit)) }
                        td.n { (change.change.map_or(number::MISSING.to_owned(), |change| more(change, unit))) }
                        td.n.dim.wide { @if let Some((low, high)) = change.range { (more(low, unit)) " … " (more(high, unit)) } }
                        td.n.wide { (percent(change)) }
                        td.v { (verdict(&row.verdict())) }
                    }
                }
            }
        }
        (notes(comparison))
        p.dim { (comparison.legend()) }
    }
}

/// A number with sign and unit; percentages of the step change in percentage points.
fn more(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Picoseconds => signed(value),
        Unit::Percent => format!("{} pp", two_digits(value)),
        _ => format!(
            "{}{}",
            if value > 0.0 { "+" } else { "" },
            number::value(value, unit)
        ),
    }
}

fn estimate(estimate: Option<ShiftEstimate>, unit: Unit) -> Markup {
    let Some(ShiftEstimate {
        median, low, high, ..
    }) = estimate
    else {
        return html! { (number::MISSING) };
    };
    let spread = low
        .zip(high)
        .filter(|_| median > 0.0)
        .map(|(low, high)| Percent(50.0 * (high - low) / median));
    html! {
        (number::value(median, unit))
        @if let Some(spread) = spread { " " span.dim.wide { "±" (format_args!("{spread:.2}")) } }
    }
}

fn percent(change: &MetricChange) -> String {
    change
        .change_percent
        .map_or(number::MISSING.to_owned(), |percent| {
            if percent.0.abs() < 1000.0 {
                format!("{} %", two_digits(percent.0))
            } else {
                format!("{percent:+.0}")
            }
        })
}

/// `+1.23`; a value that rounds to zero has no sign.
fn two_digits(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value.abs() < 0.005 {
        "0.00".to_owned()
    } else {
        format!("{value:+.2}")
    }
}

/// The verdict with a symbol, because colour alone is not accessible.
fn verdict(word: &str) -> Markup {
    html! {
        @match word {
            "slower" | "worse" => b.fail { "▲ " (word) },
            "faster" | "better" => b.pass { "▼ " (word) },
            _ => (word),
        }
    }
}

fn ops(comparison: &Comparison) -> Markup {
    let ops = &comparison.ops;
    if ops.is_empty() {
        return PreEscaped::default();
    }
    html! {
        div.scroll {
            table {
                tr {
                    th { "Op" }
                    th.n.wide { "Base" }
                    th.n.wide { "Cand" }
                    th.n { "Change" }
                    th.n { "Of base" }
                    th { "Verdict" }
                    th.n.wide { "p" }
                    th.wide { "Matched" }
                    th.wide { "Source" }
                }
                @for op in ops.iter().take(ROWS) { (op_row(op)) }
            }
        }
        p.dim {
            (comparison.ops_legend()) " The percentage is the confidence that the two ops are the same."
            @if ops.len() > ROWS { " The first " (ROWS) " are shown." }
        }
    }
}

fn op_row(op: &OpChange) -> Markup {
    let time = |estimate: Option<ShiftEstimate>, name: &Option<String>| {
        let estimate = estimate.filter(|_| name.is_some());
        estimate.map_or(number::MISSING.to_owned(), |estimate| {
            number::value(estimate.median, Unit::Picoseconds)
        })
    };
    let tells = op.change.finding.is_tested() && op.how.is_some();
    html! {
        tr {
            td { (op.name()) }
            td.n.wide { (time(op.change.base, &op.base_name)) }
            td.n.wide { (time(op.change.cand, &op.cand_name)) }
            td.n { (op.change.change.map_or(number::MISSING.to_owned(), signed)) }
            td.n { @if op.how.is_some() { (percent(&op.change)) } @else { (number::MISSING) } }
            td.v { (verdict(&op.verdict())) }
            td.n.wide { @if let Some(p) = op.change.p.filter(|_| tells) { (shown_p(p)) } }
            td.v.wide {
                @if let (Some(how), Some(confidence)) = (op.how, op.confidence) {
                    (how.title()) " " span.dim { (format_args!("{:.0}", Percent(100.0 * confidence))) }
                } @else {
                    (number::MISSING)
                }
            }
            (source_cell(op.source.as_deref()))
        }
    }
}

/// A p-value; very small ones are shown as a bound.
fn shown_p(p: f64) -> String {
    if p < 0.001 {
        "<0.001".to_owned()
    } else {
        format!("{p:.3}")
    }
}

fn health(compared: &ComparedRuns<'_>) -> Markup {
    html! {
        @for (side, runs) in [("base", compared.base), ("cand", compared.cand)] {
            @for fact in runs.iter().flat_map(|run| &run.facts.health) {
                p { (side) ": " (fact.message) " " span.dim { "(" (fact.id) ")" } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use analysis::compare::{CompareOptions, compare};

    use super::*;

    const HOSTILE: &str = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;";

    /// A run of ten steps whose every text is hostile.
    fn run(ms: f64, names: &[&str]) -> Summary {
        let steps: Vec<f64> = (0..10)
            .map(|i| ms * 1e9 * (1.0 + 0.001 * f64::from(i)))
            .collect();
        let op = |(place, name): (usize, &&str)| {
            format!(
                r#"{{"program": 0, "name": {name:?}, "category": {HOSTILE:?}, "part": "vector", "is_collective": false,
                "shape": {HOSTILE:?}, "source": {HOSTILE:?}, "framework": {HOSTILE:?}, "place": {place}, "runs": 1,
                "middle_ps": {}, "values": {steps:?}}}"#,
                ms * 1e9 / names.len() as f64
            )
        };
        let ops: Vec<String> = names.iter().enumerate().map(op).collect();
        let text = format!(
            r#"{{"schema": "systole.summary/1", "inputs": [{{"name": {HOSTILE:?}}}],
            "facts": {{"device_type": {HOSTILE:?}, "devices": 1, "programs": [{{"name": {HOSTILE:?}, "id": {:?}}}],
            "health": [{{"id": {HOSTILE:?}, "severity": "warning", "message": {HOSTILE:?}}}]}},
            "steps": {{"source": "modules", "class": {HOSTILE:?}, "counted": 10, "middle_ps": {}}},
            "series": [{{"id": "step.time_ps", "title": {HOSTILE:?}, "unit": "picoseconds", "better": "lower",
            "values": {steps:?}}}], "values": [{{"id": {HOSTILE:?}, "title": {HOSTILE:?}, "unit": "count", "value": {ms},
            "of": {HOSTILE:?}, "provenance": "measured"}}], "ops": [{}]}}"#,
            format!("{HOSTILE}{ms}"),
            ms * 1e9,
            ops.join(",")
        );
        Summary::from_json(&text).unwrap()
    }

    fn page_of(base: &[Summary], cand: &[Summary]) -> String {
        let comparison = compare(base, cand, &CompareOptions::default());
        page(&ComparedRuns {
            base,
            cand,
            comparison: &comparison,
            gates: None,
            trace: Path::new("t"),
            shown: crate::comparison::ShownTables::Screen,
        })
    }

    #[test]
    fn names_are_escaped() {
        let (base, cand) = (
            run(100.0, &["a.1", HOSTILE]),
            run(120.0, &["a.1", HOSTILE, "<b>"]),
        );
        let page = page_of(&[base], &[cand]);
        assert!(page.contains("&lt;script&gt;"), "{page}");
        for wrong in [
            "<script",
            "<img",
            "onerror=alert(2)>&lt;\"",
            "</style><scr",
            "<b>\u{20}",
        ] {
            assert!(!page.contains(wrong), "{wrong} in {page}");
        }
        for wrong in ["http://", "https://", "src=", "@import", "url("] {
            // A cell shows the last part of a path only.
            let shown = page
                .replace(&html! { (HOSTILE) }.into_string(), "")
                .replace("&lt;img src=x", "");
            assert!(!shown.contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn bars_and_numbers_say_why() {
        let (base, cand) = (run(100.0, &["a.1", "b.1"]), run(120.0, &["a.1", "b.1"]));
        let page = page_of(&[base], &[cand]);
        assert!(
            page.contains("aria-label=\"Why the step changed\""),
            "{page}"
        );
        assert!(
            page.contains("<h1>20.00 ms more element-wise work"),
            "{page}"
        );
    }

    #[test]
    fn incomparable_runs_show_the_reason() {
        let mut other = run(100.0, &["a.1"]);
        other.facts.devices = 4;
        let page = page_of(&[run(100.0, &["a.1"])], &[other]);
        assert!(
            page.contains("Not the same work") && !page.contains("Why it changed"),
            "{page}"
        );
    }
}
