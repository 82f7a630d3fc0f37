//! Steps, device time, communication, compilation and health of real captures,
//! against what `XProf` says of them and what is known of how they were made.

use analysis::facts::clock_alignment::ClockSync;
use analysis::facts::steps::{StepSource, StepsReport};
use analysis::reports::communication::collectives::Collectives;
use analysis::reports::communication::overlap::Overlap;
use analysis::reports::host::compile::{ChangeSource, Compile, CompilePlace, ShapeChange};
use analysis::reports::ops::matmuls::{MatmulRow, Matmuls};
use analysis::reports::ops::op_stats::{OpRow, Ops};
use analysis::reports::steps::devices::Devices;
use analysis::reports::steps::step_times::Steps;
use analysis::reports::summary::doctor::Doctor;
use analysis::{Cell, OpGroup, Scope, Tabular as _};
use serde_json::Value;
use trace_model::{Picos, TimeRange};

use crate::capture::{Capture, corpus, open};

impl Capture {
    fn findings(&self) -> Vec<&'static str> {
        self.report::<Doctor>()
            .findings
            .iter()
            .map(|finding| finding.id)
            .collect()
    }
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance
}

const V5E: [&str; 2] = ["tpu/v5e_matmul.xplane.pb", "tpu/v5e_matmul.trace.json.gz"];
const V6E: &str = "tpu/v6e_x4_host_offload.xplane.pb";
const V6E_STEPS: &str = "tpu/v6e_x4_host_offload_steps_added.xplane.pb";

#[test]
fn steps_match_xprof_to_its_last_printed_digit() {
    let Some(capture) = open(V6E_STEPS) else {
        return;
    };
    let answer = "tpu/xprof/v6e_x4_host_offload_steps_added/cli/get_step_trace.json";
    let xprof: Value =
        serde_json::from_str(&std::fs::read_to_string(corpus().unwrap().join(answer)).unwrap())
            .unwrap();
    let steps = capture.report::<Steps>();
    assert_eq!(
        (steps.source, steps.steps.len(), steps.left_out),
        (StepSource::StepsLine, 100, 0)
    );
    for (step, theirs) in steps
        .steps
        .iter()
        .zip(xprof["step_breakdown"].as_array().unwrap())
    {
        assert_eq!(u64::from(step.number), theirs["step_num"].as_u64().unwrap());
        // XProf measures steps on the timeline.
        let shown = step
            .spans
            .iter()
            .map(|span| span.range.dur().ps())
            .max()
            .unwrap();
        assert!(
            near(
                shown as f64,
                theirs["step_time_ms"].as_f64().unwrap() * 1e9,
                1e5
            ),
            "{}",
            step.number
        );
    }
}

/// The mapping to the timeline jumps by up to 200 ms, so that XProf prints a spread
/// of 86 ms; between the same op of two steps the device counts 783.7 to 784.4 ms.
#[test]
fn steps_are_timed_by_the_clock_of_their_ops() {
    for file in [V6E, V6E_STEPS] {
        let Some(capture) = open(file) else { return };
        let steps = capture.report::<Steps>();
        for stats in [steps.time.unwrap(), steps.interval.unwrap()] {
            assert!(
                near(stats.median, 784.2e9, 0.3e9) && stats.stddev.unwrap() < 0.3e9,
                "{file}: {stats:?}"
            );
            assert!(
                stats.min > 783.5e9 && stats.max < 784.6e9,
                "{file}: {stats:?}"
            );
        }
    }
}

#[test]
fn programs_give_the_same_steps_as_the_steps_line() {
    let (Some(with), Some(without)) = (open(V6E_STEPS), open(V6E)) else {
        return;
    };
    let (with, without) = (with.report::<Steps>(), without.report::<Steps>());
    assert_eq!(
        (without.source, without.marker.as_str(), without.steps.len()),
        (StepSource::Modules, "jit_f", 100)
    );
    let median = |steps: &StepsReport| steps.time.unwrap().median;
    assert!(near(median(&without), median(&with), 5e6));
}

