//! Kernels that XLA did not write: Pallas, Mosaic and other custom calls.
//!
//! For each kernel: its executions and time, its declared costs (from the author and not the compiler, and often
//! absent, zero or wrong), for known kernels those that follow from shapes, and, if kernel tracing was on, how it spends its time:
//!
//! - **Stages** are the scopes of its software pipeline. They nest; each instant counts for the innermost one, so the
//!   stages and the time outside them add up to the kernel's time exactly.
//! - **Waiting for DMA** is the share of `ep_wait_in` and `ep_wait_out` in the kernel's time.
//! - **LLO estimates** (MXU, vector units …) come from the compiler's schedule of the kernel, not from the hardware:
//!   markers in the trace are spread over the estimated cycles. They are means over time.
//!
//! - **Lines** of newer captures (`Source Lines`, `LLO Ops`, `Pallas Primitives`, `… Instructions`) divide the kernel
//!   further, each on its own, like stages.
//! - **Units**: the LLO estimates while a stage or a line runs.
//! - **Counters** of the hardware that were read for this kernel, by name.
//!
//! One kernel is often many ops (for example one per layer), hence two tables. Stages, estimates, lines and counters
//! have been tested on generated captures only; times and costs on real ones.

mod advice;
mod costs;
mod declared;
mod inside;
mod lines;
mod matrix_units;
mod report;
mod shapes;
mod tables;
#[cfg(test)]
mod tests;
mod timing;

use facts::prelude::*;
use hardware::limits::{OpWork, is_beyond_peak, ratio};
use hlo::HloText;
use trace_model::without_number;

use crate::ops::matmuls;
use crate::ops::op_stats::{OpRow, Ops, OpsReport};
use inside::KernelInside;
use shapes::ShapeCost;

pub use costs::{DeclaredFit, KernelCost};
pub use declared::DeclaredCosts;
pub use matrix_units::HardwareFrom;
pub use report::{
    Kernel, KernelCounter, KernelEstimate, KernelLine, KernelOp, KernelPipeline, KernelStage,
    KernelUnit, KernelsReport,
};
pub use shapes::{CostLimit, KernelKind};
pub use timing::{KernelTiming, without_numbers};

/// The analysis `kernels`.
pub struct Kernels;

/// How to record the missing data.
pub const TRACING: &str = "record pipeline stages and LLO estimates with \
                       LIBTPU_INIT_ARGS=\"--xla_xprof_enable_custom_call_tracing=true \
                       --xla_xprof_register_llo_debug_info=true\"; before libtpu 0.0.44 the first is \
                       --xla_enable_custom_call_region_trace=true";

impl Analysis for Kernels {
    type Report = KernelsReport;
    const ID: &str = "kernels";
    const TITLE: &str = "Kernels";

    fn run(cx: &Context<'_>) -> Result<KernelsReport> {
        let report = cx.report::<Ops>().map_err(|error| {
            let why = Some(cx)
                .filter(|cx| cx.model.has_programs_only())
                .and_then(without_time);
            why.map_or(error, AnalysisError::NotApplicable)
        })?;
        let rows: Vec<&OpRow> = report
            .rows
            .iter()
            .filter(|row| row.is_custom_call)
            .collect();
        if rows.is_empty() {
            let has_code = cx.model.ops().iter().any(|op| op.bundles.is_some());
            return Err(AnalysisError::NotApplicable(if has_code {
                "no execution of a custom call is recorded; the report bundles has the code of kernels".to_owned()
            } else if let Some(why) = without_time(cx) {
                why
            } else {
                "no custom call ran: kernels written in Pallas or Mosaic would show as HLO ops of category custom-call"
                    .to_owned()
            }));
        }
        let wanted: BTreeSet<_> = rows.iter().filter_map(|row| row.op).collect();
        let inside = inside::collect(cx, &wanted)?;
        KernelsReport::new(cx, &report, &rows, &inside)
    }
}

/// Says that programs have kernels although no execution of one has a time; `None` if they have none.
fn without_time(cx: &Context<'_>) -> Option<String> {
    let mut names = BTreeSet::new();
    for program in cx.model.program_ids() {
        let Ok(module) = cx.hlo(program) else {
            continue;
        };
        let kernels = module.instructions.iter().filter(|it| it.is_kernel());
        names.extend(kernels.map(|it| it.name.to_string()));
    }
    let names = Vec::from_iter(names);
    (!names.is_empty()).then(|| {
        format!(
            "no time of a kernel is known: {} {} in the program, and neither ran here nor {} an estimate of the compiler",
            engine::listed_to(&names, NAMED),
            if names.len() == 1 { "is" } else { "are" },
            if names.len() == 1 { "has" } else { "have" },
        )
    })
}

