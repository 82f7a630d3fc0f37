//! Predictions against runs that were made with the changed durations, and against
//! real captures played again without a change.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use analysis::critical_path::CriticalPaths;
use analysis::hints::Hints;
use analysis::reports::{Ops, Steps};
use analysis::what_if::{Prediction, Replay, Scenario};
use analysis::{OpGroup, Scope};
use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use trace_model::Picos;

use crate::capture::{Capture, TPUS, model_at, open};

impl Capture {
    fn synthetic(spec: TrainingSpec) -> Self {
        Self::of(
            "run.xplane.pb",
            xspace_bytes(&SyntheticRun::new(spec).session()),
        )
    }

    fn predict(&self, changes: &[Scenario]) -> Prediction {
        Replay::new(&self.cx(Scope::WholeTrace))
            .unwrap()
            .with(&self.cx(Scope::WholeTrace), changes)
            .unwrap()
    }

    fn step_ps(&self) -> f64 {
        self.cx(Scope::WholeTrace)
            .report::<Steps>()
            .unwrap()
            .time
            .unwrap()
            .median
    }

    /// All ops of a group take so much of their time.
    fn group(&self, group: OpGroup, factor: f64) -> Scenario {
        let rows = &self.cx(Scope::WholeTrace).report::<Ops>().unwrap().rows;
        let factors = rows
            .iter()
            .filter(|row| row.group == group)
            .filter_map(|row| Some((row.op?, factor)))
            .collect();
        Scenario::Ops {
            what: group.title().to_owned(),
            factors,
        }
    }
}

/// Equal but for rounding each op to picoseconds.
fn same(predicted: f64, recorded: f64) -> bool {
    (predicted - recorded).abs() <= 200.0
}

/// Slow links, so that communication is exposed whether or not it overlaps.
fn slow_links(overlap: bool, link_efficiency: f64) -> TrainingSpec {
    TrainingSpec {
        overlap,
        link_efficiency,
        ..TrainingSpec::default()
    }
}

#[test]
fn links_of_another_speed_are_predicted_exactly() {
    for overlap in [false, true] {
        for (slow, fast) in [(0.2, 0.4), (0.1, 0.8)] {
            let capture = Capture::synthetic(slow_links(overlap, slow));
            let prediction = capture.predict(&[Scenario::Collectives(slow / fast)]);
            let step = prediction.step.unwrap();
            let truth = Capture::synthetic(slow_links(overlap, fast)).step_ps();
            assert!(same(step.median_ps, capture.step_ps()));
            assert!(
                step.predicted_ps < step.median_ps,
                "{overlap} {slow} {fast}: nothing saved"
            );
            assert!(
                same(step.predicted_ps, truth),
                "{overlap} {slow} {fast}: {} is not {truth}",
                step.predicted_ps
            );
        }
    }
}

#[test]
fn hint_about_slow_links_saves_what_fast_links_save() {
    let capture = Capture::synthetic(TrainingSpec {
        link_efficiency: 0.02,
        data: 1,
        model: 4,
        tokens: 32_768,
        width: 4096,
        hidden: 16_384,
        ..TrainingSpec::default()
    });
    let hints = capture.cx(Scope::WholeTrace).report::<Hints>().unwrap();
    let hint = hints
        .hints
        .iter()
        .find(|hint| hint.id == "K03")
        .expect("programs have ids, the ledger has none");
    // Four devices in a row have half the links of a ring.
    let fast = capture
        .predict(&[Scenario::Collectives(2.0 * 0.02 / 2.96)])
        .step
        .unwrap();
    let saved = fast.median_ps - fast.predicted_ps;
    assert!(
        (hint.saving_ps.unwrap().as_ps_f64() - saved).abs() < 0.01 * saved,
        "{hint:?}, {saved}"
    );
    assert_eq!(hints.hints[0].id, "K03");
}

#[test]
fn faster_matmuls_are_predicted_exactly() {
    for (overlap, link_efficiency) in [(false, 0.9), (true, 0.9), (true, 0.2)] {
        let spec = |mxu_efficiency| TrainingSpec {
            mxu_efficiency,
            ..slow_links(overlap, link_efficiency)
        };
        let capture = Capture::synthetic(spec(0.4));
        let step = capture
            .predict(&[capture.group(OpGroup::MatMul, 0.5)])
            .step
            .unwrap();
        let truth = Capture::synthetic(spec(0.8)).step_ps();
        // Between its two ends; exactly if nothing that was hidden comes to light.
        let within =
            step.predicted_ps - 200.0 <= truth && truth <= step.predicted_at_most_ps + 200.0;
        assert!(
            within,
            "{overlap} {link_efficiency}: {truth} is not within {step:?}"
        );
        let settled = step.predicted_ps >= step.predicted_at_most_ps;
        assert!(
            !settled || same(step.predicted_ps, truth),
            "{overlap} {link_efficiency}: {step:?}, truth {truth}"
        );
        println!("{overlap} {link_efficiency}: {step:?}, truth {truth}");
    }
}

