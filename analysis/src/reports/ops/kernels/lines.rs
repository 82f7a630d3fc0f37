//! What newer captures tell about the inside of a kernel: lines, units and hardware counters.

use serde::Serialize;

use super::inside::{KernelInside, PartSums, STAGES};
use super::{Kernel, KernelOp};
use crate::engine::{Context, Scope};
use crate::math::stats::percent;
use crate::reports::summary::hardware_counters::{CounterMetric, HardwareCounters};
use trace_model::without_number;

/// An LLO op, a primitive of Pallas or a source line of a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelLine {
    /// The line of the trace (`Source Lines`, `LLO Ops` …).
    pub line: String,
    /// Its name: `kernel.py:42`, an op.
    pub name: String,
    /// Number of occurrences.
    pub occurrences: u64,
    /// Time excluding events inside.
    pub self_ps: i64,
    /// The same as a share of the time of the executions that have this line.
    pub self_percent: Option<f64>,
}

/// An LLO estimate while a stage or a line of a kernel runs.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelUnit {
    /// `stages`, or the line of the trace.
    pub line: String,
    /// The stage, the op or the source line.
    pub name: String,
    /// `MXU`, `Vector ALU` …
    pub series: String,
    /// As recorded (`% util`).
    pub unit: String,
    /// Mean over the time with samples.
    pub mean: f64,
    /// Time with samples, as a share of the self time.
    pub covered_percent: Option<f64>,
}

/// A hardware counter that was read for a kernel.
#[derive(Clone, Debug, PartialEq, Serialize, schemars::JsonSchema)]
pub struct KernelCounter {
    /// The device.
    pub device: String,
    /// Over the readings with the name of the kernel or of one of its ops.
    pub metric: CounterMetric,
}

/// Most parts of a line that are listed, by time.
const MOST_PARTS: usize = 40;

/// The parts of a line that take most time.
fn longest<'a>(inside: &'a KernelInside, line: &str) -> Vec<(&'a (String, String), &'a PartSums)> {
    let mut parts: Vec<_> = inside.parts.iter().filter(|((own, _), _)| own == line).collect();
    parts.sort_by(|a, b| b.1.own.cmp(&a.1.own).then_with(|| a.0.cmp(b.0)));
    parts.truncate(MOST_PARTS);
    parts
}

/// The lines of a kernel other than its stages, the longest parts first.
pub(super) fn lines(inside: &KernelInside) -> Vec<KernelLine> {
    let lines = inside.line_times.iter().filter(|(line, _)| *line != STAGES);
    let parts = lines.flat_map(|(line, time)| longest(inside, line).into_iter().map(move |part| (time, part)));
    parts
        .map(|(time, ((line, name), sums))| KernelLine {
            line: line.clone(),
            name: name.clone(),
            occurrences: sums.occurrences,
            self_ps: sums.own.ps(),
            self_percent: percent(sums.own.ps(), time.ps()),
        })
        .collect()
}

/// The LLO estimates of each stage and line that has samples.
pub(super) fn units(inside: &KernelInside) -> Vec<KernelUnit> {
    let parts = inside.line_times.keys().flat_map(|line| longest(inside, line));
    let units = parts.flat_map(|(name, sums)| sums.units.iter().map(move |unit| (name, sums, unit)));
    units
        .filter(|(.., (_, unit))| unit.held.ps() > 0)
        .map(|((line, name), sums, ((series, unit), sample))| KernelUnit {
            line: line.clone(),
            name: name.clone(),
            series: series.clone(),
            unit: unit.clone(),
            mean: sample.weighted / sample.held.ps() as f64,
            covered_percent: percent(sample.held.ps(), sums.own.ps()),
        })
        .collect()
}

/// Gives kernels the counters that were read for them: a reading is named after the kernel or its op. A name that fits
/// several kernels says nothing.
pub(super) fn join_counters(cx: &Context<'_>, kernels: &mut [Kernel], ops: &[KernelOp]) {
    // Readings have no steps: they are those of the whole capture.
    let Ok(report) = cx.scoped(Scope::WholeTrace).report::<HardwareCounters>() else { return };
    for device in &report.devices {
        for sample in &device.samples {
            let runs = |op: &&KernelOp| *op.op == *sample.name || without_number(&op.op) == sample.name;
            let by_op = |kernel: &Kernel| {
                ops.iter().filter(runs).any(|op| op.kernel == kernel.kernel && *op.program == *kernel.program)
            };
            let mut fitting = kernels.iter_mut().filter(|kernel| kernel.kernel == sample.name || by_op(kernel));
            let (Some(kernel), None) = (fitting.next(), fitting.next()) else { continue };
            for metric in &sample.metrics {
                add(&mut kernel.counters, &device.device, metric);
            }
        }
    }
}

fn add(counters: &mut Vec<KernelCounter>, device: &str, metric: &CounterMetric) {
    let same = |known: &&mut KernelCounter| {
        known.device == device && (known.metric.id, known.metric.core) == (metric.id, metric.core)
    };
    match counters.iter_mut().find(same) {
        Some(known) => known.metric.add(metric),
        None => counters.push(KernelCounter { device: device.to_owned(), metric: metric.clone() }),
    }
}
