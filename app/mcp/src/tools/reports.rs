//! Tools that show reports: `verdict`, `hints`, `explain`, `report`, `ops`, `steps`, `doctor`.

use super::prelude::*;
use analysis::{Scope, Table};
use serde_json::{Value, json};

use super::call::BoundInput;
use crate::answer::rounded;
use crate::brief::{BriefRows, BriefTable, MORE, brief};
use cli::commands::explain;

use cli::common::OutputFormat;
use request::answers;
use trace_model::{Picos, joined};
use view::overview::{KeyFigure, Overview};

impl PartOfTrace {
    /// What is `chosen` of the tables of a report.
    fn report(
        &self,
        call: &Call,
        id: &str,
        chosen: impl FnOnce(Vec<Table>) -> Result<Vec<AnswerTable>>,
    ) -> Result<ToolOutput> {
        let (session, scope) = self.open(call)?;
        let report = session.report_by_id(id, scope);
        let report =
            report.map_err(|error| RequestError::DoesNotApply(format!("{id}: {error}")))?;
        let content = AnswerContent {
            tables: chosen(report.tables())?,
            ..AnswerContent::default()
        };
        self.answer(&session, content)
    }
}

fn in_full(tables: Vec<Table>) -> Vec<AnswerTable> {
    tables.into_iter().map(AnswerTable::from).collect()
}

/// Figures of a verdict: those behind it come first.
const MOST_FIGURES: usize = 8;

/// What is said of a figure; of a range `value` is the lower end.
#[rustfmt::skip]
const FIGURE: [&str; 8] = ["figure", "bound", "value", "up_to", "unit", "of", "provenance", "note"];

/// Figures, some perhaps ranges or lower bounds, with their unit, denominator and provenance.
fn of_figures<'a>(figures: impl Iterator<Item = &'a KeyFigure>) -> AnswerTable {
    let row = |figure: &KeyFigure| {
        let (value, up_to) = figure.ends().unzip();
        let up_to = up_to.flatten();
        let bound = match up_to {
            Some(_) => Some("from"),
            None => figure.is_lower_bound.then_some("at least"),
        };
        [
            json!(figure.title),
            json!(bound),
            value.map_or(Value::Null, rounded),
            up_to.map_or(Value::Null, rounded),
            json!(figure.unit),
            json!(figure.of),
            json!(figure.provenance.title()),
            json!(figure.note),
        ]
    };
    AnswerTable::of_values("figures", FIGURE, figures.map(row)).with_columns(&FIGURE)
}

pub(super) struct VerdictTool;

impl McpTool for VerdictTool {
    type Input = PartOfTrace;
    const NAME: &'static str = "verdict";
    const ABOUT: &'static str = "What limits this program: one sentence, the figures behind it with denominator and \
        provenance, the names of the hints worth most, what makes the capture doubtful. Ask this first.";

    fn run(call: &Call, input: PartOfTrace) -> Result<ToolOutput> {
        let (session, scope) = input.open(call)?;
        let document = answers::document(&session, scope, &[] as &[&str])?;
        let overview = Overview::of(&document, &session, scope == Scope::WholeTrace);
        let time = |time: Picos| time.to_string();
        let (limit, outside) = (overview.limit(time), overview.outside(time));
        // Those that matter for what limits the run come first.
        let first = overview.figures_that_matter();
        let others = overview.times.iter().chain(&overview.utilization);
        let others = others.chain(&overview.other_targets);
        let others = others.filter(|figure| !first.iter().any(|other| other.id == figure.id));
        let figures: Vec<&KeyFigure> = first.iter().copied().chain(others).collect();
        let statement = match (limit, session.report_by_id("verdict", scope)) {
            (Some(limit), _) => joined([Some(limit), outside].into_iter().flatten(), " "),
            (None, Err(why)) => format!("no verdict: {why}"),
            (None, Ok(_)) => "no verdict".to_owned(),
        };
        let health = overview
            .health
            .iter()
            .map(|finding| [finding.id.to_owned(), finding.message.clone()]);
        let hints = overview
            .hints
            .iter()
            .flat_map(|hints| analysis::Tabular::tables(hints).into_iter().take(1));
        let hints = hints.map(AnswerTable::from).collect();
        let all = figures.len();
        let figures = of_figures(figures.into_iter().take(MOST_FIGURES))
            .counted(all, "the tool report has those of utilization and targets");
        let health = AnswerTable::of_texts("capture", ["id", "finding"], health);
        let mut tables = vec![figures];
        tables.extend(brief(
            hints,
            &NAMES_OF_HINTS,
            None,
            "the tool hints has all",
        ));
        tables.extend((!health.rows.is_empty()).then_some(health));
        let content = AnswerContent {
            statement: Some(statement),
            tables,
            ..AnswerContent::default()
        };
        input.answer(&session, content)
    }
}

/// A question about a report, of which only the most needed part is shown.
#[derive(Deserialize, JsonSchema)]
pub(super) struct BriefInput {
    /// Rows of the first table; 0: all rows, columns and tables.
    top: Option<usize>,
    #[serde(flatten)]
    of: PartOfTrace,
}

