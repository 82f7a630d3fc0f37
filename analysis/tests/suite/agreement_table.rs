//! Writes `AGREEMENT.md`: our headline numbers beside `XProf`'s for every shared
//! capture, with the reason for each difference.
//!
//! A number that differs by more than 0.1 % (or by more than what `XProf` prints)
//! without a reason fails, and so does a file that is not what this test writes.
//! `UPDATE_GOLDEN=1` writes it.
#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::path::PathBuf;

use analysis::hardware::limits::BoundBy;
use analysis::reports::{Ops, Roofline, RooflinePoint, Steps};
use serde_json::Value;
use xprof::{GIB, Rows, rows_of};

use super::agreement_capture::{Capture, program_row};
use super::agreement_section::{CLOSE, Section};
use crate::xprof;

const CLOCK: &str = "two clocks: XProf takes steps and windows from the timeline, here the clock that timed the ops";
const NO_STEPS: &str = "XProf finds no steps and prints 0; here program executions mark them";
const ENDS: &str = "XProf leaves the first and the last step out; here both are complete and count";
const STATISTIC: &str =
    "XProf shows a host statistic, 0 where it was not recorded; here it is missing then";
const NO_DEVICE: &str = "no device in this capture: XProf prints 0, here it is missing";
const NO_TPU: &str = "device analyses read TPU cores only";

fn roofline_point(
    section: &mut Section,
    what: &str,
    theirs: (&Rows, &[Value]),
    ours: Option<&RooflinePoint>,
    why: &str,
) {
    let (rows, row) = theirs;
    let memory = |memory: BoundBy| {
        ours.and_then(|point| point.memories.iter().find(|of| of.memory == memory))
    };
    let vmem = |limit: BoundBy| {
        Some(memory(limit).map_or(0.0, |of| of.bytes_per_second)).filter(|_| ours.is_some())
    };
    let largest = ours.and_then(|point| {
        point
            .memories
            .iter()
            .filter_map(|of| Some(of.percent?.0))
            .reduce(f64::max)
    });
    let numbers = [
        (
            "total_time",
            "time, µs, all devices",
            ours.map(|point| point.time_ps.as_ps_f64() / 1e6),
        ),
        (
            "measured_flop_rate",
            "GFLOP/s",
            ours.and_then(|point| point.flops_per_second)
                .map(|rate| rate / 1e9),
        ),
        (
            "measured_memory_bw",
            "all memories, GiB/s",
            ours.and_then(|p| p.bytes_per_second).map(|rate| rate / GIB),
        ),
        (
            "hbm_bw",
            "HBM, GiB/s",
            ours.and_then(|point| point.hbm_bytes_per_second)
                .map(|rate| rate / GIB),
        ),
        (
            "vmem_read_bw",
            "VMEM read, GiB/s",
            vmem(BoundBy::VmemRead).map(|rate| rate / GIB),
        ),
        (
            "vmem_write_bw",
            "VMEM write, GiB/s",
            vmem(BoundBy::VmemWrite).map(|rate| rate / GIB),
        ),
        (
            "operational_intensity",
            "FLOP/byte, all memories",
            ours.and_then(|point| point.flops_per_byte),
        ),
        (
            "hbm_operational_intensity",
            "FLOP/byte, HBM",
            ours.and_then(|point| point.flops_per_hbm_byte),
        ),
        (
            "roofline_efficiency",
            "roofline efficiency",
            ours.and_then(|p| p.efficiency_percent)
                .map(|of| of.0 / 100.0),
        ),
        (
            "compute_efficiency",
            "FLOPs of peak",
            ours.and_then(|point| point.flops_percent)
                .map(|of| of.0 / 100.0),
        ),
        (
            "max_mem_bw_utilization",
            "highest of any memory",
            largest.map(|of| of / 100.0),
        ),
    ];
    for (column, name, ours) in numbers {
        section.number(
            &format!("{what}: {name}"),
            Some(rows.number(row, column)),
            ours,
            0.0,
            why,
        );
    }
    let bound = ours
        .and_then(|point| point.bound_by)
        .map_or("Unknown", BoundBy::title);
    section.texts(
        &format!("{what}: bound by"),
        rows.text(row, "bound_by"),
        bound,
        why,
    );
}

