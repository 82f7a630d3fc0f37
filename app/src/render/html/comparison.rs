//! One page about two runs: what changed, whether that is more than noise, where the
//! time went. No script, no network, as the page of one run.

use std::fmt::Write as _;

use analysis::compare::{
    Attribution, ChangeVerdict, Comparison, ComparisonSide, MetricChange, OpChange, SeriesChange, ShiftEstimate,
    Summary, Weight, matched_classes, signed,
};
use analysis::{Percent, Tabular as _, Unit};

use super::super::comparison::{ComparedRuns, capitalised};
use super::super::junit::escaped;
use super::{failures, gates_section, html_table, marked, pictures, section, source_cell, style};
use crate::number;

/// Rows of the attribution and of the ops.
const ROWS: usize = 25;

/// The page.
pub fn page(compared: &ComparedRuns<'_>) -> String {
    let comparison = compared.comparison;
    let names = [&comparison.base, &comparison.cand].map(|side| side.runs.join(", "));
    let mut page = style::head();
    let _ = writeln!(
        page,
        "<title>{0} → {1} · Systole</title></head>\n<body><main>\n<header><p class=dim>base {0}{2}<br>cand {1}{3}</p>",
        escaped(&names[0]),
        escaped(&names[1]),
        escaped(&facts(&comparison.base, compared.base)),
        escaped(&facts(&comparison.cand, compared.cand)),
    );
    if let Some(gates) = compared.gates {
        failures(&mut page, gates);
    }
    for (side, runs) in [("base ", compared.base), ("cand ", compared.cand)] {
        marked(&mut page, side, runs.iter().find_map(|run| run.facts.badge()));
    }
    let _ = writeln!(page, "<h1>{}</h1>\n</header>", escaped(&capitalised(&comparison.statement)));
    if let Some(gates) = compared.gates {
        gates_section(&mut page, gates);
    }
    differences(&mut page, comparison);
    if comparison.is_comparable {
        // What a model is off is said of the steps of most time.
        let others = comparison.classes.iter().filter(|_| comparison.prediction.is_none());
        let all = std::iter::once(comparison).chain(others);
        for (at, (one, sides)) in all.zip(matched_classes(compared.base, compared.cand)).enumerate() {
            if at > 0 {
                let statement = format!("<p>{}</p>\n", escaped(&capitalised(&one.statement)));
                section(&mut page, &format!("Steps of {}", one.class_title()), &statement);
            }
            class(&mut page, one, &sides.base, &sides.cand);
        }
        let values = comparison.tables().into_iter().filter(|table| table.id.starts_with("run_"));
        let values: Vec<String> =
            values.map(|table| format!("<h3>{}</h3>{}", escaped(&table.title), html_table(&table))).collect();
        if !values.is_empty() {
            let body = format!(
                "<details><summary>One number of each run: nothing says how steady they are</summary>{}</details>\n",
                values.concat()
            );
            section(&mut page, "Whole runs", &body);
        }
    }
    health(&mut page, compared);
    let version = env!("CARGO_PKG_VERSION");
    let _ =
        writeln!(page, "<footer class=dim>Systole {version}. Every number: systole compare --format json.</footer>");
    page.push_str("</main></body></html>\n");
    page
}

fn facts(side: &ComparisonSide, runs: &[Summary]) -> String {
    let device = runs.first().map(|run| (run.facts.devices, run.facts.device_type.clone()));
    let devices = match device {
        Some((devices, kind)) if devices > 0 => {
            format!(" · {devices} × {}", kind.unwrap_or_else(|| "device".to_owned()))
        }
        _ => String::new(),
    };
    let steps = if side.steps == 1 { "1 steady step".to_owned() } else { format!("{} steady steps", side.steps) };
    format!("{devices} · {steps}")
}

fn differences(page: &mut String, comparison: &Comparison) {
    let mut body = String::new();
    for found in &comparison.differences {
        let class = match found.weight {
            Weight::Bars => "fail",
            Weight::Care => "warn",
            Weight::Note => "dim",
        };
        let _ = writeln!(
            body,
            "<details><summary>{} <b class={class}>{}</b> <span class=dim>{} ↔ {}</span></summary><p>{}</p></details>",
            escaped(found.title),
            escaped(found.weight.title()),
            escaped(&found.base),
            escaped(&found.cand),
            escaped(&capitalised(found.why)),
        );
    }
    if comparison.differences.is_empty() {
        body.push_str("<p>Nothing: devices, programs, shapes, steps and formats agree.</p>\n");
    }
    section(page, "What the runs differ in", &body);
}

