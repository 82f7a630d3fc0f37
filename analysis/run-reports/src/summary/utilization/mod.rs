//! Utilization: the share of the devices' capacity that they used.
//!
//! "Utilization" has many denominators; every metric here names its own. `W` is the window of a core (first op to the
//! end of the last, or the scope). Sums are over all cores, and work is summed over **leaf** ops, because containers
//! repeat the work inside:
//!
//! ```text
//! mfu_window            Σ model flops / Σ (W · peak)          the headline; narrow types at their own peak
//! flops_util_window     Σ flops       / Σ (W · peak)
//! flops_util_busy       Σ flops       / Σ (busy · peak)
//! mxu_util_on_mxu_ops   Σ flops of matrix ops / Σ (their time · peak)
//! mxu_busy_fraction     Σ time of matrix ops  / Σ W           a share of time, no utilization; both with kernels
//! hbm_util_window       Σ HBM bytes   / Σ (W · peak HBM)
//! hbm_util_busy         Σ HBM bytes   / Σ (busy · peak HBM)
//! mfu_steady            as mfu_window, with the steady steps in a row for W
//! hbm_util_steady       as hbm_util_window, likewise
//! mxu_util_steady       as mxu_util_on_mxu_ops, of their time in these steps
//! ```
//!
//! Custom calls that declare operations count as matrix ops here; where there are any, titles and references name them.
//!
//! `busy` is the union of leaf ops that are not off duty. Waiting for a copy (`copy-done`) is busy by that
//! definition, as in `XProf`; `wait` is the share of such waits. HBM bytes are those recorded by memory, including
//! those of asynchronous copies: their start ops read and their done ops write, so nothing counts twice. This agrees
//! with `XProf`'s roofline, not with its overview, which shows a host statistic that many captures lack.
//!
//! A window contains everything that was captured: compiling, warm-up, waiting for the first input. The metrics of
//! the steady steps exclude this.
//!
//! Ops whose rate is above a peak are in no sum of work ([`device_reports::ops::op_stats::BeyondPeak`]). If a
//! utilization is still above 100 %, it is left out, with the reason.

mod capture;
mod duty;
mod hardware;
mod matrix_ops;
mod steady;
mod sums;
#[cfg(test)]
mod tests;

use ::hardware::limits::OpWork;
use device_reports::{CoreOps, Ops};
use duty::{CoreDuty, xprof_duty_cycle};
use engine::LowerBound;
use facts::prelude::*;
pub(super) use matrix_ops::speed_of_matmuls;
use matrix_ops::{MatrixOps, matrix_metric};
use sums::{UtilizationShare, WorkSums, busy, utilization, window};

/// The analysis `utilization`.
pub struct Utilization;

/// Utilization of all devices together and of each device.
#[engine::reported]
pub struct UtilizationReport {
    /// All devices together: ratios of sums, never means of percentages.
    pub combined: Vec<Metric>,
    /// Each device.
    pub devices: Vec<DeviceUtilization>,
}

/// Utilization of one device.
#[engine::reported]
pub struct DeviceUtilization {
    /// Its name (`/device:TPU:0`).
    pub device: String,
    /// The metrics of one device, without those of the host.
    pub metrics: Vec<Metric>,
}

impl DeviceUtilization {
    /// Ids of the metrics that are only lower bounds.
    fn lower_bounds(&self) -> String {
        let bounds = self.metrics.iter().filter(|metric| metric.is_lower_bound);
        joined(bounds.map(|metric| metric.id), ", ")
    }

    fn is_lower_bound(&self, id: &str) -> bool {
        self.metrics
            .iter()
            .any(|metric| metric.id == id && metric.is_lower_bound)
    }
}

impl UtilizationReport {
    /// The combined metric with this id.
    pub fn metric(&self, id: &str) -> Option<&Metric> {
        self.combined.iter().find(|metric| metric.id == id)
    }
}

impl Analysis for Utilization {
    type Report = UtilizationReport;
    const ID: &str = "utilization";
    const TITLE: &str = "Utilization";

