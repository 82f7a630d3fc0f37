//! How often the preset of gates raises a false alarm, and how often it misses a real
//! regression: an experiment, many times over, on made runs with realistic noise and on
//! the steps of real captures.
//!
//! ```text
//! cargo test --release -p analysis --test suite noise -- --ignored --nocapture
//! ```
//!
//! prints the tables of docs/compare.md. Seeds are fixed: the same numbers every time.
#![expect(clippy::print_stdout, reason = "the tables are what it is for")]

mod grid;
mod made;
mod real;

use analysis::compare::{Comparison, Summary, compare};
use analysis::gates::{GateConfig, GateLevel, Status, compare_options, judge};
use made::{Kind, Noise, Regression, Runs};

/// Names of the gates of the preset that fail.
fn failing(base: &[Summary], cand: &[Summary], comparable: &Comparison) -> Vec<String> {
    let report = judge(cand, Some((base, comparable)), &GateConfig::default());
    let failed = report
        .gates
        .into_iter()
        .filter(|gate| gate.status == Status::Fail && gate.level == GateLevel::Error);
    failed.map(|gate| gate.name()).collect()
}

/// Gates look at a comparison only for whether the runs are comparable.
fn comparable() -> Comparison {
    let none = [Summary::default()];
    let comparison = compare(&none, &none, &compare_options(&GateConfig::default()));
    assert!(comparison.is_comparable);
    comparison
}

/// Share of experiments in which the preset fails, in percent.
fn alarms(noise: &Noise, runs: usize, regression: Regression, experiments: usize) -> f64 {
    let comparable = comparable();
    let mut made = Runs::new(noise);
    let mut failed = 0;
    for _ in 0..experiments {
        let base: Vec<Summary> = (0..runs).map(|_| made.run(Regression::None)).collect();
        let cand: Vec<Summary> = (0..runs).map(|_| made.run(regression)).collect();
        failed += usize::from(!failing(&base, &cand, &comparable).is_empty());
    }
    100.0 * failed as f64 / experiments as f64
}

/// The fast form of the experiment: what the docs promise of quiet runs.
#[test]
fn quiet_runs_rarely_fail_and_ten_percent_regressions_always_do() {
    for (runs, most) in [(1, 3.0), (3, 1.0), (5, 1.0)] {
        for steps in [12, 50] {
            let noise = Noise {
                steps,
                ..Noise::quiet()
            };
            let found = alarms(&noise, runs, Regression::None, 200);
            assert!(
                found <= most,
                "{runs} runs of {steps} steps: {found} % false alarms"
            );
            let found = alarms(&noise, runs, Regression::All(0.10), 10);
            assert!(
                found >= 97.0,
                "{runs} runs of {steps} steps: {found} % of 10 % found"
            );
        }
    }
}

#[test]
fn regressions_visible_only_in_the_loop_are_found() {
    let noise = Noise {
        steps: 20,
        ..Noise::quiet()
    };
    for regression in [Regression::Compiles(1), Regression::Stalls(0.15)] {
        let found = alarms(&noise, 1, regression, 20);
        assert!(found >= 95.0, "{regression:?}: {found} %");
    }
}

#[test]
#[ignore = "takes minutes in a debug build; prints the tables of the docs"]
fn print_tables_for_the_docs() {
    const EXPERIMENTS: usize = 2000;
    const PLANTED: usize = 60;
    println!(
        "| noise | runs a side | steps a run | false alarms | +5 % found | +7 % found | +10 % found | stalls found | compiles again found |"
    );
    println!("|---|---:|---:|---:|---:|---:|---:|---:|---:|");
    for kind in [Kind::Quiet, Kind::Uneven, Kind::Noisy] {
        for runs in [1, 3, 5] {
            for steps in [12, 50] {
                let noise = Noise {
                    steps,
                    ..Noise::of(kind)
                };
                let of = |regression, n| alarms(&noise, runs, regression, n);
                println!(
                    "| {} | {runs} | {steps} | {:.2} % | {:.0} % | {:.0} % | {:.1} % | {:.1} % | {:.1} % |",
                    kind.title(),
                    of(Regression::None, EXPERIMENTS),
                    of(Regression::All(0.05), PLANTED),
                    of(Regression::All(0.07), PLANTED),
                    of(Regression::All(0.10), PLANTED),
                    of(Regression::Stalls(0.10), PLANTED),
                    of(Regression::Compiles(1), PLANTED),
                );
            }
        }
    }
    grid::print_tables();
    real::print_table(&comparable());
}

/// Real captures, where they are there: windows of steps of one run against each other.
#[test]
fn windows_of_one_real_run_rarely_fail() {
    let comparable = comparable();
    let (mut pairs, mut failed) = (0, Vec::new());
    for (name, run) in real::runs() {
        let found = real::pairs(&run, 12, &comparable);
        pairs += found.pairs;
        failed.extend(
            found
                .failed
                .into_iter()
                .map(|gates| format!("{name}: {gates}")),
        );
    }
    println!("{} of {pairs} pairs fail", failed.len());
    assert!(failed.len() * 100 <= pairs * 3, "{failed:?} of {pairs}");
}
