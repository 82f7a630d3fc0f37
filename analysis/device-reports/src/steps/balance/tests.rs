//! Devices and hosts compared, on traces whose answers follow from how they are made.

use engine::{Options, Percent, ReportCache, Scope, Tabular as _};
use sample_traces::{parallel, text_trace};
use trace_model::{Picos, TraceModel};

use super::*;

fn report(model: &TraceModel) -> Result<BalanceReport> {
    let (options, reports) = (Options::default(), ReportCache::default());
    let cx = Context {
        model,
        scope: Scope::WholeTrace,
        options: &options,
        reports: &reports,
    };
    cx.report::<Balance>().map(|report| report.as_ref().clone())
}

#[test]
fn straggler_delays_others_by_its_extra_work() {
    let steps: [&[i64]; 4] = [&[100, 100, 100, 130, 100, 100, 100, 100]; 4];
    let report = report(&parallel(1, &steps)).unwrap();
    let slow: Vec<&str> = report
        .devices
        .iter()
        .filter(|load| load.is_straggler)
        .map(|load| load.core.as_str())
        .collect();
    assert_eq!(slow, ["/device:TPU:3"]);
    for (device, load) in report.devices.iter().enumerate() {
        let waits = if device == 3 { 0.0 } else { 30.0 };
        assert_eq!(
            (load.step_ps, load.steps, load.idle_ps),
            (Some(150.0), 4, Some(0.0))
        );
        assert_eq!(load.work_ps, Some(130.0 - waits));
        assert_eq!(load.exposed_comm_ps, Some(20.0 + waits));
        // Over the whole window of four steps.
        assert_eq!(load.skew_wait_ps, Some(4.0 * waits));
    }
    let work = &report.quantities[0];
    assert_eq!(
        (work.id, work.min_ps, work.median_ps, work.max_ps),
        ("work_ps", 100.0, 100.0, 130.0)
    );
    assert_eq!(
        (work.most.as_str(), work.imbalance_percent),
        ("/device:TPU:3", Some(Percent(30.0)))
    );
    for step in &report.steps {
        assert_eq!(
            (step.cost_ps, step.mean_ps, step.imbalance_percent),
            (30.0, 103.75, Some(Percent(30.0)))
        );
    }
    assert_eq!(
        report.pattern,
        ImbalancePattern::Persistent {
            core: "/device:TPU:3".to_owned(),
            steps: 4,
            uneven: 4
        }
    );
    assert!(
        report.statement.starts_with("/device:TPU:3 is a straggler"),
        "{}",
        report.statement
    );
    assert!(
        report.statement.contains("30.00 ps per step")
            || report.statement.contains("30 ps per step"),
        "{}",
        report.statement
    );
}

/// The published example: 10, 10.2, 9.9, 10.1 and 14 have a MAD of 0.1.
#[test]
fn score_matches_the_golden_vector() {
    let steps: [&[i64]; 3] = [&[10_000, 10_200, 9_900, 10_100, 14_000]; 3];
    let report = report(&parallel(1, &steps)).unwrap();
    let z = report.devices[4].work_z.unwrap();
    assert!((z - 26.3055).abs() < 1e-3, "{z}");
    assert!(report.devices[..4].iter().all(|load| !load.is_straggler));
}

#[test]
fn tiny_differences_are_no_straggler() {
    let steps: [&[i64]; 3] = [&[100_000, 100_001, 100_000, 100_000, 100_400]; 3];
    let report = report(&parallel(1, &steps)).unwrap();
    assert!(report.devices.iter().all(|load| !load.is_straggler));
    assert_eq!(report.pattern, ImbalancePattern::Balanced);
    assert!(
        report.statement.contains("no outlier"),
        "{}",
        report.statement
    );
}

#[test]
fn shifting_imbalance_is_no_slow_chip() {
    let steps: [&[i64]; 4] = [
        &[150, 100, 100, 100],
        &[100, 150, 100, 100],
        &[100, 100, 150, 100],
        &[100, 100, 100, 150],
    ];
    let report = report(&parallel(1, &steps)).unwrap();
    assert_eq!(
        report.pattern,
        ImbalancePattern::Rotating {
            cores: 4,
            uneven: 4
        }
    );
    assert!(report.devices.iter().all(|load| !load.is_straggler));
    // Every device works the same on average, and yet every step costs 50.
    assert_eq!(report.quantities[0].imbalance_percent, Some(Percent(0.0)));
    assert!(report.steps.iter().all(|step| step.cost_ps as i64 == 50));
}

