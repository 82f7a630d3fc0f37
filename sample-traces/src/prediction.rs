//! One layer of a training step in two forms: as XLA's compiler predicts it (scheduled HLO with
//! `estimated_cycles`) and as a profiler records it on four chips, with known ratios between them.
//!
//! ```text
//! predicted   fusion.1 [   734][100][    720][ 284][40]
//! measured    fusion.1 [    807][  180][95][12][    756][  397][30]      µs
//! ```
//!
//! The compiler has no estimate for the kernel and for the wait for the copy.

use std::fmt::Write as _;

use crate::rare::{REMARK, device, session};
use crate::session::{OPS, SamplePlane, SampleSession, int, shared};
use crate::synthetic::SyntheticChip;

/// An op with its predicted and its measured time.
#[derive(Clone, Copy, Debug)]
pub struct OpAndPrediction {
    /// Name, the same in the prediction and in the capture.
    pub name: &'static str,
    /// The compiler's estimate; `None` if it has none.
    pub predicted_ps: Option<i64>,
    pub measured_ps: i64,
    category: &'static str,
    /// Shape of its result.
    shape: &'static str,
    /// Rest of the HLO text after the shape.
    rest: &'static str,
    line: u32,
}

impl OpAndPrediction {
    fn instruction(&self) -> String {
        format!("%{} = {} {}", self.name, self.shape, self.rest)
    }
}

/// Number of chips, which all run the program in the same way.
pub const CHIPS: u32 = 4;
/// Number of steps in the capture.
pub const STEPS: i64 = 10;

const US: i64 = 1_000_000;
const CYCLES_PER_US: i64 = 1500;
/// Bytes that the all-reduce sums.
const REDUCED: f64 = 4096.0 * 2048.0 * 2.0;

const ACTIVATIONS: &str = "bf16[4096,2048]{1,0:T(8,128)(2,1)}";
const HIDDEN: &str = "bf16[4096,8192]{1,0:T(8,128)(2,1)}";
const DOWN: &str = "bf16[8192,2048]{1,0:T(8,128)(2,1)S(1)}";
const COPY: &str =
    "(bf16[8192,2048]{1,0:T(8,128)(2,1)S(1)}, bf16[8192,2048]{1,0:T(8,128)(2,1)}, u32[]{:S(2)})";

/// Operations of each of the two matrix products.
const PRODUCT_FLOPS: i64 = 2 * 4096 * 2048 * 8192;

/// An all-reduce on a ring of four v5e: twice two hops of 1 µs, and three quarters of
/// the array over two links of 45 GB/s.
fn all_reduce_ps() -> i64 {
    (2.0 * (2e-6 + 0.75 * REDUCED / 90e9) * 1e12).round() as i64
}

/// All ops of the program that take time, in execution order.
pub fn ops() -> Vec<OpAndPrediction> {
    let op = |name, predicted_ps: Option<i64>, measured_ps, category, shape, rest, line| {
        OpAndPrediction {
            name,
            predicted_ps,
            measured_ps,
            category,
            shape,
            rest,
            line,
        }
    };
    // Measured over predicted: 1.1, 1.8, –, –, 1.05, 1.4, 0.75.
    let reduce = all_reduce_ps();
    vec![
        op(
            "fusion.1",
            Some(734 * US),
            807_400_000,
            "convolution fusion",
            HIDDEN,
            UP_PROJECTION,
            21,
        ),
        op(
            "fusion.2",
            Some(100 * US),
            180 * US,
            "loop fusion",
            HIDDEN,
            GELU,
            22,
        ),
        op(
            "attention.1",
            None,
            95 * US,
            "custom-call",
            ACTIVATIONS,
            KERNEL,
            25,
        ),
        op(
            "copy-done.1",
            None,
            12 * US,
            "copy-done",
            DOWN,
            "copy-done(%copy-start.1)",
            27,
        ),
        op(
            "fusion.3",
            Some(720 * US),
            756 * US,
            "convolution fusion",
            ACTIVATIONS,
            DOWN_PROJECTION,
            27,
        ),
        op(
            "all-reduce.1",
            Some(reduce),
            reduce + reduce * 2 / 5,
            "all-reduce",
            ACTIVATIONS,
            REDUCE,
            28,
        ),
        op(
            "fusion.4",
            Some(40 * US),
            30 * US,
            "loop fusion",
            ACTIVATIONS,
            NORM,
            30,
        ),
    ]
}

const UP_PROJECTION: &str = "fusion(%x, %up), kind=kOutput, calls=%fused_up";
const GELU: &str = "fusion(%fusion.1), kind=kLoop, calls=%fused_gelu";
const KERNEL: &str = "custom-call(%x), custom_call_target=\"tpu_custom_call\"";
const DOWN_PROJECTION: &str = "fusion(%fusion.2, %copy-done.1), kind=kOutput, calls=%fused_down";
const REDUCE: &str = "all-reduce(%fusion.3), channel_id=1, replica_groups={{0,1,2,3}}, use_global_device_ids=true, to_apply=%add";
const NORM: &str = "fusion(%all-reduce.1), kind=kLoop, calls=%fused_norm";

