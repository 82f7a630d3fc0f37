//! Gates on synthetic runs.

mod long_and_few_steps;

use device_reports::steps::step_parts::StepPart;

use super::*;
use crate::compare::{
    Better, ClassTimes, OpTimes, ProgramFacts, RestTimes, RunValue, StepFacts, StepSeries,
};

/// Twenty steps of `ms` that differ by up to 1 %, an all-gather that takes a tenth, three compilations.
fn run(ms: f64) -> Summary {
    let times: Vec<f64> = (0..20)
        .map(|i| ms * 1e9 * (1.0 + 0.001 * f64::from(i * 7 % 10)))
        .collect();
    let series = |id: &str, unit, values| StepSeries {
        id: id.to_owned(),
        title: id.to_owned(),
        unit,
        better: Better::Lower,
        values,
    };
    let value = |id: &str, unit, value| RunValue {
        id: id.to_owned(),
        title: id.to_owned(),
        unit,
        better: Better::Neither,
        value,
        of: String::new(),
        provenance: engine::Provenance::Measured,
        note: Some("the capture does not record it".to_owned()),
    };
    let op = |name: &str, part, share: f64| OpTimes {
        program: None,
        name: name.to_owned(),
        category: String::new(),
        part,
        is_collective: part == StepPart::ExposedComm,
        shape: None,
        source: None,
        framework: None,
        place: 0,
        runs: 1.0,
        middle_ps: ms * 1e9 * share,
        values: times.iter().map(|time| time * share).collect(),
    };
    Summary {
        steps: StepFacts {
            source: "modules".to_owned(),
            counted: 20,
            middle_ps: ms * 1e9,
            ..StepFacts::default()
        },
        ops: vec![
            op("fusion.1", StepPart::MatMul, 0.9),
            op("all-gather.7", StepPart::ExposedComm, 0.1),
        ],
        series: vec![
            series("step.time_ps", Unit::Picoseconds, times.clone()),
            series("step.exposed_comm_percent", Unit::Percent, vec![10.0; 20]),
        ],
        loop_series: vec![
            series("loop.step_ps", Unit::Picoseconds, times.clone()),
            series("loop.slow_percent", Unit::Percent, vec![0.0; 20]),
        ],
        values: vec![
            value("compile.count", Unit::Count, Some(3.0)),
            value("compile.loop_count", Unit::Count, Some(0.0)),
            value("mfu_steady_percent", Unit::Percent, None),
        ],
        ..Summary::default()
    }
}

fn budget(metric: &str, max: f64) -> Budget {
    Budget {
        metric: metric.to_owned(),
        max: Some(max),
        ..Budget::default()
    }
}

fn status(config: &GateConfig, run: &Summary, baseline: &[Summary]) -> Vec<Status> {
    config.check().unwrap();
    against(run, baseline, config)
        .0
        .gates
        .iter()
        .map(|gate| gate.status)
        .collect()
}

fn of_budget(budget: Budget) -> Status {
    status(
        &GateConfig {
            budget: vec![budget],
            ..GateConfig::default()
        },
        &run(100.0),
        &[],
    )[0]
}

#[test]
fn budgets_use_the_unit_in_the_metric_name() {
    assert_eq!(of_budget(budget("step.time_ms", 101.0)), Status::Pass);
    assert_eq!(of_budget(budget("step.time_ms", 100.0)), Status::Fail);
    assert_eq!(of_budget(budget("step.time_us", 101_000.0)), Status::Pass);
    assert_eq!(
        of_budget(budget("time.communication_share", 0.05)),
        Status::Fail
    );
    assert_eq!(
        of_budget(budget("compile.count_in_window", 3.0)),
        Status::Pass
    );
    assert_eq!(
        of_budget(budget("compile.count_in_window", 0.0)),
        Status::Fail
    );
    assert_eq!(
        of_budget(Budget {
            aggregate: Some(StepAggregate::Max),
            ..budget("step.time_ms", 100.8)
        }),
        Status::Fail
    );
    let op = |op: &str| Budget {
        op: Some(op.to_owned()),
        ..budget("op.exposed_ms_per_step", 9.0)
    };
    assert_eq!(of_budget(op("re:^all-")), Status::Fail);
    assert_eq!(of_budget(op("all-gather.*")), Status::Fail);
    // Nothing that is exposed has this name.
    assert_eq!(of_budget(op("fusion.*")), Status::Inconclusive);
}

