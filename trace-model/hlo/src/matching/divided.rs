//! Fusions of one program whose work is in several instructions of the other.

use std::collections::{BTreeSet, HashMap};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use crate::{HloModule, Instruction, InstructionId};

/// Instructions of the other program that are looked at for one fusion.
const MOST_CANDIDATES: usize = 1_000;

/// An instruction whose work several of the other program do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DividedFusion {
    /// The one.
    pub whole: InstructionId,
    /// The several, in the order of their program.
    pub parts: Vec<InstructionId>,
}

/// The fusions among `wholes` whose work is in at least two of `parts`, each of which belongs to one fusion at most. What
/// does no work does not count: parameters, constants and what only renames values.
pub(super) fn divided(
    (one, wholes): (&HloModule, &[InstructionId]),
    (other, parts): (&HloModule, &[InstructionId]),
) -> Vec<DividedFusion> {
    let contents = parts.iter().map(|&id| (id, work(other, id)));
    let contents: Vec<(InstructionId, BTreeSet<u64>)> =
        contents.filter(|(_, work)| !work.is_empty()).collect();
    let mut holders: HashMap<u64, Vec<usize>> = HashMap::new();
    for (at, (_, content)) in contents.iter().enumerate() {
        for &key in content {
            holders.entry(key).or_default().push(at);
        }
    }
    let mut is_taken = vec![false; contents.len()];
    let mut out = Vec::new();
    for &whole in wholes {
        let work = work(one, whole);
        if work.len() < 2 {
            continue;
        }
        let near = work.iter().filter_map(|key| holders.get(key)).flatten();
        let near: BTreeSet<usize> = near.copied().take(MOST_CANDIDATES).collect();
        let (mut missing, mut chosen) = (work.clone(), Vec::new());
        for at in near {
            let content = &contents[at].1;
            let adds = content.iter().any(|key| missing.contains(key));
            if !is_taken[at] && adds && content.is_subset(&work) {
                missing.retain(|key| !content.contains(key));
                chosen.push(at);
            }
        }
        if missing.is_empty() && chosen.len() > 1 {
            for &at in &chosen {
                is_taken[at] = true;
            }
            out.push(DividedFusion {
                whole,
                parts: chosen.into_iter().map(|at| contents[at].0).collect(),
            });
        }
    }
    out
}

/// What an instruction does: digests of opcode, framework name and sizes of all that it runs.
pub(super) fn work(module: &HloModule, id: InstructionId) -> BTreeSet<u64> {
    let mut out = BTreeSet::new();
    let Some(instruction) = module.instruction(id) else {
        return out;
    };
    let fused = module
        .body(instruction)
        .filter(|_| &*instruction.opcode == "fusion");
    let Some(fused) = fused else {
        out.extend(digest(instruction));
        return out;
    };
    // A fusion inside a fusion is rare, and counts as one instruction.
    out.extend(module.instructions_of(fused).iter().filter_map(digest));
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