    fn run(cx: &Context<'_>) -> Result<UtilizationReport> {
        cx.require_times()?;
        let ops = cx.report::<Ops>()?;
        let all: Vec<&CoreOps> = ops.cores.iter().collect();
        let mut combined = metrics(&WorkSums::new(cx, &ops, &all));
        combined.extend(steady::metrics(cx, &ops));
        let duties = CoreDuty::of_all(cx, &ops.cores)?;
        combined.push(xprof_duty_cycle(&duties));
        combined.extend(capture::covered(cx, &ops));
        combined.extend(capture::flops(cx, &ops));
        combined.extend(hardware::host_metrics(cx));
        sort_by_importance(&mut combined);
        let devices = ops.cores.iter().zip(&duties).map(|(core, duty)| {
            let mut metrics = metrics(&WorkSums::new(cx, &ops, &[core]));
            metrics.push(xprof_duty_cycle(std::slice::from_ref(duty)));
            metrics.extend(hardware::counter_metric(cx, core));
            sort_by_importance(&mut metrics);
            DeviceUtilization {
                device: core.name.clone(),
                metrics,
            }
        });
        let mut devices: Vec<DeviceUtilization> = devices.collect();
        let of_devices = devices.iter_mut().flat_map(|device| &mut device.metrics);
        for metric in combined.iter_mut().chain(of_devices) {
            metric.provenance = metric.provenance.in_trace(cx.model);
        }
        Ok(UtilizationReport { combined, devices })
    }
}

/// The metrics to show first; all others follow in the order in which they were computed.
const FIRST: [&str; 11] = [
    "mfu_steady_percent",
    "mfu_window_percent",
    "flops_util_window_percent",
    "mxu_util_steady_percent",
    ON_MATRIX_OPS,
    "mxu_hw_percent",
    "hbm_util_steady_percent",
    "hbm_util_window_percent",
    "hbm_hw_percent",
    "wait_percent",
    "device_idle_percent",
];

fn sort_by_importance(metrics: &mut [Metric]) {
    metrics.sort_by_key(|metric| {
        FIRST
            .iter()
            .position(|&id| id == metric.id)
            .unwrap_or(FIRST.len())
    });
}

fn metrics(sums: &WorkSums<'_>) -> Vec<Metric> {
    let mut out = vec![];
    let too_low = sums.notes_on(BoundBy::Compute, true);
    let flops = sums.amount(|core| core.work.flops);
    let model_flops = sums.amount(|core| core.model_flops_as_bf16);
    let flops_note = match (flops, model_flops) {
        (None, Some(_)) => Some("this capture records only model FLOPs".to_owned()),
        (None, None) => Some("this capture records no FLOPs".to_owned()),
        _ => too_low.clone(),
    };
    let compute = |id, title, amount, over, time, note: &Option<String>| {
        let (limit, note) = (BoundBy::Compute, note.clone());
        utilization(
            sums,
            UtilizationShare {
                id,
                title,
                limit,
                amount,
                over,
                time,
                of_all_ops: true,
                note,
            },
        )
    };
    let all = sums.window.as_str();
    let title = if sums.is_whole {
        "MFU, first op to last"
    } else {
        "MFU (model FLOPs)"
    };
    out.push(compute(
        "mfu_window_percent",
        title,
        model_flops,
        all,
        window,
        &too_low,
    ));
    out.push(compute(
        "flops_util_window_percent",
        "FLOPs utilization",
        flops,
        all,
        window,
        &flops_note,
    ));
    out.push(compute(
        "flops_util_busy_percent",
        "FLOPs utilization while busy",
        flops,
        "busy time",
        busy,
        &flops_note,
    ));
    let rated = MatrixOps::rated(sums);
    out.push(matrix_metric(
        sums,
        [ON_MATRIX_OPS, rated.speed_title()],
        rated.time_in_words(),
    ));
    memory_metrics(sums, &mut out);
    time_metrics(sums, &mut out);
    out.extend(clock_metric(sums));
    out
}