#[test]
fn missing_value_is_inconclusive_with_a_reason() {
    let config = GateConfig {
        budget: vec![budget("mfu_pct", 50.0), budget("memory.peak_gib", 1.0)],
        ..GateConfig::default()
    };
    let (report, _) = against(&run(100.0), &[], &config);
    let messages: Vec<&str> = report
        .gates
        .iter()
        .map(|gate| gate.message.as_str())
        .collect();
    assert!(messages[0].contains("no memory.peak_gib"), "{messages:?}");
    assert!(messages[1].contains("does not record"), "{messages:?}");
    assert_eq!(report.inconclusive().count(), 2);
    let mut few = run(100.0);
    few.series[0].values.truncate(3);
    let config = GateConfig {
        budget: vec![budget("step.time_ms", 1.0)],
        ..GateConfig::default()
    };
    assert_eq!(status(&config, &few, &[]), [Status::Inconclusive]);
}

#[test]
fn preset_passes_noise_and_fails_regressions() {
    let config = GateConfig::default();
    assert_eq!(
        status(&config, &run(101.0), &[run(100.0)])
            .iter()
            .filter(|s| **s == Status::Fail)
            .count(),
        0
    );
    let (report, comparison) = against(&run(112.0), &[run(100.0)], &config);
    let failed: Vec<String> = report.failed().map(Gate::name).collect();
    assert_eq!(
        failed,
        [
            "loop.step_ms (mean) +10 %",
            "step.time_ms (p90) +10 %",
            "step.time_ms +6.4 %"
        ]
    );
    assert!(
        report.statement.starts_with("6 gates: 3 failed"),
        "{}",
        report.statement
    );
    assert!(comparison.unwrap().statement.contains("slower"));
}

#[test]
fn level_decides_between_failure_and_warning() {
    let regression = |level| Regression {
        metric: "step.time_ms".to_owned(),
        max_increase_pct: Some(5.0),
        level: Some(level),
        ..Regression::default()
    };
    for (level, failed, warned) in [
        (GateLevel::Error, 1, 0),
        (GateLevel::Warn, 0, 1),
        (GateLevel::Off, 0, 0),
    ] {
        let config = GateConfig {
            regression: vec![regression(level)],
            ..GateConfig::default()
        };
        let (report, _) = against(&run(120.0), &[run(100.0)], &config);
        assert_eq!(
            (report.failed().count(), report.warned().count()),
            (failed, warned)
        );
    }
}

#[test]
fn regressions_need_a_comparable_baseline_and_a_minimum_effect() {
    let regression = Regression {
        metric: "step.time_ms".to_owned(),
        max_increase_pct: Some(5.0),
        ..Regression::default()
    };
    let config = GateConfig {
        regression: vec![regression.clone()],
        ..GateConfig::default()
    };
    assert_eq!(status(&config, &run(120.0), &[]), [Status::Inconclusive]);
    let mut other = run(100.0);
    other.facts.devices = 4;
    assert_eq!(
        status(&config, &run(120.0), &[other.clone()]),
        [Status::Inconclusive]
    );
    let comparable = Comparable {
        on_mismatch: OnMismatch::Ignore,
        ..Comparable::default()
    };
    assert_eq!(
        status(
            &GateConfig {
                comparable,
                ..config.clone()
            },
            &run(120.0),
            &[other]
        ),
        [Status::Fail]
    );
    let lenient = Regression {
        min_effect_ms: Some(30.0),
        ..regression
    };
    assert_eq!(
        status(
            &GateConfig {
                regression: vec![lenient],
                ..config
            },
            &run(120.0),
            &[run(100.0)]
        ),
        [Status::Pass]
    );
}

#[test]
fn falling_utilization_is_a_regression() {
    let regression = Regression {
        metric: "compile.count".to_owned(),
        max_decrease_abs: Some(0.5),
        ..Regression::default()
    };
    let config = GateConfig {
        regression: vec![regression],
        ..GateConfig::default()
    };
    let mut worse = run(100.0);
    worse.values[0].value = Some(2.0);
    assert_eq!(status(&config, &worse, &[run(100.0)]), [Status::Fail]);
    assert_eq!(status(&config, &run(100.0), &[worse]), [Status::Pass]);
}

