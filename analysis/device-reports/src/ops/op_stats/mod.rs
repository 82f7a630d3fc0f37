//! Op statistics: for every HLO op its executions, time, work as estimated by the compiler, and how close it comes to
//! the limits of the device.
//!
//! - Self time is total time minus that of the ops directly inside. Rates divide by **total** time, because costs of
//!   a container include those of its contents.
//! - Costs are the compiler's cost per execution × executions; times are measured. A rate can therefore exceed the
//!   peak, which is impossible: that work is left out of all sums, and a note says so. Halves of asynchronous ops
//!   (`-start`, `-done`) have no rates, because they would be meaningless: their time on the core's track is issue or
//!   wait, and the work happens in between.
//! - A collective is bound by links or by waiting for other devices, never by a limit of the device itself.
//! - Idle time is the window (first op to the end of the last; of a device that is away for long, of the others of its
//!   host) minus all self time. Summed over cores, denominators are core-seconds.
//! - `XProf` ignores ops with symbol id 0 and reports their time as idle; here they
//!   count like any other. See `DIFFERENCES.md` for all deliberate differences.

mod alike;
mod beyond;
mod costs;
mod estimate;
mod op_sums;
mod precision;
mod report;
mod row;
mod rows;
mod steady;
mod sums;
mod tables;
#[cfg(test)]
mod tests;

use facts::prelude::*;
use hardware::limits::OpWork;
use hardware::peaks::DIFFERENT_PEAKS;
use math::parallel;

use costs::MemoryRule;
use op_sums::OpSums;
use rows::MergedRows;
use sums::{CoreSums, is_leaf};

pub use alike::LikeOps;
pub use beyond::cause;
pub use costs::MemoryBytes;
pub(crate) use costs::OpCostModel;
pub use costs::OpCosts;
pub(crate) use precision::NarrowType;
pub use report::BeyondPeak;
pub(crate) use report::CoreWork;
pub use report::{CoreOps, GroupRow, MatrixWork, OpsReport, SteadyOps};
pub use row::{CoreOpTime, OpRates, OpRow};

/// The analysis `ops`.
pub struct Ops;

impl Analysis for Ops {
    type Report = OpsReport;
    const ID: &str = "ops";
    const TITLE: &str = "Op statistics";

    fn run(cx: &Context<'_>) -> Result<OpsReport> {
        let basis: &Arc<OpCostModel> = cx.fact();
        let (mut cores, mut merged) = (Vec::new(), MergedRows::new(cx.model));
        let mut steady = SteadyOps::wanted(cx);
        let scope = steady.as_ref().map(|steady| cx.scoped(steady.scope()));
        let mut ran = false;
        for_each_core(cx, Some(cx.classes()), scope, |sums, in_steps| {
            if let (Some(steady), Some(scope), Some(sums)) = (&mut steady, &scope, in_steps) {
                ran |= sums.subjects().next().is_some();
                steady.cores.push(core_report(scope, basis, &sums));
            }
            cores.push(core_report(cx, basis, &sums));
            merged.add(sums);
        })?;
        Ok(OpsReport {
            steady: steady.filter(|_| ran).map(Arc::new),
            ..report(cx, cores, merged)
        })
    }
}

/// The sums of several cores are computed in parallel if ops run so many times, in the mean: else they take as much memory
/// as the slices.
const WORTH_THE_MEMORY: usize = 64;

