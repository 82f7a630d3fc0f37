//! Rules about what the hardware, kernels and `SparseCores` recorded of themselves.

use super::prelude::*;
use device_reports::communication::sparse_cores::SparseCores;
use device_reports::ops::kernels::TRACING;
use device_reports::{Kernel, Kernels, KernelsReport};

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K27",
        "The core waits for its SparseCores",
        High,
        [SPARSE_WAIT],
        sparse_wait
    ),
    rule!(
        "K28",
        "Compute waits for DMA",
        High,
        [DMA_STALL, DMA_WAIT, DMA_KERNEL],
        dma_stall
    ),
    rule!(
        "K30",
        "Kernels spill registers to VMEM",
        High,
        [SPILL_KERNEL],
        spills
    ),
];

static SPARSE_WAIT: Threshold = Threshold::percent(
    "K27.wait_percent",
    10.0,
    "the limit of a rule in the source of XProf; less is worth little, because their work has to be done",
);
static DMA_STALL: Threshold = Threshold::percent(
    "K28.stall_percent",
    10.0,
    "filling the pipeline stalls every op for a few percent",
);
static DMA_WAIT: Threshold = Threshold::percent(
    "K28.wait_percent",
    30.0,
    "a kernel that waits for a third of its time is bound by memory, or its pipeline is too shallow",
);
static DMA_KERNEL: Threshold = Threshold::percent(
    "K28.kernel_percent",
    5.0,
    "tuning a kernel pays only where it takes time",
);
static SPILL_KERNEL: Threshold = Threshold::percent(
    "K30.kernel_percent",
    2.0,
    "tuning a kernel pays only where it takes time",
);
/// Rows of ops named by program and instruction.
fn named<'f>(facts: &'f HintFacts<'_>, names: &BTreeSet<(&str, &str)>) -> Result<Vec<&'f OpRow>> {
    Ok(facts
        .select(|row| names.contains(&(&*row.program, &*row.name)))?
        .rows)
}

fn ids(rows: &[&OpRow]) -> Vec<OpId> {
    rows.iter().filter_map(|row| row.op).collect()
}

fn sparse_wait(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<SparseCores>()?;
    let devices = facts.devices()?;
    let known: Vec<_> = report
        .offloads
        .iter()
        .filter_map(|op| Some((op, op.waited_ps?)))
        .collect();
    if known.is_empty() {
        let why = "no op was found that hands work to a SparseCore and awaits it";
        return Err(why.into());
    }
    let limit = facts.limit(&SPARSE_WAIT);
    let names = known
        .iter()
        .map(|(op, _)| (op.program.as_deref().unwrap_or_default(), op.op.as_str()))
        .collect();
    let rows = named(facts, &names)?;
    // Devices hand over work in proportion to what they do.
    let waited = known.iter().map(|&(op, wait)| {
        let row = rows.iter().find(|row| {
            *row.name == *op.op && *row.program == *op.program.as_deref().unwrap_or_default()
        });
        row.map_or(wait, |row| devices.part_of(row, wait))
    });
    let share = devices.share(waited.sum());
    let first = report
        .offloads
        .iter()
        .max_by_key(|op| op.waited_ps)
        .filter(|_| share.0 >= limit)
        .ok_or(Nothing)?;
    let starts = ids(&rows);
    let done = report.offloads.iter().flat_map(|offload| &offload.done);
    Ok(Finding {
        statement: format!(
            "the TensorCore waits for SparseCores for {share:.1} of {}, most for what {} starts",
            devices.time(),
            short_name(&first.op)
        ),
        evidence: vec![HintEvidence::percent(
            "waiting for SparseCores",
            share.0,
            devices.time(),
            Some(limit),
        )],
        saving: PossibleSaving::ops("work of SparseCores", starts.iter().map(|&op| (op, 0.0))),
        ops: starts.iter().chain(done).copied().collect(),
        ..Finding::default()
    })
}

/// What is left of an op that no longer waits for so much of its time: its copies
/// must still be made.
fn without_wait(row: &OpRow, percent: Percent) -> f64 {
    let floor = row
        .rates
        .ideal_time_ps
        .filter(|_| row.total_time_ps > Picos::ZERO)
        .map(|ideal| ideal / row.total_time_ps.as_ps_f64());
    (1.0 - percent.0 / 100.0)
        .max(floor.unwrap_or(0.0))
        .clamp(0.0, 1.0)
}