#[test]
fn rejects_invalid_gates() {
    let of = |budget: Budget| {
        GateConfig {
            budget: vec![budget],
            ..GateConfig::default()
        }
        .check()
    };
    assert!(
        of(Budget {
            metric: "step.time_ms".to_owned(),
            ..Budget::default()
        })
        .is_err()
    );
    assert!(
        of(budget("step.tiem_ms", 1.0))
            .unwrap_err()
            .to_string()
            .contains("did you mean \"step.time_ms\"?")
    );
    assert!(of(budget("op.time_ms_per_step", 1.0)).is_err());
    assert!(
        of(Budget {
            op: Some("re:(".to_owned()),
            ..budget("op.time_ms_per_step", 1.0)
        })
        .is_err()
    );
    assert!(
        of(Budget {
            op: Some("x".to_owned()),
            ..budget("step.time_ms", 1.0)
        })
        .is_err()
    );
    let require = Comparable {
        require: vec!["colour".to_owned()],
        ..Comparable::default()
    };
    assert!(
        GateConfig {
            comparable: require,
            ..GateConfig::default()
        }
        .check()
        .is_err()
    );
}

/// The same run with `count` additional ops of one name, small beside the others.
fn with_small_ops(mut run: Summary, count: usize, share: f64) -> Summary {
    let model = run.ops[1].clone();
    for number in 0..count {
        let values = run.series[0]
            .values
            .iter()
            .map(|time| time * share)
            .collect();
        let (name, middle_ps) = (
            format!("all-gather.{}", 100 + number),
            run.steps.middle_ps * share,
        );
        run.ops.push(OpTimes {
            name,
            middle_ps,
            values,
            ..model.clone()
        });
    }
    run
}

fn of_op(op: &str) -> GateConfig {
    let regression = Regression {
        metric: "op.exposed_ms_per_step".to_owned(),
        op: Some(op.to_owned()),
        max_increase_pct: Some(10.0),
        ..Regression::default()
    };
    GateConfig {
        regression: vec![regression],
        ..GateConfig::default()
    }
}

#[test]
fn ops_unlisted_in_the_baseline_count_on_neither_side() {
    // A quarter of the exposed time is in ops that the baseline only sums.
    let whole = with_small_ops(run(100.0), 30, 0.001);
    let saved = whole.clone().shortened(2, 10);
    assert_eq!(
        status(&of_op("all-gather*"), &whole, std::slice::from_ref(&saved)),
        [Status::Pass]
    );
    assert_eq!(
        status(&of_op("all-gather*"), &saved, std::slice::from_ref(&whole)),
        [Status::Pass]
    );
    // A metric without a listed op in the baseline cannot be judged, and the message says why.
    let (report, _) = against(
        &whole,
        std::slice::from_ref(&saved),
        &of_op("all-gather.1??"),
    );
    assert_eq!(report.gates[0].status, Status::Inconclusive);
    let small = with_small_ops(run(100.0), 30, 0.02).shortened(2, 10);
    let (report, _) = against(&whole, &[small], &of_op("all-gather.10*"));
    assert_eq!(report.gates[0].status, Status::Inconclusive);
    assert!(
        report.gates[0].message.contains("--ops"),
        "{}",
        report.gates[0].message
    );
    // Ops that grew beyond what the baseline lists may have been nearly as large before.
    let grown = with_small_ops(run(100.0), 5, 0.105);
    let before = with_small_ops(run(100.0), 5, 0.095).shortened(2, 10);
    let (report, _) = against(&grown, &[before], &of_op("all-gather*"));
    assert_eq!(
        report.gates[0].status,
        Status::Inconclusive,
        "{}",
        report.gates[0].message
    );
}