#[test]
fn hosts_are_compared_by_device_times() {
    let steps: [&[i64]; 3] = [&[100, 100, 102, 102, 101, 101, 160, 180]; 3];
    let report = report(&parallel(4, &steps)).unwrap();
    let hosts: Vec<_> = report
        .hosts
        .iter()
        .map(|host| (host.host.as_str(), host.work_ps, host.is_straggler))
        .collect();
    let expected = [
        ("host0", 100.0, false),
        ("host1", 102.0, false),
        ("host2", 101.0, false),
        ("host3", 170.0, true),
    ];
    assert_eq!(
        hosts,
        expected.map(|(host, work, slow)| (host, Some(work), slow))
    );
    assert_eq!(report.hosts[3].most_work_ps, Some(180.0));
    let tables: Vec<_> = report.tables().iter().map(|table| table.id).collect();
    assert_eq!(
        tables,
        [
            "device_load",
            "balance",
            "host_load",
            "host_balance",
            "step_balance"
        ]
    );
}

#[test]
fn nearly_idle_device_counts_as_unused() {
    let model = text_trace(
        "
        steps      : 00000000000000000000000011111111111111111111111122222222222222222222222233333333333333333333
        ops        : mmmmmmmmmmmmmmmmmmmm....mmmmmmmmmmmmmmmmmmmm....mmmmmmmmmmmmmmmmmmmm....mmmmmmmmmmmmmmmmmmmm
        TPU:1 steps: 00000000000000000000000011111111111111111111111122222222222222222222222233333333333333333333
        TPU:1 ops  : m.......................m...............................................................
        m = fusion.1 [convolution fusion]
        ",
    );
    let report = report(&model).unwrap();
    assert_eq!(
        report
            .devices
            .iter()
            .map(|load| load.is_unused)
            .collect::<Vec<_>>(),
        [false, true]
    );
    assert!(
        report
            .statement
            .starts_with("1 of 2 devices runs next to nothing (/device:TPU:1)"),
        "{}",
        report.statement
    );
}

/// The statement has the same words with and without steps, for each way in which a device does not take part.
#[test]
fn devices_that_take_no_part_are_named() {
    let others = "mmmm.mmmm.mmmm.mmmm.mmmm.mmmm.mmmm.mmmm.mmmm.mmmm";
    let marks = "00000111112222233333444445555566666777778888899999";
    let cases = [
        (
            "..................................................",
            "",
            "runs nothing",
        ),
        (
            ".........................mmmm.mmmm.mmmm.mmmm.mmmm",
            ".........................5555566666777778888899999",
            "joins at step 5",
        ),
        (
            "mmmm.mmmm.mmmm.mmmm.mmmm.........................",
            "0000011111222223333344444.........................",
            "stops after step 4",
        ),
    ];
    for (ops, own_marks, expected) in cases {
        for has_steps in [true, false] {
            let own = if own_marks.is_empty() {
                String::new()
            } else {
                format!("TPU:1 steps: {own_marks}\n")
            };
            let steps = if has_steps {
                format!("steps: {marks}\nTPU:2 steps: {marks}\n{own}")
            } else {
                let runs = |ops: &str| ops.replace('m', "M");
                let all = runs(others);
                format!(
                    "modules: {all}\nTPU:1 modules: {}\nTPU:2 modules: {all}\nM = jit_f(1)\n",
                    runs(ops)
                )
            };
            let model = text_trace(&format!(
                "{steps}ops: {others}\nTPU:1 ops: {ops}\nTPU:2 ops: {others}\nm = fusion.1 [convolution fusion]\n"
            ));
            let report = report(&model).unwrap();
            let named = format!("1 of 3 devices {expected} (/device:TPU:1)");
            assert_eq!(report.absent().as_deref(), Some(named.as_str()), "{ops}");
            let equal = if own_marks.is_empty() {
                "; the other 2 devices work equally long"
            } else {
                "; all devices work equally long in the steps that they run"
            };
            assert!(report.statement.contains(equal), "{}", report.statement);
            // Who takes no part is no straggler, and makes none of the others.
            assert!(
                report.devices.iter().all(|load| !load.is_straggler),
                "{:?}",
                report.devices
            );
        }
    }
}

