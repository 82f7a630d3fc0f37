//! Access to the programs of a trace.

use std::ops::Deref;
use std::sync::Arc;

use trace_model::{ProgramId, TraceModel};

use super::{HloError, HloModule, Instruction, InstructionId, is_mlir};

/// An instruction and the program around it. Dereferences to the [`Instruction`].
#[derive(Debug)]
pub struct InstructionRef {
    module: Arc<HloModule>,
    id: InstructionId,
}

impl InstructionRef {
    /// One instruction of a program; `None` for an id of another one.
    pub fn new(module: Arc<HloModule>, id: InstructionId) -> Option<Self> {
        module.instruction(id)?;
        Some(Self { module, id })
    }

    /// The program: the whole one, or made from a line of text (see
    /// [`HloModule::origin`]).
    pub fn module(&self) -> &Arc<HloModule> {
        &self.module
    }

    /// Its operands, in order.
    pub fn operands(&self) -> impl Iterator<Item = &Instruction> {
        self.module.operands(self)
    }
}

impl Deref for InstructionRef {
    type Target = Instruction;

    fn deref(&self) -> &Instruction {
        // `new` has looked, and modules never change.
        &self.module.instructions[self.id.index()]
    }
}

impl HloModule {
    /// Parses the program stored in the capture.
    ///
    /// # Errors
    ///
    /// It holds none, or a damaged one.
    pub fn of_program(model: &TraceModel, program: ProgramId) -> Result<Self, HloError> {
        let title = || model.program_title(program);
        let blob = model
            .program(program)
            .hlo
            .clone()
            .filter(|blob| !blob.bytes().is_empty());
        let blob = blob.ok_or_else(|| HloError::NotRecorded(title()))?;
        if Self::is_text(&blob) {
            Self::from_whole_text(&blob, &title())
        } else if is_mlir(blob.bytes()) {
            Self::from_mlir(&blob, &title())
        } else {
            Self::from_proto(blob, &title())
        }
    }
}
