//! One page about a run: no script, no network, light and dark, readable on a phone.
//! Every text that comes from a trace is escaped.

pub mod comparison;
mod pictures;
mod roofline;
mod style;
mod usage;

use std::fmt::Write as _;

use analysis::compare::Summary;
use analysis::gates::{GateLevel, GatesReport, Status};
use analysis::hints::Hints;
use analysis::reports::summary::verdict::Verdict;
use analysis::{Cell, Column, Percent, Table};
use trace_model::{Caveat, Picos, without_number};

use crate::number;
use crate::render::comparison::capitalised;
use crate::render::junit::escaped;
use crate::render::{Document, GatedDocument};

/// Rows of a table of the page.
const ROWS: usize = 15;

/// The page.
pub fn page(document: &Document, gated: &GatedDocument) -> String {
    let names: Vec<String> = document.session.model().sources().iter().map(|source| document.name_of(source)).collect();
    let name = match &names[..] {
        [] => "a run".to_owned(),
        [only] => only.clone(),
        [first, ..] => format!("{first} and {} more", names.len() - 1),
    };
    let mut page = style::head();
    let _ = write!(page, "<title>{0} · Systole</title></head>\n<body><main>\n<header><p class=dim>{0}", escaped(&name));
    let _ = write!(page, " · {} · ", number::counted(document.session.model().slice_count() as u64, "slice"));
    let _ = writeln!(page, "{}</p>", escaped(&facts(&gated.run)));
    if gated.are_set {
        failures(&mut page, &gated.report);
    }
    marked(&mut page, "", document.session.model().badge());
    if let Ok(verdict) = document.session.report::<Verdict>(document.scope) {
        let _ = writeln!(page, "<h1>{}</h1>", escaped(&capitalised(&verdict.statement)));
    }
    page.push_str("</header>\n");
    if gated.are_set {
        gates_section(&mut page, &gated.report);
    }
    beside_baseline(&mut page, gated);
    let are_lengths_known = !document.session.model().has_caveat(Caveat::PlaceholderTimes);
    if are_lengths_known {
        section(&mut page, "How well the chip is used", &usage::usage(document));
        section(&mut page, "Where the time of a step goes", &pictures::breakdown(&gated.run));
        section(&mut page, "Steps", &pictures::steps(&gated.run));
        hints(&mut page, document);
        section(&mut page, "Top ops of a step", &top_ops(&gated.run));
    }
    section(&mut page, "Timeline", &pictures::timeline(document));
    section(&mut page, "Roofline", &roofline::roofline(document));
    health(&mut page, gated);
    let version = env!("CARGO_PKG_VERSION");
    let _ =
        writeln!(page, "<footer class=dim>Systole {version}. Every number: systole analyze --format json.</footer>");
    page.push_str("</main></body></html>\n");
    page
}

/// That times of a side were not measured, where they were not.
fn marked(page: &mut String, side: &str, badge: Option<String>) {
    if let Some(badge) = badge {
        let _ = writeln!(page, "<p>{side}<b class=warn>{}</b>: nothing here was measured</p>", escaped(&badge));
    }
}

fn facts(run: &Summary) -> String {
    let device = run.facts.device_type.clone().unwrap_or_else(|| "device".to_owned());
    let steps = run.steps.counted;
    let steps = if steps == 1 { "1 steady step".to_owned() } else { format!("{steps} steady steps") };
    match run.facts.devices {
        0 => steps,
        devices => format!("{devices} × {device} · {steps}"),
    }
}

/// Nothing, if there is nothing to show.
fn section(page: &mut String, title: &str, body: &str) {
    if !body.is_empty() {
        let _ = writeln!(page, "<section><h2>{}</h2>\n{body}</section>", escaped(title));
    }
}

/// What failed, above everything else.
fn failures(page: &mut String, report: &GatesReport) {
    let failed: Vec<_> = report.failed().collect();
    let [first, ..] = failed[..] else { return };
    let title = if let [only] = failed[..] { only.name() } else { format!("{} gates", failed.len()) };
    let _ = writeln!(page, "<h1 class=fail>✗ Failed: {}</h1>", escaped(&title));
    let messages: Vec<_> = if failed.len() == 1 { vec![first] } else { failed };
    for gate in messages {
        // It begins with the id of a metric.
        let _ = writeln!(page, "<p class=fail>{}</p>", escaped(&gate.message));
    }
}