#[test]
fn unlisted_ops_make_an_op_budget_inconclusive() {
    // 10 ms are in the listed all-gather, 3 in thirty small ones.
    let whole = with_small_ops(run(100.0), 30, 0.001);
    let mut saved = whole.clone().shortened(2, 20);
    // The steps of the fixture consist only of ops: the rest is the time of the removed ones.
    saved.rest = vec![RestTimes {
        part: StepPart::ExposedComm,
        shape: None,
        cause: None,
        middle_ps: 3e9,
    }];
    let of = |op: &str, max: f64| GateConfig {
        budget: vec![Budget {
            op: Some(op.to_owned()),
            ..budget("op.exposed_ms_per_step", max)
        }],
        ..GateConfig::default()
    };
    assert_eq!(
        status(&of("all-gather*", 12.0), &whole, &[]),
        [Status::Fail]
    );
    assert_eq!(
        status(&of("all-gather*", 12.0), &saved, &[]),
        [Status::Inconclusive]
    );
    assert_eq!(
        status(&of("all-gather*", 14.0), &saved, &[]),
        [Status::Pass]
    );
    assert_eq!(status(&of("all-gather*", 9.0), &saved, &[]), [Status::Fail]);
    assert_eq!(
        status(&of("all-gather.7", 12.0), &saved, &[]),
        [Status::Pass]
    );
    // Their maximum is unknown, and so is what they would add towards a minimum.
    let mut most = of("all-gather*", 14.0);
    most.budget[0].aggregate = Some(StepAggregate::Max);
    assert_eq!(status(&most, &saved, &[]), [Status::Inconclusive]);
    let mut least = of("all-gather*", 20.0);
    (least.budget[0].max, least.budget[0].min) = (None, Some(12.0));
    assert_eq!(status(&least, &saved, &[]), [Status::Inconclusive]);
    // An op of that name in another program may be one of the small ones.
    saved.facts.programs = vec![ProgramFacts::default(); 2];
    assert_eq!(
        status(&of("all-gather.7", 12.0), &saved, &[]),
        [Status::Inconclusive]
    );
}

/// The thirty small ones take their time in outlier steps, and none in the middle ones.
#[test]
fn unlisted_outlier_ops_make_mean_and_max_inconclusive() {
    let mut saved = run(100.0).shortened(2, 20);
    saved.ops_not_listed = 30;
    saved.rest = vec![RestTimes {
        part: StepPart::ExposedComm,
        shape: None,
        cause: None,
        middle_ps: 0.0,
    }];
    let of = |aggregate| {
        let op = Some("all-gather*".to_owned());
        let budget = Budget {
            op,
            aggregate: Some(aggregate),
            ..budget("op.exposed_ms_per_step", 14.0)
        };
        GateConfig {
            budget: vec![budget],
            ..GateConfig::default()
        }
    };
    assert_eq!(
        status(&of(StepAggregate::Median), &saved, &[]),
        [Status::Pass]
    );
    assert_eq!(
        status(&of(StepAggregate::Max), &saved, &[]),
        [Status::Inconclusive]
    );
    assert_eq!(
        status(&of(StepAggregate::Mean), &saved, &[]),
        [Status::Inconclusive]
    );
    saved.rest[0].part = StepPart::MatMul;
    assert_eq!(status(&of(StepAggregate::Max), &saved, &[]), [Status::Pass]);
}

/// Saved from files of the same name: only their position distinguishes the runs.
#[test]
fn numbers_are_kept_for_each_run() {
    let with = |count: f64| {
        let mut run = run(100.0);
        run.values[0].value = Some(count);
        run
    };
    let (base, cand) = ([run(100.0)], [with(3.0), with(9.0)]);
    let most = Budget {
        aggregate: Some(StepAggregate::Max),
        ..budget("compile.count_in_window", 5.0)
    };
    let config = GateConfig {
        budget: vec![most],
        ..GateConfig::default()
    };
    let comparison = compare(&base, &cand, &compare_options(&config));
    let report = judge(&cand, Some((&base, &comparison)), &config);
    let budget = report
        .gates
        .iter()
        .find(|gate| gate.kind == "budget")
        .unwrap();
    assert_eq!((budget.status, budget.actual), (Status::Fail, Some(9.0)));
}

#[test]
fn op_missing_in_the_baseline_counts_as_increase() {
    let mut before = run(100.0);
    before.ops.truncate(1);
    assert_eq!(
        status(&of_op("all-gather*"), &run(100.0), &[before.clone()]),
        [Status::Fail]
    );
    assert_eq!(
        status(&of_op("all-gather*"), &before, &[run(100.0)]),
        [Status::Pass]
    );
    assert_eq!(
        status(&of_op("all-gahter*"), &run(100.0), &[before]),
        [Status::Inconclusive]
    );
}

