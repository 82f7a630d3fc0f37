//! Gates on numbers of which only a lower bound is known.

use super::*;

const WHY: &str =
    "matrix products and custom calls without recorded operations take 70.0 % of op time";

/// A run of this MFU, or of at least this.
fn with_mfu(percent: f64, is_lower_bound: bool) -> Summary {
    let mut run = run(100.0);
    for value in &mut run.values {
        if value.id == "mfu_steady_percent" {
            value.value = Some(percent);
            value.is_lower_bound = is_lower_bound;
            value.note = Some(WHY.to_owned());
        }
    }
    run
}

fn one(config: &GateConfig, run: &Summary, baseline: &[Summary]) -> Gate {
    config.check().unwrap();
    against(run, baseline, config).0.gates.remove(0)
}

#[test]
fn lower_bound_fails_a_maximum_and_keeps_a_minimum_only() {
    let judged = |min: Option<f64>, max: Option<f64>| {
        let budget = Budget {
            metric: "mfu_pct".to_owned(),
            min,
            max,
            ..Budget::default()
        };
        let config = GateConfig {
            budget: vec![budget],
            ..GateConfig::default()
        };
        one(&config, &with_mfu(20.0, true), &[])
    };
    for (min, max, status) in [
        (None, Some(10.0), Status::Fail),
        (None, Some(30.0), Status::Inconclusive),
        (Some(10.0), None, Status::Pass),
        (Some(30.0), None, Status::Inconclusive),
        (Some(10.0), Some(30.0), Status::Inconclusive),
        (Some(30.0), Some(40.0), Status::Inconclusive),
        (Some(5.0), Some(10.0), Status::Fail),
    ] {
        let gate = judged(min, max);
        assert_eq!(gate.status, status, "{gate:?}");
        assert!(gate.actual_is_lower_bound, "{gate:?}");
        assert!(
            gate.message.starts_with("mfu_pct is at least 20 %"),
            "{gate:?}"
        );
        let why = format!("but only a lower bound is known: {WHY}");
        let is_said = gate.message.ends_with(&why);
        assert_eq!(is_said, status == Status::Inconclusive, "{gate:?}");
    }
}

#[test]
fn regression_from_or_to_a_lower_bound_counts_only_if_it_follows() {
    let judged = |base: (f64, bool), run: (f64, bool), regression: &Regression| {
        let config = GateConfig {
            regression: vec![Regression {
                metric: "mfu_pct".to_owned(),
                require_significance: Some(false),
                ..regression.clone()
            }],
            ..GateConfig::default()
        };
        one(
            &config,
            &with_mfu(run.0, run.1),
            &[with_mfu(base.0, base.1)],
        )
    };
    let falls = Regression {
        max_decrease_pct: Some(5.0),
        ..Regression::default()
    };
    let rises = Regression {
        max_increase_abs: Some(5.0),
        ..Regression::default()
    };
    let both = Regression {
        max_increase_abs: Some(5.0),
        ..falls.clone()
    };
    for (base, run, limit, status) in [
        ((40.0, false), (20.0, true), &falls, Status::Inconclusive),
        ((40.0, false), (39.0, true), &falls, Status::Pass),
        ((40.0, true), (20.0, false), &falls, Status::Fail),
        ((40.0, true), (39.0, false), &falls, Status::Inconclusive),
        ((40.0, true), (20.0, true), &falls, Status::Inconclusive),
        ((20.0, false), (40.0, true), &rises, Status::Fail),
        ((20.0, false), (21.0, true), &rises, Status::Inconclusive),
        ((20.0, true), (40.0, false), &rises, Status::Inconclusive),
        ((20.0, true), (21.0, false), &rises, Status::Pass),
        ((40.0, false), (20.0, true), &both, Status::Inconclusive),
        ((40.0, false), (40.0, true), &both, Status::Inconclusive),
    ] {
        let gate = judged(base, run, limit);
        assert_eq!(gate.status, status, "{gate:?}");
        let bounds = (gate.base_is_lower_bound, gate.actual_is_lower_bound);
        assert_eq!(bounds, (base.1, run.1));
        let is_said = gate.message.contains("only a lower bound is known");
        assert_eq!(is_said, status == Status::Inconclusive, "{gate:?}");
        assert!(!gate.message.contains(" ("), "a change: {gate:?}");
    }
    let gate = judged((40.0, true), (20.0, false), &falls);
    let said = "mfu_pct is 20 %, was at least 40 %, allowed -5 %";
    assert_eq!(gate.message, said);
}

#[test]
fn numbers_of_old_summaries_are_what_they_say() {
    let mut old = serde_json::to_value(with_mfu(20.0, false)).unwrap();
    assert!(old["values"][2].get("is_lower_bound").is_none());
    old["schema"] = crate::compare::SCHEMA.into();
    let read = Summary::from_json(&old.to_string()).unwrap();
    assert_eq!(
        read.value("mfu_steady_percent").unwrap().exact(),
        Some(20.0)
    );
    let known = serde_json::to_value(with_mfu(20.0, true)).unwrap();
    assert_eq!(known["values"][2]["is_lower_bound"], true);
}
