//! What a tool is, and what all tools share: which trace, which part, how much of the answer.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use analysis::Scope;
use analysis::reports::Steps;
use rmcp::model::JsonObject;
use schemars::JsonSchema;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::schema::{schema_of, with_assumptions};
use crate::answer::{AnswerContent, LEAST_BYTES, MOST_BYTES, ToolAnswer, USUAL_BYTES};

use request::places::Roots;
use request::{
    AskedTrace, AssumedFiles, AssumedValues, Assumptions, Cancel, OpenTraces, PartRequest,
    ReadingOptions, RequestError, Result, TraceRequest, checks,
};
use session::{RequestSession, Session};

/// A tool.
pub(super) trait McpTool {
    /// What it is asked.
    type Input: DeserializeOwned + JsonSchema + 'static;
    /// Its name.
    const NAME: &'static str;
    /// What it answers.
    const ABOUT: &'static str;
    /// Whether it changes nothing.
    const IS_READ_ONLY: bool = true;
    /// Answers.
    fn run(call: &Call, input: Self::Input) -> Result<ToolOutput>;
}

/// A tool without its types.
#[derive(Debug)]
pub struct ToolEntry {
    pub name: &'static str,
    pub about: &'static str,
    pub is_read_only: bool,
    pub input: fn() -> JsonObject,
    pub run: fn(&Call, JsonObject) -> Result<ToolOutput>,
}

pub(super) const fn entry<T: McpTool>() -> ToolEntry {
    ToolEntry {
        name: T::NAME,
        about: T::ABOUT,
        is_read_only: T::IS_READ_ONLY,
        input: || schema_of::<T::Input>(T::NAME),
        run: run_of::<T>,
    }
}

fn run_of<T: McpTool>(call: &Call, arguments: JsonObject) -> Result<ToolOutput> {
    let arguments = with_assumptions::<T::Input>(T::NAME, arguments)?;
    T::run(call, request::read(T::NAME, arguments)?)
}

/// What a tool answers.
pub enum ToolOutput {
    /// Tables and text.
    Answer(ToolAnswer),
    /// A picture, with what it shows.
    Picture {
        /// The file.
        png: Vec<u8>,
        /// A sentence.
        about: String,
    },
}

/// One call of a tool.
#[derive(Debug)]
pub struct Call {
    pub roots: Arc<Roots>,
    pub traces: Arc<OpenTraces>,
    pub cancel: Arc<Cancel>,
}

/// Which trace, and how to read it.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
pub(super) struct TraceInput {
    /// A profile, a run, a log directory or a pattern.
    pub path: String,
    /// Run of a log directory; the newest by default.
    pub run: Option<String>,
    #[serde(flatten)]
    pub values: AssumedValues,
    #[serde(flatten)]
    pub files: AssumedFiles,
}

impl TraceInput {
    /// The path, with the run that was read of a log directory.
    fn named(&self, session: &Session) -> String {
        let source = session.model().sources().first();
        let run = source.and_then(|source| source.path.as_deref()?.parent());
        let run = run
            .filter(|run| {
                run.parent()
                    .is_some_and(|all| all.ends_with("plugins/profile"))
            })
            .and_then(|run| run.file_name()?.to_str())
            .filter(|run| !self.path.contains(run));
        match run {
            Some(run) => format!("{}, run {run}", self.path),
            None => self.path.clone(),
        }
    }
}

/// How much of the answer.
#[derive(Deserialize, JsonSchema)]
pub(super) struct BoundInput {
    /// Most bytes of the answer; 20000 by default, from 2000 to 1000000.
    max_bytes: Option<u32>,
    /// Where to continue, as the last answer said.
    cursor: Option<String>,
}

/// A question about a part of a trace.
#[derive(Deserialize, JsonSchema)]
pub(super) struct PartOfTrace {
    #[serde(flatten)]
    pub trace: TraceInput,
    #[serde(flatten)]
    part: PartRequest,
    #[serde(flatten)]
    pub bound: BoundInput,
}

impl PartOfTrace {
    /// The trace, and what is asked of it.
    pub fn open(&self, call: &Call) -> Result<(RequestSession, Scope)> {
        self.scoped(Call::session, call)
    }

    /// The trace, opened for questions about programs, and what is asked of it.
    pub fn open_programs(&self, call: &Call) -> Result<(RequestSession, Scope)> {
        self.scoped(Call::programs, call)
    }

