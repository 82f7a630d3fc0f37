//! The screen of `systole compare`: the same work or not, the step, why it changed, what to look at and to record.

use std::fmt::Write as _;

use analysis::compare::{Comparison, MetricChange, Summary, WHY_ROWS};
use unicode_width::UnicodeWidthStr as _;

use crate::comparison::ComparedRuns;
use crate::table::{shortened, table};
use crate::{TextLayout, gates};
use session::number;
use view::words::{capitalised, sentence};

/// Lines of the screen at most, where there are at least [`WIDE`] columns.
const LINES: usize = 35;
/// Lines where there are fewer columns.
const NARROW_LINES: usize = 41;
const WIDE: usize = 100;
/// Runs of a side that are named.
const RUNS: usize = 2;
/// Least width of the name of a run.
const LEAST_NAME: usize = 16;
/// Rows of the table of errors of a prediction.
const ERRORS: usize = 10;
const FOOTER: &str = "All tables: --all. Some: --only why,ops. All numbers: --format json.";

/// The screen, of at most [`LINES`] lines; gates come before it.
pub fn screen(compared: &ComparedRuns<'_>, layout: &TextLayout) -> String {
    let comparison = compared.comparison;
    let brief = &comparison.brief;
    let mut text = String::new();
    if let Some(gates) = compared.gates {
        text.push_str(&gates::lines(gates, None, layout));
        text.push('\n');
    }
    let mut parts = vec![sides(compared, layout)];
    let bold = |line: &str| layout.style.bold(line);
    let plain = str::to_owned;
    let said = |head: &str, said: &Option<String>, paint: &dyn Fn(&str) -> String| {
        said.as_ref().map_or_else(String::new, |said| {
            let text = sentence(&format!("{head}{said}"));
            layout.lines(0, &text, paint)
        })
    };
    let dim = |line: &str| layout.style.dim(line);
    let work = said("", &Some(brief.work.clone()), &bold) + &said("", &brief.differ, &dim);
    parts.push(work);
    if let Some(prediction) = &comparison.prediction {
        parts.push(layout.lines(0, &sentence(&comparison.statement), bold));
        let layout = TextLayout {
            top: if layout.top == 0 {
                ERRORS
            } else {
                layout.top.min(ERRORS)
            },
            ..*layout
        };
        parts.extend(prediction.tables().iter().map(|one| table(one, &layout)));
    } else if comparison.is_comparable {
        let nothing = comparison.steps.is_empty();
        let step =
            nothing.then(|| "neither run has steps whose times could be compared".to_owned());
        parts.push(
            said("", &brief.step.clone().or(step), &bold) + &said("", &brief.of_loop, &plain),
        );
        let end = said("", &brief.conclusion, &bold)
            + &said("look first at ", &brief.look_first, &plain)
            + &said("", &brief.record_next, &plain);
        let others = others(comparison, layout);
        let lines = |text: &str| text.lines().count() + usize::from(!text.is_empty());
        let used: usize = parts
            .iter()
            .chain([&end, &others])
            .map(|part| lines(part))
            .sum();
        let most = if layout.width >= WIDE {
            LINES
        } else {
            NARROW_LINES
        };
        parts.push(why(comparison, most.saturating_sub(used + 2), layout));
        parts.extend([end, others]);
    }
    parts.push(layout.lines(0, FOOTER, dim));
    parts.retain(|part| !part.is_empty());
    text + &parts.join("\n")
}

/// The table "Why", with as many rows as there is room for.
fn why(comparison: &Comparison, room: usize, layout: &TextLayout) -> String {
    let attribution = comparison.attribution.as_ref();
    let Some(attribution) = attribution.filter(|one| one.conclusion().is_some()) else {
        return String::new();
    };
    let layout = TextLayout { top: 0, ..*layout };
    let tables = (2..=WHY_ROWS).rev();
    let mut texts = tables.map(|rows| table(&attribution.why_table(rows), &layout));
    texts
        .find(|text| text.lines().count() < room)
        .unwrap_or_default()
}

/// A line for each side: its runs, chips, steps.
fn sides(compared: &ComparedRuns<'_>, layout: &TextLayout) -> String {
    let comparison = compared.comparison;
    let mut text = String::new();
    for (side, runs, facts) in [
        ("base", compared.base, &comparison.base),
        ("cand", compared.cand, &comparison.cand),
    ] {
        let about = about(runs, facts.steps);
        let room = layout.width.saturating_sub(about.width() + side.len() + 2);
        let shown = runs.len().min(RUNS);
        let each = (room / shown.max(1)).max(LEAST_NAME);
        let names: Vec<String> = facts
            .runs
            .iter()
            .take(shown)
            .map(|name| shortened(name, each.saturating_sub(2)))
            .collect();
        let more = match runs.len() - shown {
            0 => String::new(),
            more => format!(" and {}", number::counted(more as u64, "more run")),
        };
        let _ = writeln!(
            text,
            "{side}  {}{more}{about}",
            layout.style.bold(&names.join(", "))
        );
    }
    text
}

/// ` · 4 × TPU v6 Lite · 29 steady steps`
fn about(runs: &[Summary], steps: usize) -> String {
    let facts = runs.first().map(|run| &run.facts);
    let devices = facts.filter(|facts| facts.devices > 0).map(|facts| {
        let kind = facts
            .device_type
            .as_deref()
            .unwrap_or("TPU of unknown type");
        format!(" · {} × {kind}", facts.devices)
    });
    let steps = number::counted(steps as u64, "steady step");
    let badge = facts.and_then(|facts| facts.badge());
    let badge = badge.map_or_else(String::new, |badge| format!(" · {badge}"));
    format!("{} · {steps}{badge}", devices.unwrap_or_default())
}

/// That there are other classes of steps, and whether they changed.
fn others(comparison: &Comparison, layout: &TextLayout) -> String {
    let count = comparison.classes.len();
    if count == 0 {
        return String::new();
    }
    let changed = comparison.classes.iter().filter(|class| {
        let step = class.step_time();
        step.is_some_and(MetricChange::is_real)
    });
    let changed = changed.count();
    let text = format!(
        "other classes of steps: {count} compared, {changed} changed by more than noise: --all"
    );
    layout.lines(0, &capitalised(&text), |line| layout.style.dim(line))
}
