//! Whether a point is like the good end or the bad one: by the same comparison, with the same noise, as two runs.

use analysis::compare::{ChangeVerdict, CompareOptions, Comparison, Summary, compare};

use std::ops::RangeInclusive;

use super::search::Likeness;

/// How much longer the step of the second side is, ps, and whether that is more than noise; `None` if it is not known on both
/// sides.
fn step_change(compared: &Comparison) -> Option<(f64, bool)> {
    let step = compared.step_time()?;
    Some((step.change?, step.is_real()))
}

/// Whether the ends differ by more than noise: how much longer the step of the bad end is, ps.
pub fn ends_differ(compared: &Comparison) -> Option<f64> {
    let (change, is_real) = step_change(compared)?;
    is_real.then_some(change)
}

/// Whether more runs of the ends could tell more: they do not when the comparison itself is impossible.
pub fn can_be_compared(compared: &Comparison) -> bool {
    compared
        .step_time()
        .is_some_and(|step| step.change.is_some() && step.finding != ChangeVerdict::Untested)
}

/// What a point is like. One that differs from both ends counts as the nearer one: several changes lie between them.
pub fn likeness(
    (good, bad): (&[Summary], &[Summary]),
    point: &[Summary],
    options: &CompareOptions,
) -> Result<Likeness, String> {
    let [to_good, to_bad] = [good, bad].map(|end| compare(end, point, options));
    let steps = step_change(&to_good).zip(step_change(&to_bad));
    let Some(((from_good, is_not_good), (from_bad, is_not_bad))) = steps else {
        let why = to_good.mismatch().or_else(|| to_bad.mismatch());
        return Err(
            why.unwrap_or_else(|| "its steps cannot be compared with those of the ends".to_owned())
        );
    };
    Ok(match (is_not_good, is_not_bad) {
        (false, true) => Likeness::Good,
        (true, true) if from_good.abs() < from_bad.abs() => Likeness::Good,
        (true, _) => Likeness::Bad,
        (false, false) => Likeness::Unclear,
    })
}

/// The share of the searched difference that the points found explain, if there is one change.
const ALL: RangeInclusive<f64> = 0.75..=1.0 / 0.75;

/// The difference between the points found, ps, if it is not about the searched one: there are several changes, or a
/// drift.
pub fn part_found(
    [good, before, after, bad]: [&[Summary]; 4],
    options: &CompareOptions,
) -> Option<f64> {
    let change = |from, to| step_change(&compare(from, to, options));
    let ((whole, _), (part, is_real)) = (change(good, bad)?, change(before, after)?);
    let differ = |from, to| change(from, to).is_some_and(|(_, is_real)| is_real);
    let is_all =
        ALL.contains(&(part / whole)) || (is_real && !differ(good, before) && !differ(after, bad));
    (!is_all).then_some(part)
}

/// The median step of runs, ps.
pub fn median_step(runs: &[Summary], options: &CompareOptions) -> Option<f64> {
    Some(compare(runs, runs, options).step_time()?.base?.median)
}
