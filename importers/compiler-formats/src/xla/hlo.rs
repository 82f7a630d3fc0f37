//! A program as HLO text: computations, instructions and source positions.

use std::borrow::Cow;
use std::cell::OnceCell;

use hashbrown::HashMap;

use hlo::{ProgramPart, ProgramText, split_attributes};
use importer_common::names::BoundedNames;

use super::config::json_number;
use super::shape::ShapeSize;

pub(super) use hlo::HloText as Instruction;

/// The text of an instruction as profiles contain it: operands with their shapes, without the compiler's configuration,
/// except the trip count of loops. Truncated with … beyond `most` bytes, because many ops can share an operand with a
/// huge shape.
pub(super) fn profile_text(
    instruction: &Instruction<'_>,
    computation: &ScheduledComputation<'_>,
    most: usize,
) -> BoundedNames {
    let mut out = BoundedNames::new(most);
    out.push_all(&[
        "%",
        instruction.name,
        " = ",
        instruction.shape,
        " ",
        instruction.opcode,
        "(",
    ]);
    let mut separator = "";
    for name in instruction.operand_names() {
        let shape = computation.find(name).map_or("", |operand| operand.shape);
        let space = if shape.is_empty() { "" } else { " " };
        out.push_all(&[separator, shape, space, "%", name]);
        separator = ", ";
    }
    if separator.is_empty() {
        out.push_all(&[instruction.operands]);
    }
    out.push_all(&[")"]);
    let keep = |part: &&str| instruction.opcode == "while" || !part.starts_with("backend_config=");
    for attribute in split_attributes(instruction.attributes).filter(keep) {
        out.push_all(&[", ", attribute]);
    }
    out
}

/// A list of instructions.
#[derive(Debug, Default)]
pub(super) struct ScheduledComputation<'a> {
    pub name: &'a str,
    pub instructions: Vec<Instruction<'a>>,
    /// Sizes of the results, computed on first use.
    sizes: Vec<OnceCell<ShapeSize>>,
    by_name: HashMap<&'a str, usize>,
    /// Position of the instruction that awaits each start.
    dones: HashMap<&'a str, usize>,
    root: Option<usize>,
    estimated_cycles: OnceCell<u64>,
}

impl<'a> ScheduledComputation<'a> {
    fn push(&mut self, instruction: Instruction<'a>) {
        let index = self.instructions.len();
        self.by_name.insert(instruction.name, index);
        let awaits = instruction
            .operand_names()
            .next()
            .filter(|_| instruction.opcode.ends_with("-done"));
        self.dones.extend(awaits.map(|start| (start, index)));
        self.root = self.root.or(instruction.is_root.then_some(index));
        self.instructions.push(instruction);
        self.sizes.push(OnceCell::new());
    }

    /// The instruction that awaits a start, with its position.
    pub(crate) fn done(&self, start: &str) -> Option<(usize, &Instruction<'a>)> {
        let index = *self.dones.get(start)?;
        Some((index, self.instructions.get(index)?))
    }

    pub(crate) fn find(&self, name: &str) -> Option<&Instruction<'a>> {
        self.instructions.get(*self.by_name.get(name)?)
    }

    /// Size of the result of an instruction.
    pub(crate) fn size(&self, name: &str) -> Option<ShapeSize> {
        let index = *self.by_name.get(name)?;
        let shape = self.instructions.get(index)?.shape;
        Some(*self.sizes.get(index)?.get_or_init(|| ShapeSize::of(shape)))
    }

    /// Position of an instruction.
    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// The compiler's estimate for all instructions of the computation.
    pub(crate) fn estimated_cycles(&self) -> u64 {
        *self.estimated_cycles.get_or_init(|| {
            let own =
                |it: &Instruction<'a>| json_number(it.attributes, "estimated_cycles").unwrap_or(0);
            self.instructions
                .iter()
                .map(own)
                .fold(0, u64::saturating_add)
        })
    }

    /// The root instruction.
    pub(crate) fn root(&self) -> Option<&Instruction<'a>> {
        self.root.map_or_else(
            || self.instructions.last(),
            |root| self.instructions.get(root),
        )
    }
}

/// A whole program.
#[derive(Debug, Default)]
pub(super) struct ScheduledProgram<'a> {
    pub name: &'a str,
    /// Length of the text.
    pub len: usize,
    /// Content outside the computations.
    text: ProgramText<'a>,
    pub computations: Vec<ScheduledComputation<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// The entry computation.
    pub entry: Option<usize>,
    /// Number and text of lines that should be instructions but are not.
    pub broken: Vec<(usize, &'a str)>,
}

impl<'a> ScheduledProgram<'a> {
    /// Parses a text; `None` if it is not an HLO module.
    pub(crate) fn parse(text: &'a str) -> Option<Self> {
        let mut program = Self {
            len: text.len(),
            ..Self::default()
        };
        let read = ProgramText::read(text, |part| match part {
            ProgramPart::Begin { name, is_entry } => program.begin(name, is_entry),
            ProgramPart::Instruction(instruction) => {
                if let Some(open) = program.computations.last_mut() {
                    open.push(instruction);
                }
            }
            ProgramPart::Broken { line, text } => program.broken.push((line, text)),
            ProgramPart::End => {}
        })?;
        (program.name, program.text) = (read.name, read);
        Some(program)
    }

    fn begin(&mut self, name: &'a str, is_entry: bool) {
        let index = self.computations.len();
        self.by_name.insert(name, index);
        if is_entry {
            self.entry = Some(index);
        }
        self.computations.push(ScheduledComputation {
            name,
            ..ScheduledComputation::default()
        });
    }

    /// Position of a computation.
    pub(crate) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    pub(crate) fn computation(&self, index: usize) -> Option<&ScheduledComputation<'a>> {
        self.computations.get(index)
    }

    /// Whether anything of it can be read.
    pub(crate) fn has_instructions(&self) -> bool {
        self.computations
            .iter()
            .any(|computation| !computation.instructions.is_empty())
    }

    /// The computation in which the text is truncated.
    pub(crate) fn cut_in(&self) -> Option<&'a str> {
        self.text.cut_in
    }

    /// Number of cycles among the stack frames.
    pub(crate) fn frame_rings(&self) -> u64 {
        self.text.frame_rings
    }

    /// Whether the instructions are in the order of execution.
    pub(crate) fn is_scheduled(&self) -> bool {
        self.text.attribute("is_scheduled") == Some("true")
    }

    /// Number of devices that run it together, if recorded.
    pub(crate) fn devices(&self) -> u64 {
        let count = |key| {
            self.text
                .attribute(key)
                .and_then(|count| count.parse::<u64>().ok())
                .unwrap_or(1)
        };
        count("num_partitions")
            .saturating_mul(count("replica_count"))
            .max(1)
    }

    /// The Python stack of an instruction, innermost frame first: file and line.
    pub(crate) fn stack(&self, instruction: &Instruction<'a>) -> Vec<(Cow<'_, str>, u64)> {
        let number = |key| {
            instruction
                .metadata(key)
                .and_then(|number| number.parse().ok())
        };
        // Older compilers write the innermost frame in the metadata of each instruction.
        if let Some(file) = instruction.metadata("source_file") {
            return vec![(file, number("source_line").unwrap_or(0))];
        }
        let innermost = number("stack_frame_id").unwrap_or(0);
        self.text
            .frames
            .stack(innermost)
            .map(|frame| (Cow::Borrowed(frame.file), frame.line))
            .collect()
    }
}
