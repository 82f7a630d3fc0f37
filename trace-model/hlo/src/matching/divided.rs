//! Fusions of one program whose work is in several instructions of the other.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::{HloModule, Instruction, InstructionId};

/// Instructions of the other program that are looked at for one fusion.
const MOST_CANDIDATES: usize = 1_000;

/// An instruction whose work several of the other program do.
#[derive(Debug)]
pub struct DividedFusion {
    /// The one.
    pub whole: InstructionId,
    /// The several, in the order of their program.
    pub parts: Vec<InstructionId>,
}

/// How often an instruction does each piece of its work.
type WorkCounts = BTreeMap<u64, usize>;

/// The fusions among `wholes` whose work is that of at least two of `parts`, each of which belongs to one fusion at most.
/// What does no work does not count: parameters, constants and what only renames values.
pub(super) fn divided(
    (one, wholes): (&HloModule, &[InstructionId]),
    (other, parts): (&HloModule, &[InstructionId]),
) -> Vec<DividedFusion> {
    let contents = parts.iter().map(|&id| (id, work(other, id)));
    let contents: Vec<(InstructionId, WorkCounts)> =
        contents.filter(|(_, work)| !work.is_empty()).collect();
    let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
    for (index, (_, content)) in contents.iter().enumerate() {
        for &key in content.keys() {
            holders.entry(key).or_default().push(index);
        }
    }
    let mut is_taken = vec![false; contents.len()];
    let mut out = Vec::new();
    for &whole in wholes {
        let mut missing = work(one, whole);
        if missing.values().sum::<usize>() < 2 {
            continue;
        }
        // What few instructions do says most.
        let mut lists: Vec<&Vec<usize>> =
            missing.keys().filter_map(|key| holders.get(key)).collect();
        lists.sort_by_key(|list| list.len());
        let near = lists.into_iter().flatten().copied();
        let near: BTreeSet<usize> = near.take(MOST_CANDIDATES).collect();
        let mut chosen = Vec::new();
        for index in near {
            let content = &contents[index].1;
            let fits = |(key, count): (&u64, &usize)| missing.get(key) >= Some(count);
            if is_taken[index] || content.len() > missing.len() || !content.iter().all(fits) {
                continue;
            }
            for (key, count) in content {
                if let Some(rest) = missing.get_mut(key) {
                    *rest -= count;
                }
            }
            missing.retain(|_, rest| *rest > 0);
            chosen.push(index);
        }
        if missing.is_empty() && chosen.len() > 1 {
            for &index in &chosen {
                is_taken[index] = true;
            }
            out.push(DividedFusion {
                whole,
                parts: chosen.into_iter().map(|index| contents[index].0).collect(),
            });
        }
    }
    out
}

/// What an instruction does: digests of opcode, framework name and sizes of all that it runs.
pub(super) fn work(module: &HloModule, id: InstructionId) -> WorkCounts {
    let mut out = WorkCounts::new();
    let Some(instruction) = module.instruction(id) else {
        return out;
    };
    let fused = module.body(instruction);
    // A fusion inside a fusion is rare, and counts as one instruction.
    let runs = match fused.filter(|_| &*instruction.opcode == "fusion") {
        Some(fused) => module.instructions_of(fused),
        None => std::slice::from_ref(instruction),
    };
    for key in runs.iter().filter_map(digest) {
        *out.entry(key).or_default() += 1;
    }
    out
}

fn digest(instruction: &Instruction) -> Option<u64> {
    let opcode = &*instruction.opcode;
    let is_work = !matches!(
        opcode,
        "parameter"
            | "constant"
            | "tuple"
            | "get-tuple-element"
            | "bitcast"
            | "copy"
            | "broadcast"
            | "iota"
    );
    is_work.then(|| {
        let mut hasher = DefaultHasher::new();
        (opcode, &instruction.op_name).hash(&mut hasher);
        for array in instruction.arrays() {
            (array.dtype, array.elements()).hash(&mut hasher);
        }
        hasher.finish()
    })
}