/// The program as the compiler writes it, for v5e. The text does not name the chip, so the file name must.
pub fn predicted() -> String {
    let mut text = format!(
        "HloModule jit_layer, is_scheduled=true, num_partitions={CHIPS}\n\n// {REMARK}\n\n{CALLED}"
    );
    let _ = writeln!(
        text,
        "ENTRY %main (x: bf16[4096,2048]) -> bf16[4096,2048] {{"
    );
    let up = "bf16[2048,8192]{1,0:T(8,128)(2,1)}";
    for (number, (name, shape)) in [
        ("x", ACTIVATIONS),
        ("up", up),
        ("down", "bf16[8192,2048]{1,0:T(8,128)(2,1)}"),
    ]
    .into_iter()
    .enumerate()
    {
        let _ = writeln!(text, "  %{name} = {shape} parameter({number})");
    }
    let _ = writeln!(text, "  %copy-start.1 = {COPY} copy-start(%down)");
    let ops = ops();
    for (at, op) in ops.iter().enumerate() {
        let root = if at + 1 == ops.len() { "ROOT " } else { "" };
        let _ = write!(
            text,
            "  {root}{}, metadata={{source_file=\"layer.py\" source_line={}}}",
            op.instruction(),
            op.line
        );
        // The text has no estimate for communication; the importer models it.
        let cycles = op
            .predicted_ps
            .filter(|_| op.category != "all-reduce")
            .map(|ps| ps / US * CYCLES_PER_US);
        if let Some(cycles) = cycles {
            let _ = write!(
                text,
                ", backend_config={{\"window_config\":{{\"estimated_cycles\":\"{cycles}\"}}}}"
            );
        }
        text.push('\n');
    }
    text + "}\n"
}

/// Computations that the ops call.
const CALLED: &str = "%add (a: bf16[], b: bf16[]) -> bf16[] {
  %a = bf16[] parameter(0)
  %b = bf16[] parameter(1)
  ROOT %sum = bf16[] add(%a, %b)
}

%fused_up (p0: bf16[4096,2048], p1: bf16[2048,8192]) -> bf16[4096,8192] {
  %p0 = bf16[4096,2048]{1,0} parameter(0)
  %p1 = bf16[2048,8192]{1,0} parameter(1)
  ROOT %convolution.1 = bf16[4096,8192]{1,0} convolution(%p0, %p1), dim_labels=bf_io->bf
}

%fused_gelu (p2: bf16[4096,8192]) -> bf16[4096,8192] {
  %p2 = bf16[4096,8192]{1,0} parameter(0)
  ROOT %multiply.1 = bf16[4096,8192]{1,0} multiply(%p2, %p2)
}

%fused_down (p3: bf16[4096,8192], p4: bf16[8192,2048]) -> bf16[4096,2048] {
  %p3 = bf16[4096,8192]{1,0} parameter(0)
  %p4 = bf16[8192,2048]{1,0} parameter(1)
  ROOT %convolution.2 = bf16[4096,2048]{1,0} convolution(%p3, %p4), dim_labels=bf_io->bf
}

%fused_norm (p5: bf16[4096,2048]) -> bf16[4096,2048] {
  %p5 = bf16[4096,2048]{1,0} parameter(0)
  ROOT %multiply.2 = bf16[4096,2048]{1,0} multiply(%p5, %p5)
}

";

/// The capture of a run of the same program.
pub fn measured() -> SampleSession {
    session("layer", (0..CHIPS).map(chip).collect())
}

fn chip(ordinal: u32) -> SamplePlane {
    let mut plane = device(ordinal, &SyntheticChip::V5E);
    let source = |line: u32| shared("source", format!("layer.py:{line}"));
    let start = plane.op(
        &format!("%copy-start.1 = {COPY} copy-start(%down)"),
        "copy-start",
        [source(27)],
    );
    let pairs = ops();
    let known: Vec<usize> = pairs
        .iter()
        .map(|pair| {
            let mut facts = vec![source(pair.line)];
            if pair.category == "convolution fusion" {
                facts.extend([
                    int("flops", PRODUCT_FLOPS),
                    int("model_flops", PRODUCT_FLOPS),
                ]);
            }
            plane.op(&pair.instruction(), pair.category, facts)
        })
        .collect();
    let mut at = 1000 * US;
    for step in 0..STEPS {
        let begin = at;
        // Issuing a copy takes too little time to be visible.
        plane.execution(OPS, start, at, 0, []);
        for (pair, &metadata) in pairs.iter().zip(&known) {
            plane.execution(OPS, metadata, at, pair.measured_ps, []);
            at += pair.measured_ps;
        }
        plane.run("jit_layer(4711)", step + 1, begin, at - begin);
    }
    plane.sort();
    plane
}
