//! Programs of the compiler beside the times of the capture: which there are, the text of one, the neighbourhood of an
//! instruction, a search, and the differences of two programs.
//!
//! These reports are about an instruction, a query or a pair of programs that somebody names, so they are functions and
//! not in the list of analyses.
//!
//! A program comes from the capture (`xla.HloProto` or HLO text). Where the capture has none, the lines of HLO text of
//! its ops stand in: then only ops that ran and their direct operands are known, and nothing that is inside fusions.

mod contents;
mod diff;
mod differences;
mod line;
mod list;
mod neighbourhood;
mod parts;
mod search;
mod sums;
#[cfg(test)]
mod tests;
mod text;
mod times;

use std::collections::HashMap;

use engine::number;
use facts::prelude::*;
use hlo::{HloModule, HloOrigin, Instruction};
use trace_model::{Op, StringId};

pub use contents::{ContentSum, PeakMemory, ProgramContents};
pub use diff::{Difference, DifferenceRow, ProgramDiff, diff};
pub use list::{ProgramList, ProgramRow, programs};
pub use neighbourhood::{HloEdge, HloNode, Neighbourhood, NodeRelation, Reach, neighbourhood};
pub use parts::{ProgramParts, program_parts};
pub use search::{FoundInstructions, HloQuery, find};
pub use sums::{ProgramPart, ProgramSum};
pub use text::{ProgramLine, ProgramListing, listing};
use times::ProgramTimes;

/// What is known of a program that the capture does not hold.
const OPS_ALONE: &str = "known are only the ops that ran, by their own lines of text, and the names of their operands. \
                         The content of fusions is unknown.";

/// Where a program was read from.
#[engine::titled]
pub enum ProgramOrigin {
    /// The whole program, as the capture holds it.
    Program = "whole program",
    /// The beginning of a program: its text ends too early.
    Cut = "cut text",
    /// The lines of text of the ops that ran.
    OpTexts = "ops that ran",
}

impl ProgramOrigin {
    /// What to know when reading it; `None` of whole programs.
    fn note(self) -> Option<String> {
        (self == Self::OpTexts)
            .then(|| format!("The capture does not hold this program: {OPS_ALONE}"))
    }
}

/// An instruction with what the capture measured of it.
#[engine::row(recorded)]
pub struct HloOp {
    /// Name of the instruction, without `%`.
    #[column("Instruction")]
    pub name: Arc<str>,
    /// `fusion`, `all-reduce-start` …; empty for an operand of which only the name is known.
    #[column]
    pub opcode: Arc<str>,
    /// Shape of the result with its layout, as HLO writes it, if known.
    #[column]
    pub shape: Option<String>,
    /// Bytes of the result, without padding.
    pub bytes: Option<u64>,
    /// Computation that contains it.
    #[column("Inside")]
    pub computation: String,
    /// Name in the framework.
    #[column("Framework name", id = "op_name")]
    pub framework_name: Option<Arc<str>>,
    /// `file:line`.
    #[column]
    pub source: Option<String>,
    /// Kind of work; absent unless it ran by itself.
    pub group: Option<OpGroup>,
    /// Executions over all devices in the scope; absent if none was recorded: what is inside a fusion does not run by
    /// itself.
    #[column("Runs", measured)]
    pub occurrences: Option<u64>,
    /// Self time of these.
    #[column(measured)]
    pub self_time_ps: Option<Picos>,
    /// Self time as a share of the self time of all ops of the scope, idle time left out.
    #[column("of op time", measured)]
    pub self_of_op_time_percent: Option<Percent>,
    /// Of collectives and asynchronous transfers, by the op that issues them: time in flight while the device computed
    /// nothing, over all devices.
    #[column(derived)]
    pub exposed_ps: Option<Picos>,
    /// The ops of the capture.
    #[serde(skip)]
    pub ops: Vec<OpId>,
}

/// A program with its times, which all reports here read.
pub struct TimedProgram {
    /// Which.
    pub program: ProgramId,
    /// Name with its id.
    pub title: String,
    /// The program.
    pub module: Arc<HloModule>,
    /// Where it was read from.
    pub origin: ProgramOrigin,
    /// What to know when reading it.
    pub notes: Vec<String>,
    times: ProgramTimes,
}

impl TimedProgram {
    /// Reads a program.
    ///
    /// # Errors
    ///
    /// The capture holds nothing of it.
    pub fn of(cx: &Context<'_>, program: ProgramId) -> Result<Self> {
        let title = cx.model.program_title(program);
        let (module, origin) = match cx.hlo(program) {
            Ok(module) if module.cut.is_some() => (module, ProgramOrigin::Cut),
            Ok(module) => (module, ProgramOrigin::Program),
            Err(error) => match of_op_texts(cx, program) {
                Some(module) => (Arc::new(module), ProgramOrigin::OpTexts),
                None => return Err(error.to_string().into()),
            },
        };
        let times = ProgramTimes::of(cx, program);
        let read = || number::count(module.instructions.len() as f64);
        let cut = module.cut.as_ref().map(|place| {
            format!(
                "The text of {title} ends {place}: the {} instructions before that are known.",
                read()
            )
        });
        let notes = origin.note().into_iter().chain(cut).collect();
        Ok(Self {
            program,
            title,
            module,
            origin,
            notes,
            times,
        })
    }

