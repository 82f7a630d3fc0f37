//! What Markdown about a run begins with, for a pull request: the verdict, what limits the run, what to do, and the
//! figures that matter. The rest is folded.

use crate::prelude::*;
use analysis::gates::{AlikeGates, Gate, GatesVerdict};
use analysis::shortened_path;

use crate::markdown::{MOST_BYTES, MarkdownRoom, block, escaped, folded, folded_tables, group};
use crate::{comparison_md, gates, hints, summary};
use view::overview::KeyFigure;

/// Gates that are listed; the fold has all.
const GATES: usize = 6;
/// Figures that are shown even if the code of all hints does not fit.
const LEAST_FIGURES: usize = 2;
/// Bytes of a message of a gate or of the name of a run; both may hold any name.
const LINE: usize = 400;

/// Content of the summary of a comparison.
pub struct VerdictParts<'a> {
    /// The judged run.
    pub run: &'a Summary,
    pub gates: Option<&'a GatesReport>,
    /// The comparison with the baseline.
    pub comparison: Option<&'a Comparison>,
}

/// The Markdown, at most `most` bytes.
pub fn verdict(parts: &VerdictParts<'_>, most: usize) -> String {
    let facts = &parts.run.facts;
    let first = FirstScreen {
        gates: parts.gates,
        comparison: parts.comparison,
        badge: facts.badge_in_words(),
        run: parts.run.title(),
        facts: String::new(),
        overview: None,
        figures: Vec::new(),
        cautions: facts
            .health
            .iter()
            .map(|fact| (fact.message.clone(), fact.id.clone()))
            .collect(),
    };
    let folds = first.folds(most);
    first.markdown(folds.len()) + &folds.concat()
}

/// What is read without unfolding anything.
pub struct FirstScreen<'a> {
    /// The gates, if there are any.
    pub gates: Option<&'a GatesReport>,
    /// The comparison with the baseline.
    pub comparison: Option<&'a Comparison>,
    /// Why no time was measured.
    pub badge: Option<String>,
    /// The name of the run.
    pub run: String,
    /// What stands behind it: the format, what ran.
    pub facts: String,
    /// `None` where only the numbers of a saved run are known.
    pub overview: Option<&'a Overview>,
    /// The figures that matter.
    pub figures: Vec<&'a KeyFigure>,
    /// What makes conclusions doubtful, and the rule that says so.
    pub cautions: Vec<(String, String)>,
}

