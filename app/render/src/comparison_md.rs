//! What to read first of a comparison, as Markdown.

use crate::prelude::*;
use analysis::compare::{CauseChain, ComparisonSide, WHY_ROWS};
use analysis::reports::hlo::ProgramDiff;

use crate::compared_runs::ComparedRuns;
use crate::{ROWS_OF_DIFF, markdown};

/// What to read first of a comparison as Markdown, in full, without the table, and as one sentence.
pub fn blocks(comparison: &Comparison) -> Vec<String> {
    let brief = &comparison.brief;
    let bold = |said: &str| format!("**{}**", markdown::escaped(&sentence(said)));
    let plain = |said: &str| markdown::escaped(&sentence(said));
    let line =
        |texts: [Option<String>; 3]| markdown::block(&joined(texts.into_iter().flatten(), " "));
    let only = markdown::block(&bold(&comparison.statement));
    if comparison.prediction.is_some() {
        return vec![only.clone(), only];
    }
    let differ = brief.differ.as_deref().map(plain);
    let step = brief.step.as_deref().map(bold);
    let head = environment(comparison)
        + &line([Some(bold(&brief.work)), differ, None])
        + &line([step, brief.of_loop.as_deref().map(plain), None]);
    let look = brief.look_first.as_ref();
    let end = line([
        brief.conclusion.as_deref().map(bold),
        look.map(|what| plain(&format!("look first at {what}"))),
        brief.record_next.as_deref().map(plain),
    ]);
    let table = comparison
        .attribution
        .as_ref()
        .filter(|_| brief.conclusion.is_some())
        .map(|one| {
            let table = one.why_table(WHY_ROWS);
            markdown::block(&markdown::body(&table, 0))
        });
    let diff = comparison
        .program_diff
        .iter()
        .flat_map(ProgramDiff::own_tables)
        .map(|table| markdown::block(&markdown::markdown(&table, ROWS_OF_DIFF)));
    let table = table.into_iter().chain(diff).collect::<String>();
    let end = comparison.chain().map_or_else(String::new, chain) + &end;
    vec![format!("{head}{table}{end}"), format!("{head}{end}"), only]
}

/// From the environment over the program to the milliseconds, in full, below the names of both sides.
pub fn why_in_full(compared: &ComparedRuns<'_>) -> String {
    let comparison = compared.comparison;
    let side = |name: &str, side: &ComparisonSide, runs: &[Summary]| {
        let line = format!("{name}: {} · {}", side.runs.join(", "), side.about(runs));
        markdown::block(&markdown::escaped(&line))
    };
    let sides = side("Base", &comparison.base, compared.base)
        + &side("Cand", &comparison.cand, compared.cand);
    // Without a difference of the environment the screen has no chain.
    let causes = comparison
        .causes
        .as_ref()
        .filter(|_| comparison.chain().is_none());
    sides + &blocks(comparison).swap_remove(1) + &causes.map_or_else(String::new, chain)
}

/// Differences of the environment that are listed.
pub const ENVIRONMENT: usize = 6;

/// In what the environments differ, as a table; empty if that is not known.
fn environment(comparison: &Comparison) -> String {
    let changes = &comparison.environment;
    if changes.is_empty() {
        return String::new();
    }
    let unknown = || "unknown".to_owned();
    let mut text = "| Environment | Base | Cand |\n|---|---|---|\n".to_owned();
    for change in changes.iter().take(ENVIRONMENT) {
        let cells = [
            change.title.clone(),
            change.base.clone().unwrap_or_else(unknown),
            change.cand.clone().unwrap_or_else(unknown),
        ];
        let [title, base, cand] = cells.map(|cell| markdown::escaped(&cell));
        let _ = writeln!(text, "| {title} | {base} | {cand} |");
    }
    let mut text = markdown::block(&text);
    if let Some(more) = changes
        .len()
        .checked_sub(ENVIRONMENT)
        .filter(|more| *more > 0)
    {
        text += &markdown::block(&format!(
            "and {more} more in the table \"Environment\" below."
        ));
    }
    text
}

/// From what differs in the environment to the milliseconds.
fn chain(causes: &CauseChain) -> String {
    let mut text = String::new();
    for line in &causes.lines {
        let _ = writeln!(text, "- {}", markdown::escaped(&line.text));
    }
    let ending = causes.ending(causes.lines.len());
    markdown::block(&text) + &markdown::block(&markdown::escaped(&ending))
}
