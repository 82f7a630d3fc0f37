//! What hosts do in captures with a known answer: generated ones, and real ones.

use analysis::Scope;
use analysis::facts::StepSource;
use analysis::hints::{HintSeverity, Hints};
use analysis::reports::summary::verdict::RunVerdict;
use analysis::reports::{Compile, Doctor, Gaps, GapsReport, IdleCause, Steps};

use crate::capture::{Capture, open};

fn idle_ms(gaps: &GapsReport, cause: IdleCause) -> f64 {
    gaps.devices[0].time_ps(cause).as_ps_f64() / 1e9
}

/// Six of 20 ms in which the device waits until the host has read a result and launched the next step.
#[test]
fn waits_for_results_are_named_however_they_are_recorded() {
    for name in [
        "sync_bur_arrayimpl",
        "sync_bur_child",
        "sync_bur_nochild",
        "sync_float",
    ] {
        let Some(capture) = open(&format!("planted/{name}.xplane.pb")) else {
            return;
        };
        let hints = capture.report::<Hints>();
        let about = hints
            .hints
            .iter()
            .filter(|hint| hint.severity != HintSeverity::Health)
            .map(|hint| hint.id);
        let about: Vec<&str> = about.collect();
        assert_eq!(about.first(), Some(&"K33"), "{name}: {about:?}");
        assert!(!about.contains(&"K31"), "{name}: {about:?}");
        let verdict = capture.report::<RunVerdict>();
        assert!(
            !verdict.statement.contains("code of its own"),
            "{name}: {}",
            verdict.statement
        );
    }
}

/// One compilation of 100 ms; in one of the two captures slices of its thread overlap their neighbours.
#[test]
fn slices_that_overlap_inherit_nothing() {
    let files = [
        "planted/overlap_cascade.xplane.pb",
        "planted/overlap_cascade_ref.xplane.pb",
    ];
    let Some(captures) = files
        .map(open)
        .into_iter()
        .collect::<Option<Vec<Capture>>>()
    else {
        return;
    };
    let gaps = [captures[0].report::<Gaps>(), captures[1].report::<Gaps>()];
    for cause in IdleCause::ALL {
        let [overlapping, nested] = [0, 1].map(|at| idle_ms(&gaps[at], cause));
        // 62 µs of 99 steps overlap.
        assert!(
            (overlapping - nested).abs() < 7.0,
            "{cause:?}: {overlapping} for {nested} ms"
        );
    }
    assert!(
        (idle_ms(&gaps[0], IdleCause::Compile) - 100.0).abs() < 1.0,
        "{:?}",
        gaps[0].devices[0].between
    );
    for capture in &captures {
        assert!(
            (capture.report::<Compile>().compile_ps.unwrap().as_ps_f64() / 1e9 - 100.0).abs() < 1.0
        );
    }
}

/// Twenty `StepTraceAnnotation`s of 20 ms with four micro steps and an update each.
#[test]
fn annotated_steps_contain_all_their_programs() {
    let Some(capture) = open("planted/grad_accum4.xplane.pb") else {
        return;
    };
    let steps = capture.report::<Steps>();
    assert_eq!(
        (steps.source, steps.steps.len(), steps.marker.as_str()),
        (StepSource::AnnotatedPrograms, 20, "train")
    );
    let numbers: Vec<u32> = steps.steps.iter().map(|step| step.number).collect();
    assert_eq!(numbers, (0..20).collect::<Vec<u32>>());
    assert!(
        steps
            .counted()
            .all(|step| step.time_ps.ps() == 20_000_000_000),
        "{:?}",
        steps.steps
    );
    assert_eq!(steps.classes.len(), 1, "{:?}", steps.classes);
    let one = capture
        .scoped::<Steps>(Scope::Steps { first: 3, last: 3 })
        .unwrap();
    assert_eq!(one.steps.len(), 1);
}

#[test]
fn annotations_that_are_there_are_not_recommended() {
    for name in ["base_v6e", "grad_accum4"] {
        let Some(capture) = open(&format!("planted/{name}.xplane.pb")) else {
            return;
        };
        let doctor = capture.report::<Doctor>();
        assert!(
            doctor.findings.iter().all(|finding| finding.id != "Q03"),
            "{name}: {:?}",
            doctor.findings
        );
    }
    let Some(capture) = open("planted/base_v6e.xplane.pb") else {
        return;
    };
    let steps = capture.report::<Steps>();
    assert_eq!(
        (steps.source, steps.steps.len()),
        (StepSource::AnnotatedPrograms, 30)
    );
    // All but the one that compiles for 500 ms.
    let usual = steps
        .steps
        .iter()
        .filter(|step| !step.is_partial && step.number != 14);
    assert!(
        usual
            .clone()
            .all(|step| (step.time_ps.ps() - 20_000_000_000).abs() < 1_000_000),
        "{:?}",
        steps.steps
    );
}

#[test]
fn a_device_of_another_kind_is_a_device() {
    let Some(capture) = open("gpu/tf2_8xV100.xplane.pb") else {
        return;
    };
    let doctor = capture.report::<Doctor>();
    assert!(
        doctor.findings.iter().all(|finding| finding.id != "Q04"),
        "{:?}",
        doctor.findings
    );
}
