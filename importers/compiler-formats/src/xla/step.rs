//! The effect of an instruction, computed once, because loops execute it repeatedly.

use hlo::{ArrayShape, ComputationId, Instruction, InstructionId};

use super::collective::{CollectiveTransfer, transfer};
use super::config::json_number;
use super::machine::ChipModel;
use super::occupancy::is_bitcast_call;
use super::program::ScheduledProgram;

/// The effect of an instruction.
#[derive(Clone, Debug)]
pub(super) enum InstructionEffect {
    /// Takes no time.
    Nothing,
    /// Runs its body, as often as known.
    While {
        trips: Option<u64>,
        body: Option<ComputationId>,
    },
    /// Runs another computation.
    Call(Option<ComputationId>),
    /// Runs the branch with the most estimated cycles.
    Choose(Option<ComputationId>),
    /// Waits for the transfer of a start.
    Done(Option<InstructionId>),
    /// Renames a start.
    Update(Option<InstructionId>),
    /// Occupies the core for the estimated number of cycles.
    Compute(u64),
    /// Starts a transfer to other chips.
    Send(CollectiveTransfer),
    /// Starts a transfer to other chips and waits for it.
    Communicate(CollectiveTransfer),
    /// Starts a copy of this many bytes between HBM and VMEM.
    Copy(u64),
    /// Takes an unknown time; the text is the reason.
    Unknown(&'static str),
}

impl InstructionEffect {
    /// The effect of an instruction.
    pub fn of(
        program: &ScheduledProgram<'_>,
        id: InstructionId,
        instruction: &Instruction,
        chip: &ChipModel,
    ) -> Self {
        let opcode = &*instruction.opcode;
        match opcode {
            "while" => {
                return Self::While {
                    trips: program.module.trip_count(instruction),
                    body: program.called(id, "body"),
                };
            }
            "call" => return Self::Call(program.called(id, "to_apply")),
            "conditional" => return Self::Choose(longest_branch(program, instruction)),
            _ => {}
        }
        if opcode.ends_with("-done") {
            return Self::Done(instruction.operands.first().copied());
        }
        if opcode.ends_with("-update") {
            return Self::Update(instruction.operands.first().copied());
        }
        let is_start = opcode.ends_with("-start");
        let cycles = json_number(program.config(id), "estimated_cycles")
            .filter(|&cycles| cycles > 0 && !is_start);
        if let Some(cycles) = cycles {
            Self::Compute(cycles)
        } else if let Some(transfer) = transfer(program, id, chip) {
            if is_start {
                Self::Send(transfer)
            } else {
                Self::Communicate(transfer)
            }
        } else if is_start {
            copy(program, id, instruction)
        } else if is_work(instruction) {
            Self::Unknown("no estimated_cycles")
        } else {
            Self::Nothing
        }
    }
}

/// A copy between HBM and VMEM.
fn copy(
    program: &ScheduledProgram<'_>,
    id: InstructionId,
    instruction: &Instruction,
) -> InstructionEffect {
    let parts = instruction.arrays();
    if parts
        .iter()
        .any(|part| !matches!(part.memory_space, 0..=4 | 6))
    {
        return InstructionEffect::Unknown("transfers to the host are not modelled");
    }
    // The copied value is the result of the done op.
    let done = program.done(id).and_then(|done| program.instruction(done));
    let first = || parts.first().and_then(|part| part.bytes()).unwrap_or(0);
    InstructionEffect::Copy(done.map_or_else(first, Instruction::bytes))
}

fn longest_branch(
    program: &ScheduledProgram<'_>,
    instruction: &Instruction,
) -> Option<ComputationId> {
    let branches = instruction.called.iter().copied();
    branches.max_by_key(|&branch| program.estimated_cycles(branch))
}

/// Whether an instruction without an estimate takes time. Results with one element belong to the scalar unit, and some
/// instructions only rename values.
fn is_work(instruction: &Instruction) -> bool {
    let names_only = matches!(
        &*instruction.opcode,
        "parameter"
            | "constant"
            | "bitcast"
            | "tuple"
            | "get-tuple-element"
            | "after-all"
            | "partition-id"
            | "replica-id"
            | "iota"
            | "opt-barrier"
            | "add-dependency"
            | "domain"
    );
    let is_large = |array: &&ArrayShape<'_>| array.elements().is_none_or(|all| all > 1);
    !names_only && !is_bitcast_call(instruction) && instruction.arrays().iter().any(is_large)
}
