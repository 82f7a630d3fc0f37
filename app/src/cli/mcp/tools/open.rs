//! `open`: what a capture holds.

use analysis::reports::steps::step_times::Steps;
use analysis::{ANALYSES, Scope};
use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{BoundInput, Call, McpTool, ToolOutput, TraceInput};
use crate::cli::embedded::CommandError;
use crate::cli::mcp::answer::{AnswerContent, AnswerTable};
use crate::number::counted;
use crate::session::devices_in_words;

pub(super) struct Open;

#[derive(Deserialize, JsonSchema)]
pub(super) struct OpenInput {
    #[serde(flatten)]
    trace: TraceInput,
    #[serde(flatten)]
    bound: BoundInput,
}

impl McpTool for Open {
    type Input = OpenInput;
    const NAME: &'static str = "open";
    const ABOUT: &'static str = "Opens a profile and says what it holds: files, devices, steps, what was lost, which \
        reports there are. Not needed before other tools: they open the path themselves and share open traces.";

    fn run(call: &Call, input: OpenInput) -> Result<ToolOutput, CommandError> {
        let session = call.session(&input.trace)?;
        let model = session.model();
        let steps = session.report::<Steps>(Scope::WholeTrace).map_or(0, |steps| steps.steps.len());
        let devices = devices_in_words(model).unwrap_or_else(|| "no TPU devices".to_owned());
        let statement = format!(
            "{devices}, {} on {}, {} captured, {}, {} lost on import",
            counted(model.slice_count() as u64, "slice"),
            counted(model.tracks().len() as u64, "track"),
            model.extent().dur(),
            counted(steps as u64, "step"),
            counted(model.import_log().lost(), "event"),
        );
        let files = model.sources().iter().map(|source| {
            let host = source.host.clone().unwrap_or_default();
            [source.name.clone(), source.format.to_owned(), source.packed_bytes.to_string(), host]
        });
        let log = model.import_log().counts().iter();
        let issues =
            log.map(|issue| [issue.kind.explain().to_owned(), issue.count.to_string(), issue.examples.join("; ")]);
        let reports = ANALYSES.iter().map(|entry| [entry.id.to_owned(), entry.title.to_owned()]);
        let content = AnswerContent { statement: Some(statement), ..AnswerContent::default() }
            .with(AnswerTable::of_texts("files", ["name", "format", "bytes", "host"], files))
            .with(AnswerTable::of_texts("import", ["what", "count", "examples"], issues))
            .with(AnswerTable::of_texts("reports", ["id", "title"], reports));
        input.bound.answer(Some((&input.trace, &session)), content)
    }
}
