//! A matrix multiplication whose left side is gathered around a ring, chunk by
//! chunk, on the four chips of a 2×2 of v5p, with answers in closed form.
//!
//! ```text
//! serial      s ddddd s ddddd s ddddd [matmul of all chunks] r
//! overlapped  s [chunk] dd s [chunk] dd s [chunk] dd [chunk] r
//! ```
//!
//! Each `s` issues a `collective-permute-start`, each `d` waits in its done, and the
//! span between is in flight on the line of asynchronous ops. At the end all chips
//! meet in a synchronous all-reduce `r`; one chip may come late to it.

use trace_model::{
    DeviceInfo, GroupId, GroupKind, LabelId, Op, Picos, SliceAttr, SliceSpec, TimeRange, Timestamp, TraceBuilder,
    TraceModel, TrackId, TrackKind,
};

/// How the run is made. Times in picoseconds.
#[derive(Clone, Copy, Debug)]
pub struct RingSpec {
    /// Matmuls of chunks run while the next chunk is in flight.
    pub overlapped: bool,
    /// One chunk from chip to chip.
    pub transfer_ps: i64,
    /// The matmul of one chunk.
    pub matmul_ps: i64,
    /// The all-reduce, for the chip that comes last.
    pub reduce_ps: i64,
    /// By how much the chip 2 comes late to it, because it computes more.
    pub late_ps: i64,
}

/// Chips in the ring.
pub const CHIPS: i64 = 4;
/// Bytes of one chunk.
pub const CHUNK_BYTES: i64 = 131_072;
/// Bytes that the all-reduce sums.
pub const REDUCE_BYTES: i64 = 524_288;
/// To issue a transfer.
const ISSUE_PS: i64 = 10_000;

impl RingSpec {
    /// In flight behind a matmul, on each chip.
    pub fn hidden_ps(&self) -> i64 {
        if self.overlapped { (CHIPS - 1) * self.matmul_ps } else { 0 }
    }

    /// In flight without, on each chip, and the all-reduce on the chip `chip`.
    pub fn exposed_ps(&self, chip: i64) -> i64 {
        (CHIPS - 1) * self.flight_ps() - self.hidden_ps() + self.reduce_ps + self.wait_ps(chip)
    }

    /// How long a chip waits for the late one.
    pub fn wait_ps(&self, chip: i64) -> i64 {
        if chip == 2 { 0 } else { self.late_ps }
    }

    /// From a start to the end of its done: a matmul may end after the transfer.
    fn flight_ps(&self) -> i64 {
        if self.overlapped { self.transfer_ps.max(ISSUE_PS + self.matmul_ps) } else { self.transfer_ps }
    }

    /// The run.
    pub fn build(&self) -> TraceModel {
        let mut out = TraceBuilder::new();
        for chip in 0..CHIPS {
            let kind = GroupKind::TensorCore { ordinal: chip as u32 };
            let core = out.group(None, kind, &format!("/device:TPU:{chip}"));
            out.group_mut(core).device =
                Some(DeviceInfo { type_name: Some("TPU v5p".to_owned()), ..DeviceInfo::default() });
            self.add_chip(&mut out, core, chip);
        }
        out.finish()
    }

    fn add_chip(&self, out: &mut TraceBuilder, core: GroupId, chip: i64) {
        let ops = out.track(core, TrackKind::Ops, 1, "XLA Ops");
        let flight = out.track(core, TrackKind::AsyncOps, 2, "Async XLA Ops");
        let mut line = Line { out, ops, at: 0 };
        for step in 1..CHIPS {
            let begin = line.at;
            let start = line.start(step);
            line.op(start, ISSUE_PS);
            if self.overlapped {
                let matmul = line.matmul(step);
                line.op(matmul, self.matmul_ps);
            }
            let done = line.done(step);
            line.op(done, begin + self.transfer_ps - line.at);
            let name = line.out.intern(&format!("collective-permute-done.{step}"));
            let span = line.out.add_slice(flight, SliceSpec::new(range(begin, line.at), start));
            line.out.set_attr(span, SliceAttr::DoneOp, name.index() as i64);
        }
        let rest = if self.overlapped { 1 } else { CHIPS };
        let matmul = line.matmul(CHIPS);
        let late = if chip == 2 { self.late_ps } else { 0 };
        line.op(matmul, rest * self.matmul_ps + late);
        let reduce = line.reduce();
        line.op(reduce, self.reduce_ps + self.wait_ps(chip));
    }
}

fn range(start: i64, end: i64) -> TimeRange {
    TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
}

/// The op track of one chip, and the time up to which it is written.
struct Line<'a> {
    out: &'a mut TraceBuilder,
    ops: TrackId,
    at: i64,
}

impl Line<'_> {
    fn op(&mut self, label: LabelId, dur: i64) {
        let dur = Picos::from_ps(dur.max(0));
        if dur > Picos::ZERO {
            self.out.add_slice(self.ops, SliceSpec::new(range(self.at, self.at + dur.ps()), label));
            self.at += dur.ps();
        }
    }

    fn label(&mut self, name: &str, category: &str, text: &str) -> LabelId {
        let text = format!("%{name} = {text}");
        let (name_id, category, text) = (self.out.intern(name), self.out.intern(category), self.out.intern(&text));
        let op = Op { name: name_id, category: Some(category), hlo_text: Some(text), ..Op::default() };
        let op = self.out.op(op);
        self.out.label(name, Some(op))
    }

    fn start(&mut self, step: i64) -> LabelId {
        let text = "(bf16[65536]{0}, bf16[65536]{0}, u32[]{:S(2)}, u32[]{:S(2)}) collective-permute-start(\
                    bf16[65536]{0} %x), channel_id=1, source_target_pairs={{0,1},{1,3},{3,2},{2,0}}";
        self.label(&format!("collective-permute-start.{step}"), "collective-permute-start", text)
    }

    fn done(&mut self, step: i64) -> LabelId {
        let name = format!("collective-permute-done.{step}");
        let text = format!("bf16[65536]{{0}} collective-permute-done(%collective-permute-start.{step})");
        self.label(&name, "collective-permute-done", &text)
    }

    fn matmul(&mut self, step: i64) -> LabelId {
        let text = "f32[256,512]{1,0} fusion(bf16[256,256]{1,0} %x, bf16[256,512]{1,0} %w), kind=kOutput, calls=%f";
        self.label(&format!("fusion.{step}"), "convolution fusion", text)
    }

    fn reduce(&mut self) -> LabelId {
        let text = "f32[131072]{0} all-reduce(f32[131072]{0} %y), channel_id=2, replica_groups=[1,4]<=[4], \
                    use_global_device_ids=true, to_apply=%add";
        self.label("all-reduce.1", "all-reduce", text)
    }
}
