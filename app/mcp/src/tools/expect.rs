//! `expect`: whether a program or a run is as expected.

use analysis::Tabular as _;
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{Call, McpTool, PartOfTrace, ToolOutput};
use crate::answer::AnswerContent;
use request::{ExpectRequest, RequestError};

pub(super) struct ExpectTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct ExpectInput {
    #[serde(flatten)]
    question: ExpectRequest,
    #[serde(flatten)]
    of: PartOfTrace,
}

impl McpTool for ExpectTool {
    type Input = ExpectInput;
    const NAME: &'static str = "expect";
    const ABOUT: &'static str = "Did the change happen? Judges what must and must not be in a program (HLO, StableHLO) or a \
        profile: collectives, types of products, kernels, fusions, memory, compilation. Each is met, not met, or unknown.";

    fn run(call: &Call, input: ExpectInput) -> Result<ToolOutput, RequestError> {
        let (session, scope) = input.of.open_programs(call)?;
        let report = input.question.answer(&session.context(scope))?;
        let content = AnswerContent {
            statement: Some(report.statement.clone()),
            ..AnswerContent::default()
        };
        input
            .of
            .answer(&session, content.with_tables(report.tables()))
    }
}
