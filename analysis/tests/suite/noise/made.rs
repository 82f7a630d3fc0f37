//! Runs that were never measured: steps with jitter, levels that differ from run to run,
//! slow steps, and regressions of known size.

use analysis::Unit;
use analysis::compare::{
    Better, LOOP_COMPILATIONS, LOOP_STEP, OpTimes, RunValue, SCHEMA, SLOW_SHARE, StepFacts,
    StepSeries, Summary,
};
use analysis::math::resample::random;
use analysis::math::stats::median;
use analysis::reports::StepPart;

/// How noisy runs are.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    /// A device that nobody else uses.
    Quiet,
    /// As quiet in most steps, with more slow ones, and drift within the run.
    Uneven,
    /// A shared machine.
    Noisy,
}

impl Kind {
    pub fn title(self) -> &'static str {
        match self {
            Self::Quiet => "quiet",
            Self::Uneven => "uneven",
            Self::Noisy => "noisy",
        }
    }
}

/// The noise of a run. Times are parts of the step.
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    pub steps: usize,
    /// Standard deviation of steps; neighbours correlate by `correlation`.
    pub jitter: f64,
    pub correlation: f64,
    /// Standard deviation of the level of a run.
    pub between: f64,
    /// Standard deviation of the time that a run spends compiling, of its middle.
    pub compiling: f64,
    /// Standard deviation of shares of a run (waiting for input, memory …), points.
    pub points: f64,
    /// One step in so many takes 5 to 20 % longer; none if 0.
    pub slow_one_in: u64,
    /// One in so many takes 1.5 to 3 times as long (garbage collection, a checkpoint); none if 0.
    pub pause_one_in: u64,
}

impl Noise {
    pub fn quiet() -> Self {
        Self {
            steps: 50,
            jitter: 0.005,
            correlation: 0.6,
            between: 0.005,
            compiling: 0.05,
            points: 0.5,
            slow_one_in: 50,
            pause_one_in: 2000,
        }
    }

    pub fn of(kind: Kind) -> Self {
        let quiet = Self::quiet();
        match kind {
            Kind::Quiet => quiet,
            Kind::Uneven => {
                let levels = Self {
                    between: 0.01,
                    compiling: 0.1,
                    points: 1.0,
                    ..quiet
                };
                Self {
                    jitter: 0.01,
                    correlation: 0.8,
                    slow_one_in: 20,
                    pause_one_in: 500,
                    ..levels
                }
            }
            Kind::Noisy => {
                let levels = Self {
                    between: 0.02,
                    compiling: 0.2,
                    points: 1.5,
                    ..quiet
                };
                Self {
                    jitter: 0.03,
                    correlation: 0.8,
                    slow_one_in: 10,
                    pause_one_in: 100,
                    ..levels
                }
            }
        }
    }
}

/// What is planted.
#[derive(Clone, Copy, Debug)]
pub enum Regression {
    None,
    /// Every step takes so much longer.
    All(f64),
    /// This part of the steps takes three times as long.
    Stalls(f64),
    /// So many steps compile and take ten times as long.
    Compiles(usize),
}

/// Makes runs; the same ones every time.
pub struct Runs {
    noise: Noise,
    state: u64,
}

const STEP_PS: f64 = 100e9;
/// Compiling before the loop.
const COMPILING_PS: f64 = 20e12;
/// Causes of lost time that are one number of a run, with their middles.
const SHARES: [(&str, f64); 5] = [
    ("input_wait_percent", 5.0),
    ("host_offload_wait_percent", 5.0),
    ("recompute_percent", 10.0),
    ("padding_waste_percent", 5.0),
    ("memory.peak_percent", 80.0),
];

impl Runs {
    pub fn new(noise: &Noise) -> Self {
        Self {
            noise: *noise,
            state: 0x5EED,
        }
    }

