//! Our numbers against those of `XProf` on the same real captures.
//!
//! `XProf`'s answers lie beside the captures; where we differ on purpose,
//! `DIFFERENCES.md` says why and the test says how much.
#![expect(clippy::float_cmp, reason = "a test says what is wrong by failing")]

use analysis::hardware::limits::{BoundBy, OpWork};
use analysis::reports::{OpRow, Ops, OpsReport, Roofline, Utilization};
use analysis::{Context, Options, ReportCache, Scope};
use importers::{ImportOptions, Progress};
use serde_json::Value;
use trace_model::{Picos, TraceModel};
use xprof::{GIB, corpus, near, open, report, rows_of, xprof};

use crate::xprof;

pub(super) fn ops_report(model: &TraceModel) -> std::sync::Arc<OpsReport> {
    report::<Ops>(model, &Options::default())
}

/// The row of an op of `XProf`'s table: it names programs by id only.
fn row_of<'a>(report: &'a OpsReport, program_id: &str, name: &str) -> &'a OpRow {
    let suffix = format!("({program_id})");
    let mut found = report
        .rows
        .iter()
        .filter(|row| &*row.name == name && row.program.ends_with(&suffix));
    let row = found
        .next()
        .unwrap_or_else(|| panic!("no row {name} of program {program_id}"));
    assert!(
        found.next().is_none(),
        "two rows {name} of program {program_id}"
    );
    row
}

/// Picoseconds of a number of microseconds: exact for times as short as these.
fn ps(us: f64) -> i64 {
    (us * 1e6).round() as i64
}

/// Captures with their number of ops.
pub(super) const CAPTURES: [(&str, usize); 3] = [
    ("v5e_matmul", 6),
    ("v6e_x4_host_offload", 17),
    ("v6e_x4_host_offload_steps_added", 17),
];

/// Allowed difference of windows, in which `XProf` mixes two clocks.
pub(super) const CLOCKS: f64 = 2e-5;

#[test]
fn every_op_agrees_with_the_hlo_stats() {
    for (capture, count) in CAPTURES {
        let Some(model) = open(&format!("{capture}.xplane.pb")) else {
            return;
        };
        let (report, theirs) = (ops_report(&model), rows_of(&xprof(capture, "hlo_stats")));
        assert_eq!(
            (report.rows.len(), theirs.rows.len()),
            (count, count),
            "{capture}"
        );
        for row in &theirs.rows {
            let name = theirs.text(row, "hlo_op_name");
            let ours = row_of(&report, theirs.text(row, "program_id"), name);
            let what = |column: &str| format!("{capture} {name} {column}");
            assert_eq!(
                ours.occurrences as f64,
                theirs.number(row, "occurrences"),
                "{}",
                what("occurrences")
            );
            assert_eq!(
                ours.total_time_ps.ps(),
                ps(theirs.number(row, "total_time")),
                "{}",
                what("total time")
            );
            assert_eq!(
                ours.self_time_ps.ps(),
                ps(theirs.number(row, "total_self_time")),
                "{}",
                what("self time")
            );
            assert_eq!(
                &*ours.category,
                theirs.text(row, "category"),
                "{}",
                what("category")
            );
            let share = ours.self_of_total_percent.unwrap().0;
            near(
                share,
                theirs.number(row, "total_self_time_percent"),
                CLOCKS,
                &what("share of total time"),
            );
            if ours.is_async {
                assert!(
                    ours.rates.hbm_bytes_per_second.is_none() && ours.rates.bound_by.is_none(),
                    "{}",
                    what("no rates")
                );
                continue;
            }
            let rate = |value: Option<f64>, unit: f64, column: &str| {
                near(
                    value.unwrap_or(0.0) / unit,
                    theirs.number(row, column),
                    1e-9,
                    &what(column),
                );
            };
            rate(ours.rates.flops_per_second, 1e9, "normalized_flop_rate");
            rate(ours.rates.model_flops_per_second, 1e9, "model_flop_rate");
            rate(ours.rates.bytes_per_second, GIB, "measured_memory_bw");
            rate(ours.rates.hbm_bytes_per_second, GIB, "hbm_bw");
            rate(ours.rates.flops_per_byte, 1.0, "operational_intensity");
            // XProf knows no links.
            let is_collective = ours.collective.is_some();
            let bound = if is_collective {
                BoundBy::LinksOrWaiting.title()
            } else {
                theirs.text(row, "bound_by")
            };
            assert_eq!(
                ours.rates.bound_by.map(BoundBy::title),
                Some(bound),
                "{}",
                what("bound")
            );
        }
    }
}

