//! How often a comparison raises a false alarm, and how often it misses a planted
//! regression: the experiment, many times over, on steps with realistic jitter.
//!
//! ```text
//! cargo run --release -p analysis --example compare_power -- 1000
//! ```
//!
//! A step takes 100 ms × (1 + jitter). Jitter has a spread of 0.5 %, and neighbours
//! correlate (an AR(1) process); one step in fifty takes 5 to 20 % longer. Runs differ
//! from each other by `between`, which a single run cannot know.
#![expect(clippy::print_stdout, reason = "the table is what it is for")]

use analysis::compare::{MetricChange, TestOptions};
use analysis::math::resample::random;

const JITTER: f64 = 0.005;
const SLOW_ONE_IN: u64 = 50;

struct Dice(u64);

impl Dice {
    /// Between 0 and 1, neither included.
    fn uniform(&mut self) -> f64 {
        ((random(&mut self.0) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A normal number of mean 0 and spread 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn run(&mut self, steps: usize, correlation: f64, slower: f64, between: f64) -> Vec<f64> {
        let level = 100e9 * (1.0 + slower) * (1.0 + between * self.normal());
        let mut state = self.normal();
        (0..steps)
            .map(|_| {
                state =
                    correlation * state + (1.0 - correlation * correlation).sqrt() * self.normal();
                let is_slow = random(&mut self.0).is_multiple_of(SLOW_ONE_IN);
                let spike = if is_slow {
                    0.05 + 0.15 * self.uniform()
                } else {
                    0.0
                };
                level * (1.0 + JITTER * state + spike)
            })
            .collect()
    }
}

struct Case {
    runs: usize,
    steps: usize,
    correlation: f64,
    between: f64,
}

/// Share of experiments in which a change is called real, in percent.
fn called_real(case: &Case, slower: f64, experiments: usize) -> f64 {
    let mut dice = Dice(0x5EED);
    let options = TestOptions::default();
    let mut real = 0;
    for _ in 0..experiments {
        let mut side = |slower: f64| -> Vec<Vec<f64>> {
            (0..case.runs)
                .map(|_| dice.run(case.steps, case.correlation, slower, case.between))
                .collect()
        };
        let (base, cand) = (side(0.0), side(slower));
        real += usize::from(MetricChange::of_runs(&base, &cand, 0.0, &options).is_real());
    }
    100.0 * real as f64 / experiments as f64
}

fn main() {
    let experiments = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(1000);
    let case = |runs, steps, correlation, between| Case {
        runs,
        steps,
        correlation,
        between,
    };
    println!(
        "| runs a side | steps a run | neighbours correlate | runs differ by | false alarms | 0.5 % missed | 2 % missed | 10 % missed |"
    );
    println!("|---:|---:|---:|---:|---:|---:|---:|---:|");
    for case in [
        case(1, 10, 0.0, 0.0),
        case(1, 20, 0.0, 0.0),
        case(1, 50, 0.0, 0.0),
        case(1, 20, 0.4, 0.0),
        case(1, 50, 0.4, 0.0),
        case(1, 200, 0.7, 0.0),
        case(1, 50, 0.4, 0.005),
        case(3, 50, 0.4, 0.005),
        case(5, 50, 0.4, 0.005),
    ] {
        let missed = |slower: f64| 100.0 - called_real(&case, slower, experiments);
        println!(
            "| {} | {} | {} | {} % | {:.1} % | {:.1} % | {:.1} % | {:.1} % |",
            case.runs,
            case.steps,
            case.correlation,
            100.0 * case.between,
            called_real(&case, 0.0, experiments),
            missed(0.005),
            missed(0.02),
            missed(0.1)
        );
    }
}
