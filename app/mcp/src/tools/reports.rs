//! Tools that show reports: `verdict`, `hints`, `explain`, `report`, `ops`, `steps`, `doctor`.

use analysis::hints::rule;
use analysis::{Metric, Scope, Table};
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{BoundInput, Call, McpTool, PartOfTrace, ToolOutput};
use crate::answer::{AnswerContent, AnswerTable};
use cli::commands::explain;

use cli::common::values::OutputFormat;
use request::{RequestError, answers};
use trace_model::Picos;
use view::overview::{KeyFigure, Overview};

impl PartOfTrace {
    /// The tables of a report that `is_wanted`.
    fn report(
        &self,
        call: &Call,
        id: &str,
        is_wanted: impl Fn(&Table) -> bool,
    ) -> Result<ToolOutput, RequestError> {
        let (session, scope) = self.open(call)?;
        let report = session.report_by_id(id, scope);
        let report =
            report.map_err(|error| RequestError::DoesNotApply(format!("{id}: {error}")))?;
        let tables = report.tables().into_iter().filter(is_wanted);
        self.answer(&session, AnswerContent::default().with_tables(tables))
    }
}

pub(super) struct VerdictTool;

impl McpTool for VerdictTool {
    type Input = PartOfTrace;
    const NAME: &'static str = "verdict";
    const ABOUT: &'static str = "What limits this program: one sentence, the figures behind it with denominator and \
        provenance, the hints worth most, and what makes the capture doubtful. Ask this first.";

    fn run(call: &Call, input: PartOfTrace) -> Result<ToolOutput, RequestError> {
        let (session, scope) = input.open(call)?;
        let document = answers::document(&session, scope, &[] as &[&str])?;
        let overview = Overview::of(&document, &session, scope == Scope::WholeTrace);
        let time = |time: Picos| time.to_string();
        let (limit, outside) = (overview.limit(time), overview.outside(time));
        let figures = overview
            .times
            .into_iter()
            .chain(overview.utilization)
            .chain(overview.other_targets);
        let metric = |figure: KeyFigure| Metric {
            id: figure.id,
            title: figure.title,
            value: figure.value,
            is_lower_bound: figure.is_lower_bound,
            unit: figure.unit,
            of: figure.of,
            provenance: figure.provenance,
            note: figure.note,
        };
        let statement = match (limit, session.report_by_id("verdict", scope)) {
            (Some(limit), _) => [Some(limit), outside]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" "),
            (None, Err(why)) => format!("no verdict: {why}"),
            (None, Ok(_)) => "no verdict".to_owned(),
        };
        let health = overview.health.iter().map(|finding| {
            [
                finding.id.to_owned(),
                finding.message.clone(),
                finding.evidence.clone(),
                finding.cure.to_owned(),
            ]
        });
        let hints = overview
            .hints
            .iter()
            .flat_map(|hints| analysis::Tabular::tables(hints).into_iter().take(1));
        let content = AnswerContent {
            statement: Some(statement),
            ..AnswerContent::default()
        }
        .with(AnswerTable::of_figures("figures", figures.map(metric)))
        .with_tables(hints)
        .with(AnswerTable::of_texts(
            "capture",
            ["id", "finding", "evidence", "cure"],
            health,
        ));
        input.answer(&session, content)
    }
}

/// Tools that answer with a whole report, which has their name.
macro_rules! tools_of_reports {
    ($($tool:ident: $name:literal, $about:literal;)*) => {
        $(pub(super) struct $tool;

        impl McpTool for $tool {
            type Input = PartOfTrace;
            const NAME: &'static str = $name;
            const ABOUT: &'static str = $about;

            fn run(call: &Call, input: PartOfTrace) -> Result<ToolOutput, RequestError> {
                input.report(call, Self::NAME, |_| true)
            }
        })*
    };
}

tools_of_reports! {
    HintsTool: "hints", "What to do about this program, most worthwhile first: each hint with its saving, its \
        evidence and its ops, and the rules that could not tell.";
    StepsTool: "steps", "Step times: their statistics and each step, with what is partial or warm-up.";
    DoctorTool: "doctor", "How far the capture can be trusted: what is missing, lost, repaired or assumed.";
    OpsTool: "ops", "Ops by self time: category, executions, share of the time, rates and what they are \
        measured against; also by kind of work and by source line.";
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

    fn run(call: &Call, input: ReportInput) -> Result<ToolOutput, RequestError> {
        answers::reports(&[&input.report])?;
        if let Some(table) = &input.table {
            let (session, scope) = input.of.open(call)?;
            let tables = session
                .report_by_id(&input.report, scope)
                .map(|report| report.tables())
                .unwrap_or_default();
            if !tables.is_empty() && tables.iter().all(|one| one.id != *table) {
                let there: Vec<&str> = tables.iter().map(|table| table.id).collect();
                let why = format!(
                    "there is no table {table:?}; there are {}",
                    there.join(", ")
                );
                return Err(RequestError::Usage(why));
            }
        }
        input.of.report(call, &input.report, |table| {
            input
                .table
                .as_ref()
                .is_none_or(|wanted| table.id == *wanted)
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

    fn run(_: &Call, input: ExplainInput) -> Result<ToolOutput, RequestError> {
        let text = match &input.hint {
            Some(id) => explain::page(rule(id).ok_or_else(|| explain::unknown(id))?),
            None => explain::list(OutputFormat::Text),
        };
        input
            .bound
            .answer(None, AnswerContent::default().with_text(&text))
    }
}