    fn scoped(
        &self,
        open: impl Fn(&Call, &TraceInput) -> Result<RequestSession>,
        call: &Call,
    ) -> Result<(RequestSession, Scope)> {
        self.bound.check()?;
        let session = open(call, &self.trace)?;
        let scope = checks::check_part(&session, &self.part)?;
        Ok((session, scope))
    }

    /// The part of `content` that fits.
    pub fn answer(&self, session: &Session, content: AnswerContent) -> Result<ToolOutput> {
        self.bound.answer(Some((&self.trace, session)), content)
    }
}

impl Call {
    pub(super) fn session(&self, input: &TraceInput) -> Result<RequestSession> {
        self.opened(input, false)
    }

    /// Opens a trace for questions about programs, which need no times.
    pub(super) fn programs(&self, input: &TraceInput) -> Result<RequestSession> {
        self.opened(input, true)
    }

    fn opened(&self, input: &TraceInput, programs_only: bool) -> Result<RequestSession> {
        let path = self.roots.path(&input.path)?;
        let assume = Assumptions {
            values: input.values.clone(),
            files: input.files.clone(),
            reading: ReadingOptions::default(),
        };
        let trace = TraceRequest {
            path,
            run: input.run.clone(),
            assume: assume.below(&self.roots)?,
        };
        let asked = AskedTrace {
            trace,
            listed: None,
            programs_only,
        };
        let progress = &self.cancel.progress;
        let session = self.traces.get(&self.roots, &asked, progress)?;
        let warmup = input.values.warmup;
        if warmup > 0
            && let Ok(steps) = session.report::<Steps>(Scope::WholeTrace)
            && steps.is_all_warmup()
        {
            let why = format!(
                "the run has {} steps, so that {warmup} leave none",
                steps.steps.len()
            );
            return Err(RequestError::argument("warmup", why));
        }
        Ok(session)
    }

    pub(super) fn goes_on(&self) -> bool {
        !self.cancel.flag.load(Ordering::Relaxed)
    }
}

impl BoundInput {
    /// Where to continue, and the most bytes.
    pub fn check(&self) -> Result<(Option<usize>, usize)> {
        let most = self.max_bytes.unwrap_or(USUAL_BYTES);
        if !(LEAST_BYTES..=MOST_BYTES).contains(&most) {
            return Err(RequestError::Usage(format!(
                "max_bytes: write a number from {LEAST_BYTES} to {MOST_BYTES}"
            )));
        }
        let from = self.cursor.as_deref().map(str::parse).transpose();
        let from = from.map_err(|_not_ours| {
            RequestError::Usage("cursor: write the cursor of the last answer".to_owned())
        })?;
        Ok((from, most as usize))
    }

    /// The wanted part of an answer about a trace.
    pub fn answer(
        &self,
        trace: Option<(&TraceInput, &Session)>,
        content: AnswerContent,
    ) -> Result<ToolOutput> {
        self.answer_from(self.check()?.0.unwrap_or(0), trace, content)
    }

    /// The part of an answer about a trace that begins with this row.
    pub fn answer_from(
        &self,
        from: usize,
        trace: Option<(&TraceInput, &Session)>,
        content: AnswerContent,
    ) -> Result<ToolOutput> {
        let (_, most) = self.check()?;
        let content = match trace {
            Some((_, session)) => content.in_trace(session.model()),
            None => content,
        };
        let noted = |(input, session): (&TraceInput, _)| request::notes(session, &input.values);
        let notes = trace.map(noted).unwrap_or_default();
        let content = AnswerContent {
            notes: [notes, content.notes].concat(),
            trace: trace.map(|(input, session)| input.named(session)),
            times_from: trace.and_then(|(_, session)| session.model().badge()),
            ..content
        };
        Ok(ToolOutput::Answer(content.part(from, most)?))
    }
}

impl AnswerContent {
    /// Sets the provenance that columns have in this trace: what a simulator or model computed was not measured, but
    /// counts are those of the file.
    fn in_trace(mut self, model: &trace_model::TraceModel) -> Self {
        let times = analysis::Provenance::Measured;
        let columns = self.tables.iter_mut().flat_map(|table| &mut table.columns);
        let columns = columns.filter(|column| column.unit.as_deref() != Some("count"));
        for from in columns.filter_map(|column| column.provenance.as_mut()) {
            if *from == times.title() {
                *from = times.in_trace(model).title();
            }
        }
        self
    }
}