    /// Between 0 and 1, neither included.
    fn uniform(&mut self) -> f64 {
        ((random(&mut self.state) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// A normal number of mean 0 and spread 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.uniform().ln()).sqrt() * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A series around 0 of spread 1 whose neighbours correlate.
    fn correlated(&mut self) -> Vec<f64> {
        let (rho, steps) = (self.noise.correlation, self.noise.steps);
        let mut state = self.normal();
        let next = |_| {
            state = rho * state + (1.0 - rho * rho).sqrt() * self.normal();
            state
        };
        (0..steps).map(next).collect()
    }

    /// What one run differs by from the others, as a factor.
    fn level(&mut self) -> f64 {
        1.0 + self.noise.between * self.normal()
    }

    /// The steps of one more run.
    pub fn times(&mut self, regression: Regression) -> Vec<f64> {
        let level = STEP_PS * self.level();
        self.steps_of(level, regression)
    }

    fn steps_of(&mut self, level: f64, regression: Regression) -> Vec<f64> {
        let Noise {
            steps,
            jitter,
            slow_one_in,
            pause_one_in,
            ..
        } = self.noise;
        let mut times = Vec::new();
        for noise in self.correlated() {
            let mut time = 1.0 + jitter * noise;
            if random(&mut self.state).is_multiple_of(slow_one_in) {
                time += 0.05 + 0.15 * self.uniform();
            }
            if random(&mut self.state).is_multiple_of(pause_one_in) {
                time *= 1.5 + 1.5 * self.uniform();
            }
            times.push(level * time);
        }
        match regression {
            Regression::None => {}
            Regression::All(slower) => times.iter_mut().for_each(|time| *time *= 1.0 + slower),
            Regression::Stalls(part) => {
                let count = (steps as f64 * part).ceil() as usize;
                times
                    .iter_mut()
                    .step_by(steps / count.max(1))
                    .for_each(|time| *time *= 3.0);
            }
            Regression::Compiles(count) => {
                times
                    .iter_mut()
                    .skip(steps / 2)
                    .take(count)
                    .for_each(|time| *time *= 10.0);
            }
        }
        times
    }

    /// One more run whose steps consist of this many ops of the same length. The ops share the level of the run; the
    /// noise of their steps is their own.
    pub fn run_of_ops(&mut self, ops: usize) -> Summary {
        let level = STEP_PS * self.level() / ops as f64;
        let op = |place: usize| {
            let values = self.steps_of(level, Regression::None);
            OpTimes {
                program: None,
                name: format!("fusion.{place}"),
                category: "fusion".to_owned(),
                part: StepPart::Vector,
                is_collective: false,
                shape: None,
                source: None,
                framework: None,
                operands: None,
                place: place as u32,
                runs: 1.0,
                middle_ps: level,
                values,
            }
        };
        let ops = (0..ops).map(op).collect();
        let steps = StepFacts {
            counted: self.noise.steps,
            ..StepFacts::default()
        };
        Summary {
            schema: SCHEMA.to_owned(),
            steps,
            ops,
            ..Summary::default()
        }
    }

    /// One more run.
    pub fn run(&mut self, regression: Regression) -> Summary {
        let times = self.times(regression);
        let shares = |runs: &mut Self, middle: f64, spread: f64| -> Vec<f64> {
            let level = middle + spread * runs.normal();
            runs.correlated()
                .into_iter()
                .map(|noise| (level + spread * noise).clamp(0.0, 100.0))
                .collect()
        };
        let (exposed, idle) = (shares(self, 6.0, 0.5), shares(self, 10.0, 0.8));
        let compilations = if let Regression::Compiles(count) = regression {
            count as f64
        } else {
            0.0
        };
        let mut values = vec![value(LOOP_COMPILATIONS, Unit::Count, compilations)];
        // What a step that compiles again takes longer is spent compiling.
        let again = if let Regression::Compiles(count) = regression {
            9.0 * STEP_PS * count as f64
        } else {
            0.0
        };
        let compiling =
            COMPILING_PS * (1.0 + self.noise.compiling * self.normal()).max(0.0) + again;
        values.push(value("compile.wall_ps", Unit::Picoseconds, compiling));
        for (id, middle) in SHARES {
            let share = (middle + self.noise.points * self.normal()).clamp(0.0, 100.0);
            values.push(value(id, Unit::Percent, share));
        }
        summary(times, exposed, idle, values)
    }
}

fn value(id: &str, unit: Unit, value: f64) -> RunValue {
    RunValue {
        id: id.to_owned(),
        title: String::new(),
        unit,
        better: Better::Lower,
        value: Some(value),
        is_lower_bound: false,
        of: String::new(),
        provenance: analysis::Provenance::Measured,
        note: None,
    }
}

fn summary(times: Vec<f64>, exposed: Vec<f64>, idle: Vec<f64>, values: Vec<RunValue>) -> Summary {
    let series = |id: &str, unit, values: Vec<f64>| StepSeries {
        id: id.to_owned(),
        title: id.to_owned(),
        unit,
        better: Better::Lower,
        values,
    };
    let usual = median(&times).unwrap_or(0.0);
    let slow = times
        .iter()
        .map(|&time| if time > 1.3 * usual { 100.0 } else { 0.0 })
        .collect();
    Summary {
        schema: SCHEMA.to_owned(),
        steps: StepFacts {
            source: "modules".to_owned(),
            counted: times.len(),
            middle_ps: usual,
            ..StepFacts::default()
        },
        loop_series: vec![
            series(LOOP_STEP, Unit::Picoseconds, times.clone()),
            series(SLOW_SHARE, Unit::Percent, slow),
        ],
        series: vec![
            series("step.time_ps", Unit::Picoseconds, times),
            series("step.exposed_comm_percent", Unit::Percent, exposed),
            series("step.idle_percent", Unit::Percent, idle),
        ],
        values,
        ..Summary::default()
    }
}
