//! What one side does not have.

use super::*;

#[test]
fn empty_runs_are_comparable() {
    let compared = compare(&[], &[base()], &CompareOptions::default());
    assert!(!compared.is_comparable);
    let empty = summary("host python: PPPP");
    let compared = compare(
        std::slice::from_ref(&empty),
        std::slice::from_ref(&empty),
        &CompareOptions::default(),
    );
    assert!(compared.attribution.is_none());
    assert!(!compared.tables().is_empty());
}

#[test]
fn missing_breakdown_of_one_side_is_not_zero() {
    let plain = made(100.0, 0.2, 20, 0);
    let mut divided = made(100.0, 0.2, 20, 1);
    divided
        .series
        .push(series("step.idle_percent", Unit::Percent, vec![10.0; 20]));
    let mut exposed = divided.clone();
    exposed.series.push(series(
        "step.exposed_comm_ps",
        Unit::Picoseconds,
        vec![5e9; 20],
    ));
    let change = |base: &Summary| {
        let compared = compare(
            std::slice::from_ref(base),
            &[exposed.clone()],
            &CompareOptions::default(),
        );
        let row = compared
            .steps
            .iter()
            .find(|row| row.id == "step.exposed_comm_ps")
            .unwrap();
        (row.change.base.map(|base| base.median), row.change.finding)
    };
    assert_eq!(change(&plain), (None, ChangeVerdict::OneSided));
    assert_eq!(change(&divided), (Some(0.0), ChangeVerdict::Changed));
    // One of several runs has no time in it: it counts as zero and is not left out.
    let both = compare(
        &[exposed.clone(), divided],
        &[exposed.clone()],
        &CompareOptions::default(),
    );
    let row = both
        .steps
        .iter()
        .find(|row| row.id == "step.exposed_comm_ps")
        .unwrap();
    assert_eq!(row.change.base.unwrap().count, 40);
}

#[test]
fn steps_without_a_core_do_not_shift_other_steps() {
    // The device takes part in the last two of three steps.
    let run = summary(&format!(
        "
        host python steps: 000000000000111111111111222222222222
        modules: ............MMMMMMMMMMM.MMMMMMMMMMM.
        ops  : ............mmmmsvv...d.mmmmmvv...d.
        {LEGEND}
        "
    ));
    if let Some(series) = run.series("step.time_ps") {
        assert_eq!(series.values.len(), run.steps.numbers.len(), "{run:?}");
    }
    assert!(
        run.ops
            .iter()
            .all(|op| op.values.len() == run.steps.counted),
        "{:?}",
        run.ops
    );
}

#[test]
fn unlisted_step_classes_are_not_reported_absent() {
    let of = |class: &str| StepFacts {
        class: class.to_owned(),
        counted: 3,
        middle_ps: 1e9,
        ..StepFacts::default()
    };
    let train = Summary {
        steps: of("jit_train"),
        ..Summary::default()
    };
    let both = Summary {
        classes: vec![ClassTimes {
            steps: of("jit_eval"),
            ..ClassTimes::default()
        }],
        ..train.clone()
    };
    let notes = |cand: &Summary| {
        compare(
            std::slice::from_ref(&both),
            std::slice::from_ref(cand),
            &CompareOptions::default(),
        )
        .notes
    };
    let only = |notes: Vec<String>| {
        notes
            .into_iter()
            .find(|note| note.starts_with("only base"))
            .unwrap()
    };
    assert_eq!(
        only(notes(&train)),
        "only base has steady steps of jit_eval (3 steps)"
    );
    let shortened = Summary {
        classes_not_listed: 2,
        ..train.clone()
    };
    assert!(only(notes(&shortened)).ends_with("as far as cand lists its own"));
    assert!(
        notes(&shortened)
            .iter()
            .any(|note| note.starts_with("2 more classes of steps of cand"))
    );
}

#[test]
fn runs_of_warm_up_alone_say_so() {
    let mut run = made(100.0, 0.5, 30, 0);
    let why =
        "the run has 30 steps, and the first 40 are excluded as warm-up: no steady step remains";
    run.steps = StepFacts {
        why_none: Some(why.to_owned()),
        ..StepFacts::default()
    };
    run.series.clear();
    run.ops.clear();
    run.facts.programs.clear();
    let runs = std::slice::from_ref(&run);
    let compared = compare(runs, runs, &CompareOptions::default());
    assert_eq!(
        compared.no_step_time(),
        Some(format!("on both sides, {why}"))
    );
    assert!(
        compared.brief.work.contains("told by steady steps"),
        "{}",
        compared.brief.work
    );
}

#[test]
fn other_kinds_of_steps_explain_the_loop() {
    let with_loop = |mut run: Summary, times: Vec<f64>| {
        run.loop_series = vec![series(LOOP_STEP, Unit::Picoseconds, times)];
        run
    };
    let mut mixed = with_loop(
        made(1.0, 0.1, 20, 0),
        [vec![1e9; 20], vec![9e9; 10]].concat(),
    );
    let mut prefill = made(9.0, 0.1, 10, 0);
    prefill.steps.class = "jit_prefill".to_owned();
    mixed.classes.push(prefill.into_class());
    let plain = with_loop(made(1.0, 0.1, 20, 3), vec![1e9; 20]);
    let compared = compare(&[mixed], &[plain], &CompareOptions::default());
    let causes = compared.loop_change.unwrap().causes;
    assert_eq!(
        causes,
        [
            "0 of 20 steps are of other kinds than the compared ones (10 of 30 before), such as jit_prefill"
        ]
    );
}

/// A host without a runtime that compiles does not show that nothing was compiled.
#[test]
fn compilation_that_is_not_recorded_is_not_zero() {
    let of_host = |event: &str| {
        let run = summary(&format!(
            "
            steps: 000000000000111111111111
            modules: MMMMMMMMMMM.MMMMMMMMMMM.
            ops  : mmmmsvv...d.mmmmsvv...d.
            host python: ..HHHH......HHHH......
            H = {event}
            {LEGEND}
            "
        ));
        ["loop.compile_ps", "compile.loop_count", "compile.wall_ps"]
            .map(|id| run.value(id).and_then(|value| value.value))
    };
    assert_eq!(of_host("PjitFunction(f)"), [Some(0.0); 3]);
    assert_eq!(of_host("BatchLoop"), [None; 3]);
}