fn gates_section(page: &mut String, report: &GatesReport) {
    let mut body = String::from(
        "<div class=scroll><table><tr><th>Gate<th class=\"n wide\">Actual<th class=\"n wide\">Baseline<th>What</tr>\n",
    );
    for gate in &report.gates {
        let (class, word) = match (gate.status, gate.level) {
            (Status::Pass, _) => ("pass", "✓ pass"),
            (Status::Fail, GateLevel::Error) => ("fail", "✗ fail"),
            (Status::Fail, _) => ("warn", "! warning"),
            (Status::Inconclusive, _) => ("warn", "? inconclusive"),
        };
        let cell = |value: Option<f64>| value.map_or("–".to_owned(), |value| format!("{value:.3}"));
        let _ = writeln!(
            body,
            "<tr><td><b class={class}>{word}</b> {}<td class=\"n wide\">{}<td class=\"n wide\">{}<td>{}</tr>",
            escaped(&gate.name()),
            cell(gate.actual),
            cell(gate.base),
            escaped(&gate.message)
        );
    }
    body.push_str("</table></div>\n");
    section(page, &capitalised(&report.statement), &body);
}

fn beside_baseline(page: &mut String, gated: &GatedDocument) {
    let Some(found) = &gated.comparison else { return };
    let mut body = format!("<p>{}</p>\n", escaped(&capitalised(&found.statement)));
    for (side, runs) in [("Baseline", &found.base.runs), ("Run", &found.cand.runs)] {
        let _ = writeln!(body, "<p class=dim>{side}: {}</p>", escaped(&runs.join(", ")));
    }
    if found.is_comparable {
        let _ = write!(body, "<h3>Step time</h3>\n{}", comparison::numbers(found));
        if let Some(attribution) = &found.attribution {
            let _ = write!(body, "<h3>Where the change is</h3>\n{}", comparison::waterfall(attribution));
        }
    }
    section(page, "Beside the baseline", &body);
}

/// Numbers as people read them; what does not fit the width scrolls.
fn html_table(table: &Table) -> String {
    let mut text = String::from("<div class=scroll><table><tr>");
    let is_number = |cell: Option<&Cell>| matches!(cell, Some(Cell::Int(_) | Cell::Float(_)));
    let class_of = |(at, column): (usize, &Column)| {
        let are_numbers = column.unit != analysis::Unit::None || table.rows.iter().any(|row| is_number(row.get(at)));
        if are_numbers { " class=n" } else { "" }
    };
    let classes: Vec<&str> = table.columns.iter().enumerate().map(class_of).collect();
    for (column, class) in table.columns.iter().zip(&classes) {
        let _ = write!(text, "<th{class}>{}", escaped(column.title));
    }
    text.push_str("</tr>\n");
    for row in table.rows.iter().take(ROWS) {
        text.push_str("<tr>");
        for ((cell, column), class) in row.iter().zip(&table.columns).zip(&classes) {
            let _ = write!(text, "<td{class}>{}", escaped(&number::in_column(cell, column)));
        }
        text.push_str("</tr>\n");
    }
    text.push_str("</table></div>");
    if table.rows.len() > ROWS {
        let _ = write!(text, "<p class=dim>… {} more rows</p>", table.rows.len() - ROWS);
    }
    text
}

fn hints(page: &mut String, document: &Document) {
    const SHOWN: usize = 8;
    let Ok(report) = document.session.report::<Hints>(document.scope) else { return };
    if report.hints.is_empty() {
        return;
    }
    let mut body = String::new();
    for hint in report.hints.iter().take(SHOWN) {
        let saving = match (hint.saving_ps, hint.once_ps) {
            (Some(ps), _) => format!("saves at most {} of a step", Picos::from_ps(ps)),
            (None, Some(once)) => format!("saves {} once, nothing in a warm step", Picos::from_ps(once)),
            (None, None) => "saving not known".to_owned(),
        };
        let _ = write!(
            body,
            "<details><summary><b>{}</b> {} <span class=dim>{saving} · {}</span></summary><p>{}</p><p>{}</p>",
            hint.id,
            escaped(hint.title),
            hint.severity.title(),
            escaped(&hint.statement),
            escaped(&hint.action)
        );
        for other in &hint.also {
            let (title, seen, action) = (escaped(other.title), escaped(&other.statement), escaped(&other.action));
            let _ = write!(body, "<p><b>{}</b> {title}, the same time: {seen}</p><p>{action}</p>", other.id);
        }
        body.push_str("</details>\n");
    }
    if report.hints.len() > SHOWN {
        let _ = writeln!(body, "<p class=dim>… {} more</p>", report.hints.len() - SHOWN);
    }
    section(page, "What to do", &body);
}

