//! What to do about matrix products and about other ops that are limited by memory: their causes differ.

use super::prelude::*;
use facts::Framework;

use super::arrays::{NEARLY_ALL, fills_registers, nearly_all, reads_narrow};
use crate::hints::OpSelection;

/// Matrix products among some ops, or the others.
pub(super) struct OpKind<'r> {
    pub is_matmul: bool,
    pub ops: OpSelection<'r>,
}

/// The kinds that take more than next to nothing of the time of some ops, the longer first.
pub(super) fn kinds<'r>(selection: &OpSelection<'r>) -> Vec<OpKind<'r>> {
    let kind = |is_matmul| OpKind {
        is_matmul,
        ops: selection.part(|row| (row.group == OpGroup::MatMul) == is_matmul),
    };
    let mut kinds = vec![kind(true), kind(false)];
    let least = (1.0 - NEARLY_ALL) * selection.self_ps.as_ps_f64();
    kinds.retain(|kind| kind.ops.self_ps.as_ps_f64() > least);
    kinds.sort_by_key(|kind| Reverse(kind.ops.self_ps));
    kinds
}

/// Weights are read and not written by an op: products read fewer bytes of them, other ops are fused.
pub(super) fn with_fewer_bytes(
    facts: &HintFacts<'_>,
    finding: Finding,
    kinds: &[OpKind<'_>],
) -> Finding {
    let is_narrow = |kind: &OpKind<'_>| nearly_all(&kind.ops, |row| reads_narrow(facts, row));
    let advice = |kind: &OpKind<'_>| {
        let they = if kinds.len() == 1 {
            "they"
        } else {
            "the others"
        };
        match (kind.is_matmul, is_narrow(kind)) {
            (true, true) => {
                "What the matmuls read has 16 bits or fewer an element already: to move fewer bytes, keep weights in int8 or \
                 fp8, or raise the batch so that each weight serves more rows."
                    .to_owned()
            }
            (true, false) => {
                "To move fewer bytes of weights, keep them in bfloat16, int8 or fp8, or raise the batch so that each weight \
                 serves more rows."
                    .to_owned()
            }
            (false, true) => format!(
                "What {they} read has 16 bits or fewer an element already: fuse them with what writes it, or compute it \
                 less often."
            ),
            (false, false) => String::new(),
        }
    };
    let said = kinds.iter().map(advice).filter(|said| !said.is_empty());
    let advice = joined(said, " ");
    let others = kinds.iter().find(|kind| !kind.is_matmul);
    let mut leaves_out = vec!["Where matmuls read weights"];
    if others.is_none_or(is_narrow) {
        leaves_out.extend(["Move fewer bytes", "Where elements have 32 bits"]);
    }
    if others.is_none() {
        leaves_out.extend(["Let `jax.jit` see", "Avoid graph breaks"]);
    }
    if advice.is_empty() {
        return Finding {
            leaves_out,
            ..finding
        };
    }
    let code = "decode = jax.jit(jax.vmap(decode, in_axes=(None, 0, 0)))  # params, caches, tokens";
    let has_code =
        facts.framework == Framework::Jax && kinds.first().is_some_and(|kind| kind.is_matmul);
    finding.advising(&advice, &leaves_out, has_code.then_some(code))
}

/// Products wait for what they read, other ops have their own causes, which the page tells.
pub(super) fn with_causes(
    facts: &HintFacts<'_>,
    finding: Finding,
    kinds: &[OpKind<'_>],
) -> Finding {
    // What the page says of matmuls, and of others.
    const OF_MATMULS: &str = "Of matmuls";
    const OF_OTHERS: [&str; 5] = [
        OF_MATMULS,
        "Change shape",
        "Where the minor dimension",
        "Reduce over",
        "Make the large axis",
    ];
    let is_full = |kind: &OpKind<'_>| nearly_all(&kind.ops, |row| fills_registers(facts, row));
    let advice = |kind: &OpKind<'_>| {
        let their = if kinds.len() == 1 {
            "Their"
        } else {
            "The others'"
        };
        if kind.is_matmul {
            let reached = reached(&kind.ops);
            format!(
                "The matmuls wait for memory, at {reached:.0} of its bandwidth: look for operands that are read in small or \
                 strided pieces, or whose layout changes on the way."
            )
        } else if is_full(kind) {
            format!(
                "{their} minor dimensions fill registers of 8 × 128 already: look for strided access, reductions over the \
                 wrong axis, and work on the scalar unit."
            )
        } else {
            String::new()
        }
    };
    let said = kinds.iter().map(advice).filter(|said| !said.is_empty());
    let advice = joined(said, " ");
    let others = kinds.iter().find(|kind| !kind.is_matmul);
    if advice.is_empty() {
        return Finding {
            leaves_out: vec![OF_MATMULS],
            ..finding
        };
    }
    let leaves_out = if others.is_none_or(is_full) {
        &OF_OTHERS[..]
    } else {
        &[OF_MATMULS]
    };
    finding.advising(&advice, leaves_out, None)
}

/// The share of their roofline that ops reach together, of those of which it is known.
fn reached(ops: &OpSelection<'_>) -> Percent {
    let known = ops.rows.iter().filter_map(|row| {
        let time = row.total_time_ps.as_ps_f64();
        Some((time, row.rates.efficiency_percent?.0 * time))
    });
    let (all, reached) = known.fold((0.0, 0.0), |sum, op| (sum.0 + op.0, sum.1 + op.1));
    Percent(reached / all.max(1.0))
}
