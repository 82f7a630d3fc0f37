//! A matrix multiplication whose left operand is gathered around a ring, chunk by
//! chunk, on four v5p chips (2×2), with expected answers in closed form.
//!
//! ```text
//! serial      s ddddd s ddddd s ddddd [matmul of all chunks] r
//! overlapped  s [chunk] dd s [chunk] dd s [chunk] dd [chunk] r
//! ```
//!
//! `s` is a `collective-permute-start`, `d` is the wait in the corresponding done op. The
//! in-flight span from one to the other is on the async line. At the end all chips take part
//! in a synchronous all-reduce `r`; one chip may reach it late.

use crate::rare::{MODULE, device, session};
use crate::session::{LineKey, OPS, SamplePlane, SampleSession, int, shared};
use crate::synthetic::SyntheticChip;

/// Parameters of the run. Times are in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RingSpec {
    /// Whether the matmul of a chunk runs while the next chunk is in flight.
    pub overlapped: bool,
    /// Transfer time of one chunk from chip to chip.
    pub transfer_ps: i64,
    /// Duration of the matmul of one chunk.
    pub matmul_ps: i64,
    /// Duration of the all-reduce on the chip that reaches it last.
    pub reduce_ps: i64,
    /// How much later chip 2 reaches the all-reduce, because it computes more.
    pub late_ps: i64,
    /// Number of repetitions of the whole sequence.
    pub runs: i64,
}

impl Default for RingSpec {
    /// A chunk takes 1.31 µs at 100 GB/s plus about 1 µs for the hop; its matmul takes
    /// 2.6 µs at 90 % of the peak.
    fn default() -> Self {
        Self {
            overlapped: true,
            transfer_ps: 2_425_000,
            matmul_ps: 2_600_000,
            reduce_ps: 10_000_000,
            late_ps: 0,
            runs: 8,
        }
    }
}

/// Number of chips in the ring.
pub const CHIPS: i64 = 4;
pub const CHUNK_BYTES: i64 = 131_072;
/// Bytes that the all-reduce sums.
pub const REDUCE_BYTES: i64 = 524_288;
/// Time to issue a transfer.
const ISSUE_PS: i64 = 10_000;

impl RingSpec {
    /// Communication hidden by matmuls, per chip and run.
    pub fn hidden_ps(&self) -> i64 {
        if self.overlapped {
            (CHIPS - 1) * self.matmul_ps
        } else {
            0
        }
    }

    /// Exposed communication, including the all-reduce, on `chip` in each run.
    pub fn exposed_ps(&self, chip: i64) -> i64 {
        (CHIPS - 1) * self.flight_ps() - self.hidden_ps() + self.reduce_ps + self.wait_ps(chip)
    }

    /// Time that a chip waits for the late one.
    pub fn wait_ps(&self, chip: i64) -> i64 {
        if chip == 2 { 0 } else { self.late_ps }
    }

    /// Time from a start op to the end of its done op, which is longer than the transfer if a matmul ends later.
    fn flight_ps(&self) -> i64 {
        if self.overlapped {
            self.transfer_ps.max(ISSUE_PS + self.matmul_ps)
        } else {
            self.transfer_ps
        }
    }

    pub fn session(&self) -> SampleSession {
        let planes = (0..CHIPS).map(|chip| self.chip(chip)).collect();
        session("ring", planes)
    }

    fn chip(&self, chip: i64) -> SamplePlane {
        let mut line = RingLine {
            plane: device(chip as u32, &SyntheticChip::V5P),
            at: BEGIN_PS,
        };
        let ops = RingOps::new(&mut line.plane);
        for run in 0..self.runs {
            let begin = line.at;
            self.run(&mut line, &ops, chip);
            let length = line.at - begin;
            line.plane.run(MODULE, run + 1, begin, length);
        }
        line.plane.sort();
        line.plane
    }

