//! `open`: what a capture holds.

use super::prelude::*;
use analysis::reports::Steps;
use analysis::{ANALYSES, Scope};
use serde_json::json;

use super::call::BoundInput;
use session::number::counted;
use session::{devices_in_words, lost_on_import};

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
    const ABOUT: &'static str = "What a profile holds: files, devices, steps, what was lost, which reports there are. \
        Not needed before other tools.";

    fn run(call: &Call, input: OpenInput) -> Result<ToolOutput> {
        let session = call.session(&input.trace)?;
        let model = session.model();
        let steps = session
            .report::<Steps>(Scope::WholeTrace)
            .map_or(0, |steps| steps.steps.len());
        let devices = devices_in_words(model, session.options())
            .unwrap_or_else(|| "no TPU devices".to_owned());
        let lost = match model.import_log().lost() {
            0 => "nothing lost on import".to_owned(),
            lost => lost_on_import(lost),
        };
        let statement = format!(
            "{devices}, {} on {}, {} captured, {}, {lost}",
            counted(model.recorded_slices(), "slice"),
            counted(model.tracks().len() as u64, "track"),
            model.extent().dur(),
            counted(steps as u64, "step"),
        );
        let files = model.sources().iter().map(|source| {
            [
                json!(source.name),
                json!(source.format),
                json!(source.packed_bytes),
                json!(source.host),
            ]
        });
        let log = model.import_log().counts().iter();
        let issues = log.map(|issue| {
            [
                json!(issue.kind.explain()),
                json!(issue.count),
                json!(issue.examples.join("; ")),
            ]
        });
        let reports = ANALYSES
            .iter()
            .map(|entry| [entry.id.to_owned(), entry.title.to_owned()]);
        let content = AnswerContent {
            statement: Some(statement),
            ..AnswerContent::default()
        }
        .with(
            AnswerTable::of_values("files", ["name", "format", "bytes", "host"], files)
                .in_unit("bytes", "bytes", "recorded"),
        )
        .with(
            AnswerTable::of_values("import", ["what", "count", "examples"], issues)
                .in_unit("count", "count", "recorded"),
        )
        .with(AnswerTable::of_texts("reports", ["id", "title"], reports));
        input.bound.answer(Some((&input.trace, &session)), content)
    }
}
