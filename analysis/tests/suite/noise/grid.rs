//! Runs whose noise is known exactly: how often comparisons and gates are wrong about them.
//!
//! ```text
//! time of a step = level of its run × (1 + step noise) × (sometimes 1.5 to 3)
//! ```
//!
//! Levels and step noise are drawn from normal distributions; the spread between runs and the step noise are their
//! standard deviations.
//!
//! Goals: at most 3 % of equal pairs of single runs are called changed, at most 1 % of three runs against three, and 95 %
//! of the changes of 10 % are found. Of single runs whose spread is 2 % no rule reaches the last two together: their
//! difference has a standard deviation of 2.83 %, so 3 % of equal pairs differ by more than 6.1 %, and about one pair in
//! ten that differs by 10 % is measured closer than that.

use analysis::compare::{CompareOptions, Comparison, MetricChange, Summary, TestOptions, compare};

use super::made::{Noise, Regression, Runs};
use super::{comparable, failing};

/// Numbers of runs on each side, with the largest share of equal pairs that may be called changed, in percent.
const SIDES: [(usize, f64); 2] = [(1, 3.0), (3, 1.0)];
/// Standard deviations of steps.
const STEP_NOISE: [f64; 3] = [0.003, 0.01, 0.03];
/// Standard deviations of runs.
const SPREAD: [f64; 4] = [0.0, 0.005, 0.01, 0.02];
/// The largest spread, with which single runs cannot reach the goal.
const WIDE: f64 = 0.02;
/// One step in so many is an outlier: none, or 2 %.
const OUTLIERS: [u64; 2] = [0, 50];

/// What is found of changes of 10 %, at least, in percent.
fn goal(runs: usize, noise: &Noise) -> f64 {
    if runs == 1 && noise.between >= WIDE {
        80.0
    } else {
        95.0
    }
}

fn noise(jitter: f64, between: f64, pause_one_in: u64) -> Noise {
    Noise {
        steps: 30,
        jitter,
        correlation: 0.0,
        between,
        slow_one_in: 0,
        pause_one_in,
        ..Noise::quiet()
    }
}

/// All combinations.
fn noises() -> impl Iterator<Item = Noise> {
    let of = |spread: f64| {
        STEP_NOISE.map(|jitter| OUTLIERS.map(|outliers| noise(jitter, spread, outliers)))
    };
    SPREAD
        .into_iter()
        .flat_map(move |spread| of(spread).into_iter().flatten())
}

/// With outliers and the noisiest steps.
fn is_worst(noise: &Noise) -> bool {
    noise.pause_one_in > 0 && noise.jitter >= STEP_NOISE[2]
}

/// Share of pairs of sides, in percent, for which `is_called` is true.
fn share(experiments: usize, mut is_called: impl FnMut() -> bool) -> f64 {
    100.0 * (0..experiments).filter(|_| is_called()).count() as f64 / experiments as f64
}

/// How often the median step is called changed.
fn changed(noise: &Noise, runs: usize, regression: Regression, experiments: usize) -> f64 {
    let mut made = Runs::new(noise);
    share(experiments, || {
        let mut side = |regression| {
            (0..runs)
                .map(|_| made.times(regression))
                .collect::<Vec<_>>()
        };
        let (base, cand) = (side(Regression::None), side(regression));
        MetricChange::judged(&base, &cand, 0.0, &TestOptions::default()).is_real()
    })
}

/// The gates of the preset that fail, of each pair.
fn failures(
    noise: &Noise,
    runs: usize,
    regression: Regression,
    experiments: usize,
) -> Vec<Vec<String>> {
    let (mut made, comparable) = (Runs::new(noise), comparable());
    let one = |_| {
        let mut side = |regression| (0..runs).map(|_| made.run(regression)).collect::<Vec<_>>();
        let (base, cand) = (side(Regression::None), side(regression));
        failing(&base, &cand, &comparable)
    };
    (0..experiments).map(one).collect()
}

/// Share of pairs, in percent, of which a gate fails whose name contains `which`.
fn failed(failures: &[Vec<String>], which: &str) -> f64 {
    let mut pairs = failures.iter();
    share(failures.len(), || {
        pairs
            .next()
            .is_some_and(|gates| gates.iter().any(|gate| gate.contains(which)))
    })
}

const MEAN: &str = "loop.step_ms";
const SLOW: &str = "loop.slow_pct";
const TEN_PERCENT: Regression = Regression::All(0.10);

