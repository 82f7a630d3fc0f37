//! The planes of the synthetic host: threads, programs and facts about the session.

use super::clock::{
    BACKEND_PS, COMPLETE_PS, LOWER_PS, PER_DEVICE_PS, PHASE_GAP_PS, SyntheticStepTimes, TRACE_PS,
};
use super::hlo;
use super::run::{REMARK, SyntheticRun};
use crate::session::{SampleEventMetadata, SamplePlane, SampleStat};

/// Thread ids can be any 64-bit number; the JSON export keeps 32 bits of them.
const PYTHON: i64 = 9_183_218_585_576_192_760;
const ENQUEUE: i64 = -7_565_713_996_007_134_123;
const COMPLETE: i64 = 4242;
const COMPILER: i64 = 14_738;
const PASSES: i64 = 15_001;
const REMARKS: i64 = 1;

/// Start of the session, in nanoseconds since the Unix epoch.
const STARTED_UNIX_NS: u64 = 1_760_000_000_000_000_000;

/// The plane of the host's threads.
pub(super) fn host_plane(run: &SyntheticRun) -> SamplePlane {
    let mut plane = SamplePlane {
        id: 700,
        name: "/host:CPU".to_owned(),
        ..SamplePlane::default()
    };
    let expected = &run.expected;
    let session = run.session_ps() as f64 / 1e12 * f64::from(expected.devices);
    plane.stats = vec![
        SampleStat::double(
            "matrix_unit_utilization_percent",
            100.0 * expected.matmul_flops() as f64 / (session * run.spec.chip.peak_flops()),
        ),
        SampleStat::double(
            "hbm_utilization_percent",
            100.0 * expected.leaf_hbm_bytes() as f64 / (session * run.spec.chip.hbm_bytes()),
        ),
        SampleStat::text("synthetic", REMARK),
    ];
    let remarks = plane.line(REMARKS, "synthetic");
    plane.event(remarks, REMARK, 0, 1_000, Vec::new());
    for (id, name) in [
        (PYTHON, "python"),
        (ENQUEUE, "tfrt-enqueue/4100"),
        (COMPLETE, "tfrt-complete/4242"),
        (COMPILER, "main/14738"),
        (PASSES, "futex-default-SDomainT/15001"),
    ] {
        plane.line(id, name);
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
    let line = plane.line(PYTHON, "python");
    let mut add =
        |name: &str, from: i64, to: i64, stats| plane.event(line, name, from, to - from, stats);
    let root = vec![
        SampleStat::int("_r", 1),
        SampleStat::int("step_num", i64::from(step.step)),
    ];
    add("train", step.begin, step.end, root);
    add(
        "IteratorGetNext",
        step.begin + 1_000_000,
        step.input_end,
        Vec::new(),
    );
    add(
        "batched_device_put",
        step.input_end,
        step.call.0,
        Vec::new(),
    );
    let (from, to) = step.call;
    add("PjitFunction(train_step)", from, to, Vec::new());
    add(
        "PjitFunction(train_step)",
        from + 1_000_000,
        to - 1_000_000,
        Vec::new(),
    );
    let Some(trace) = step.compile else {
        add(
            "TfrtTpuLoadedExecutable::Execute",
            to - 30_000_000,
            to - 2_000_000,
            Vec::new(),
        );
        return;
    };
    let lower = trace + TRACE_PS + PHASE_GAP_PS;
    let backend = lower + LOWER_PS + PHASE_GAP_PS;
    let end = backend + BACKEND_PS;
    add(
        "trace_to_jaxpr_dynamic",
        trace,
        trace + TRACE_PS,
        Vec::new(),
    );
    add(
        "lower_sharding_computation",
        lower,
        lower + LOWER_PS,
        Vec::new(),
    );
    add("backend_compile_and_load", backend, end, Vec::new());
    add(
        "TfrtTpuLoadedExecutable::Execute",
        to - 30_000_000,
        to - 2_000_000,
        Vec::new(),
    );

    // The compiler's own threads record the same time again, and parts of it.
    let (from, to) = (backend + 1_000_000, end - 1_000_000);
    let half = i64::midpoint(from, to);
    let compiler = plane.line(COMPILER, "main/14738");
    plane.event(
        compiler,
        "TfrtTpuCompiler::Compile",
        from,
        to - from,
        Vec::new(),
    );
    plane.event(
        compiler,
        "XLA::TPU run hlo passes",
        from,
        half - from,
        Vec::new(),
    );
    plane.event(
        compiler,
        "XLA::TPU run backend",
        half,
        to - half,
        Vec::new(),
    );
    let passes = plane.line(PASSES, "futex-default-SDomainT/15001");
    for (index, name) in ["algsimp", "dce", "copy-insertion"].into_iter().enumerate() {
        plane.event(
            passes,
            name,
            from + index as i64 * 2_000_000_000,
            1_500_000_000,
            Vec::new(),
        );
    }
}

fn runtime(plane: &mut SamplePlane, step: &SyntheticStepTimes, devices: u32) {
    let python = plane.line(PYTHON, "python");
    plane.event(
        python,
        "block_until_ready",
        step.call.1,
        step.end - step.call.1,
        Vec::new(),
    );
    let (enqueue, complete) = (plane.line(ENQUEUE, ""), plane.line(COMPLETE, ""));
    let run_id = i64::from(step.step) + 100;
    for ordinal in 0..devices {
        let after = i64::from(ordinal) * PER_DEVICE_PS;
        let who = || {
            vec![
                SampleStat::int("run_id", run_id),
                SampleStat::int("device_ordinal", i64::from(ordinal)),
            ]
        };
        let mut stats = who();
        stats.extend([SampleStat::int("_pt", 12), SampleStat::int("_p", run_id)]);
        plane.event(
            enqueue,
            "DoEnqueueProgram",
            step.enqueue + after,
            PER_DEVICE_PS - 100_000,
            stats,
        );
        let at = step.device.1 + COMPLETE_PS + after;
        plane.event(
            complete,
            "CompleteCallbacks",
            at,
            PER_DEVICE_PS - 100_000,
            who(),
        );
    }
}

/// The plane of the compiled programs.
pub(super) fn metadata_plane(run: &SyntheticRun) -> SamplePlane {
    let metadata = run.programs.iter().map(|program| SampleEventMetadata {
        id: Some(program.id as i64),
        name: program.full_name(),
        stats: vec![SampleStat::bytes("Hlo Proto", hlo::proto(program))],
        ..SampleEventMetadata::default()
    });
    SamplePlane {
        id: 701,
        name: "/host:metadata".to_owned(),
        stats: vec![SampleStat::text("synthetic", REMARK)],
        metadata: metadata.collect(),
        ..SamplePlane::default()
    }
}

/// The plane with the start and end of the session.
pub(super) fn environment_plane(run: &SyntheticRun) -> SamplePlane {
    let stop = STARTED_UNIX_NS + run.session_ps() as u64 / 1000;
    SamplePlane {
        id: 702,
        name: "Task Environment".to_owned(),
        stats: vec![
            SampleStat::uint("profile_start_time", STARTED_UNIX_NS),
            SampleStat::uint("profile_stop_time", stop),
            SampleStat::text("synthetic", REMARK),
        ],
        ..SamplePlane::default()
    }
}