/// Op by op; the table counts, the names are in `xprof_agreement.rs`.
fn ops(section: &mut Section, capture: &Capture) {
    let (report, theirs) = (
        capture.report::<Ops>().unwrap(),
        rows_of(&capture.answer("hlo_stats")),
    );
    let count = |counted: usize| Some(counted as f64);
    section.number(
        "ops",
        count(theirs.rows.len()),
        count(report.rows.len()),
        0.0,
        "",
    );
    let mut self_time_equal = 0;
    let mut rates = (0, 0);
    let mut top = Vec::new();
    for row in &theirs.rows {
        let program = format!("({})", theirs.text(row, "program_id"));
        let name = theirs.text(row, "hlo_op_name");
        let ours = report
            .rows
            .iter()
            .find(|ours| &*ours.name == name && ours.program.ends_with(&program))
            .unwrap();
        let (theirs_us, ours_us) = (
            theirs.number(row, "total_self_time"),
            ours.self_time_ps.as_ps_f64() / 1e6,
        );
        self_time_equal += usize::from((theirs_us - ours_us).abs() < 1e-6 * theirs_us.max(1.0));
        top.push((theirs_us, ours_us, name.to_owned()));
        if !ours.is_async {
            rates.0 += 1;
            let close = |ours: Option<f64>, column: &str, unit: f64| {
                let (a, b) = (ours.unwrap_or(0.0) / unit, theirs.number(row, column));
                (a - b).abs() <= CLOSE * a.abs().max(b.abs())
            };
            let same = close(ours.rates.flops_per_second, "normalized_flop_rate", 1e9)
                && close(ours.rates.hbm_bytes_per_second, "hbm_bw", GIB)
                && close(ours.rates.bytes_per_second, "measured_memory_bw", GIB)
                // Collectives are bound by links or waiting, which XProf does not know.
                && (ours.collective.is_some()
                    || ours.rates.bound_by.map(BoundBy::title) == Some(theirs.text(row, "bound_by")));
            rates.1 += usize::from(same);
        }
    }
    section.number(
        "ops of equal self time",
        count(theirs.rows.len()),
        count(self_time_equal),
        0.0,
        "",
    );
    section.number(
        "ops of equal rates and limit (collectives: rates), without halves of async ops",
        count(rates.0),
        count(rates.1),
        0.0,
        "",
    );
    let why = "the time of the halves of asynchronous ops is not that of their work: they have no rates here";
    section.number(
        "ops with rates",
        count(theirs.rows.len()),
        count(rates.0),
        0.0,
        why,
    );
    top.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.2.cmp(&b.2)));
    for (rank, (theirs, ours, name)) in top.into_iter().take(5).enumerate() {
        section.number(
            &format!("self time of op {}, {name}, µs", rank + 1),
            Some(theirs),
            Some(ours),
            0.0,
            "",
        );
    }
}

fn steps(section: &mut Section, capture: &Capture, why: &str) {
    let steps = capture.report::<Steps>();
    let time = steps.as_ref().and_then(|steps| steps.time.as_ref());
    let (mean, printed) = capture.overview("steptime_ms_average");
    section.number(
        "step time, mean, ms",
        mean,
        time.map(|time| time.mean / 1e9),
        printed,
        why,
    );
    if why == ENDS {
        let of = steps
            .iter()
            .flat_map(|steps| &steps.steps)
            .map(|step| step.time_ps.as_ps_f64() / 1e9)
            .collect::<Vec<_>>();
        let inner = &of[1..of.len() - 1];
        let ours = inner.iter().sum::<f64>() / inner.len() as f64;
        section.number(
            "step time, mean without the first and the last, ms",
            mean,
            Some(ours),
            printed,
            "",
        );
    }
    let (deviation, printed) = capture.overview("steptime_ms_standard_deviation");
    section.number(
        "step time, standard deviation, ms",
        deviation,
        time.and_then(|t| t.stddev).map(|d| d / 1e9),
        printed,
        why,
    );
}

