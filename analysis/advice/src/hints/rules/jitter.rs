//! Steps of one kind that differ in their length.

use super::prelude::*;
use facts::steps::{OUTLIER_RATIO, Step, StepsReport};
use facts::time_use::TimeUse;
use math::stats;

use super::devices::spots;

pub(super) static RULES: &[Rule] = &[rule!(
    "K48",
    "Step time varies",
    Low,
    [JITTER, JITTER_STEPS, HOST_STEP],
    jitter
)];

static JITTER: Threshold = Threshold::percent(
    "K48.deviation_percent",
    10.0,
    "steps of one program on idle hosts differ by less than a percent",
);
static JITTER_STEPS: Threshold = Threshold::new(
    "K48.steps",
    5.0,
    Unit::Count,
    "a spread needs a few numbers",
);

static HOST_STEP: Threshold = Threshold::new(
    "K48.host_step_us",
    1000.0,
    Unit::None,
    "the operating system and the profiler disturb a host for tens of microseconds: shorter steps always vary",
);
const PS_PER_US: f64 = 1e6;

/// Steps that differ, or single ones that stand out.
fn jitter(facts: &HintFacts<'_>) -> RuleResult {
    let Some(steps) = facts.steps() else {
        return Err("no steps were found: mark them, or capture several executions".into());
    };
    let finding = spread(facts, &steps).or_else(|why| outliers(facts, &steps).ok_or(why))?;
    Ok(without_warm_up(facts, finding, &steps))
}

/// Complete steps of the commonest class that do not compile: steps of another kind are no jitter, nor is compiling (K36).
fn alike(steps: &StepsReport) -> Vec<&Step> {
    let class = (0..steps.classes.len()).max_by_key(|&class| steps.classes[class].steps);
    let of_class = steps
        .counted()
        .filter(|step| Some(step.class) == class && !step.mostly_compiles());
    of_class.collect()
}

fn times(steps: &[&Step]) -> Vec<f64> {
    steps.iter().map(|step| step.time_ps.as_ps_f64()).collect()
}

/// How many of the first steps are a warm-up: each takes much longer than the median of the second half, and together they
/// are most of what steps take beyond it.
fn warm_up(times: &[f64]) -> usize {
    let (half, steady) = times.split_at(times.len() / 2);
    let usual = stats::median(steady).unwrap_or(f64::INFINITY);
    let slow = half
        .iter()
        .take_while(|&&time| time > OUTLIER_RATIO * usual);
    let count = slow.count();
    let (first, rest) = times.split_at(count);
    let beyond = |times: &[f64]| -> f64 { times.iter().map(|time| (time - usual).max(0.0)).sum() };
    if beyond(first) > beyond(rest) {
        count
    } else {
        0
    }
}

/// What to do where the first steps are a warm-up: no change of the loop makes them faster.
fn without_warm_up(facts: &HintFacts<'_>, finding: Finding, steps: &StepsReport) -> Finding {
    let of_class = alike(steps);
    let times = times(&of_class);
    let (first, rest) = times.split_at(warm_up(&times));
    let last = first
        .len()
        .checked_sub(1)
        .and_then(|index| of_class.get(index));
    let (Some(last), Some(rest)) = (last, stats::Stats::of(rest)) else {
        return finding;
    };
    let complete = steps.steps.iter().filter(|step| !step.is_partial);
    let count = complete
        .take_while(|step| step.number <= last.number)
        .count();
    let (first, them) = if count == 1 {
        ("step is".to_owned(), "it")
    } else {
        (format!("{count} steps are"), "them")
    };
    let advice = format!(
        "The first {first} a warm-up: leave {them} out with `--warmup {count}`, or capture later; then look at others that vary."
    );
    let saving = match finding.saving {
        PossibleSaving::PerStep(_)
            if rest
                .cv_percent
                .is_none_or(|spread| spread < facts.limit(&JITTER)) =>
        {
            PossibleSaving::Nothing
        }
        PossibleSaving::PerStep(_) => PossibleSaving::PerStep(beyond_best(&rest)),
        other => other,
    };
    // Where the others do not vary, nothing of the loop is to be changed.
    let of_loop: &[&str] = match saving {
        PossibleSaving::Nothing => &["Find what takes", "Prefetch input", "Use background data"],
        _ => &[],
    };
    Finding { saving, ..finding }.advising(&advice, of_loop, None)
}