/// Tools that answer with the most needed part of a report, which has their name.
macro_rules! tools_of_reports {
    ($($tool:ident: $name:literal, $about:literal, $brief:expr;)*) => {
        $(pub(super) struct $tool;

        impl McpTool for $tool {
            type Input = BriefInput;
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;

            fn run(call: &Call, input: BriefInput) -> Result<ToolOutput> {
                input.of.report(call, Self::NAME, |tables| {
                    let tables = in_full(tables);
                    Ok(match input.top {
                        Some(0) => tables,
                        top => brief(tables, $brief, top, MORE),
                    })
                })
            }
        })*
    };
}

const fn table(id: &'static str, columns: &'static [&'static str], rows: BriefRows) -> BriefTable {
    BriefTable { id, columns, rows }
}

const HINTS: [BriefTable; 3] = [
    table(
        "hints",
        &[
            "hint",
            "title",
            "saving_ps",
            "saving_percent",
            "statement",
            "action",
            "code",
            "also",
        ],
        BriefRows::First(2),
    ),
    table(
        "hint_evidence",
        &["hint", "what", "value", "of", "threshold"],
        BriefRows::Each(3),
    ),
    table(
        "hint_ops",
        &["hint", "op", "self_time_each_ps", "source"],
        BriefRows::Each(2),
    ),
];

/// The hints of a verdict: their names, which `hints` and `explain` take.
const NAMES_OF_HINTS: [BriefTable; 1] = [table(
    "hints",
    &["hint", "title", "saving_ps", "saving_percent"],
    BriefRows::First(4),
)];

const STEPS: [BriefTable; 2] = [
    table(
        "step_time",
        &[
            "what",
            "steps",
            "mean_ps",
            "median_ps",
            "min_ps",
            "max_ps",
            "cv_percent",
        ],
        BriefRows::First(4),
    ),
    table(
        "steps",
        &[
            "step",
            "time_ps",
            "compile_ps",
            "slowest",
            "remark",
            "left_out",
        ],
        BriefRows::First(10),
    ),
];

const FINDINGS: [BriefTable; 2] = [
    table(
        "findings",
        &["finding", "severity", "message", "cure"],
        BriefRows::First(6),
    ),
    table(
        "import_log",
        &["issue", "count", "explanation"],
        BriefRows::First(4),
    ),
];

const OPS: [BriefTable; 2] = [
    table(
        "ops",
        &[
            "name",
            "category",
            "self_time_each_ps",
            "self_of_total_percent",
            "occurrences",
            "flops_percent",
            "hbm_percent",
            "bound_by",
            "source",
        ],
        BriefRows::First(10),
    ),
    table(
        "op_groups",
        &["group", "ops", "self_time_each_ps", "self_of_total_percent"],
        BriefRows::First(8),
    ),
];

tools_of_reports! {
    HintsTool: "hints", "What to do, most worthwhile first: two hints with saving, evidence, ops and code; more with `top`.", &HINTS;
    StepsTool: "steps", "Step times: statistics and the first ten steps, with what is partial or warm-up; more with `top`.", &STEPS;
    DoctorTool: "doctor", "How far the capture can be trusted: what is missing, lost, repaired or assumed.", &FINDINGS;
    OpsTool: "ops", "The ten ops with most self time: category, share of the window, rates, source; more with `top`.", &OPS;
}

pub(super) struct ReportTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ReportInput {
    /// Id of a report: `collectives`, `memory`, `compile`, `kernels`, `input` …; a wrong one lists them all.
    report: String,
    /// Only this table of it.
    table: Option<String>,
    #[serde(flatten)]
    of: PartOfTrace,
}

impl McpTool for ReportTool {
    type Input = ReportInput;
    const NAME: &'static str = "report";
    const ABOUT: &'static str =
        "Any report, all its tables or one of them. `open` lists the reports.";

    fn run(call: &Call, input: ReportInput) -> Result<ToolOutput> {
        answers::reports(&[&input.report])?;
        input.of.report(call, &input.report, |mut tables| {
            let ids = joined(tables.iter().map(|table| table.id), ", ");
            if let Some(wanted) = &input.table {
                tables.retain(|table| table.id == *wanted);
                if tables.is_empty() && !ids.is_empty() {
                    let why = format!("there is no table {wanted:?}; there are {ids}");
                    return Err(RequestError::Usage(why));
                }
            }
            Ok(in_full(tables))
        })
    }
}

pub(super) struct ExplainTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ExplainInput {
    /// Id of a hint: "K01"; all are listed without it.
    hint: Option<String>,
    #[serde(flatten)]
    bound: BoundInput,
}

impl McpTool for ExplainTool {
    type Input = ExplainInput;
    const NAME: &'static str = "explain";
    const ABOUT: &'static str =
        "What a hint means, how to check it, what to do, and its thresholds.";

    fn run(_: &Call, input: ExplainInput) -> Result<ToolOutput> {
        let text = match &input.hint {
            Some(id) => answers::explained(id)?,
            None => explain::list(OutputFormat::TEXT),
        };
        input
            .bound
            .answer(None, AnswerContent::default().with_text(&text))
    }
}
