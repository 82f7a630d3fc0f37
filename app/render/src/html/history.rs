//! HTML page about the runs of a history: a number over the runs, with the gates of each and the run from which it is
//! another one.

use analysis::compare::{ChangePoint, FEWEST_RUNS};
use analysis::math::stats::median;
use analysis::{Table, Unit, counted};
use maud::{Markup, html};
use view::charts::ChartSwatch;
use view::drawing::{Anchor, ColorRole, Drawing, MarkerKind};

use super::charts::{WIDTH, key, plotted};
use super::parts::{html_table, section, whole};
use session::number::value;

/// A run of a history.
#[derive(Clone, Debug)]
pub struct HistoryRun {
    /// What tells it apart.
    pub name: String,
    pub commit: String,
    /// What its gates said together.
    pub verdict: &'static str,
    /// Names of the gates that failed.
    pub failed: Vec<String>,
}

/// A number over the runs.
#[derive(Clone, Debug)]
pub struct HistoryNumber {
    pub title: &'static str,
    pub unit: Unit,
    /// Of each run; missing where it was not recorded, or only a lower bound is known.
    pub values: Vec<Option<f64>>,
    /// Where it changed, as a place among the runs that have it.
    pub change: Option<ChangePoint>,
}

/// The page; `trend` has the numbers of the charts and more, the newest run first.
pub fn page(title: &str, runs: &[HistoryRun], numbers: &[HistoryNumber], trend: &Table) -> String {
    let body = html! {
        header {
            h1 { (headline(runs, numbers)) }
            p.dim { (title) ": " (counted(runs.len(), "run")) ", the oldest at the left" }
        }
        @for number in numbers { (section(number.title, &chart(runs, number))) }
        (section("Runs, the newest first", &html_table(trend)))
    };
    whole(title, "history", &body)
}

/// What changed, or that nothing did.
fn headline(runs: &[HistoryRun], numbers: &[HistoryNumber]) -> String {
    let changed: Vec<String> = numbers
        .iter()
        .filter_map(|number| Some((number, statement(runs, number)?)))
        .map(|(number, statement)| format!("{} {statement}", number.title))
        .collect();
    let is_tested = |number: &HistoryNumber| number.values.iter().flatten().count() >= FEWEST_RUNS;
    if !changed.is_empty() {
        changed.join("; ")
    } else if numbers.iter().any(is_tested) {
        "No number changed by more than noise".to_owned()
    } else {
        format!("Too few runs to look for a change: it takes {FEWEST_RUNS}")
    }
}

/// `rose by 12.0 % with run 2026_01_03`
fn statement(runs: &[HistoryRun], number: &HistoryNumber) -> Option<String> {
    let point = number.change.as_ref()?;
    let run = runs.get(place(number, point)?)?;
    let change = point.change.change?;
    let by = point.change.change_percent.map_or_else(
        || value(change.abs(), number.unit),
        |percent| format!("{:.1} %", percent.0.abs()),
    );
    let verb = if change > 0.0 { "rose" } else { "fell" };
    let commit = if run.commit.is_empty() {
        String::new()
    } else {
        format!(" (commit {})", run.commit)
    };
    Some(format!("{verb} by {by} with run {}{commit}", run.name))
}

/// The change point among all runs.
fn place(number: &HistoryNumber, point: &ChangePoint) -> Option<usize> {
    let with_value = number
        .values
        .iter()
        .enumerate()
        .filter(|(_, value)| value.is_some());
    with_value.map(|(at, _)| at).nth(point.at)
}

/// Colour, sign and meaning of a verdict.
fn mark(verdict: &str) -> (ColorRole, MarkerKind) {
    match verdict {
        "FAIL" => (ColorRole::Warning, MarkerKind::Square),
        "warned" | "inconclusive" => (ColorRole::Counter, MarkerKind::Diamond),
        "pass" => (ColorRole::Accent, MarkerKind::Circle),
        _ => (ColorRole::TextWeak, MarkerKind::Circle),
    }
}

