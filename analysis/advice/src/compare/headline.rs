//! The headline of a comparison.

use engine::{Percent, counted};
use trace_model::Picos;

use super::attribution::Attribution;
use super::cause_lines::CauseChain;
use super::change::{ChangeVerdict, MetricChange};
use super::comparison::Comparison;
use super::run_loop::{LoopChange, signed};
use super::{Difference, Weight};

/// The headline: whether the runs did the same work, the time of the loop, the median step, and what changed.
pub(super) fn statement(comparison: &Comparison) -> String {
    if comparison.base.runs.is_empty() || comparison.cand.runs.is_empty() {
        return "not comparable: one side has no run".to_owned();
    }
    let mut parts: Vec<String> = comparison.mismatch().into_iter().collect();
    if !comparison.is_comparable {
        return parts.concat();
    }
    let Some(step) = comparison.step_time() else {
        parts.extend(comparison.no_step_time().map(str::to_owned));
        return parts.join("; ");
    };
    parts.extend(comparison.loop_change.as_ref().map(LoopChange::clause));
    parts.push(median_clause(step, comparison));
    parts.extend(
        comparison
            .attribution
            .as_ref()
            .and_then(Attribution::conclusion),
    );
    parts.join("; ")
}

impl Comparison {
    /// The lines from the environment to the milliseconds, where a difference of the environment is known.
    pub fn chain(&self) -> Option<&CauseChain> {
        self.causes
            .as_ref()
            .filter(|causes| !causes.candidates.is_empty())
    }

    /// The time of the step.
    pub fn step_time(&self) -> Option<&MetricChange> {
        let series = self.steps.iter();
        let mut times = series.filter(|series| series.id == "step.time_ps");
        times.next().map(|step| &step.change)
    }

    /// Why there is no time of the step.
    pub fn no_step_time(&self) -> Option<&'static str> {
        if self.step_time().is_some() {
            None
        } else if self.base.are_programs && self.cand.are_programs {
            Some("programs without times are compared by what they consist of")
        } else if self.base.are_programs || self.cand.are_programs {
            Some("a program has no times that could be compared with those of a run")
        } else {
            Some("neither run has steps whose times could be compared")
        }
    }

    /// `not the same work: the runs differ in device (TPU v5 Lite against TPU v6 Lite)`; `None` if they did the same work
    /// and can be compared.
    pub fn mismatch(&self) -> Option<String> {
        let incomparable = || {
            self.differences
                .iter()
                .filter(|found| found.weight == Weight::Incomparable)
        };
        if self.other_work().next().is_some() {
            return Some(format!(
                "not the same work: the runs differ in {}",
                differing(self.other_work())
            ));
        }
        (!self.is_comparable).then(|| {
            format!(
                "not comparable: the runs differ in {}",
                differing(incomparable())
            )
        })
    }
}

/// `device (TPU v5 Lite against TPU v6 Lite), devices (1 against 4)`
fn differing<'a>(found: impl Iterator<Item = &'a Difference>) -> String {
    let one = |found: &Difference| {
        format!(
            "{} ({} against {})",
            found.title.to_lowercase(),
            found.base,
            found.cand
        )
    };
    found.map(one).collect::<Vec<_>>().join(", ")
}

/// `the median step is slower by 3.000 ms (10.00 ms to 13.00 ms, +30.00 %)`
pub(super) fn median_clause(step: &MetricChange, comparison: &Comparison) -> String {
    let (Some(base), Some(cand), Some(change)) = (step.base, step.cand, step.change) else {
        return "the step time is known on one side only".to_owned();
    };
    let percent = step
        .change_percent
        .map(|percent| format!(", {percent:+.2}"))
        .unwrap_or_default();
    let times = format!("{} to {}", ps(base.median), ps(cand.median));
    let direction = if change > 0.0 { "slower" } else { "faster" };
    let differs = format!(
        "the median step is {direction} by {} ({times}{percent})",
        ps(change.abs())
    );
    match step.finding {
        ChangeVerdict::Changed => differs,
        _ if change == 0.0 => format!("the median step is unchanged: {}", ps(base.median)),
        ChangeVerdict::Noise => {
            format!(
                "the median step did not change by more than noise: {} ({times}{percent})",
                signed(change)
            )
        }
        ChangeVerdict::BetweenRuns => {
            let noise = step
                .noise
                .filter(|_| base.median > 0.0)
                .map_or(0.0, |noise| 100.0 * noise / base.median);
            let runs = [&comparison.base, &comparison.cand].map(|side| side.runs.len());
            let known = if runs == [1, 1] {
                " (assumed: one run per side does not show it)"
            } else {
                ""
            };
            format!(
                "{differs}, more than the steps of a run differ, but runs of the same program may differ by up to \
                 {noise:.1}{known}",
                noise = Percent(noise)
            )
        }
        _ => {
            let few = format!(
                "{} too few to tell this from noise",
                steps_per_side(base.count, cand.count)
            );
            format!("{differs}, but {few}")
        }
    }
}

/// `5 steps per side are`
fn steps_per_side(base: usize, cand: usize) -> String {
    match (base, cand) {
        (1, 1) => "one step per side is".to_owned(),
        (base, cand) if base == cand => format!("{base} steps per side are"),
        (base, cand) => format!("{base} against {} are", counted(cand, "step")),
    }
}

pub(super) fn ps(value: f64) -> Picos {
    Picos::rounded(value)
}