impl FirstScreen<'_> {
    /// At most [`MOST_LINES`](crate::markdown::MOST_LINES) lines with those of the `folds` below it. Only whole blocks
    /// are left out, so that no sentence is cut.
    pub fn markdown(&self, folds: usize) -> String {
        let mut room = MarkdownRoom::beside(folds);
        let head = room.largest(
            "",
            [self.headline(), block(&format!("## {}", code(&self.run)))],
        );
        let badge = self.badge.as_ref().map_or_else(String::new, |badge| {
            block(&format!("**{}**", escaped(badge)))
        });
        let badge = room.take(badge);
        let changed = self
            .comparison
            .map(comparison_md::blocks)
            .unwrap_or_default();
        let changed = room.largest("", changed);
        let limit = room.take(self.limit());
        let runs = room.take(self.runs());
        let cautions = room.take(self.cautions());
        let to_do = |detail| {
            self.overview
                .map_or_else(String::new, |overview| to_do(overview, detail))
        };
        // The names of the hints are not left out for the messages of gates.
        let gates = (0..=GATES).rev().map(|most| self.gates(most));
        let gates = room.largest(&to_do(0), gates);
        let figures = |number: usize| self.figures_table(&self.figures[..number]);
        // Where the time goes and some figures come before the code of the hints after the first.
        let later = self.parts() + &figures(self.figures.len().min(LEAST_FIGURES));
        let details = || (0..=hints::MOST_DETAIL).rev();
        let in_full = details().filter(|&detail| detail >= hints::WITH_CODE);
        let mut hints = room.largest(&later, in_full.map(to_do));
        if hints.is_empty() {
            hints = room.largest("", details().map(to_do));
        }
        let parts = room.take(self.parts());
        let figures = room.largest("", (0..=self.figures.len()).rev().map(figures));
        [
            head, badge, gates, changed, limit, runs, hints, parts, figures, cautions,
        ]
        .concat()
    }

    /// The verdict of the gates, or what limits the run.
    fn headline(&self) -> String {
        let said = match (self.gates, self.limits()) {
            (Some(gates), _) => verdict_of(gates),
            (None, Some(limit)) => escaped(&limit),
            (None, None) => code(&self.run),
        };
        block(&format!("## {said}"))
    }

    fn limits(&self) -> Option<String> {
        self.overview?.limit(|time| time.to_string())
    }

    /// The first `most` gates that did not pass.
    fn gates(&self, most: usize) -> String {
        let Some(report) = self.gates else {
            return String::new();
        };
        let statement = self
            .comparison
            .map_or("", |comparison| &comparison.statement);
        let open = |alike: &AlikeGates<'_>| alike.first.status != Status::Pass;
        let all: Vec<_> = report
            .alike()
            .into_iter()
            .filter(open)
            .map(|alike| (alike.first, alike.text_beside(statement)))
            .collect();
        let shown = all.iter().filter(|(_, message)| message.len() <= LINE);
        let mut text = String::new();
        let mut listed = 0;
        for (gate, message) in shown.take(most) {
            let _ = writeln!(text, "- {}: {}", mark(gate), escaped(message));
            listed += 1;
        }
        let more = all.len() - listed;
        if more > 0 {
            let more = number::counted(more as u64, "more gate");
            let _ = writeln!(text, "- {more} below that did not pass");
        }
        block(&text)
    }

    /// What limits the run, where the verdict of the gates comes first, and what is outside the loop.
    fn limit(&self) -> String {
        let mut text = String::new();
        if let Some(limit) = self.limits().filter(|_| self.gates.is_some()) {
            text += &block(&format!("**{}**", escaped(&limit)));
        }
        let outside = self
            .overview
            .and_then(|overview| overview.outside(|time| time.to_string()));
        text.extend(outside.map(|outside| block(&escaped(&outside))));
        text
    }

    /// The run, and what it is compared with.
    fn runs(&self) -> String {
        let mut text = format!("- Run: {}{}\n", code(&self.run), escaped(&self.facts));
        let bases = self
            .comparison
            .map(|comparison| &comparison.base.runs[..])
            .unwrap_or_default();
        if let Some(first) = bases.first() {
            let more = match bases.len() {
                1 => String::new(),
                runs => format!(" and {}", number::counted(runs as u64 - 1, "more run")),
            };
            let _ = writeln!(text, "- Baseline: {}{more}", code(first));
        }
        block(&text)
    }

    fn cautions(&self) -> String {
        let mut text = String::new();
        for (message, id) in self.cautions.iter().take(summary::CAUTIONS) {
            let _ = writeln!(text, "- ⚠️ {} ({id})", escaped(message));
        }
        let more = self.cautions.len().saturating_sub(summary::CAUTIONS);
        if more > 0 {
            let more = number::counted(more as u64, "more caution");
            let _ = writeln!(text, "- {more}: `systole doctor`");
        }
        block(&text)
    }

    /// Where the time of a step goes.
    fn parts(&self) -> String {
        let limit = self.overview.and_then(|overview| overview.hints.as_ref());
        let Some(limit) = limit.and_then(|hints| hints.limit.as_ref()) else {
            return String::new();
        };
        let parts = limit
            .parts
            .iter()
            .map(|part| summary::part_in_words(part, &limit.parts, limit.of_ps));
        block(&format!(
            "{}: {}.",
            summary::step_title(limit),
            escaped(&joined(parts, ", "))
        ))
    }

    fn figures_table(&self, figures: &[&KeyFigure]) -> String {
        if figures.is_empty() {
            return String::new();
        }
        let mut text = "| Figure | Value | Of |\n|---|---:|---|\n".to_owned();
        for figure in figures {
            let value = figure.text(number::value).unwrap_or_default();
            let remark = summary::remark(figure, self.badge.as_deref());
            let _ = writeln!(
                text,
                "| {} | {} | {} |",
                escaped(figure.title),
                escaped(&value),
                escaped(&remark)
            );
        }
        block(&text)
    }

    /// The gates and the comparison in full, folded; at most `most` bytes.
    pub fn folds(&self, most: usize) -> Vec<String> {
        let mut folds = Vec::new();
        if let Some(gates) = self.gates.filter(|gates| !gates.gates.is_empty()) {
            folds.push(folded("All gates", &rows(gates, most / 4)));
        }
        if let Some(comparison) = self.comparison {
            let room = most - folds.iter().map(String::len).sum::<usize>();
            let mut tables = comparison.tables();
            // It stands above.
            tables.retain(|table| table.id != "why");
            let parts = folded_tables(&tables, 15);
            folds.push(group("Compared with the baseline", parts, room / 2));
        }
        folds
    }
}

