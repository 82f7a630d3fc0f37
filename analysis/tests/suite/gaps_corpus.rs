//! Gaps of real captures, against what was read off their raw events.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use analysis::facts::clock_alignment::{ClockBase, ClockSync};
use analysis::hints::Hints;
use analysis::reports::host::clocks::Clocks;
use analysis::reports::host::dispatch::Dispatch;
use analysis::reports::host::gaps::GapPlace;
use analysis::reports::host::input::Input;
use analysis::reports::host::serving::EnginePart;
use analysis::reports::{Compile, DeviceGaps, Gaps, GapsReport, IdleCause, Serving};
use analysis::{Context, Options, Percent, ReportCache, Scope, Tabular as _};
use trace_model::Picos;

use crate::capture::open_model;

macro_rules! report {
    ($analysis:ty, $model:expr) => {{
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: $model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        cx.report::<$analysis>().unwrap()
    }};
}

fn sums_are_exact(report: &GapsReport) {
    for device in &report.devices {
        let parts: Picos = IdleCause::ALL
            .map(|cause| device.time_ps(cause))
            .into_iter()
            .sum();
        assert_eq!(
            (parts, device.idle_ps + device.program_ps),
            (device.idle_ps, device.window_ps)
        );
        for gap in &device.gaps {
            assert_eq!(
                gap.causes.iter().map(|part| part.time_ps).sum::<Picos>(),
                gap.length_ps,
                "{gap:?}"
            );
        }
    }
}

fn ms(time: Picos) -> f64 {
    time.as_ps_f64() / 1e9
}

fn near(value: f64, expected: f64, tolerance: f64) -> bool {
    (value - expected).abs() <= tolerance
}

fn compiler_ms(device: &DeviceGaps) -> f64 {
    let parts = [GapPlace::BeforeFirst, GapPlace::Between].map(|place| {
        let mut parts = device
            .at(place)
            .iter()
            .filter(|part| part.cause == IdleCause::Compile);
        let part = parts.next().unwrap();
        assert_eq!(part.event.as_deref(), Some("backend_compile_and_load"));
        part.event_ps.unwrap()
    });
    ms(parts.into_iter().sum())
}

/// Two compilations of 117.675 and 38.216 ms by `backend_compile_and_load` alone.
#[test]
fn v5e_session_waits_for_compilation() {
    for name in ["tpu/v5e_matmul.xplane.pb", "tpu/v5e_matmul.trace.json.gz"] {
        let Some(model) = open_model(name) else {
            return;
        };
        let report = report!(Gaps, &model);
        sums_are_exact(&report);
        let device = &report.devices[0];
        assert!(
            near(compiler_ms(device), 155.89, 0.01),
            "{}",
            compiler_ms(device)
        );
        let compile = ms(device.time_ps(IdleCause::Compile));
        let wall = ms(report!(Compile, &model).wall_ps.unwrap());
        assert!(
            near(compile, wall, 0.2),
            "{compile} ms of gaps, {wall} ms of compilation"
        );
        assert_eq!((device.programs, device.count), (20, 19));
        let after = device.after.iter().max_by_key(|part| part.time_ps).unwrap();
        assert_eq!(after.event.as_deref(), Some("$profiler.py:208 stop_trace"));
    }
}

/// Every loop iteration was queued long before the one before it had ended.
#[test]
fn v6e_loop_is_queued_ahead() {
    for name in [
        "tpu/v6e_x4_host_offload.xplane.pb",
        "tpu/v6e_x4_host_offload_steps_added.xplane.pb",
    ] {
        let Some(model) = open_model(name) else {
            return;
        };
        let clocks = report!(Clocks, &model);
        for shift in &clocks.devices {
            assert_eq!(
                shift.base,
                ClockBase::DeviceClock,
                "the timeline is out of order"
            );
            assert!(shift.sync < ClockSync::Poor, "{shift:?}");
            // The bounds of 98 s differ by no more than a drift of some ppm explains.
            assert!(
                (shift.bounds.at_most_ps.unwrap() - shift.bounds.at_least_ps).abs()
                    < Picos::from_ps(150_000_000),
                "{shift:?}"
            );
        }
        let report = report!(Gaps, &model);
        sums_are_exact(&report);
        for device in &report.devices {
            let loops = |gap: &&analysis::reports::host::gaps::Gap| {
                [&gap.after, &gap.before].iter().all(|name| {
                    name.as_deref()
                        .is_some_and(|name| name.starts_with("jit_f("))
                })
            };
            let loops: Vec<_> = device.gaps.iter().filter(loops).collect();
            assert!(loops.len() > 80, "{}", loops.len());
            for gap in loops {
                assert!(gap.length_ps < Picos::from_ps(2_000_000), "{gap:?}");
                assert_eq!(gap.causes[0].cause, IdleCause::Queued, "{gap:?}");
            }
        }
    }
}

