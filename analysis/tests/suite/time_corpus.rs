//! Steps, device time, communication and health of real captures,
//! against what `XProf` says of them and what is known of how they were made.

use analysis::facts::clock_alignment::ClockSync;
use analysis::facts::{StepSource, StepsReport};
use analysis::reports::steps::devices::Devices;
use analysis::reports::{Compile, Doctor, Overlap, Steps};
use analysis::{OpGroup, Scope};
use serde_json::Value;
use trace_model::Picos;

use crate::capture::{Capture, corpus, open};

impl Capture {
    pub(super) fn findings(&self) -> Vec<&'static str> {
        self.report::<Doctor>()
            .findings
            .iter()
            .map(|finding| finding.id)
            .collect()
    }
}

pub(super) fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance
}

pub(super) const V5E: [&str; 2] = ["tpu/v5e_matmul.xplane.pb", "tpu/v5e_matmul.trace.json.gz"];
const V6E: &str = "tpu/v6e_x4_host_offload.xplane.pb";
pub(super) const V6E_STEPS: &str = "tpu/v6e_x4_host_offload_steps_added.xplane.pb";

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
    let waits: Picos = (devices.cores.iter())
        .map(|core| core.time(OpGroup::AsyncWait))
        .sum();
    let windows: Picos = devices.cores.iter().map(|core| core.window_ps).sum();
    assert!(near(100.0 * waits.fraction_of(windows).unwrap(), 84.0, 1.0));
    for core in &devices.cores {
        assert_eq!(
            core.groups
                .iter()
                .map(|group| group.time_ps.ps())
                .sum::<i64>(),
            core.window_ps.ps()
        );
        assert!(core.time(OpGroup::AsyncWait).ps() > core.window_ps.ps() * 8 / 10);
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
        (
            reduce.occurrences,
            reduce.hidden_ps.ps(),
            reduce.exposed_ps.ps()
        ),
        (12, 0, reduce.time_ps.ps())
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
        assert_eq!(core.copy_wait_ps.ps(), time.time(OpGroup::AsyncWait).ps());
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
        let sum = (head.cores[core].window_ps + tail.cores[core].window_ps).ps();
        assert!(near(
            both.cores[core].window_ps.as_ps_f64(),
            sum as f64,
            3e6
        ));
        for group in OpGroup::ALL {
            let sum = head.cores[core].time(group) + tail.cores[core].time(group);
            assert!(
                near(
                    both.cores[core].time(group).as_ps_f64(),
                    sum.as_ps_f64(),
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
            near(a.time_ps.as_ps_f64(), b.time_ps.as_ps_f64(), tolerance),
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
        near(shift.bounds.at_least_ps.as_ps_f64(), 610.180e6, 1e3),
        "{shift:?}"
    );
    assert!(
        near(shift.bounds.at_most_ps.unwrap().as_ps_f64(), 687.127e6, 1e3),
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
            near(steps.steps[0].time_ps.as_ps_f64(), ms * 1e9, 0.1e9),
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
fn other_captures_have_plausible_steps_and_only_real_devices() {
    // XProf, too, finds one step of 21.3104 ms on the GPUs.
    let Some(gpu) = open("gpu/tf2_8xV100.xplane.pb") else {
        return;
    };
    let steps = gpu.report::<Steps>();
    assert_eq!(
        (steps.source, steps.steps.len(), steps.steps[0].time_ps.ps()),
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
