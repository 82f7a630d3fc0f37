//! The effect of an instruction, computed once, because loops execute it repeatedly.

use super::collective::{CollectiveTransfer, transfer};
use super::config::json_number;
use super::hlo::{Instruction, ScheduledComputation, ScheduledProgram};
use super::loops::trip_count;
use super::machine::ChipModel;
use super::shape;

/// The effect of an instruction; computations are given by their index.
#[derive(Clone, Debug)]
pub(super) enum InstructionEffect<'a> {
    /// Takes no time.
    Nothing,
    /// Runs its body, as often as known.
    While {
        trips: Option<u64>,
        body: Option<usize>,
    },
    /// Runs another computation.
    Call(Option<usize>),
    /// Runs the branch with the most estimated cycles.
    Choose(Option<usize>),
    /// Waits for the transfer of a start.
    Done(Option<&'a str>),
    /// Renames a start.
    Update(Option<&'a str>),
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

impl<'a> InstructionEffect<'a> {
    /// The effect of `instruction` of `computation`.
    pub(crate) fn of(
        program: &ScheduledProgram<'a>,
        computation: &ScheduledComputation<'a>,
        instruction: &Instruction<'a>,
        chip: &ChipModel,
    ) -> Self {
        let opcode = instruction.opcode;
        let called = |key| program.find(instruction.computation(key)?);
        match opcode {
            "while" => {
                return Self::While {
                    trips: trip_count(program, computation, instruction),
                    body: called("body"),
                };
            }
            "call" => return Self::Call(called("to_apply")),
            "conditional" => return Self::Choose(longest_branch(program, instruction)),
            _ => {}
        }
        if opcode.ends_with("-done") {
            return Self::Done(instruction.operand_names().next());
        }
        if opcode.ends_with("-update") {
            return Self::Update(instruction.operand_names().next());
        }
        let is_start = opcode.ends_with("-start");
        let config = instruction.attribute("backend_config").unwrap_or_default();
        let cycles =
            json_number(config, "estimated_cycles").filter(|&cycles| cycles > 0 && !is_start);
        if let Some(cycles) = cycles {
            Self::Compute(cycles)
        } else if let Some(transfer) = transfer(program, computation, instruction, chip) {
            if is_start {
                Self::Send(transfer)
            } else {
                Self::Communicate(transfer)
            }
        } else if is_start {
            copy(computation, instruction)
        } else if is_work(instruction) {
            Self::Unknown("no estimated_cycles")
        } else {
            Self::Nothing
        }
    }
}

/// A copy between HBM and VMEM.
fn copy<'a>(
    computation: &ScheduledComputation<'a>,
    instruction: &Instruction<'a>,
) -> InstructionEffect<'a> {
    let parts = shape::arrays(instruction.shape);
    if parts.iter().any(|part| !matches!(part.space, 0..=4 | 6)) {
        return InstructionEffect::Unknown("transfers to the host are not modelled");
    }
    // The copied value is the result of the done op.
    let done = computation.done(instruction.name);
    let first = || parts.first().map_or(0, shape::ScheduleArray::bytes);
    InstructionEffect::Copy(done.map_or_else(first, |(_, done)| shape::bytes(done.shape)))
}

fn longest_branch<'a>(
    program: &ScheduledProgram<'a>,
    instruction: &Instruction<'a>,
) -> Option<usize> {
    let listed = instruction
        .attribute("branch_computations")
        .unwrap_or_default()
        .trim_matches(['{', '}']);
    let listed = listed
        .split(',')
        .map(|name| name.trim().trim_start_matches('%'));
    let two = ["true_computation", "false_computation"]
        .into_iter()
        .filter_map(|key| instruction.computation(key));
    let branches = listed.chain(two).filter_map(|name| program.find(name));
    branches.max_by_key(|&branch| {
        program
            .computation(branch)
            .map_or(0, ScheduledComputation::estimated_cycles)
    })
}

/// Whether an instruction without an estimate takes time. Results with one element belong to the scalar unit, and some
/// instructions only rename values.
fn is_work(instruction: &Instruction<'_>) -> bool {
    let names_only = matches!(
        instruction.opcode,
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
    let is_bitcast = instruction
        .attribute("custom_call_target")
        .is_some_and(|target| target.contains("Bitcast"));
    let large = |array: &shape::ScheduleArray<'_>| array.elements() > 1;
    !names_only && !is_bitcast && shape::arrays(instruction.shape).iter().any(large)
}
