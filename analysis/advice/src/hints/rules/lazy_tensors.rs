//! Rules about lazy tensors and programs of single ops.

use super::prelude::*;
use math::stats;
use run_reports::host::compile::LazyTensors;
use run_reports::{Compile, Gaps};
use trace_model::time::{PS_PER_S, PS_PER_US};

pub(super) static RULES: &[Rule] = &[
    rule!("K39", "Steps are not marked", Medium, [SYNC_TIME], unmarked),
    rule!("K40", "Graph breaks within steps", Medium, [SYNCS], syncs),
    rule!(
        "K41",
        "Ops run as separate programs",
        Medium,
        [SMALL_PROGRAMS, SMALL_PROGRAM_TIME],
        op_by_op
    ),
];

static SYNC_TIME: Threshold = Threshold::new(
    "K39.sync_s",
    30.0,
    Unit::None,
    "PyTorch/XLA's own analysis calls an execution this long a step that was not marked",
);
static SYNCS: Threshold = Threshold::new(
    "K40.per_step",
    0.5,
    Unit::None,
    "the limit of PyTorch/XLA's own metrics analysis",
);
static SMALL_PROGRAMS: Threshold = Threshold::new(
    "K41.programs",
    10.0,
    Unit::Count,
    "a step of few programs pays few launches",
);
static SMALL_PROGRAM_TIME: Threshold = Threshold::new(
    "K41.mean_us",
    50.0,
    Unit::None,
    "launching takes tens of microseconds: longer programs hide the launch of the next",
);

fn fact(lazy: &LazyTensors, id: &str) -> Option<f64> {
    lazy.facts.iter().find(|fact| fact.id == id)?.value
}

fn unmarked(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Compile>()?;
    let lazy = report.lazy.as_ref().ok_or(Nothing)?;
    let markers = lazy.facts.iter().find(|fact| fact.id == "step_markers");
    let limit = facts.limit(&SYNC_TIME) * PS_PER_S as f64;
    let longest = fact(lazy, "longest_sync_ps").unwrap_or(0.0);
    let statement = match markers.and_then(|fact| fact.statement.clone()) {
        Some(statement) => statement,
        None if longest >= limit => {
            format!(
                "one graph took {}: it holds more than a step",
                Picos::from_ps(longest as i64)
            )
        }
        None => return Err(Nothing),
    };
    let evidence = vec![
        HintEvidence::count(
            "step markers",
            markers.and_then(|fact| fact.value).unwrap_or(0.0),
            "capture",
            Some(1.0),
        ),
        HintEvidence {
            threshold: Some(limit),
            ..HintEvidence::time("longest sync", longest, "all syncs")
        },
    ];
    Ok(Finding {
        statement,
        evidence,
        ..Finding::default()
    })
}

fn syncs(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Compile>()?;
    let lazy = report.lazy.as_ref().ok_or(Nothing)?;
    let limit = facts.limit(&SYNCS);
    let kinds = [
        ("early_syncs_per_step", "graphs are cut"),
        ("fetches_per_step", "values are copied to the host"),
    ];
    let known: Vec<(&str, f64)> = kinds
        .iter()
        .filter_map(|&(id, what)| Some((what, fact(lazy, id)?)))
        .collect();
    if known.is_empty() {
        let why = "no step is marked, so nothing can be counted per step: call mark_step (K39)";
        return Err(why.into());
    }
    let many: Vec<(&str, f64)> = known
        .into_iter()
        .filter(|(_, count)| *count > limit)
        .collect();
    if many.is_empty() {
        return Err(Nothing);
    }
    let clauses = many
        .iter()
        .map(|(what, count)| format!("{what} {count:.1} times"));
    let evidence = many
        .iter()
        .map(|&(what, count)| HintEvidence::number(what, count, "step marker", Some(limit)));
    Ok(Finding {
        statement: format!("in each step {}", joined(clauses, " and ")),
        evidence: evidence.collect(),
        // What of it the device waits for is the matter of K33.
        saving: PossibleSaving::Unknown,
        ..Finding::default()
    })
}

fn op_by_op(facts: &HintFacts<'_>) -> RuleResult {
    let gaps = facts.in_steps::<Gaps>()?;
    let steps = facts.step()?.count.max(1) as f64;
    let least = facts.limit(&SMALL_PROGRAMS);
    let most = facts.limit(&SMALL_PROGRAM_TIME) * PS_PER_US as f64;
    let device = gaps
        .devices
        .iter()
        .max_by_key(|device| device.between_ps())
        .ok_or(Nothing)?;
    let programs = facts.cx.programs_on_host(device.group);
    let kinds = programs
        .iter()
        .map(|(program, _)| program.label_id())
        .collect::<BTreeSet<_>>()
        .len() as f64;
    let per_step = device.programs as f64 / steps;
    let lengths: Vec<f64> = programs
        .iter()
        .map(|(program, _)| program.dur().as_ps_f64())
        .collect();
    let mean = stats::Stats::of(&lengths)
        .map(|stats| stats.mean)
        .ok_or(Nothing)?;
    if kinds < least || per_step < least || mean >= most {
        return Err(Nothing);
    }
    Ok(Finding {
        statement: format!(
            "{} runs {per_step:.0} programs in each step, of {kinds:.0} kinds and {} on average",
            device.core,
            Picos::from_ps(mean as i64)
        ),
        evidence: vec![
            HintEvidence::count("different programs", kinds, "capture", Some(least)),
            HintEvidence::count("programs", per_step, "step", Some(least)),
            HintEvidence {
                threshold: Some(most),
                ..HintEvidence::time("length of a program", mean, "mean of all")
            },
        ],
        about: &[TimeUse::Idle, TimeUse::Launch],
        saving: PossibleSaving::per_step(device.between_ps().as_ps_f64() / steps),
        ..Finding::default()
    })
}