/// The first hints: cause, saving, and the first of them with as much `detail` as asked.
fn to_do(overview: &Overview, detail: usize) -> String {
    let Some(report) = &overview.hints else {
        return String::new();
    };
    let (shown, _) = hints::first(report, summary::HINTS_SHOWN);
    let open = report.open_limit();
    let mut text = open.map_or_else(String::new, |open| format!("{}\n\n", escaped(&open)));
    for (place, &hint) in shown.iter().enumerate() {
        let facts = hints::facts(hint, report, &shown[..place]);
        let shows = |[first, other]: [usize; 2]| detail >= if place == 0 { first } else { other };
        let _ = write!(
            text,
            "{}. **`{}` {}**: {}.",
            place + 1,
            hint.id,
            escaped(hint.title),
            escaped(&facts)
        );
        if shows([3, hints::MOST_DETAIL + 1]) {
            let _ = write!(text, " {}", escaped(&sentence(&hint.statement)));
        }
        if shows([1, 5]) {
            let _ = write!(text, " {}", escaped(&hint.brief));
        }
        text.push('\n');
        if shows([2, 4]) {
            code_block(&mut text, "   ", hint.code.as_deref());
        }
    }
    if text.is_empty() {
        return text;
    }
    block(&format!("### What to do\n\n{text}"))
}

/// The verdict of gates in one line.
fn verdict_of(gates: &GatesReport) -> String {
    let word = match gates.verdict() {
        GatesVerdict::Failed => "❌ Failed",
        GatesVerdict::Inconclusive => "❔ Inconclusive",
        GatesVerdict::Warned | GatesVerdict::Passed => "✅ Passed",
    };
    format!("{word}: {}", escaped(&gates.statement))
}

fn mark(gate: &Gate) -> &'static str {
    match gate.status {
        Status::Pass => "✅ pass",
        Status::Fail if gate.level == GateLevel::Error => "❌ fail",
        Status::Fail => "⚠️ warn",
        Status::Inconclusive => "❔ inconclusive",
    }
}

/// The text as code, if possible; of a long path the end.
fn code(text: &str) -> String {
    let text = shortened_path(text, LINE / 4);
    if text.contains(['`', '|']) {
        escaped(&text)
    } else {
        format!("`{text}`")
    }
}

/// The verdict, and one row per gate.
pub fn gates_table(text: &mut String, gates: &GatesReport) {
    let _ = writeln!(
        text,
        "## {}\n\n{}",
        verdict_of(gates),
        rows(gates, MOST_BYTES / 4)
    );
}

/// One row per gate, as many as fit.
fn rows(report: &GatesReport, most: usize) -> String {
    let mut text = "| | Gate | Actual | Baseline | What |\n|---|---|---:|---:|---|\n".to_owned();
    for (place, gate) in report.gates.iter().enumerate() {
        let (actual, base) = (gates::actual(gate), gates::base(gate));
        let row = format!(
            "| {} | {} | {actual} | {base} | {} |\n",
            mark(gate),
            escaped(&gate.name()),
            escaped(&gate.message)
        );
        if text.len() + row.len() > most {
            let more = number::counted((report.gates.len() - place) as u64, "more gate");
            let _ = writeln!(text, "\n*{more}: `--format json` has all.*");
            break;
        }
        text += &row;
    }
    text
}

/// A block of code within a list.
pub(crate) fn code_block(text: &mut String, indent: &str, code: Option<&str>) {
    let Some(code) = code else { return };
    let _ = writeln!(text, "{indent}```");
    for line in code.lines() {
        let _ = writeln!(text, "{indent}{}", printable(line).replace('`', "'"));
    }
    let _ = writeln!(text, "{indent}```");
}
