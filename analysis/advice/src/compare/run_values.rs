//! Values of a whole run in its summary.

use device_reports::communication::collectives::Collectives;
use device_reports::communication::overlap::Overlap;
use device_reports::memory::hbm::Memory;
use device_reports::ops::matmuls::Matmuls;
use device_reports::ops::op_stats::{OpRow, Ops};
use engine::{Context, Percent, Provenance, Scope};
use facts::host_class::host_threads;
use facts::steps::StepsReport;
use math::unit::Unit;
use run_reports::host::compile::Compile;
use run_reports::host::input::Input as InputWaits;
use run_reports::summary::utilization::Utilization;
use trace_model::Picos;

use super::run_loop;
use super::summary::{Better, RunValue};

/// Numbers of the whole run from the other reports, as far as they apply.
#[expect(clippy::too_many_lines, reason = "one list of values")]
pub(super) fn values(
    cx: &Context<'_>,
    steps: &StepsReport,
    why_none: Option<&str>,
) -> Vec<RunValue> {
    let mut out: Vec<RunValue> = Vec::new();
    if let Ok(report) = cx.report::<Utilization>() {
        out.extend(report.combined.iter().map(|metric| RunValue {
            id: metric.id.to_owned(),
            title: metric.title.to_owned(),
            unit: metric.unit,
            better: better(metric.id),
            value: metric.value,
            of: metric.of.clone(),
            provenance: metric.provenance,
            note: metric.note.clone(),
        }));
    }
    let mut push =
        |id: &str, title: &str, unit, better, value: Option<f64>, of: &str, provenance| {
            let (id, title, of) = (id.to_owned(), title.to_owned(), of.to_owned());
            out.push(RunValue {
                id,
                title,
                unit,
                better,
                value,
                of,
                provenance,
                note: None,
            });
        };
    let (lower, measured) = (Better::Lower, Provenance::Measured);
    if let Ok(overlap) = cx.report::<Overlap>() {
        let sum = &overlap.summary;
        let of = "window of the device with most of it";
        let share = sum.exposed_share_percent.map(|percent| percent.0);
        push(
            "overlap.exposed_share_percent",
            "Exposed communication",
            Unit::Percent,
            lower,
            share,
            of,
            measured,
        );
        let of = "time communicating, all devices";
        let ratio = sum.overlap_ratio_percent.map(|percent| percent.0);
        push(
            "overlap.hidden_percent",
            "Communication hidden",
            Unit::Percent,
            Better::Higher,
            ratio,
            of,
            measured,
        );
    }
    if let Ok(collectives) = cx.report::<Collectives>() {
        for kind in collectives.kinds.iter().filter(|kind| !kind.is_fused) {
            let id = format!("collectives.{}.bus_bytes_per_second", kind.kind);
            let title = format!("Bus bandwidth, {}", kind.kind);
            let unit = Unit::BytesPerSecond;
            push(
                &id,
                &title,
                unit,
                Better::Higher,
                kind.bus_bandwidth,
                "sent ÷ time",
                Provenance::Derived,
            );
        }
    }
    if let Ok(compile) = cx.report::<Compile>()
        && compile.is_recorded
    {
        let count = Some(compile.compilations as f64);
        push(
            "compile.count",
            "Compilations",
            Unit::Count,
            lower,
            count,
            "capture",
            measured,
        );
        let again = Some(compile.recompilations as f64);
        push(
            "compile.recompilations",
            "Recompilations",
            Unit::Count,
            lower,
            again,
            "capture",
            Provenance::Inferred,
        );
        let wall = Some(compile.wall_ps.unwrap_or(0) as f64);
        push(
            "compile.wall_ps",
            "Compiling",
            Unit::Picoseconds,
            lower,
            wall,
            "capture, union over threads",
            measured,
        );
    }
    let mut of_loop = if why_none.is_none() {
        run_loop::times(cx, steps)
    } else {
        Vec::new()
    };
    of_loop.extend(run_loop::compilations(cx, steps, why_none));
    if let Ok(memory) = cx.report::<Memory>()
        && let Some(fullest) = memory.memories.first()
    {
        let (bytes, profile) = (Some(fullest.peak_bytes as f64), Provenance::Profile);
        push(
            "memory.peak_bytes",
            "Memory peak",
            Unit::Bytes,
            lower,
            bytes,
            &fullest.memory,
            profile,
        );
        let percent = fullest.peak_percent.map(|percent| percent.0);
        push(
            "memory.peak_percent",
            "Memory peak of capacity",
            Unit::Percent,
            lower,
            percent,
            &fullest.memory,
            profile,
        );
    }
    if let Some((waits, percent)) = input_wait(cx, steps) {
        let of = format!("time of the steady steps, {waits}");
        push(
            "input_wait_percent",
            "Waiting for input",
            Unit::Percent,
            lower,
            Some(percent),
            &of,
            Provenance::Inferred,
        );
    }
    if let Ok(ops) = cx.report::<Ops>() {
        let mut share = |id: &str, title: &str, provenance, wanted: fn(&OpRow) -> bool| {
            let time: Picos = ops
                .rows
                .iter()
                .filter(|row| wanted(row))
                .map(|row| row.self_time_ps)
                .sum();
            let share = Percent::of(time, ops.op_time_ps).map(|share| share.0);
            push(
                id,
                title,
                Unit::Percent,
                lower,
                share,
                "time of ops, all devices",
                provenance,
            );
        };
        share(
            "host_offload_wait_percent",
            "Waiting for copies to and from the host",
            measured,
            |row| row.waits_for_host,
        );
        let title = "Computed a second time to save memory";
        share("recompute_percent", title, Provenance::Inferred, |row| {
            row.is_remat && row.is_leaf
        });
    }
    if let Ok(matmuls) = cx.report::<Matmuls>() {
        let waste = matmuls
            .padding_efficiency_percent
            .map(|useful| 100.0 - useful.0);
        let of = "work on whole tiles, of the matmuls whose sizes are known";
        push(
            "padding_waste_percent",
            "Padding of matmuls",
            Unit::Percent,
            lower,
            waste,
            of,
            Provenance::Derived,
        );
    }
    out.extend(of_loop);
    out
}

/// The device (without a TPU the host) that waits most for input, and the share of the time that it waits between the
/// first and the last steady step; `None` if neither a host nor an infeed op shows it.
fn input_wait(cx: &Context<'_>, steps: &StepsReport) -> Option<(String, f64)> {
    let numbers = || steps.counted().map(|step| step.number);
    let scope = match (numbers().min(), numbers().max()) {
        (Some(first), Some(last)) if steps.has_steps() && steps.left_out > 0 => {
            Scope::Steps { first, last }
        }
        _ => cx.scope,
    };
    let input = cx.scoped(scope).report::<InputWaits>().ok()?;
    let has_host = host_threads(cx.model).next().is_some();
    let known = input
        .devices
        .iter()
        .filter(|wait| has_host || wait.infeed_ps.is_some_and(|time| time > 0));
    let known = known.filter_map(|wait| Some((&wait.name, wait.percent?)));
    let most = known.reduce(|most, wait| if wait.1 > most.1 { wait } else { most })?;
    Some((most.0.clone(), most.1))
}

/// The direction of a utilization metric, by its name.
fn better(id: &str) -> Better {
    let has = |words: &[&str]| words.iter().any(|word| id.contains(word));
    if has(&["idle", "wait", "stall"]) {
        Better::Lower
    } else if has(&["mfu", "util", "busy", "duty", "hw_percent"]) {
        Better::Higher
    } else {
        Better::Neither
    }
}