#[test]
fn removing_a_stall_removes_its_idle_time() {
    let stall = Picos::from_ps(3_000_000_000);
    let stalled = Capture::synthetic(TrainingSpec {
        stall: Some((2, stall)),
        ..TrainingSpec::default()
    });
    let prediction = stalled.predict(&[Scenario::Idle(0.0)]);
    let idle = |part: &&analysis::what_if::PredictedPart| part.group == OpGroup::Idle;
    let idle = prediction.parts.iter().find(idle).unwrap();
    assert_eq!(idle.predicted_ps, Picos::ZERO);
    assert!(idle.recorded_ps > stall);
    assert_eq!(
        prediction.window_ps - prediction.predicted_ps,
        idle.recorded_ps
    );
}

#[test]
fn replaying_real_captures_unchanged_keeps_times() {
    for name in TPUS {
        let Some(capture) = open(name) else { return };
        let prediction = capture.predict(&[]);
        assert_eq!(
            prediction.predicted_ps, prediction.window_ps,
            "{name}: {prediction:?}"
        );
        assert_eq!(
            prediction.predicted_at_most_ps, prediction.window_ps,
            "{name}"
        );
        assert!(
            prediction
                .step
                .is_none_or(|step| (step.predicted_ps - step.median_ps).abs() < 0.5),
            "{name}"
        );
        assert!(
            prediction
                .parts
                .iter()
                .all(|part| part.recorded_ps == part.predicted_ps),
            "{name}"
        );
        let sum: Picos = prediction.parts.iter().map(|part| part.recorded_ps).sum();
        assert!(sum <= prediction.window_ps, "{name}");
        // Nothing gets slower by hiding something, and the parts still add up.
        for change in [
            Scenario::Collectives(0.0),
            Scenario::Copies(0.0),
            Scenario::Idle(0.5),
            Scenario::NoCompile,
        ] {
            let prediction = capture.predict(std::slice::from_ref(&change));
            println!(
                "{name}: {} of {} where {}",
                prediction.predicted_ps,
                prediction.window_ps,
                change.title()
            );
            assert!(
                prediction.predicted_ps <= prediction.window_ps,
                "{name}: {change:?}"
            );
            assert!(
                prediction.predicted_ps <= prediction.predicted_at_most_ps,
                "{name}: {change:?}"
            );
        }
    }
}

/// The pieces of a path follow each other, and fill its step.
fn check_paths(name: &str, capture: &Capture) {
    let cx = capture.cx(Scope::WholeTrace);
    let steps = cx.report::<Steps>().unwrap();
    let replay = Replay::new(&cx).unwrap();
    let paths: Vec<_> = replay.critical_paths(&cx, &steps.steps).collect();
    let complete: Vec<_> = steps.steps.iter().filter(|step| !step.is_partial).collect();
    assert_eq!(paths.len(), complete.len(), "{name}");
    for (path, step) in paths.iter().zip(complete) {
        let first = path.pieces.first().unwrap().range.start;
        let end = path.pieces.iter().fold(first, |end, piece| {
            assert_eq!(piece.range.start, end, "{name}, step {}", step.number);
            piece.range.end
        });
        assert_eq!((first, end), (path.span.start, path.span.end), "{name}");
        assert_eq!(end - first, step.time_ps, "{name}, step {}", step.number);
    }
    let Ok(report) = cx.report::<CriticalPaths>() else {
        assert!(!steps.has_steps(), "{name}");
        return;
    };
    let kinds: Picos = report.kinds.iter().map(|row| row.time_ps).sum();
    let counted: Picos = steps.counted().map(|step| step.time_ps).sum();
    assert_eq!((kinds, report.length_ps), (counted, counted), "{name}");
}

#[test]
fn critical_path_adds_up_to_each_step() {
    for (overlap, link_efficiency) in [(false, 0.9), (true, 0.9), (true, 0.1)] {
        let capture = Capture::synthetic(slow_links(overlap, link_efficiency));
        check_paths(&format!("{overlap} {link_efficiency}"), &capture);
    }
    for name in TPUS {
        let Some(capture) = open(name) else { return };
        check_paths(name, &capture);
    }
}

/// The device that is slow is on the path for nearly all of it, the others only where nobody waits.
#[test]
fn critical_path_leads_over_the_straggler() {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../assets/samples/synthetic_v5e_8chip_straggler.xplane.pb"
    );
    let capture = Capture::new(model_at(path.as_ref()));
    let report = capture
        .cx(Scope::WholeTrace)
        .report::<CriticalPaths>()
        .unwrap();
    let most = report.devices.iter().max_by_key(|row| row.time_ps).unwrap();
    assert!(most.device.ends_with(":5"), "{:?}", report.devices);
}
