//! Values of a whole run in its summary.

use device_reports::{Collectives, Matmuls, Memory, OpRow, Ops, Overlap};
use facts::prelude::*;
use run_reports::host::input::Input as InputWaits;
use run_reports::{Compile, Gaps, IdleCause, Utilization};

use super::better::Better;
use super::metrics::SummaryMetric;
use super::run_loop;
use super::summary::RunValue;

impl RunValue {
    /// What is known of it, or why nothing is.
    pub(crate) fn known(&self) -> Result<KnownValue<'_>, &str> {
        let note = || self.note.as_deref();
        let value = self
            .value
            .ok_or_else(|| note().unwrap_or("it is not known"))?;
        let at_least_because = self
            .is_lower_bound
            .then(|| note().unwrap_or("a part of the work is unknown"));
        Ok(KnownValue {
            value,
            at_least_because,
        })
    }

    /// The number, unless it is only a lower bound.
    pub fn exact(&self) -> Option<f64> {
        self.value.filter(|_| !self.is_lower_bound)
    }
}

/// A known number of a run.
#[derive(Clone, Copy, Debug)]
pub(crate) struct KnownValue<'a> {
    /// The number.
    pub value: f64,
    /// Why it is only a lower bound, if it is one.
    pub at_least_because: Option<&'a str>,
}

impl KnownValue<'_> {
    /// A number that is what it says.
    pub const fn exact(value: f64) -> Self {
        Self {
            value,
            at_least_because: None,
        }
    }
}

/// Numbers of the whole run from the other reports, as far as they apply.
pub(super) fn values(
    cx: &Context<'_>,
    steps: &StepsReport,
    why_none: Option<&str>,
) -> Vec<RunValue> {
    let mut out = utilization(cx);
    out.extend(communication(cx));
    out.extend(compiling(cx));
    if let Ok(memory) = cx.report::<Memory>()
        && let Some(fullest) = memory.memories.first()
    {
        let value =
            |metric, value| RunValue::of(metric, value, &*fullest.memory, Provenance::Profile);
        let percent = fullest.peak_percent.map(|percent| percent.0);
        out.extend([
            value("memory.peak_bytes", Some(fullest.peak_bytes as f64)),
            value("memory.peak_percent", percent),
        ]);
    }
    if let Some((waits, percent)) = input_wait(cx, steps) {
        let whole = if steps.has_steps() {
            "the steady steps"
        } else {
            "the first program to the last"
        };
        let of = format!("time of {whole} without pauses to compile, {waits}");
        let metric = "input_wait_percent";
        out.push(RunValue::of(
            metric,
            Some(percent),
            of,
            Provenance::Inferred,
        ));
    }
    out.extend(ops(cx));
    if let Ok(matmuls) = cx.report::<Matmuls>() {
        let waste = matmuls
            .padding_efficiency_percent
            .map(|useful| 100.0 - useful.0);
        let of = "work on whole tiles, of the matmuls whose sizes are known";
        let metric = "padding_waste_percent";
        out.push(RunValue::of(metric, waste, of, Provenance::Derived));
    }
    if why_none.is_none() {
        out.extend(run_loop::times(cx, steps));
    }
    out.extend(run_loop::compilations(cx, steps, why_none));
    for value in &mut out {
        value.provenance = value.provenance.in_trace(cx.model);
    }
    out
}

fn utilization(cx: &Context<'_>) -> Vec<RunValue> {
    let value = |metric: &Metric| RunValue {
        id: metric.id.to_owned(),
        title: metric.title.to_owned(),
        unit: metric.unit,
        better: SummaryMetric::with_id(metric.id).map_or(Better::Neither, |listed| listed.better),
        value: metric.value,
        is_lower_bound: metric.is_lower_bound,
        of: metric.of.clone(),
        provenance: metric.provenance,
        note: metric.note.clone(),
    };
    let report = cx.report::<Utilization>();
    report.map_or_else(
        |_| Vec::new(),
        |report| report.combined.iter().map(value).collect(),
    )
}

