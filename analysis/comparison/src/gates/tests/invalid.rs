//! Gates that do not fit their metric or the runs.

use super::*;

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

#[test]
fn rejects_programs_that_no_step_runs() {
    let program = |name: &str| ProgramFacts {
        name: name.to_owned(),
        id: None,
        ops: 1,
        time_ps: 1.0,
        ..ProgramFacts::default()
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