#[test]
fn idle_time_and_totals_agree_with_the_op_profile() {
    for (capture, _) in CAPTURES {
        let Some(model) = open(&format!("{capture}.xplane.pb")) else {
            return;
        };
        let report = ops_report(&model);
        let theirs = xprof(capture, "op_profile.category");
        let root = &theirs["byCategory"];
        let time = |node: &Value| node["metrics"]["rawTime"].as_f64().unwrap() as i64;
        near(
            report.total_time_ps.as_ps_f64(),
            time(root) as f64,
            CLOCKS,
            capture,
        );
        let children = root["children"].as_array().unwrap();
        let idle = children.iter().find(|node| node["name"] == "IDLE").unwrap();
        near(
            report.idle_ps.as_ps_f64(),
            time(idle) as f64,
            10.0 * CLOCKS,
            capture,
        );
        for category in children.iter().filter(|node| node["name"] != "IDLE") {
            let name = category["name"].as_str().unwrap();
            let rows = || report.rows.iter().filter(|row| &*row.category == name);
            assert_eq!(
                rows().map(|row| row.self_time_ps).sum::<Picos>().ps(),
                time(category),
                "{capture} {name}"
            );
            let hbm = category["metrics"]["rawBytesAccessedArray"][0]
                .as_f64()
                .unwrap();
            let ours: u64 = rows()
                .filter_map(|row| row.costs.memory)
                .map(|memory| memory.hbm_bytes)
                .sum();
            near(
                ours as f64,
                hbm,
                1e-9,
                &format!("{capture} {name} HBM bytes"),
            );
        }
    }
}

#[test]
fn v5e_matmul_matches_hand_calculation() {
    let Some(model) = open("v5e_matmul.xplane.pb") else {
        return;
    };
    let ops = ops_report(&model);
    let fusion = ops.rows.first().unwrap();
    assert_eq!((&*fusion.name, fusion.occurrences), ("fusion", 10));
    // The execution of exactly 3.43 µs.
    let op = fusion.op.unwrap();
    let slice = model
        .all_slices()
        .find(|slice| slice.op() == Some(op) && slice.measured_dur().ps() == 3_430_000);
    let seconds = slice.unwrap().measured_dur().as_secs_f64();
    let work = fusion.work();
    let one = |amount: Option<f64>| amount.map(|amount| amount / 10.0);
    let work = OpWork {
        flops: one(work.flops),
        hbm_bytes: one(work.hbm_bytes),
        ..OpWork::default()
    };
    near(work.flops.unwrap() / seconds, 78.26e12, 1e-4, "FLOP/s");
    near(work.hbm_bytes.unwrap() / seconds, 305.7e9, 1e-4, "HBM");
    near(
        work.percent_of(BoundBy::Compute, seconds, &ops.peaks)
            .unwrap(),
        38.61,
        2e-4,
        "of peak",
    );
    near(
        work.percent_of(BoundBy::Hbm, seconds, &ops.peaks).unwrap(),
        37.32,
        2e-4,
        "of HBM",
    );
    assert_eq!(fusion.rates.bound_by, Some(BoundBy::Compute));
    // The hardware counter covers the session, as does ours over its whole length.
    let report = report::<Utilization>(&model, &Options::default());
    let percent = |id: &str| report.metric(id).unwrap().value.unwrap();
    near(percent("mxu_hw_percent"), 0.006_051_7, 1e-5, "counter");
    near(
        percent("flops_util_capture_percent"),
        100.0 * 2_686_975_990.0 / 0.242_652_570 / 202.7e12,
        1e-6,
        "session",
    );
}

#[test]
fn both_formats_of_one_session_give_the_same_table() {
    let (Some(pb), Some(json)) = (
        open("v5e_matmul.xplane.pb"),
        open("v5e_matmul.trace.json.gz"),
    ) else {
        return;
    };
    let (pb, json) = (ops_report(&pb), ops_report(&json));
    assert_eq!(
        (pb.total_time_ps, pb.op_time_ps, pb.idle_ps),
        (json.total_time_ps, json.op_time_ps, json.idle_ps)
    );
    assert_eq!(pb.rows.len(), json.rows.len());
    for (a, b) in pb.rows.iter().zip(json.rows.iter()) {
        let facts = |row: &OpRow| {
            [
                row.program.to_string(),
                row.name.to_string(),
                row.category.to_string(),
                row.group.title().to_owned(),
            ]
        };
        let times = |row: &OpRow| {
            (
                row.occurrences,
                row.total_time_ps,
                row.self_time_ps,
                row.min_time_ps,
            )
        };
        assert_eq!(facts(a), facts(b));
        assert_eq!(times(a), times(b), "{}", a.name);
        assert_eq!(
            (a.costs.bytes, a.costs.model_flops),
            (b.costs.bytes, b.costs.model_flops.or(Some(0))),
            "{}",
            a.name
        );
        assert_eq!(
            (&a.source, &a.framework_name),
            (&b.source, &b.framework_name),
            "{}",
            a.name
        );
        assert!(
            b.costs.flops.is_none() && b.costs.memory.is_none(),
            "{}: the format loses these",
            a.name
        );
        assert!(
            b.rates.flops_percent.is_none() && b.rates.bound_by.is_none(),
            "{}: no peak is guessed",
            a.name
        );
        // Concluded from shapes, and right.
        let recorded = a.costs.memory.map(|memory| memory.hbm_bytes);
        assert_eq!(b.costs.hbm_estimate_bytes, recorded, "{}", a.name);
    }
    assert!(pb.peaks.flops.is_some() && json.peaks.flops.is_none());
}

