//! Planted changes and noise, in one run and in several.

use super::*;

#[test]
fn planted_regression_is_found_and_noise_is_not() {
    let verdict = |cand: Summary| {
        let compared = compare(
            &[made(100.0, 0.5, 30, 0)],
            &[cand],
            &CompareOptions::default(),
        );
        (
            compared.steps[0].change.finding,
            compared.ops[0].change.finding,
        )
    };
    assert_eq!(
        verdict(made(100.0, 0.5, 30, 3)),
        (ChangeVerdict::Noise, ChangeVerdict::Noise)
    );
    assert_eq!(
        verdict(made(110.0, 0.5, 30, 3)),
        (ChangeVerdict::Changed, ChangeVerdict::Changed)
    );
    assert_eq!(
        verdict(made(90.0, 0.5, 30, 3)),
        (ChangeVerdict::Changed, ChangeVerdict::Changed)
    );
    // Two runs of the same program may differ by as much.
    assert_eq!(
        verdict(made(102.0, 0.5, 30, 3)),
        (ChangeVerdict::BetweenRuns, ChangeVerdict::BetweenRuns)
    );
}

#[test]
fn nothing_is_to_be_looked_at_where_nothing_became_slower() {
    let look = |ms: f64| {
        let base = [made(100.0, 0.5, 30, 0)];
        let compared = compare(&base, &[made(ms, 0.5, 30, 3)], &CompareOptions::default());
        compared.brief.look_first
    };
    // Noise, what runs may differ by, and a faster run.
    assert_eq!([100.0, 102.0, 90.0].map(look), [None, None, None]);
    assert!(look(110.0).is_some());
}

#[test]
fn several_runs_of_a_side_are_pooled() {
    let base = [made(100.0, 0.2, 20, 0), made(102.0, 0.2, 20, 1)];
    let compared = compare(
        &base,
        &[made(102.5, 0.2, 20, 2)],
        &CompareOptions::default(),
    );
    assert_eq!(compared.base.steps, 40);
    // The runs of base differ among themselves by the same amount.
    assert_eq!(compared.steps[0].change.finding, ChangeVerdict::BetweenRuns);
    assert_eq!(compared.ops[0].change.base.unwrap().count, 40);
    let found = compare(
        &base,
        &[made(110.0, 0.2, 20, 2)],
        &CompareOptions::default(),
    );
    assert_eq!(found.steps[0].change.finding, ChangeVerdict::Changed);
    let attribution = found.attribution.unwrap();
    assert_eq!((attribution.base_ps, attribution.change_ps), (101e9, 9e9));
}

/// `count` ops of 1 ms each beside one of `ms`, over six steps with little variation.
fn many_ops(ms: f64, count: u32, us: f64) -> Summary {
    let mut run = made(100.0, 0.01, 6, 0);
    run.ops[0]
        .values
        .iter_mut()
        .for_each(|value| *value *= ms / 50.0);
    run.ops[0].middle_ps *= ms / 50.0;
    for number in 0..count {
        let mut op = run.ops[0].clone();
        (op.name, op.framework) = (format!("copy.{number}"), Some(format!("copy {number}")));
        op.values = (0..6)
            .map(|step| us * 1e6 * (1.0 + 0.001 * f64::from((step * 7 + number) % 10)))
            .collect();
        op.middle_ps = us * 1e6;
        run.ops.push(op);
    }
    run
}

#[test]
fn many_tested_ops_need_more_steps_and_negligible_ops_are_not_tested() {
    // 2 of 924 orders times 101 tests: no change of any size could be significant.
    let asked = |us: f64| {
        let (base, cand) = (many_ops(20.0, 100, us), many_ops(30.0, 100, us));
        let compared = compare(&[base], &[cand], &CompareOptions::default());
        let small = compared
            .ops
            .iter()
            .filter(|op| op.base_name.as_deref() != Some("fusion.1"));
        let small: Vec<ChangeVerdict> = small.map(|op| op.change.finding).collect();
        assert!(small.windows(2).all(|two| two[0] == two[1]), "{small:?}");
        (
            compared.ops[0].change.finding,
            small[0],
            compared.notes.len(),
        )
    };
    assert_eq!(
        asked(500.0),
        (ChangeVerdict::TooFew, ChangeVerdict::TooFew, 2)
    );
    // Ops below a thousandth of the step cannot change by the relevant amount: they are not tested.
    assert_eq!(
        asked(50.0),
        (ChangeVerdict::Changed, ChangeVerdict::Noise, 1)
    );
}

