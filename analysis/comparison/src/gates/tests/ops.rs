//! Budgets and regressions of ops.

use super::*;

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
fn gates_of_several_programs_have_names_of_their_own() {
    let of = |module: Option<&str>| Budget {
        module: module.map(str::to_owned),
        ..budget("step.time_ms", 1.0)
    };
    let config = GateConfig {
        budget: [None, Some("jit_eval"), Some("jit_step")].map(of).into(),
        ..GateConfig::default()
    };
    let (report, _) = against(&run(100.0), &[], &config);
    let mut names: Vec<String> = report.gates.iter().map(Gate::name).collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "step.time_ms at most 1 ms",
            "step.time_ms in jit_eval at most 1 ms",
            "step.time_ms in jit_step at most 1 ms"
        ]
    );
}

/// Compilers rename collectives, and their kind stays.
#[test]
fn collectives_are_selected_by_their_kind_too() {
    let base = with_small_ops(run(100.0), 1, 0.2);
    let renamed = |share: f64| {
        let mut cand = with_small_ops(run(100.0), 1, share);
        let op = cand.ops.last_mut().unwrap();
        (op.name, op.category) = ("gathered.1".to_owned(), "all-gather".to_owned());
        cand
    };
    let judged = |cand: &Summary| status(&of_op("all-gather*"), cand, std::slice::from_ref(&base));
    assert_eq!(judged(&renamed(0.2)), [Status::Pass]);
    assert_eq!(judged(&renamed(0.4)), [Status::Fail]);
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
fn ops_without_exposed_time_take_0_ms_of_it() {
    let judged = |run: &Summary, op: &str| {
        let budget = Budget {
            op: Some(op.to_owned()),
            ..budget("op.exposed_ms_per_step", 1.0)
        };
        let config = GateConfig {
            budget: vec![budget],
            ..GateConfig::default()
        };
        against(run, &[], &config).0.gates.remove(0)
    };
    let mut hidden = run(100.0);
    hidden.ops.truncate(1);
    for op in ["*", "fusion.1", "fusion*"] {
        let gate = judged(&hidden, op);
        assert_eq!(gate.status, Status::Pass, "{gate:?}");
        let said = format!("op.exposed_ms_per_step of {op} is 0 ms, allowed at most 1 ms");
        assert_eq!(gate.message, said);
    }
    let gate = judged(&hidden, "all-reduce*");
    assert_eq!(gate.status, Status::Inconclusive);
    assert_eq!(
        gate.message,
        "op.exposed_ms_per_step of all-reduce*: no op in the steps of the run matches \"all-reduce*\""
    );
    // A collective that is not listed may have this name.
    hidden.ops_not_listed = 1;
    hidden.rest = vec![RestTimes {
        part: StepPart::ExposedComm,
        shape: None,
        cause: None,
        middle_ps: 2e9,
    }];
    let gate = judged(&hidden, "*");
    assert_eq!(gate.status, Status::Inconclusive, "{gate:?}");
    assert!(gate.message.contains("summarize --ops N"), "{gate:?}");
    let regression = status(&of_op("fusion*"), &run(100.0), &[run(100.0)]);
    assert_eq!(regression, [Status::Pass]);
}