/// Passes the sums of each core in the scope of `cx` to `take`, with those in the scope `part` of it; those of a few cores
/// at a time, because they take as much memory as the rest of a report. With `classes`, the former have the duty.
fn for_each_core(
    cx: &Context<'_>,
    classes: Option<&Arc<OpClasses>>,
    part: Option<Context<'_>>,
    mut take: impl FnMut(CoreSums, Option<CoreSums>),
) -> Result<()> {
    let mut cores = Vec::new();
    for core in cx.tensor_cores() {
        let part = part.and_then(|part| Some((part, part.window(core).ok()??)));
        cores.extend(cx.window(core)?.map(|window| (core, window, part)));
    }
    let classes = classes.map(Arc::as_ref);
    let collect = |&(core, window, part): &_| CoreSums::collect(cx, core, window, classes, part);
    let mut is_empty = true;
    let work: usize = cores
        .iter()
        .map(|&(core, window, _)| sums::count(cx, core, window))
        .sum();
    let at_once = if work < WORTH_THE_MEMORY * cx.model.ops().len() {
        1
    } else {
        rayon::current_num_threads()
    };
    for some in cores.chunks(at_once) {
        for sums in parallel::map(some, work, collect) {
            let Some((sums, part)) = sums? else { continue };
            is_empty &= sums.subjects().next().is_none();
            take(sums, part);
        }
    }
    // Of a cancelled scope, the sums are those of a part: other scopes may ask for them, too.
    cx.reports.check(cx.scope)?;
    if is_empty {
        Err(why_no_ops(cx).into())
    } else {
        Ok(())
    }
}

/// Totals of the cores in the scope of `cx`, for callers that need no other part of a report; without duty (`busy_ps`,
/// `on_duty_ps`).
pub(crate) fn cores_without_duty(cx: &Context<'_>) -> Result<Vec<CoreOps>> {
    let (basis, mut cores) = (cx.fact::<Arc<OpCostModel>>(), Vec::new());
    for_each_core(cx, None, None, |sums, _| {
        cores.push(core_report(cx, basis, &sums));
    })?;
    Ok(cores)
}

/// The contents of a trace without TPU ops.
fn why_no_ops(cx: &Context<'_>) -> String {
    let has =
        |wanted: fn(GroupKind) -> bool| cx.model.groups().iter().any(|group| wanted(group.kind));
    let reason = if has(|kind| matches!(kind, GroupKind::TensorCore { .. })) {
        if cx.tensor_cores().is_empty() {
            "none of the chosen devices is in this trace"
        } else {
            "the TPU cores recorded no ops in this part of the trace"
        }
    } else if has(|kind| matches!(kind, GroupKind::Gpu { .. })) {
        "this trace has GPUs but no TPU: op statistics read the \"XLA Ops\" track of TPU cores"
    } else if let Some(by) = cx.model.simulator() {
        return format!("this trace has no TPU device: {by} computed it, without ops of devices");
    } else if cx.model.has_programs_only() {
        "this is a program and not a run of it: it has no times"
    } else {
        "this trace has no TPU device: it was recorded on hosts only, or by another profiler"
    };
    reason.to_owned()
}

fn report(cx: &Context<'_>, cores: Vec<CoreOps>, merged: MergedRows<'_>) -> OpsReport {
    let basis: &Arc<OpCostModel> = cx.fact();
    let sum = |time: fn(&CoreOps) -> Picos| cores.iter().map(time).sum();
    let (total_time_ps, op_time_ps) = (sum(|core| core.total_time_ps), sum(|core| core.op_time_ps));
    let peaks = cores
        .iter()
        .map(|core| core.peaks.clone())
        .reduce(|all, one| all.common(&one))
        .unwrap_or_default();
    let idle_ps = sum(|core| core.idle_ps);
    let rows = merged.finish(basis, &peaks, total_time_ps, op_time_ps);
    let groups = group_rows(&rows, total_time_ps, op_time_ps);
    let hbm_is_estimated = rows
        .iter()
        .any(|row| row.costs.hbm_estimate_bytes.is_some());
    let mut notes = notes(&rows, basis.rule);
    if cores
        .iter()
        .any(|core| core.peaks.flops != peaks.flops || core.peaks.hbm != peaks.hbm)
    {
        notes.push(DIFFERENT_PEAKS.to_owned());
    }
    notes.extend(beyond::notes(&cores, &rows));
    let sums_over = SumOver::of(cx, cores.len());
    OpsReport {
        rows,
        groups,
        cores,
        total_time_ps,
        op_time_ps,
        idle_ps,
        peaks,
        hbm_is_estimated,
        sums_over,
        notes,
        steady: None,
    }
}

