//! HTML page about the runs of a history: a number over the runs, with the gates of each and the run from which it is
//! another one.

use analysis::compare::{ChangePoint, FEWEST_RUNS, RunLevels};
use analysis::math::stats::median;
use analysis::{Table, Unit, counted};
use maud::{Markup, html};
use view::charts::ChartSwatch;
use view::drawing::{Anchor, ColorRole, Drawing, MarkerKind};

use super::charts::{WIDTH, key, plotted};
use super::parts::{html_table, section, whole};
use session::number::value;

/// A run of a history.
#[derive(Debug)]
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
#[derive(Debug)]
pub struct HistoryNumber {
    pub title: &'static str,
    pub unit: Unit,
    /// The value of each run; missing where it was not recorded, or only a lower bound is known.
    pub values: Vec<Option<f64>>,
    /// Its levels, with places among the runs that have it.
    pub levels: RunLevels,
}

impl HistoryNumber {
    /// The runs that have it, and what it is.
    fn known(&self) -> Vec<(usize, f64)> {
        let values = self.values.iter().enumerate();
        values
            .filter_map(|(run, value)| Some((run, (*value)?)))
            .collect()
    }
}

/// The page; `trend` has the numbers of the charts and more, the newest run first, `left_out` the runs that are in no chart.
pub fn page(
    title: &str,
    runs: &[HistoryRun],
    left_out: &[String],
    numbers: &[HistoryNumber],
    trend: &Table,
) -> String {
    let body = html! {
        header {
            h1 { (headline(runs, numbers)) }
            p.dim { (title) ": " (counted(runs.len(), "run")) ", the oldest at the left" }
            @for why in left_out { p { (why) } }
        }
        @for number in numbers { (section(number.title, &chart(runs, number))) }
        (section("Runs, the newest first", &html_table(trend)))
    };
    whole(title, "history", &body)
}

/// What changed, or that nothing did.
fn headline(runs: &[HistoryRun], numbers: &[HistoryNumber]) -> String {
    let changed = numbers.iter().filter_map(|number| {
        let said = [changes(runs, number), odd_ends(number)].concat();
        (!said.is_empty()).then(|| format!("{} {}", number.title, said.join(", then ")))
    });
    let changed: Vec<String> = changed.collect();
    if !changed.is_empty() {
        changed.join("; ")
    } else if numbers.iter().any(|number| number.levels.tests > 0) {
        "No number changed by more than noise".to_owned()
    } else {
        format!("Too few runs to look for a change: it takes {FEWEST_RUNS}")
    }
}

/// `rose by 12.0 %, from 10.00 ms to 11.20 ms, with run 2026_01_03`, of each change.
fn changes(runs: &[HistoryRun], number: &HistoryNumber) -> Vec<String> {
    let known = number.known();
    let told = |change: &ChangePoint| {
        let [from, to] = [change.from, change.to]
            .map(|number_of_run| known.get(number_of_run).map(|(run, _)| *run));
        let (from, to) = (from?, to?);
        let [before, after] = [change.before, change.after].map(|level| value(level, number.unit));
        let by = (change.after - change.before).abs();
        let by = if change.before == 0.0 {
            value(by, number.unit)
        } else {
            format!("{:.1} %", 100.0 * by / change.before.abs())
        };
        let verb = if change.after > change.before {
            "rose"
        } else {
            "fell"
        };
        let between = |why: &str| {
            Some(format!(
                "between runs {} and {}, {why}",
                runs.get(from)?.name,
                runs.get(to)?.name
            ))
        };
        let place = match to - from - 1 {
            _ if !change.is_sudden() => between("not at one of them")?,
            0 => with_run(runs.get(to)?),
            1 => between("of which the one between did not record it")?,
            gap => between(&format!("of which the {gap} between did not record it"))?,
        };
        Some(format!("{verb} by {by}, from {before} to {after}, {place}"))
    };
    number.levels.changes.iter().filter_map(told).collect()
}

