//! The text of a program, line by line, with times in the margin.

use facts::ARE_SUMS;
use facts::prelude::*;

use super::{ProgramOrigin, TimedProgram, line};

/// The text of a program.
#[engine::reported]
pub struct ProgramListing {
    /// The program.
    pub program: String,
    /// Where it was read from.
    pub known_from: ProgramOrigin,
    /// Self time of its ops in the scope; absent if none was recorded.
    pub self_time_ps: Option<Picos>,
    /// Its lines.
    pub lines: Vec<ProgramLine>,
    /// What to know when reading it.
    pub notes: Vec<String>,
}

/// A line of a program.
#[engine::row(recorded)]
#[derive(Default)]
pub struct ProgramLine {
    /// What it says.
    #[column]
    pub text: String,
    /// The instruction that it describes; absent for lines around instructions.
    pub instruction: Option<Arc<str>>,
    /// Self time of the instruction; absent unless it ran by itself.
    #[column(measured)]
    pub self_time_ps: Option<Picos>,
    /// Exposed time of the transfer that it issues.
    #[column(derived)]
    pub exposed_ps: Option<Picos>,
    /// Its ops in the capture.
    #[serde(skip)]
    pub ops: Vec<OpId>,
}

/// The text of a program: as the capture holds it, or written from the parsed program.
///
/// # Errors
///
/// The capture holds nothing of the program.
pub fn listing(cx: &Context<'_>, program: ProgramId) -> Result<ProgramListing> {
    let id = program;
    let program = TimedProgram::of(cx, id)?;
    let mut notes = program.notes.clone();
    let held = cx
        .model
        .program(id)
        .hlo
        .as_ref()
        .filter(|_| program.origin != ProgramOrigin::OpTexts);
    let text = held
        .and_then(|blob| std::str::from_utf8(blob.bytes()).ok())
        .filter(|text| text.starts_with("HloModule"));
    if text.is_none() && program.origin != ProgramOrigin::OpTexts {
        notes.push(
            "Printed from the serialized program, with the attributes that are decoded".to_owned(),
        );
    }
    let lines = text.map_or_else(
        || written(&program),
        |text| text.lines().map(|text| recorded(&program, text)).collect(),
    );
    Ok(ProgramListing {
        self_time_ps: program.self_time_ps(),
        program: program.title,
        known_from: program.origin,
        lines,
        notes,
    })
}

fn plain(text: impl Into<String>) -> ProgramLine {
    ProgramLine {
        text: text.into(),
        ..ProgramLine::default()
    }
}

/// A line of the text that the capture holds.
fn recorded(program: &TimedProgram, text: &str) -> ProgramLine {
    let head = text.trim_start();
    let head = head.strip_prefix("ROOT ").unwrap_or(head);
    let name = head
        .split_once(" = ")
        .map(|(name, _)| name.trim_start_matches('%'));
    let instruction = name
        .and_then(|name| program.module.find(name))
        .and_then(|id| program.module.instruction(id));
    match instruction {
        Some(instruction) => of_instruction(program, &instruction.name, text.to_owned()),
        None => plain(text),
    }
}

fn of_instruction(program: &TimedProgram, name: &Arc<str>, text: String) -> ProgramLine {
    let times = program.times.of_op(name);
    ProgramLine {
        instruction: Some(Arc::clone(name)),
        self_time_ps: times.map(|times| times.self_time_ps),
        exposed_ps: times.and_then(|times| times.exposed_ps),
        ops: times.map(|times| times.ops.clone()).unwrap_or_default(),
        ..plain(text)
    }
}

/// All computations, the entry last as in HLO text.
fn written(program: &TimedProgram) -> Vec<ProgramLine> {
    let module = &program.module;
    let mut lines = vec![plain(format!("HloModule {}", module.name))];
    for (index, computation) in module.computations.iter().enumerate() {
        let is_entry = module.entry.is_some_and(|entry| entry.index() == index);
        let head = if is_entry { "ENTRY " } else { "" };
        let name = if computation.name.is_empty() {
            "ops"
        } else {
            &computation.name
        };
        lines.extend([plain(""), plain(format!("{head}{name} {{"))]);
        for instruction in module
            .instructions
            .get(computation.instructions.clone())
            .unwrap_or_default()
        {
            let text = format!("  {}", line::text(module, instruction));
            lines.push(of_instruction(program, &instruction.name, text));
        }
        lines.push(plain("}"));
    }
    lines
}

impl Tabular for ProgramListing {
    fn tables(&self) -> Vec<Table> {
        let table = Table::of("program", &self.program, &self.lines)
            .declared(["self_time_ps", "exposed_ps", "text"])
            .note(ARE_SUMS)
            .notes(self.notes.clone());
        vec![table.build()]
    }
}
