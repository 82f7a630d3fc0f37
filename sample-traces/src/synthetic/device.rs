//! The planes of the synthetic devices.

use super::clock::SyntheticStepTimes;
use super::op::{SyntheticOp, SyntheticRole};
use super::program::SyntheticProgram;
use super::run::{REMARK, SyntheticRun};
use super::spec::{AsyncLine, TrainingSpec};
use crate::session::{
    LineKey, MODULES, OPS, STEPS, SampleEventMetadata, SamplePlane, SampleStat, bytes, double, int,
    shared, text, uint,
};
use crate::write::ProtoMessage;

const ASYNC: LineKey<'_> = (4, "Async XLA Ops");
const SCOPES: LineKey<'_> = (6, "XLA TraceMe");
/// Origin of the event offsets of all lines.
const LINE_ORIGIN_NS: i64 = 1_000_000;

/// The plane of device `ordinal`.
pub(super) fn device_plane(run: &SyntheticRun, ordinal: u32) -> SamplePlane {
    let ahead = LINE_ORIGIN_NS * 1000 + run.spec.device_clock_ahead.ps();
    let mut plane = SamplePlane::device(ordinal, ahead, facts(&run.spec, ordinal));
    let steps = run.spec.steps_line.then_some(STEPS);
    for line in steps.into_iter().chain([MODULES, OPS, ASYNC, SCOPES]) {
        plane.line(line).timestamp_ns = LINE_ORIGIN_NS;
    }
    let first_op: Vec<usize> = run
        .programs
        .iter()
        .map(|program| add_op_metadata(&mut plane, program))
        .collect();
    let mut writer = DeviceWriter {
        run,
        plane,
        flow: 0,
    };
    for step in &run.steps {
        writer.step(step, ordinal, first_op[step.program]);
    }
    writer.plane.sort();
    writer.plane
}

fn facts(spec: &TrainingSpec, ordinal: u32) -> Vec<SampleStat> {
    let chip = &spec.chip;
    let mut core = ProtoMessage::default();
    for field in [2, 4, 5, 6] {
        core.uint(field, u64::from(ordinal));
    }
    let mut facts = vec![
        bytes("core_details", core.into_bytes()),
        text("device_type_string", chip.type_name),
        double("peak_teraflops_per_second", chip.peak_teraflops),
        double("peak_hbm_bw_gigabytes_per_second", chip.hbm_gigabytes),
    ];
    for memory in ["cmem", "vmem", "sram"] {
        let (read, write) = if memory == "cmem" {
            (0.0, 0.0)
        } else {
            chip.vmem_gigabytes
        };
        for (way, peak) in [("rd", read), ("wr", write)] {
            let name = format!("peak_{memory}_{way}_bw_gigabytes_per_second");
            facts.push(double(&name, peak));
        }
    }
    facts.extend([
        int("has_megacore", i64::from(chip.megacore)),
        int("has_merged_vmem", 1),
        text("synthetic", REMARK),
    ]);
    facts
}

/// Adds the constant facts about each op of a program; returns the index of the first op.
fn add_op_metadata(plane: &mut SamplePlane, program: &SyntheticProgram) -> usize {
    let first = plane.metadata.len();
    for (op, symbol) in program.schedule.ops.iter().zip(1..) {
        let (ids, facts) = ([program.id, symbol], op_facts(op, symbol));
        plane.add(SampleEventMetadata::op(&op.text(), op.category, ids, facts));
    }
    first
}

fn op_facts(op: &SyntheticOp, symbol: u64) -> Vec<SampleStat> {
    let mut facts = vec![
        uint("flops", op.flops),
        uint("model_flops", op.flops),
        uint("bytes_accessed", op.all_bytes()),
        uint("raw_bytes_accessed", op.all_bytes()),
        bytes("memory_access_breakdown", memory_breakdown(op)),
        shared("shape_with_layout", op.shape.clone()),
    ];
    if !op.framework_name.is_empty() {
        let line = op.source_line;
        facts.extend([
            shared("tf_op", op.framework_name.clone()),
            shared("source", format!("train.py:{line}")),
            text(
                "source_stack",
                format!("train.py:80:0\ntrain.py:{line}:0\n"),
            ),
        ]);
    }
    if op.role == SyntheticRole::SyncCollective {
        facts.push(int("all_reduce_id", symbol as i64));
    }
    facts
}