#[test]
fn most_of_the_offload_capture_waits_for_copies() {
    let Some(capture) = open(V6E) else { return };
    let devices = capture.report::<Devices>();
    assert_eq!(devices.cores.len(), 4);
    assert!(near(
        devices.copy_wait_of_window_percent().unwrap(),
        84.0,
        1.0
    ));
    for core in &devices.cores {
        assert_eq!(
            core.groups.iter().map(|group| group.time_ps).sum::<i64>(),
            core.window_ps
        );
        assert!(core.time(OpGroup::AsyncWait).ps() > core.window_ps * 8 / 10);
    }
    let overlap = capture.report::<Overlap>();
    assert_eq!(overlap.summary.collectives, 12);
    let reduce = overlap
        .kinds
        .iter()
        .find(|kind| kind.kind == "all-reduce")
        .unwrap();
    // A synchronous op on a serial track is exposed entirely.
    assert_eq!(
        (reduce.occurrences, reduce.hidden_ps, reduce.exposed_ps),
        (12, 0, reduce.time_ps)
    );
    // Pairs of a mesh of 8, of which 4 were captured: nobody can say who waited for whom.
    let transfer = overlap
        .transfers
        .iter()
        .find(|transfer| transfer.kind == "all-reduce")
        .unwrap();
    let message = transfer.message.as_ref().unwrap();
    assert_eq!(
        (message.participants, message.bytes, &transfer.skew),
        (Some(2), Some(5_368_709_120), &None)
    );
    // Six copies in each of 100 executions on 4 chips.
    let copies = overlap
        .kinds
        .iter()
        .find(|kind| kind.kind == "copy")
        .unwrap();
    assert_eq!((copies.ops, copies.occurrences), (6, 2_400));
    for (core, time) in overlap.cores.iter().zip(&devices.cores) {
        assert_eq!(core.copy_wait_ps, time.time(OpGroup::AsyncWait).ps());
        assert_eq!(
            core.comm_total_ps,
            core.overlapped_ps.unwrap() + core.exposed_ps
        );
    }
    let findings = capture.findings();
    assert!(
        ["Q07", "Q08", "Q11"].iter().all(|id| findings.contains(id)),
        "{findings:?}"
    );
}

#[test]
fn parts_of_a_real_trace_sum_to_the_whole() {
    let Some(capture) = open(V6E_STEPS) else {
        return;
    };
    let whole = capture.report::<Steps>();
    let split = |first, last| {
        capture
            .scoped::<Devices>(Scope::Steps { first, last })
            .unwrap()
    };
    let (head, tail, both) = (split(0, 4), split(5, 9), split(0, 9));
    for core in 0..4 {
        // Between two steps there is a gap of about a microsecond that belongs to neither.
        let sum = head.cores[core].window_ps + tail.cores[core].window_ps;
        assert!(near(both.cores[core].window_ps as f64, sum as f64, 3e6));
        for group in OpGroup::ALL {
            let sum = head.cores[core].time(group) + tail.cores[core].time(group);
            assert!(
                near(
                    both.cores[core].time(group).ps() as f64,
                    sum.ps() as f64,
                    3e6
                ),
                "{group:?}"
            );
        }
    }
    assert_eq!(
        capture
            .scoped::<Steps>(Scope::Steps { first: 0, last: 9 })
            .unwrap()
            .steps[..],
        whole.steps[..10]
    );
}

