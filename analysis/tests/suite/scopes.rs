//! What must hold of every report in every scope: nothing is negative, windows are
//! those of the scope, and all steps together are a scope like any other.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::path::PathBuf;

use analysis::hints::Hints;
use analysis::reports::steps::devices::Devices;
use analysis::reports::{Compile, CoreOps, Gaps, Ops, Steps};
use analysis::{ANALYSES, Scope, TraceFacts as _};
use serde_json::Value;
use trace_model::{Picos, SliceRef, TimeRange, TrackKind};

use crate::capture::{Capture, corpus, model_at};

fn samples() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../assets/samples")
}

/// A step in which the loop compiles is one in whatever scope it is looked at.
#[test]
fn recompilation_is_found_in_a_subset_of_steps() {
    let capture = Capture::new(model_at(
        &samples().join("synthetic_v5e_8chip_recompile.xplane.pb"),
    ));
    let first_hint = |scope| capture.scoped::<Hints>(scope).unwrap().hints[0].id;
    let steps = Scope::Steps { first: 1, last: 3 };
    assert_eq!(
        (first_hint(Scope::WholeTrace), first_hint(steps)),
        ("K36", "K36")
    );
    let compile = capture.scoped::<Compile>(steps).unwrap();
    let of_steps = capture
        .scoped::<Steps>(steps)
        .unwrap()
        .range_of(1, 3)
        .unwrap();
    assert_eq!(
        (compile.compilations, compile.window_ps),
        (1, of_steps.dur())
    );
    // Step 2 compiles, step 1 does not.
    let wall = |step| {
        capture
            .scoped::<Compile>(Scope::Steps {
                first: step,
                last: step,
            })
            .unwrap()
            .wall_ps
    };
    assert_eq!((wall(1), wall(2)), (None, compile.wall_ps));
    // What does not exist is said to be absent, not empty.
    assert!(
        capture
            .scoped::<Compile>(Scope::Steps { first: 7, last: 9 })
            .is_err()
    );
}

/// Captures that are read in a moment: all samples, and what is small of the corpus.
fn captures() -> Vec<PathBuf> {
    /// Larger files would make this test slow, and say nothing more.
    const LARGEST_BYTES: u64 = 1_000_000;
    let mut folders = vec![samples()];
    if let Some(corpus) = corpus() {
        folders.extend(["tpu", "host", "gpu", "regressions"].map(|name| corpus.join(name)));
    }
    let files = folders
        .iter()
        .flat_map(|folder| std::fs::read_dir(folder).unwrap());
    let is_small = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        let is_trace = [
            ".xplane.pb",
            ".xplane.pb.gz",
            ".trace.json.gz",
            "two_hosts",
            "predicted.txt",
        ];
        // Rebuilt from a table of ops: slow to analyse, and nothing that others lack.
        let is_rebuilt = name.contains("rebuilt");
        is_trace.iter().any(|end| name.ends_with(end))
            && !is_rebuilt
            && path.metadata().unwrap().len() < LARGEST_BYTES
    };
    let mut found: Vec<PathBuf> = files
        .map(|entry| entry.unwrap().path())
        .filter(is_small)
        .collect();
    found.sort();
    found
}

/// The whole, all steps, one step, some steps, some time.
fn scopes(capture: &Capture) -> Vec<Scope> {
    let extent = capture.model.extent();
    let third = Picos::from_ps(extent.dur().ps() / 3);
    let mut scopes = vec![
        Scope::WholeTrace,
        Scope::Range(TimeRange::new(extent.start + third, extent.end - third)),
    ];
    if let Ok(steps) = capture.scoped::<Steps>(Scope::WholeTrace) {
        let numbers: Vec<u32> = steps.steps.iter().map(|step| step.number).collect();
        if let (Some(&first), Some(&last)) = (numbers.first(), numbers.last()) {
            let middle = numbers[numbers.len() / 2];
            scopes.push(Scope::Steps { first, last });
            scopes.push(Scope::Steps {
                first: middle,
                last: middle,
            });
            scopes.push(Scope::Steps {
                first: middle,
                last,
            });
        }
    }
    scopes
}

/// Every number below `value`, with the names that lead to it.
fn numbers(value: &Value, place: &str, see: &mut impl FnMut(&str, f64)) {
    match value {
        Value::Number(number) => see(place, number.as_f64().unwrap()),
        Value::Array(all) => all.iter().for_each(|part| numbers(part, place, see)),
        Value::Object(all) => all
            .iter()
            .for_each(|(name, part)| numbers(part, &format!("{place}.{name}"), see)),
        _ => {}
    }
}

/// Differences and scores have a sign, rates and ratios can exceed their base; nothing
/// else is negative or more than all of it.
fn is_possible(name: &str, number: f64) -> bool {
    const SIGNED: [&str; 14] = [
        "_z",
        ".z",
        "change_ps",
        "growth_bytes",
        "shift_ps",
        "offset_ps",
        "third_ps",
        "at_least_ps",
        "at_most_ps",
        "above_ps",
        "above_of_op_time_percent",
        "step_extra_ps",
        "drift_ppm",
        "memory.metrics.value",
    ];
    const RATES: [&str; 9] = [
        "efficiency_percent",
        "flops_percent",
        "hbm_percent",
        "_read_percent",
        "_write_percent",
        "memories.percent",
        "cv_percent",
        "imbalance_percent",
        "gap_of_program_percent",
    ];
    let is = |names: &[&str]| names.iter().any(|end| name.ends_with(end));
    (number >= 0.0 || is(&SIGNED)) && (number < 100.5 || !name.ends_with("percent") || is(&RATES))
}

