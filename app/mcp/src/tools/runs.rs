//! `compare` and `what_if`: two runs, and the run as it could be.

use std::path::{Path, PathBuf};

use super::prelude::*;
use analysis::Scope;
use analysis::compare::{Summary, compare, without_repeated};
use importers::{ImportOptions, Progress, holds_programs_only};

use super::call::BoundInput;
use render::comparison::{self, ComparedRuns, ShownTables};
use request::{
    AssumedFiles, AssumedValues, BaseFiles, CompareRequest, PartRequest, WhatIfRequest, answers,
    checks, notes_of_side, summaries,
};
use session::RequestSession;

pub(super) struct CompareTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct CompareInput {
    /// The run to compare with: a profile, a run, a log directory, or a saved summary.
    base: String,
    /// The run to judge, likewise.
    cand: String,
    #[serde(flatten)]
    test: CompareRequest,
    #[serde(flatten)]
    values: AssumedValues,
    #[serde(flatten)]
    files: AssumedFiles,
    #[serde(flatten)]
    of_base: BaseFiles,
    #[serde(flatten)]
    part: PartRequest,
    #[serde(flatten)]
    bound: BoundInput,
}

impl CompareInput {
    /// What is compared of a run, and the trace that it is of; none of a saved summary.
    fn side(
        &self,
        call: &Call,
        path: &str,
        programs: &[PathBuf],
    ) -> Result<(Vec<Summary>, Option<RequestSession>)> {
        let file = call.roots.path(path)?;
        if self.part.scope() == Scope::WholeTrace
            && let Some(mut saved) = summaries::saved(&file, &ImportOptions::default(), &())?
        {
            for summary in &mut saved {
                summary.saved_in = summary.saved_in.take().map(|path| call.roots.shown(&path));
            }
            return Ok((saved, None));
        }
        let (values, mut files) = (self.values.clone(), self.files.clone());
        if !programs.is_empty() {
            files.hlo = programs.to_vec();
        }
        let trace = TraceInput {
            path: path.to_owned(),
            run: None,
            values,
            files,
        };
        let is_program = || holds_programs_only(&file, &ImportOptions::default(), &Progress::new());
        let session = match call.session(&trace) {
            Err(_) if is_program() => call.programs(&trace)?,
            opened => opened?,
        };
        let scope = checks::check_part(&session, &self.part)
            .map_err(|error| error.about(Path::new(path)))?;
        let mut summary = summaries::summary_of(&session, scope)?;
        for input in &mut summary.inputs {
            input.path = input.path.take().map(|path| call.roots.shown(&path));
        }
        Ok((vec![summary], Some(session)))
    }
}

impl McpTool for CompareTool {
    type Input = CompareInput;
    const NAME: &'static str = "compare";
    const ABOUT: &'static str = "What changed between two runs, whether it is more than noise, and which ops and \
        categories the time went to.";

    fn run(call: &Call, input: CompareInput) -> Result<ToolOutput> {
        input.bound.check()?;
        let options = input.test.options()?;
        let (base, first) = input.side(call, &input.base, &input.of_base.base_hlo)?;
        let (cand, second) = input.side(call, &input.cand, &[])?;
        let mut comparison = compare(&base, &cand, &options);
        let [(base, _), (cand, _)] = [&base, &cand].map(|side| without_repeated(side));
        let mut notes = Vec::new();
        for (path, session) in [(&input.base, &first), (&input.cand, &second)] {
            let said = session.iter();
            notes.extend(said.flat_map(|one| notes_of_side(path, one, &input.values)));
        }
        if let (Some(first), Some(second)) = (first, second)
            && comparison.base.are_programs
            && comparison.cand.are_programs
        {
            comparison.program_diff = answers::instructions_that_differ(&first, &second)?;
        }
        let compared = ComparedRuns {
            base: &base,
            cand: &cand,
            comparison: &comparison,
            gates: None,
            trace: Path::new(&input.cand),
            shown: ShownTables::Screen,
        };
        let tables = comparison::tables(&compared)
            .into_iter()
            .map(|one| one.table);
        let content = AnswerContent {
            statement: Some(comparison.statement.clone()),
            notes,
            ..AnswerContent::default()
        }
        .with_tables(tables);
        input.bound.answer(None, content)
    }
}

pub(super) struct WhatIfTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct WhatIfInput {
    #[serde(flatten)]
    changes: WhatIfRequest,
    #[serde(flatten)]
    of: PartOfTrace,
}

impl McpTool for WhatIfTool {
    type Input = WhatIfInput;
    const NAME: &'static str = "what_if";
    const ABOUT: &'static str = "How long the run would take with faster links, hidden copies, cheaper ops or no \
        idle time, by replaying the recorded ops. Predictions are bounds, not promises.";

    fn run(call: &Call, input: WhatIfInput) -> Result<ToolOutput> {
        let (session, scope) = input.of.open(call)?;
        let report = answers::prediction(&session, scope, &input.changes)??;
        let content = AnswerContent::default().with_tables(report.tables());
        input.of.answer(&session, content)
    }
}
