//! Programs in the capture and their instructions.

use engine::OnceMap;
use engine::prelude::*;
use hlo::{HloError, HloModule, InstructionRef};

/// Programs parsed so far, each once.
#[derive(Default)]
struct ParsedPrograms(OnceMap<ProgramId, Result<Arc<HloModule>, HloError>>);

impl Fact for ParsedPrograms {
    fn find(_cx: &Context<'_>) -> Self {
        Self::default()
    }
}

pub(super) fn hlo(cx: &Context<'_>, program: ProgramId) -> Result<Arc<HloModule>, HloError> {
    cx.fact::<ParsedPrograms>().0.get(program, || {
        HloModule::of_program(cx.model, program).map(Arc::new)
    })
}

/// The HLO of a program for one use: if it is not cached yet, it is not cached here either.
///
/// # Errors
///
/// The capture contains no such program, or a damaged one.
pub fn hlo_for_now(cx: &Context<'_>, program: ProgramId) -> Result<Arc<HloModule>, HloError> {
    let known = cx.fact::<ParsedPrograms>().0.known(&program);
    known.unwrap_or_else(|| HloModule::of_program(cx.model, program).map(Arc::new))
}

pub(super) fn instruction(cx: &Context<'_>, op: OpId) -> Option<InstructionRef> {
    let in_text = || {
        let module = HloModule::from_text(cx.model.str(cx.model.op(op).hlo_text?))?;
        let last = module.last()?;
        InstructionRef::new(Arc::new(module), last)
    };
    instruction_of_program(cx, op).or_else(in_text)
}

pub(super) fn instruction_of_program(cx: &Context<'_>, op: OpId) -> Option<InstructionRef> {
    let op = cx.model.op(op);
    let module = hlo(cx, op.program?).ok()?;
    let id = module.find(cx.model.str(op.name))?;
    InstructionRef::new(module, id)
}