/// Kernels without time that are named.
const NAMED: usize = 3;

/// Rows of one kernel while the report is built.
#[derive(Default)]
struct KernelRows<'a> {
    rows: Vec<&'a OpRow>,
    /// The work of each of them by shapes, if it is known.
    costs: Vec<Option<ShapeCost>>,
    target: Option<String>,
    is_pallas: bool,
    inside: KernelInside,
}

impl KernelsReport {
    fn new(
        cx: &Context<'_>,
        report: &OpsReport,
        rows: &[&OpRow],
        inside: &BTreeMap<OpId, KernelInside>,
    ) -> Result<Self> {
        let mut groups: BTreeMap<(String, &str), KernelRows<'_>> = BTreeMap::new();
        let mut ops = Vec::with_capacity(rows.len());
        let mut names = BTreeMap::new();
        let mut costs = Vec::with_capacity(rows.len());
        for &row in rows {
            let text = row
                .op
                .and_then(|op| cx.model.op(op).hlo_text)
                .map(|text| cx.model.str(text));
            let target = text.and_then(call_target);
            let name = kernel_name(
                &row.name,
                row.framework_name.as_deref().unwrap_or_default(),
                row.source.as_deref(),
                target,
            );
            names.extend(row.op.map(|op| (op, name.clone())));
            let cost = costs::of_op(cx, row, &name);
            costs.push((row, name.clone(), cost.clone()));
            let inside = row.op.and_then(|op| inside.get(&op));
            ops.push(kernel_op(row, &name, inside));
            let group = groups.entry((name, &*row.program)).or_default();
            group.is_pallas |= target == Some("tpu_custom_call") || is_pallas_call(row);
            group.target = group.target.take().or(target.map(str::to_owned));
            group.rows.push(row);
            group.costs.push(cost);
            group
                .inside
                .merge(inside.unwrap_or(&KernelInside::default()));
        }
        let mut kernels: Vec<Kernel> = groups
            .iter()
            .map(|((name, program), group)| group.kernel(cx, name, program, report))
            .collect();
        kernels.sort_by(|a, b| {
            b.time_ps
                .cmp(&a.time_ps)
                .then_with(|| (&a.kernel, &a.program).cmp(&(&b.kernel, &b.program)))
        });
        ops.sort_by(|a, b| {
            b.time_ps
                .cmp(&a.time_ps)
                .then_with(|| (&a.op, &a.program).cmp(&(&b.op, &b.program)))
        });
        lines::join_counters(cx, &mut kernels, &ops);
        let time_ps = kernels.iter().map(|kernel| kernel.time_ps).sum();
        let hints = advice::hints(&kernels);
        let counted = |name: &str, program: &str| {
            let mut others = kernels.iter();
            let its = others.find(|one| one.kernel == name && *one.program == *program)?;
            let counters = its.counters.iter();
            let counters: Vec<_> = counters.map(|one| (&*one.device, &one.metric)).collect();
            matrix_units::counted(&counters)
        };
        let (op_time_ps, peaks, sums_over) =
            (report.op_time_ps, report.peaks.clone(), report.sums_over);
        Ok(Self {
            timings: timing::timings(cx, &names)?,
            costs: costs::costs(costs, (&peaks, matmuls::tile(cx, &peaks)), &counted),
            kernels,
            ops,
            time_ps,
            op_time_ps,
            peaks,
            sums_over,
            hints,
        })
    }
}