fn chart(runs: &[HistoryRun], number: &HistoryNumber) -> Markup {
    let known: Vec<f64> = number.values.iter().flatten().copied().collect();
    if known.len() < 2 {
        let of = counted(runs.len(), "run");
        return html! { p.dim { "known in " (known.len()) " of " (of) ": no line" } };
    }
    let missing = number.values.len() - known.len();
    let tested = match (&number.change, known.len() >= FEWEST_RUNS) {
        (Some(point), _) => {
            let p = point.change.p.map(|p| format!("p = {}, ", Short(p)));
            let at = statement(runs, number).unwrap_or_else(|| "changed".to_owned());
            format!(
                "It {at}: {}rank sum test of the medians of runs, {} tested.",
                p.unwrap_or_default(),
                counted(point.tests, "place")
            )
        }
        (None, true) => {
            "No change beyond noise, by the rank sum test of systole compare.".to_owned()
        }
        (None, false) => format!("A change is looked for from {FEWEST_RUNS} runs on."),
    };
    let verdicts = ["pass", "warned", "inconclusive", "FAIL", "not judged"];
    let used = verdicts
        .into_iter()
        .filter(|verdict| runs.iter().any(|run| run.verdict == *verdict));
    let swatches: Vec<ChartSwatch> = used
        .map(|verdict| ChartSwatch::new(mark(verdict).0, verdict))
        .collect();
    html! {
        (plotted(number.title, &drawn(runs, number, &known)))
        (key(&swatches))
        p.dim {
            (tested) @if number.change.is_some() { " The dashed line is the change." } " Level lines are medians."
            @if missing > 0 { " " (counted(missing, "run")) " did not record it, or only a lower bound." }
        }
    }
}

/// A probability in a few letters.
struct Short(f64);

impl std::fmt::Display for Short {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.0 < 0.001 {
            write!(f, "{:.0e}", self.0)
        } else {
            write!(f, "{:.3}", self.0)
        }
    }
}

fn drawn(runs: &[HistoryRun], number: &HistoryNumber, known: &[f64]) -> Drawing {
    const HEIGHT: f32 = 200.0;
    const LEFT: f32 = 90.0;
    const FONT: f32 = 12.0;
    let low = known.iter().copied().fold(f64::INFINITY, f64::min);
    let high = known.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    // A flat line is in the middle.
    let room = (0.1 * (high - low))
        .max(1e-3 * high.abs())
        .max(f64::MIN_POSITIVE);
    let share = move |value: f64| (value - low + room) / (high - low + 2.0 * room);
    let y = |value: f64| HEIGHT * (1.0 - share(value)) as f32;
    let slot = (WIDTH - LEFT) / number.values.len().max(1) as f32;
    let x = |at: usize| LEFT + (at as f32 + 0.5) * slot;
    let mut drawing = Drawing::new(WIDTH, HEIGHT, ColorRole::Panel);
    for edge in [low, high] {
        let text = value(edge, number.unit);
        drawing.text(
            LEFT - 8.0,
            y(edge),
            Anchor::End,
            FONT,
            ColorRole::TextWeak,
            &text,
        );
    }
    let split = number
        .change
        .as_ref()
        .and_then(|point| place(number, point));
    if let Some(at) = split {
        let line = x(at) - 0.5 * slot;
        drawing.dashed_line((line, 0.0), (line, HEIGHT), ColorRole::Warning);
    }
    let ends = split.unwrap_or(0);
    for part in [0..ends, ends..number.values.len()] {
        let values: Vec<f64> = number.values[part.clone()]
            .iter()
            .flatten()
            .copied()
            .collect();
        if let Some(middle) = median(&values) {
            let (from, to) = (x(part.start) - 0.5 * slot, x(part.end) - 0.5 * slot);
            drawing.line((from, y(middle)), (to, y(middle)), ColorRole::Edge, 1.0);
        }
    }
    let points = runs.iter().zip(&number.values).enumerate();
    for (at, (run, point)) in points {
        let Some(point) = *point else { continue };
        let failed = if run.failed.is_empty() {
            String::new()
        } else {
            format!(": {}", run.failed.join(", "))
        };
        let commit = Some(&run.commit).filter(|commit| !commit.is_empty());
        let title = format!(
            "{}, {}{failed}, {}",
            trace_model::joined([&run.name].into_iter().chain(commit).map(|it| &**it), " "),
            run.verdict,
            value(point, number.unit)
        );
        let (role, kind) = mark(run.verdict);
        drawing.marker(kind, (x(at), y(point)), 4.0, role, title);
    }
    drawing
}
