//! Steps, their parts and the balance of runs that were made to be simple, through
//! files and importers.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use analysis::reports::steps::balance::ImbalancePattern;
use analysis::reports::steps::step_parts::HostPhase;
use analysis::reports::{Balance, StepPart, StepParts, Steps};
use importers::{InputSource, Progress};
use sample_traces::fleet::FleetSpec;
use sample_traces::write::{trace_json, xspace_bytes};
use trace_model::{Picos, TraceModel};

fn ms(ms: i64) -> Picos {
    Picos::from_ps(ms * 1_000_000_000)
}

fn open(spec: &FleetSpec) -> [TraceModel; 2] {
    let session = spec.session();
    let files = [
        ("fleet.xplane.pb", xspace_bytes(&session)),
        ("fleet.trace.json", trace_json(&session).into_bytes()),
    ];
    files.map(|(name, bytes)| {
        importers::import(
            &InputSource::from_bytes(name, bytes).unwrap(),
            &Progress::new(),
        )
        .unwrap()
    })
}

#[test]
fn straggler_delay_matches_the_sample() {
    let spec = FleetSpec {
        straggler: Some((5, ms(3))),
        ..FleetSpec::default()
    };
    for model in open(&spec) {
        let balance = report!(Balance, &model);
        let slow: Vec<&str> = balance
            .devices
            .iter()
            .filter(|load| load.is_straggler)
            .map(|load| load.core.as_str())
            .collect();
        assert_eq!(slow, ["/device:TPU:5"]);
        assert_eq!(
            balance.pattern,
            ImbalancePattern::Persistent {
                core: "/device:TPU:5".to_owned(),
                steps: 20,
                uneven: 20
            }
        );
        for (device, load) in balance.devices.iter().enumerate() {
            let waits = if device == 5 { 0 } else { ms(3).ps() };
            assert_eq!(load.step_ps.map(|ps| ps as i64), Some(ms(13).ps()));
            assert_eq!(load.work_ps.map(|ps| ps as i64), Some(ms(10).ps() - waits));
            assert_eq!(
                load.exposed_comm_ps.map(|ps| ps as i64),
                Some(ms(2).ps() + waits)
            );
            assert_eq!(load.idle_ps.map(|ps| ps as i64), Some(ms(1).ps()));
            // In each of 20 steps.
            assert_eq!(load.skew_wait_ps.map(|ps| ps as i64), Some(20 * waits));
        }
        assert!(
            balance
                .steps
                .iter()
                .all(|step| step.cost_ps as i64 == ms(3).ps())
        );
    }
}

/// Step 0 compiles, each fifth evaluates, step 8 waits for input, step 12 compiles again.
fn varied() -> FleetSpec {
    FleetSpec {
        evaluation: Some((5, ms(30))),
        stall: Some((8, ms(25))),
        compiles: vec![0, 12],
        ..FleetSpec::default()
    }
}

#[test]
fn step_classes_and_slow_steps_match_the_sample() {
    let spec = varied();
    for model in open(&spec) {
        let steps = report!(Steps, &model);
        for step in &steps.steps {
            assert_eq!(
                step.time_ps.ps(),
                spec.step_time(step.number).ps(),
                "{}",
                step.number
            );
            let class = &steps.classes[step.class];
            let expected = if spec.evaluates(step.number) {
                "jit_eval_step"
            } else {
                "jit_train_step"
            };
            assert_eq!(class.title, expected, "{}", step.number);
        }
        let left_out: Vec<u32> = steps
            .steps
            .iter()
            .filter(|step| step.left_out.is_some())
            .map(|step| step.number)
            .collect();
        assert_eq!(left_out, [0]);
        let mut slow: Vec<u32> = steps.outliers().iter().map(|step| step.number).collect();
        slow.sort_unstable();
        // An evaluation takes three times as long as a training step and is none.
        assert_eq!(slow, [0, 8, 12]);
        let medians: Vec<i64> = steps
            .classes
            .iter()
            .map(|class| class.time.unwrap().median as i64)
            .collect();
        assert_eq!(medians, [ms(10).ps(), ms(31).ps()]);
    }
}

#[test]
fn slow_steps_have_their_planted_reason() {
    let spec = varied();
    for model in open(&spec) {
        let parts = report!(StepParts, &model);
        for (step, phase, more) in [
            (8, HostPhase::Input, 25),
            (12, HostPhase::Compiling, 500),
            (0, HostPhase::Compiling, 500),
        ] {
            let slow = parts.slow.iter().find(|slow| slow.step == step).unwrap();
            assert_eq!(
                (slow.longer_ps.ps(), slow.parts.len()),
                (ms(more).ps(), 1),
                "{step}"
            );
            assert_eq!(
                (slow.parts[0].part, slow.parts[0].change_ps.ps()),
                (StepPart::Idle, ms(more).ps()),
                "{step}"
            );
            assert_eq!(
                (slow.host[0].phase, slow.host[0].change_ps.ps()),
                (phase, ms(more).ps()),
                "{step}"
            );
        }
        for step in &parts.steps {
            for core in &step.cores {
                assert_eq!(
                    core.parts.get(StepPart::Idle).ps(),
                    spec.idle(step.step).ps(),
                    "{}",
                    step.step
                );
                assert_eq!(
                    core.parts.get(StepPart::MatMul).ps(),
                    spec.work_of(step.step, 0).ps(),
                    "{}",
                    step.step
                );
                assert_eq!(
                    core.parts.total().ps(),
                    spec.step_time(step.step).ps(),
                    "{}",
                    step.step
                );
            }
        }
    }
}
