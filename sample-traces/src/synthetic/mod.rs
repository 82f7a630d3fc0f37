//! Synthetic training runs with known answers.
//!
//! A [`TrainingSpec`] describes the run. [`SyntheticRun::new`] computes its times from the chip's peaks and the
//! specified efficiencies. The result is a [`SampleSession`], which can be written as protobuf or JSON, and the
//! expected answers ([`ExpectedNumbers`]).

mod chip;
mod clock;
mod collectives;
mod decode;
mod device;
mod expected;
mod hlo;
mod host;
mod hosts;
mod op;
mod program;
mod run;
mod schedule;
mod spec;

use crate::session::{SamplePlane, SampleSession};
pub(crate) use run::REMARK;

pub use chip::SyntheticChip;
pub use clock::SyntheticStepTimes;
pub use decode::DecodeSpec;
pub use expected::{ExpectedCompile, ExpectedNumbers, ExpectedOp, ExpectedStep};
pub use hosts::HostClock;
pub use op::{InnerOp, ReplicaGroupPattern, SyntheticOp, SyntheticRole};
pub use program::SyntheticProgram;
pub use run::SyntheticRun;
pub use schedule::{ScheduleSums, ScheduledExecution, ScheduledTransfer, SyntheticSchedule};
pub use spec::{AsyncLine, TrainingSpec};

/// Time between the last step and the end of the session.
const TAIL_PS: i64 = 3_000_000_000;

impl SyntheticRun {
    /// Generates the run of `spec`.
    pub fn new(spec: TrainingSpec) -> Self {
        let mut tokens: Vec<u64> = vec![spec.tokens];
        for step in 0..spec.steps {
            if !tokens.contains(&spec.tokens_in(step)) {
                tokens.push(spec.tokens_in(step));
            }
        }
        let programs = tokens
            .into_iter()
            .map(|tokens| SyntheticProgram::compile(&spec, tokens))
            .collect();
        Self::of(spec, programs)
    }

    /// Generates a run that generates tokens: chips and times follow `spec`, but each step
    /// executes the program of `decode`.
    pub fn decoding(spec: TrainingSpec, decode: DecodeSpec) -> Self {
        let programs = vec![decode.compile(&spec)];
        Self::of(spec, programs)
    }

    fn of(spec: TrainingSpec, programs: Vec<SyntheticProgram>) -> Self {
        let steps = clock::step_times(&spec, &programs);
        let expected = ExpectedNumbers::new(&spec, &programs, &steps);
        Self {
            spec,
            programs,
            steps,
            expected,
        }
    }

    /// Length of the session, ps.
    pub fn session_ps(&self) -> i64 {
        self.steps.last().map_or(0, |last| last.end) + TAIL_PS
    }

    /// The planes of the capture, created one at a time, because all planes of a large run do not fit into memory.
    pub fn planes(&self) -> impl Iterator<Item = SamplePlane> {
        let devices = (0..self.spec.devices()).map(|ordinal| device::device_plane(self, ordinal));
        devices.chain(
            [
                host::metadata_plane,
                host::host_plane,
                host::environment_plane,
            ]
            .into_iter()
            .map(|make| make(self)),
        )
    }

    /// The capture of the run.
    pub fn session(&self) -> SampleSession {
        let planes = self.planes().collect();
        SampleSession::new("synthetic", REMARK, planes)
    }
}

impl TrainingSpec {
    /// A run of about `events` device events: steps are added up to 2^18 events per device, then devices.
    pub fn of_device_events(events: u64) -> Self {
        /// Number of events of one device in a large run.
        const ON_DEVICE: u64 = 1 << 18;

        let small = |steps| Self {
            data: 1,
            model: 1,
            layers: 12,
            steps,
            ..Self::default()
        };
        let on_device = |steps| -> u64 {
            let device = SyntheticRun::new(small(steps)).planes().next();
            device
                .iter()
                .flat_map(|device| &device.lines)
                .map(|line| line.events.len() as u64)
                .sum()
        };
        let first = on_device(1);
        let steps = 1 + events.min(ON_DEVICE).saturating_sub(first) / (on_device(2) - first).max(1);
        let devices = (events / (first + (steps - 1) * (on_device(2) - first)).max(1)).max(1);
        Self {
            data: devices as u32,
            ..small(steps as u32)
        }
    }
}