/// What the steps take at most beyond what the best of them take.
fn beyond_best(time: &stats::Stats) -> Picos {
    Picos::from_ps((time.mean - time.p10.unwrap_or(time.min)) as i64)
}

/// Slow steps that do not compile; for those that do there are other rules.
fn outliers(facts: &HintFacts<'_>, steps: &StepsReport) -> Option<Finding> {
    let slow: Vec<(&Step, f64)> = steps
        .slow_steps()
        .into_iter()
        .filter(|(step, _)| step.compile_ps + step.compile_ps <= step.time_ps)
        .collect();
    let (first, usual) = *slow.first()?;
    let beyond = |(step, median): &(&Step, f64)| step.time_ps.as_ps_f64() - median;
    let excess: f64 = slow.iter().map(beyond).sum();
    let saved = slow
        .iter()
        .filter(|(step, _)| !(step.is_partial || step.is_warmup))
        .map(beyond)
        .sum::<f64>()
        / facts.step().ok()?.count.max(1) as f64;
    let others = if slow.len() > 1 {
        format!(", and {} more", slow.len() - 1)
    } else {
        String::new()
    };
    Some(Finding {
        statement: format!(
            "step {} takes {}, others of its class {}{others}",
            first.title(),
            first.time_ps,
            Picos::from_ps(usual as i64)
        ),
        evidence: vec![HintEvidence::time(
            "time of slow steps beyond the median of their class",
            excess,
            format!("{} steps", slow.len()),
        )],
        about: &[TimeUse::SlowSteps],
        is_last_resort: true,
        spots: spots(
            facts,
            slow.iter()
                .map(|(step, _)| (step.number, Some(step.time_ps.as_ps_f64()))),
        ),
        saving: PossibleSaving::per_step(saved),
        ..Finding::default()
    })
}

fn spread(facts: &HintFacts<'_>, steps: &StepsReport) -> RuleResult {
    let of_class = alike(steps);
    let time = stats::Stats::of(&times(&of_class)).ok_or(Nothing)?;
    let needed = facts.limit(&JITTER_STEPS);
    if (time.count as f64) < needed {
        return Err(format!(
            "only {} complete steps of one class without compilation: a spread needs {needed}",
            time.count
        )
        .into());
    }
    let spread = time.cv_percent.unwrap_or(0.0);
    let limit = facts.reached(&JITTER, spread)?;
    let slowest = of_class
        .iter()
        .max_by_key(|step| (step.time_ps, Reverse(step.number)))
        .map_or_else(String::new, |step| format!(" (step {})", step.title()));
    let best = time.p10.unwrap_or(time.min);
    let what = if time.p10.is_some() {
        "tenth percentile"
    } else {
        "fastest step"
    };
    let short =
        facts.cx.tensor_cores().is_empty() && time.mean < facts.limit(&HOST_STEP) * PS_PER_US;
    let short_note = if short {
        "; steps of a host that are so short always vary"
    } else {
        ""
    };
    Ok(Finding {
        statement: format!(
            "the standard deviation of {} steps is {spread:.1} of their mean: {} to {}{slowest}{short_note}",
            time.count,
            Picos::from_ps(time.min as i64),
            Picos::from_ps(time.max as i64),
            spread = Percent(spread)
        ),
        evidence: vec![
            HintEvidence::percent(
                "standard deviation",
                spread,
                format!("mean of {} steps", time.count),
                Some(limit),
            ),
            HintEvidence::time(
                "mean",
                time.mean,
                "steps of one kind, without the time between steps",
            ),
            HintEvidence::time(what, best, "steps of one kind"),
        ],
        about: &[TimeUse::SlowSteps],
        spots: spots(
            facts,
            of_class
                .iter()
                .map(|step| (step.number, Some(step.time_ps.as_ps_f64()))),
        ),
        saving: if short {
            PossibleSaving::Unknown
        } else {
            PossibleSaving::PerStep(beyond_best(&time))
        },
        ..Finding::default()
    })
}
