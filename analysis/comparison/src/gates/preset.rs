//! The default regression gates, which `systole init` also writes.

use super::measure::MetricRuns;
use super::{Regression, StepAggregate};
use crate::compare::{Summary, are_programs, assumed_limit_percent};

/// The preset regressions whose metrics any of these runs has; `cand` is empty if it is not known yet.
///
/// | metric | aggregate | fails if it increases by more than |
/// |---|---|---|
/// | time of the step | median | 5 %; of one run against one 6.4 %, the spread that is then assumed between runs |
/// | time of the step | p90 | 10 % |
/// | time of the loop, per step | mean | 10 % |
/// | compilations in the loop | maximum over the runs | 0 |
/// | slow steps | share | 2 points |
/// | exposed communication, of the step | median | 5 points |
/// | idle time, of the step | median | 5 points |
/// | waiting for input, for copies to and from the host, recomputing, padding, memory peak | one number | 5 points |
/// | time compiling | one number | 50 %, and 100 ms |
///
/// The median step time is always included: without it, a run without any metrics would pass. Programs that were not run
/// have no times: their FLOPs, and traffic, peak memory and bytes of collectives where known, may each increase by 5 %.
pub fn preset(base: &[Summary], cand: &[Summary]) -> Vec<Regression> {
    let runs = || base.iter().chain(cand);
    let has = |metric: &str| {
        runs().any(|run| MetricRuns::of(std::slice::from_ref(run), metric, None).is_ok())
    };
    if are_programs(base) && (cand.is_empty() || are_programs(cand)) {
        let known = PROGRAM
            .into_iter()
            .filter(|metric| *metric == FLOPS || has(metric));
        return known.map(of_program).collect();
    }
    let mut gates = all(base.len().max(cand.len()) < 2);
    gates.retain(|gate| gate.metric == STEP_TIME || has(&gate.metric));
    gates.retain(|gate| gate.metric != EXPOSED || runs().any(communicates));
    gates
}

const STEP_TIME: &str = "step.time_ms";
const EXPOSED: &str = "step.exposed_comm_pct";

const FLOPS: &str = "program.flops";
/// What a program that was not run is judged by.
const PROGRAM: [&str; 4] = [
    FLOPS,
    "program.traffic_gib",
    "program.peak_memory_gib",
    "program.collectives.all_gib",
];
/// How much more of it a program may need.
const PROGRAM_PERCENT: f64 = 5.0;

fn of_program(metric: &str) -> Regression {
    Regression {
        metric: metric.to_owned(),
        aggregate: Some(StepAggregate::Max),
        max_increase_pct: Some(PROGRAM_PERCENT),
        ..Regression::default()
    }
}

/// Causes of lost time with one value per run.
const CAUSES: [&str; 5] = [
    "input_wait_pct",
    "host_offload_wait_pct",
    "recompute_pct",
    "padding_waste_pct",
    "memory.peak_pct",
];
/// The compile time of a program varies by a third with the load of the host.
const COMPILING_PERCENT: f64 = 50.0;
/// Shorter times are loads from a cache.
const COMPILING_MS: f64 = 100.0;

/// How much longer the median step of several runs may be.
const STEP_PERCENT: f64 = 5.0;

fn all(is_one_run: bool) -> Vec<Regression> {
    let gate = |metric: &str, aggregate: StepAggregate| Regression {
        metric: metric.to_owned(),
        aggregate: Some(aggregate),
        ..Regression::default()
    };
    let percent = |gate: Regression, limit: f64| Regression {
        max_increase_pct: Some(limit),
        ..gate
    };
    let points = |gate: Regression, limit: f64| Regression {
        max_increase_abs: Some(limit),
        ..gate
    };
    let causes = CAUSES.map(|metric| points(gate(metric, StepAggregate::Max), 5.0));
    let others = vec![
        percent(
            gate(STEP_TIME, StepAggregate::Median),
            if is_one_run {
                of_one_run()
            } else {
                STEP_PERCENT
            },
        ),
        percent(gate(STEP_TIME, StepAggregate::P90), 10.0),
        percent(gate("loop.step_ms", StepAggregate::Mean), 10.0),
        points(gate("compile.loop_count", StepAggregate::Max), 0.0),
        points(gate("loop.slow_pct", StepAggregate::Mean), 2.0),
        points(gate(EXPOSED, StepAggregate::Median), 5.0),
        points(gate("step.idle_pct", StepAggregate::Median), 5.0),
    ];
    let compiling = Regression {
        min_effect_ms: Some(COMPILING_MS),
        ..percent(
            gate("compile.wall_ms", StepAggregate::Max),
            COMPILING_PERCENT,
        )
    };
    others
        .into_iter()
        .chain(causes)
        .chain([compiling])
        .collect()
}

/// The difference that one run against one may have, to a tenth of a percent.
fn of_one_run() -> f64 {
    (10.0 * assumed_limit_percent()).round() / 10.0
}

/// Whether a run has devices that communicate: without them there is no exposed communication.
fn communicates(run: &Summary) -> bool {
    let is_exposed = |id| {
        run.series(id)
            .is_some_and(|series| series.values.iter().any(|value| *value > 0.0))
    };
    run.facts.devices > 1 || is_exposed("step.exposed_comm_percent")
}