/// What there is to say of the steps of one class.
fn class(page: &mut String, comparison: &Comparison, base: &[Summary], cand: &[Summary]) {
    if let Some(prediction) = &comparison.prediction {
        // A model is off; nothing became slower.
        for table in prediction.tables() {
            section(page, &table.title, &html_table(&table));
        }
        let notes = comparison.notes.iter().map(|note| format!("<p class=dim>{}</p>\n", escaped(&capitalised(note))));
        page.push_str(&notes.collect::<String>());
        return;
    }
    section(page, "Steps", &steps(comparison, base, cand));
    if let Some(attribution) = &comparison.attribution {
        section(page, "Where the change is", &waterfall(attribution));
    }
    section(page, "Ops", &ops(&comparison.ops));
}

fn steps(comparison: &Comparison, base: &[Summary], cand: &[Summary]) -> String {
    if comparison.steps.is_empty() {
        return String::new();
    }
    pictures::both(base, cand) + &numbers(comparison)
}

/// Step time, its parts and its shares with their ranges.
pub fn numbers(comparison: &Comparison) -> String {
    let mut body = String::from(
        "<div class=scroll><table><tr><th>What<th class=\"n wide\">Base<th class=n>Cand<th class=n>Change<th class=\"n wide\">with 95 %, from … to<th class=\"n wide\">Of base<th>Verdict</tr>\n",
    );
    for row in &comparison.steps {
        let (unit, change) = (row.unit, &row.change);
        let range =
            change.range.map_or(String::new(), |(low, high)| format!("{} … {}", more(low, unit), more(high, unit)));
        let _ = writeln!(
            body,
            "<tr><td>{}<td class=\"n wide\">{}<td class=n>{}<td class=n>{}<td class=\"n dim wide\">{range}<td class=\"n wide\">{}<td class=v>{}</tr>",
            escaped(&row.title),
            estimate(change.base, unit),
            estimate(change.cand, unit),
            change.change.map_or(number::MISSING.to_owned(), |change| more(change, unit)),
            percent(change),
            verdict(row),
        );
    }
    body.push_str("</table></div>\n");
    for note in &comparison.notes {
        let _ = writeln!(body, "<p class=dim>{}</p>", escaped(&capitalised(note)));
    }
    let _ = writeln!(
        body,
        "<p class=dim>Medians over steady steps on the slowest device; ± is half of where a median lies with 95 % confidence. \
         ~ is no more than noise (rank sum test at {} %, and more than equal steps differ by).</p>",
        100.0 * comparison.options.test.alpha
    );
    body
}

/// With its sign and unit; percentages of the step differ by points.
fn more(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Picoseconds => signed(value),
        Unit::Percent => format!("{} pp", two_digits(value)),
        _ => format!("{}{}", if value > 0.0 { "+" } else { "" }, number::value(value, unit)),
    }
}

fn estimate(estimate: Option<ShiftEstimate>, unit: Unit) -> String {
    let Some(estimate) = estimate else { return number::MISSING.to_owned() };
    let spread = estimate.low.zip(estimate.high).filter(|_| estimate.median > 0.0);
    let spread = spread.map_or(String::new(), |(low, high)| {
        format!(" <span class=\"dim wide\">±{:.2}</span>", Percent(50.0 * (high - low) / estimate.median))
    });
    format!("{}{spread}", number::value(estimate.median, unit))
}

fn percent(change: &MetricChange) -> String {
    change.change_percent.map_or(number::MISSING.to_owned(), |percent| format!("{} %", two_digits(percent)))
}

/// `+1.23`; what would be shown as nothing has no sign.
fn two_digits(value: f64) -> String {
    if value == 0.0 {
        "0".to_owned()
    } else if value.abs() < 0.005 {
        "0.00".to_owned()
    } else {
        format!("{value:+.2}")
    }
}

/// Never by colour alone.
fn verdict(row: &SeriesChange) -> String {
    let word = row.verdict();
    let is_worse = ["slower", "worse"].contains(&word.as_str());
    let is_better = ["faster", "better"].contains(&word.as_str());
    match (is_worse, is_better) {
        (true, _) => format!("<b class=fail>▲ {word}</b>"),
        (_, true) => format!("<b class=pass>▼ {word}</b>"),
        _ => escaped(&word),
    }
}

