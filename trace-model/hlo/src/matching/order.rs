//! How the order of execution differs.

use std::collections::{BTreeMap, HashMap};

use crate::{HloModule, InstructionId};

/// Two instructions that do the same, or what became of one in the second program.
#[derive(Clone, Copy, Debug)]
pub struct MatchedInstruction {
    /// In the first program.
    pub first: InstructionId,
    /// In the second program.
    pub second: InstructionId,
    /// Whether both do the same.
    pub is_same: bool,
}

/// How the order of execution differs, of instructions that both programs have and that do work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScheduleDifference {
    /// Instructions that were compared.
    pub compared: usize,
    /// Fewest that would have to move to make both orders equal.
    pub moved: usize,
}

/// Opcodes that do no work: where they stand in a schedule means nothing.
const NO_WORK: [&str; 7] = [
    "parameter",
    "constant",
    "tuple",
    "get-tuple-element",
    "bitcast",
    "after-all",
    "iota",
];

/// The difference over all computations that both programs have; `None` if one is not scheduled.
pub(super) fn difference(
    modules: [&HloModule; 2],
    pairs: &[MatchedInstruction],
) -> Option<ScheduleDifference> {
    let places = [places(modules[0])?, places(modules[1])?];
    // Position in the second program by position in the first, for each computation of the first.
    let mut orders: BTreeMap<usize, Vec<(usize, ExecutionPlace)>> = BTreeMap::new();
    for pair in pairs {
        let first = modules[0].instruction(pair.first)?;
        if NO_WORK.contains(&&*first.opcode) {
            continue;
        }
        if let (Some(&(computation, first_place)), Some(&place)) =
            (places[0].get(&pair.first), places[1].get(&pair.second))
        {
            orders
                .entry(computation)
                .or_default()
                .push((first_place, place));
        }
    }
    let mut out = ScheduleDifference::default();
    for mut order in orders.into_values() {
        order.sort_unstable();
        let second: Vec<_> = order.into_iter().map(|(_, place)| place).collect();
        out.compared += second.len();
        out.moved += second.len() - longest_rising(&second);
    }
    Some(out)
}

/// Computation and position in its order of execution.
type ExecutionPlace = (usize, usize);

/// The place of each instruction.
fn places(module: &HloModule) -> Option<HashMap<InstructionId, ExecutionPlace>> {
    if !module.is_scheduled() {
        return None;
    }
    let mut out = HashMap::new();
    for computation in module.computation_ids() {
        let order = module.schedule(computation).unwrap_or_default();
        let placed = (0..).zip(order);
        out.extend(placed.map(|(place, id)| (id, (computation.index(), place))));
    }
    Some(out)
}

/// Length of the longest rising subsequence.
fn longest_rising<T: Ord + Copy>(values: &[T]) -> usize {
    // The smallest end of a rising subsequence of each length.
    let mut ends: Vec<T> = Vec::new();
    for &value in values {
        let length = ends.partition_point(|end| *end < value);
        match ends.get_mut(length) {
            Some(end) => *end = value,
            None => ends.push(value),
        }
    }
    ends.len()
}