#[test]
fn lengths_are_nonnegative_and_shares_at_most_100_percent() {
    let mut bad = std::collections::BTreeSet::new();
    for path in captures() {
        let capture = Capture::new(model_at(&path));
        for scope in scopes(&capture) {
            let entries: Vec<_> = ANALYSES.iter().collect();
            for (entry, report) in ANALYSES.iter().zip(capture.cx(scope).reports_of(&entries)) {
                let Ok(report) = report else { continue };
                let json = report.json();
                numbers(&json, entry.id, &mut |name, number| {
                    if !is_possible(name, number) {
                        bad.insert(format!(
                            "{name}: {number} {} {scope:?}",
                            path.file_name().unwrap().display()
                        ));
                    }
                });
            }
        }
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

/// All steps as a scope are what the steps are: the same windows on each device, the
/// same work in them as in that range of time, and on the host the hull of the steps.
#[test]
fn scope_of_all_steps_equals_the_step_window() {
    let mut checked = 0;
    for path in captures() {
        let capture = Capture::new(model_at(&path));
        let Some(steps) = capture
            .scoped::<Steps>(Scope::WholeTrace)
            .ok()
            .filter(|steps| steps.has_steps())
        else {
            continue;
        };
        let numbers: Vec<u32> = steps.steps.iter().map(|step| step.number).collect();
        let (first, last) = (numbers[0], numbers[numbers.len() - 1]);
        let all = Scope::Steps { first, last };
        let cx = capture.cx(all);
        assert_eq!(
            capture.scoped::<Steps>(all).unwrap().time,
            steps.time,
            "{}",
            path.display()
        );
        let on_host = cx.host_window().unwrap();
        for number in [first, last] {
            let one = capture
                .cx(Scope::Steps {
                    first: number,
                    last: number,
                })
                .host_window()
                .unwrap();
            assert!(on_host.encloses(one), "{}: step {number}", path.display());
        }
        if let Ok(compile) = capture.scoped::<Compile>(all) {
            assert_eq!(compile.window_ps, on_host.dur(), "{}", path.display());
        }
        for core in cx.tensor_cores() {
            let Some(window) = cx.window(core).unwrap() else {
                continue;
            };
            let Some(range) = steps.range_on(&capture.model, core, first, last) else {
                continue;
            };
            let gaps = capture.scoped::<Gaps>(all).unwrap();
            let own = gaps.devices.iter().find(|device| device.group == core);
            assert!(own.is_none_or(|own| own.window_ps == cx.to_host(core, window.range).dur()));
            let as_range = Scope::Range(range);
            let by_range = capture.cx(as_range).window(core).unwrap().unwrap();
            assert_eq!(by_range.range, window.range, "{}", path.display());
            // Where the clock jumps, a step ends with its last op, and a range wherever it was cut: no op runs between.
            if by_range != window {
                let between = [
                    (by_range.measured.start, window.measured.start),
                    (by_range.measured.end, window.measured.end),
                ]
                .map(|(a, b)| TimeRange::new(a.min(b), a.max(b)));
                let ops = capture.model.track_of_kind(core, TrackKind::Ops).unwrap();
                let runs =
                    |op: SliceRef<'_>| between.iter().any(|gap| op.measured_range().overlaps(*gap));
                assert!(
                    !capture.model.slices_on(ops).any(runs),
                    "{}",
                    path.display()
                );
                continue;
            }
            let devices = [all, as_range].map(|scope| capture.scoped::<Devices>(scope).unwrap());
            let [by_steps, by_range] = devices.each_ref().map(|devices| {
                serde_json::to_value(
                    devices
                        .cores
                        .iter()
                        .find(|device| device.group == core)
                        .unwrap(),
                )
                .unwrap()
            });
            assert_eq!(by_steps, by_range, "{}", path.display());
            checked += 1;
        }
    }
    assert!(checked > 50, "{checked}");
}

/// The totals of the steady steps are made beside those of the whole trace, in one pass.
#[test]
fn totals_of_steady_steps_are_those_of_a_report_on_them() {
    let mut names: Vec<PathBuf> = std::fs::read_dir(samples())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().ends_with(".xplane.pb"))
        .collect();
    names.extend(
        corpus().map(|corpus| corpus.join("tpu/v6e_x4_host_offload_steps_added.xplane.pb")),
    );
    let mut found = 0;
    for path in names {
        let capture = Capture::new(model_at(&path));
        let Ok(ops) = capture.scoped::<Ops>(Scope::WholeTrace) else {
            continue;
        };
        let Some(steady) = &ops.steady else { continue };
        let scope = Scope::Steps {
            first: steady.first,
            last: steady.last,
        };
        // Only a report has the time on duty.
        let without_duty = |core: &CoreOps| CoreOps {
            busy_ps: Picos::ZERO,
            on_duty_ps: Picos::ZERO,
            ..core.clone()
        };
        let of_report = capture.scoped::<Ops>(scope).unwrap();
        let cores: Vec<CoreOps> = of_report.cores.iter().map(without_duty).collect();
        assert_eq!(steady.cores, cores, "{}", path.display());
        assert!(of_report.steady.is_none());
        found += 1;
    }
    assert!(found >= 3, "{found}");
}