/// The change, kind of op by kind of op: each bar begins where the one above it ends,
/// and the last one ends at the whole change.
pub fn waterfall(attribution: &Attribution) -> String {
    let shown: Vec<_> = attribution.families.iter().filter(|family| family.change_ps.abs() >= 1.0).take(ROWS).collect();
    let mut rows: Vec<(String, &str, f64, String)> = shown
        .iter()
        .map(|family| {
            let count = family.base_ops.max(family.cand_ops);
            let count = if count > 1 { format!(" ×{count}") } else { String::new() };
            let what = match (family.finding, family.base_ops, family.cand_ops) {
                (None, ..) => "",
                (_, 0, _) => "new",
                (_, _, 0) => "gone",
                (Some(ChangeVerdict::Changed), ..) if family.change_ps > 0.0 => "slower",
                (Some(ChangeVerdict::Changed), ..) => "faster",
                (Some(ChangeVerdict::Noise), ..) => "~",
                (Some(_), ..) => "?",
            };
            (format!("{}{count}", family.name), family.part.title(), family.change_ps, what.to_owned())
        })
        .collect();
    let rest = attribution.change_ps - shown.iter().map(|family| family.change_ps).sum::<f64>();
    if rest.abs() >= 1.0 {
        rows.push(("all else".to_owned(), "", rest, String::new()));
    }
    if rows.is_empty() {
        return "<p>Nothing changed.</p>\n".to_owned();
    }
    let ends: Vec<f64> = rows
        .iter()
        .scan(0.0, |sum, row| {
            *sum += row.2;
            Some(*sum)
        })
        .collect();
    let (low, high) = ends.iter().fold((0.0_f64, 0.0_f64), |(low, high), &end| (low.min(end), high.max(end)));
    let place = |value: f64| if high > low { 100.0 * (value - low) / (high - low) } else { 0.0 };
    let bar = |from: f64, to: f64, class: &str| {
        let (left, right) = (place(from.min(to)), place(from.max(to)));
        format!("<span class=\"bar {class}\" style=\"left:{left:.2}%;width:{:.2}%\"></span>", (right - left).max(0.3))
    };
    let mut body = String::from(
        "<div class=scroll><table class=fall><tr><th>Ops<th class=n>Change<th class=wide>Verdict<th>Adding up</tr>\n",
    );
    let mut from = 0.0;
    for ((name, part, change, what), end) in rows.iter().zip(ends) {
        let class = if *change > 0.0 { "up" } else { "down" };
        let _ = writeln!(
            body,
            "<tr><td>{} <span class=dim>{}</span><td class=n>{}<td class=\"v wide\">{what}<td class=track>{}</tr>",
            escaped(name),
            escaped(part),
            signed(*change),
            bar(from, end, class)
        );
        from = end;
    }
    let _ = writeln!(
        body,
        "<tr><td><b>mean step of the middle half</b><td class=n><b>{}</b><td class=wide><td class=track>{}</tr></table></div>",
        signed(attribution.change_ps),
        bar(0.0, attribution.change_ps, if attribution.change_ps > 0.0 { "up" } else { "down" })
    );
    let left = attribution.families.iter().filter(|family| family.change_ps.abs() >= 1.0).count() - shown.len();
    if left > 0 {
        let _ = writeln!(body, "<p class=dim>{left} more kinds of ops are in “all else”.</p>");
    }
    body
}

fn ops(ops: &[OpChange]) -> String {
    if ops.is_empty() {
        return String::new();
    }
    let mut body = String::from(
        "<div class=scroll><table><tr><th>Op<th class=\"n wide\">Base<th class=\"n wide\">Cand<th class=n>Change<th class=n>Of base<th>Verdict<th class=\"n wide\">p<th class=wide>Matched<th class=wide>Source</tr>\n",
    );
    for op in ops.iter().take(ROWS) {
        let time = |estimate: Option<ShiftEstimate>, there: bool| {
            estimate
                .filter(|_| there)
                .map_or(number::MISSING.to_owned(), |estimate| number::value(estimate.median, Unit::Picoseconds))
        };
        let word = op.verdict();
        let word = match word.as_str() {
            "slower" => "<b class=fail>▲ slower</b>".to_owned(),
            "faster" => "<b class=pass>▼ faster</b>".to_owned(),
            _ => escaped(&word),
        };
        let tells = matches!(op.change.finding, ChangeVerdict::Changed | ChangeVerdict::Noise) && op.how.is_some();
        let matched = match (op.how, op.confidence) {
            (Some(how), Some(sure)) => {
                format!("{} <span class=dim>{:.0}</span>", escaped(how.title()), Percent(100.0 * sure))
            }
            _ => number::MISSING.to_owned(),
        };
        let _ = writeln!(
            body,
            "<tr><td>{}<td class=\"n wide\">{}<td class=\"n wide\">{}<td class=n>{}<td class=n>{}<td class=v>{word}<td class=\"n wide\">{}<td class=\"v wide\">{matched}{}</tr>",
            escaped(&op.name()),
            time(op.change.base, op.base_name.is_some()),
            time(op.change.cand, op.cand_name.is_some()),
            op.change.change.map_or(number::MISSING.to_owned(), signed),
            if op.how.is_some() { percent(&op.change) } else { number::MISSING.to_owned() },
            op.change.p.filter(|_| tells).map_or(String::new(), shown_p),
            source_cell(op.source.as_deref()),
        );
    }
    body.push_str("</table></div>\n");
    let changed = ops.iter().filter(|op| op.change.is_real()).count();
    let _ = writeln!(
        body,
        "<p class=dim>{changed} of {} ops changed by more than noise{}. Medians of the time in a step; a collective counts \
         with what nothing hides. p is after Holm's correction over all ops; the percentage says how sure it is that two ops are one.</p>",
        ops.len(),
        if ops.len() > ROWS {
            format!("; the {ROWS} with the largest change of the mean step are shown")
        } else {
            String::new()
        },
    );
    body
}

