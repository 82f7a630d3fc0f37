//! The headline of a comparison.

use facts::prelude::*;

use super::attribution::Attribution;
use super::cause_lines::CauseChain;
use super::change::{ChangeVerdict, ENOUGH_RUNS, MetricChange};
use super::comparable::{UNKNOWN, differing};
use super::comparison::Comparison;
use super::run_loop::{LoopChange, signed};
use super::{RunDifference, Weight};

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
        parts.extend(comparison.no_step_time());
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

    /// Whether a change that is more than noise is less than what was asked for.
    pub(super) fn is_below_effect(&self, step: &MetricChange) -> bool {
        let test = &self.options.test;
        let least = step.base.map_or(0.0, |base| base.median) * test.min_effect_percent / 100.0;
        step.p.is_some_and(|p| p <= test.alpha)
            && step.change.is_some_and(|change| change.abs() < least)
    }

    /// The number of runs of both sides, where runs are compared instead of steps.
    pub(super) fn runs_that_decide(&self) -> Option<[usize; 2]> {
        let runs = [&self.base, &self.cand].map(|side| side.runs.len());
        runs.iter().all(|&runs| runs >= ENOUGH_RUNS).then_some(runs)
    }

    /// Why there is no time of the step.
    pub fn no_step_time(&self) -> Option<String> {
        let text = if self.step_time().is_some() {
            return None;
        } else if self.base.are_programs && self.cand.are_programs {
            "programs without times are compared by what they consist of"
        } else if self.base.are_programs || self.cand.are_programs {
            "a program has no times that could be compared with those of a run"
        } else if let Some(why) = self.all_warmup() {
            return Some(why);
        } else {
            "neither run has steps whose times could be compared"
        };
        Some(text.to_owned())
    }

    /// That all steps of a side are excluded as warm-up, if they are.
    pub(super) fn all_warmup(&self) -> Option<String> {
        match (&self.base.all_warmup, &self.cand.all_warmup) {
            (Some(base), Some(cand)) if base == cand => Some(format!("on both sides, {base}")),
            (Some(base), Some(cand)) => Some(format!("base: {base}; cand: {cand}")),
            (Some(base), None) => Some(format!("base: {base}")),
            (None, Some(cand)) => Some(format!("cand: {cand}")),
            (None, None) => None,
        }
    }

    /// `not the same work: the runs differ in device (TPU v5 Lite against TPU v6 Lite)`; `None` if they did the same work
    /// and can be compared.
    pub fn mismatch(&self) -> Option<String> {
        if self.base.is_untimed || self.cand.is_untimed {
            return Some(format!("not comparable: {}", self.all_warmup()?));
        }
        let incomparable = || {
            self.differences
                .iter()
                .filter(|difference| difference.weight == Weight::Incomparable)
        };
        let differ = |differences: Vec<&RunDifference>, what: &str| {
            // What is not known of a capture that lost something may be the same.
            let is_unknown = |difference: &&RunDifference| {
                difference.base == UNKNOWN || difference.cand == UNKNOWN
            };
            let reason = self
                .loss()
                .filter(|_| differences.iter().any(is_unknown))
                .unwrap_or_else(|| what.to_owned());
            format!("{reason}: the runs differ in {}", differing(differences))
        };
        if self.other_work().next().is_some() {
            return Some(differ(self.other_work().collect(), "not the same work"));
        }
        (!self.is_comparable).then(|| differ(incomparable().collect(), "not comparable"))
    }

    /// `the capture of the run is incomplete, 1 event or file was lost on import`; `None` if nothing was lost.
    pub fn loss(&self) -> Option<String> {
        let lost = |lost: u64| match lost {
            1 => "1 event or file was lost on import".to_owned(),
            lost => format!("{lost} events or files were lost on import"),
        };
        let (side, lost) = match (self.base.lost, self.cand.lost) {
            (0, 0) => return None,
            (base, 0) => ("capture of the baseline is", lost(base)),
            (0, cand) => ("capture of the run is", lost(cand)),
            (base, cand) => (
                "captures of both sides are",
                format!(
                    "{} of the baseline, and {} of the run",
                    lost(base),
                    lost(cand)
                ),
            ),
        };
        Some(format!("the {side} incomplete, {lost}"))
    }
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
        ChangeVerdict::Noise if comparison.is_below_effect(step) => {
            let least = comparison.options.test.min_effect_percent;
            format!("{differs}, less than the smallest change that counts, {least} % of the step")
        }
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
                match comparison.runs_that_decide() {
                    Some([base, cand]) => per_side(base, cand, "run"),
                    None => per_side(base.count, cand.count, "step"),
                }
            );
            format!("{differs}, but {few}")
        }
    }
}

/// `5 steps per side are`
fn per_side(base: usize, cand: usize, what: &str) -> String {
    match (base, cand) {
        (1, 1) => format!("one {what} per side is"),
        (base, cand) if base == cand => format!("{} per side are", counted(base, what)),
        (base, cand) => format!("{base} against {} are", counted(cand, what)),
    }
}

pub(super) fn ps(value: f64) -> Picos {
    Picos::rounded(value)
}
