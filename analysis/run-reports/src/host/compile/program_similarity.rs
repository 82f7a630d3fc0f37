//! Decides whether two programs are the same function.
//!
//! Names are not enough: two different functions can both be called `jit_f`. Most ops of a function keep their
//! provenance when it is compiled for another shape.

use facts::prelude::*;
use hlo::HloModule;
use math::summed;

/// Programs with at least this share of their ops in common are the same function.
pub(super) const SAME_FUNCTION: f64 = 0.8;

/// Ops of each program.
pub(super) struct ProgramOps {
    by_program: BTreeMap<ProgramId, Vec<OpId>>,
}

impl ProgramOps {
    /// The ops of all programs of the trace.
    pub fn new(cx: &Context<'_>) -> Self {
        let by_program = grouped(
            cx.model
                .op_ids()
                .filter_map(|id| Some((cx.model.op(id).program?, id))),
        );
        Self { by_program }
    }

    /// Ops of one program that ran.
    pub fn of(&self, program: ProgramId) -> &[OpId] {
        self.by_program.get(&program).map_or(&[], Vec::as_slice)
    }

    /// Share of ops that two programs have in common, 0 to 1: compared by kind and provenance, with multiplicity. It
    /// uses the HLO of the programs if the capture has it, because fusions depend on shapes, else the ops that ran.
    /// `None` if the ops of one program are unknown.
    pub fn similarity(&self, cx: &Context<'_>, a: ProgramId, b: ProgramId) -> Option<f64> {
        if let (Ok(a), Ok(b)) = (cx.hlo(a), cx.hlo(b)) {
            return jaccard(&instructions(&a), &instructions(&b));
        }
        let count = |program| {
            let ops = self.of(program).iter().map(|&op| cx.model.op(op));
            counted(ops.map(|op| (op.framework_name, op.category)))
        };
        jaccard(&count(a), &count(b))
    }
}

/// Instructions that compute, by opcode and provenance.
fn instructions(module: &HloModule) -> BTreeMap<(&str, &str), u64> {
    let computing = module
        .instructions
        .iter()
        .filter(|it| !matches!(&*it.opcode, "parameter" | "constant"));
    counted(computing.map(|it| (&*it.opcode, &*it.op_name)))
}

fn counted<K: Ord>(keys: impl Iterator<Item = K>) -> BTreeMap<K, u64> {
    summed(keys.map(|key| (key, 1)))
}

/// Σ min / Σ max of two multisets; `None` if one is empty.
fn jaccard<K: Ord>(a: &BTreeMap<K, u64>, b: &BTreeMap<K, u64>) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let common: u64 = a
        .iter()
        .map(|(key, count)| *count.min(b.get(key).unwrap_or(&0)))
        .sum();
    let all = a.values().sum::<u64>() + b.values().sum::<u64>() - common;
    Some(common as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiset_similarity_counts_repetitions() {
        let similarity = |a: &str, b: &str| jaccard(&counted(a.chars()), &counted(b.chars()));
        assert_eq!(similarity("aab", "aba"), Some(1.0));
        assert_eq!(similarity("aab", "abc"), Some(0.5));
        assert_eq!(similarity("aab", ""), None);
    }
}
