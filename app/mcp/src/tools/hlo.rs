//! `hlo`: programs of the compiler.

use std::path::Path;

use super::prelude::*;
use trace_model::{Picos, joined};

use request::{HloAnswer, HloRequest};

pub(super) struct HloTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct HloInput {
    #[serde(flatten)]
    question: HloRequest,
    #[serde(flatten)]
    of: PartOfTrace,
}

impl McpTool for HloTool {
    type Input = HloInput;
    const NAME: &'static str = "hlo";
    const ABOUT: &'static str = "Programs of the compiler: which there are, what is around an op (operands, users, fused \
        body, with times), a search, the text of one, what differs in another run.";

    fn run(call: &Call, input: HloInput) -> Result<ToolOutput> {
        input.question.check()?;
        let (session, scope) = input.of.open_programs(call)?;
        let cx = session.context(scope);
        let open = |path: &Path| {
            call.programs(&TraceInput {
                path: path.to_string_lossy().into_owned(),
                ..input.of.trace.clone()
            })
        };
        let answer = input.question.answer(&cx, open, &())?;
        let content = match answer.map_err(|error| RequestError::Usage(error.to_string()))? {
            HloAnswer::Text(text) => {
                let line = |time: Option<Picos>, text: &str| {
                    let time = time.map_or_else(String::new, |time| time.to_string());
                    format!("{time}\t{text}")
                };
                let lines = text
                    .lines
                    .iter()
                    .map(|one| line(one.self_time_ps, &one.text));
                AnswerContent {
                    statement: Some(text.notes.join("; ")),
                    ..AnswerContent::default()
                }
                .with_text(&joined(lines, "\n"))
            }
            other => AnswerContent::default().with_tables(other.report().tables()),
        };
        input.of.answer(&session, content)
    }
}
