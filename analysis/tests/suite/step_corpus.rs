//! Parts and classes of the steps of real captures.

use analysis::reports::steps::step_parts::HostPhase;
use analysis::reports::{StepPart, StepParts, Steps};
use serde_json::Value;

use crate::capture::{TPUS, corpus, open};

#[test]
fn parts_sum_to_every_step_of_every_core() {
    for name in TPUS {
        let Some(capture) = open(name) else { return };
        let (steps, parts) = (capture.report::<Steps>(), capture.report::<StepParts>());
        assert_eq!(parts.steps.len(), steps.steps.len(), "{name}");
        for (step, divided) in steps.steps.iter().zip(&parts.steps) {
            assert_eq!(
                divided.critical().unwrap().time_ps,
                step.time_ps,
                "{name}: {}",
                step.number
            );
            assert_eq!(divided.cores.len(), step.spans.len(), "{name}");
            for core in &divided.cores {
                assert_eq!(
                    core.parts.total(),
                    core.time_ps,
                    "{name}: {} {}",
                    step.number,
                    core.core
                );
                assert!(
                    StepPart::ALL
                        .iter()
                        .all(|&part| core.parts.get(part).ps() >= 0),
                    "{name}: {core:?}"
                );
            }
        }
    }
}

/// What `XProf` calls compute is everything but idle, infeed and outfeed, as a mean over cores.
#[test]
fn op_time_equals_xprof_compute_time() {
    let Some(capture) = open(TPUS[3]) else { return };
    let answer = "tpu/xprof/v6e_x4_host_offload_steps_added/cli/get_step_trace.json";
    let xprof: Value =
        serde_json::from_str(&std::fs::read_to_string(corpus().unwrap().join(answer)).unwrap())
            .unwrap();
    let parts = capture.report::<StepParts>();
    let theirs = xprof["step_breakdown"].as_array().unwrap();
    assert!(!theirs.is_empty());
    for (step, theirs) in parts.steps.iter().zip(theirs) {
        let busy: i64 = step
            .cores
            .iter()
            .map(|core| (core.time_ps - core.parts.get(StepPart::Idle)).ps())
            .sum();
        let mean_ms = busy as f64 / step.cores.len() as f64 / 1e9;
        assert!(
            (mean_ms - theirs["compute_time_ms"].as_f64().unwrap()).abs() < 1e-4,
            "{}: {mean_ms}",
            step.step
        );
    }
}

/// Of 784 ms the cores wait 760 for copies, where `XProf` sees 92 % compute.
#[test]
fn offload_capture_steps_mostly_wait() {
    let Some(capture) = open(TPUS[3]) else { return };
    let parts = capture.report::<StepParts>();
    let class = &parts.classes[0];
    let mean = |part: StepPart| {
        class
            .parts
            .iter()
            .find(|times| times.part == part)
            .unwrap()
            .mean_ps
            / 1e9
    };
    assert_eq!(
        (parts.classes.len(), class.steps, class.title.as_str()),
        (1, 100, "jit_f")
    );
    assert!(
        (mean(StepPart::CopyWait) - 760.2).abs() < 0.1
            && (mean(StepPart::Vector) - 24.05).abs() < 0.05
    );
    assert!(mean(StepPart::Idle) < 0.01);
    assert!(parts.slow.is_empty());
}

#[test]
fn compiling_first_step_is_warm_up() {
    for name in &TPUS[..2] {
        let Some(capture) = open(name) else { return };
        let (steps, parts) = (capture.report::<Steps>(), capture.report::<StepParts>());
        assert!(
            steps.steps[0].is_warmup && steps.steps[0].is_outlier && steps.steps[9].is_partial,
            "{name}"
        );
        let why = steps.steps[0].left_out.clone().unwrap();
        assert!(
            why.starts_with("warm-up: compiles for 42.9"),
            "{name}: {why}"
        );
        let time = steps.time.unwrap();
        assert_eq!((time.count, steps.left_out), (8, 2), "{name}");
        assert!(time.max < 0.4e9, "{name}: {time:?}");
        // Nothing but idle time tells it from the others, and the host compiled meanwhile.
        let slow = &parts.slow[0];
        assert_eq!(
            (slow.step, slow.parts[0].part, slow.host[0].phase),
            (0, StepPart::Idle, HostPhase::Compiling),
            "{name}"
        );
        assert!(
            slow.parts[0].change_ps.as_ps_f64() > 0.9999 * slow.longer_ps.as_ps_f64(),
            "{name}"
        );
    }
}

#[test]
fn recompiling_steps_are_outliers_because_they_compile() {
    let Some(capture) = open("host/jax_cpu_transformer_recompiles.xplane.pb") else {
        return;
    };
    let (steps, parts) = (capture.report::<Steps>(), capture.report::<StepParts>());
    assert_eq!(steps.classes.len(), 1);
    let mut slow: Vec<u32> = parts.slow.iter().map(|slow| slow.step).collect();
    slow.sort_unstable();
    assert_eq!(slow, [5, 9, 14]);
    for slow in &parts.slow {
        assert_eq!(slow.host[0].phase, HostPhase::Compiling);
        assert!(slow.host[0].change_ps.as_ps_f64() > 0.8 * slow.longer_ps.as_ps_f64());
        assert_eq!(
            slow.host
                .iter()
                .map(|change| change.change_ps.ps())
                .sum::<i64>(),
            slow.longer_ps.ps()
        );
    }
}
