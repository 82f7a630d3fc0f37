//! Times of each step of the run, on the host and on the devices.
//!
//! ```text
//! python   |input|put|PjitFunction      |block_until_ready         |
//! enqueue                         |0|1|2…
//! device                            |program                   |
//! complete                                                      |0|1|2…
//! ```
//!
//! The host waits for each step before it starts the next. Each step therefore takes a
//! fixed overhead, plus the program, plus the delays that the specification adds.

use super::program::SyntheticProgram;
use super::spec::TrainingSpec;

/// Start of the first step.
const START_PS: i64 = 2_000_000_000;
const INPUT_PS: i64 = 40_000_000;
const PUT_PS: i64 = 20_000_000;
const DISPATCH_PS: i64 = 60_000_000;
/// Time from the first enqueue to the start of the program.
pub(super) const LAUNCH_PS: i64 = 25_000_000;
/// Time between the enqueues (and between the completions) of two devices.
pub(super) const PER_DEVICE_PS: i64 = 1_000_000;
/// Time from the end of the program to its first completion.
pub(super) const COMPLETE_PS: i64 = 12_000_000;
/// Time from the first completion to the end of the step on the host.
const WAKE_PS: i64 = 18_000_000;
/// Durations of the phases of a compilation.
pub(super) const TRACE_PS: i64 = 3_000_000_000;
pub(super) const LOWER_PS: i64 = 2_000_000_000;
pub(super) const BACKEND_PS: i64 = 45_000_000_000;
/// Gap before and after each phase.
pub(super) const PHASE_GAP_PS: i64 = 10_000_000;

/// Times of one step, in ps after the start of the session, on the host's clock.
#[derive(Clone, Copy, Debug)]
pub struct SyntheticStepTimes {
    pub step: u32,
    /// Index of the program that it runs.
    pub program: usize,
    /// Start of the step on the host.
    pub begin: i64,
    /// End of the input phase.
    pub input_end: i64,
    /// Start and end of the call of the program.
    pub call: (i64, i64),
    /// Start of the compilation, if there is one.
    pub compile: Option<i64>,
    /// Time of the first enqueue.
    pub enqueue: i64,
    /// Start and end of the program on the devices.
    pub device: (i64, i64),
    /// End of the step on the host.
    pub end: i64,
}

impl SyntheticStepTimes {
    /// The step on the devices: from the end of the previous step to the end of this one.
    pub fn device_step(&self) -> (i64, i64) {
        (self.begin - COMPLETE_PS - WAKE_PS, self.device.1)
    }
}

/// Computes the times of all steps.
pub fn step_times(spec: &TrainingSpec, programs: &[SyntheticProgram]) -> Vec<SyntheticStepTimes> {
    let mut jitter = spec.jitter_seed.map(ClockJitter);
    let mut begin = START_PS;
    let mut steps = Vec::new();
    for step in 0..spec.steps {
        let tokens = spec.tokens_in(step);
        let program = programs
            .iter()
            .position(|program| program.tokens == tokens)
            .unwrap_or(0);
        let stall = spec
            .stall
            .filter(|&(at, _)| at == step)
            .map_or(0, |(_, stall)| stall.ps());
        let dawdle = jitter.as_mut().map_or(0, ClockJitter::next_ps);
        let input_end = begin + INPUT_PS + stall + dawdle;
        let called = input_end + PUT_PS;
        let compile = (spec.recompile_at == Some(step)).then_some(called + PHASE_GAP_PS);
        let compiling = compile.map_or(0, |_| TRACE_PS + LOWER_PS + BACKEND_PS + 4 * PHASE_GAP_PS);
        let returned = called + compiling + DISPATCH_PS;
        let enqueue = returned - PHASE_GAP_PS;
        let running = enqueue + LAUNCH_PS;
        let ended = running + programs[program].schedule.dur_ps;
        let end = ended + COMPLETE_PS + WAKE_PS;
        let call = (called, returned);
        let device = (running, ended);
        steps.push(SyntheticStepTimes {
            step,
            program,
            begin,
            input_end,
            call,
            compile,
            enqueue,
            device,
            end,
        });
        begin = end;
    }
    steps
}

/// Random pauses of the host, reproducible by seed.
struct ClockJitter(u64);

impl ClockJitter {
    fn next_ps(&mut self) -> i64 {
        const LONGEST_PS: u64 = 200_000_000;
        // splitmix64
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut x = self.0;
        x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((x ^ (x >> 31)) % LONGEST_PS) as i64
    }
}
