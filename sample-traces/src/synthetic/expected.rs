//! The answers that the analyses must give about a synthetic run.
//!
//! All numbers follow directly from the specification; none is computed from events or
//! intervals.

use super::clock::{
    BACKEND_PS, COMPLETE_PS, LAUNCH_PS, LOWER_PS, PER_DEVICE_PS, SyntheticStepTimes, TRACE_PS,
};
use super::op::{SyntheticOp, SyntheticRole};
use super::program::SyntheticProgram;
use super::schedule::{LEAD_IN_PS, LEAD_OUT_PS, ScheduleSums};
use super::spec::TrainingSpec;

#[derive(Clone, Debug)]
pub struct ExpectedNumbers {
    /// Number of devices, all equal.
    pub devices: u32,
    /// Steps in time order.
    pub steps: Vec<ExpectedStep>,
    /// Ops by program and name, over all devices and steps.
    pub ops: Vec<ExpectedOp>,
    /// Sums over all steps of one device, ps.
    pub sums: ScheduleSums,
    /// Time of all programs on one device, ps.
    pub module_ps: i64,
    /// Time from the start of the first program to the end of the last, ps.
    pub active_ps: i64,
    /// Time from the start of the first op to the end of the last, ps.
    pub ops_ps: i64,
    /// Time of all ops without children (matmuls, vector ops and others), ps.
    pub leaf_ps: i64,
    /// The compilation, if there is one.
    pub compile: Option<ExpectedCompile>,
    /// Smallest and largest shift that aligns the devices with the host, ps.
    pub clock_shift_ps: (i64, i64),
    /// Peak of one device, FLOP/s.
    pub peak_flops: f64,
    /// HBM bandwidth of one device, bytes/s.
    pub peak_hbm: f64,
}

/// One step, on the timeline as recorded.
#[derive(Clone, Debug)]
pub struct ExpectedStep {
    pub step: u32,
    /// Start and end on the `Steps` line, ps.
    pub device: (i64, i64),
    /// Start and end of the program, ps.
    pub module: (i64, i64),
    /// Start and end of the host's annotation, ps.
    pub host: (i64, i64),
    /// Sums over the step on one device, ps.
    pub sums: ScheduleSums,
}

/// One op, over all devices and steps.
#[derive(Clone, Debug)]
pub struct ExpectedOp {
    /// Fingerprint of its program.
    pub program: u64,
    pub name: String,
    /// `hlo_category`.
    pub category: &'static str,
    /// Its role in the analyses.
    pub role: SyntheticRole,
    pub occurrences: u64,
    /// Total time, ps.
    pub total_ps: i64,
    /// Self time, ps.
    pub self_ps: i64,
    /// Operations of all executions.
    pub flops: u64,
    /// Bytes to and from all memories, of all executions.
    pub bytes: u64,
    /// Bytes to and from HBM, of all executions.
    pub hbm_bytes: u64,
}

#[derive(Clone, Debug)]
pub struct ExpectedCompile {
    /// Step in which it happens.
    pub step: u32,
    /// Time of tracing Python to a jaxpr, ps.
    pub trace_ps: i64,
    /// Time of lowering the jaxpr to `StableHLO`, ps.
    pub lower_ps: i64,
    /// Time of the backend compiler, ps.
    pub backend_ps: i64,
}

impl ExpectedCompile {
    /// Time of all phases, ps.
    pub fn wall_ps(&self) -> i64 {
        self.trace_ps + self.lower_ps + self.backend_ps
    }
}

