//! The screen of `systole compare`: the same work or not, the step, why it changed, what to look at and to record.

use crate::prelude::*;
use analysis::compare::{CauseChain, MetricChange, WHY_ROWS};
use analysis::reports::hlo::ProgramDiff;
use analysis::{distinct, shortened_path};

use crate::compared_runs::ComparedRuns;
use crate::table::table;
use crate::{USUAL_ROWS, gates};

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
/// Rows of each table about what differs between two programs.
pub const ROWS_OF_DIFF: usize = 4;
/// Differences of the environment, and lines of the chain of causes.
const ENVIRONMENT: usize = 4;
const CHAIN: usize = 3;
const FOOTER: &str = "All tables: --all. Some: --only why,ops. All numbers: --format json.";

/// The screen, of at most [`LINES`] lines; gates come before it.
pub fn screen(compared: &ComparedRuns<'_>, layout: &TextLayout) -> String {
    let comparison = compared.comparison;
    let mut parts = head(compared, layout);
    let others = others(comparison, layout);
    if comparison.prediction.is_none() && comparison.is_comparable {
        let end = ending(comparison, layout);
        let lines = |text: &String| text.lines().count() + usize::from(!text.is_empty());
        let used: usize = parts.iter().chain([&end, &others]).map(lines).sum();
        let most = if layout.width >= WIDE {
            LINES
        } else {
            NARROW_LINES
        };
        parts.push(why(comparison, most.saturating_sub(used + 2), layout));
        parts.push(end);
    } else if let Some(prediction) = &comparison.prediction {
        let top = match layout.top {
            0 => ERRORS,
            top => top.min(ERRORS),
        };
        let layout = TextLayout { top, ..*layout };
        parts.push(table(&prediction.table(), &layout));
    }
    let diff = comparison.program_diff.iter();
    let layout_of_diff = TextLayout {
        // Unless the user says how many.
        top: match layout.top {
            USUAL_ROWS => ROWS_OF_DIFF,
            top => top,
        },
        ..*layout
    };
    let tables = diff.flat_map(ProgramDiff::own_tables);
    parts.extend(tables.map(|one| table(&one, &layout_of_diff)));
    parts.push(others);
    parts.push(layout.dim_lines(0, FOOTER));
    joined(compared, parts, layout)
}

/// What is to be read first, and all tables.
pub fn in_full(compared: &ComparedRuns<'_>, layout: &TextLayout) -> String {
    let mut parts = head(compared, layout);
    parts.push(ending(compared.comparison, layout));
    let tables = compared.comparison.tables();
    parts.extend(tables.iter().map(|one| table(one, layout)));
    joined(compared, parts, layout)
}

/// From the environment over the program to the milliseconds, in full.
pub fn why_in_full(compared: &ComparedRuns<'_>, layout: &TextLayout) -> String {
    let comparison = compared.comparison;
    let mut parts = head(compared, layout);
    let tables = compared.tables_below_chain(ENVIRONMENT);
    parts.extend(tables.iter().map(|one| table(one, layout)));
    if comparison.prediction.is_none() && comparison.is_comparable {
        let causes = comparison.causes.as_ref();
        let chain = causes.map(|causes| {
            layout.heading("From cause to milliseconds")
                + &lines_of(causes, causes.lines.len(), layout)
        });
        parts.extend(chain);
        parts.push(conclusion(comparison, "", layout));
    }
    joined(compared, parts, layout)
}

/// Parts with blank lines between them, below the gates.
fn joined(compared: &ComparedRuns<'_>, mut parts: Vec<String>, layout: &TextLayout) -> String {
    parts.retain(|part| !part.is_empty());
    let gates = compared.gates.map_or_else(String::new, |gates| {
        gates::lines(gates, Some(compared.comparison), layout) + "\n"
    });
    gates + &parts.join("\n")
}

/// The sides, whether they did the same work, and the step.
fn head(compared: &ComparedRuns<'_>, layout: &TextLayout) -> Vec<String> {
    let comparison = compared.comparison;
    let brief = &comparison.brief;
    let bold = |line: &str| layout.style.bold(line);
    let work = said("", Some(&brief.work), layout, bold);
    let differ = said("", brief.differ.as_ref(), layout, |line| {
        layout.style.dim(line)
    });
    let environment = environment(comparison, layout);
    let mut parts = vec![sides(compared, layout), environment, work + &differ];
    if comparison.prediction.is_some() {
        parts.push(said("", Some(&comparison.statement), layout, bold));
    } else if comparison.is_comparable {
        let none = comparison.no_step_time();
        let step = brief.step.as_ref().or(none.as_ref());
        let of_loop = said("", brief.of_loop.as_ref(), layout, str::to_owned);
        parts.push(said("", step, layout, bold) + &of_loop);
    }
    parts
}