/// Smaller ones say nothing more.
fn shown_p(p: f64) -> String {
    if p < 0.001 { "&lt;0.001".to_owned() } else { format!("{p:.3}") }
}

fn health(page: &mut String, compared: &ComparedRuns<'_>) {
    let mut body = String::new();
    for (side, runs) in [("base", compared.base), ("cand", compared.cand)] {
        for fact in runs.iter().flat_map(|run| &run.facts.health) {
            let _ = writeln!(
                body,
                "<p>{side}: {} <span class=dim>({})</span></p>",
                escaped(&fact.message),
                escaped(&fact.id)
            );
        }
    }
    section(page, "How far to trust this", &body);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use analysis::compare::{CompareOptions, compare};

    use super::*;

    const HOSTILE: &str = "</style><script>alert(1)</script>\"'><img src=x onerror=alert(2)>&lt;";

    /// A run of ten steps whose every text is hostile.
    fn run(ms: f64, names: &[&str]) -> Summary {
        let steps: Vec<f64> = (0..10).map(|i| ms * 1e9 * (1.0 + 0.001 * f64::from(i))).collect();
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
        page(&ComparedRuns { base, cand, comparison: &comparison, gates: None, trace: Path::new("t") })
    }

    #[test]
    fn hostile_names_stay_text() {
        let (base, cand) = (run(100.0, &["a.1", HOSTILE]), run(120.0, &["a.1", HOSTILE, "<b>"]));
        let page = page_of(&[base], &[cand]);
        assert!(page.contains("&lt;script&gt;"), "{page}");
        for wrong in ["<script", "<img", "onerror=alert(2)>&lt;\"", "</style><scr", "<b>\u{20}"] {
            assert!(!page.contains(wrong), "{wrong} in {page}");
        }
        for wrong in ["http://", "https://", "src=", "@import", "url("] {
            // A cell shows the last part of a path only.
            let shown = page.replace(&escaped(HOSTILE), "").replace("&lt;img src=x", "");
            assert!(!shown.contains(wrong), "{wrong}");
        }
    }

    #[test]
    fn bars_add_up_to_the_change() {
        let (base, cand) = (run(100.0, &["a.1", "b.1"]), run(120.0, &["a.1", "b.1"]));
        let page = page_of(&[base], &[cand]);
        // Each bar begins where the one before it ends, and the last spans all of them.
        let bars: Vec<(f64, f64)> = page
            .split("<span class=\"bar ")
            .skip(1)
            .map(|bar| {
                let number =
                    |name: &str| bar.split_once(name).unwrap().1.split('%').next().unwrap().parse::<f64>().unwrap();
                (number("left:"), number("width:"))
            })
            .collect();
        let (whole, parts) = bars.split_last().unwrap();
        assert!(parts.len() >= 2, "{bars:?}");
        assert!(parts.windows(2).all(|two| (two[0].0 + two[0].1 - two[1].0).abs() < 0.02), "{bars:?}");
        assert!((parts.iter().map(|bar| bar.1).sum::<f64>() - whole.1).abs() < 0.05, "{bars:?}");
    }

    #[test]
    fn what_cannot_be_compared_shows_why() {
        let mut other = run(100.0, &["a.1"]);
        other.facts.devices = 4;
        let page = page_of(&[run(100.0, &["a.1"])], &[other]);
        assert!(page.contains("Not comparable") && !page.contains("class=fall>"), "{page}");
    }
}