/// Seven seconds before the first program: `backend_compile` and `np.asarray` are named, and what nothing explains.
#[test]
fn gap_that_nothing_explains_names_what_overlaps_it() {
    let Some(model) = open_model("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let report = report!(Gaps, &model);
    let table = report
        .tables()
        .into_iter()
        .find(|table| table.id == "gaps")
        .unwrap();
    let column = |id: &str| {
        table
            .columns
            .iter()
            .position(|column| column.id == id)
            .unwrap()
    };
    let longest = table
        .rows
        .iter()
        .map(|row| (format!("{:?}", row[column("length_ps")]), row));
    let (_, row) = longest
        .into_iter()
        .find(|(length, _)| length.contains("7001005062250"))
        .unwrap();
    let cell = |id: &str| format!("{:?}", row[column(id)]);
    assert!(
        cell("cause").contains("compiling") && cell("event").contains("backend_compile"),
        "{row:?}"
    );
    assert!(cell("also").contains("np.asarray(jax.Array)"), "{row:?}");
    assert!(cell("unexplained_percent").contains("58.9"), "{row:?}");
}

#[test]
fn serving_waits_for_requests() {
    for name in [
        "tpu/v7x_vllm_tp2_a.trace.json.gz",
        "tpu/v7x_vllm_tp2_b.trace.json.gz",
    ] {
        let Some(model) = open_model(name) else {
            return;
        };
        let clocks = report!(Clocks, &model);
        assert_eq!(clocks.devices.len(), 2);
        // Launches have run ids, completions do not.
        assert!(
            clocks
                .devices
                .iter()
                .all(|shift| shift.pairs == 4 && shift.bounds.at_most_ps.is_none())
        );
        // Four calls of the engine's loop, and nothing that tells requests.
        let serving = report!(Serving, &model);
        assert!(serving.requests.is_empty() && serving.annotations.is_empty());
        let steps: Vec<_> = serving
            .steps
            .iter()
            .map(|steps| (steps.phase, steps.time.count))
            .collect();
        assert_eq!(steps, [("not told", 4)]);
        let shares = serving.idle.iter().filter_map(|idle| idle.of_idle_percent);
        let sum: Percent = shares.sum();
        assert!((sum.0 - 100.0).abs() < 1e-6 && serving.idle[0].part == EnginePart::Inputs);
        let report = report!(Gaps, &model);
        sums_are_exact(&report);
        for device in &report.devices {
            assert!(
                device
                    .between
                    .iter()
                    .all(|part| part.cause == IdleCause::Queued),
                "{:?}",
                device.between
            );
            let before = device
                .before
                .iter()
                .max_by_key(|part| part.time_ps)
                .unwrap();
            assert_eq!(
                before.event.as_deref(),
                Some("$threading.py:323 wait"),
                "{before:?}"
            );
        }
    }
}

#[test]
fn host_run_ahead_of_real_captures() {
    let Some(model) = open_model("tpu/v5e_matmul.xplane.pb") else {
        return;
    };
    let device = report!(Dispatch, &model).devices[0].clone();
    assert_eq!(
        (device.launches, device.ahead_max, device.dry_percent),
        (20, 0, Some(Percent(100.0)))
    );
    assert!(
        device.is_dispatch_bound,
        "3 µs of work every 60 to 300 µs: {device:?}"
    );
    // What other rules explain is left out of the rest of the idle time.
    let hints = report!(Hints, &model);
    let rest = hints.hints.iter().find(|hint| hint.id == "K31").unwrap();
    assert!(!rest.overlaps_with.contains(&"K33"), "{rest:?}");
    let Some(model) = open_model("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    for device in &report!(Dispatch, &model).devices {
        // A program waits for a free place among 32.
        assert_eq!(
            (device.ahead_median, device.is_dispatch_bound),
            (31.0, false),
            "{device:?}"
        );
    }
}

/// Thirteen arrays of 5 GB to the devices and sixteen back; every size is recorded twice.
#[test]
fn transfers_of_the_offload_capture_count_once() {
    let Some(model) = open_model("tpu/v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let report = report!(Input, &model);
    let [to, from] = &report.transfers[..] else {
        panic!("{:?}", report.transfers)
    };
    assert_eq!(
        (to.direction, to.count, to.bytes),
        ("host to device", 13, 64_424_509_952)
    );
    assert_eq!(
        (from.direction, from.count, from.bytes),
        ("device to host", 16, 85_899_345_920)
    );
    for transfers in [to, from] {
        assert!(
            transfers
                .link_percent
                .is_some_and(|percent| (5.0..100.0).contains(&percent.0)),
            "{transfers:?}"
        );
    }
    assert!(
        report
            .devices
            .iter()
            .all(|device| device.percent == Some(Percent(0.0)))
    );
}