    /// What is known of one instruction.
    pub fn op(&self, instruction: &Instruction) -> HloOp {
        let computation = self.module.computation(instruction.computation);
        let times = self.times.of_op(&instruction.name);
        let said = |text: &Arc<str>| (!text.is_empty()).then(|| Arc::clone(text));
        HloOp {
            name: Arc::clone(&instruction.name),
            opcode: Arc::clone(&instruction.opcode),
            shape: instruction.shape.as_ref().map(ToString::to_string),
            bytes: instruction.shape.as_ref().and_then(|shape| shape.bytes()),
            computation: computation
                .map_or_else(String::new, |computation| computation.name.clone()),
            framework_name: said(&instruction.op_name),
            source: self.module.source(instruction),
            group: times.map(|times| times.group),
            occurrences: times.map(|times| times.occurrences),
            self_time_ps: times.map(|times| times.self_time_ps),
            self_of_op_time_percent: times.and_then(|times| self.times.share(times.self_time_ps)),
            exposed_ps: times.and_then(|times| times.exposed_ps),
            ops: times.map(|times| times.ops.clone()).unwrap_or_default(),
        }
    }
}

/// What is known of a program from the lines of its ops, in the order in which they were first written down; `None`
/// without any.
fn of_op_texts(cx: &Context<'_>, program: ProgramId) -> Option<HloModule> {
    let model = cx.model;
    let ops = model.ops().iter().filter(|op| op.program == Some(program));
    let lines: Vec<&str> = ops
        .clone()
        .filter_map(|op| op.hlo_text.map(|text| model.str(text)))
        .collect();
    let mut module = HloModule::from_lines(model.str(model.program(program).name), &lines)?;
    debug_assert_eq!(module.origin, HloOrigin::Text);
    // The profiler cuts metadata from the lines, and records it beside them.
    let recorded: HashMap<&str, &Op> = ops.map(|op| (model.str(op.name), op)).collect();
    for instruction in &mut module.instructions {
        if let Some(op) = recorded.get(&*instruction.name) {
            let text = |id: StringId| model.str(id);
            instruction.add_metadata(op.framework_name.map(text), op.source.map(text));
        }
    }
    Some(module)
}

/// The programs that contain an instruction of this name, those with most self time of it first.
///
/// # Errors
///
/// None has, or no program is known.
pub fn programs_with(cx: &Context<'_>, name: &str, wanted: Option<&str>) -> Result<Vec<ProgramId>> {
    let mut candidates = Vec::new();
    for program in chosen(cx, wanted)? {
        let Ok(timed) = TimedProgram::of(cx, program) else {
            continue;
        };
        if timed.module.find(name).is_some() {
            candidates.push((
                Reverse(timed.times.of_op(name).map(|times| times.self_time_ps)),
                program,
            ));
        }
    }
    candidates.sort();
    let why = || {
        AnalysisError::NotApplicable(format!(
            "no program of this capture has an instruction {name:?}"
        ))
    };
    if candidates.is_empty() {
        Err(why())
    } else {
        Ok(candidates.into_iter().map(|(_, program)| program).collect())
    }
}

/// Why there is nothing to list. A model that a simulator ran is none of them.
const NO_PROGRAMS: &str = "this capture holds no program of a compiler";

/// The programs of the capture, or those whose title is, or begins with, `wanted`.
///
/// # Errors
///
/// None has this name.
pub fn programs_called(cx: &Context<'_>, wanted: Option<&str>) -> Result<ProgramList> {
    let mut list = programs(cx);
    if wanted.is_some() {
        let chosen = chosen(cx, wanted)?;
        list.rows.retain(|row| chosen.contains(&row.id));
    }
    Ok(list)
}

/// Programs whose title is, or begins with, `wanted`: all if none is named. Those that ran longest come first.
///
/// # Errors
///
/// There is none, or none of this name.
pub fn chosen(cx: &Context<'_>, wanted: Option<&str>) -> Result<Vec<ProgramId>> {
    let list = programs(cx);
    let titles: Vec<&str> = list.rows.iter().map(|row| row.program.as_str()).collect();
    if titles.is_empty() {
        return Err(NO_PROGRAMS.into());
    }
    let Some(wanted) = wanted else {
        return Ok(list.rows.iter().map(|row| row.id).collect());
    };
    let exact = list.rows.iter().filter(|row| row.program == wanted);
    let mut chosen: Vec<ProgramId> = exact.map(|row| row.id).collect();
    if chosen.is_empty() {
        chosen = list
            .rows
            .iter()
            .filter(|row| row.program.starts_with(wanted))
            .map(|row| row.id)
            .collect();
    }
    let some = joined(titles.iter().take(5), ", ");
    let why = || {
        AnalysisError::NotApplicable(format!(
            "no program is called {wanted:?}; the capture has {some}"
        ))
    };
    if chosen.is_empty() {
        Err(why())
    } else {
        Ok(chosen)
    }
}