    fn run(&self, line: &mut RingLine, ops: &RingOps, chip: i64) {
        for step in 0..STEPS {
            let begin = line.at;
            line.op(ops.starts[step], ISSUE_PS);
            if self.overlapped {
                line.op(ops.matmuls[step], self.matmul_ps);
            }
            line.op(ops.dones[step], begin + self.transfer_ps - line.at);
            let length = line.at - begin;
            line.plane
                .execution(FLIGHT, ops.starts[step], begin, length, []);
        }
        let late = if chip == 2 { self.late_ps } else { 0 };
        if self.overlapped {
            line.op(ops.matmuls[STEPS], self.matmul_ps + late);
        } else {
            line.op(ops.whole, CHIPS * self.matmul_ps + late);
        }
        line.op(ops.reduce, self.reduce_ps + self.wait_ps(chip));
    }
}

/// Number of transfers that gather all chunks.
const STEPS: usize = CHIPS as usize - 1;
const FLIGHT: LineKey<'_> = (5, "Async XLA Ops");
const BEGIN_PS: i64 = 1_000_000_000;

/// The plane of one chip while it is written, and the time reached so far.
struct RingLine {
    plane: SamplePlane,
    at: i64,
}

impl RingLine {
    fn op(&mut self, metadata: usize, dur_ps: i64) {
        if dur_ps > 0 {
            self.plane.execution(OPS, metadata, self.at, dur_ps, []);
            self.at += dur_ps;
        }
    }
}

/// The ops of the program.
struct RingOps {
    starts: Vec<usize>,
    dones: Vec<usize>,
    /// Matmuls of one chunk each.
    matmuls: Vec<usize>,
    /// Matmul of all chunks.
    whole: usize,
    reduce: usize,
}

impl RingOps {
    fn new(plane: &mut SamplePlane) -> Self {
        let start = |step: usize| {
            format!(
                "%collective-permute-start.{step} = \
                 (bf16[256,256]{{1,0}}, bf16[256,256]{{1,0}}, u32[]{{:S(2)}}, u32[]{{:S(2)}}) \
                 collective-permute-start(bf16[256,256]{{1,0}} %x), channel_id=1, \
                 source_target_pairs={{{{0,1}},{{1,3}},{{3,2}},{{2,0}}}}"
            )
        };
        let done = |step: usize| {
            format!(
                "%collective-permute-done.{step} = bf16[256,256]{{1,0}} \
                 collective-permute-done(%collective-permute-start.{step})"
            )
        };
        let reduce = "%all-reduce.1 = f32[131072]{0} all-reduce(f32[131072]{0} %y), channel_id=2, \
                      replica_groups=[1,4]<=[4], use_global_device_ids=true, to_apply=%add";
        let mut gather = |step, text: fn(usize) -> String, category| {
            plane.op(&text(step), category, [shared("source", "ring.py:18")])
        };
        let steps = 1..=STEPS;
        Self {
            starts: steps
                .clone()
                .map(|step| gather(step, start, "collective-permute-start"))
                .collect(),
            dones: steps
                .map(|step| gather(step, done, "collective-permute-done"))
                .collect(),
            matmuls: (1..=STEPS + 1)
                .map(|step| matmul(plane, &format!("fusion.{step}"), 1))
                .collect(),
            whole: matmul(plane, "fusion.9", CHIPS),
            reduce: plane.op(reduce, "all-reduce", [shared("source", "ring.py:30")]),
        }
    }
}

/// Adds the product of this number of chunks with weights in VMEM.
fn matmul(plane: &mut SamplePlane, name: &str, chunks: i64) -> usize {
    let (rows, inner, columns) = (256 * chunks, 256, 8192);
    let text = format!(
        "%{name} = bf16[{rows},{columns}]{{1,0:T(8,128)(2,1)S(1)}} fusion(bf16[{rows},{inner}]{{1,0:T(8,128)(2,1)}} %x, \
         bf16[{inner},{columns}]{{1,0:T(8,128)(2,1)S(1)}} %w), kind=kOutput, calls=%fused_matmul"
    );
    let flops = 2 * rows * inner * columns;
    let facts = [
        int("flops", flops),
        int("model_flops", flops),
        int("bytes_accessed", 2 * rows * inner),
        shared("source", "ring.py:21"),
    ];
    plane.op(&text, "convolution fusion", facts)
}
