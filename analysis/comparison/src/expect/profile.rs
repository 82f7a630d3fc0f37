//! Conditions on a run.

use device_reports::{Ops, Steps};
use engine::{glob, number};
use facts::prelude::*;

use super::condition::Expectation;
use super::report::Answer;
use crate::compare::compilations_in_loop;

/// Whether the host compiles during the steps of the loop.
pub(super) fn compiles_in_steps(cx: &Context<'_>, wanted: bool) -> Answer {
    let steps = match cx.report::<Steps>() {
        Ok(steps) => steps,
        Err(why) => return Answer::unknown(format!("steps are not known: {why}")),
    };
    let Some(count) = compilations_in_loop(cx, &steps) else {
        return Answer::unknown("the capture has no host threads on which a compiler was recorded");
    };
    let said = match count {
        0 => "nothing was compiled in the steps after warm-up".to_owned(),
        count => format!(
            "{} in the steps after warm-up",
            counted(count, "compilation")
        ),
    };
    Answer::met_if((count > 0) == wanted, said)
}

/// The share of a scope in the self time of all ops.
pub(super) fn share_of(cx: &Context<'_>, scope: &str, expected: &Expectation) -> Answer {
    let ops = match cx.report::<Ops>() {
        Ok(ops) => ops,
        Err(why) => return Answer::unknown(format!("times of ops are not known: {why}")),
    };
    let named = || {
        ops.rows
            .iter()
            .filter_map(|row| Some((row.framework_name.as_deref()?, row.self_time_ps)))
    };
    let Some((first, _)) = named().next() else {
        return Answer::unknown("the capture has no framework names of ops");
    };
    let is_in_scope = |(name, _): &(&str, Picos)| glob(scope, name);
    if !named().any(|row| is_in_scope(&row)) {
        return Answer::unknown(format!(
            "no op has a framework name like {scope:?}; they are such as {first:?}"
        ));
    }
    let of_scope: Picos = named().filter(is_in_scope).map(|(_, time)| time).sum();
    let Some(share) = Percent::of(of_scope, ops.op_time_ps) else {
        return Answer::unknown("no op took any time");
    };
    let unnamed: Picos = ops
        .rows
        .iter()
        .filter(|row| row.framework_name.is_none())
        .map(|row| row.self_time_ps)
        .sum();
    let most = Percent::of(of_scope + unnamed, ops.op_time_ps).unwrap_or(share);
    let fits = |share: Percent| {
        expected.min_percent.is_none_or(|min| share.0 >= min)
            && expected.max_percent.is_none_or(|max| share.0 <= max)
    };
    let percent = |value: f64| number::value(value, Unit::Percent);
    let limit = match (expected.min_percent, expected.max_percent) {
        (Some(min), Some(max)) => format!("{} to {}", percent(min), percent(max)),
        (Some(min), None) => format!("at least {}", percent(min)),
        (None, Some(max)) => format!("at most {}", percent(max)),
        (None, None) => "any share".to_owned(),
    };
    let said = format!(
        "{of_scope} of {}, {} of the self time of all ops; expected {limit}",
        ops.op_time_ps,
        percent(share.0)
    );
    // Ops without a framework name may belong to the scope.
    let is_beyond = expected.max_percent.is_some_and(|max| share.0 > max)
        || expected.min_percent.is_some_and(|min| most.0 < min);
    if unnamed > Picos::ZERO && !is_beyond && !(fits(share) && fits(most)) {
        return Answer::unknown(format!(
            "{said}; {unnamed} more are of ops without a framework name"
        ));
    }
    Answer::met_if(fits(share), said)
}
