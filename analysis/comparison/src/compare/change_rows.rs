//! Matched ops of two sides, with their times in each step, and the time that belongs to no listed op.

use facts::prelude::*;
use math::rank_test::{StepDown, holm};
use math::resample::ResampledMedians;

use super::change::{ChangeVerdict, MetricChange, TestOptions};
use super::matching::{MatchedBy, match_ops};
use super::pool::{PooledOp, PooledRuns, RestKey};
use super::summary::OpTimes;

/// Time that belongs to no listed op, on both sides.
pub(super) type RestOfSides = BTreeMap<RestKey, [f64; 2]>;

/// Times in the steps of each run, of both sides.
pub(super) type StepTimesOfSides = [Vec<Vec<f64>>; 2];

/// A pair of ops, or an op that exists on one side only.
pub(super) struct ChangeRow<'a> {
    pub base: Option<&'a PooledOp<'a>>,
    pub cand: Option<&'a PooledOp<'a>>,
    pub how: Option<(MatchedBy, f64)>,
    pub program: &'a str,
}

impl<'a> ChangeRow<'a> {
    /// The op of each side that has it: 0 is the first side.
    pub(super) fn sides(&self) -> impl Iterator<Item = (&'a PooledOp<'a>, usize)> + use<'a> {
        let sides = [self.base, self.cand].into_iter().zip(0..);
        sides.filter_map(|(op, side)| Some((op?, side)))
    }
    pub(super) fn any(&self) -> Option<&OpTimes> {
        self.cand.or(self.base).map(|op| op.op)
    }
    pub(super) fn middle(&self) -> (f64, f64) {
        (
            self.base.map_or(0.0, |op| op.middle_ps),
            self.cand.map_or(0.0, |op| op.middle_ps),
        )
    }
}

/// The matched rows, and for each part and side the time that belongs to no listed op. An op that exists on one side only
/// and is smaller than the smallest op that the other side lists belongs to the rest.
pub(super) fn rows<'a>(
    base: &'a PooledRuns<'a>,
    cand: &'a PooledRuns<'a>,
) -> (Vec<ChangeRow<'a>>, RestOfSides) {
    let matching = match_ops(&base.merged, &cand.merged);
    let mut rest = RestOfSides::new();
    // Causes of idle time that one side does not know are not compared.
    let is_plain = !(base.knows_causes() && cand.knows_causes());
    for (side, pool) in [base, cand].into_iter().enumerate() {
        for (key, time) in pool.rest(is_plain) {
            rest.entry(key).or_default()[side] += time;
        }
    }
    let program = |pool: &'a PooledRuns<'a>, index: usize| {
        let program = pool.merged.ops.get(index).and_then(|op| op.program);
        program
            .and_then(|index| pool.merged.facts.programs.get(index))
            .map_or("", |program| program.name.as_str())
    };
    let mut rows: Vec<ChangeRow<'a>> = Vec::new();
    for pair in &matching.pairs {
        let first = base.ops.get(pair.base);
        let second = cand.ops.get(pair.cand);
        rows.push(ChangeRow {
            base: first,
            cand: second,
            how: Some((pair.how, pair.confidence)),
            program: program(cand, pair.cand),
        });
    }
    let alone = [
        (base, cand, &matching.base_only),
        (cand, base, &matching.cand_only),
    ];
    for (side, (pool, other, indices)) in alone.into_iter().enumerate() {
        let too_small = other.listed_from_ps();
        for &index in indices {
            let Some(op) = pool.ops.get(index) else {
                continue;
            };
            let is_base = side == 0;
            if op.middle_ps <= too_small {
                rest.entry((op.op.part, None)).or_default()[side] += op.middle_ps;
                continue;
            }
            rows.push(ChangeRow {
                base: Some(op).filter(|_| is_base),
                cand: Some(op).filter(|_| !is_base),
                how: None,
                program: program(pool, index),
            });
        }
    }
    (rows, rest)
}

/// Times in the steps of each run; zero if the side does not have the op.
pub(super) fn values(op: Option<&PooledOp<'_>>, pool: &PooledRuns<'_>) -> Vec<Vec<f64>> {
    match op {
        Some(op) => op.values.clone(),
        None => pool
            .ops
            .first()
            .map(|any| any.values.iter().map(|v| vec![0.0; v.len()]).collect())
            .unwrap_or_default(),
    }
}

pub(super) fn tested(
    row: &ChangeRow<'_>,
    base: &PooledRuns<'_>,
    cand: &PooledRuns<'_>,
    options: &TestOptions,
) -> MetricChange {
    let mut change =
        MetricChange::tested(&values(row.base, base), &values(row.cand, cand), options);
    if row.base.is_none() || row.cand.is_none() {
        change.finding = ChangeVerdict::OneSided;
    }
    change
}

/// Applies Holm's correction to all tests. Ops that take less than `effect` in every step of both sides are not tested:
/// they cannot change by that much, and each additional test reduces the power of the others.
pub(super) fn correct(
    changes: &mut [MetricChange],
    sides: &[StepTimesOfSides],
    effect: f64,
    options: &TestOptions,
) {
    let matters = |sides: &StepTimesOfSides| {
        let mut values = sides.iter().flatten().flatten();
        values.any(|&value| value >= effect)
    };
    let asked: Vec<usize> = (0..changes.len())
        .filter(|&i| changes[i].finding == ChangeVerdict::Noise && matters(&sides[i]))
        .collect();
    let p: Vec<f64> = asked.iter().map(|&i| changes[i].p.unwrap_or(1.0)).collect();
    for change in changes.iter_mut() {
        change.p = None;
    }
    let steps = StepDown::of(&p);
    for (&i, p) in asked.iter().zip(holm(&p)) {
        let (change, [base, cand]) = (&mut changes[i], &sides[i]);
        change.p = Some(p);
        if p > options.alpha {
            change.give_up(base, cand, options.alpha, |least| steps.corrected(least));
        }
        change.conclude(
            &ResampledMedians::new(base),
            &ResampledMedians::new(cand),
            effect,
            options,
        );
    }
}