#[expect(clippy::too_many_lines, reason = "one list of captures")]
fn tpu(name: &str, step_why: &str, mxu_why: &str) -> Option<(String, usize, usize)> {
    let capture = Capture::open("tpu", name)?;
    let mut section = Section::new(&format!("{name}.xplane.pb"), "A TPU capture.");
    let roofline = capture.report::<Roofline>()?;
    let answer = capture.answer("roofline_model");
    let peak = |key: &str| {
        answer[0]["p"][key]
            .as_str()
            .and_then(|text| text.parse::<f64>().ok())
    };
    let ours = |limit: BoundBy| limit.peak(&roofline.peaks).map(|peak| peak.per_second);
    section.number(
        "peak, GFLOP/s",
        peak("peak_flop_rate"),
        ours(BoundBy::Compute).map(|p| p / 1e9),
        0.0,
        "",
    );
    section.number(
        "peak HBM, GiB/s",
        peak("peak_hbm_bw"),
        ours(BoundBy::Hbm).map(|p| p / GIB),
        0.0,
        "",
    );
    section.number(
        "peak VMEM read, GiB/s",
        peak("peak_vmem_read_bw"),
        ours(BoundBy::VmemRead).map(|p| p / GIB),
        0.0,
        "",
    );
    section.number(
        "peak VMEM write, GiB/s",
        peak("peak_vmem_write_bw"),
        ours(BoundBy::VmemWrite).map(|p| p / GIB),
        0.0,
        "",
    );
    steps(&mut section, &capture, step_why);
    let percentages = [
        (
            "device_idle_time_percent",
            "device idle, %",
            "device_idle_percent",
            "",
        ),
        (
            "device_duty_cycle_percent",
            "duty cycle as XProf defines it, %",
            "duty_cycle_xprof_percent",
            "",
        ),
        (
            "mxu_utilization_percent",
            "MXU by hardware counter, %",
            "mxu_hw_percent",
            mxu_why,
        ),
        (
            "hbm_bw_utilization_percent",
            "HBM of peak, window, %",
            "hbm_util_window_percent",
            "",
        ),
        (
            "compute_efficiency_percent",
            "FLOPs of peak, window, %",
            "flops_util_window_percent",
            "",
        ),
    ];
    for (key, title, id, why) in percentages {
        let (theirs, printed) = capture.overview(key);
        section.number(title, theirs, capture.utilization(id), printed, why);
    }
    let host = capture.answer("overview_page")[0]["p"]["hbm_utilization_percent"]
        .as_str()
        .map(str::to_owned);
    let host = host.and_then(|text| text.trim_end_matches('%').parse().ok());
    section.number(
        "HBM by hardware counter, %",
        host,
        capture.utilization("hbm_hw_percent"),
        0.05,
        STATISTIC,
    );
    let rows = rows_of(&answer[0]);
    let total = program_row(&rows, "Total", true).unwrap();
    roofline_point(
        &mut section,
        "program",
        (&rows, total),
        Some(&roofline.program),
        "",
    );
    let without = program_row(&rows, "Total", false).unwrap();
    let ours = roofline
        .program_without_host_io
        .as_ref()
        .unwrap_or(&roofline.program);
    let name_of = "program without infeed and outfeed: time, µs, all devices";
    section.number(
        name_of,
        Some(rows.number(without, "total_time")),
        Some(ours.time_ps.as_ps_f64() / 1e6),
        0.0,
        "",
    );
    let average = program_row(&rows, "Average", true).unwrap();
    let ours = roofline.average_step.as_ref();
    if rows.number(average, "total_time") == 0.0 {
        let ours = ours
            .and_then(|point| point.efficiency_percent)
            .map(|of| of.0 / 100.0);
        let theirs = Some(rows.number(average, "roofline_efficiency"));
        section.number(
            "average step: roofline efficiency",
            theirs,
            ours,
            0.0,
            step_why,
        );
    } else {
        roofline_point(
            &mut section,
            "average step",
            (&rows, average),
            ours,
            step_why,
        );
    }
    ops(&mut section, &capture);
    Some((section.text, section.equal, section.explained))
}

