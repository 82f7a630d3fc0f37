//! From a trace to its programs.

use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use trace_model::{OpId, ProgramId, TraceModel};

use super::{Computation, ComputationId, HloError, HloModule, Instruction, InstructionId};
use crate::Context;

type Slot = Arc<OnceLock<Result<Arc<HloModule>, HloError>>>;

/// Programs parsed so far: each once, whoever asks.
#[derive(Debug, Default)]
pub struct HloCache {
    programs: Mutex<HashMap<ProgramId, Slot>>,
}

/// An instruction and the program around it. Dereferences to the [`Instruction`].
#[derive(Clone, Debug)]
pub struct InstructionRef {
    module: Arc<HloModule>,
    id: InstructionId,
    computation: ComputationId,
}

impl InstructionRef {
    /// One instruction of a program; `None` for an id of another one.
    pub fn new(module: Arc<HloModule>, id: InstructionId) -> Option<Self> {
        let computation = module.instruction(id)?.computation;
        Some(Self { module, id, computation })
    }

    /// The program: the whole one, or made from a line of text (see
    /// [`HloModule::origin`]).
    pub fn module(&self) -> &Arc<HloModule> {
        &self.module
    }

    /// Which instruction of it.
    pub fn id(&self) -> InstructionId {
        self.id
    }

    /// The computation that it belongs to.
    pub fn parent(&self) -> Option<&Computation> {
        self.module.computation(self.computation)
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
    /// Parses the program as the capture holds it.
    ///
    /// # Errors
    ///
    /// It holds none, or a damaged one.
    pub(crate) fn of_program(model: &TraceModel, program: ProgramId) -> Result<Self, HloError> {
        let title = || model.program_title(program);
        let blob = model.program(program).hlo.clone().filter(|blob| !blob.bytes().is_empty());
        let blob = blob.ok_or_else(|| HloError::NotRecorded(title()))?;
        if Self::is_text(&blob) { Self::from_whole_text(&blob, &title()) } else { Self::from_proto(blob, &title()) }
    }
}

impl Context<'_> {
    /// The HLO of a program, parsed when first asked for; or why there is none.
    pub fn hlo(&self, program: ProgramId) -> Result<Arc<HloModule>, HloError> {
        let slot = {
            let mut programs = self.reports.shared.hlo.programs.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(programs.entry(program).or_default())
        };
        slot.get_or_init(|| HloModule::of_program(self.model, program).map(Arc::new)).clone()
    }

    /// The same for one look: where nobody has asked for the program yet, it is not kept.
    pub(crate) fn hlo_for_now(&self, program: ProgramId) -> Result<Arc<HloModule>, HloError> {
        let known = {
            let programs = self.reports.shared.hlo.programs.lock().unwrap_or_else(PoisonError::into_inner);
            programs.get(&program).map(Arc::clone)
        };
        match known {
            Some(slot) => slot.get_or_init(|| HloModule::of_program(self.model, program).map(Arc::new)).clone(),
            None => HloModule::of_program(self.model, program).map(Arc::new),
        }
    }

    /// What the compiler wrote about an op: the instruction of the whole program where
    /// the capture holds it, else what the op's line of text tells; `None` where there
    /// is neither.
    pub fn instruction(&self, op: OpId) -> Option<InstructionRef> {
        let in_text = || {
            let module = HloModule::from_text(self.model.str(self.model.op(op).hlo_text?))?;
            let last = InstructionId((module.instructions.len() as u32).checked_sub(1)?);
            InstructionRef::new(Arc::new(module), last)
        };
        self.instruction_of_program(op).or_else(in_text)
    }

    /// The same of the whole program only.
    pub fn instruction_of_program(&self, op: OpId) -> Option<InstructionRef> {
        let op = self.model.op(op);
        let module = self.hlo(op.program?).ok()?;
        let id = module.find(self.model.str(op.name))?;
        InstructionRef::new(module, id)
    }
}