/// The run with only the first `steps` steps.
fn cut(mut run: Summary, steps: usize) -> Summary {
    run.steps.counted = steps;
    run.series
        .iter_mut()
        .chain(&mut run.loop_series)
        .for_each(|series| series.values.truncate(steps));
    run
}

#[test]
fn quantile_needs_a_step_beyond_it() {
    use StepAggregate::{Max, Mean, Median, P90, P95};

    let regression = |aggregate| Regression {
        metric: "step.time_ms".to_owned(),
        max_increase_pct: Some(5.0),
        aggregate: Some(aggregate),
        ..Regression::default()
    };
    for (aggregate, few, enough) in [
        (Median, 5, 6),
        (Mean, 5, 6),
        (Max, 5, 6),
        (P90, 9, 10),
        (P95, 19, 20),
    ] {
        let budget = Budget {
            aggregate: Some(aggregate),
            ..budget("step.time_ms", 101.0)
        };
        let (budget, regression) = (vec![budget], vec![regression(aggregate)]);
        let config = GateConfig {
            budget,
            regression,
            ..GateConfig::default()
        };
        for (steps, expected) in [
            (1, Status::Inconclusive),
            (few, Status::Inconclusive),
            (enough, Status::Fail),
        ] {
            let found = status(&config, &cut(run(120.0), steps), &[run(100.0)]);
            assert_eq!(found, [expected; 2], "{aggregate:?} of {steps}");
            let found = status(&config, &run(120.0), &[cut(run(100.0), steps)]);
            assert!(
                found.contains(&expected) && found.contains(&Status::Fail),
                "{aggregate:?} beside {steps}"
            );
        }
    }
    // A median that needs no test still needs enough steps.
    let regression = Regression {
        require_significance: Some(false),
        ..regression(Median)
    };
    let config = GateConfig {
        regression: vec![regression],
        ..GateConfig::default()
    };
    for (steps, expected) in [(1, Status::Inconclusive), (6, Status::Fail)] {
        assert_eq!(
            status(&config, &cut(run(120.0), steps), &[run(100.0)]),
            [expected],
            "{steps}"
        );
    }
    let (report, _) = against(&cut(run(120.0), 2), &[run(100.0)], &GateConfig::default());
    assert_eq!(report.failed().count(), 0);
    assert!(
        report
            .gates
            .iter()
            .any(|gate| gate.message.contains("p90 needs 10")),
        "{report:?}"
    );
}

#[test]
fn absent_part_of_a_run_with_breakdown_is_zero() {
    let part = |mut run: Summary, id: &str, unit, value: f64| {
        let values = vec![value; run.series[0].values.len()];
        run.series.push(StepSeries {
            id: id.to_owned(),
            title: String::new(),
            unit,
            better: Better::Lower,
            values,
        });
        run
    };
    let gate = Regression {
        metric: "step.exposed_comm_ms".to_owned(),
        max_increase_abs: Some(1.0),
        ..Regression::default()
    };
    let config = GateConfig {
        regression: vec![gate],
        ..GateConfig::default()
    };
    let exposed = part(run(100.0), "step.exposed_comm_ps", Unit::Picoseconds, 5e9);
    // The baseline's value is unknown.
    assert_eq!(
        status(&config, &exposed, &[run(100.0)]),
        [Status::Inconclusive]
    );
    let divided = part(run(100.0), "step.idle_percent", Unit::Percent, 1.0);
    assert_eq!(
        status(&config, &exposed, std::slice::from_ref(&divided)),
        [Status::Fail]
    );
    assert_eq!(status(&config, &divided, &[exposed]), [Status::Pass]);
}

