//! The default regression gates, on noise, regressions and recompilation.

use super::*;

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
fn programs_have_gates_of_what_is_known_and_of_the_same_stage() {
    let program = |flops: f64, traffic: Option<f64>, is_lowered: bool| {
        let value = |id: &str, number: Option<f64>| RunValue {
            id: id.to_owned(),
            title: id.to_owned(),
            unit: Unit::Count,
            better: Better::Lower,
            value: number,
            is_lower_bound: false,
            of: String::new(),
            provenance: engine::Provenance::StaticCost,
            note: None,
        };
        let mut run = Summary {
            values: vec![
                value("program.flops", Some(flops)),
                value("program.traffic_bytes", traffic),
            ],
            ..Summary::default()
        };
        run.facts.is_program = true;
        run.facts.programs = vec![ProgramFacts {
            is_lowered,
            ..ProgramFacts::default()
        }];
        run
    };
    let names = |run: &Summary| -> Vec<String> {
        let gates = preset(std::slice::from_ref(run), &[]).into_iter();
        gates.map(|gate| gate.metric).collect()
    };
    let base = program(100.0, Some(4e9), false);
    assert_eq!(names(&base), ["program.flops", "program.traffic_gib"]);
    assert_eq!(names(&program(100.0, None, true)), ["program.flops"]);
    let failed = |cand: Summary| {
        let (report, _) = against(&cand, std::slice::from_ref(&base), &GateConfig::default());
        (report.failed().count(), report.inconclusive().count())
    };
    assert_eq!(failed(program(104.0, Some(4e9), false)), (0, 0));
    assert_eq!(failed(program(106.0, Some(4.3e9), false)), (2, 0));
    // A program before partitioning has the operations of all devices.
    assert_eq!(failed(program(800.0, None, true)).0, 0);
}
