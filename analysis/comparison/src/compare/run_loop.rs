//! The loop of a run: the steady steps of all classes and the time between them.
//!
//! Metrics of one class of steps exclude the time between the steps, and their median ignores a few slow steps. These
//! metrics show a loop that recompiles or stalls.

use std::fmt::Write as _;

use facts::prelude::*;
use math::resample::{self, Statistic};
use math::stats::{mean, median};
use run_reports::host::input::{Input, InputWait};
use run_reports::{Compile, CompilePlace};

use super::summary::{RunValue, StepSeries, Summary};
use super::uses::UseChange;

/// Time of each step of the loop, up to the start of the next.
pub const LOOP_STEP: &str = "loop.step_ps";
/// 100 for a slow step, 0 for any other: the mean is their share.
pub const SLOW_SHARE: &str = "loop.slow_percent";
/// Compilations after warm-up.
pub const LOOP_COMPILATIONS: &str = "compile.loop_count";

/// Time between steps, mean over the steps of the loop.
const LOOP_GAP: &str = "loop.gap_ps";
/// Compilation on the host in the loop, likewise.
const LOOP_COMPILING: &str = "loop.compile_ps";
/// Waiting for input in the loop, likewise.
const LOOP_INPUT: &str = "loop.input_wait_ps";

/// Smallest part of the loop that the headline explains if the median step does not show it, in percent.
const WORTH_SAYING_PERCENT: f64 = 2.0;
/// A cause is named from this share of that part on.
const WORTH_NAMING: f64 = 0.2;

/// Numbers of each step of the loop, in time order; none if no steady steps were found.
pub(super) fn series(steps: &StepsReport) -> Vec<StepSeries> {
    let of = |metric, value: &dyn Fn(&Step) -> f64| {
        StepSeries::of(metric, &steps.counted().map(value).collect::<Vec<_>>())
    };
    let time = |step: &Step| step.interval_ps.unwrap_or(step.time_ps).as_ps_f64();
    let slow = |step: &Step| if step.is_outlier { 100.0 } else { 0.0 };
    vec![of(LOOP_STEP, &time), of(SLOW_SHARE, &slow)]
}

/// Times of the loop with one value per run, as means per step: between steps, compiling, waiting for input. What the
/// host does between two steps counts, too.
pub(super) fn times(cx: &Context<'_>, steps: &StepsReport) -> Vec<RunValue> {
    let Some((first, last)) = steps.counted_numbers() else {
        return Vec::new();
    };
    let looping = cx.scoped(Scope::Steps { first, last });
    let counted: Vec<&Step> = steps.counted().collect();
    let each = |sum: Picos| sum.as_ps_f64() / counted.len() as f64;
    // What is added up between the first and the last of them is of the others there, too.
    let all = steps.selected(first, last).count().max(1) as f64;
    let each_of_all = |sum: Picos| sum.as_ps_f64() / all;
    let gaps = counted.iter().map(|step| {
        let interval = step.interval_ps.unwrap_or(step.time_ps);
        (interval - step.time_ps).clamped()
    });
    let compiling = cx
        .report::<Compile>()
        .ok()
        .filter(|report| report.is_recorded)
        .zip(looping.host_window().ok())
        .map(|(report, range)| each_of_all(report.intervals.measure_in(range)));
    let input = looping.report::<Input>().ok().and_then(|input| {
        let waits = input.devices.iter().filter_map(InputWait::total_ps);
        mean(&waits.map(each_of_all).collect::<Vec<_>>())
    });
    let (own, whole) = (
        "the loop, mean per step",
        "the loop with the time between its steps, mean per step",
    );
    let values = vec![
        RunValue::of(LOOP_GAP, Some(each(gaps.sum())), own, Provenance::Measured),
        RunValue::of(LOOP_COMPILING, compiling, whole, Provenance::Measured),
        RunValue::of(LOOP_INPUT, input, whole, Provenance::Inferred),
    ];
    values
        .into_iter()
        .filter(|value| value.value.is_some())
        .collect()
}

/// Number of compilations from the first steady step to the last step; `None` if the capture does not record them.
pub(crate) fn compilations_in_loop(cx: &Context<'_>, steps: &StepsReport) -> Option<usize> {
    let report = cx.report::<Compile>().ok();
    let report = report.filter(|report| report.is_recorded)?;
    let is_warmup = |number: u32| {
        steps
            .steps
            .iter()
            .any(|step| step.number == number && step.is_warmup)
    };
    let in_loop = |place: Option<CompilePlace>| match place {
        Some(CompilePlace::InStep(step) | CompilePlace::AfterStep(step)) => !is_warmup(step),
        Some(CompilePlace::BeforeSteps | CompilePlace::AfterSteps) | None => false,
    };
    Some(
        report
            .list
            .iter()
            .filter(|compilation| in_loop(compilation.place))
            .count(),
    )
}