#[test]
fn exported_json_with_a_named_chip_has_a_verdict() {
    let Some(json) = open("v5e_matmul.trace.json.gz") else {
        return;
    };
    let options = Options {
        device_spec: Some("v5e".to_owned()),
        ..Options::default()
    };
    let report = report::<Ops>(&json, &options);
    let fusion = report.rows.first().unwrap();
    near(
        fusion.rates.flops_percent.unwrap().0,
        100.0 * 2_684_354_560.0 / 34.88e-6 / 197e12,
        1e-9,
        "of the published peak",
    );
    assert_eq!(fusion.rates.bound_by, Some(BoundBy::Compute));
}

#[test]
fn captures_without_a_tpu_are_not_applicable() {
    let Some(tpu) = corpus() else { return };
    for path in [
        "host/tpuvm_cpu_backend.xplane.pb",
        "gpu/tf2_8xV100.xplane.pb",
    ] {
        let path = tpu.join("..").join(path);
        let model =
            importers::import_path(&path, &ImportOptions::default(), &Progress::default()).unwrap();
        let (options, reports) = (Options::default(), ReportCache::default());
        let cx = Context {
            model: &model,
            scope: Scope::WholeTrace,
            options: &options,
            reports: &reports,
        };
        for error in [
            cx.report::<Ops>().map(drop),
            cx.report::<Utilization>().map(drop),
            cx.report::<Roofline>().map(drop),
        ] {
            assert!(
                error.unwrap_err().to_string().contains("TPU"),
                "{}",
                path.display()
            );
        }
    }
}

#[test]
fn framework_op_sums_match_xprof() {
    for (capture, _) in CAPTURES {
        let Some(model) = open(&format!("{capture}.xplane.pb")) else {
            return;
        };
        let report = ops_report(&model);
        // The second table leaves idle time out.
        let theirs = rows_of(&xprof(capture, "framework_op_stats")[1]);
        let mut compared = 0;
        for row in &theirs.rows {
            let name = theirs.text(row, "operation");
            // Without provenance the op's own name stands in; programs do not show.
            let provenance = |row: &OpRow| {
                row.framework_name
                    .as_deref()
                    .map(|name| name.trim_end_matches(':').to_owned())
            };
            let members = report
                .rows
                .iter()
                .filter(|row| provenance(row).as_deref().unwrap_or(&row.name) == name);
            let own: Picos = members.map(|row| row.self_time_ps).sum();
            assert_eq!(
                own.ps(),
                ps(theirs.number(row, "total_self_time")),
                "{capture} {name}"
            );
            compared += 1;
        }
        assert!(compared >= 4, "{capture}: {compared} compared");
    }
}

#[test]
fn step_times_use_the_device_clock() {
    let Some(model) = open("v6e_x4_host_offload_steps_added.xplane.pb") else {
        return;
    };
    let (options, reports) = (Options::default(), ReportCache::default());
    for step in 0..100 {
        let scope = Scope::Steps {
            first: step,
            last: step,
        };
        let cx = Context {
            model: &model,
            scope,
            options: &options,
            reports: &reports,
        };
        let ops = cx.report::<Ops>().unwrap();
        assert_eq!(
            (
                ops.cores.len(),
                ops.rows.iter().map(|row| row.occurrences).sum::<u64>()
            ),
            (4, 60),
            "step {step}"
        );
        for core in &ops.cores {
            // Every step copies the same; on the timeline it seems to take 676 to 982 ms.
            let ms = core.total_time_ps.as_ps_f64() / 1e9;
            assert!(
                (783.0..786.0).contains(&ms),
                "step {step} of {}: {ms} ms",
                core.name
            );
            assert!(
                core.op_time_ps <= core.total_time_ps,
                "step {step} of {}: more work than time",
                core.name
            );
        }
        // 240 GiB in 4 × 784 ms, of 1638 GB/s.
        let hbm = cx
            .report::<Utilization>()
            .unwrap()
            .metric("hbm_util_window_percent")
            .unwrap()
            .value
            .unwrap();
        near(
            hbm,
            100.0 * 240.0 * GIB / (4.0 * 0.784_2 * 1_637.993e9),
            1e-3,
            "HBM of a step",
        );
    }
}

/// Whether an op of `XProf`'s table is a collective, by its name.
pub(super) fn row_is_collective(name: &str) -> bool {
    [
        "all-reduce",
        "all-gather",
        "reduce-scatter",
        "all-to-all",
        "collective-permute",
    ]
    .iter()
    .any(|kind| name.starts_with(kind))
}