fn core_report(cx: &Context<'_>, basis: &OpCostModel, core: &CoreSums) -> CoreOps {
    let mut out = without_ops(cx, core);
    for (subject, sums) in core.subjects() {
        let op = subject.op();
        let class = basis.classes.class_of(op);
        out.op_time_ps += sums.self_time;
        *out.group_self_ps.entry(class.group).or_default() += sums.self_time;
        if class.is_done() {
            out.wait_ps += sums.self_time;
        }
        if let Some(op) = op.filter(|_| is_leaf(class, sums)) {
            add_leaf(&mut out, basis, (op, class), sums);
        }
    }
    // Aggregated ops have no place on the timeline.
    out.total_time_ps = out.total_time_ps.max(out.op_time_ps);
    out.idle_ps = out.total_time_ps - out.op_time_ps;
    out
}

/// The sums of a core before any op is added.
fn without_ops(cx: &Context<'_>, core: &CoreSums) -> CoreOps {
    let group = cx.model.group(core.core);
    CoreOps {
        core: core.core,
        name: cx.model.device_name(core.core),
        ordinal: if let GroupKind::TensorCore { ordinal } = group.kind {
            ordinal
        } else {
            0
        },
        chip: group
            .device
            .as_ref()
            .and_then(|device| device.local_chip_id),
        total_time_ps: core.window.dur(),
        op_time_ps: Picos::ZERO,
        idle_ps: Picos::ZERO,
        busy_ps: core.duty.unwrap_or_default().busy,
        on_duty_ps: core.duty.unwrap_or_default().on_duty,
        work: OpWork::default(),
        model_flops: None,
        model_flops_as_bf16: None,
        bytes: None,
        scaled_time_ps: None,
        scale_recorded_ps: Picos::ZERO,
        mxu_time_ps: Picos::ZERO,
        mxu_rated_ps: Picos::ZERO,
        mxu_flops: None,
        matmuls: MatrixWork::default(),
        matrix_kernels: MatrixWork::default(),
        beyond_peak: Vec::new(),
        undeclared_ps: Picos::ZERO,
        unknown_traffic_ps: Picos::ZERO,
        group_self_ps: OpGroup::ALL.map(|group| (group, Picos::ZERO)).into(),
        wait_ps: Picos::ZERO,
        peaks: cx.peaks(core.core),
    }
}

/// Adds what an op without others inside does, and which of it counts.
fn add_leaf(out: &mut CoreOps, basis: &OpCostModel, (op, class): (OpId, OpClass), sums: &OpSums) {
    if let Some((scaled, time)) = sums.stats.scaled {
        out.scaled_time_ps = Some(out.scaled_time_ps.unwrap_or(0.0) + scaled);
        out.scale_recorded_ps += time;
    }
    let costs = basis.costs(op, sums, &out.peaks);
    let flops = costs.flops_as_bf16();
    let seconds = sums.total.as_secs_f64();
    let beyond: Vec<BoundBy> = if class.is_async() {
        Vec::new()
    } else {
        costs.beyond_peaks(seconds, &out.peaks).collect()
    };
    for &limit in &beyond {
        BeyondPeak::add(&mut out.beyond_peak, limit, sums.self_time);
    }
    if class.group == OpGroup::MatMul || class.is_custom_call() && flops.is_some() {
        out.mxu_time_ps += sums.self_time;
        let work = if class.group == OpGroup::MatMul {
            &mut out.matmuls
        } else {
            &mut out.matrix_kernels
        };
        work.time_ps += sums.total;
        if !beyond.contains(&BoundBy::Compute) {
            out.mxu_rated_ps += sums.total;
            add_float(&mut out.mxu_flops, flops);
            if let Some(flops) = flops {
                work.rated_ps += sums.total;
                work.flops += flops;
            }
        }
    }
    // Matrix products without operations are not free: the profiler recorded none.
    let computes = class.is_custom_call() || class.group == OpGroup::MatMul;
    if computes && flops.is_none_or(|flops| flops <= 0.0) {
        out.undeclared_ps += sums.self_time;
    }
    if costs.hbm_bytes().is_none() && !class.is_async() {
        out.unknown_traffic_ps += sums.self_time;
    }
    let (work, costs) = costs.without(&beyond);
    add(&mut out.model_flops, costs.model_flops);
    add_float(&mut out.model_flops_as_bf16, costs.model_flops_as_bf16());
    add(&mut out.bytes, costs.bytes);
    out.work = out.work.plus(&work);
}