/// The compilations in steps after warm-up, as a number of the run. `why_none` says why there is no such step.
pub(super) fn compilations(
    cx: &Context<'_>,
    steps: &StepsReport,
    why_none: Option<&str>,
) -> Option<RunValue> {
    let value = why_none
        .is_none()
        .then_some(compilations_in_loop(cx, steps)? as f64);
    let of = "the loop, after warm-up";
    Some(RunValue {
        note: why_none.map(str::to_owned),
        ..RunValue::of(LOOP_COMPILATIONS, value, of, Provenance::Measured)
    })
}

/// The time from the first steady step to the end of the last, of the runs of a side, and what made it longer.
#[engine::reported]
pub struct LoopChange {
    /// Steps of the loop of the first side, mean over its runs.
    pub base_steps: f64,
    /// Steps of the loop of the second side, mean over its runs.
    pub cand_steps: f64,
    /// From the start of the first step to the end of the last on the first side, mean over its runs.
    pub base_ps: f64,
    /// From the start of the first step to the end of the last on the second side, mean over its runs.
    pub cand_ps: f64,
    /// Change of the time per step: second minus first.
    pub step_change_ps: f64,
    /// Change of the time per step as a share of the first.
    pub change_percent: Option<Percent>,
    /// Part of `step_change_ps` that the median step does not show.
    pub hidden_ps: f64,
    /// What causes that part: `compilation on the host +46.9 ms in 4 steps`. Empty if it is small.
    pub causes: Vec<String>,
}

/// The number of steps of a side that are compared, and their class.
type ComparedClass<'a> = (usize, &'a str);

/// Mean over the runs of a side.
struct LoopSide {
    steps: f64,
    time_ps: f64,
    step_ps: f64,
}

impl LoopSide {
    fn of(runs: &[Summary]) -> Option<Self> {
        let all = values(runs, LOOP_STEP);
        let count = all.len() as f64;
        let counted = |run: &Summary| {
            let classes: usize = run.classes.iter().map(|class| class.steps.counted).sum();
            // A long series is thinned.
            run.step_values(LOOP_STEP)
                .map_or(0, |values| values.len().max(run.steps.counted + classes))
                as f64
        };
        let steps = runs.iter().map(counted).sum::<f64>() / count;
        let step_ps = all.iter().filter_map(|run| mean(run)).sum::<f64>() / count;
        (count > 0.0).then_some(Self {
            steps,
            time_ps: steps * step_ps,
            step_ps,
        })
    }
}

impl LoopChange {
    /// Whether the loop says something that the median step does not.
    pub(super) fn is_more_than_steps(&self) -> bool {
        self.base_steps.max(self.cand_steps) > 1.5
    }

