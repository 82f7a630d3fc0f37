//! HTML page about one run: no scripts, no network access, light and dark, readable on a phone. All text from the trace
//! is escaped.

mod charts;
pub mod comparison;
pub mod history;
mod parts;
mod style;

use std::collections::BTreeMap;

use crate::prelude::*;
use analysis::compare::WHY_ROWS;
use analysis::gates::GatesVerdict;
use analysis::hints::{Hint, HintsReport};
use analysis::reports::CaptureFinding;
use analysis::reports::summary::targets::TargetColor;
use maud::{Markup, PreEscaped, html};
use trace_model::{Caveat, without_number};

use self::parts::{ROWS, failures, gates_section, html_table, marked, section, source_cell, whole};
use crate::hints::{facts, first};
use crate::summary::HINTS_SHOWN;
use crate::{GatedDocument, summary};
use view::overview::KeyFigure;

/// Reports that are no more than their tables: of programs that did not run, of one question. Gates come first.
pub fn tables_page(document: &Document) -> String {
    let sources = document.session.model().sources();
    let name = sources
        .first()
        .map_or_else(|| "a program".to_owned(), |first| document.name_of(first));
    let gates = document.gated.as_ref().filter(|gated| gated.are_set);
    let results = document.sections().iter().map(|section| &section.result);
    let body = html! {
        header {
            p.dim { (name) (summary::files(sources)) }
            (unused_arguments(document))
            @if let Some(gated) = gates { (verdict(&gated.report)) }
        }
        @for result in results {
            @match result {
                Ok(report) => @for table in report.tables() {
                    (section(&table.title, &html! {
                        (html_table(&table))
                        @for note in &table.notes { p.dim { (note) } }
                    }))
                },
                Err(why) => p { (why) },
            }
        }
        @if let Some(gated) = gates { (gates_section(&gated.report)) }
    };
    whole(&name, "analyze", &body)
}

pub fn page(document: &Document, gated: &GatedDocument) -> String {
    let model = document.session.model();
    let sources = model.sources();
    let name = sources
        .first()
        .map_or_else(|| "a run".to_owned(), |first| document.name_of(first));
    let overview = summary::overview(document);
    let badge = model.badge();
    let are_lengths_known = !model.has_caveat(Caveat::PlaceholderTimes);
    let is_failed = gated.are_set && gated.report.verdict() == GatesVerdict::Failed;
    let time = |time: Picos| time.to_string();
    let [what, _] = charts::unit_of(&gated.run);
    let body = html! {
        header {
            p.dim { (name) (summary::files(sources)) " · " (summary::ran(document, &overview).join(" · ")) }
            (unused_arguments(document))
            @if gated.are_set { (verdict(&gated.report)) }
            (marked("", model.badge_in_words()))
            @if let Some(limit) = overview.limit(time) {
                // A page has one headline.
                @if is_failed { p.lead { (limit) } } @else { h1 { (limit) } }
            }
            @if let Some(outside) = overview.outside(time) { p.dim { (outside) } }
        }
        (section("What to do", &hints(&overview)))
        @if let Some(limit) = overview.hints.as_ref().and_then(|hints| hints.limit.as_ref()) {
            (section(&summary::step_title(limit), &charts::uses(limit)))
        }
        (section("Figures", &figures(badge.as_deref(), &summary::figures(document, &overview))))
        (section("Data quality", &health(&overview)))
        @if gated.are_set { (gates_section(&gated.report)) }
        (beside_baseline(gated))
        @if are_lengths_known {
            (section("All figures", &all_figures(badge.as_deref(), &overview)))
            (section(&format!("Parts of {what}"), &charts::breakdown(&gated.run)))
            (section("Steps", &charts::steps(&gated.run)))
            (section(&format!("Top ops of {what}"), &top_ops(&gated.run)))
        }
        (section("Timeline", &charts::timeline(document)))
        (section("Roofline", &charts::roofline(document)))
    };
    whole(&name, "analyze", &body)
}

/// Who opens the page later does not see what was said when it was written.
fn unused_arguments(document: &Document) -> Markup {
    html! { @for said in document.session.unused_arguments() { p.dim { (said) } } }
}

/// The verdict of the gates: what failed, or that nothing did.
fn verdict(report: &GatesReport) -> Markup {
    let (class, sign) = match report.verdict() {
        GatesVerdict::Failed => return failures(report),
        GatesVerdict::Inconclusive => ("warn", "? Inconclusive:"),
        GatesVerdict::Warned => ("warn", "!"),
        GatesVerdict::Passed => ("pass", "✓"),
    };
    html! { p class=(class) { b { (sign) " " (capitalised(&report.statement)) } } }
}

