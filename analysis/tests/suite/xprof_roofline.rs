//! FLOPs, bytes and points of the roofline beside those of `XProf`.

use analysis::hardware::limits::BoundBy;
use analysis::reports::{Roofline, Utilization};
use analysis::{CollectiveKind, Options, Percent};
use serde_json::Value;
use xprof::{GIB, near, open, report, rows_of, xprof};

use super::xprof_agreement::{CAPTURES, CLOCKS, ops_report, row_is_collective};
use crate::xprof;

/// Limits with the columns of bandwidth and intensity.
const MEMORIES: [(BoundBy, &str, &str); 5] = [
    (BoundBy::Hbm, "hbm_bw", "hbm_operational_intensity"),
    (
        BoundBy::CmemRead,
        "cmem_read_bw",
        "cmem_read_operational_intensity",
    ),
    (
        BoundBy::CmemWrite,
        "cmem_write_bw",
        "cmem_write_operational_intensity",
    ),
    (
        BoundBy::VmemRead,
        "vmem_read_bw",
        "vmem_read_operational_intensity",
    ),
    (
        BoundBy::VmemWrite,
        "vmem_write_bw",
        "vmem_write_operational_intensity",
    ),
];

/// Time differs with the clock, work does not.
#[test]
fn step_flops_and_bytes_match_xprof() {
    let capture = "v6e_x4_host_offload_steps_added";
    let Some(model) = open(&format!("{capture}.xplane.pb")) else {
        return;
    };
    let ours = report::<Roofline>(&model, &Options::default());
    let theirs = rows_of(&xprof(capture, "roofline_model")[0]);
    let programs = theirs.rows.iter().filter(|row| {
        theirs.text(row, "operation") == "Program"
            && theirs.get(row, "include_infeed_outfeed") == &Value::Bool(true)
    });
    let mut compared = 0;
    for row in programs.filter(|row| theirs.text(row, "step") != "Total") {
        let step = theirs.text(row, "step");
        let point = match step {
            "Average" => ours.average_step.as_ref().unwrap(),
            step => ours
                .steps
                .iter()
                .find(|point| *point.name == *format!("Step {step}"))
                .unwrap(),
        };
        // Microseconds × rates: bytes and operations of one step.
        let time = theirs.number(row, "total_time") / 1e6;
        near(
            point.work.hbm_bytes.unwrap(),
            theirs.number(row, "hbm_bw") * GIB * time,
            1e-6,
            step,
        );
        near(
            point.work.flops.unwrap(),
            theirs.number(row, "measured_flop_rate") * 1e9 * time,
            1e-6,
            step,
        );
        compared += 1;
    }
    assert_eq!(compared, 101);
}

#[test]
fn roofline_points_match_xprof() {
    for (capture, _) in CAPTURES {
        let Some(model) = open(&format!("{capture}.xplane.pb")) else {
            return;
        };
        let ours = report::<Roofline>(&model, &Options::default());
        let answer = xprof(capture, "roofline_model");
        let theirs = rows_of(&answer[0]);
        let ridge = answer[0]["p"]["hbm_ridge_point"]
            .as_str()
            .unwrap()
            .parse()
            .unwrap();
        near(ours.ridges[0].flops_per_byte, ridge, 1e-5, "HBM ridge");
        let total = |row: &&Vec<Value>| {
            theirs.text(row, "step") == "Total"
                && theirs.get(row, "include_infeed_outfeed") == &Value::Bool(true)
        };
        let mut compared = 0;
        for row in theirs.rows.iter().filter(total) {
            let name = theirs.text(row, "operation");
            let is_async = name.contains("-start") || name.contains("-done");
            let point = match name {
                "Program" => &ours.program,
                _ if is_async => continue,
                _ => ours.ops.iter().find(|point| *point.name == *name).unwrap(),
            };
            let what = |column: &str| format!("{capture} {name} {column}");
            let check = |value: Option<f64>, unit: f64, column: &str| {
                near(
                    value.unwrap_or(0.0) / unit,
                    theirs.number(row, column),
                    CLOCKS,
                    &what(column),
                );
            };
            let share = |share: Option<Percent>| share.map(|share| share.0);
            check(Some(point.time_ps.as_ps_f64()), 1e6, "total_time");
            check(point.flops_per_second, 1e9, "measured_flop_rate");
            check(point.hbm_bytes_per_second, GIB, "hbm_bw");
            check(point.flops_per_hbm_byte, 1.0, "hbm_operational_intensity");
            // Links or other devices bind a collective: it has no efficiency of the chip's roofs.
            let is_bound_by_roofs = !row_is_collective(name);
            if is_bound_by_roofs {
                check(
                    share(point.efficiency_percent),
                    100.0,
                    "roofline_efficiency",
                );
            }
            check(share(point.flops_percent), 100.0, "compute_efficiency");
            check(point.bytes_per_second, GIB, "measured_memory_bw");
            check(point.flops_per_byte, 1.0, "operational_intensity");
            for (memory, bandwidth, intensity) in MEMORIES {
                let of = point.memories.iter().find(|of| of.memory == memory);
                check(of.map(|of| of.bytes_per_second), GIB, bandwidth);
                check(of.and_then(|of| of.flops_per_byte), 1.0, intensity);
            }
            let of_memories = point.memories.iter().filter_map(|of| share(of.percent));
            check(
                of_memories.reduce(f64::max),
                100.0,
                "max_mem_bw_utilization",
            );
            if is_bound_by_roofs && point.flops_per_second.is_some_and(|rate| rate > 0.0) {
                check(point.attainable_flops_per_second, 1e9, "optimal_flop_rate");
            }
            let bound = point.bound_by.map(BoundBy::title);
            let expected = if is_bound_by_roofs {
                theirs.text(row, "bound_by")
            } else {
                "links or waiting"
            };
            assert_eq!(bound, Some(expected), "{}", what("bound_by"));
            compared += 1;
        }
        assert!(compared >= 3, "{capture}: {compared} points compared");
    }
}

#[test]
fn v6e_hbm_utilization_matches_the_xprof_roofline() {
    let Some(model) = open("v6e_x4_host_offload.xplane.pb") else {
        return;
    };
    let report = report::<Utilization>(&model, &Options::default());
    let percent = |id: &str| report.metric(id).unwrap().value.unwrap();
    near(
        percent("hbm_util_window_percent"),
        4.347_867_965,
        1e-6,
        "HBM",
    );
    // Nearly all of the time is waiting for copies from the host.
    near(
        percent("wait_percent"),
        100.0 * 304_033_212_062_500.0 / 363_729_698_768_750.0,
        1e-9,
        "waiting",
    );
    near(
        percent("device_idle_percent"),
        100.0 * 48_611_795_062_500.0 / 363_729_698_768_750.0,
        1e-9,
        "idle",
    );
    let kpi = xprof("v6e_x4_host_offload", "cli/get_kpi_metrics");
    let duty: f64 = kpi["duty_cycle_percent"]
        .as_str()
        .unwrap()
        .trim_end_matches('%')
        .parse()
        .unwrap();
    assert!(
        (percent("duty_cycle_xprof_percent") - duty).abs() < 0.05,
        "duty cycle {duty}"
    );
    let ops = ops_report(&model);
    assert_eq!(ops.cores.len(), 4);
    let all_reduces = ops
        .rows
        .iter()
        .filter(|row| row.collective == Some(CollectiveKind::AllReduce));
    assert_eq!(all_reduces.map(|row| row.occurrences).sum::<u64>(), 12);
}
