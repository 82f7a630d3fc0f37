//! Verdicts on made steps and runs, and how often they are false alarms.

use super::*;

fn run(from: f64, step: f64, n: u32) -> Vec<Vec<f64>> {
    vec![
        (0..n)
            .map(|i| from + step * f64::from(i * 7 % 10))
            .collect(),
    ]
}

fn finding(base: &StepRuns, cand: &StepRuns) -> ChangeVerdict {
    MetricChange::of_runs(base, cand, 0.0, &TestOptions::default()).finding
}

#[test]
fn run_compared_with_itself_is_unchanged() {
    let same = run(100.0, 0.3, 30);
    let change = MetricChange::of_runs(&same, &same, 0.0, &TestOptions::default());
    assert_eq!(
        (change.change, change.change_percent, change.finding),
        (Some(0.0), Some(Percent(0.0)), ChangeVerdict::Noise)
    );
    assert!(change.p.unwrap() > 0.99);
}

#[test]
fn change_beyond_noise_is_reported_with_its_size() {
    let change = MetricChange::of_runs(
        &run(100.0, 0.1, 30),
        &run(110.0, 0.1, 30),
        0.0,
        &TestOptions::default(),
    );
    assert!(change.is_real());
    assert!((change.change_percent.unwrap().0 - 10.0).abs() < 0.1);
    let (low, high) = change.range.unwrap();
    assert!(low <= 10.0 && 10.0 <= high);
    // The same change does not count if only a larger one would be relevant.
    let asked = MetricChange::of_runs(
        &run(100.0, 0.1, 30),
        &run(110.0, 0.1, 30),
        11.0,
        &TestOptions::default(),
    );
    assert_eq!(asked.finding, ChangeVerdict::Noise);
}

/// Steps that do not vary leave no doubt that the two runs differ, and none that the programs do.
#[test]
fn one_run_a_side_needs_more_than_the_assumed_spread() {
    let of = |cand: f64| {
        MetricChange::of_runs(
            &run(100.0, 0.0, 30),
            &run(cand, 0.0, 30),
            0.0,
            &TestOptions::default(),
        )
    };
    assert_eq!(of(106.0).finding, ChangeVerdict::BetweenRuns);
    assert!((of(106.0).noise.unwrap() - 6.364).abs() < 1e-3);
    assert_eq!(of(106.5).finding, ChangeVerdict::Changed);
    assert_eq!(of(93.5).finding, ChangeVerdict::Changed);
    // Three quiet runs on each side show that runs hardly differ.
    let three = |level: f64| (0..3).flat_map(|_| run(level, 0.0, 30)).collect::<Vec<_>>();
    assert_eq!(
        finding(&three(100.0), &three(102.0)),
        ChangeVerdict::BetweenRuns
    );
    assert_eq!(
        finding(&three(100.0), &three(103.5)),
        ChangeVerdict::Changed
    );
}

#[test]
fn too_few_steps_are_inconclusive() {
    assert_eq!(
        finding(&run(1.0, 0.1, 5), &run(9.0, 0.1, 30)),
        ChangeVerdict::TooFew
    );
    assert_eq!(
        finding(&run(1.0, 0.1, 1), &run(9.0, 0.1, 30)),
        ChangeVerdict::Untested
    );
    assert_eq!(finding(&[], &run(9.0, 0.1, 30)), ChangeVerdict::OneSided);
}

#[test]
fn change_within_the_spread_between_runs_is_not_called_changed() {
    let two: Vec<Vec<f64>> = [run(100.0, 0.01, 20), run(102.0, 0.01, 20)].concat();
    assert_eq!(
        finding(&two, &run(102.5, 0.01, 20)),
        ChangeVerdict::BetweenRuns
    );
    assert_eq!(finding(&two, &run(110.0, 0.01, 20)), ChangeVerdict::Changed);
}