fn communication(cx: &Context<'_>) -> Vec<RunValue> {
    let mut out = Vec::new();
    if let Ok(overlap) = cx.report::<Overlap>() {
        let sum = &overlap.summary;
        let value = |metric, share: Option<Percent>, of: &str| {
            RunValue::of(metric, share.map(|share| share.0), of, Provenance::Measured)
        };
        out.extend([
            value(
                "overlap.exposed_share_percent",
                sum.exposed_share_percent,
                "window of the device with most of it",
            ),
            value(
                "overlap.hidden_percent",
                sum.overlap_ratio_percent,
                "time communicating, all devices",
            ),
        ]);
    }
    if let Ok(collectives) = cx.report::<Collectives>() {
        for kind in collectives.kinds.iter().filter(|kind| !kind.is_fused) {
            let metric = "collectives.*.bus_bytes_per_second";
            let of = "sent ÷ time";
            let value = RunValue::of(metric, kind.bus_bandwidth, of, Provenance::Derived);
            out.push(value.of_kind(&kind.kind));
        }
    }
    out
}

fn compiling(cx: &Context<'_>) -> Vec<RunValue> {
    let report = cx.report::<Compile>().ok();
    let Some(compile) = report.filter(|report| report.is_recorded) else {
        return Vec::new();
    };
    let value = |metric, value, of, provenance| RunValue::of(metric, Some(value), of, provenance);
    let wall = compile.wall_ps.unwrap_or_default().as_ps_f64();
    vec![
        value(
            "compile.count",
            compile.compilations as f64,
            "capture",
            Provenance::Measured,
        ),
        value(
            "compile.recompilations",
            compile.recompilations as f64,
            "capture",
            Provenance::Inferred,
        ),
        value(
            "compile.wall_ps",
            wall,
            "capture, union over threads",
            Provenance::Measured,
        ),
    ]
}

fn ops(cx: &Context<'_>) -> Vec<RunValue> {
    let Ok(ops) = cx.report::<Ops>() else {
        return Vec::new();
    };
    let share = |metric, provenance, wanted: fn(&OpRow) -> bool| {
        let rows = ops.rows.iter().filter(|row| wanted(row));
        let time: Picos = rows.map(|row| row.self_time_ps).sum();
        let share = Percent::of(time, ops.op_time_ps).map(|share| share.0);
        RunValue::of(metric, share, "time of ops, all devices", provenance)
    };
    vec![
        share("host_offload_wait_percent", Provenance::Measured, |row| {
            row.waits_for_host == Some(true)
        }),
        share("recompute_percent", Provenance::Inferred, |row| {
            row.is_remat && row.is_leaf
        }),
    ]
}

/// The device (without a TPU the host) that waits most for input, and the share of the time that it waits between the
/// first and the last steady step; `None` if neither a host nor an infeed op shows it. The time in which a device waits
/// for the compiler does not count: otherwise a compilation fewer would look like more waiting for input.
fn input_wait(cx: &Context<'_>, steps: &StepsReport) -> Option<(String, f64)> {
    let scope = match steps.counted_numbers() {
        Some((first, last)) if steps.has_steps() => Scope::Steps { first, last },
        _ => cx.scope,
    };
    let scoped = cx.scoped(scope);
    let input = scoped.report::<InputWaits>().ok()?;
    let gaps = scoped.report::<Gaps>().ok();
    let compiling = |name: &str| {
        let devices = gaps.iter().flat_map(|gaps| &gaps.devices);
        let of_core = devices.filter(|device| device.core == name);
        let causes = of_core.flat_map(|device| &device.between);
        let compiling = causes.filter(|part| part.cause == IdleCause::Compile);
        compiling.map(|part| part.time_ps).sum::<Picos>()
    };
    let known = input.devices.iter().filter_map(|wait| {
        let length = wait.length_ps - compiling(&wait.name);
        Some((&wait.name, Percent::of(wait.total_ps()?, length)?.0))
    });
    let most = known.reduce(|most, wait| if wait.1 > most.1 { wait } else { most })?;
    Some((most.0.clone(), most.1))
}