/// Bytes by memory, in the protobuf message that the profiler embeds.
fn memory_breakdown(op: &SyntheticOp) -> Vec<u8> {
    const READ: u64 = 1;
    const WRITE: u64 = 2;
    const HBM: u64 = 1;
    const VMEM: u64 = 3;
    let mut out = ProtoMessage::default();
    for ((access, space), bytes) in [(READ, HBM), (WRITE, HBM), (READ, VMEM)]
        .into_iter()
        .zip(op.bytes)
    {
        if bytes > 0 {
            out.message(1, |out| {
                out.uint(1, access);
                out.uint(2, space);
                out.uint(3, bytes);
            });
        }
    }
    out.into_bytes()
}

struct DeviceWriter<'a> {
    run: &'a SyntheticRun,
    plane: SamplePlane,
    flow: i64,
}

impl DeviceWriter<'_> {
    fn step(&mut self, step: &SyntheticStepTimes, ordinal: u32, first_op: usize) {
        let program = &self.run.programs[step.program];
        let (number, begin) = (i64::from(step.step), step.device.0);
        if self.run.spec.steps_line {
            let group = [int("group_id", number)];
            self.event(STEPS, &number.to_string(), step.device_step(), group);
        }
        let run_id = number + 100;
        let facts = [
            int("run_id", run_id),
            int("replica_id", 0),
            int("queue_id", 0),
            int("core_type", 0),
            int("_ct", 12),
            int("_c", run_id),
        ];
        self.event(MODULES, &program.full_name(), step.device, facts);
        let barrier = (begin + 1_250, begin + 2_500);
        self.event(SCOPES, "barrier-cores", barrier, []);

        for execution in &program.schedule.executions {
            let op = &program.schedule.ops[execution.op];
            let instance = number * 1000 + execution.op as i64;
            let instance = (op.role == SyntheticRole::SyncCollective)
                .then(|| int("all_reduce_unique_id", instance));
            let offset = self.offset(begin + execution.start_ps);
            let metadata = first_op + execution.op;
            self.plane
                .execution(OPS, metadata, offset, execution.dur_ps, instance);
        }
        if self.run.spec.async_line == AsyncLine::All || ordinal == 0 {
            self.in_flight(step, program);
        }
    }

    fn in_flight(&mut self, step: &SyntheticStepTimes, program: &SyntheticProgram) {
        for span in &program.schedule.in_flight {
            let (start, done) = (
                &program.schedule.ops[span.start_op],
                &program.schedule.ops[span.done_op],
            );
            let text = start.text();
            let shown = if start.role == SyntheticRole::CopyStart {
                "async-copy"
            } else {
                &start.name
            };
            let known = |known: &SampleEventMetadata| {
                known.name == text && known.display_name == shown && known.stats.is_empty()
            };
            let known = self.plane.metadata.iter().position(known);
            let metadata = known.unwrap_or_else(|| {
                self.plane.add(SampleEventMetadata {
                    display_name: shown.to_owned(),
                    ..SampleEventMetadata::new(&text, Vec::new())
                })
            });
            let facts = [
                shared("hlo_op", done.name.clone()),
                int("_a", 1),
                // The low bits mean that the flow goes in and out; the id of the flow is above them.
                int("flow", 3 | self.flow << 2),
                int("id", 0),
            ];
            self.flow += 1;
            let offset = self.offset(step.device.0 + span.start_ps);
            self.plane
                .occurrence(ASYNC, metadata, offset, span.dur_ps, facts);
        }
    }

    fn event(
        &mut self,
        line: LineKey<'_>,
        name: &str,
        (from, to): (i64, i64),
        facts: impl IntoIterator<Item = SampleStat>,
    ) {
        let offset = self.offset(from);
        self.plane.event(line, name, offset, to - from, facts);
    }

    /// The offset in a line of a time on the host's clock.
    fn offset(&self, at: i64) -> i64 {
        at - self.run.spec.device_skew.ps() - LINE_ORIGIN_NS * 1000
    }
}
