//! `compare` and `what_if`: two runs, and the run as it could be.

use std::ffi::OsString;
use std::path::Path;
use std::sync::Arc;

use analysis::compare::{Summary, compare};
use analysis::what_if::Replay;
use analysis::{Report, Scope};
use importers::ImportOptions;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{BoundInput, Call, McpTool, PartInput, ToolOutput, TraceInput};
use crate::answer::AnswerContent;
use cli::commands::compare::TestArgs;
use cli::commands::whatif::{self, ChangeArgs};
use cli::common::summaries;
use cli::embedded::{self, CommandError};
use render::comparison::{self, ComparedRuns};

pub(super) struct CompareTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct CompareInput {
    /// The run to compare with: a profile, a run, a log directory, or a saved summary.
    base: String,
    /// The run to judge, likewise.
    cand: String,
    /// Only these steps of both: "3..7".
    steps: Option<String>,
    /// Chip whose peaks are assumed where a capture records none.
    chip: Option<String>,
    /// Leave out the first steps of both as warm-up.
    warmup: Option<u32>,
    /// Chance of calling noise a change; 0.05 by default.
    alpha: Option<f64>,
    /// Ignore changes below this percentage of the step; 0.1 by default.
    min_effect: Option<f64>,
    /// Compare even if the runs are not comparable.
    #[serde(default)]
    force: bool,
    #[serde(flatten)]
    bound: BoundInput,
}

impl CompareInput {
    fn side(&self, call: &Call, path: &str) -> Result<Vec<Summary>, CommandError> {
        let file = call.roots.path(path)?;
        if self.steps.is_none()
            && let Some(mut saved) = summaries::saved(&file, &ImportOptions::default(), &embedded::silent())?
        {
            for summary in &mut saved {
                summary.saved_in = summary.saved_in.take().map(|path| call.roots.shown(&path));
            }
            return Ok(saved);
        }
        let (chip, warmup) = (self.chip.clone(), self.warmup);
        let session =
            call.session(&TraceInput { path: path.to_owned(), run: None, chip, warmup, devices: Vec::new() })?;
        let scope = PartInput { steps: self.steps.clone(), range: None }.scope(&session)?;
        let mut summary = summaries::summary_of(&session, scope)?;
        for input in &mut summary.inputs {
            input.path = input.path.take().map(|path| call.roots.shown(&path));
        }
        Ok(vec![summary])
    }
}

impl McpTool for CompareTool {
    type Input = CompareInput;
    const NAME: &'static str = "compare";
    const ABOUT: &'static str = "What changed between two runs, whether it is more than noise, and which ops and \
        categories the time went to.";

    fn run(call: &Call, input: CompareInput) -> Result<ToolOutput, CommandError> {
        input.bound.check()?;
        let mut words: Vec<OsString> = Vec::new();
        words.extend(input.alpha.map(|alpha| format!("--alpha={alpha}").into()));
        words.extend(input.min_effect.map(|percent| format!("--min-effect={percent}").into()));
        words.extend(input.force.then(|| "--force".into()));
        let options = embedded::parsed::<TestArgs>(&words)?.options()?;
        let (base, cand) = (input.side(call, &input.base)?, input.side(call, &input.cand)?);
        let found = compare(&base, &cand, &options);
        let trace = Path::new(&input.cand);
        let compared = ComparedRuns { base: &base, cand: &cand, comparison: &found, gates: None, trace };
        let tables = comparison::tables(&compared).into_iter().map(|one| one.table);
        let content =
            AnswerContent { statement: Some(found.statement.clone()), ..AnswerContent::default() }.with_tables(tables);
        input.bound.answer(None, content)
    }
}

pub(super) struct WhatIfTool;

#[derive(Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "the flags of the command")]
pub(super) struct WhatIfInput {
    /// Collectives take no time.
    #[serde(default)]
    hide_collectives: bool,
    /// Asynchronous copies take no time.
    #[serde(default)]
    hide_copies: bool,
    /// The device does not wait while the host compiles.
    #[serde(default)]
    no_recompile: bool,
    /// The device is never idle.
    #[serde(default)]
    no_idle: bool,
    /// Links between chips are faster by this factor.
    ici: Option<f64>,
    /// Asynchronous copies are faster by this factor.
    copies: Option<f64>,
    /// HBM is faster by this factor.
    hbm: Option<f64>,
    /// Matrix units are faster by this factor.
    flops: Option<f64>,
    /// Ops that take a part of their time.
    #[serde(default)]
    ops: Vec<OpChange>,
    #[serde(flatten)]
    trace: TraceInput,
    #[serde(flatten)]
    part: PartInput,
    #[serde(flatten)]
    bound: BoundInput,
}

/// Ops whose time changes.
#[derive(Deserialize, JsonSchema)]
struct OpChange {
    /// A name, a pattern with *, or re: and a regular expression.
    name: String,
    /// Factor of their time: 0.5 is half.
    time: f64,
}

impl WhatIfInput {
    fn words(&self) -> Vec<OsString> {
        let flags = [
            ("hide-collectives", self.hide_collectives),
            ("hide-copies", self.hide_copies),
            ("no-recompile", self.no_recompile),
            ("no-idle", self.no_idle),
        ];
        let mut words: Vec<OsString> =
            flags.iter().filter(|(_, is_set)| *is_set).map(|(name, _)| format!("--{name}").into()).collect();
        for (name, factor) in [("ici", self.ici), ("copies", self.copies), ("hbm", self.hbm), ("flops", self.flops)] {
            words.extend(factor.map(|factor| format!("--{name}={factor}").into()));
        }
        for change in &self.ops {
            words.extend(["--op".into(), change.name.clone().into(), change.time.to_string().into()]);
        }
        words
    }
}

impl McpTool for WhatIfTool {
    type Input = WhatIfInput;
    const NAME: &'static str = "what_if";
    const ABOUT: &'static str = "How long the run would take with faster links, hidden copies, cheaper ops or no \
        idle time, by replaying the recorded ops. Predictions are bounds, not promises.";

    fn run(call: &Call, input: WhatIfInput) -> Result<ToolOutput, CommandError> {
        input.bound.check()?;
        let args: ChangeArgs = embedded::parsed(&input.words())?;
        let session = call.session(&input.trace)?;
        let scope: Scope = input.part.scope(&session)?;
        let changes = whatif::changes(&args, &session, scope)?;
        let cx = session.context(scope);
        let result = Replay::new(&cx).and_then(|replay| replay.with(&cx, &changes));
        let report: Arc<dyn Report> =
            Arc::new(result.map_err(|error| CommandError { message: error.to_string(), code: 11 })?);
        input.bound.answer(Some((&input.trace, &session)), AnswerContent::default().with_tables(report.tables()))
    }
}