/// What is said of the step and what is to be recorded.
fn said(base: &[Summary], cand: &[Summary], options: &CompareOptions) -> (String, String) {
    let brief = compare(base, cand, options).brief;
    (
        brief.step.unwrap_or_default(),
        brief.record_next.unwrap_or_default(),
    )
}

#[test]
fn a_change_below_the_smallest_that_counts_is_not_called_noise() {
    let mut options = CompareOptions::default();
    options.test.min_effect_percent = 12.0;
    let (step, next) = said(
        &[made(100.0, 0.5, 30, 0)],
        &[made(110.0, 0.5, 30, 3)],
        &options,
    );
    assert!(
        step.ends_with("less than the smallest change that counts, 12 % of the step"),
        "{step}"
    );
    assert_eq!(next, "");
}

#[test]
fn where_runs_decide_runs_are_asked_for() {
    let runs = |ms: f64| -> Vec<Summary> { (0..4).map(|at| made(ms, 0.5, 20, at)).collect() };
    let options = CompareOptions::default();
    let (_, next) = said(&runs(100.0), &runs(100.0), &options);
    assert!(
        next.starts_with("record more runs per side to see"),
        "{next}"
    );
    // The least p of four against four is 0.029.
    let mut strict = options;
    strict.test.alpha = 0.01;
    let (step, next) = said(&runs(100.0), &runs(110.0), &strict);
    assert!(step.contains("4 runs per side are too few"), "{step}");
    assert_eq!(
        next,
        "record more runs per side: 4 cannot show a change at a level of 1 %"
    );
}

#[test]
fn correlated_steps_are_the_reason_where_they_are() {
    let mut run = made(100.0, 0.5, 15, 0);
    for (at, value) in run.series[0].values.iter_mut().enumerate() {
        *value = 1e11 + 1e9 * at as f64;
    }
    run.ops[0].values.clone_from(&run.series[0].values);
    let mut other = run.clone();
    other.ops[0].middle_ps += 1e10;
    other.steps.middle_ps += 1e10;
    let compared = compare(&[run], &[other], &CompareOptions::default());
    let next = compared.brief.record_next.as_deref().unwrap();
    assert!(
        next.ends_with("15 are too few, because the times of neighbouring steps are correlated"),
        "{next}"
    );
    // Tables name that reason and no other.
    let tables = compared.tables();
    for (id, reason) in [
        (
            "why",
            "?: not tested, because the times of neighbouring steps",
        ),
        (
            "steps",
            "no change of 1 op could be told from chance (?): the times of neighbouring steps",
        ),
    ] {
        let table = tables.iter().find(|table| table.id == id).unwrap();
        let notes = table.notes.join(" ");
        assert!(notes.contains(reason) && !notes.contains("few"), "{notes}");
    }
    assert_eq!(compared.steps[0].verdict(), "? correlated");
    assert_eq!(compared.ops[0].verdict(), "? correlated");
    let json = serde_json::to_value(&compared.steps[0]).unwrap();
    assert_eq!(json["finding"], "too-few");
}

#[test]
fn steps_that_vary_by_more_than_the_step_get_no_percentage() {
    let mut run = made(100.0, 0.5, 6, 0);
    run.series[0].values[5] = 5e13;
    let (_, next) = said(&[run.clone()], &[run], &CompareOptions::default());
    assert!(!next.contains('%'), "{next}");
}

#[test]
fn one_step_of_computed_times_shows_any_change() {
    let computed = |ms: f64| {
        let mut run = made(ms, 0.0, 1, 0);
        run.facts.simulator = Some("SCALE-Sim".to_owned());
        run
    };
    let found = |base: Summary, cand: Summary| {
        let compared = compare(&[base], &[cand], &CompareOptions::default());
        let step = compared.brief.step.unwrap();
        (
            compared.steps[0].change.finding,
            step.contains("too few"),
            compared.ops[0].change.finding,
        )
    };
    let changed = (ChangeVerdict::Changed, false, ChangeVerdict::Changed);
    assert_eq!(found(computed(10.0), computed(10.2)), changed);
    let same = found(computed(10.0), computed(10.0));
    assert_eq!((same.0, same.1), (ChangeVerdict::Noise, false));
    // Of measured times, one step says nothing.
    let measured = found(made(10.0, 0.0, 1, 0), made(10.2, 0.0, 1, 0));
    assert_eq!((measured.0, measured.1), (ChangeVerdict::Untested, true));
}