#[test]
fn window_counts_as_one_step_without_steps() {
    let model = text_trace(
        "ops: mmmmcc..\n TPU:1 ops: mmcccccc\n m = fusion.1 [loop fusion]\n c = copy-done.1 [copy-done]",
    );
    let report = report(&model).unwrap();
    assert_eq!(
        (report.steps.len(), report.steps[0].step, report.pattern),
        (1, None, ImbalancePattern::Unknown)
    );
    assert_eq!(
        (report.devices[1].work_ps, report.devices[1].copy_wait_ps),
        (Some(2_000.0), Some(6_000.0))
    );
    assert_eq!(Picos::from_ps(report.steps[0].cost_ps as i64).ps(), 1_000);
}

#[test]
fn a_device_without_steps_is_told_from_those_with_steps() {
    let model = text_trace(
        "steps: 1111222233334444\n ops: mm..mm..mm..mm..\n TPU:1 ops: mm..mm..mm..mm..\n m = fusion.1 [loop fusion]",
    );
    let report = report(&model).unwrap();
    let steps: Vec<usize> = report.devices.iter().map(|device| device.steps).collect();
    assert!(
        steps.contains(&0) && steps.iter().any(|&steps| steps > 0),
        "{steps:?}"
    );
    let table = &report.tables()[0];
    assert!(
        table
            .notes
            .iter()
            .any(|note| note.contains("of devices without steps over the whole window")),
        "{:?}",
        table.notes
    );
    assert!(
        table.notes.iter().all(|note| note.len() > 1),
        "{:?}",
        table.notes
    );
}

#[test]
fn single_device_is_not_applicable() {
    let error = report(&text_trace("ops: mm")).unwrap_err();
    assert!(error.to_string().contains("only one TPU device"), "{error}");
}

fn names(report: &BalanceReport) -> Option<String> {
    report.late().map(|late| late.names())
}

#[test]
fn all_late_devices_are_named() {
    let mut work = [100_i64; 64];
    for late in [3, 11, 19, 27, 35, 43, 51, 59] {
        work[late] = 130;
    }
    // One of them is always the last by a little.
    work[19] = 131;
    let late = report(&parallel(16, &[&work[..]; 4])).unwrap();
    assert_eq!(
        names(&late).as_deref(),
        Some(
            "8 of 64 devices (/device:TPU:3, /device:TPU:11, /device:TPU:19, /device:TPU:27, \
             /device:TPU:35, /device:TPU:43, /device:TPU:51, /device:TPU:59)"
        )
    );
    work[62] = 130;
    let nine = report(&parallel(16, &[&work[..]; 4])).unwrap();
    assert!(
        names(&nine)
            .unwrap()
            .ends_with("/device:TPU:59 and 1 more)")
    );

    let one: [&[i64]; 3] = [&[100, 100, 100, 130]; 3];
    let one = report(&parallel(1, &one)).unwrap();
    assert_eq!(names(&one).as_deref(), Some("/device:TPU:3"));
    let turns: [&[i64]; 4] = [
        &[130, 100, 100, 100],
        &[100, 130, 100, 100],
        &[100, 100, 130, 100],
        &[100, 100, 100, 130],
    ];
    let turns = report(&parallel(1, &turns)).unwrap();
    assert_eq!(names(&turns), None, "they come last in turns");
}

#[test]
fn short_waits_and_chance_make_no_device_late() {
    let late = |work: &[&[i64]]| names(&report(&parallel(1, work)).unwrap());
    let short: [&[i64]; 3] = [&[10_000, 10_000, 10_000, 10_020]; 3];
    assert_eq!(late(&short), None, "the others wait 0.2 % of a step");
    let one: [&[i64]; 3] = [&[100, 130]; 3];
    assert_eq!(late(&one).as_deref(), Some("/device:TPU:1"));
    let by_chance: [&[i64]; 3] = [&[100, 130], &[130, 100], &[100, 130]];
    assert_eq!(
        late(&by_chance),
        None,
        "of two, one always comes last more often"
    );
}