impl ExpectedNumbers {
    pub(super) fn new(
        spec: &TrainingSpec,
        programs: &[SyntheticProgram],
        steps: &[SyntheticStepTimes],
    ) -> Self {
        let skew = spec.device_skew.ps();
        let recorded = |(from, to): (i64, i64)| (from - skew, to - skew);
        let each: Vec<_> = steps
            .iter()
            .map(|step| ExpectedStep {
                step: step.step,
                device: recorded(step.device_step()),
                module: recorded(step.device),
                host: (step.begin, step.end),
                sums: programs[step.program].schedule.sums,
            })
            .collect();
        let runs = |index: usize| steps.iter().filter(|step| step.program == index).count() as u64;
        let ops = programs
            .iter()
            .enumerate()
            .flat_map(|(index, program)| {
                expected_ops(program, runs(index) * u64::from(spec.devices()))
            })
            .collect();
        let active_ps = steps
            .last()
            .map_or(0, |last| last.device.1 - steps[0].device.0);
        let sums = each
            .iter()
            .fold(ScheduleSums::default(), |total, step| total + step.sums);
        let last_enqueue = i64::from(spec.devices() - 1) * PER_DEVICE_PS;
        Self {
            devices: spec.devices(),
            ops,
            sums,
            module_ps: steps.iter().map(|step| step.device.1 - step.device.0).sum(),
            active_ps,
            ops_ps: active_ps - LEAD_IN_PS - LEAD_OUT_PS,
            leaf_ps: sums.busy - sums.loop_self,
            compile: spec.recompile_at.map(|step| ExpectedCompile {
                step,
                trace_ps: TRACE_PS,
                lower_ps: LOWER_PS,
                backend_ps: BACKEND_PS,
            }),
            clock_shift_ps: (skew + last_enqueue - LAUNCH_PS, skew + COMPLETE_PS),
            peak_flops: spec.chip.peak_flops(),
            peak_hbm: spec.chip.hbm_bytes(),
            steps: each,
        }
    }

    /// Operations of all ops without children.
    pub fn leaf_flops(&self) -> u64 {
        self.ops
            .iter()
            .filter(|op| op.role != SyntheticRole::Loop)
            .map(|op| op.flops)
            .sum()
    }

    /// Operations of all matmuls.
    pub fn matmul_flops(&self) -> u64 {
        self.ops
            .iter()
            .filter(|op| op.role == SyntheticRole::Matmul)
            .map(|op| op.flops)
            .sum()
    }

    /// HBM bytes of all ops without children. A start op counts the bytes read, its done op
    /// the bytes written.
    pub fn leaf_hbm_bytes(&self) -> u64 {
        self.ops
            .iter()
            .filter(|op| op.role != SyntheticRole::Loop)
            .map(|op| op.hbm_bytes)
            .sum()
    }

    /// Share of the peak FLOP/s that matmuls reach while they run.
    pub fn mxu_util_on_mxu_ops(&self) -> f64 {
        let seconds = self.sums.matmul as f64 / 1e12 * f64::from(self.devices);
        self.matmul_flops() as f64 / (seconds * self.peak_flops)
    }

    /// Share of the peak FLOP/s over a window of `window_ps` on every device.
    pub fn flops_util(&self, window_ps: i64) -> f64 {
        self.leaf_flops() as f64
            / (window_ps as f64 / 1e12 * f64::from(self.devices) * self.peak_flops)
    }

    /// Share of the HBM bandwidth over a window of `window_ps` on every device.
    pub fn hbm_util(&self, window_ps: i64) -> f64 {
        self.leaf_hbm_bytes() as f64
            / (window_ps as f64 / 1e12 * f64::from(self.devices) * self.peak_hbm)
    }

    /// Share of the time from the first to the last program in which ops run.
    pub fn duty_cycle(&self) -> f64 {
        self.sums.busy as f64 / self.active_ps as f64
    }
}

fn expected_ops(program: &SyntheticProgram, runs: u64) -> Vec<ExpectedOp> {
    let schedule = &program.schedule;
    let times = |index: usize| {
        schedule
            .executions
            .iter()
            .filter(|execution| execution.op == index)
            .count() as u64
    };
    let one = |(index, op): (usize, &SyntheticOp)| {
        let occurrences = runs * times(index);
        let own_ps = if op.role == SyntheticRole::Loop {
            schedule.sums.loop_self
        } else {
            op.dur_ps
        };
        ExpectedOp {
            program: program.id,
            name: op.name.clone(),
            category: op.category,
            role: op.role,
            occurrences,
            total_ps: occurrences as i64 * op.dur_ps,
            self_ps: occurrences as i64 * own_ps,
            flops: occurrences * op.flops,
            bytes: occurrences * op.all_bytes(),
            hbm_bytes: occurrences * op.hbm_bytes(),
        }
    };
    schedule.ops.iter().enumerate().map(one).collect()
}