#[test]
fn with_enough_runs_their_medians_are_compared() {
    let runs = |from: f64| {
        (0..4)
            .flat_map(|i| run(from + f64::from(i), 0.01, 20))
            .collect::<Vec<_>>()
    };
    // 2 of 70 orders.
    let change = MetricChange::of_runs(&runs(100.0), &runs(104.0), 0.0, &TestOptions::default());
    assert!((change.p.unwrap() - 2.0 / 70.0).abs() < 1e-12);
    assert!(change.is_real());
}

#[test]
fn confidence_range_includes_spread_between_runs() {
    // Steps of a run hardly differ; the runs differ by 1.
    let runs = |from: f64, n: u32| {
        (0..n)
            .flat_map(|i| run(from + f64::from(i), 0.001, 50))
            .collect::<Vec<_>>()
    };
    let change = MetricChange::of_runs(
        &runs(100.0, 4),
        &runs(104.0, 4),
        0.0,
        &TestOptions::default(),
    );
    let (low, high) = change.range.unwrap();
    assert!(low <= 1.01 && high >= 6.99, "{low} {high}");
    // Four runs give no 95 % interval; with six it goes from the smallest to the largest value.
    assert_eq!(change.base.unwrap().low, None);
    let six = MetricChange::of_runs(
        &runs(100.0, 6),
        &runs(110.0, 6),
        0.0,
        &TestOptions::default(),
    )
    .base
    .unwrap();
    assert!(
        six.low.unwrap() < 100.1 && six.high.unwrap() > 104.9,
        "{six:?}"
    );
    // At least the difference between two runs of a side.
    let (low, high) = MetricChange::of_runs(
        &runs(100.0, 2),
        &runs(104.0, 1),
        0.0,
        &TestOptions::default(),
    )
    .range
    .unwrap();
    assert!(low <= 3.01 && high >= 3.99, "{low} {high}");
}

#[test]
fn many_runs_on_one_side_show_their_spread() {
    let five: Vec<Vec<f64>> = (0..5)
        .flat_map(|i| run(100.0 + f64::from(i), 0.01, 20))
        .collect();
    assert_eq!(
        finding(&five, &run(104.5, 0.01, 20)),
        ChangeVerdict::BetweenRuns
    );
    assert_eq!(
        finding(&five, &run(110.0, 0.01, 20)),
        ChangeVerdict::Changed
    );
}

#[test]
fn too_little_data_is_inconclusive() {
    let options = TestOptions {
        alpha: 0.001,
        ..TestOptions::default()
    };
    // Six against six: 2 of 924 orders.
    assert_eq!(
        MetricChange::of_runs(&run(1.0, 0.1, 6), &run(9.0, 0.1, 6), 0.0, &options).finding,
        ChangeVerdict::TooFew
    );
    assert_eq!(
        finding(&run(1.0, 0.1, 6), &run(9.0, 0.1, 6)),
        ChangeVerdict::Changed
    );
}

/// Twenty steps of 100 ms with half a percent of jitter.
fn jittered(state: &mut u64, slower: f64) -> Vec<Vec<f64>> {
    let mut uniform = || (resample::random(state) >> 11) as f64 / (1_u64 << 53) as f64;
    // The sum of twelve values has a standard deviation of 1.
    let mut normal = || (0..12).map(|_| uniform()).sum::<f64>() - 6.0;
    vec![
        (0..20)
            .map(|_| 100.0 * (1.0 + slower) * (1.0 + 0.005 * normal()))
            .collect(),
    ]
}

#[test]
fn false_alarms_are_rare_and_two_percent_changes_are_found_if_runs_do_not_differ() {
    let mut state = 7;
    let options = TestOptions {
        assumed_spread_percent: 0.0,
        ..TestOptions::default()
    };
    let mut called_real = |slower: f64| {
        let mut real = 0;
        for _ in 0..100 {
            let (base, cand) = (jittered(&mut state, 0.0), jittered(&mut state, slower));
            real += u32::from(MetricChange::of_runs(&base, &cand, 0.0, &options).is_real());
        }
        real
    };
    assert!(called_real(0.0) <= 8);
    assert!(called_real(0.02) >= 99);
}