#[test]
fn limits_must_be_valid_for_their_metric() {
    let of = |change: fn(&mut Regression)| {
        let mut gate = Regression {
            metric: "step.time_ms".to_owned(),
            max_increase_pct: Some(5.0),
            ..Regression::default()
        };
        change(&mut gate);
        GateConfig {
            regression: vec![gate],
            ..GateConfig::default()
        }
        .check()
    };
    assert_eq!(of(|gate| gate.min_effect_ms = Some(0.2)), Ok(()));
    assert_eq!(of(|gate| gate.require_significance = Some(true)), Ok(()));
    assert!(of(|gate| gate.max_increase_pct = Some(f64::NAN)).is_err());
    assert!(of(|gate| gate.max_decrease_abs = Some(f64::INFINITY)).is_err());
    assert!(of(|gate| gate.min_effect = Some(-1.0)).is_err());
    assert!(of(|gate| gate.min_effect_ms = Some(f64::NAN)).is_err());
    for metric in [
        "step.idle_pct",
        "compile.count",
        "memory.peak_gib",
        "time.communication_share",
    ] {
        let gate = Regression {
            metric: metric.to_owned(),
            min_effect_ms: Some(1.0),
            ..Regression::default()
        };
        let gate = Regression {
            max_increase_abs: Some(5.0),
            ..gate
        };
        assert!(
            GateConfig {
                regression: vec![gate],
                ..GateConfig::default()
            }
            .check()
            .is_err(),
            "{metric}"
        );
    }
    let of = |budget: Budget| {
        GateConfig {
            budget: vec![budget],
            ..GateConfig::default()
        }
        .check()
    };
    assert!(of(budget("step.time_ms", f64::NAN)).is_err());
    assert!(
        of(Budget {
            min: Some(2.0),
            ..budget("step.time_ms", 1.0)
        })
        .is_err()
    );
}

/// The median step is unchanged; three steps compile and take five times as long.
fn recompiling(ms: f64) -> Summary {
    let mut run = run(ms);
    for (series, slow) in run.loop_series.iter_mut().zip([ms * 5e9, 100.0]) {
        for at in [4, 9, 14] {
            series.values[at] = slow;
        }
    }
    run.values[1].value = Some(3.0);
    run
}

#[test]
fn recompilation_fails_the_preset_and_is_in_the_headline() {
    let (report, comparison) = against(&recompiling(100.0), &[run(100.0)], &GateConfig::default());
    let failed: Vec<String> = report.failed().map(Gate::name).collect();
    assert_eq!(
        failed,
        ["compile.loop_count (max) +0", "loop.step_ms (mean) +10 %"]
    );
    let statement = comparison.unwrap().statement;
    for said in [
        "the loop of 20 steps takes ",
        "3 compilations in it (0 before)",
        "3 of 20 steps are slow (0 before)",
    ] {
        assert!(statement.contains(said), "{statement}");
    }
    // With the sides swapped it is no regression.
    assert_eq!(
        against(&run(100.0), &[recompiling(100.0)], &GateConfig::default())
            .0
            .failed()
            .count(),
        0
    );
}

#[test]
fn preset_gates_only_recorded_metrics() {
    let mut alone = run(100.0);
    alone.series.truncate(1);
    (alone.values, alone.loop_series) = (Vec::new(), Vec::new());
    let names: Vec<String> = preset(&[alone], &[])
        .into_iter()
        .map(|gate| gate.metric)
        .collect();
    assert_eq!(names, ["step.time_ms", "step.time_ms"]);
    // A run without any numbers must not pass because it has no gates.
    let none = Summary::default();
    let (report, _) = against(&none, std::slice::from_ref(&none), &GateConfig::default());
    assert!(
        report.inconclusive().count() > 0 && report.failed().count() == 0,
        "{report:?}"
    );
}

#[test]
fn preset_allows_single_runs_what_runs_may_differ_by() {
    let limit = |base: usize, cand: usize| {
        let runs = vec![run(100.0); base.max(cand)];
        preset(&runs[..base], &runs[..cand])[0].limit()
    };
    assert_eq!(
        [limit(1, 0), limit(1, 1), limit(3, 1), limit(1, 3)],
        ["+6.4 %", "+6.4 %", "+5 %", "+5 %"]
    );
}

