//! What a search found, in every format.

use crate::commands::prelude::*;
use analysis::compare::{CauseLine, Comparison, EnvironmentChange, MetricChange, signed};
use serde::Serialize;

use super::points::BisectPoint;
use super::search::{FoundEnds, Likeness, PointState};
use analysis::sentence;

/// Fields may be added to this version, but never changed or removed.
const SCHEMA: &str = "systole.bisect/1";
/// Differences of the environment that are listed.
const ENVIRONMENT: usize = 6;

/// A point that was measured.
#[derive(Serialize)]
pub struct PointRow {
    pub id: String,
    pub title: String,
    #[serde(rename = "author_date")]
    pub date: Option<String>,
    pub runs: usize,
    pub step_ps: Option<f64>,
    pub is: String,
}

/// `like the good side`: of the points that were known then
pub fn words(state: &PointState) -> String {
    match state {
        PointState::Like(Likeness::Good) => "like the good side".to_owned(),
        PointState::Like(Likeness::Bad) => "like the bad side".to_owned(),
        PointState::Like(Likeness::Unclear) => "measured".to_owned(),
        PointState::Skipped(why) => format!("skipped: {why}"),
    }
}

/// The result of a search.
#[derive(Default)]
pub struct BisectReport {
    statement: String,
    rows: Vec<PointRow>,
    /// Why there is no single point.
    doubt: Option<String>,
    /// The first point after the change, and those before it that could not be measured.
    culprits: Vec<BisectPoint>,
    chain: Option<Value>,
    /// Differences of the environment and lines of the chain.
    lines: Vec<String>,
}

impl BisectReport {
    /// A search without a result.
    pub fn nothing(rows: Vec<PointRow>, why: String) -> Self {
        Self {
            statement: why.clone(),
            rows,
            doubt: Some(why),
            ..Self::default()
        }
    }

    /// The first bad point, and the comparison of the last good one with it.
    pub fn found(
        rows: Vec<PointRow>,
        points: &[BisectPoint],
        ends: &FoundEnds,
        compared: &Comparison,
    ) -> Self {
        let culprits = points_of(points, ends);
        let (which, is_only) = match &culprits[..] {
            [only] => (named(only), true),
            several => (
                format!(
                    "one of {}, because those before the last could not be measured",
                    several.len()
                ),
                false,
            ),
        };
        let said = format!("the first that is like the bad end is {which}");
        Self {
            statement: format!("{said}: {}", step_in_words(compared)),
            doubt: (!is_only).then_some(said),
            culprits,
            ..Self::of(rows, compared)
        }
    }

    /// The points that a search ended with explain only this part of the whole change, ps.
    pub fn part(
        rows: Vec<PointRow>,
        points: &[BisectPoint],
        ends: &FoundEnds,
        compared: &Comparison,
        [part_ps, whole_ps]: [f64; 2],
    ) -> Self {
        let place = |number: usize| {
            points
                .get(number)
                .map(ToString::to_string)
                .unwrap_or_default()
        };
        let why = format!(
            "there are several changes, or a drift: of {} between the ends, {} lie between {} and {}",
            signed(whole_ps),
            signed(part_ps),
            place(ends.good),
            place(ends.bad)
        );
        let is_change = compared.step_time().is_some_and(MetricChange::is_real);
        let culprits = is_change.then(|| points_of(points, ends));
        Self {
            statement: format!(
                "{why}; search what is left with other ends: {}",
                step_in_words(compared)
            ),
            doubt: Some(why),
            culprits: culprits.unwrap_or_default(),
            ..Self::of(rows, compared)
        }
    }

    /// The points that were measured, and what the comparison of two of them says.
    fn of(rows: Vec<PointRow>, compared: &Comparison) -> Self {
        Self {
            rows,
            chain: Some(json!({
                "step": compared.step_time(),
                "work": compared.brief.work,
                "environment": compared.environment,
                "conclusion": compared.brief.conclusion,
                "causes": compared.causes,
            })),
            lines: lines(compared),
            ..Self::default()
        }
    }

    pub fn outcome(self) -> CommandOutcome {
        self.doubt
            .map_or(CommandOutcome::Done, CommandOutcome::Inconclusive)
    }

    pub fn rendered(&self, format: OutputFormat) -> String {
        let answer = Answer::list("bisect", self.table(), |_| self.text(), || self.json());
        (format.answer)(answer.with_markdown(|table| self.markdown() + &table))
    }

    fn text(&self) -> String {
        let layout = TextLayout {
            width: terminal::width(),
            top: 12,
            entries: 0,
            style: AnsiStyle::PLAIN,
        };
        let mut text = layout.plain_lines(0, &sentence(&self.statement));
        for line in &self.lines {
            text += &layout.plain_lines(2, line);
        }
        if !self.rows.is_empty() {
            text.push('\n');
            text += &table::table(&self.table(), &layout);
        }
        text
    }

    fn markdown(&self) -> String {
        let mut text = format!("## {}\n\n", markdown::escaped(&sentence(&self.statement)));
        for line in &self.lines {
            let _ = writeln!(text, "- {}", markdown::escaped(line));
        }
        text + "\n"
    }

    fn json(&self) -> Value {
        json!({
            "schema": SCHEMA,
            "statement": self.statement,
            "is_found": self.doubt.is_none(),
            "culprits": self.culprits,
            "change": self.chain,
            "points": self.rows,
        })
    }

    fn table(&self) -> Table {
        Table::of("points", "Points that were measured, in order", &self.rows)
            .derived("point", "Point", Unit::None, |row: &PointRow| &row.title)
            .derived(
                "step_ps",
                "Median step",
                Unit::Picoseconds,
                |row: &PointRow| row.step_ps,
            )
            .derived("runs", "Runs", Unit::Count, |row: &PointRow| row.runs)
            .derived("is", "Is", Unit::None, |row: &PointRow| &row.is)
            .build()
    }
}

fn points_of(points: &[BisectPoint], ends: &FoundEnds) -> Vec<BisectPoint> {
    let between = points.get(ends.good + 1..=ends.bad);
    between.unwrap_or_default().to_vec()
}

fn step_in_words(compared: &Comparison) -> String {
    let step = compared.brief.step.clone();
    step.unwrap_or_else(|| compared.statement.clone())
}

/// `the commit 1a2b3c4d5e6f (Use float32), of 2026-01-31T12:00:00+01:00,`
fn named(point: &BisectPoint) -> String {
    match &point.date {
        Some(date) => {
            let merge = if point.is_merge {
                ", which joins branches,"
            } else {
                ""
            };
            format!("commit {point}{merge} of {date}")
        }
        None => point.to_string(),
    }
}

/// From what differs to the milliseconds.
fn lines(compared: &Comparison) -> Vec<String> {
    // A commit that changes the work is found like any other.
    let work = compared.mismatch().as_deref().map(sentence);
    let environment = compared
        .environment
        .iter()
        .take(ENVIRONMENT)
        .map(EnvironmentChange::in_words);
    let mut lines: Vec<String> = work.into_iter().chain(environment).collect();
    match &compared.causes {
        Some(causes) => {
            lines.extend(causes.lines.iter().map(CauseLine::moved));
            lines.push(causes.unexplained(causes.lines.len()));
        }
        None => lines.extend(compared.brief.conclusion.as_deref().map(sentence)),
    }
    lines
}