/// The rate of matrix ops.
const ON_MATRIX_OPS: &str = "mxu_util_on_mxu_ops_percent";

/// The actual clock, if recorded. Peaks refer to the default clock.
fn clock_metric(sums: &WorkSums<'_>) -> Option<Metric> {
    let scaled = sums.amount(|core| core.scaled_time_ps)? * 1e-12;
    let time = sums.time(|core| core.scale_recorded_ps);
    let value = (time > 0.0).then(|| 100.0 * scaled / time);
    let lowered = value.is_some_and(|value| value < 99.0);
    Some(Metric {
        id: "clock_of_default_percent",
        title: "Clock, of the default clock",
        value,
        is_lower_bound: false,
        unit: Unit::Percent,
        of: sums.over("default clock, mean over time of ops", |core| {
            core.scale_recorded_ps
        }),
        provenance: Provenance::Profile,
        note: lowered.then(|| {
            "the clock was lowered, which limits compute to this share of its peak".to_owned()
        }),
    })
}

/// Utilization of memories.
fn memory_metrics(sums: &WorkSums<'_>, out: &mut Vec<Metric>) {
    let amount = |get: fn(&OpWork) -> Option<f64>| sums.amount(|core| get(&core.work));
    let hbm = amount(|work| work.hbm_bytes);
    let note = sums.notes_on(BoundBy::Hbm, hbm.is_some());
    let mut push = |id, title, limit, amount, over, time, note| {
        let of_all_ops = limit == BoundBy::Hbm;
        out.push(utilization(
            sums,
            UtilizationShare {
                id,
                title,
                limit,
                amount,
                over,
                time,
                of_all_ops,
                note,
            },
        ));
    };
    let title = if sums.is_whole {
        "HBM bandwidth, first op to last"
    } else {
        "HBM bandwidth"
    };
    let all = sums.window.as_str();
    push(
        "hbm_util_window_percent",
        title,
        BoundBy::Hbm,
        hbm,
        all,
        window as fn(&CoreOps) -> Picos,
        note.clone(),
    );
    let title = "HBM bandwidth while busy";
    push(
        "hbm_util_busy_percent",
        title,
        BoundBy::Hbm,
        hbm,
        "busy time",
        busy,
        note,
    );
    // Most exports lose the split by memory: there is nothing to show then. A split without VMEM does not mean that
    // none was used.
    let is_split = hbm.is_some() && !sums.hbm_is_estimated;
    let mut vmem = |id, title, limit, bytes: Option<f64>, nothing: &str| {
        if !is_split {
            return;
        }
        let known = "by the compiler's account: only buffers that it placed in VMEM count";
        let note = if bytes.is_some() { known } else { nothing };
        push(
            id,
            title,
            limit,
            bytes,
            "busy time",
            busy,
            Some(note.to_owned()),
        );
    };
    let (read, written) = (
        amount(|work| work.vmem_read_bytes),
        amount(|work| work.vmem_write_bytes),
    );
    let title = "VMEM read bandwidth utilization while busy";
    let nothing =
        "the compiler lists no bytes read from VMEM; reads inside kernels are not recorded";
    vmem(
        "vmem_read_util_busy_percent",
        title,
        BoundBy::VmemRead,
        read,
        nothing,
    );
    let title = "VMEM write bandwidth utilization while busy";
    let nothing =
        "the compiler lists no bytes written to VMEM; writes inside kernels are not recorded";
    vmem(
        "vmem_write_util_busy_percent",
        title,
        BoundBy::VmemWrite,
        written,
        nothing,
    );
}

