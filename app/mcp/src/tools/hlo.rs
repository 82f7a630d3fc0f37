//! `hlo`: programs of the compiler.

use std::sync::Arc;

use analysis::reports::hlo::{
    HloQuery, Reach, chosen, diff, find, listing, neighbourhood, programs_called, programs_with,
};
use analysis::{AnalysisError, Context, Report};
use schemars::JsonSchema;
use serde::Deserialize;
use trace_model::{Picos, ProgramId};

use super::call::{BoundInput, Call, McpTool, ToolOutput, TraceInput};
use crate::answer::AnswerContent;

use request::{PartRequest, RequestError, checks};

pub(super) struct HloTool;

#[derive(Deserialize, JsonSchema)]
pub(super) struct HloInput {
    /// The operands and users of this instruction, with what is fused into it.
    op: Option<String>,
    /// Steps from the instruction to its operands and users; 2 by default.
    radius: Option<u32>,
    /// Instructions that contain all words; `name:`, `opcode:`, `shape:`, `source:`, `op_name:` and `groups:` look into
    /// one field.
    find: Option<String>,
    /// The text of a program, with the self time of each line.
    #[serde(default)]
    text: bool,
    /// What differs from the program of the same name in this other profile.
    diff: Option<String>,
    /// The program; by default the one that ran longest, or all for `find`. Without a question, programs are listed.
    program: Option<String>,
    #[serde(flatten)]
    trace: TraceInput,
    #[serde(flatten)]
    part: PartRequest,
    #[serde(flatten)]
    bound: BoundInput,
}

fn usage(error: &AnalysisError) -> RequestError {
    RequestError::Usage(error.to_string())
}

/// The first of several programs.
fn first(programs: &[ProgramId]) -> Result<ProgramId, RequestError> {
    let first = programs.first().copied();
    first.ok_or_else(|| RequestError::Usage("the capture names no programs".to_owned()))
}

impl HloInput {
    fn check(&self) -> Result<(), RequestError> {
        let asked = [self.op.is_some(), self.find.is_some(), self.text, self.diff.is_some()];
        if asked.into_iter().filter(|&asked| asked).count() > 1 {
            return Err(RequestError::Usage("hlo: ask for one of op, find, text and diff".to_owned()));
        }
        Ok(())
    }

    fn report(&self, call: &Call, cx: &Context<'_>) -> Result<Arc<dyn Report>, RequestError> {
        /// Most instructions around an op.
        const MOST: usize = 200;
        let wanted = self.program.as_deref();
        if let Some(name) = &self.op {
            let name = name.trim_start_matches('%');
            let program = first(&programs_with(cx, name, wanted).map_err(|error| usage(&error))?)?;
            let reach = Reach { radius: self.radius.unwrap_or(2), most: MOST };
            return neighbourhood(cx, program, name, reach)
                .map(|found| Arc::new(found) as _)
                .map_err(|error| usage(&error));
        }
        if let Some(words) = &self.find {
            let query = HloQuery::parse(words);
            if query.is_empty() {
                return Err(RequestError::Usage("find: write a word".to_owned()));
            }
            return Ok(Arc::new(find(cx, &chosen(cx, wanted).map_err(|error| usage(&error))?, &query)));
        }
        let Some(path) = &self.diff else {
            return Ok(Arc::new(programs_called(cx, wanted).map_err(|error| usage(&error))?));
        };
        let other = call.session(&TraceInput { path: path.clone(), ..self.trace.clone() })?;
        let beside = other.context(cx.scope);
        let one = first(&chosen(cx, wanted).map_err(|error| usage(&error))?)?;
        let name = cx.model.str(cx.model.program(one).name);
        let two = chosen(&beside, Some(wanted.unwrap_or(name))).or_else(|_| chosen(&beside, Some(name)));
        let two = first(&two.map_err(|error| usage(&error))?)?;
        diff((cx, one), (&beside, two)).map(|found| Arc::new(found) as _).map_err(|error| usage(&error))
    }
}

impl McpTool for HloTool {
    type Input = HloInput;
    const NAME: &'static str = "hlo";
    const ABOUT: &'static str = "Programs of the compiler: which there are, what is around an op (operands, users, fused \
        body, with times), a search, the text of one, what differs in another run.";

    fn run(call: &Call, input: HloInput) -> Result<ToolOutput, RequestError> {
        input.check()?;
        input.bound.check()?;
        let session = call.session(&input.trace)?;
        let cx = session.context(checks::check_part(&session, &input.part)?);
        let content = if input.text {
            let program = first(&chosen(&cx, input.program.as_deref()).map_err(|error| usage(&error))?)?;
            let found = listing(&cx, program).map_err(|error| usage(&error))?;
            let line = |time: Option<i64>, text: &str| {
                let time = time.map_or_else(String::new, |ps| Picos::from_ps(ps).to_string());
                format!("{time}\t{text}")
            };
            let lines = found.lines.iter().map(|one| line(one.self_time_ps, &one.text));
            AnswerContent { statement: Some(found.notes.join("; ")), ..AnswerContent::default() }
                .with_text(&lines.collect::<Vec<_>>().join("\n"))
        } else {
            AnswerContent::default().with_tables(input.report(call, &cx)?.tables())
        };
        input.bound.answer(Some((&input.trace, &session)), content)
    }
}