#[test]
fn warm_up_covering_all_steps_is_inconclusive() {
    let why =
        "the run has 20 steps, and the first 30 are left out as warm-up: no steady step is left";
    let mut empty = run(100.0);
    (empty.series, empty.loop_series, empty.ops) = (Vec::new(), Vec::new(), Vec::new());
    empty.steps = StepFacts {
        source: "modules".to_owned(),
        why_none: Some(why.to_owned()),
        ..StepFacts::default()
    };
    let config = GateConfig {
        budget: vec![budget("step.time_ms", 1000.0)],
        ..GateConfig::default()
    };
    for (cand, base) in [(&empty, run(100.0)), (&run(100.0), empty.clone())] {
        let (report, _) = against(cand, &[base], &config);
        let steps: Vec<&Gate> = report
            .gates
            .iter()
            .filter(|gate| gate.metric.starts_with("step.time"))
            .collect();
        let of_empty =
            |gate: &&&Gate| gate.kind == "regression" || std::ptr::eq(cand, &raw const empty);
        for gate in steps.iter().filter(of_empty) {
            assert_eq!(gate.status, Status::Inconclusive, "{gate:?}");
            assert!(gate.message.contains("warm-up"), "{gate:?}");
        }
    }
}

#[test]
fn rejects_ops_that_no_run_has() {
    let check = |op: &str, run: &Summary| of_op(op).check_names(&[], std::slice::from_ref(run));
    assert_eq!(check("all-gather*", &run(100.0)), Ok(()));
    let error = check("all-gahter*", &run(100.0)).unwrap_err().to_string();
    assert!(error.contains("did you mean \"all-gather*\"?"), "{error}");
    // It may be among the ops that are not listed.
    assert_eq!(check("all-gahter*", &run(100.0).shortened(1, 20)), Ok(()));
    // The baseline contains it.
    assert_eq!(
        of_op("fusion*").check_names(&[run(100.0)], &[run(100.0)]),
        Ok(())
    );
}

#[test]
fn rejects_programs_that_no_step_runs() {
    let program = |name: &str| ProgramFacts {
        name: name.to_owned(),
        id: None,
        ops: 1,
        time_ps: 1.0,
    };
    let mut with = run(100.0);
    with.facts.programs = vec![program("jit_train_step")];
    with.classes = vec![ClassTimes {
        programs: vec![program("jit_eval")],
        ..ClassTimes::default()
    }];
    let config = |module: &str| {
        let module = Some(module.to_owned());
        let regression = Regression {
            metric: "step.time_ms".to_owned(),
            module: module.clone(),
            ..Regression::default()
        };
        [
            GateConfig {
                budget: vec![Budget {
                    module,
                    ..budget("step.time_ms", 1.0)
                }],
                ..GateConfig::default()
            },
            GateConfig {
                regression: vec![regression],
                ..GateConfig::default()
            },
        ]
    };
    for gate in config("jit_eval").iter().chain(&config("jit_train_step")) {
        assert_eq!(gate.check_names(&[], std::slice::from_ref(&with)), Ok(()));
    }
    for gate in config("jit_trian_step") {
        let error = gate
            .check_names(&[], std::slice::from_ref(&with))
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("did you mean \"jit_train_step\"?") && error.contains("jit_eval"),
            "{error}"
        );
        // The baseline contains it, or the run does not list what its steps contain.
        let mut other = with.clone();
        other.facts.programs[0].name = "jit_trian_step".to_owned();
        assert_eq!(
            gate.check_names(&[other], std::slice::from_ref(&with)),
            Ok(())
        );
        assert_eq!(gate.check_names(&[], &[run(100.0)]), Ok(()));
        let mut unlisted = with.clone();
        unlisted.classes_not_listed = 1;
        assert_eq!(gate.check_names(&[], &[unlisted]), Ok(()));
    }
}

#[test]
fn mfu_is_of_the_steady_steps() {
    let mut with = run(100.0);
    let like = with.values.last().unwrap().clone();
    with.values = [("mfu_window_percent", 1.0), ("mfu_steady_percent", 40.0)]
        .map(|(id, percent)| RunValue {
            id: id.to_owned(),
            value: Some(percent),
            ..like.clone()
        })
        .to_vec();
    let judge = |metric: &str| {
        let budget = Budget {
            metric: metric.to_owned(),
            min: Some(30.0),
            ..Budget::default()
        };
        status(
            &GateConfig {
                budget: vec![budget],
                ..GateConfig::default()
            },
            &with,
            &[],
        )
    };
    let found = ["mfu_pct", "mfu_steady_pct", "mfu_window_pct"]
        .map(judge)
        .concat();
    assert_eq!(found, [Status::Pass, Status::Pass, Status::Fail]);
}