    /// `None` if a side has no loop. `median_ps` is the change of the median step of the `compared` classes, `uses` what
    /// steps in the middle show.
    pub(super) fn of(
        base: &[Summary],
        cand: &[Summary],
        median_ps: f64,
        uses: &[UseChange],
        compared: [ComparedClass<'_>; 2],
    ) -> Option<Self> {
        let first = LoopSide::of(base)?;
        let second = LoopSide::of(cand)?;
        let step_change_ps = second.step_ps - first.step_ps;
        let change_percent = Percent::ratio(step_change_ps, first.step_ps);
        let hidden_ps = step_change_ps - median_ps;
        // A side whose steps vary a lot may be the one that the cause is in.
        let noise = [base, cand].map(|runs| {
            resample::noise_of(&values(runs, LOOP_STEP), Statistic::Mean, 0.95).unwrap_or(0.0)
        });
        let noise = noise[0].min(noise[1]);
        let is_hidden = hidden_ps.abs() > noise
            && hidden_ps.abs() >= first.step_ps.max(second.step_ps) * WORTH_SAYING_PERCENT / 100.0;
        let causes = if is_hidden {
            causes(base, cand, [&first, &second], hidden_ps, uses, compared)
        } else {
            Vec::new()
        };
        Some(Self {
            base_steps: first.steps,
            cand_steps: second.steps,
            base_ps: first.time_ps,
            cand_ps: second.time_ps,
            step_change_ps,
            change_percent,
            hidden_ps,
            causes,
        })
    }

    /// `the loop of 4 steps takes 46.95 ms longer (46.95 ms to 93.90 ms, +100.0 %), of which the median step does not show
    /// +46.95 ms: compilation on the host +46.95 ms, 1 of 4 steps is slow (0 before)`.
    pub(super) fn clause(&self) -> String {
        let ps = Picos::rounded;
        let steps = |steps: f64| {
            format!(
                "{steps:.0} {}",
                if steps.round() as i64 == 1 {
                    "step"
                } else {
                    "steps"
                }
            )
        };
        let percent = self
            .change_percent
            .map(|percent| format!(", {percent:+.1}"))
            .unwrap_or_default();
        let differs = if self.step_change_ps > 0.0 {
            "longer"
        } else {
            "less"
        };
        let is_as_long = self.step_change_ps.abs().round() < 1.0;
        let is_same = (self.base_steps - self.cand_steps).abs() < 0.5;
        let before = ps(self.base_ps);
        let after = ps(self.cand_ps);
        let mut text = if is_same && before == after {
            format!(
                "the loop of {} is unchanged: {before}",
                steps(self.base_steps)
            )
        } else if is_same {
            let change = ps((self.cand_ps - self.base_ps).abs());
            format!(
                "the loop of {} takes {change} {differs} ({before} to {after}{percent})",
                steps(self.base_steps)
            )
        } else if is_as_long {
            let first = steps(self.base_steps);
            let second = steps(self.cand_steps);
            let each = ps(self.base_ps / self.base_steps);
            format!(
                "the loop takes as long per step: {each} ({before} for {first}, {after} for {second})"
            )
        } else {
            let first = self.base_ps / self.base_steps;
            let second = self.cand_ps / self.cand_steps;
            format!(
                "the loop takes {} {differs} per step ({} to {}{percent}; {before} for {}, {after} for {})",
                ps(self.step_change_ps.abs()),
                ps(first),
                ps(second),
                steps(self.base_steps),
                steps(self.cand_steps)
            )
        };
        if !self.causes.is_empty() {
            let (times, each) = if is_same {
                (self.base_steps, "")
            } else {
                (1.0, " per step")
            };
            let hidden = signed(self.hidden_ps * times);
            let causes = self.causes.join(", ");
            let _ = write!(
                text,
                ", of which the median step does not show {hidden}{each}: {causes}"
            );
        }
        text
    }
}

/// What makes the loop longer or shorter than the median step tells.
fn causes(
    base: &[Summary],
    cand: &[Summary],
    [first, second]: [&LoopSide; 2],
    hidden_ps: f64,
    uses: &[UseChange],
    compared: [ComparedClass<'_>; 2],
) -> Vec<String> {
    let mut parts = Vec::new();
    let is_same = (first.steps - second.steps).abs() < 0.5;
    // What is left to be said.
    let mut left_ps = hidden_ps;
    // As long as it takes in the whole loop, where both have as many steps.
    let mut say = |what: &str, change_ps: f64| {
        let is_worth = change_ps / hidden_ps >= WORTH_NAMING;
        if is_worth && is_same {
            parts.push(format!("{what} {}", signed(change_ps * first.steps)));
        } else if is_worth {
            parts.push(format!("{what} {} per step", signed(change_ps)));
        }
        is_worth
    };
    let mut is_idle_explained = false;
    // What steps in the middle show of it, too, is not hidden.
    let in_middle = |time_use: TimeUse| {
        let time = uses.iter().find(|one| one.id == time_use);
        time.map_or(0.0, |one| one.times.change_ps)
    };
    for (id, what, shown_ps) in [
        (
            LOOP_COMPILING,
            "compilation on the host",
            in_middle(TimeUse::Compile),
        ),
        (LOOP_INPUT, "waiting for input", in_middle(TimeUse::Input)),
        (LOOP_GAP, "time between steps", 0.0),
    ] {
        let known = |runs: &[Summary]| {
            let known = runs.iter().filter_map(|run| run.value(id)?.value);
            mean(&known.collect::<Vec<_>>())
        };
        // Older summaries count only what lies in steps.
        let all = base.iter().chain(cand);
        let of: BTreeSet<&str> = all.filter_map(|run| Some(&*run.value(id)?.of)).collect();
        if of.len() <= 1
            && let (Some(before), Some(after)) = (known(base), known(cand))
        {
            let mut change_ps = after - before - shown_ps;
            // The host may compile or prepare input between steps.
            if id == LOOP_GAP && change_ps / hidden_ps > left_ps / hidden_ps {
                change_ps = left_ps;
            }
            if say(what, change_ps) {
                is_idle_explained = true;
                left_ps -= change_ps;
            }
        }
    }
    for (what, is_idle, change_ps) in hidden_parts(base, cand) {
        if !(is_idle && is_idle_explained) {
            say(&what, change_ps);
        }
    }
    let most = |runs: &[Summary]| {
        runs.iter()
            .filter_map(|run| run.value(LOOP_COMPILATIONS)?.value)
            .reduce(f64::max)
    };
    if let (Some(before), Some(after)) = (most(base), most(cand))
        && after > before
    {
        parts.push(format!(
            "{} in it ({before} before)",
            counted(after as usize, "compilation")
        ));
    }
    let slow = |runs: &[Summary]| {
        let all = values(runs, SLOW_SHARE).concat();
        (all.iter().filter(|value| **value > 0.0).count(), all.len())
    };
    let ((before, of_before), (after, of)) = (slow(base), slow(cand));
    if after * of_before != before * of {
        let are = if after == 1 { "is" } else { "are" };
        let before = if of_before == of {
            before.to_string()
        } else {
            format!("{before} of {of_before}")
        };
        parts.push(format!(
            "{after} of {of} steps {are} slow ({before} before)"
        ));
    }
    parts.extend(other_kinds([base, cand], compared));
    if parts.is_empty() {
        parts.push("single steps that differ from the median".to_owned());
    }
    parts
}

/// What single steps of the compared class do longer than the median one, per step: ops with their source, most first, and
/// idle time. Second minus first side.
fn hidden_parts(base: &[Summary], cand: &[Summary]) -> Vec<(String, bool, f64)> {
    let mut sums: BTreeMap<(String, bool), f64> = BTreeMap::new();
    for (runs, sign) in [(base, -1.0), (cand, 1.0)] {
        for run in runs {
            let ops = run.ops.iter().filter_map(|op| {
                let place = op.source.iter().map(|source| format!(" at {source}"));
                let name = format!("{}{}", op.name, place.collect::<String>());
                Some(((name, false), mean(&op.values)? - median(&op.values)?))
            });
            let idle = run
                .step_values("step.idle_ps")
                .and_then(|all| Some(mean(&all)? - median(&all)?))
                .map(|hidden| (("idle time".to_owned(), true), hidden));
            for (what, hidden_ps) in ops.chain(idle) {
                *sums.entry(what).or_default() += sign * hidden_ps / runs.len() as f64;
            }
        }
    }
    let mut parts: Vec<_> = sums
        .into_iter()
        .map(|((what, is_idle), change_ps)| (what, is_idle, change_ps))
        .collect();
    parts.sort_by(|a, b| b.2.abs().total_cmp(&a.2.abs()));
    parts
}

/// That another share of the steps is of other classes than the compared one.
fn other_kinds(sides: [&[Summary]; 2], compared: [ComparedClass<'_>; 2]) -> Option<String> {
    let others = |side: usize| {
        let (runs, (counted, class)) = (sides[side], compared[side]);
        let all = runs.iter().flat_map(|run| {
            std::iter::once(&run.steps).chain(run.classes.iter().map(|it| &it.steps))
        });
        let steps: usize = all.clone().map(|steps| steps.counted).sum();
        let mut other: Vec<_> = all
            .filter(|steps| steps.class != class && steps.counted > 0)
            .collect();
        other.sort_by_key(|steps| Reverse(steps.counted));
        (
            steps.saturating_sub(counted),
            steps,
            other.first().map(|steps| steps.class.clone()),
        )
    };
    let (before, of_before, name_before) = others(0);
    let (after, of, name) = others(1);
    let name = name.or(name_before)?;
    (after * of_before != before * of).then(|| {
        format!("{after} of {of} steps are of other kinds than the compared ones ({before} of {of_before} before), such as {name}")
    })
}

fn values(runs: &[Summary], id: &str) -> Vec<Vec<f64>> {
    runs.iter()
        .filter_map(|run| Some(run.step_values(id)?.into_owned()))
        .filter(|values| !values.is_empty())
        .collect()
}

/// `+12.30 ms`, `-3.1 µs`.
pub fn signed(ps: f64) -> String {
    let time = Picos::rounded(ps);
    if ps.round() > 0.0 {
        format!("+{time}")
    } else {
        time.to_string()
    }
}