fn with_run(run: &HistoryRun) -> String {
    let commit = if run.commit.is_empty() {
        String::new()
    } else {
        format!(" (commit {})", run.commit)
    };
    format!("with run {}{commit}", run.name)
}

/// `differs in the last 3 runs, at 20.00 ms: too few to tell`
fn odd_ends(number: &HistoryNumber) -> Vec<String> {
    let known: Vec<f64> = number.known().into_iter().map(|(_, value)| value).collect();
    let levels = &number.levels;
    let first = known.get(..levels.odd_first).unwrap_or_default();
    let last = known.get(known.len().saturating_sub(levels.odd_last)..);
    let told = |(end, values): (&str, &[f64])| {
        let level = value(median(values)?, number.unit);
        let runs = match values.len() {
            1 => format!("the {end} run"),
            runs => format!("the {end} {runs} runs"),
        };
        Some(format!("differs in {runs}, at {level}: too few to tell"))
    };
    let ends = [("first", first), ("last", last.unwrap_or_default())];
    ends.into_iter().filter_map(told).collect()
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
    let changes = changes(runs, number);
    let with_p = changes.iter().zip(&number.levels.changes);
    let with_p = with_p.map(|(text, change)| format!("{text} (p = {})", Short(change.p)));
    let said = [with_p.collect(), odd_ends(number)].concat();
    let tested = match (number.levels.tests, &said[..]) {
        (0, _) => format!("A change is looked for from {FEWEST_RUNS} runs on."),
        (_, []) => "No change beyond noise, by the rank sum test of systole compare.".to_owned(),
        (tests, said) => format!(
            "It {}. Rank sum test of the medians of runs, {}.",
            said.join(", then "),
            counted(tests, "place")
        ),
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
            (tested) @if !changes.is_empty() { " Dashed lines are changes." } " Level lines are medians."
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

const HEIGHT: f32 = 200.0;

fn drawn(runs: &[HistoryRun], number: &HistoryNumber, known: &[f64]) -> Drawing {
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
    let x = |index: usize| LEFT + (index as f32 + 0.5) * slot;
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
    levels(&mut drawing, number, &x, &y);
    let points = runs.iter().zip(&number.values).enumerate();
    for (index, (run, point)) in points {
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
        drawing.marker(kind, (x(index), y(point)), 4.0, role, title);
    }
    drawing
}

/// A line for each level, and a dashed one for each change.
fn levels(
    drawing: &mut Drawing,
    number: &HistoryNumber,
    x: &impl Fn(usize) -> f32,
    y: &impl Fn(f64) -> f32,
) {
    let known = number.known();
    let left = known.len().saturating_sub(number.levels.odd_last);
    let mut start = number.levels.odd_first;
    let ends = number.levels.changes.iter().map(|change| change.from + 1);
    let starts = number.levels.changes.iter().map(|change| change.to);
    for (end, next) in ends.chain([left]).zip(starts.chain([left])) {
        let part = known.get(start..end).unwrap_or_default();
        let values: Vec<f64> = part.iter().map(|(_, value)| *value).collect();
        if let (Some((first, _)), Some((last, _)), Some(middle)) =
            (part.first(), part.last(), median(&values))
        {
            let half = 0.5 * (x(1) - x(0));
            let (from, to) = (x(*first) - half, x(*last) + half);
            drawing.line((from, y(middle)), (to, y(middle)), ColorRole::Edge, 1.0);
        }
        start = next;
    }
    for change in &number.levels.changes {
        let ends = [change.from, change.to].map(|index| known.get(index).map(|(run, _)| x(*run)));
        if let [Some(from), Some(to)] = ends {
            let ends = if change.is_sudden() {
                let line = f32::midpoint(from, to);
                ((line, 0.0), (line, HEIGHT))
            } else {
                ((from, y(change.before)), (to, y(change.after)))
            };
            drawing.dashed_line(ends.0, ends.1, ColorRole::Warning);
        }
    }
}