#[test]
fn matmul_compilation_is_equal_in_both_formats() {
    for name in V5E {
        let Some(capture) = open(name) else { return };
        let compile = capture.report::<Compile>();
        // Two backend_compile_and_load: 117,675,082 + 38,215,677 ns.
        assert_eq!(compile.compile_ps, Some(155_890_759_000), "{name}");
        assert_eq!(
            (compile.compilations, compile.recompilations),
            (2, 0),
            "{name}"
        );
        let functions: Vec<&str> = compile
            .functions
            .iter()
            .take(2)
            .map(|function| function.function.as_str())
            .collect();
        assert_eq!(functions, ["matmul", "_reduce_sum"], "{name}");
        // Nearly all of it while the device had nothing to do.
        assert!(compile.exposed_ps.unwrap() > 155_000_000_000, "{name}");
    }
    let compile = open(V5E[0]).unwrap().report::<Compile>();
    let programs: Vec<_> = compile
        .list
        .iter()
        .map(|row| row.program.as_deref().unwrap())
        .collect();
    assert_eq!(
        programs,
        [
            "jit_matmul(7387342164949680137)",
            "jit__reduce_sum(7131411788155273425)"
        ]
    );
    let executions = compile
        .functions
        .iter()
        .flat_map(|function| &function.programs)
        .map(|run| run.executions);
    assert_eq!(executions.collect::<Vec<_>>(), [10, 10]);
    // The first load of the program, on a thread of the runtime, belongs to the call that waits for it.
    assert_eq!(compile.list[0].load_ps, Some(1_114_270_000));
    assert_eq!(
        (
            compile.cache.lookups,
            compile.cache.hits,
            compile.cache.misses
        ),
        (Some(2), Some(0), Some(2))
    );
    assert_eq!(
        compile.statement,
        "2 compilations took 166.6 ms of 244.5 ms (68.2 %)"
    );
    // The timeline, the same in both formats: from the first slice to the end of the last.
    assert!(
        near(compile.window_ps as f64, 244.5e9, 0.1e9),
        "{}",
        compile.window_ps
    );
}

#[test]
fn both_formats_of_one_session_agree_on_the_device() {
    let (Some(pb), Some(json)) = (open(V5E[0]), open(V5E[1])) else {
        return;
    };
    let (a, b) = (pb.report::<Devices>(), json.report::<Devices>());
    assert_eq!(a.cores[0].groups.len(), 5);
    for (a, b) in a.cores[0].groups.iter().zip(&b.cores[0].groups) {
        assert_eq!(a.group, b.group);
        // Only the window, and with it idle time, depends on times that JSON rounds.
        let tolerance = if a.group == OpGroup::Idle {
            1_000.0
        } else {
            0.0
        };
        assert!(
            near(a.time_ps as f64, b.time_ps as f64, tolerance),
            "{a:?} {b:?}"
        );
    }
    assert_eq!((a.cores[0].programs, b.cores[0].programs), (20, 20));
    let copies = |capture: &Capture| capture.report::<Overlap>().kinds[0].clone();
    let (a, b) = (copies(&pb), copies(&json));
    assert_eq!(
        (a.occurrences, a.time_ps, a.blocking_ps),
        (b.occurrences, b.time_ps, b.blocking_ps)
    );
    assert_eq!(a.occurrences, 20);
    let (a, b) = (pb.report::<Steps>(), json.report::<Steps>());
    assert_eq!((a.source, a.steps.len()), (StepSource::Modules, 10));
    assert_eq!((b.source, b.steps.len()), (StepSource::Modules, 10));
    assert!(
        pb.report::<Doctor>().sources[0].cannot_know.len()
            < json.report::<Doctor>().sources[0].cannot_know.len()
    );
    assert!(json.findings().contains(&"Q05"));
}

/// Launches and completions of the v5e session bound its clock shift to
/// 610.180 … 687.127 µs.
#[test]
fn late_device_clock_is_found() {
    let Some(capture) = open(V5E[0]) else { return };
    let report = capture.report::<Doctor>();
    let [shift] = &report.clock_shifts[..] else {
        panic!("{:?}", report.clock_shifts)
    };
    assert_eq!(
        (shift.pairs, shift.ends, shift.sync),
        (20, 20, ClockSync::Shifted)
    );
    assert!(
        near(shift.bounds.at_least_ps as f64, 610.180e6, 1e3),
        "{shift:?}"
    );
    assert!(
        near(shift.bounds.at_most_ps.unwrap() as f64, 687.127e6, 1e3),
        "{shift:?}"
    );
    assert!(capture.findings().contains(&"Q06"));
}