fn add(sum: &mut Option<f64>, value: Option<u64>) {
    add_float(sum, value.map(|value| value as f64));
}

fn add_float(sum: &mut Option<f64>, value: Option<f64>) {
    if let Some(value) = value {
        *sum = Some(sum.unwrap_or(0.0) + value);
    }
}

fn group_rows(rows: &[OpRow], total_time_ps: Picos, op_time_ps: Picos) -> Vec<GroupRow> {
    let mut sums = [(0_u64, 0_u64, Picos::ZERO); OpGroup::ALL.len()];
    for row in rows {
        let (ops, occurrences, self_time_ps) = &mut sums[row.group.index()];
        *ops += 1;
        *occurrences += row.occurrences;
        *self_time_ps += row.self_time_ps;
    }
    let present = OpGroup::ALL
        .into_iter()
        .map(|group| (group, sums[group.index()]))
        .filter(|&(_, (ops, ..))| ops > 0);
    let mut groups: Vec<GroupRow> = present
        .map(|(group, (ops, occurrences, self_time_ps))| GroupRow {
            group,
            ops,
            occurrences,
            self_time_ps,
            self_of_op_time_percent: Percent::of(self_time_ps, op_time_ps),
            self_of_total_percent: Percent::of(self_time_ps, total_time_ps),
        })
        .collect();
    groups.sort_by_key(|row| (Reverse(row.self_time_ps), row.group));
    groups
}

fn notes(rows: &[OpRow], rule: MemoryRule) -> Vec<String> {
    let mut notes = Vec::new();
    let leaves = || rows.iter().filter(|row| row.is_leaf && !row.is_async);
    if leaves().all(|row| row.costs.flops.is_none())
        && leaves().any(|row| row.costs.model_flops.is_some())
    {
        notes.push(
            "this capture does not record operations at the bf16 rate: compute utilization is from model FLOPs"
                .to_owned(),
        );
    }
    if rule == MemoryRule::AllIsHbm && rows.iter().any(|row| row.costs.memory.is_some()) {
        notes.push(
            "this capture does not split bytes by memory: all of them are taken as HBM traffic"
                .to_owned(),
        );
    } else if rows
        .iter()
        .any(|row| row.costs.hbm_estimate_bytes.is_some())
    {
        notes.push(
            "this capture does not split bytes by memory: HBM traffic is estimated from the shapes of operands"
                .to_owned(),
        );
    } else if rows.iter().all(|row| row.costs.memory.is_none()) {
        notes
            .push("this capture does not split bytes by memory: HBM traffic is unknown".to_owned());
    }
    let silent = rows
        .iter()
        .filter(|row| row.is_custom_call && row.costs.flops.is_none())
        .count();
    if silent > 0 {
        let (verb, whose) = if silent == 1 {
            ("declares", "its")
        } else {
            ("declare", "their")
        };
        let calls = counted(silent, "custom call");
        notes.push(format!(
            "{calls} {verb} no operations: {whose} utilization is unknown"
        ));
    }
    notes
}
