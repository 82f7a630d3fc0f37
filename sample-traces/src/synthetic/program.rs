//! The program of one training step.

use super::op::{CorePace, InnerOp, SyntheticOp, SyntheticRole};
use super::schedule::SyntheticSchedule;
use super::spec::TrainingSpec;

pub(super) const BF16: u64 = 2;
const F32: u64 = 4;
/// Operations per element of an activation function.
const ACTIVATION_FLOPS: u64 = 10;
/// Operations per weight of the optimizer.
const OPTIMIZER_FLOPS: u64 = 12;
/// Self time of a loop per iteration.
pub(super) const LOOP_OVERHEAD_PS: i64 = 150_000;
/// Number of rows prefetched to VMEM while the optimizer runs.
const PREFETCH_ROWS: u64 = 4096;

#[derive(Debug)]
pub struct SyntheticProgram {
    /// Name without the id.
    pub name: &'static str,
    /// Fingerprint.
    pub id: u64,
    /// Number of tokens of its input.
    pub tokens: u64,
    /// Number of devices that it runs on.
    pub devices: u32,
    /// Sizes of the axes of its mesh, if it states them: data and model.
    pub mesh: Option<[u32; 2]>,
    /// Schedule of one execution.
    pub schedule: SyntheticSchedule,
}

impl SyntheticProgram {
    /// Creates the program of a step of `spec` for this number of tokens.
    pub fn compile(spec: &TrainingSpec, tokens: u64) -> Self {
        let mut compiler = SyntheticCompiler {
            spec,
            tokens,
            hidden: spec.hidden / u64::from(spec.model),
            number: 0,
            out: SyntheticSchedule::new(),
        };
        compiler.forward();
        compiler.backward();
        compiler.update();
        let name = "jit_train_step";
        let id = fingerprint(&format!(
            "{name} {} {} {tokens} {} {}",
            spec.name, spec.chip.id, spec.width, spec.hidden
        ));
        Self {
            name,
            id,
            tokens,
            devices: spec.devices(),
            mesh: spec.states_mesh.then_some([spec.data, spec.model]),
            schedule: compiler.out.close(),
        }
    }

    /// Name with the id, as shown on the timeline.
    pub fn full_name(&self) -> String {
        format!("{}({})", self.name, self.id)
    }
}

/// FNV-1a hash: a 64-bit number that is the same on every machine.
pub(super) fn fingerprint(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

pub(super) struct SyntheticCompiler<'a> {
    pub spec: &'a TrainingSpec,
    pub tokens: u64,
    /// Hidden units of one model shard.
    pub hidden: u64,
    pub number: u32,
    pub out: SyntheticSchedule,
}

