//! `events`: events as a list or in groups.

use super::prelude::*;

use request::{EventQuestion, EventsRequest};

/// Most rows of a part.
const MOST_ROWS: usize = 10_000;
/// A row has more bytes: no more rows are looked up than can be sent.
const BYTES_OF_ROW: usize = 16;

pub(super) struct EventsTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct EventsInput {
    #[serde(flatten)]
    question: EventsRequest,
    #[serde(flatten)]
    of: PartOfTrace,
}

impl McpTool for EventsTool {
    type Input = EventsInput;
    const NAME: &'static str = "events";
    const ABOUT: &'static str = "Events of the timeline (ops, programs, steps, host events) by name, category, track, step, \
        time or length: a list, or count, total, self, mean and percentiles by group.";

    fn run(call: &Call, input: EventsInput) -> Result<ToolOutput> {
        let (cursor, most_bytes) = input.of.bound.check()?;
        let EventsRequest { limit, offset, .. } = input.question;
        let first = cursor.unwrap_or(offset);
        let limit = limit.filter(|&limit| limit > 0).unwrap_or(MOST_ROWS);
        let limit = limit.min(MOST_ROWS).min(most_bytes / BYTES_OF_ROW);
        let question = EventsRequest {
            limit: Some(limit),
            offset: first,
            ..input.question
        };
        question.check()?;
        let (session, scope) = input.of.open(call)?;
        let question =
            EventQuestion::new(&session, &question, scope, &input.of.trace.values.device)?;
        let answer = question.answer(&|| call.goes_on());
        let (total, table) = (answer.extent().0, answer.table().clone());
        let before = first.min(total);
        let after = total.saturating_sub(before + table.rows.len());
        let mut content = AnswerContent {
            before,
            after,
            ..AnswerContent::default()
        }
        .with_tables([table]);
        content
            .tables
            .iter_mut()
            .for_each(|table| table.total_rows = total);
        let trace = Some((&input.of.trace, &*session));
        input.of.bound.answer_from(first, trace, content)
    }
}
