//! Means of loops with a single long step and of few steps, and what the lines of gates say.

use super::*;

/// The run with one step that takes `factor` times as long.
fn with_long_step(mut run: Summary, factor: f64) -> Summary {
    for series in run.series.iter_mut().chain(&mut run.loop_series) {
        match series.id.as_str() {
            "step.time_ps" | "loop.step_ps" => series.values[5] *= factor,
            "loop.slow_percent" => series.values[5] = 100.0,
            _ => {}
        }
    }
    run
}

#[test]
fn single_long_step_fails_no_gate() {
    // The mean of 20 steps grows by 20 %, and 5 % of the steps are slow.
    let (report, _) = against(
        &with_long_step(run(100.0), 5.0),
        &[run(100.0)],
        &GateConfig::default(),
    );
    assert_eq!(report.failed().count(), 0, "{report:?}");
    let mean = report
        .gates
        .iter()
        .find(|gate| gate.metric == "loop.step_ms")
        .unwrap();
    assert!(
        mean.message
            .ends_with("; within noise: a single long step makes the difference"),
        "{}",
        mean.message
    );
    // The limit alone is judged if the gate says so.
    let gate = Regression {
        metric: "loop.step_ms".to_owned(),
        aggregate: Some(StepAggregate::Mean),
        max_increase_pct: Some(10.0),
        require_significance: Some(false),
        ..Regression::default()
    };
    let config = GateConfig {
        regression: vec![gate],
        ..GateConfig::default()
    };
    assert_eq!(
        status(&config, &with_long_step(run(100.0), 5.0), &[run(100.0)]),
        [Status::Fail]
    );
}

#[test]
fn mean_of_few_steps_is_judged_if_the_file_allows_it() {
    let gate = Regression {
        metric: "loop.step_ms".to_owned(),
        aggregate: Some(StepAggregate::Mean),
        max_increase_pct: Some(10.0),
        ..Regression::default()
    };
    let defaults = GateDefaults {
        min_steps: 4,
        ..GateDefaults::default()
    };
    let config = GateConfig {
        defaults,
        regression: vec![gate],
        ..GateConfig::default()
    };
    let judge = |ms: f64| status(&config, &cut(run(ms), 4), &[cut(run(100.0), 4)])[0];
    assert_eq!([judge(120.0), judge(105.0)], [Status::Fail, Status::Pass]);
    assert_eq!(
        status(&config, &cut(run(120.0), 3), &[cut(run(100.0), 4)]),
        [Status::Inconclusive]
    );
}

#[test]
fn gate_lines_have_units_and_the_minimum_that_decides() {
    let message = |gate: Regression, base: &Summary, cand: &Summary| {
        let config = GateConfig {
            regression: vec![gate],
            ..GateConfig::default()
        };
        against(cand, std::slice::from_ref(base), &config).0.gates[0]
            .message
            .clone()
    };
    let of = |metric: &str| Regression {
        metric: metric.to_owned(),
        ..Regression::default()
    };
    let share = |percent: f64| {
        let mut run = run(100.0);
        run.series[1].values = vec![percent; 20];
        run
    };
    let points = Regression {
        max_increase_abs: Some(5.0),
        ..of("step.exposed_comm_pct")
    };
    assert_eq!(
        message(points, &share(10.0), &share(15.5)),
        "step.exposed_comm_pct is 15.500 %, was 10 % (+5.500 points), allowed +5 points"
    );
    let percent = Regression {
        max_increase_pct: Some(5.0),
        min_effect_ms: Some(30.0),
        ..of("step.time_ms")
    };
    let said = message(percent, &run(100.0), &run(120.0));
    assert!(
        said.starts_with("step.time_ms is 120.540 ms, was 100.450 ms (+20.00 %), allowed +5 %"),
        "{said}"
    );
    assert!(said.ends_with("; less than the minimum of 30 ms"), "{said}");
    let count = Regression {
        max_increase_abs: Some(0.0),
        ..of("compile.count")
    };
    let mut more = run(100.0);
    more.values[0].value = Some(5.0);
    assert_eq!(
        message(count, &run(100.0), &more),
        "compile.count is 5, was 3 (+2), allowed +0"
    );
    let config = GateConfig {
        budget: vec![budget("step.time_us", 1000.0)],
        ..GateConfig::default()
    };
    let said = against(&run(100.0), &[], &config).0.gates[0]
        .message
        .clone();
    assert_eq!(said, "step.time_us is 100450 µs, allowed at most 1000 µs");
}
