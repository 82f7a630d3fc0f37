//! `hlo`: programs of the compiler.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use trace_model::Picos;

use super::call::{BoundInput, Call, McpTool, ToolOutput, TraceInput};
use crate::answer::AnswerContent;
use request::{HloAnswer, HloRequest, PartRequest, RequestError, checks};

pub(super) struct HloTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct HloInput {
    #[serde(flatten)]
    question: HloRequest,
    #[serde(flatten)]
    trace: TraceInput,
    #[serde(flatten)]
    part: PartRequest,
    #[serde(flatten)]
    bound: BoundInput,
}

impl McpTool for HloTool {
    type Input = HloInput;
    const NAME: &'static str = "hlo";
    const ABOUT: &'static str = "Programs of the compiler: which there are, what is around an op (operands, users, fused \
        body, with times), a search, the text of one, what differs in another run.";

    fn run(call: &Call, input: HloInput) -> Result<ToolOutput, RequestError> {
        input.question.check()?;
        input.bound.check()?;
        let session = call.session(&input.trace)?;
        let cx = session.context(checks::check_part(&session, &input.part)?);
        let open = |path: &Path| {
            call.session(&TraceInput {
                path: path.to_string_lossy().into_owned(),
                ..input.trace.clone()
            })
        };
        let answer = input.question.answer(&cx, open, &())?;
        let content = match answer.map_err(|error| RequestError::Usage(error.to_string()))? {
            HloAnswer::Text(found) => {
                let line = |time: Option<Picos>, text: &str| {
                    let time = time.map_or_else(String::new, |time| time.to_string());
                    format!("{time}\t{text}")
                };
                let lines = found
                    .lines
                    .iter()
                    .map(|one| line(one.self_time_ps, &one.text));
                AnswerContent {
                    statement: Some(found.notes.join("; ")),
                    ..AnswerContent::default()
                }
                .with_text(&lines.collect::<Vec<_>>().join("\n"))
            }
            other => AnswerContent::default().with_tables(other.report().tables()),
        };
        input.bound.answer(Some((&input.trace, &session)), content)
    }
}
