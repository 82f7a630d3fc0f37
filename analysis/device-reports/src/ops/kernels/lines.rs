//! What newer captures tell about the inside of a kernel: lines, units and hardware counters.

use facts::prelude::*;
use trace_model::without_number;

use super::inside::{KernelInside, PartSums, STAGES};
use super::report::{Kernel, KernelCounter, KernelLine, KernelOp, KernelUnit};
use crate::ops::hardware_counters::{CounterMetric, HardwareCounters};

/// Most parts of a line that are listed, by time.
const MOST_PARTS: usize = 40;

/// The parts of a line that take most time.
fn longest<'a>(inside: &'a KernelInside, line: &str) -> Vec<(&'a (String, String), &'a PartSums)> {
    let mut parts: Vec<_> = inside
        .parts
        .iter()
        .filter(|((part_line, _), _)| part_line == line)
        .collect();
    largest_first(&mut parts, |one| one.1.own, |one| one.0);
    parts.truncate(MOST_PARTS);
    parts
}

/// The lines of a kernel other than its stages, the longest parts first.
pub(super) fn lines(inside: &KernelInside) -> Vec<KernelLine> {
    let lines = inside.line_times.iter().filter(|(line, _)| *line != STAGES);
    let parts = lines.flat_map(|(line, time)| {
        longest(inside, line)
            .into_iter()
            .map(move |part| (time, part))
    });
    parts
        .map(|(time, ((line, name), sums))| KernelLine {
            line: line.clone(),
            name: name.clone(),
            occurrences: sums.occurrences,
            self_ps: sums.own,
            self_percent: Percent::of(sums.own, *time),
        })
        .collect()
}

/// The LLO estimates of each stage and line that has samples.
pub(super) fn units(inside: &KernelInside) -> Vec<KernelUnit> {
    let parts = inside
        .line_times
        .keys()
        .flat_map(|line| longest(inside, line));
    let units =
        parts.flat_map(|(name, sums)| sums.units.iter().map(move |unit| (name, sums, unit)));
    units
        .filter(|(.., (_, unit))| unit.held.ps() > 0)
        .map(
            |((line, name), sums, ((series, unit), sample))| KernelUnit {
                line: line.clone(),
                name: name.clone(),
                series: series.clone(),
                unit: unit.clone(),
                mean: sample.weighted / sample.held.as_ps_f64(),
                covered_percent: Percent::of(sample.held, sums.own),
            },
        )
        .collect()
}

/// Gives kernels the counters that were read for them: a reading is named after the kernel or its op. A name that fits
/// several kernels says nothing.
pub(super) fn join_counters(cx: &Context<'_>, kernels: &mut [Kernel], ops: &[KernelOp]) {
    // Readings have no steps: they are those of the whole capture.
    let Ok(report) = cx.whole().report::<HardwareCounters>() else {
        return;
    };
    for device in &report.devices {
        for sample in &device.samples {
            let runs =
                |op: &&KernelOp| *op.op == *sample.name || without_number(&op.op) == sample.name;
            let by_op = |kernel: &Kernel| {
                ops.iter()
                    .filter(runs)
                    .any(|op| op.kernel == kernel.kernel && *op.program == *kernel.program)
            };
            let mut fitting = kernels
                .iter_mut()
                .filter(|kernel| kernel.kernel == sample.name || by_op(kernel));
            let (Some(kernel), None) = (fitting.next(), fitting.next()) else {
                continue;
            };
            for metric in &sample.metrics {
                add(&mut kernel.counters, &device.device, metric);
            }
        }
    }
}

fn add(counters: &mut Vec<KernelCounter>, device: &str, metric: &CounterMetric) {
    match counters.iter_mut().find(|known| {
        known.device == device && (known.metric.id, known.metric.core) == (metric.id, metric.core)
    }) {
        Some(known) => known.metric.add(metric),
        None => counters.push(KernelCounter {
            device: device.to_owned(),
            metric: metric.clone(),
        }),
    }
}
