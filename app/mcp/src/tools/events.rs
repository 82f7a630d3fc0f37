//! `events`: events as a list or in groups.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{BoundInput, Call, McpTool, PartInput, ToolOutput, TraceInput};
use crate::answer::AnswerContent;
use cli::commands::events::{EventQuestionArgs, answer};
use cli::embedded::{self, CommandError};

/// Most rows of a part.
const MOST_ROWS: usize = 10_000;
/// A row has more bytes: no more rows are looked up than can be sent.
const BYTES_OF_ROW: usize = 16;

pub(super) struct EventsTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct EventsInput {
    /// Name of events: a name, a pattern with *, or re: and a regular expression; one of several must match.
    #[serde(default)]
    name: Vec<String>,
    /// Kind of work of ops: Matmul, Collective …
    #[serde(default)]
    category: Vec<String>,
    /// Compiled program.
    #[serde(default)]
    program: Vec<String>,
    /// Name of the track.
    #[serde(default)]
    track: Vec<String>,
    /// What the track records: ops, modules, steps, `async_ops`, `host_thread` …
    #[serde(default)]
    kind: Vec<String>,
    /// Name of the host that recorded them.
    #[serde(default)]
    host: Vec<String>,
    /// Least length: "10us".
    least: Option<String>,
    /// Greatest length.
    most: Option<String>,
    /// Times in groups instead of a list, by up to four of name, category, track, kind, device, host, step, program, depth.
    #[serde(default)]
    group_by: Vec<String>,
    /// Columns of a list: start, dur, self, name, category, step, device, track, host, program, args …
    #[serde(default)]
    columns: Vec<String>,
    /// A list: start, duration, self, name; groups: total, self, count, mean, max, name.
    sort: Option<String>,
    /// Most rows of a part, at most 10000; by default as many as fit. `total` counts all, and `cursor` continues.
    limit: Option<usize>,
    /// Rows to leave out before the first; `cursor` goes before it.
    offset: Option<usize>,
    #[serde(flatten)]
    trace: TraceInput,
    #[serde(flatten)]
    part: PartInput,
    #[serde(flatten)]
    bound: BoundInput,
}

impl EventsInput {
    /// The question as on the command line, for the rows from `offset`.
    fn words(&self, offset: usize, most_bytes: usize) -> Vec<OsString> {
        let mut words: Vec<OsString> = Vec::new();
        let lists = [
            ("name", &self.name),
            ("category", &self.category),
            ("program", &self.program),
            ("track", &self.track),
            ("kind", &self.kind),
            ("host", &self.host),
            ("group-by", &self.group_by),
            ("columns", &self.columns),
        ];
        for (name, values) in lists {
            words.extend(values.iter().map(|value| format!("--{name}={value}").into()));
        }
        for (name, value) in [("least", &self.least), ("most", &self.most), ("sort", &self.sort)] {
            words.extend(value.iter().map(|value| format!("--{name}={value}").into()));
        }
        let limit = self.limit.filter(|&limit| limit > 0).unwrap_or(MOST_ROWS);
        let limit = limit.min(MOST_ROWS).min(most_bytes / BYTES_OF_ROW);
        words.extend([format!("--limit={limit}").into(), format!("--offset={offset}").into()]);
        words
    }
}

impl McpTool for EventsTool {
    type Input = EventsInput;
    const NAME: &'static str = "events";
    const ABOUT: &'static str = "Events of the timeline (executions of ops and programs, steps, host events) by name, \
        category, track, step, time or length: a list, or count, total, self, mean and percentiles by group.";

    fn run(call: &Call, input: EventsInput) -> Result<ToolOutput, CommandError> {
        let (cursor, most_bytes) = input.bound.check()?;
        let first = cursor.or(input.offset).unwrap_or(0);
        let question: EventQuestionArgs = embedded::parsed(&input.words(first, most_bytes))?;
        let session = call.session(&input.trace)?;
        let scope = input.part.scope(&session)?;
        let found = answer(&session, &question, scope, &input.trace.devices, &|| call.goes_on())?;
        let (total, table) = (found.extent().0, found.table().clone());
        let before = first.min(total);
        let after = total.saturating_sub(before + table.rows.len());
        let mut content = AnswerContent { before, after, ..AnswerContent::default() }.with_tables([table]);
        content.tables.iter_mut().for_each(|table| table.total_rows = total);
        input.bound.answer_from(first, Some((&input.trace, &session)), content)
    }
}