/// Shares of time: they need no peak.
fn time_metrics(sums: &WorkSums<'_>, out: &mut Vec<Metric>) {
    let over = sums.window.as_str();
    let share = |id, title, part: fn(&CoreOps) -> Picos, note: Option<&str>| {
        let whole = window;
        let whole_time = sums.time(whole);
        Metric {
            id,
            title,
            value: (whole_time > 0.0).then(|| 100.0 * sums.time(part) / whole_time),
            is_lower_bound: false,
            unit: Unit::Percent,
            of: sums.over(over, whole),
            provenance: Provenance::Measured,
            note: note.map(str::to_owned),
        }
    };
    let mxu = "a share of time, not a utilization";
    out.push(share(
        "mxu_busy_fraction_percent",
        MatrixOps::of(sums.cores, |work| work.time_ps).share_title(),
        |core| core.mxu_time_ps,
        Some(mxu),
    ));
    let wait = "ops that end an asynchronous copy, slice or collective";
    out.push(share(
        "wait_percent",
        "Time waiting for asynchronous ops",
        |core| core.wait_ps,
        Some(wait),
    ));
    let duty = "leaf ops that are not off duty; waiting for copies counts as busy";
    let whole = sums.is_whole;
    let title = if whole {
        "Duty cycle, first op to last"
    } else {
        "Duty cycle"
    };
    out.push(share("duty_cycle_percent", title, busy, Some(duty)));
    let title = if whole {
        "Idle, first op to last"
    } else {
        "Device idle"
    };
    out.push(share(
        "device_idle_percent",
        title,
        |core| core.idle_ps,
        None,
    ));
}

impl Tabular for UtilizationReport {
    fn tables(&self) -> Vec<Table> {
        let mut tables = vec![metric_table("utilization", "Utilization", &self.combined)];
        if self.devices.len() > 1 {
            tables.push(self.device_table());
        }
        tables
    }
}

fn metric_table(id: &'static str, title: &str, metrics: &[Metric]) -> Table {
    Table::of(id, title, metrics)
        .derived("metric", "Metric", Unit::None, |metric| metric.title)
        .derived("value_bound", "Bound", Unit::None, |metric| {
            LowerBound(metric.is_lower_bound)
        })
        .derived("value_percent", "Value", Unit::Percent, |metric| {
            metric.value
        })
        .derived("of", "of", Unit::None, |metric| &metric.of)
        .derived("provenance", "From", Unit::None, |metric| {
            metric.provenance.title()
        })
        .derived("note", "Note", Unit::None, |metric| &metric.note)
        .build()
}

/// A title short enough to leave room for the other columns.
fn short_title(metric: &Metric) -> &'static str {
    match metric.id {
        "mfu_window_percent" => "Model FLOPs",
        "flops_util_window_percent" => "FLOPs",
        "mxu_util_on_mxu_ops_percent" => "on matrix ops",
        "hbm_util_window_percent" => "HBM",
        "wait_percent" => "Waiting",
        "device_idle_percent" => "Idle",
        _ => metric.title,
    }
}

impl UtilizationReport {
    /// One column per metric, one row per device.
    fn device_table(&self) -> Table {
        let first = self
            .devices
            .first()
            .map(|device| device.metrics.as_slice())
            .unwrap_or_default();
        let table = Table::of("device_utilization", "Utilization by device", &self.devices)
            .recorded("device", "Device", Unit::None, |device| &device.device);
        let columns = first.iter().fold(table, |table, wanted| {
            table.column(
                wanted.id,
                short_title(wanted),
                wanted.unit,
                wanted.provenance,
                |device| {
                    device
                        .metrics
                        .iter()
                        .find(|metric| metric.id == wanted.id)?
                        .value
                },
            )
        });
        let window = "Shares of time are of the time from the first op of each device to the end of its last, or of the \
            part that is looked at.";
        let bounds = first.iter().filter(|metric| {
            self.devices
                .iter()
                .any(|device| device.is_lower_bound(metric.id))
        });
        let bounds: Vec<&str> = bounds.map(short_title).collect();
        let columns = if bounds.is_empty() {
            columns
        } else {
            columns
                .derived("lower_bounds", "At least", Unit::None, |device| {
                    device.lower_bounds()
                })
                .note(format!(
                    "Lower bounds on some devices: {}.",
                    bounds.join(", ")
                ))
        };
        columns.note(window).build()
    }
}
