//! What ran, what limits it, the figures that matter, and what makes the capture doubtful.

use crate::prelude::*;
use analysis::reports::summary::doctor::SESSIONS_APART;
use analysis::reports::summary::targets::TargetColor;
use analysis::reports::{CaptureFinding, Steps};
use trace_model::{Severity, Source};

use crate::document::scope_in_words;
use crate::layout::padded;
use crate::table::shortened;
use view::overview::{KeyFigure, ReportSource as _};

/// Cautions on the screen; `doctor` has all.
pub const CAUTIONS: usize = 2;
/// Least width of the name of the file.
const LEAST_NAME: usize = 10;

/// What stands behind the name of the first file: how many more there are, the format, the size.
pub fn files(sources: &[Source]) -> String {
    let bytes: u64 = sources.iter().map(|source| source.packed_bytes).sum();
    let mut facts = String::new();
    if sources.len() > 1 {
        let _ = write!(
            facts,
            " and {}",
            number::counted(sources.len() as u64 - 1, "more file")
        );
    }
    let formats = sources.first().map_or("", |source| source.format);
    let _ = write!(facts, " · {formats} · {}", number::bytes(bytes));
    facts
}

/// What ran, and which part of it is shown.
pub fn ran(document: &Document, overview: &Overview) -> Vec<String> {
    let mut ran = overview.ran.words(|time| time.to_string());
    if document.scope != Scope::WholeTrace {
        let left_out = left_out(document).unwrap_or_default();
        ran.push(scope_in_words(document.scope) + &left_out);
    }
    ran
}

/// ` without step 0 (warm-up: compiles for 90.89 ms of 93.10 ms)`: the selected steps that the times of steps leave out.
fn left_out(document: &Document) -> Option<String> {
    const NAMED: usize = 2;
    if !matches!(document.scope, Scope::Steps { .. }) {
        return None;
    }
    let steps = document.with::<Steps, _>(|report| {
        let counted: Vec<u32> = report.counted().map(|step| step.number).collect();
        let mut steps = report.steps.clone();
        steps.retain(|step| !counted.contains(&step.number));
        steps
    })?;
    let named = steps.iter().take(NAMED).map(|step| match &step.left_out {
        Some(why) => format!("step {} ({why})", step.title()),
        None => format!("step {}", step.title()),
    });
    let named = joined(named, " and ");
    match steps.len() {
        0 => None,
        1..=NAMED => Some(format!(" without {named}")),
        more => Some(format!(" without {more} of them, first {named}")),
    }
}

/// The files and what ran.
pub fn header(document: &Document, overview: &Overview, layout: &TextLayout) -> String {
    let model = document.session.model();
    let sources = model.sources();
    let facts = files(sources);
    let mut text = String::new();
    if let Some(source) = sources.first() {
        let room = layout.width.saturating_sub(facts.width()).max(LEAST_NAME);
        let name = shortened(&document.name_of(source), room);
        let _ = writeln!(text, "{}{facts}", layout.style.bold(&name));
    }
    if let Some(badge) = model.badge_in_words() {
        text += &layout.bold_lines(0, &badge);
    }
    text + &layout.plain_lines(0, &ran(document, overview).join(" · "))
}

/// The sentence to read first, and what happens outside the loop.
pub fn limit(overview: &Overview, layout: &TextLayout) -> String {
    let time = |time: Picos| time.to_string();
    let limit = overview.limit(time);
    let limit = limit.map(|text| layout.bold_lines(0, &text));
    let outside = overview.outside(time);
    let outside = outside.map(|text| layout.dim_lines(0, &text));
    limit.into_iter().chain(outside).collect()
}

/// Aligned columns: title, value, target; the denominator beside or below them.
pub fn figures(badge: Option<&str>, figures: &[&KeyFigure], layout: &TextLayout) -> String {
    let values: Vec<String> = figures
        .iter()
        .map(|figure| figure.text(number::value).unwrap_or_default())
        .collect();
    let width = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let title = width(&mut figures.iter().map(|figure| figure.title.width()));
    let column = width(&mut values.iter().map(|value| value.width()));
    let mut text = String::new();
    for (figure, value) in figures.iter().zip(values) {
        let head = format!("{}  {value:>column$}  ", padded(figure.title, title));
        text += &layout.beside(&head, title + column + 4, &remark(figure, badge));
    }
    text
}

/// The target of a figure, its denominator, and where it comes from.
pub fn remark(figure: &KeyFigure, badge: Option<&str>) -> String {
    let from = figure.provenance.title_in(badge);
    let of = if figure.unit == Unit::Percent {
        "of "
    } else {
        ""
    };
    format!("{}{of}{} [{from}]", goal(figure), short(&figure.of))
}

/// A denominator in few words; `--only utilization` says where peaks come from.
fn short(of: &str) -> String {
    let of = of.replace(" (recorded in the capture)", "");
    let of = match of.strip_prefix("first op to last (") {
        Some(rest) => format!("the window ({rest}"),
        None => of,
    };
    match of.split_once(" (published ") {
        Some((of, rest)) => format!(
            "{of} (assumed){}",
            rest.split_once(')').map_or("", |rest| rest.1)
        ),
        None => of,
    }
}

/// `target > 80 %, missed; `
fn goal(figure: &KeyFigure) -> String {
    let Some(target) = &figure.target else {
        return String::new();
    };
    let word = match target.light {
        TargetColor::Green => "met",
        TargetColor::Amber | TargetColor::Red => "missed",
        TargetColor::NotJudged | TargetColor::Unknown => return String::new(),
    };
    format!("target {}, {word}; ", target.goal())
}

/// What makes conclusions doubtful; the details are in `systole doctor`.
pub fn cautions(overview: &Overview, layout: &TextLayout) -> String {
    let is_of_capture = |finding: &&CaptureFinding| finding.name != SESSIONS_APART;
    let all: Vec<_> = overview.health.iter().filter(is_of_capture).collect();
    let mut text = String::new();
    for finding in all.iter().take(CAUTIONS) {
        text += &caution(finding, layout);
    }
    let more = all.len().saturating_sub(CAUTIONS);
    if more > 0 {
        let more = format!(
            "{}: systole doctor",
            number::counted(more as u64, "more caution")
        );
        text += &layout.dim_lines(0, &more);
    }
    text
}

/// That files are of different sessions, which is said before what was computed from them.
pub fn sessions_apart(overview: &Overview, layout: &TextLayout) -> String {
    let apart = overview.health.iter();
    let mut apart = apart.filter(|finding| finding.name == SESSIONS_APART);
    apart
        .next()
        .map_or_else(String::new, |finding| caution(finding, layout))
}

fn caution(finding: &CaptureFinding, layout: &TextLayout) -> String {
    let heading = if finding.severity == Severity::Loss {
        "Lost"
    } else {
        "Caution"
    };
    let body = format!("{} ({})", finding.message, finding.id);
    let head = format!("{}  ", layout.style.bold(heading));
    layout.beside(&head, heading.len() + 2, &body)
}