fn beside_baseline(gated: &GatedDocument) -> Markup {
    let Some(comparison) = &gated.comparison else {
        return PreEscaped::default();
    };
    let body = html! {
        p { (capitalised(&comparison.statement)) }
        p.dim { "Baseline: " (comparison.base.runs.join(", ")) }
        p.dim { "Run: " (comparison.cand.runs.join(", ")) }
        @if comparison.is_comparable {
            h3 { "Step time" }
            (comparison::numbers(comparison))
            @if let Some(attribution) = &comparison.attribution {
                h3 { "Why it changed" }
                (charts::waterfall(&attribution.why(WHY_ROWS)))
            }
        }
    };
    section("Compared with the baseline", &body)
}

/// A rating as a class and a sign, because some readers do not see colours.
fn rated(light: TargetColor) -> (&'static str, &'static str) {
    match light {
        TargetColor::Green => ("pass", "✓ "),
        TargetColor::Amber => ("warn", "! "),
        TargetColor::Red => ("fail", "✗ "),
        TargetColor::NotJudged | TargetColor::Unknown => ("dim", ""),
    }
}

/// The figures that matter for what limits the run.
fn figures(badge: Option<&str>, figures: &[&KeyFigure]) -> Markup {
    let rating = |figure: &KeyFigure| {
        figure
            .target
            .as_ref()
            .map(|target| target.light)
            .map_or(("", ""), rated)
    };
    html! {
        @if !figures.is_empty() {
            div.figures {
                @for figure in figures {
                    div {
                        p.dim { (figure.title) }
                        @let (class, sign) = rating(figure);
                        p class={ "value " (class) } { (sign) (figure.text(number::value).unwrap_or_default()) }
                        p.cap { (summary::remark(figure, badge)) }
                    }
                }
            }
        }
    }
}

/// All headline numbers with their ratings.
fn all_figures(badge: Option<&str>, overview: &Overview) -> Markup {
    let is_shown = |figure: &&KeyFigure| figure.value.is_some() || figure.target.is_some();
    let shown: Vec<&KeyFigure> = overview.figures().filter(is_shown).collect();
    html! {
        @if !shown.is_empty() {
            div.scroll {
                table {
                    tr { th { "Figure" } th.n { "Is" } th.n { "Should be" } th { "Met" } th.wide { "Of what" } }
                    @for figure in shown {
                        tr {
                            td { (figure.title) @if let Some(note) = &figure.note { span.dim { "; " (note) } } }
                            td.n {
                                (figure.text(number::value).unwrap_or_else(|| number::MISSING.to_owned()))
                                @if let Some(percent) = figure.value.filter(|_| figure.unit == Unit::Percent) { (share(percent)) }
                            }
                            @if let Some(target) = &figure.target {
                                td.n { (target.goal()) }
                                @let (class, sign) = rated(target.light);
                                td.v { b class=(class) { (sign) (target.light.title()) } }
                            } @else {
                                td.n {}
                                td.v {}
                            }
                            td.dim.wide { @if figure.unit == Unit::Percent && !figure.of.is_empty() { "of " } (figure.of) @if !figure.of.is_empty() { ", " } (figure.provenance.title_in(badge)) }
                        }
                    }
                }
            }
        }
    }
}

/// A line below a number; its length is the number's share of the width of the cell.
fn share(percent: f64) -> Markup {
    html! { span.share style=(format_args!("width:{:.1}%", percent.clamp(0.0, 100.0))) {} }
}

/// The hints of every first screen, the first unfolded, and the others below them.
fn hints(overview: &Overview) -> Markup {
    let Some(report) = &overview.hints else {
        return PreEscaped::default();
    };
    let (shown, _) = first(report, HINTS_SHOWN);
    let is_shown = |hint: &&Hint| shown.iter().any(|other| std::ptr::eq(*other, *hint));
    let others: Vec<&Hint> = report.hints.iter().filter(|hint| !is_shown(hint)).collect();
    html! {
        @if let Some(open) = report.open_limit() { p { (open) } }
        @for (place, hint) in shown.iter().enumerate() { (card(hint, report, &shown[..place], place == 0)) }
        @if !others.is_empty() {
            details {
                summary.dim { (number::counted(others.len() as u64, "more hint")) }
                @for hint in &others { (card(hint, report, &shown, false)) }
            }
        }
    }
}

/// A hint: its saving; unfolded, what to do, the code, and the reasons.
fn card(hint: &Hint, report: &HintsReport, before: &[&Hint], is_open: bool) -> Markup {
    let facts = facts(hint, report, before);
    html! {
        details open[is_open] {
            summary { b { (hint.id) " " (hint.title) } " " span.dim { (facts) } }
            p { (hint.brief) }
            (code(hint.code.as_deref()))
            details.reasons {
                summary.dim { "Reasons and details" }
                p { (sentence(&hint.statement)) }
                p { (hint.action) }
                @for other in &hint.also {
                    p { b { (other.id) " " (other.title) } ", the same time: " (other.statement) }
                    p { (other.action) }
                    (code(other.code.as_deref()))
                }
            }
        }
    }
}

