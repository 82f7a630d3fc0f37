//! The planes of the synthetic devices.

use super::clock::SyntheticStepTimes;
use super::op::{SyntheticOp, SyntheticRole};
use super::program::SyntheticProgram;
use super::run::{REMARK, SyntheticRun};
use super::spec::{AsyncLine, TrainingSpec};
use crate::session::{SampleEvent, SampleEventMetadata, SamplePlane, SampleStat};
use crate::write::ProtoMessage;

const STEPS: i64 = 1;
const MODULES: i64 = 2;
const OPS: i64 = 3;
const ASYNC: i64 = 4;
const SCOPES: i64 = 6;
/// Origin of the event offsets of all lines.
const LINE_ORIGIN_NS: i64 = 1_000_000;

/// The plane of device `ordinal`.
pub(super) fn device_plane(run: &SyntheticRun, ordinal: u32) -> SamplePlane {
    let mut plane = SamplePlane {
        id: 2 + i64::from(ordinal),
        name: format!("/device:TPU:{ordinal}"),
        stats: facts(&run.spec, ordinal),
        ..SamplePlane::default()
    };
    if run.spec.steps_line {
        plane.line(STEPS, "Steps");
    }
    for (id, name) in [
        (MODULES, "XLA Modules"),
        (OPS, "XLA Ops"),
        (ASYNC, "Async XLA Ops"),
        (SCOPES, "XLA TraceMe"),
    ] {
        plane.line(id, name);
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
    for line in &mut writer.plane.lines {
        line.timestamp_ns = LINE_ORIGIN_NS;
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
        SampleStat::bytes("core_details", core.into_bytes()),
        SampleStat::text("device_type_string", chip.type_name),
        SampleStat::double("peak_teraflops_per_second", chip.peak_teraflops),
        SampleStat::double("peak_hbm_bw_gigabytes_per_second", chip.hbm_gigabytes),
    ];
    for memory in ["cmem", "vmem", "sram"] {
        let (read, write) = if memory == "cmem" {
            (0.0, 0.0)
        } else {
            chip.vmem_gigabytes
        };
        facts.push(SampleStat::double(
            &format!("peak_{memory}_rd_bw_gigabytes_per_second"),
            read,
        ));
        facts.push(SampleStat::double(
            &format!("peak_{memory}_wr_bw_gigabytes_per_second"),
            write,
        ));
    }
    facts.push(SampleStat::int("has_megacore", i64::from(chip.megacore)));
    facts.push(SampleStat::int("has_merged_vmem", 1));
    facts.push(SampleStat::text("synthetic", REMARK));
    facts
}

/// Adds the constant facts about each op of a program; returns the index of the first op.
fn add_op_metadata(plane: &mut SamplePlane, program: &SyntheticProgram) -> usize {
    let first = plane.metadata.len();
    for (index, op) in program.schedule.ops.iter().enumerate() {
        plane.metadata.push(SampleEventMetadata {
            id: None,
            name: op.text(),
            display_name: op.name.clone(),
            stats: op_stats(op, program, index as u64 + 1),
        });
    }
    first
}

fn op_stats(op: &SyntheticOp, program: &SyntheticProgram, symbol: u64) -> Vec<SampleStat> {
    let mut stats = vec![
        SampleStat::shared("hlo_category", op.category),
        SampleStat::uint("program_id", program.id),
        SampleStat::uint("symbol_id", symbol),
        SampleStat::uint("flops", op.flops),
        SampleStat::uint("model_flops", op.flops),
        SampleStat::uint("bytes_accessed", op.all_bytes()),
        SampleStat::uint("raw_bytes_accessed", op.all_bytes()),
        SampleStat::bytes("memory_access_breakdown", memory_breakdown(op)),
        SampleStat::shared("shape_with_layout", op.shape.clone()),
    ];
    if !op.framework_name.is_empty() {
        stats.push(SampleStat::shared("tf_op", op.framework_name.clone()));
        stats.push(SampleStat::shared(
            "source",
            format!("train.py:{}", op.source_line),
        ));
        stats.push(SampleStat::text(
            "source_stack",
            format!("train.py:80:0\ntrain.py:{}:0\n", op.source_line),
        ));
    }
    if op.role == SyntheticRole::SyncCollective {
        stats.push(SampleStat::int("all_reduce_id", symbol as i64));
    }
    stats
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
        let (begin, end) = step.device;
        if self.run.spec.steps_line {
            let (from, to) = step.device_step();
            let stats = vec![SampleStat::int("group_id", i64::from(step.step))];
            self.event(STEPS, &step.step.to_string(), from, to - from, stats);
        }
        let run_id = i64::from(step.step) + 100;
        let stats = vec![
            SampleStat::int("run_id", run_id),
            SampleStat::int("replica_id", 0),
            SampleStat::int("queue_id", 0),
            SampleStat::int("core_type", 0),
            SampleStat::int("_ct", 12),
            SampleStat::int("_c", run_id),
        ];
        self.event(MODULES, &program.full_name(), begin, end - begin, stats);
        self.event(SCOPES, "barrier-cores", begin + 1_250, 1_250, Vec::new());

        for execution in &program.schedule.executions {
            let op = &program.schedule.ops[execution.op];
            let (offset_ps, device_ps) = self.clocks(begin + execution.start_ps);
            let mut stats = vec![
                SampleStat::int("device_offset_ps", device_ps),
                SampleStat::int("device_duration_ps", execution.dur_ps),
            ];
            if op.role == SyntheticRole::SyncCollective {
                let instance = i64::from(step.step) * 1000 + execution.op as i64;
                stats.push(SampleStat::int("all_reduce_unique_id", instance));
            }
            let metadata = first_op + execution.op;
            self.push(
                OPS,
                SampleEvent {
                    metadata,
                    offset_ps,
                    duration_ps: execution.dur_ps,
                    stats,
                },
            );
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
            let metadata = self
                .plane
                .metadata
                .iter()
                .position(known)
                .unwrap_or_else(|| {
                    let (name, display_name) = (text.clone(), shown.to_owned());
                    self.plane.metadata.push(SampleEventMetadata {
                        name,
                        display_name,
                        ..SampleEventMetadata::default()
                    });
                    self.plane.metadata.len() - 1
                });
            let stats = vec![
                SampleStat::shared("hlo_op", done.name.clone()),
                SampleStat::int("_a", 1),
                // The low bits mean that the flow goes in and out; the id of the flow is above them.
                SampleStat::int("flow", 3 | self.flow << 2),
                SampleStat::int("id", 0),
            ];
            self.flow += 1;
            let (offset_ps, _) = self.clocks(step.device.0 + span.start_ps);
            self.push(
                ASYNC,
                SampleEvent {
                    metadata,
                    offset_ps,
                    duration_ps: span.dur_ps,
                    stats,
                },
            );
        }
    }

    fn event(&mut self, line: i64, name: &str, at: i64, duration_ps: i64, stats: Vec<SampleStat>) {
        let metadata = self.plane.named(name);
        let (offset_ps, _) = self.clocks(at);
        self.push(
            line,
            SampleEvent {
                metadata,
                offset_ps,
                duration_ps,
                stats,
            },
        );
    }

    fn push(&mut self, line: i64, event: SampleEvent) {
        if let Some(line) = self.plane.lines.iter_mut().find(|known| known.id == line) {
            line.events.push(event);
        }
    }

    /// Converts a time on the host's clock to an offset in a line and to the device clock.
    fn clocks(&self, at: i64) -> (i64, i64) {
        let recorded = at - self.run.spec.device_skew.ps();
        (
            recorded - LINE_ORIGIN_NS * 1000,
            recorded + self.run.spec.device_clock_ahead.ps(),
        )
    }
}
