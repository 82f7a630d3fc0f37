//! Whether two programs are the same function.
//!
//! Names are not enough: two different functions can both be called `jit_f`. Most
//! ops of a function keep their provenance when it is compiled for another shape.

use std::collections::BTreeMap;

use trace_model::{OpId, ProgramId, StringId};

use crate::Context;

/// Programs with this share of their ops in common are the same function.
pub(super) const SAME_FUNCTION: f64 = 0.8;

/// Ops of each program.
pub(super) struct ProgramOps {
    by_program: BTreeMap<ProgramId, Vec<OpId>>,
}

impl ProgramOps {
    /// Of all programs of the trace.
    pub fn new(cx: &Context<'_>) -> Self {
        let mut by_program: BTreeMap<ProgramId, Vec<OpId>> = BTreeMap::new();
        for id in cx.model.op_ids() {
            if let Some(program) = cx.model.op(id).program {
                by_program.entry(program).or_default().push(id);
            }
        }
        Self { by_program }
    }

    /// Ops of one program that ran.
    pub fn of(&self, program: ProgramId) -> &[OpId] {
        self.by_program.get(&program).map_or(&[], Vec::as_slice)
    }

    /// Share of ops that two programs have in common, 0 to 1: by provenance and
    /// category, as often as each occurs. `None` where the ops of one are unknown.
    pub fn likeness(&self, cx: &Context<'_>, a: ProgramId, b: ProgramId) -> Option<f64> {
        let count = |program| {
            let mut counts: BTreeMap<(Option<StringId>, Option<StringId>), u64> = BTreeMap::new();
            for &op in self.of(program) {
                let op = cx.model.op(op);
                *counts.entry((op.framework_name, op.category)).or_default() += 1;
            }
            counts
        };
        jaccard(&count(a), &count(b))
    }
}

/// Σ min / Σ max of two multisets; `None` where one is empty.
fn jaccard<K: Ord>(a: &BTreeMap<K, u64>, b: &BTreeMap<K, u64>) -> Option<f64> {
    if a.is_empty() || b.is_empty() {
        return None;
    }
    let common: u64 = a.iter().map(|(key, count)| *count.min(b.get(key).unwrap_or(&0))).sum();
    let all = a.values().sum::<u64>() + b.values().sum::<u64>() - common;
    Some(common as f64 / all as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multisets_are_compared_with_their_counts() {
        let set = |text: &str| {
            let mut counts = BTreeMap::new();
            for letter in text.chars() {
                *counts.entry(letter).or_default() += 1;
            }
            counts
        };
        assert_eq!(jaccard(&set("aab"), &set("aab")), Some(1.0));
        assert_eq!(jaccard(&set("aab"), &set("abc")), Some(0.5));
        assert_eq!(jaccard(&set("aab"), &set("")), None);
    }
}