impl SyntheticCompiler<'_> {
    fn forward(&mut self) {
        let (tokens, width, hidden) = (self.tokens, self.spec.width, self.hidden);
        if self.spec.data > 1 {
            let gather = self.gather(0);
            self.wait_for(&gather);
        }
        for layer in 0..self.spec.layers {
            let next = (self.spec.data > 1 && layer + 1 < self.spec.layers)
                .then(|| self.gather(layer + 1));
            let place = format!("layer_{layer}/mlp");
            let started = next
                .as_ref()
                .filter(|_| self.spec.overlap)
                .map(|gather| self.start(gather));
            self.matmul(
                [tokens, width, hidden],
                &format!("jvp({place})/up/dot_general"),
                41,
            );
            self.activation(&format!("jvp({place})/gelu"), 42);
            self.matmul(
                [tokens, hidden, width],
                &format!("jvp({place})/down/dot_general"),
                43,
            );
            match (next, started) {
                (Some(gather), Some(pending)) => self.finish(&gather, &pending),
                (Some(gather), None) => self.wait_for(&gather),
                (None, _) => {}
            }
            if self.spec.model > 1 {
                let reduce = self.reduce(&format!("jvp({place})/psum"));
                self.wait_for(&reduce);
            }
        }
    }

    fn backward(&mut self) {
        let (tokens, width, hidden) = (self.tokens, self.spec.width, self.hidden);
        for layer in (0..self.spec.layers).rev() {
            let place = format!("transpose(jvp(layer_{layer}/mlp))");
            self.matmul(
                [tokens, width, hidden],
                &format!("{place}/down/dot_general"),
                43,
            );
            self.activation(&format!("{place}/gelu"), 42);
            self.matmul(
                [tokens, hidden, width],
                &format!("{place}/up/dot_general"),
                41,
            );
            let reduce = (self.spec.model > 1).then(|| self.reduce(&format!("{place}/psum")));
            let started = reduce
                .as_ref()
                .filter(|_| self.spec.overlap)
                .map(|reduce| self.start(reduce));
            if let (Some(reduce), None) = (&reduce, &started) {
                self.wait_for(reduce);
            }
            self.matmul(
                [width, tokens, hidden],
                &format!("{place}/up/weights/dot_general"),
                41,
            );
            self.matmul(
                [hidden, tokens, width],
                &format!("{place}/down/weights/dot_general"),
                43,
            );
            if let (Some(reduce), Some(pending)) = (&reduce, &started) {
                self.finish(reduce, pending);
            }
            if self.spec.data > 1 {
                let scatter = self.scatter(layer);
                self.wait_for(&scatter);
            }
        }
    }

    /// A loop over the layers that updates the weights, with a prefetch in flight at the same time.
    fn update(&mut self) {
        let bytes = PREFETCH_ROWS * self.spec.width * BF16;
        let in_hbm = shape("bf16", &[PREFETCH_ROWS, self.spec.width]);
        let in_vmem = in_hbm.replace(")}", ")S(1)}");
        let number = self.next_number();
        let start = SyntheticOp {
            shape: format!("({in_vmem}, {in_hbm}, u32[]{{:S(2)}})"),
            operands: vec![(in_hbm, "param.0".to_owned())],
            bytes: [bytes, 0, 0],
            ..op(
                &format!("copy-start.{number}"),
                "copy-start",
                SyntheticRole::CopyStart,
            )
        };
        let done = SyntheticOp {
            shape: in_vmem,
            operands: vec![(start.shape.clone(), start.name.clone())],
            ..op(
                &format!("copy-done.{number}"),
                "copy-done",
                SyntheticRole::CopyDone,
            )
        };
        let pending = self.out.start(start, self.pace().hbm_ps(bytes));

        let weights = 2 * self.spec.width * self.hidden / u64::from(self.spec.data);
        let shard = shape("f32", &[weights]);
        let (read, write) = (weights * (BF16 + 3 * F32), weights * (BF16 + 2 * F32));
        let number = self.next_number();
        let flops = weights * OPTIMIZER_FLOPS;
        let body = SyntheticOp {
            shape: shard.clone(),
            operands: vec![(shard.clone(), "arg.1".to_owned())],
            attributes: format!(", kind=kLoop, calls=%fused_computation.{number}"),
            framework_name: "jit(train_step)/jit(main)/while/body/adam:".to_owned(),
            source_line: 57,
            dur_ps: self.pace().op_ps(flops, 1.0, read + write),
            flops,
            bytes: [read, write, 0],
            inner: InnerOp::Elementwise,
            ..op(
                &format!("fusion.{number}"),
                "loop fusion",
                SyntheticRole::Vector,
            )
        };
        let layers = u64::from(self.spec.layers);
        let outer = SyntheticOp {
            shape: format!("(s32[]{{:T(128)}}, {shard})"),
            operands: vec![(format!("(s32[]{{:T(128)}}, {shard})"), "tuple.1".to_owned())],
            attributes: format!(", condition=%condition.{number}, body=%body.{number}"),
            framework_name: "jit(train_step)/jit(main)/while:".to_owned(),
            source_line: 55,
            flops: flops * layers,
            bytes: [read * layers, write * layers, 0],
            ..op(&format!("while.{number}"), "while", SyntheticRole::Loop)
        };
        self.out
            .repeat(outer, vec![body], self.spec.layers, LOOP_OVERHEAD_PS);
        self.out.finish(&pending, done);
    }

    /// Adds a product of `[rows, inner]` and `[inner, columns]`.
    fn matmul(&mut self, [rows, inner, columns]: [u64; 3], framework_name: &str, source_line: u32) {
        let number = self.next_number();
        let flops = 2 * rows * inner * columns;
        let (read, write) = (
            BF16 * (rows * inner + inner * columns),
            BF16 * rows * columns,
        );
        let fill = self.spec.chip.padding_efficiency(rows, inner, columns);
        self.out.run(SyntheticOp {
            shape: shape("bf16", &[rows, columns]),
            operands: vec![
                (shape("bf16", &[rows, inner]), format!("lhs.{number}")),
                (shape("bf16", &[inner, columns]), format!("rhs.{number}")),
            ],
            attributes: format!(", kind=kOutput, calls=%fused_computation.{number}"),
            framework_name: format!("jit(train_step)/jit(main)/{framework_name}:"),
            source_line,
            dur_ps: self.pace().op_ps(flops, fill, read + write),
            flops,
            bytes: [read, write, write],
            inner: InnerOp::Product,
            ..op(
                &format!("fusion.{number}"),
                "convolution fusion",
                SyntheticRole::Matmul,
            )
        });
    }

    fn activation(&mut self, framework_name: &str, source_line: u32) {
        let number = self.next_number();
        let elements = self.tokens * self.hidden;
        let shape = shape("bf16", &[self.tokens, self.hidden]);
        let flops = ACTIVATION_FLOPS * elements;
        self.out.run(SyntheticOp {
            operands: vec![(shape.clone(), format!("fusion.{}", number - 1))],
            shape,
            attributes: format!(", kind=kLoop, calls=%fused_computation.{number}"),
            framework_name: format!("jit(train_step)/jit(main)/{framework_name}:"),
            source_line,
            dur_ps: self.pace().op_ps(flops, 1.0, 2 * BF16 * elements),
            flops,
            bytes: [BF16 * elements, BF16 * elements, 0],
            inner: InnerOp::Elementwise,
            ..op(
                &format!("fusion.{number}"),
                "loop fusion",
                SyntheticRole::Vector,
            )
        });
    }

    pub(super) fn next_number(&mut self) -> u32 {
        self.number += 1;
        self.number
    }

    pub(super) fn pace(&self) -> CorePace<'_> {
        CorePace { spec: self.spec }
    }
}

pub(super) fn op(name: &str, category: &'static str, role: SyntheticRole) -> SyntheticOp {
    SyntheticOp {
        name: name.to_owned(),
        category,
        role,
        opcode: if category.ends_with(" fusion") {
            "fusion"
        } else {
            category
        },
        ..SyntheticOp::default()
    }
}

/// A shape with the usual layout: last dimension fastest, tiled for its type.
pub(super) fn shape(element: &str, dimensions: &[u64]) -> String {
    let list = |values: Vec<u64>| trace_model::joined(&values, ",");
    let order = list((0..dimensions.len() as u64).rev().collect());
    let tiles = match (element, dimensions.len()) {
        (_, 1) => "T(1024)",
        ("bf16", _) => "T(8,128)(2,1)",
        _ => "T(8,128)",
    };
    format!(
        "{element}[{}]{{{order}:{tiles}}}",
        list(dimensions.to_vec())
    )
}