/// The file and line; the whole path where it is pointed at.
fn source_cell(source: Option<&str>) -> String {
    let source = source.unwrap_or_default();
    let file = source.rsplit(['/', '\\']).next().unwrap_or_default();
    format!("<td class=\"dim wide\" title=\"{}\">{}", escaped(source), escaped(file))
}

/// Ops that differ in their number only are one row.
fn top_ops(run: &Summary) -> String {
    let mut families: Vec<(&str, &str, usize, f64, Option<&str>)> = Vec::new();
    let mut places = std::collections::BTreeMap::new();
    for op in &run.ops {
        let name = without_number(&op.name);
        let at = *places.entry((name, op.category.as_str())).or_insert_with(|| {
            families.push((name, &op.category, 0, 0.0, op.source.as_deref()));
            families.len() - 1
        });
        if let Some(family) = families.get_mut(at) {
            family.2 += 1;
            family.3 += op.middle_ps;
        }
    }
    if families.is_empty() {
        return String::new();
    }
    families.sort_by(|a, b| b.3.total_cmp(&a.3).then(a.0.cmp(b.0)));
    let whole = run.steps.middle_ps.max(1.0);
    let mut text = String::from(
        "<div class=scroll><table><tr><th>Op<th class=wide>Category<th class=n>Ops<th class=n>Time<th class=n>Of step<th class=wide>Source</tr>\n",
    );
    for (name, category, count, time, source) in families.iter().take(ROWS) {
        let percent = 100.0 * time / whole;
        let _ = writeln!(
            text,
            "<tr><td>{0}<span class=\"dim narrow\">{6}</span><td class=wide>{1}<td class=n>{count}<td class=n>{2}<td class=n>{3}<span class=share style=\"width:{4:.1}%\"></span>{5}</tr>",
            escaped(name),
            escaped(category),
            Picos::from_ps(time.round() as i64),
            Percent(percent),
            percent.clamp(0.0, 100.0),
            source_cell(*source),
            if name == category { String::new() } else { format!(", {}", escaped(category)) },
        );
    }
    text.push_str(
        "</table></div>\n<p class=dim>Time in the mean step of the middle half, on the slowest device.</p>\n",
    );
    text
}

fn health(page: &mut String, gated: &GatedDocument) {
    let mut body = String::new();
    for fact in &gated.run.facts.health {
        let _ = writeln!(body, "<p>{} <span class=dim>({})</span></p>", escaped(&fact.message), escaped(&fact.id));
    }
    section(page, "How far to trust this", &body);
}

#[cfg(test)]
mod tests {
    use analysis::compare::{StepFacts, StepSeries};
    use analysis::{Options, Scope};
    use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

    use super::*;
    use crate::render::DocumentView;
    use crate::session::Session;

    const HOSTILE: &str = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;";

    #[test]
    fn hostile_names_stay_text() {
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
        run.steps = StepFacts { class: HOSTILE.to_owned(), ..run.steps };
        run.series.push(StepSeries {
            id: "step.matmul_ps".to_owned(),
            title: HOSTILE.to_owned(),
            unit: analysis::Unit::Picoseconds,
            better: analysis::compare::Better::Lower,
            values: vec![5.0],
        });
        let report = GatesReport { statement: HOSTILE.to_owned(), gates: Vec::new() };
        let gated = GatedDocument { are_set: true, report, run, comparison: None };
        let page = page(&document, &gated);
        assert!(page.contains("&lt;script&gt;"), "{page}");
        for wrong in ["<script", "<img", "onerror=alert(2)>&lt;\"", "</style><"] {
            assert!(!page.contains(wrong), "{wrong} in {page}");
        }
        // Nothing is loaded from anywhere.
        for wrong in ["http://", "https://", "src=", "@import", "url("] {
            assert!(!page.replace(&escaped(HOSTILE), "").contains(wrong), "{wrong}");
        }
    }
}
