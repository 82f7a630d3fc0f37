//! The service: which tools there are, and how a call runs.

use std::sync::Arc;
use std::time::Duration;

use analysis::LowerBound;
use base64::prelude::{BASE64_STANDARD, Engine as _};
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, MetaObject, PaginatedRequestParams, ProgressNotificationParam,
    ProtocolVersion, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::{RequestContext, RoleServer};

use super::answer::ToolAnswer;
use super::tools::{CAPTURE, Call, TOOLS, ToolEntry, ToolOutput};
use request::places::Roots;
use request::{CancelOnDrop, OpenTraces, RequestError, Result};

/// How often a running call is looked after.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// What agents read first.
const INSTRUCTIONS: &str = "Systole finds what limits a TPU program from its profile. Start with `verdict` and a path: it \
    names the limit, the figures behind it and the hints worth most. `explain` says how to check a hint and what to do. \
    Look closer with `ops`, `steps`, `events`, `hlo` and `query`; `doctor` says what the capture lacks; `report` has all \
    rows and columns of any report; `compare` tells a change from noise; `what_if` predicts a fix. A missing value is null \
    and means not recorded, never 0. path, run, steps, range, device, assume, max_bytes and cursor are the same everywhere: \
    `verdict` explains them. Answers are cut at `max_bytes`: `truncated`, `total` and `cursor` say what is left.";

/// The tools over the traces below some directories. Clones share the open traces, so that each connection of a server
/// can have its own.
#[derive(Clone, Debug)]
pub struct SystoleService {
    roots: Arc<Roots>,
    traces: Arc<OpenTraces>,
    /// Whether running programs may be captured.
    captures: bool,
    /// Whether answers are text alone.
    is_text_only: bool,
}

impl SystoleService {
    /// A service that reads below these directories and keeps these traces open.
    pub fn new(roots: Arc<Roots>, traces: Arc<OpenTraces>) -> Self {
        Self {
            roots,
            traces,
            captures: false,
            is_text_only: false,
        }
    }

    /// This server with answers as text alone, for clients that hand on nothing else.
    pub(super) fn with_text_only(self, is_text_only: bool) -> Self {
        Self {
            is_text_only,
            ..self
        }
    }

    /// This server with the tool that captures running programs, if they may be captured.
    pub(super) fn with_capture(self, captures: bool) -> Self {
        Self { captures, ..self }
    }

    /// The tools that this server offers.
    fn tools(&self) -> impl Iterator<Item = &'static ToolEntry> {
        TOOLS.iter().chain(CAPTURE.iter().filter(|_| self.captures))
    }
}

impl ServerHandler for SystoleService {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(
                Implementation::new("systole", env!("CARGO_PKG_VERSION")).with_title("Systole"),
            )
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(
            self.tools().map(described).collect(),
        ))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools().find(|tool| tool.name == name).map(described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = self.tools().find(|tool| tool.name == request.name) else {
            let why = format!(
                "there is no tool {:?}; the tools are {}",
                request.name,
                trace_model::joined(self.tools().map(|tool| tool.name), ", ")
            );
            return Err(ErrorData::invalid_params(why, None));
        };
        let call = Call {
            roots: Arc::clone(&self.roots),
            traces: Arc::clone(&self.traces),
            cancel: Arc::default(),
        };
        let arguments = request.arguments.unwrap_or_default();
        // Older clients know no structured answers.
        let is_old = context
            .protocol_version()
            .is_some_and(|version| version < ProtocolVersion::V_2025_06_18);
        let is_text_only = self.is_text_only || is_old;
        let result = watched(tool, call, arguments, &context).await?;
        Ok(sent(result, is_text_only).into())
    }
}

fn described(tool: &ToolEntry) -> Tool {
    let about = ToolAnnotations::default()
        .read_only(tool.is_read_only)
        .open_world(!tool.is_read_only);
    Tool::new(tool.name, tool.about, (tool.input)()).with_annotations(about)
}

/// Runs a call on a thread of its own; tells its progress, and stops it when the client does not want it any more.
async fn watched(
    tool: &'static ToolEntry,
    call: Call,
    arguments: JsonObject,
    context: &RequestContext<RoleServer>,
) -> Result<Result<ToolOutput>, ErrorData> {
    let stop = CancelOnDrop(Arc::clone(&call.cancel));
    let mut running = tokio::task::spawn_blocking(move || (tool.run)(&call, arguments));
    let token = context.meta.get_progress_token();
    let mut told = 0;
    loop {
        match tokio::time::timeout(LOOK_EVERY, &mut running).await {
            Ok(Ok(result)) => return Ok(result),
            Ok(Err(error)) => return Ok(Err(RequestError::Internal(error.to_string()))),
            Err(_is_running) if context.ct.is_cancelled() => {
                drop(stop);
                return Err(ErrorData::internal_error("the call was cancelled", None));
            }
            Err(_is_running) => {
                let (done, total) = stop.0.progress.bytes();
                if let Some(token) = token.clone().filter(|_| done > told) {
                    told = done;
                    let mut param = ProgressNotificationParam::new(token, done as f64);
                    param.total = (total > 0).then_some(total as f64);
                    param.message = Some("bytes read".to_owned());
                    // A client that does not listen is no reason to stop.
                    let _ = context.peer.notify_progress(param).await;
                }
            }
        }
    }
}

/// A message whose lines are no longer than those of an answer: it may repeat what was asked.
fn bounded(message: &str) -> String {
    const LINE: usize = 600;
    let lines = message
        .lines()
        .take(10)
        .map(|line| analysis::shortened(line, LINE));
    trace_model::joined(lines, "\n")
}

/// Beside the structured answer, which has it all: its statement, and how much of it is there.
fn short(answer: &ToolAnswer) -> String {
    let statement = answer.statement.as_deref().unwrap_or_default();
    let total = LowerBound(answer.total_is_at_least).of(answer.total.to_string());
    let rows = format!("{} of {total} rows", answer.shown);
    if statement.is_empty() {
        rows
    } else {
        format!("{statement} ({rows})")
    }
}

/// An answer is sent once: structured with a short text, or as text.
fn sent(result: Result<ToolOutput>, is_text_only: bool) -> CallToolResult {
    match result {
        Ok(ToolOutput::Answer(answer)) => match serde_json::to_value(&answer) {
            Ok(value) if is_text_only => {
                CallToolResult::success(vec![ContentBlock::text(value.to_string())])
            }
            Ok(value) => {
                let mut result = CallToolResult::success(vec![ContentBlock::text(short(&answer))]);
                result.structured_content = Some(value);
                result
            }
            Err(error) => {
                CallToolResult::error(vec![ContentBlock::text(format!("internal error: {error}"))])
            }
        },
        Ok(ToolOutput::Picture { png, about }) => CallToolResult::success(vec![
            ContentBlock::image(BASE64_STANDARD.encode(png), "image/png"),
            ContentBlock::text(about),
        ]),
        Err(error) => {
            let mut refused =
                CallToolResult::error(vec![ContentBlock::text(bounded(&error.to_string()))]);
            let code = ("systole/code".to_owned(), error.codes().word.into());
            refused.meta = Some(MetaObject([code].into_iter().collect()));
            refused
        }
    }
}
