//! A program whose instructions are in the order of execution.

use std::cell::OnceCell;

use hlo::{
    Computation, ComputationId, HloModule, HloText, Instruction, InstructionId, split_attributes,
};
use importer_common::names::BoundedNames;
use importer_common::prelude::*;

use super::config::json_number;

/// A whole program.
pub(super) struct ScheduledProgram<'a> {
    pub module: &'a HloModule,
    /// The line of each instruction.
    lines: &'a [HloText<'a>],
    /// Length of the text.
    pub len: usize,
    /// The instruction that awaits each start.
    dones: HashMap<InstructionId, InstructionId>,
    estimated_cycles: OnceCell<Vec<u64>>,
}

impl<'a> ScheduledProgram<'a> {
    pub fn new(module: &'a HloModule, lines: &'a [HloText<'a>], len: usize) -> Self {
        let done = |(id, instruction): (InstructionId, &Instruction)| {
            let start = *instruction.operands.first()?;
            instruction.opcode.ends_with("-done").then_some((start, id))
        };
        Self {
            module,
            lines,
            len,
            dones: module.iter().filter_map(done).collect(),
            estimated_cycles: OnceCell::new(),
        }
    }

    pub fn instruction(&self, id: InstructionId) -> Option<&'a Instruction> {
        self.module.instruction(id)
    }

    /// An instruction as text; empty if there is none.
    pub fn line(&self, id: InstructionId) -> HloText<'a> {
        self.lines.get(id.index()).copied().unwrap_or_default()
    }

    /// The compiler's configuration of an instruction.
    pub fn config(&self, id: InstructionId) -> &'a str {
        self.line(id)
            .attribute("backend_config")
            .unwrap_or_default()
    }

    /// An operand of an instruction, by its position.
    pub fn operand(&self, id: InstructionId, number: usize) -> Option<InstructionId> {
        self.instruction(id)?.operands.get(number).copied()
    }

    /// The instruction that awaits a start.
    pub fn done(&self, start: InstructionId) -> Option<InstructionId> {
        self.dones.get(&start).copied()
    }

    /// The computation that an attribute of an instruction names or contains.
    pub fn called(&self, id: InstructionId, key: &str) -> Option<ComputationId> {
        let line = self.line(id);
        let (name, inline) = (line.computation(key)?, format!("{}.{key}", line.name));
        let mut called = self.instruction(id)?.called.iter().copied();
        let is_meant = |it: &Computation| it.name == name || it.name == inline;
        called.find(|&called| self.module.computation(called).is_some_and(is_meant))
    }

    /// The compiler's estimate for all instructions of a computation.
    pub fn estimated_cycles(&self, computation: ComputationId) -> u64 {
        let sum = |computation: &Computation| {
            let lines = self.lines.get(computation.instructions.clone());
            let cycles = |line: &HloText<'a>| json_number(line.attributes, "estimated_cycles");
            let cycles = lines.into_iter().flatten().filter_map(cycles);
            cycles.fold(0, u64::saturating_add)
        };
        let all = self
            .estimated_cycles
            .get_or_init(|| self.module.computations.iter().map(sum).collect());
        all.get(computation.index()).copied().unwrap_or(0)
    }

    /// Number of devices that run it together, if recorded.
    pub fn devices(&self) -> u64 {
        let devices = self.module.devices.as_ref();
        devices.map_or(1, |it| it.partitions.saturating_mul(it.replicas).max(1))
    }

    /// Whether the compiler split work between two cores.
    pub fn is_split(&self) -> bool {
        let split = "\"megacore_split_dim\"";
        self.lines
            .iter()
            .any(|line| line.attributes.contains(split))
    }

    /// The text of an instruction as profiles contain it: operands with their shapes, without the compiler's
    /// configuration, except the trip count of loops. Truncated with … beyond `most` bytes, because many ops can share
    /// an operand with a huge shape.
    pub fn profile_text(&self, id: InstructionId, most: usize) -> BoundedNames {
        let mut out = BoundedNames::new(most);
        let line = self.line(id);
        out.push_all(&["%", line.name, " = ", line.shape, " ", line.opcode, "("]);
        let operands = self.instruction(id).map(|it| it.operands.as_slice());
        let mut separator = "";
        for &operand in operands.unwrap_or_default() {
            let HloText { name, shape, .. } = self.line(operand);
            let space = if shape.is_empty() { "" } else { " " };
            out.push_all(&[separator, shape, space, "%", name]);
            separator = ", ";
        }
        if separator.is_empty() {
            out.push_all(&[line.operands]);
        }
        out.push_all(&[")"]);
        let keep = |part: &&str| line.opcode == "while" || !part.starts_with("backend_config=");
        for attribute in split_attributes(line.attributes).filter(keep) {
            out.push_all(&[", ", attribute]);
        }
        out
    }
}
