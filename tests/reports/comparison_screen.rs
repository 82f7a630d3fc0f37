//! The screen of a comparison, for pairs of all samples and of the captures of the corpus: it fits, cuts no sentence, and
//! its table adds up.

use std::path::Path;

use analysis::Scope;
use analysis::compare::{CompareOptions, Comparison, Summary, WHY_ROWS, compare};
use analysis::{Options, printable};
use importers::{ImportOptions, Progress};
use render::comparison::{ComparedRuns, ShownTables, markdown, text};
use render::{AnsiStyle, TextLayout, html};
use session::Session;

use crate::first_screen::{MARKDOWN, captures, unfolded};

/// Widths of terminals, and the lines that the screen may take.
const LAYOUTS: [(usize, usize); 4] = [(140, 35), (100, 35), (80, 41), (60, 60)];

fn summary(path: &Path) -> Option<Summary> {
    let (import, options) = (ImportOptions::default(), Options::default());
    let session = Session::open(path, &import, options, &Progress::new()).ok()?;
    Summary::of(&session.context(Scope::WholeTrace)).ok()
}

/// Rows of uses and of ops add up.
fn sums_are_wrong(comparison: &Comparison) -> Option<String> {
    let attribution = comparison.attribution.as_ref()?;
    // Sums of as many numbers as there are ops.
    let near = |a: f64, b: f64| (a - b).abs() <= 1.0 + 1e-9 * attribution.base_ps.abs();
    for most in [3, WHY_ROWS] {
        let rows = attribution.why(most);
        let (step, parts) = rows.split_last()?;
        let uses: f64 = parts
            .iter()
            .filter(|row| !row.is_below)
            .map(|row| row.change_ps)
            .sum();
        if rows.len() > most
            || !near(uses, step.change_ps)
            || !near(step.change_ps, attribution.change_ps)
        {
            return Some(format!("{most} rows: {rows:?}"));
        }
        for (at, row) in parts.iter().enumerate().filter(|(_, row)| !row.is_below) {
            let below = parts[at + 1..].iter().take_while(|row| row.is_below);
            let below: Vec<f64> = below.map(|row| row.change_ps).collect();
            if !below.is_empty() && !near(below.iter().sum(), row.change_ps) {
                return Some(format!("below {row:?}: {below:?}"));
            }
        }
    }
    None
}

fn faults(base: &Summary, cand: &Summary, force: bool) -> Vec<String> {
    let options = CompareOptions {
        force,
        ..CompareOptions::default()
    };
    let (base, cand) = (std::slice::from_ref(base), std::slice::from_ref(cand));
    let comparison = compare(base, cand, &options);
    let compared = ComparedRuns {
        base,
        cand,
        comparison: &comparison,
        gates: None,
        trace: Path::new("trace"),
        shown: ShownTables::Screen,
    };
    let mut faults: Vec<String> = sums_are_wrong(&comparison).into_iter().collect();
    let layout = |width| TextLayout {
        width,
        top: 10,
        entries: 0,
        style: AnsiStyle::PLAIN,
    };
    for (width, most) in LAYOUTS {
        let text = text(&compared, &layout(width));
        if text.lines().count() > most {
            faults.push(format!(
                "{} lines of {width} columns:\n{text}",
                text.lines().count()
            ));
        }
        // Names of runs, and cells of tables.
        let is_name = |line: &&str| {
            ["  ", "base ", "cand "]
                .iter()
                .any(|is| line.starts_with(is))
        };
        let cut = text
            .lines()
            .filter(|line| !is_name(line))
            .find(|line| line.contains('…'));
        faults.extend(cut.map(|line| format!("a sentence is cut: {line}")));
    }
    let text = markdown(&compared, &layout(100));
    let shown = unfolded(&text);
    let bytes: usize = shown.iter().map(|line| line.len() + 1).sum();
    let sizes = [shown.len(), bytes, text.len()];
    if sizes.iter().zip(MARKDOWN).any(|(&size, most)| size > most) {
        faults.push(format!(
            "Markdown of {sizes:?} lines and bytes:\n{}",
            shown.join("\n")
        ));
    }
    let page = html::comparison::page(&compared);
    if !page.contains("<h1>") {
        faults.push("a page without a headline".to_owned());
    }
    faults
}

#[test]
fn comparisons_fit_and_cut_no_sentence() {
    let paths = captures();
    let runs: Vec<Summary> = paths.iter().filter_map(|path| summary(path)).collect();
    assert!(runs.len() > 20, "{} runs", runs.len());
    let mut faults_of_all = Vec::new();
    for (at, run) in runs.iter().enumerate() {
        let next = &runs[(at + 1) % runs.len()];
        for (other, force) in [(next, true), (next, false), (run, false)] {
            let found = faults(run, other, force);
            if !found.is_empty() {
                let names = [run.title(), other.title()].map(|name| printable(&name));
                faults_of_all.push(format!("{names:?}, force {force}:\n{}", found.join("\n")));
            }
        }
    }
    assert!(faults_of_all.is_empty(), "{}", faults_of_all.join("\n\n"));
}
