//! `events`: events as a list or in groups.

use std::ffi::OsString;

use schemars::JsonSchema;
use serde::Deserialize;

use super::call::{BoundInput, Call, McpTool, PartInput, ToolOutput, TraceInput};
use crate::cli::commands::events::{EventQuestionArgs, answer};
use crate::cli::embedded::{self, CommandError};
use crate::cli::mcp::answer::AnswerContent;

/// Most rows of an answer, which is sent in parts.
const MOST_ROWS: usize = 10_000;

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
    /// Most rows; 100 by default, at most 10000.
    limit: Option<usize>,
    /// Rows to leave out before the first.
    offset: Option<usize>,
    #[serde(flatten)]
    trace: TraceInput,
    #[serde(flatten)]
    part: PartInput,
    #[serde(flatten)]
    bound: BoundInput,
}

impl EventsInput {
    /// The question as on the command line.
    fn words(&self) -> Vec<OsString> {
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
        let limit = self.limit.map(|limit| if limit == 0 { MOST_ROWS } else { limit.min(MOST_ROWS) });
        words.extend(limit.map(|limit| format!("--limit={limit}").into()));
        words.extend(self.offset.map(|offset| format!("--offset={offset}").into()));
        words
    }
}

impl McpTool for EventsTool {
    type Input = EventsInput;
    const NAME: &'static str = "events";
    const ABOUT: &'static str = "Events of the timeline (executions of ops and programs, steps, host events) by name, \
        category, track, step, time or length: a list, or count, total, self, mean and percentiles by group.";

    fn run(call: &Call, input: EventsInput) -> Result<ToolOutput, CommandError> {
        input.bound.check()?;
        let question: EventQuestionArgs = embedded::parsed(&input.words())?;
        let session = call.session(&input.trace)?;
        let scope = input.part.scope(&session)?;
        let found = answer(&session, &question, scope, &input.trace.devices, &|| call.goes_on())?;
        let content = AnswerContent::default().with_tables([found.table().clone()]);
        input.bound.answer(Some((&input.trace, &session)), content)
    }
}