#[test]
fn serving_capture_has_one_step_of_its_dominant_program() {
    for (name, ms) in [
        ("tpu/v7x_vllm_tp2_a.trace.json.gz", 66.98),
        ("tpu/v7x_vllm_tp2_b.trace.json.gz", 65.55),
    ] {
        let Some(capture) = open(name) else { return };
        let steps = capture.report::<Steps>();
        assert_eq!(
            (steps.source, steps.marker.as_str(), steps.steps.len()),
            (StepSource::Modules, "jit_step_fun", 1)
        );
        assert!(
            near(steps.steps[0].time_ps as f64, ms * 1e9, 0.1e9),
            "{name}: {}",
            steps.steps[0].time_ps
        );
        // Four other programs run after it, in half a percent of the time.
        assert!(
            steps
                .why
                .iter()
                .any(|why| why.contains("99.5 % of the module time")),
            "{:?}",
            steps.why
        );
        assert_eq!(steps.steps[0].spans.len(), 2);
        let overlap = capture.report::<Overlap>();
        assert_eq!(overlap.cores.len(), 2);
        assert!(overlap.kinds.iter().any(|kind| kind.kind == "all-reduce"));
        for core in &overlap.cores {
            assert!(
                core.collectives > 100 && core.exposed_ps <= core.window_ps,
                "{core:?}"
            );
        }
        let compile = capture.report::<Compile>();
        assert_eq!(
            (compile.statement.as_str(), compile.wall_ps),
            ("no compilation in the captured window", None)
        );
    }
}

#[test]
fn three_recompiling_steps_are_named() {
    for name in [
        "host/jax_cpu_transformer_recompiles.trace.json.gz",
        "host/jax_cpu_transformer_recompiles.xplane.pb",
    ] {
        let Some(capture) = open(name) else { return };
        let steps = capture.report::<Steps>();
        assert_eq!(
            (steps.source, steps.marker.as_str(), steps.steps.len()),
            (StepSource::HostAnnotations, "train", 20)
        );
        let slow: Vec<(u32, i64)> = steps
            .outliers()
            .iter()
            .map(|step| (step.number, step.time_ps / 100_000_000_000))
            .collect();
        // 12.4, 11.2 and 9.7 s against about 0.1 s.
        assert_eq!(slow, [(14, 123), (9, 111), (5, 97)], "{name}");
        assert!(
            steps
                .outliers()
                .iter()
                .all(|step| step.compile_ps > step.time_ps * 8 / 10)
        );
        let others = steps.steps.iter().filter(|step| !step.is_outlier);
        assert!(
            others
                .into_iter()
                .all(|step| step.compile_ps == 0 && step.time_ps < 130_000_000_000)
        );
        let compile = capture.report::<Compile>();
        let [function] = &compile.functions[..] else {
            panic!("{:?}", compile.functions)
        };
        // It ran before the capture's first compilation, so all three are again.
        assert_eq!(
            (
                function.function.as_str(),
                function.compilations,
                function.recompilations
            ),
            ("train_step", 3, 3)
        );
        assert_eq!(
            (function.calls, function.module.as_deref()),
            (Some(20), Some("jit_train_step"))
        );
        // The script made sequences of 64, but of 96, 80 and 112 in these steps. No shape is
        // in the capture; the annotation of the step tells, where its arguments are recorded.
        let places: Vec<_> = compile.list.iter().map(|row| row.place).collect();
        assert_eq!(
            places,
            [5, 9, 14].map(|step| Some(CompilePlace::InStep(step))),
            "{name}"
        );
        let changes: Vec<_> = compile
            .list
            .iter()
            .flat_map(|row| &row.changes)
            .map(ShapeChange::sentence)
            .collect();
        let length = |to: u32| format!("seq_len of load_batch 64 → {to}");
        assert_eq!(changes, [length(96), length(80), length(112)], "{name}");
        assert!(
            compile
                .list
                .iter()
                .all(|row| row.changed_in == Some(ChangeSource::Annotation)),
            "{name}"
        );
        for row in &compile.list {
            // Nearly all of what the step took longer is the compilation and the call around it.
            let (extra, call) = (row.step_extra_ps.unwrap(), row.call_ps.unwrap());
            assert!(
                row.wall_ps < call && call < extra && row.wall_ps > extra * 8 / 10,
                "{row:?}"
            );
        }
        assert!(near(
            compile.compile_ps.unwrap() as f64,
            28.111e12,
            0.001e12
        ));
        assert_eq!((compile.exposed_ps, compile.execute_mean_ps), (None, None));
        assert!(capture.scoped::<Devices>(Scope::WholeTrace).is_err());
        assert!(capture.scoped::<Overlap>(Scope::WholeTrace).is_err());
        assert!(capture.findings().contains(&"Q04"));
    }
}