fn code(code: Option<&str>) -> Markup {
    html! { @if let Some(code) = code { pre { code { (code) } } } }
}

/// Ops that differ only in their number.
struct FamilyTime<'a> {
    name: &'a str,
    category: &'a str,
    ops: usize,
    /// Time in a step, in picoseconds.
    step_time: f64,
    source: Option<&'a str>,
}

/// Top ops; ops that differ only in their number share a row.
fn top_ops(run: &Summary) -> Markup {
    let mut families: BTreeMap<(&str, &str), FamilyTime<'_>> = BTreeMap::new();
    for op in &run.ops {
        let (name, category, source) = (
            without_number(&op.name),
            op.category.as_str(),
            op.source.as_deref(),
        );
        let new = FamilyTime {
            name,
            category,
            ops: 0,
            step_time: 0.0,
            source,
        };
        let family = families.entry((name, category)).or_insert(new);
        family.ops += 1;
        family.step_time += op.middle_ps;
    }
    let mut families: Vec<FamilyTime<'_>> = families.into_values().collect();
    families.sort_by(|a, b| b.step_time.total_cmp(&a.step_time).then(a.name.cmp(b.name)));
    let whole = run.steps.middle_ps.max(1.0);
    html! {
        @if !families.is_empty() {
            div.scroll {
                table {
                    tr { th { "Op" } th.wide { "Category" } th.n { "Ops" } th.n { "Time" } th.n { "Share" } th.wide { "Source" } }
                    @for FamilyTime { name, category, ops, step_time, source } in families.iter().take(ROWS) {
                        tr {
                            td { (name) @if name != category { span.dim.narrow { ", " (category) } } }
                            td.wide { (category) }
                            td.n { (ops) }
                            td.n { (Picos::rounded(*step_time)) }
                            td.n { (Percent(100.0 * step_time / whole)) (share(100.0 * step_time / whole)) }
                            (source_cell(*source))
                        }
                    }
                }
            }
            p.dim { "Time in " (charts::unit_of(run)[1]) "." }
        }
    }
}

/// What makes conclusions doubtful: the worst first, the others folded.
fn health(overview: &Overview) -> Markup {
    let (shown, others) = overview
        .health
        .split_at(overview.health.len().min(summary::CAUTIONS));
    let one = |finding: &CaptureFinding| {
        html! { p { (finding.message) " " span.dim { "(" (finding.id) ")" } } }
    };
    html! {
        @for finding in shown { (one(finding)) }
        @if !others.is_empty() {
            details {
                summary.dim { (number::counted(others.len() as u64, "more caution")) }
                @for finding in others { (one(finding)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use analysis::compare::{StepFacts, StepSeries};
    use analysis::gates::GatesReport;
    use analysis::{Options, Scope};
    use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    use super::*;
    use crate::DocumentView;
    use session::Session;

    const HOSTILE: &str = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;";

    #[test]
    fn names_are_escaped() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, HOSTILE);
        let ops = builder.track(core, TrackKind::Ops, 0, HOSTILE);
        let label = builder.label(HOSTILE, None);
        let range = TimeRange::new(Timestamp::from_ps(0), Timestamp::from_ps(1_000_000));
        builder.add_slice(ops, SliceSpec::new(range, label));
        let session = Session::from_model(builder.finish(), Options::default());
        let document = Document::new(&session, Scope::WholeTrace, &[], DocumentView::Summary);
        let mut run = Summary::of(&session.context(Scope::WholeTrace)).unwrap();
        run.facts.device_type = Some(HOSTILE.to_owned());
        run.steps = StepFacts {
            class: HOSTILE.to_owned(),
            ..run.steps
        };
        run.series.push(StepSeries {
            id: "step.matmul_ps".to_owned(),
            title: HOSTILE.to_owned(),
            unit: Unit::Picoseconds,
            better: analysis::compare::Better::Lower,
            values: vec![5.0],
        });
        let report = GatesReport {
            statement: HOSTILE.to_owned(),
            gates: Vec::new(),
        };
        let gated = GatedDocument {
            are_set: true,
            report,
            run,
            comparison: None,
        };
        let page = page(&document, &gated);
        assert!(page.contains("&lt;script&gt;"), "{page}");
        for wrong in ["<script", "<img", "onerror=alert(2)>&lt;\"", "</style><scr"] {
            assert!(!page.contains(wrong), "{wrong} in {page}");
        }
        // Nothing is loaded from anywhere.
        for wrong in ["http://", "https://", "src=", "@import", "url("] {
            assert!(
                !page
                    .replace(&html! { (HOSTILE) }.into_string(), "")
                    .replace(&session::xml::escaped(HOSTILE), "")
                    .contains(wrong),
                "{wrong}"
            );
        }
    }
}
