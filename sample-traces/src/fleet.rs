//! Runs of many steps on many devices, simple enough that every expected answer is a sum.
//!
//! ```text
//! python  |input|compile |dispatch              |input|dispatch
//! TPU:0          .       [matmul    ][all-reduce      ]
//! TPU:1          .       [matmul           ][all-reduce]
//! Steps   [                                           ][
//! ```
//!
//! In each step, the host provides input and then each device runs one matmul and one
//! all-reduce. Each addition of the specification (a slow device; steps that evaluate,
//! wait for input or compile) affects exactly one part of the trace.

use trace_model::Picos;

use crate::session::{
    MODULES, OPS, STEPS, SampleEventMetadata, SamplePlane, SampleSession, int, text,
};
use crate::synthetic::REMARK;

/// How far the device clock is ahead of the timeline.
const CLOCK_AHEAD_PS: i64 = 7_000_250;

/// A data-parallel run.
#[derive(Clone, Debug)]
pub struct FleetSpec {
    /// Number of devices, all on one host.
    pub devices: u32,
    pub steps: u32,
    /// Duration of the matmul of a training step.
    pub work: Picos,
    /// Duration of the all-reduce of a training step on the device that reaches it last.
    pub reduce: Picos,
    /// Duration of the input phase before each step, in which devices run no ops.
    pub input: Picos,
    /// A device whose matmul takes longer, and by how much.
    pub straggler: Option<(u32, Picos)>,
    /// Every n-th step runs another program: a matmul of this length and no all-reduce.
    pub evaluation: Option<(u32, Picos)>,
    /// A step that waits longer for its input, and by how much.
    pub stall: Option<(u32, Picos)>,
    /// Steps that compile first.
    pub compiles: Vec<u32>,
    /// Duration of a compilation.
    pub compile: Picos,
    /// Whether the host records calls of the compiled function, as JAX does. They show which function is compiled.
    pub calls: bool,
}

impl Default for FleetSpec {
    /// Eight equal devices, twenty steps of 10 ms: 1 ms of input, 7 ms of matmul, 2 ms of all-reduce.
    fn default() -> Self {
        let ms = |ms: i64| Picos::from_ps(ms * trace_model::time::PS_PER_MS);
        Self {
            devices: 8,
            steps: 20,
            work: ms(7),
            reduce: ms(2),
            input: ms(1),
            straggler: None,
            evaluation: None,
            stall: None,
            compiles: Vec::new(),
            compile: ms(500),
            calls: false,
        }
    }
}

/// When one step happens.
struct FleetStep {
    number: u32,
    begin: i64,
    input_end: i64,
    running: i64,
    end: i64,
    evaluates: bool,
}

impl FleetSpec {
    /// Whether a step runs the evaluation program.
    pub fn evaluates(&self, step: u32) -> bool {
        self.evaluation
            .is_some_and(|(every, _)| (step + 1).is_multiple_of(every))
    }

    /// Duration of the matmul of one device in a step.
    pub fn work_of(&self, step: u32, device: u32) -> Picos {
        let usual = self
            .evaluation
            .filter(|_| self.evaluates(step))
            .map_or(self.work, |(_, work)| work);
        usual
            + self
                .straggler
                .filter(|&(slow, _)| slow == device)
                .map_or(Picos::ZERO, |(_, more)| more)
    }

    /// Duration of a step, the same on every device.
    pub fn step_time(&self, step: u32) -> Picos {
        let most = (0..self.devices)
            .map(|device| self.work_of(step, device))
            .max()
            .unwrap_or(Picos::ZERO);
        let reduce = if self.evaluates(step) {
            Picos::ZERO
        } else {
            self.reduce
        };
        self.idle(step) + most + reduce
    }

    /// Time from the start of a step to its first op.
    pub fn idle(&self, step: u32) -> Picos {
        let stall = self
            .stall
            .filter(|&(at, _)| at == step)
            .map_or(Picos::ZERO, |(_, stall)| stall);
        let compile = if self.compiles.contains(&step) {
            self.compile
        } else {
            Picos::ZERO
        };
        self.input + stall + compile
    }

    /// The capture of the run.
    pub fn session(&self) -> SampleSession {
        let mut begin = 1_000_000_000;
        let mut steps = Vec::new();
        for number in 0..self.steps {
            let running = begin + self.idle(number).ps();
            let compile = if self.compiles.contains(&number) {
                self.compile.ps()
            } else {
                0
            };
            let end = begin + self.step_time(number).ps();
            let evaluates = self.evaluates(number);
            steps.push(FleetStep {
                number,
                begin,
                input_end: running - compile,
                running,
                end,
                evaluates,
            });
            begin = end;
        }
        let mut planes: Vec<SamplePlane> = (0..self.devices)
            .map(|device| self.device(device, &steps))
            .collect();
        planes.push(host(&steps, self.calls));
        SampleSession::new("synthetic", REMARK, planes)
    }

    fn device(&self, device: u32, steps: &[FleetStep]) -> SamplePlane {
        let facts = vec![
            text("device_type_string", "TPU v5 Lite"),
            text("synthetic", REMARK),
        ];
        let mut plane = SamplePlane::device(device, CLOCK_AHEAD_PS, facts);
        let matmul = plane.add(op("fusion.1", "fusion", [1, 1]));
        let reduce = plane.add(op("all-reduce.2", "all-reduce", [1, 2]));
        let evaluation = plane.add(op("fusion.3", "fusion", [2, 1]));
        for step in steps {
            let number = i64::from(step.number);
            let work_ps = self.work_of(step.number, device).ps();
            plane.event(
                STEPS,
                &number.to_string(),
                step.begin,
                step.end - step.begin,
                [int("group_id", number)],
            );
            let (program, work) = if step.evaluates {
                ("jit_eval_step(2)", evaluation)
            } else {
                ("jit_train_step(1)", matmul)
            };
            let length = step.end - step.running;
            plane.event(MODULES, program, step.running, length, []);
            plane.execution(OPS, work, step.running, work_ps, []);
            if !step.evaluates {
                let instance = [int("all_reduce_unique_id", number)];
                let begin = step.running + work_ps;
                plane.execution(OPS, reduce, begin, step.end - begin, instance);
            }
        }
        plane
    }
}

fn op(name: &str, opcode: &str, ids: [u64; 2]) -> SampleEventMetadata {
    let category = if opcode == "fusion" {
        "convolution fusion"
    } else {
        opcode
    };
    let text = format!("%{name} = bf16[1024]{{0}} {opcode}(bf16[1024]{{0}} %p)");
    SampleEventMetadata::op(&text, category, ids, [])
}

fn host(steps: &[FleetStep], calls: bool) -> SamplePlane {
    let mut plane = SamplePlane::host(700);
    for step in steps {
        let mut add = |name, from, to| plane.event((1, "python"), name, from, to - from, []);
        add("IteratorGetNext", step.begin, step.input_end);
        if step.input_end < step.running {
            add("backend_compile", step.input_end, step.running);
        }
        if calls {
            add(
                "PjitFunction(train_step)",
                step.running,
                step.running + (step.end - step.running) / 100,
            );
        }
        add("block_until_ready", step.running, step.end);
    }
    plane
}
