//! The planes of the synthetic host: threads, programs and facts about the session.

use super::clock::{
    BACKEND_PS, COMPLETE_PS, LOWER_PS, PER_DEVICE_PS, PHASE_GAP_PS, SyntheticStepTimes, TRACE_PS,
};
use super::hlo;
use super::run::{REMARK, SyntheticRun};
use crate::session::{LineKey, SampleEventMetadata, SamplePlane, bytes, double, int, text, uint};

/// Thread ids can be any 64-bit number; the JSON export keeps 32 bits of them.
const PYTHON: LineKey<'_> = (9_183_218_585_576_192_760, "python");
const ENQUEUE: LineKey<'_> = (-7_565_713_996_007_134_123, "tfrt-enqueue/4100");
const COMPLETE: LineKey<'_> = (4242, "tfrt-complete/4242");
const COMPILER: LineKey<'_> = (14_738, "main/14738");
const PASSES: LineKey<'_> = (15_001, "futex-default-SDomainT/15001");

/// Start of the session, in nanoseconds since the Unix epoch.
const STARTED_UNIX_NS: u64 = 1_760_000_000_000_000_000;

/// The plane of the host's threads.
pub(super) fn host_plane(run: &SyntheticRun) -> SamplePlane {
    let mut plane = SamplePlane::host(700);
    let expected = &run.expected;
    let session = run.session_ps() as f64 / 1e12 * f64::from(expected.devices);
    plane.stats = vec![
        double(
            "matrix_unit_utilization_percent",
            100.0 * expected.matmul_flops() as f64 / (session * run.spec.chip.peak_flops()),
        ),
        double(
            "hbm_utilization_percent",
            100.0 * expected.leaf_hbm_bytes() as f64 / (session * run.spec.chip.hbm_bytes()),
        ),
        text("synthetic", REMARK),
    ];
    plane.event((1, "synthetic"), REMARK, 0, 1_000, []);
    for line in [PYTHON, ENQUEUE, COMPLETE, COMPILER, PASSES] {
        plane.line(line);
    }
    for step in &run.steps {
        python(&mut plane, step);
        runtime(&mut plane, step, run.spec.devices());
    }
    plane.lines.retain(|line| !line.events.is_empty());
    plane.sort();
    plane
}

fn python(plane: &mut SamplePlane, step: &SyntheticStepTimes) {
    let number = i64::from(step.step);
    let (from, to) = step.call;
    let mut add =
        |line, name: &str, from, to, stats| plane.event(line, name, from, to - from, stats);
    let root = vec![int("_r", 1), int("step_num", number)];
    add(PYTHON, "train", step.begin, step.end, root);
    let mut add = |line, name: &str, from, to| add(line, name, from, to, Vec::new());
    add(
        PYTHON,
        "IteratorGetNext",
        step.begin + 1_000_000,
        step.input_end,
    );
    add(PYTHON, "batched_device_put", step.input_end, from);
    add(PYTHON, "PjitFunction(train_step)", from, to);
    add(
        PYTHON,
        "PjitFunction(train_step)",
        from + 1_000_000,
        to - 1_000_000,
    );
    let compiled = step.compile.map(|trace| {
        let lower = trace + TRACE_PS + PHASE_GAP_PS;
        let backend = lower + LOWER_PS + PHASE_GAP_PS;
        let end = backend + BACKEND_PS;
        add(PYTHON, "trace_to_jaxpr_dynamic", trace, trace + TRACE_PS);
        add(
            PYTHON,
            "lower_sharding_computation",
            lower,
            lower + LOWER_PS,
        );
        add(PYTHON, "backend_compile_and_load", backend, end);
        (backend + 1_000_000, end - 1_000_000)
    });
    let run = to - 30_000_000;
    add(
        PYTHON,
        "TfrtTpuLoadedExecutable::Execute",
        run,
        to - 2_000_000,
    );
    // The compiler's own threads record the same time again, and parts of it.
    let Some((from, to)) = compiled else { return };
    let half = i64::midpoint(from, to);
    add(COMPILER, "TfrtTpuCompiler::Compile", from, to);
    add(COMPILER, "XLA::TPU run hlo passes", from, half);
    add(COMPILER, "XLA::TPU run backend", half, to);
    for (index, name) in ["algsimp", "dce", "copy-insertion"].into_iter().enumerate() {
        let begin = from + index as i64 * 2_000_000_000;
        add(PASSES, name, begin, begin + 1_500_000_000);
    }
}

fn runtime(plane: &mut SamplePlane, step: &SyntheticStepTimes, devices: u32) {
    let called = step.call.1;
    plane.event(PYTHON, "block_until_ready", called, step.end - called, []);
    let run_id = i64::from(step.step) + 100;
    for ordinal in 0..devices {
        let after = i64::from(ordinal) * PER_DEVICE_PS;
        let length = PER_DEVICE_PS - 100_000;
        let run = || {
            [
                int("run_id", run_id),
                int("device_ordinal", i64::from(ordinal)),
            ]
        };
        let flow = run().into_iter().chain([int("_pt", 12), int("_p", run_id)]);
        plane.event(
            ENQUEUE,
            "DoEnqueueProgram",
            step.enqueue + after,
            length,
            flow,
        );
        let at = step.device.1 + COMPLETE_PS + after;
        plane.event(COMPLETE, "CompleteCallbacks", at, length, run());
    }
}

/// The plane of the compiled programs.
pub(super) fn metadata_plane(run: &SyntheticRun) -> SamplePlane {
    let metadata = run.programs.iter().map(|program| SampleEventMetadata {
        id: Some(program.id as i64),
        ..SampleEventMetadata::new(
            &program.full_name(),
            vec![bytes("Hlo Proto", hlo::proto(program))],
        )
    });
    SamplePlane {
        stats: vec![text("synthetic", REMARK)],
        metadata: metadata.collect(),
        ..SamplePlane::new(701, "/host:metadata")
    }
}

/// The plane with the start and end of the session.
pub(super) fn environment_plane(run: &SyntheticRun) -> SamplePlane {
    let stop = STARTED_UNIX_NS + run.session_ps() as u64 / 1000;
    SamplePlane {
        stats: vec![
            uint("profile_start_time", STARTED_UNIX_NS),
            uint("profile_stop_time", stop),
            text("synthetic", REMARK),
        ],
        ..SamplePlane::new(702, "Task Environment")
    }
}