#[test]
fn equal_runs_are_rarely_called_changed_and_ten_percent_is_found() {
    for (runs, most) in SIDES {
        for noise in noises() {
            let (equal, slower) = if noise.between >= WIDE {
                (2000, 200)
            } else {
                (100, 20)
            };
            let found = changed(&noise, runs, Regression::None, equal);
            assert!(
                found <= most,
                "{runs} against {runs}: {found} % of equal pairs: {noise:?}"
            );
            let found = changed(&noise, runs, TEN_PERCENT, slower);
            assert!(
                found >= goal(runs, &noise),
                "{runs} against {runs}: {found} % of 10 % found: {noise:?}"
            );
        }
    }
}

/// The preset as a whole, and with it the mean of the loop and the share of slow steps.
#[test]
fn preset_rarely_fails_equal_runs_and_finds_ten_percent() {
    for (runs, most) in SIDES {
        for noise in noises().filter(is_worst) {
            let equal = if noise.between >= WIDE { 400 } else { 100 };
            let alarms = failures(&noise, runs, Regression::None, equal);
            for which in ["", MEAN, SLOW] {
                let found = failed(&alarms, which);
                assert!(
                    found <= most,
                    "{runs} against {runs}: {found} % false alarms {which}: {noise:?}"
                );
            }
            let found = failed(&failures(&noise, runs, TEN_PERCENT, 20), "");
            assert!(
                found >= goal(runs, &noise),
                "{runs} against {runs}: {found} % of 10 % found: {noise:?}"
            );
        }
    }
}

/// How often any of twenty ops is called changed.
fn ops_changed(noise: &Noise, runs: usize, experiments: usize) -> f64 {
    const OPS: usize = 20;
    let mut made = Runs::new(noise);
    share(experiments, || {
        let mut side = || {
            (0..runs)
                .map(|_| made.run_of_ops(OPS))
                .collect::<Vec<Summary>>()
        };
        let (base, cand) = (side(), side());
        let Comparison { ops, .. } = compare(&base, &cand, &CompareOptions::default());
        assert_eq!(ops.len(), OPS);
        ops.iter().any(|op| op.change.is_real())
    })
}

#[test]
fn ops_of_equal_runs_are_rarely_called_changed() {
    for (runs, most) in SIDES {
        for noise in noises()
            .filter(is_worst)
            .filter(|noise| noise.between < WIDE)
        {
            let found = ops_changed(&noise, runs, 100);
            assert!(
                found <= most,
                "{runs} against {runs}: {found} % with a changed op: {noise:?}"
            );
        }
    }
}

/// A row for each spread and step noise: the worse of the numbers with and without outliers.
pub fn print_tables() {
    println!("\nchanged and found of 10 %, of 1 against 1 and 3 against 3");
    print_rows(&|noise, runs| {
        let of = |regression| changed(noise, runs, regression, 4000);
        vec![of(Regression::None), -of(TEN_PERCENT)]
    });
    println!("\ngates: all, mean of the loop, slow steps; found of 10 %");
    print_rows(&|noise, runs| {
        let alarms = failures(noise, runs, Regression::None, 2000);
        let found = failed(&failures(noise, runs, TEN_PERCENT, 200), "");
        vec![
            failed(&alarms, ""),
            failed(&alarms, MEAN),
            failed(&alarms, SLOW),
            -found,
        ]
    });
    println!("\nany of twenty ops changed");
    print_rows(&|noise, runs| vec![ops_changed(noise, runs, 1000)]);
}

/// `of` gives rates of alarms, and with a minus those of what is found.
fn print_rows(of: &dyn Fn(&Noise, usize) -> Vec<f64>) {
    for spread in SPREAD {
        for jitter in STEP_NOISE {
            let cells = SIDES.map(|(runs, _)| {
                let [plain, with_outliers] =
                    OUTLIERS.map(|outliers| of(&noise(jitter, spread, outliers), runs));
                let worse = plain.iter().zip(&with_outliers).map(|(a, b)| a.max(*b));
                let written = |rate: f64| {
                    if rate < 0.0 {
                        format!("{:.0} %", -rate)
                    } else {
                        format!("{rate:.1} %")
                    }
                };
                worse.map(written).collect::<Vec<_>>().join(" | ")
            });
            println!(
                "| {:.1} % | {:.1} % | {} |",
                100.0 * spread,
                100.0 * jitter,
                cells.join(" | ")
            );
        }
    }
}