impl KernelRows<'_> {
    fn kernel(&self, cx: &Context<'_>, name: &str, program: &str, report: &OpsReport) -> Kernel {
        let rows = &self.rows;
        let time_ps = rows.iter().map(|row| row.total_time_ps).sum::<Picos>();
        let occurrences: u64 = rows.iter().map(|row| row.occurrences).sum();
        let executions: f64 = rows.iter().map(|row| row.executions).sum();
        let flops = |row: &OpRow| row.costs.flops.or(row.costs.model_flops);
        let declaring = rows.iter().filter(|row| flops(row).is_some()).count();
        let all = |of: &dyn Fn(&OpRow) -> Option<u64>| {
            rows.iter()
                .map(|row| of(row))
                .try_fold(0_u64, |sum, value| Some(sum.saturating_add(value?)))
        };
        let flops = all(&flops);
        let bytes = all(&|row| row.costs.bytes);
        let hbm = all(&|row| row.costs.memory.as_ref().map(|memory| memory.hbm_bytes));
        let float = |value: Option<u64>| value.map(|value| value as f64);
        let seconds = time_ps.as_ps_f64() / 1e12;
        let work = OpWork {
            flops: float(flops),
            hbm_bytes: float(hbm),
            ..OpWork::default()
        };
        let percent_of =
            |work: OpWork, limit| work.percent_of(limit, seconds, &report.peaks).map(Percent);
        // Narrow operands have another peak.
        let known = self.costs.iter().flatten().next();
        let speedup = known.map_or(1.0, |cost| {
            costs::speedup(cost, seconds / executions, &report.peaks).0
        });
        let narrow = OpWork {
            flops: work.flops.map(|flops| flops / speedup),
            ..work
        };
        let flops_percent = percent_of(narrow, BoundBy::Compute);
        let hbm_percent = percent_of(work, BoundBy::Hbm);
        let exceeds =
            |percent: Option<Percent>| percent.is_some_and(|percent| is_beyond_peak(percent.0));
        let pipeline = pipeline(&self.inside);
        let needed = self.needed(cx, name, pipeline.as_ref());
        let declared = match declaring {
            _ if exceeds(flops_percent) || exceeds(hbm_percent) => DeclaredCosts::Impossible,
            _ if rows.iter().any(|row| row.beyond_peak_of.is_some()) => DeclaredCosts::Impossible,
            0 => DeclaredCosts::No,
            count if count < rows.len() => DeclaredCosts::Partly,
            _ if needed.is_some() => DeclaredCosts::TooFew,
            _ => DeclaredCosts::Yes,
        };
        let stalls = rows
            .iter()
            .filter_map(|row| row.dma_stall_ps)
            .reduce(|sum, stall| sum + stall);
        let longest = rows.iter().max_by_key(|row| row.total_time_ps);
        Kernel {
            kernel: name.to_owned(),
            target: self.target.clone(),
            is_pallas: self.is_pallas,
            program: program.into(),
            source: longest.and_then(|row| row.source.clone()),
            ops: rows.len() as u64,
            occurrences,
            time_ps,
            of_op_time_percent: Percent::of(
                rows.iter().map(|row| row.self_time_ps).sum(),
                report.op_time_ps,
            ),
            mean_time_ps: if executions > 0.0 {
                time_ps.as_ps_f64() / executions
            } else {
                0.0
            },
            min_time_ps: rows.iter().filter_map(|row| row.min_time_ps).min(),
            declared,
            flops,
            bytes,
            flops_per_second: ratio(work.flops, Some(seconds)),
            bytes_per_second: ratio(float(bytes), Some(seconds)),
            flops_percent,
            needed_flops: needed,
            needed_flops_percent: percent_of(
                OpWork {
                    flops: float(needed),
                    ..OpWork::default()
                },
                BoundBy::Compute,
            ),
            hbm_percent,
            dma_stall_ps: stalls,
            dma_stall_percent: stalls.and_then(|stall| Percent::of(stall, time_ps)),
            pipeline,
            estimates: estimates(&self.inside),
            lines: lines::lines(&self.inside),
            units: lines::units(&self.inside),
            counters: Vec::new(),
        }
    }
}

impl KernelRows<'_> {
    /// Operations of all executions according to the shapes, if any of its ops declares far fewer.
    fn needed(
        &self,
        cx: &Context<'_>,
        name: &str,
        pipeline: Option<&KernelPipeline>,
    ) -> Option<u64> {
        let steps = pipeline.and_then(|pipeline| pipeline.grid_steps);
        let (mut sum, mut is_less) = (0_u64, false);
        for (row, cost) in self.rows.iter().zip(&self.costs) {
            let declared = row.costs.model_flops.or(row.costs.flops)?;
            let one = (row.executions > 0.0)
                .then(|| (declared as f64 / row.executions).round() as u64)?;
            let needed = declared::needed(cx, row, cost.as_ref(), name, one, steps);
            is_less |= needed.is_some();
            let all = needed.map_or(declared, |needed| (needed as f64 * row.executions) as u64);
            sum = sum.saturating_add(all);
        }
        is_less.then_some(sum)
    }
}