#[test]
fn host_capture_without_steps_reports_compilation() {
    for name in [
        "host/tpuvm_cpu_backend.xplane.pb",
        "host/tpuvm_cpu_backend.trace.json.gz",
    ] {
        let Some(capture) = open(name) else { return };
        let compile = capture.report::<Compile>();
        assert_eq!(compile.compilations, 2, "{name}");
        assert!(
            near(compile.compile_ps.unwrap() as f64, 68.52e9, 0.01e9),
            "{name}: {:?}",
            compile.compile_ps
        );
        let steps = capture.report::<Steps>();
        assert_eq!(
            (steps.source, steps.steps.len()),
            (StepSource::WholeCapture, 1),
            "{name}"
        );
        assert!(steps.steps[0].time_ps > 0);
    }
}

#[test]
fn other_captures_have_plausible_steps_and_only_real_devices() {
    // XProf, too, finds one step of 21.3104 ms on the GPUs.
    let Some(gpu) = open("gpu/tf2_8xV100.xplane.pb") else {
        return;
    };
    let steps = gpu.report::<Steps>();
    assert_eq!(
        (steps.source, steps.steps.len(), steps.steps[0].time_ps),
        (StepSource::StepsLine, 1, 21_310_352_000)
    );
    assert!(gpu.scoped::<Devices>(Scope::WholeTrace).is_err());
    for name in [
        "host/jax_cpu_8dev_collectives.trace.json.gz",
        "host/jax_cpu_8dev_collectives.perfetto_trace.json.gz",
    ] {
        let collectives = open(name).unwrap();
        assert_eq!(collectives.report::<Steps>().steps.len(), 20, "{name}");
        assert!(collectives.scoped::<Devices>(Scope::WholeTrace).is_err());
    }
    let big = open("big/jax_cpu_808k_events.xplane.pb.gz").unwrap();
    assert_eq!(big.report::<Steps>().steps.len(), 350);
    assert_eq!(big.report::<Compile>().compilations, 0);
}

/// Three layers compiled for v5p without one: what XLA expects, and what follows.
#[test]
fn predicted_timeline_is_analyzed_like_a_profile() {
    let Some(capture) = open("simulators/xla_tpu_aot/lab11_v5p/scheduled_hlo.txt") else {
        return;
    };
    let us = |ps: i64| ps as f64 / 1e6;
    let overlap = capture.report::<Overlap>();
    let core = &overlap.cores[0];
    assert!(near(us(core.window_ps), 71.778, 0.001) && near(us(core.compute_ps), 46.956, 0.001));
    assert!(
        near(us(core.exposed_ps), 24.822, 0.001)
            && near(us(core.exposed_blocking_ps), 24.822, 0.001)
    );
    // All weights but those before the first all-gather come while the core computes.
    assert!(
        near(us(core.copy_in_flight_ps), 6.0 * 3.0339, 0.001)
            && near(us(core.copy_hidden_ps), 5.0 * 3.0339, 0.001)
    );
    assert!(capture.findings().contains(&"Q13") && !capture.findings().contains(&"Q08"));
    // The inside fusions is known from the text: both products of a layer, and who reduces.
    let matmuls = capture.report::<Matmuls>();
    let sizes = |row: &MatmulRow| row.sizes.map(|sizes| (sizes.m, sizes.k, sizes.n));
    assert!(
        matmuls
            .rows
            .iter()
            .all(|row| row.products == 2 && sizes(row) == Some((256, 4096, 1024)))
    );
    let collectives = capture.report::<Collectives>();
    let kinds: Vec<_> = collectives
        .kinds
        .iter()
        .map(|row| (row.kind.as_str(), row.sent_bytes))
        .collect();
    let sent = Some(3.0 * 393_216.0);
    assert!(
        kinds.contains(&("all-gather", sent)) && kinds.contains(&("reduce-scatter", sent)),
        "{kinds:?}"
    );
}

