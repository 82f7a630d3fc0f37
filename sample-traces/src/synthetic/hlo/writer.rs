//! Builds the message of a program: computations and their instructions.

use super::shape;
use crate::write::ProtoMessage;

/// An instruction that has no id yet.
pub(super) struct WrittenInstruction<'a> {
    pub name: &'a str,
    pub opcode: &'a str,
    pub shape: &'a str,
    pub operands: Vec<u64>,
    pub called: Vec<u64>,
}

impl<'a> WrittenInstruction<'a> {
    pub fn new(name: &'a str, opcode: &'a str, shape: &'a str, operands: Vec<u64>) -> Self {
        Self {
            name,
            opcode,
            shape,
            operands,
            called: Vec::new(),
        }
    }
}

/// Assigns ids to instructions and computations, and collects the computations.
#[derive(Default)]
pub(super) struct HloWriter {
    computations: Vec<ProtoMessage>,
    instructions: u64,
}

/// A computation under construction.
pub(super) struct WrittenComputation {
    out: ProtoMessage,
    pub instructions: Vec<u64>,
}

impl WrittenComputation {
    pub fn new(name: &str) -> Self {
        let mut out = ProtoMessage::default();
        out.text(1, name);
        Self {
            out,
            instructions: Vec::new(),
        }
    }
}

impl HloWriter {
    /// Adds an instruction; returns its id.
    pub fn add(
        &mut self,
        computation: &mut WrittenComputation,
        instruction: &WrittenInstruction<'_>,
        more: impl FnOnce(&mut ProtoMessage),
    ) -> u64 {
        self.instructions += 1;
        let id = self.instructions;
        computation.out.message(2, |out| {
            out.text(1, instruction.name);
            out.text(2, instruction.opcode);
            out.message(3, |out| shape::write(instruction.shape, out));
            out.uint(35, id);
            out.packed(36, instruction.operands.iter().copied());
            out.packed(38, instruction.called.iter().copied());
            more(out);
        });
        computation.instructions.push(id);
        id
    }

    /// Adds a parameter; returns its id.
    pub fn parameter(
        &mut self,
        computation: &mut WrittenComputation,
        name: &str,
        shape: &str,
        number: u64,
    ) -> u64 {
        let instruction = WrittenInstruction::new(name, "parameter", shape, Vec::new());
        self.add(computation, &instruction, |out| out.uint(9, number))
    }

    /// Ends a computation; returns its id.
    pub fn end(&mut self, computation: WrittenComputation, root: u64, is_fusion: bool) -> u64 {
        let mut out = computation.out;
        let id = self.computations.len() as u64 + 1;
        out.uint(5, id);
        out.uint(6, root);
        out.uint(7, u64::from(is_fusion));
        self.computations.push(out);
        id
    }

    pub fn into_computations(self) -> Vec<ProtoMessage> {
        self.computations
    }
}