fn kernel_op(row: &OpRow, kernel: &str, inside: Option<&KernelInside>) -> KernelOp {
    KernelOp {
        op: Arc::clone(&row.name),
        kernel: kernel.to_owned(),
        program: Arc::clone(&row.program),
        occurrences: row.occurrences,
        time_ps: row.total_time_ps,
        mean_time_ps: row.mean_time_ps,
        min_time_ps: row.min_time_ps,
        flops: row.costs.flops.or(row.costs.model_flops),
        dma_wait_percent: inside
            .and_then(pipeline)
            .and_then(|pipeline| pipeline.dma_wait_percent),
        source: row.source.clone(),
    }
}

fn pipeline(inside: &KernelInside) -> Option<KernelPipeline> {
    let time_ps = inside.time;
    let mut stages: Vec<KernelStage> = inside
        .stages
        .iter()
        .map(|(name, sums)| KernelStage {
            stage: name.clone(),
            occurrences: sums.occurrences,
            total_ps: sums.total,
            self_ps: sums.own,
            self_percent: Percent::of(sums.own, time_ps),
        })
        .collect();
    largest_first(&mut stages, |stage| stage.self_ps, |stage| &stage.stage);
    let runs = inside
        .stages
        .get("ep_run_kernel")
        .map(|sums| sums.occurrences);
    let is_pipelined = stages.iter().any(|stage| stage.stage.starts_with("ep_"));
    (inside.executions > 0).then(|| KernelPipeline {
        executions: inside.executions,
        time_ps,
        stages,
        outside_ps: inside.outside,
        dma_wait_ps: inside.dma_wait,
        // User-defined scopes alone do not show whether it waited.
        dma_wait_percent: Percent::of(inside.dma_wait, time_ps).filter(|_| is_pipelined),
        grid_steps: runs.map(|runs| runs as f64 / inside.executions as f64),
    })
}

fn estimates(inside: &KernelInside) -> Vec<KernelEstimate> {
    let with_time = inside
        .counters
        .iter()
        .filter(|(_, sums)| sums.held.ps() > 0);
    with_time
        .map(|((series, unit), sums)| KernelEstimate {
            series: series.clone(),
            unit: unit.clone(),
            mean: sums.weighted / sums.held.as_ps_f64(),
            max: sums.max,
            covered_percent: Percent::of(sums.held, sums.time),
        })
        .collect()
}

/// The target of a custom call.
fn call_target(text: &str) -> Option<&str> {
    Some(
        HloText::parse(text)?
            .attribute("custom_call_target")?
            .trim_matches('"'),
    )
}

fn is_pallas_call(row: &OpRow) -> bool {
    row.framework_name
        .as_deref()
        .is_some_and(|name| name.contains("pallas_call"))
}

/// The name that JAX gives to the function around any kernel.
const ANY_KERNEL: &str = "wrapped";

/// The name that the author gave: the scope around `pallas_call`; otherwise the op without its number. A nameless
/// kernel is named after its place in the source, so that several kernels do not count as one; a nameless
/// `custom-call` after its target.
fn kernel_name(op: &str, framework: &str, source: Option<&str>, target: Option<&str>) -> String {
    // An op without a name of its own is named after the function that was compiled; JAX's own function around every
    // kernel says nothing.
    let function = |scope: &str| {
        let inside = scope
            .strip_prefix("jit(")
            .and_then(|name| name.strip_suffix(')'));
        inside.unwrap_or(scope).to_owned()
    };
    let before = framework
        .split_once("/pallas_call")
        .and_then(|(before, _)| before.rsplit('/').next());
    let named = before.map(function).filter(|name| !name.is_empty());
    if let Some(named) = named.as_ref().filter(|name| *name != ANY_KERNEL) {
        return named.clone();
    }
    let name = without_number(op);
    let is_generic = name == "custom-call" || name == ANY_KERNEL;
    let place = source
        .map(|source| source.rsplit('/').next().unwrap_or(source))
        .filter(|place| !place.is_empty());
    match (named, place, target) {
        (Some(_), Some(place), _) if is_generic => format!("kernel at {place}"),
        (Some(_), None, _) if is_generic => op.to_owned(),
        (None, _, Some(target)) if name == "custom-call" && !target.is_empty() => target.to_owned(),
        _ => name.to_owned(),
    }
}
