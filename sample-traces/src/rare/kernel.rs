//! A Pallas matmul on v6e, with the scopes of its pipeline.

use super::{COUNTERS, CounterName, MODULE, SCOPES};
use crate::session::{LineKey, OPS, SamplePlane, SampleSession, double, int, shared, uint};
use crate::synthetic::SyntheticChip;

/// Executions of one kernel. The default waits for its input as long as a real matmul did:
/// 173.374 µs of 227.262 µs.
#[derive(Clone, Copy, Debug)]
pub struct PallasKernel {
    pub executions: i64,
    /// Number of grid steps.
    pub steps: i64,
    /// Length of an execution.
    pub call_ps: i64,
    /// Wait for one block of input.
    pub wait_in_ps: i64,
    /// Execution of the kernel body on one block.
    pub run_ps: i64,
    /// A user-defined scope inside the body.
    pub scope_ps: i64,
    /// Issue of the copy that loads one block.
    pub copy_in_ps: i64,
    /// Issue of the copy that stores one block.
    pub copy_out_ps: i64,
    /// Initialization before the first grid step.
    pub initialize_ps: i64,
    /// Finalization after the last grid step.
    pub finalize_ps: i64,
    /// Operations that the kernel declares for each execution; the number is far too small.
    pub flops: i64,
    /// `% util` of the matrix units during the first and the second half.
    pub mxu: [f64; 2],
    /// Whether there are the lines of newer captures (LLO ops, source lines, primitives) and a reading of hardware
    /// counters.
    pub with_lines: bool,
}

impl Default for PallasKernel {
    fn default() -> Self {
        Self {
            executions: 3,
            steps: 16,
            call_ps: 227_262_000,
            wait_in_ps: 10_835_875,
            run_ps: 2_500_000,
            scope_ps: 2_000_000,
            copy_in_ps: 250_000,
            copy_out_ps: 125_000,
            initialize_ps: 1_000_000,
            finalize_ps: 500_000,
            flops: 1_076_887_552,
            mxu: [10.0, 30.0],
            with_lines: false,
        }
    }
}

/// Length of the last sample: real captures can have an absolute time here.
const ABSURD_PS: i64 = 81_386_618_828;
const PERIOD_PS: i64 = 400_000_000;
const RELU_PS: i64 = 20_000_000;
const SOURCE_LINES: LineKey<'_> = (11, "Source Lines");
const LLO_OPS: LineKey<'_> = (12, "LLO Ops");
const PRIMITIVES: LineKey<'_> = (13, "Pallas Primitives");
/// A reading of counters is called after its kernel.
const READING: LineKey<'_> = (20, "matmul");
const TEXT: &str = "%matmul.1 = f32[2048,2048]{1,0:T(8,128)} custom-call(f32[2048,1024]{1,0:T(8,128)} %a, \
                    f32[1024,2048]{1,0:T(8,128)} %b), custom_call_target=\"tpu_custom_call\", \
                    frontend_attributes={kernel_metadata={}}";

impl PallasKernel {
    /// Time of an execution outside all scopes.
    pub fn outside_ps(&self) -> i64 {
        let step = self.copy_in_ps + self.wait_in_ps + self.run_ps + self.copy_out_ps;
        self.call_ps - self.initialize_ps - self.finalize_ps - self.steps * step
    }

    pub fn session(&self) -> SampleSession {
        let mut plane = super::device(0, &SyntheticChip::V6E);
        let facts = [
            shared("tf_op", "jit(step)/jit(matmul)/matmul/pallas_call:"),
            shared("source", "kernel.py:42"),
        ];
        let matmul = plane.op(TEXT, "custom-call", facts);
        let relu = "%fusion.2 = f32[2048,2048]{1,0} fusion(f32[2048,2048]{1,0} %matmul.1), kind=kLoop, calls=%relu";
        let relu = plane.op(relu, "loop fusion", [uint("flops", 4_194_304)]);
        for execution in 0..self.executions {
            let begin = 1_000_000_000 + execution * PERIOD_PS;
            plane.run(MODULE, execution + 1, begin, self.call_ps + RELU_PS);
            let costs = [
                int("flops", self.flops),
                int("model_flops", self.flops),
                int("bytes_accessed", 0),
            ];
            plane.execution(OPS, matmul, begin, self.call_ps, costs);
            plane.execution(OPS, relu, begin + self.call_ps, RELU_PS, []);
            self.scopes(&mut plane, begin);
            self.counters(&mut plane, begin);
            if self.with_lines {
                self.lines(&mut plane, begin);
            }
        }
        if self.with_lines {
            let end = 1_000_000_000 + self.call_ps;
            plane.reading(READING, CounterName::Cycles, end, 1_000_000);
            plane.reading(READING, CounterName::MxuBusy2, end, 180_000);
        }
        plane.sort();
        super::session("kernel", vec![plane])
    }

    fn scopes(&self, plane: &mut SamplePlane, begin: i64) {
        let mut now = begin;
        let mut scope = |name: &str, length: i64| {
            plane.event(SCOPES, name, now, length, []);
            now += length;
            now
        };
        scope("ep_initialize_0", self.initialize_ps);
        let mut bodies = Vec::new();
        for _ in 0..self.steps {
            scope("ep_copy_in", self.copy_in_ps);
            scope("ep_wait_in", self.wait_in_ps);
            bodies.push(scope("ep_run_kernel", self.run_ps) - self.run_ps);
            scope("ep_copy_out", self.copy_out_ps);
        }
        scope("ep_finalize", self.finalize_ps);
        for body in bodies {
            plane.event(SCOPES, "dot", body, self.scope_ps, []);
        }
    }

    /// The body of each step is two source lines: the load takes a fifth of it, the product the rest, of which the unit
    /// works for half.
    fn lines(&self, plane: &mut SamplePlane, begin: i64) {
        let step = self.copy_in_ps + self.wait_in_ps + self.run_ps + self.copy_out_ps;
        for at in 0..self.steps {
            let body = begin + self.initialize_ps + at * step + self.copy_in_ps + self.wait_in_ps;
            let (load, product) = (self.run_ps / 5, self.run_ps - self.run_ps / 5);
            for (line, name, from, length) in [
                (SOURCE_LINES, "kernel.py:44", 0, load),
                (SOURCE_LINES, "kernel.py:45", load, product),
                (LLO_OPS, "vld", 0, load),
                (LLO_OPS, "vmatmul", load, product / 2),
                (PRIMITIVES, "dot_general", load, product),
            ] {
                plane.event(line, name, body + from, length, []);
            }
        }
    }

    fn counters(&self, plane: &mut SamplePlane, begin: i64) {
        let half = self.call_ps / 2;
        for (at, length, value) in [
            (begin, half, self.mxu[0]),
            (begin + half, ABSURD_PS, self.mxu[1]),
        ] {
            plane.event(COUNTERS, "MXU", at, length, [double("% util", value)]);
        }
        plane.event(
            COUNTERS,
            "Vector Spills",
            begin,
            half,
            [double("spills", 0.0)],
        );
    }
}