/// A training step on 256 chips whose all-gathers start and end in fusions: 14 of them, no kernels.
#[test]
fn async_collectives_of_a_training_step_are_not_kernels() {
    let Some(capture) = open("regressions/v5p_async_collectives_rebuilt.xplane.pb.gz") else {
        return;
    };
    let ops = capture.report::<Ops>();
    let share = |wanted: &dyn Fn(&OpRow) -> bool| {
        let part: i64 = ops
            .rows
            .iter()
            .filter(|row| wanted(row))
            .map(|row| row.self_time_ps)
            .sum();
        100.0 * part as f64 / ops.op_time_ps as f64
    };
    assert!(near(
        share(&|row| row.group == OpGroup::CustomKernel),
        11.3,
        0.05
    ));
    assert!(near(share(&|row| row.group == OpGroup::MatMul), 33.5, 0.05));
    let asynchronous = share(&|row| row.name.starts_with("async-collective-"));
    assert!(near(asynchronous, 14.56, 0.05), "{asynchronous}");
    // With those that are not asynchronous.
    assert!(near(
        share(&|row| row.group == OpGroup::Collective),
        14.56 + 9.15 + 2.70 + 0.12 + 0.08,
        0.05
    ));
    let overlap = capture.report::<Overlap>();
    let gathers = overlap
        .transfers
        .iter()
        .filter(|row| row.op.starts_with("async-collective-start"));
    let gathers: Vec<_> = gathers
        .map(|row| (row.kind.as_str(), row.is_async, row.is_collective))
        .collect();
    assert_eq!(gathers, [("all-gather", true, true); 14]);
    assert!(
        overlap.summary.overlap_ratio_percent.unwrap() > 10.0,
        "{:?}",
        overlap.summary
    );
    assert!(
        overlap
            .transfers
            .iter()
            .all(|row| row.kind != "custom fusion")
    );
    let links = capture.report::<Collectives>();
    let row = links
        .rows
        .iter()
        .find(|row| row.op == "async-collective-start.3")
        .unwrap();
    // `bf16[1,512,7168]` of each becomes `bf16[1,2048,7168]`.
    assert_eq!(
        (row.message.bytes, row.message.participants),
        (Some(2048 * 7168 * 2), Some(4))
    );
}

/// Of four devices in steps of 784 ms: what is listed of a step is 784 ms, and not the sum over devices or steps.
#[test]
fn times_of_ops_are_those_of_one_device_in_one_step() {
    let Some(capture) = open(V6E_STEPS) else {
        return;
    };
    let listed = |scope| {
        let tables = capture.scoped::<Ops>(scope).unwrap().tables();
        let table = tables
            .iter()
            .find(|table| table.id == "op_groups")
            .unwrap()
            .clone();
        let at = table
            .columns
            .iter()
            .position(|column| column.id == "self_time_each_ps")
            .unwrap();
        let times = table
            .rows
            .iter()
            .map(|row| if let Cell::Int(ps) = row[at] { ps } else { 0 });
        (
            times.sum::<i64>() as f64 * 1e-9,
            table.columns[at].title,
            table.notes.join(" "),
        )
    };
    let (one, title, notes) = listed(Scope::Steps { first: 3, last: 3 });
    assert!(
        near(one, 784.2, 0.3) && title == "Self time a step",
        "{one} {title}"
    );
    assert!(
        notes.contains("the mean over 4 devices and 1 step"),
        "{notes}"
    );
    assert!(near(
        listed(Scope::Steps { first: 3, last: 12 }).0,
        784.2,
        0.3
    ));
    // A range knows no steps.
    let extent = capture.model.extent();
    let range = TimeRange::at(
        extent.start + Picos::from_ps(extent.dur().ps() / 2),
        Picos::from_ps(2_000_000_000_000),
    );
    let (each, title, _) = listed(Scope::Range(range));
    assert!(
        title == "Self time a device" && near(each, 2_000.0, 500.0),
        "{each} {title}"
    );
    // The headline names the same base.
    let overlap = capture.report::<Overlap>();
    let (all, exposed) = overlap.mean_comm().unwrap();
    assert!(
        all >= exposed
            && near(
                exposed.ps() as f64 * 100.0,
                overlap.summary.exposed_mean_ps.unwrap() as f64,
                100.0
            )
    );
}