/// Captures without a TPU: what `XProf` shows of them, and what applies here.
fn other(
    folder: &str,
    name: &str,
    step_why: &str,
    device_why: &str,
) -> Option<(String, usize, usize)> {
    let capture = Capture::open(folder, name)?;
    let mut section = Section::new(&format!("{name}.xplane.pb"), "No TPU in it.");
    steps(&mut section, &capture, step_why);
    for (key, title, id) in [
        (
            "device_idle_time_percent",
            "device idle, %",
            "device_idle_percent",
        ),
        (
            "device_duty_cycle_percent",
            "duty cycle, %",
            "duty_cycle_xprof_percent",
        ),
        ("mxu_utilization_percent", "MXU, %", "mxu_hw_percent"),
        (
            "hbm_bw_utilization_percent",
            "HBM of peak, %",
            "hbm_util_window_percent",
        ),
        (
            "roofline_efficiency_percent",
            "roofline efficiency, %",
            "roofline",
        ),
    ] {
        let (theirs, printed) = capture.overview(key);
        section.number(title, theirs, capture.utilization(id), printed, device_why);
    }
    Some((section.text, section.equal, section.explained))
}

#[test]
fn agreement_table_is_up_to_date() {
    let sections = [
        tpu("v5e_matmul", NO_STEPS, ""),
        tpu("v6e_x4_host_offload", NO_STEPS, STATISTIC),
        tpu("v6e_x4_host_offload_steps_added", CLOCK, STATISTIC),
        other("host", "jax_cpu_transformer_recompiles", ENDS, NO_DEVICE),
        other("host", "jax_cpu_8dev_collectives", ENDS, NO_DEVICE),
        other(
            "host",
            "tpuvm_cpu_backend",
            "XProf finds no steps and prints 0; here the whole capture counts as one",
            NO_DEVICE,
        ),
        other(
            "gpu",
            "tf2_8xV100",
            "one step has no deviation: XProf prints 0, here it is missing",
            NO_TPU,
        ),
    ];
    let Some(sections) = sections.into_iter().collect::<Option<Vec<_>>>() else {
        return;
    };
    let sums = sections.iter().fold((0, 0), |sum, section| {
        (sum.0 + section.1, sum.1 + section.2)
    });
    let mut text = format!(
        "# Our numbers beside XProf's\n\n\
         Captures that both read, by file name; XProf 2.24.2. `=` means equal to 0.1 %, or to the digits that XProf\n\
         prints: {} of {} numbers. Every other line says why; `DIFFERENCES.md` has more on each reason. Op by op and\n\
         point by point, `tests/suite/xprof_agreement.rs` compares the same captures.\n\n\
         Written by `tests/agreement_table.rs`, which fails when this file is stale or a difference has no reason;\n\
         `UPDATE_GOLDEN=1` writes it again.\n",
        sums.0,
        sums.0 + sums.1,
    );
    for (section, ..) in &sections {
        text.push_str(section);
    }
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../docs/AGREEMENT.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
        println!("wrote {}", path.display());
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    for (line, (written, now)) in written.lines().zip(text.lines()).enumerate() {
        assert_eq!(
            written,
            now,
            "AGREEMENT.md:{}: run with UPDATE_GOLDEN=1 and read the difference",
            line + 1
        );
    }
    assert_eq!(
        written.len(),
        text.len(),
        "AGREEMENT.md is stale: run with UPDATE_GOLDEN=1"
    );
}
