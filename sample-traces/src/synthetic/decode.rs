//! A program that generates tokens in a loop that appends to a cache.

use super::op::{CorePace, InnerOp, SyntheticOp, SyntheticRole};
use super::program::{LOOP_OVERHEAD_PS, SyntheticProgram, fingerprint, op, shape};
use super::schedule::SyntheticSchedule;
use super::spec::TrainingSpec;

const BF16: u64 = 2;

/// A loop over generated tokens. Each iteration projects the state, writes a row into
/// the cache, and mixes the result with the weights of the next layer.
#[derive(Clone, Copy, Debug)]
pub struct DecodeSpec {
    /// Number of sequences that are generated together.
    pub batch: u64,
    /// Number of rows of the cache.
    pub cache: u64,
    /// Number of tokens to generate, which is the number of loop iterations.
    pub tokens: u32,
}

impl DecodeSpec {
    /// The program of one step.
    pub(super) fn compile(self, spec: &TrainingSpec) -> SyntheticProgram {
        let (width, pace) = (spec.width, CorePace { spec });
        let state = shape("bf16", &[self.batch, width]);
        let cache = shape("bf16", &[self.batch, self.cache, width]);
        let weights = shape("bf16", &[width, width]);
        let framework = |name: &str| format!("jit(decode)/jit(main)/while/body/{name}:");

        let flops = 2 * self.batch * width * width;
        let (read, write) = (
            BF16 * width * (self.batch + width),
            BF16 * self.batch * width,
        );
        let fill = spec.chip.padding_efficiency(self.batch, width, width);
        let project = SyntheticOp {
            shape: state.clone(),
            operands: vec![
                (state.clone(), "state".to_owned()),
                (weights.clone(), "weights".to_owned()),
            ],
            attributes: ", kind=kOutput, calls=%fused_computation.1".to_owned(),
            framework_name: framework("dot_general"),
            source_line: 21,
            dur_ps: pace.op_ps(flops, fill, read + write),
            flops,
            bytes: [read, write, 0],
            inner: InnerOp::Product,
            ..op("fusion.1", "convolution fusion", SyntheticRole::Matmul)
        };
        let row = BF16 * self.batch * width;
        let update = SyntheticOp {
            shape: cache.clone(),
            operands: vec![
                (cache.clone(), "cache".to_owned()),
                (state.clone(), "fusion.1".to_owned()),
                ("s32[]{:T(128)}".to_owned(), "position".to_owned()),
            ],
            attributes: ", kind=kLoop, calls=%fused_computation.2".to_owned(),
            framework_name: framework("dynamic_update_slice"),
            source_line: 22,
            dur_ps: pace.hbm_ps(2 * row),
            bytes: [row, row, 0],
            inner: InnerOp::Update,
            ..op("fusion.2", "loop fusion", SyntheticRole::Vector)
        };
        // The counter, then the other elements in the order in which the body reads them.
        let carried = format!("(s32[]{{:T(128)}}, {state}, {weights}, {cache}, s32[]{{:T(128)}})");
        let iterations = u64::from(self.tokens);
        let outer = SyntheticOp {
            shape: carried.clone(),
            operands: vec![(carried, "tuple.1".to_owned())],
            attributes: ", condition=%condition.3, body=%body.3".to_owned(),
            framework_name: "jit(decode)/jit(main)/while:".to_owned(),
            source_line: 20,
            flops: flops * iterations,
            bytes: [(read + row) * iterations, (write + row) * iterations, 0],
            ..op("while.3", "while", SyntheticRole::Loop)
        };
        let mut schedule = SyntheticSchedule::new();
        schedule.repeat(outer, vec![project, update], self.tokens, LOOP_OVERHEAD_PS);
        let name = "jit_decode";
        let id = fingerprint(&format!("{name} {} {width} {self:?}", spec.chip.id));
        SyntheticProgram {
            name,
            id,
            tokens: spec.tokens,
            mesh: None,
            devices: spec.devices(),
            schedule: schedule.close(),
        }
    }
}