/// The conclusion, where to look, and what to record.
fn ending(comparison: &Comparison, layout: &TextLayout) -> String {
    conclusion(comparison, &chain(comparison, layout), layout)
}

/// The conclusion with the chain of causes below it, where to look, and what to record.
fn conclusion(comparison: &Comparison, chain: &str, layout: &TextLayout) -> String {
    let brief = &comparison.brief;
    let bold = |line: &str| layout.style.bold(line);
    let conclusion = said("", brief.conclusion.as_ref(), layout, bold);
    let look = brief.look_first.as_ref();
    conclusion
        + chain
        + &said("look first at ", look, layout, str::to_owned)
        + &said("", brief.record_next.as_ref(), layout, str::to_owned)
}

/// In what the environments differ, a line each.
fn environment(comparison: &Comparison, layout: &TextLayout) -> String {
    let changes = &comparison.environment;
    let mut lines: Vec<String> = changes
        .iter()
        .take(ENVIRONMENT)
        .map(|change| match &change.note {
            Some(note) => format!("{}: {note}", change.in_words()),
            None => change.in_words(),
        })
        .collect();
    let more = changes.len().saturating_sub(lines.len());
    if more > 0 {
        lines.push(format!("and {more} more: --only environment"));
    }
    let head = |line: String| layout.plain_lines(0, &line);
    let lines = lines.iter().map(|line| layout.plain_lines(2, line));
    let title = (!changes.is_empty()).then(|| head("Environment:".to_owned()));
    title.into_iter().chain(lines).collect()
}

/// From what differs in the environment to the milliseconds, where the environment is known.
fn chain(comparison: &Comparison, layout: &TextLayout) -> String {
    let Some(causes) = comparison.chain() else {
        return String::new();
    };
    lines_of(causes, CHAIN, layout)
}

/// The first lines of the chain, and what they leave open.
fn lines_of(causes: &CauseChain, shown: usize, layout: &TextLayout) -> String {
    let lines: String = causes
        .lines
        .iter()
        .take(shown)
        .map(|line| layout.plain_lines(2, &line.text))
        .collect();
    lines + &layout.dim_lines(2, &causes.ending(shown))
}

/// A sentence in lines.
fn said(
    begin: &str,
    text: Option<&String>,
    layout: &TextLayout,
    paint: impl Fn(&str) -> String,
) -> String {
    text.map_or_else(String::new, |text| {
        layout.lines(0, &sentence(&format!("{begin}{text}")), paint)
    })
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
    let sides = [
        ("base", compared.base, &comparison.base),
        ("cand", compared.cand, &comparison.cand),
    ];
    let all: Vec<&str> = sides
        .iter()
        .flat_map(|(_, _, facts)| facts.runs.iter().take(RUNS))
        .map(String::as_str)
        .collect();
    // Without what all names begin with, where they do not fit as they are.
    let short = distinct(&all);
    let mut names = all.iter().zip(&short);
    let mut text = String::new();
    for (side, runs, facts) in sides {
        let badge = runs.first().and_then(|run| run.facts.badge());
        let badge = badge.map_or_else(String::new, |badge| format!(" · {badge}"));
        let about = format!(" · {}{badge}", facts.about(runs));
        let more = match facts.runs.len().saturating_sub(RUNS) {
            0 => String::new(),
            more => format!(" and {}", number::counted(more as u64, "more run")),
        };
        let shown = facts.runs.len().min(RUNS);
        let taken = about.width() + more.width() + side.len() + 2 * shown;
        let room = layout.width.saturating_sub(taken) / shown.max(1);
        let names: Vec<String> = names
            .by_ref()
            .take(shown)
            .map(|(name, short)| {
                let fits = name.width() <= room;
                shortened_path(if fits { name } else { short }, room.max(LEAST_NAME))
            })
            .collect();
        let names = layout.style.bold(&names.join(", "));
        let _ = writeln!(text, "{side}  {names}{more}{about}");
    }
    text
}

/// That there are other classes of steps, and whether they changed.
fn others(comparison: &Comparison, layout: &TextLayout) -> String {
    let count = comparison.classes.len();
    if count == 0 {
        return String::new();
    }
    let changed = comparison
        .classes
        .iter()
        .filter(|class| class.step_time().is_some_and(MetricChange::is_real))
        .count();
    let text = format!(
        "other classes of steps: {count} compared, {changed} changed by more than noise: --all"
    );
    layout.dim_lines(0, &capitalised(&text))
}
