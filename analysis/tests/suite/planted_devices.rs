//! Devices that run little, stragglers and hosts with other clocks, against what was planted.

use analysis::Scope;
use analysis::facts::TimeUse;
use analysis::hints::{HintSeverity, Hints};
use analysis::reports::summary::verdict::RunVerdict;
use analysis::reports::{Balance, Doctor, Ops, Steps, Utilization};
use trace_model::Picos;

use crate::capture::{Capture, corpus, model_at};

fn planted(name: &str) -> Option<Capture> {
    Some(Capture::new(model_at(
        &corpus()?.join("planted").join(name),
    )))
}

/// What a hint saves in a step, in milliseconds.
fn saving_ms(capture: &Capture, id: &str) -> Option<f64> {
    let hints = capture.report::<Hints>();
    Some(
        hints
            .hints
            .iter()
            .find(|hint| hint.id == id)?
            .saving_ps?
            .as_ps_f64()
            * 1e-9,
    )
}

#[test]
fn devices_that_run_little_stay_in_every_share() {
    let cases = [
        (
            "one_idle_device",
            "1 of 4 devices runs jit_train_step once and nothing else (/device:TPU:3)",
        ),
        (
            "unused_init_only",
            "1 of 4 devices runs jit_init once and nothing else (/device:TPU:3)",
        ),
        (
            "late_joiner",
            "1 of 4 devices joins at step 10 (/device:TPU:3)",
        ),
    ];
    for (name, said) in cases {
        let Some(capture) = planted(&format!("{name}.xplane.pb")) else {
            return;
        };
        let statement = &capture.report::<RunVerdict>().statement;
        assert!(statement.contains(said), "{name}: {statement}");
        assert!(
            capture
                .report::<Hints>()
                .hints
                .iter()
                .any(|hint| hint.id == "K46"),
            "{name}"
        );
        let ops = capture.report::<Ops>();
        assert_eq!(ops.cores.len(), 4, "{name}");
        // All have the same window, so that together they are used as the mean of each.
        let windows: Vec<Picos> = ops.cores.iter().map(|core| core.total_time_ps).collect();
        assert!(
            windows.windows(2).all(|pair| pair[0] == pair[1]),
            "{name}: {windows:?}"
        );
        let utilization = capture.report::<Utilization>();
        let mfu = |metrics: &[analysis::Metric]| {
            metrics
                .iter()
                .find(|metric| metric.id == "mfu_window_percent")
                .and_then(|metric| metric.value)
                .unwrap_or(0.0)
        };
        let each: f64 = utilization
            .devices
            .iter()
            .map(|device| mfu(&device.metrics))
            .sum();
        assert!(
            (mfu(&utilization.combined) - each / 4.0).abs() < 1e-6,
            "{name}"
        );
        let steps = capture.report::<Steps>();
        assert!(
            steps.time.unwrap().count + 1 >= steps.steps.len() && steps.steps.len() > 5,
            "{name}: {steps:?}"
        );
    }
}

#[test]
fn the_device_that_joins_late_is_named_and_matrices_below_their_target_are_not_called_right() {
    let Some(capture) = planted("late_joiner.xplane.pb") else {
        return;
    };
    let hints = capture.report::<Hints>();
    let limit = &hints.limit.as_ref().unwrap().statement;
    let named = "The devices, mostly TPU:3 (joined late), are idle 21.8 % of each step";
    assert!(limit.starts_with(named), "{limit}");
    let open = hints
        .unanswered
        .iter()
        .find(|open| open.id == TimeUse::MatMul);
    assert_eq!(
        open.unwrap().reason,
        "no rule knows why it misses its target, MXU > 80 %"
    );
}

/// The first screen names both, so it has to say that the hints are about something else.
#[test]
fn that_no_hint_answers_the_limit_is_said_with_the_reason() {
    for (file, reason) in [
        (
            "kernel70_unknown.xplane.pb",
            "how well it runs is not known, see K29",
        ),
        (
            "grad_accum4.xplane.pb",
            "no rule knows why it misses its target, MXU > 80 %",
        ),
    ] {
        let Some(capture) = planted(file) else {
            return;
        };
        let open = capture.report::<Hints>().open_limit();
        let expected = format!("No hint answers the limit: {reason}.");
        assert_eq!(open, Some(expected), "{file}");
    }
}

/// Three devices work 18 ms in a step of 20 ms, the fourth runs one program before: evenly divided, each would work 13.5 ms.
#[test]
fn the_device_that_runs_nothing_is_named_first() {
    let Some(capture) = planted("one_idle_device.xplane.pb") else {
        return;
    };
    let hints = capture.report::<Hints>();
    let limit = &hints.limit.as_ref().unwrap().statement;
    assert!(limit.contains("mostly TPU:3, are idle"), "{limit}");
    assert!((saving_ms(&capture, "K46").unwrap() - 4.5).abs() < 0.01);
    let first = hints.hints.first().unwrap();
    assert_eq!((first.id, first.severity), ("K46", HintSeverity::Critical));
    assert_eq!(first.spots.len(), 1);
    // Of one that joins late nobody knows what it could have taken over.
    let Some(late) = planted("late_joiner.xplane.pb") else {
        return;
    };
    assert_eq!(saving_ms(&late, "K46"), None);
}

/// The straggler costs the others 1.000 ms in each step, however many steps were recorded.
#[test]
fn waiting_for_a_straggler_is_that_of_one_step() {
    for name in [
        "k06_2steps_sl0",
        "k06_3steps_sl0",
        "k06_4steps_sl0",
        "k06_4steps_sl1",
    ] {
        let Some(capture) = planted(&format!("{name}.xplane.pb")) else {
            return;
        };
        let saving = saving_ms(&capture, "K06").unwrap();
        assert!((saving - 1.0).abs() < 0.002, "{name}: {saving}");
    }
}

/// Clocks of hosts that are 5 ms apart are found, and change nothing else.
#[test]
fn clocks_of_hosts_change_no_waiting() {
    let (Some(apart), Some(equal)) = (planted("mh_skew5"), planted("mh_skew0")) else {
        return;
    };
    let finding = |capture: &Capture| {
        capture
            .report::<Doctor>()
            .findings
            .iter()
            .find(|own| own.id == "Q18")
            .cloned()
    };
    assert_eq!(finding(&equal), None);
    let found = finding(&apart).unwrap();
    assert!(found.message.contains("5.000 ms"), "{found:?}");
    let waits = |capture: &Capture| {
        let balance = capture.report::<Balance>();
        balance
            .devices
            .iter()
            .map(|device| (device.skew_wait_ps, device.awaited_ps))
            .collect::<Vec<_>>()
    };
    assert_eq!(waits(&apart), waits(&equal));
    assert!(waits(&equal).iter().all(|(wait, _)| wait.is_some()));
    let ids = |capture: &Capture| {
        let hints = capture.scoped::<Hints>(Scope::WholeTrace).unwrap();
        hints
            .hints
            .iter()
            .filter(|hint| hint.id != "Q18")
            .map(|hint| (hint.id, hint.saving_ps))
            .collect::<Vec<_>>()
    };
    assert_eq!(ids(&apart), ids(&equal));
}
