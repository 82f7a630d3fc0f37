//! Gates on synthetic runs.

mod bounds;
mod invalid;
mod long_and_few_steps;
mod ops;
mod preset;

use device_reports::StepPart;
use math::unit::Unit;

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
        is_lower_bound: false,
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
        operands: None,
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
    // It has this name, and no exposed time.
    assert_eq!(of_budget(op("fusion.*")), Status::Pass);
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
fn files_of_several_sessions_prove_nothing() {
    let config = GateConfig {
        budget: vec![budget("step.time_ms", 1.0)],
        regression: vec![Regression {
            metric: "step.time_ms".to_owned(),
            max_increase_pct: Some(5.0),
            ..Regression::default()
        }],
        ..GateConfig::default()
    };
    let mut mixed = run(100.0);
    mixed.facts.sessions_apart = Some(2);
    let (one, both) = (run(100.0), [Status::Inconclusive; 2]);
    let on_one = status(&config, &one, std::slice::from_ref(&one));
    assert!(!on_one.contains(&Status::Inconclusive), "{on_one:?}");
    assert_eq!(status(&config, &mixed, std::slice::from_ref(&one)), both);
    let with_mixed_baseline = status(&config, &one, std::slice::from_ref(&mixed));
    assert!(with_mixed_baseline.contains(&Status::Inconclusive));
    let (report, _) = against(&mixed, &[], &config);
    let said = |gate: &Gate| gate.message.contains("2 sessions that are far apart");
    assert!(report.gates.iter().any(said), "{report:?}");
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