fn dma_stall(facts: &HintFacts<'_>) -> RuleResult {
    let kernels = facts.report::<Kernels>().ok();
    let waiting = kernels
        .as_deref()
        .map(|kernels| waiting_kernels(facts, kernels))
        .unwrap_or_default();
    let has_pipelines = kernels
        .iter()
        .flat_map(|report| &report.kernels)
        .any(|kernel| kernel.pipeline.is_some());
    let stalled = facts.select(|row| row.is_leaf && row.dma_stall_ps.is_some())?;
    if stalled.rows.is_empty() && !has_pipelines {
        let why = "no op recorded stalls on DMA and no kernel its stages: see `systole analyze --only kernels` for how";
        return Err(why.into());
    }
    let limit = facts.limit(&DMA_STALL);
    let stalls = stalled.rows.iter().filter_map(|row| row.dma_stall_ps);
    let share = Percent::of(stalls.sum(), facts.ops()?.op_time_ps).unwrap_or_default();
    if share.0 >= limit {
        let factor = |row: &&OpRow| Some((row.op?, without_wait(row, row.dma_stall_percent?)));
        let factors: Vec<_> = stalled
            .rows
            .iter()
            .filter_map(factor)
            .filter(|(_, factor)| *factor < 1.0)
            .collect();
        return Ok(Finding {
            statement: format!(
                "ops stall on DMA for {share:.1} of the time that ops take ({})",
                stalled.names()
            ),
            evidence: vec![HintEvidence::percent(
                "stalled on DMA, as the hardware counts",
                share.0,
                "op time",
                Some(limit),
            )],
            ops: stalled.ops(),
            saving: PossibleSaving::ops("ops that stall on DMA", factors),
            ..Finding::default()
        });
    }
    let (Some(&(kernel, percent)), Some(report)) = (waiting.first(), kernels.as_deref()) else {
        return Err(Nothing);
    };
    let mut rows = Vec::new();
    let mut factors = Vec::new();
    for &(kernel, percent) in &waiting {
        let ops = ops_of(facts, report, &[kernel])?;
        factors.extend(
            ops.iter()
                .filter_map(|row| Some((row.op?, without_wait(row, percent)))),
        );
        rows.extend(ops);
    }
    let more = if waiting.len() > 1 {
        format!("; {} more as well", waiting.len() - 1)
    } else {
        String::new()
    };
    let share: Percent = waiting
        .iter()
        .filter_map(|(kernel, _)| kernel.of_op_time_percent)
        .sum();
    Ok(Finding {
        statement: format!(
            "the kernel {} waits for its copies for {percent:.1} of its time{more}",
            short_name(&kernel.kernel)
        ),
        evidence: vec![
            HintEvidence::percent(
                "waiting for DMA",
                percent.0,
                "time of the kernel",
                Some(facts.limit(&DMA_WAIT)),
            ),
            HintEvidence::percent(
                "kernels that wait",
                share.0,
                "op time",
                Some(facts.limit(&DMA_KERNEL)),
            ),
        ],
        ops: ids(&rows),
        saving: PossibleSaving::ops("kernels that wait for DMA", factors),
        ..Finding::default()
    })
}

/// The kernels that wait too much for their copies, the longest first; none if together they take little time.
fn waiting_kernels<'r>(
    facts: &HintFacts<'_>,
    report: &'r KernelsReport,
) -> Vec<(&'r Kernel, Percent)> {
    let limit = facts.limit(&DMA_WAIT);
    let waiting: Vec<_> = report
        .kernels
        .iter()
        .filter_map(|kernel| Some((kernel, kernel.pipeline.as_ref()?.dma_wait_percent?)))
        .filter(|&(_, percent)| percent.0 >= limit)
        .collect();
    let share: Percent = waiting
        .iter()
        .filter_map(|(kernel, _)| kernel.of_op_time_percent)
        .sum();
    if share.0 >= facts.limit(&DMA_KERNEL) {
        waiting
    } else {
        Vec::new()
    }
}

/// The rows of the ops that run some kernels.
fn ops_of<'f>(
    facts: &'f HintFacts<'_>,
    report: &KernelsReport,
    kernels: &[&Kernel],
) -> Result<Vec<&'f OpRow>> {
    let ops = report
        .ops
        .iter()
        .filter(|op| kernels.iter().any(|kernel| kernel.kernel == op.kernel));
    named(facts, &ops.map(|op| (&*op.program, &*op.op)).collect())
}

fn spills(facts: &HintFacts<'_>) -> RuleResult {
    let report = facts.report::<Kernels>()?;
    if report
        .kernels
        .iter()
        .all(|kernel| kernel.estimates.is_empty())
    {
        let why = format!("no kernel recorded what its schedule does: {TRACING}");
        return Err(why.into());
    }
    let least = facts.limit(&SPILL_KERNEL);
    let spill = |kernel: &Kernel| {
        let of = |what: &str| {
            let series = kernel
                .estimates
                .iter()
                .filter(|series| series.series.contains(what));
            series.map(|series| series.mean).fold(0.0, f64::max)
        };
        let spills = of("Spill");
        let fills = of("Fill");
        (spills > 0.0 || fills > 0.0).then_some((spills, fills))
    };
    let spilling: Vec<&Kernel> = report
        .kernels
        .iter()
        .filter(|kernel| spill(kernel).is_some())
        .collect();
    let share: Percent = spilling
        .iter()
        .filter_map(|kernel| kernel.of_op_time_percent)
        .sum();
    let first = spilling
        .first()
        .filter(|_| share.0 >= least)
        .and_then(|kernel| Some((kernel, spill(kernel)?)));
    let Some((kernel, (spills, fills))) = first else {
        return Err(Nothing);
    };
    let others = engine::and_more(spilling.len() - 1);
    let number = |what: &str, value: f64| {
        HintEvidence::number(what, value, "mean over samples", Some(0.0)).by(Provenance::StaticCost)
    };
    Ok(Finding {
        statement: format!(
            "the schedule of {}{others} keeps values in VMEM for lack of registers",
            short_name(&kernel.kernel)
        ),
        evidence: vec![
            number("vector spills", spills),
            number("vector fills", fills),
        ],
        ops: ids(&ops_of(facts, &report, &spilling)?),
        ..Finding::default()
    })
}
