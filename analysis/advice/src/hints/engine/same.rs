//! Which hints are about the same time.

use facts::prelude::*;

use super::priced::PricedFinding;
use crate::hints::HintFacts;
use crate::hints::finding::Finding;
use crate::what_if::Scenario;

/// Savings that differ by less than this part of the larger are one.
const EQUAL: f64 = 0.005;

/// For each hint the others that are about the same ops, or about the same idle time.
pub(super) fn overlaps(priced: &[PricedFinding]) -> Vec<Vec<&'static str>> {
    let ops: Vec<BTreeSet<OpId>> = priced.iter().map(|hint| hint.finding.op_set()).collect();
    let leaves = |a: usize, b: usize| priced[a].finding.leaves_to.contains(&priced[b].rule.id);
    // What is saved once is not a part of a step.
    let both = |a: usize, b: usize| {
        priced[a].once.is_some() == priced[b].once.is_some()
            && (!ops[a].is_disjoint(&ops[b])
                || is_same_idle_time(&priced[a].finding, &priced[b].finding)
                    && !(leaves(a, b) || leaves(b, a)))
    };
    (0..priced.len())
        .map(|a| {
            (0..priced.len())
                .filter(|&b| b != a && both(a, b))
                .map(|b| priced[b].rule.id)
                .collect()
        })
        .collect()
}

/// Both are about idle time, and not about different spots.
fn is_same_idle_time(a: &Finding, b: &Finding) -> bool {
    let meet = || {
        a.spots.iter().any(|a| {
            b.spots
                .iter()
                .any(|b| a.range().intersect(b.range()).is_some())
        })
    };
    a.is_idle_time() && b.is_idle_time() && (a.spots.is_empty() || b.spots.is_empty() || meet())
}

/// For each hint the one before it that has the same saving, where there is one: the
/// same time is saved, by another remedy.
pub(super) fn same_savings(
    facts: &HintFacts<'_>,
    priced: &[PricedFinding],
    overlaps: &[Vec<&'static str>],
) -> Vec<Option<usize>> {
    let mut leaders: Vec<Option<usize>> = Vec::new();
    for (place, hint) in priced.iter().enumerate() {
        let before = (0..place).filter(|&other| leaders[other].is_none());
        leaders.push(
            before
                .filter(|&other| {
                    overlaps[place].contains(&priced[other].rule.id)
                        && is_same_saving(facts, &priced[other], hint)
                })
                .min(),
        );
    }
    leaders
}

fn is_same_saving(facts: &HintFacts<'_>, a: &PricedFinding, b: &PricedFinding) -> bool {
    let (Some(a_ps), Some(b_ps)) = (a.saving.or(a.once), b.saving.or(b.once)) else {
        return false;
    };
    let larger = a_ps.max(b_ps);
    let close = |x: Picos| (x - larger).ps().saturating_abs() as f64 <= EQUAL * larger.as_ps_f64();
    if larger <= Picos::ZERO || a.once.is_some() != b.once.is_some() || !close(a_ps) || !close(b_ps)
    {
        return false;
    }
    // Two different halves of a step save the same, and both together twice that.
    let (Some(a), Some(b)) = (a.played(), b.played()) else {
        return true;
    };
    let both: Vec<Scenario> = a.iter().chain(b).cloned().collect();
    let alone = facts
        .saving(a)
        .unwrap_or_default()
        .max(facts.saving(b).unwrap_or_default());
    facts
        .saving(&Scenario::merged(&both))
        .is_ok_and(|both| both.as_ps_f64() <= (1.0 + EQUAL) * alone.as_ps_f64())
}
