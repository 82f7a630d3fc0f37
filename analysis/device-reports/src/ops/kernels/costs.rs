//! What kernels have to do by the shapes of their operands, beside what they declare.

use std::fmt::Write as _;

use engine::number::{self, value};
use facts::prelude::*;
use hardware::limits::{OpWork, is_beyond_peak, possible, ratio};
use hlo::HloText;
use math::summed;

use super::matrix_units::{HardwareFrom, KnownWork};
use super::shapes::{self, CostLimit, KernelKind, ShapeCost};
use crate::ops::op_stats::{NarrowType, OpRow};

/// Declared and computed costs that differ by less are the same: kernels count a few operations more for the softmax.
const SAME: f64 = 0.05;

/// How the declared operations fit those of the shapes.
#[engine::titled]
pub enum DeclaredFit {
    /// They are the same.
    Agrees,
    /// They are those without the mask.
    WithoutMask,
    /// They are those with a causal mask.
    Causal,
    /// They are others.
    Differs,
    /// They are more than the shapes allow.
    TooMany,
    /// They are within the limit of the shapes.
    Possible,
    /// Nothing is declared.
    Nothing = "none",
}

/// One kernel with operands of the same shapes: costs of one execution.
#[engine::row(inferred)]
pub struct KernelCost {
    /// Name given by its author.
    #[column(measured)]
    pub kernel: String,
    /// What it does, told by its name and shapes.
    #[column("Does")]
    pub kind: KernelKind,
    /// Executions.
    #[column("Runs", measured)]
    pub occurrences: u64,
    /// Mean time of an execution by the clock of the device.
    #[column("Mean", measured)]
    pub mean_time_ps: f64,
    /// Whether costs by shapes are known or limited.
    #[column("Costs")]
    pub limit: CostLimit,
    /// Operations of its matrix products by shapes, without a mask.
    #[column("FLOP by shapes")]
    pub flops: Option<u64>,
    /// Operations of its matrix products on whole tiles of the matrix unit, without a mask.
    #[column("FLOP, padded")]
    pub padded_flops: Option<u64>,
    /// Operations with a causal mask, which leaves half; for attention of as many queries as keys.
    #[column("FLOP, causal")]
    pub causal_flops: Option<u64>,
    /// Declared operations.
    #[column("FLOP, declared", compiler)]
    pub declared_flops: Option<u64>,
    /// Declared operations as a share of those of the shapes without a mask.
    #[column]
    pub declared_of_shapes_percent: Option<Percent>,
    /// How the declared operations fit those of the shapes.
    #[column("Declared is")]
    pub declared_fit: DeclaredFit,
    /// Model FLOP utilization by shapes without a mask, at most this where costs are at most these: of peak operations of
    /// bf16, times the published speed of narrower operands.
    #[column("MFU, no mask")]
    pub flops_percent: Option<Percent>,
    /// Model FLOP utilization by shapes with a causal mask.
    #[column("MFU, causal")]
    pub causal_percent: Option<Percent>,
    /// Model FLOP utilization by declared operations.
    #[column("MFU, declared", peak)]
    pub declared_percent: Option<Percent>,
    /// Hardware FLOP utilization: the share of its time in which the matrix units multiplied, needed or not. By counters
    /// that were read for it; else by the shapes, padded to the tiles of the matrix unit, and with a mask at most this.
    #[column("HFU")]
    pub hardware_percent: Option<Percent>,
    /// Where that is known from.
    #[column("HFU by")]
    pub hardware_from: Option<HardwareFrom>,
    /// Bytes by shapes: each operand in HBM read once and each result written once.
    #[column("HBM by shapes")]
    pub hbm_bytes: Option<u64>,
    /// The part of these bytes that it reads of a cache of keys and values, at most this where costs are at most these.
    #[column("KV cache")]
    pub cache_bytes: Option<u64>,
    /// Declared bytes.
    #[column("Bytes, declared", compiler)]
    pub declared_bytes: Option<u64>,
    /// The rate of the bytes by shapes as a share of peak HBM bandwidth.
    #[column("of HBM")]
    pub hbm_percent: Option<Percent>,
    /// Bytes received from other devices by shapes.
    #[column]
    pub received_bytes: Option<u64>,
    /// Types that are multiplied.
    #[column(recorded)]
    pub types: String,
    /// How the operations follow from the sizes.
    #[column]
    pub formula: String,
    /// Program, with its id.
    #[column(measured)]
    pub program: Arc<str>,
    /// What the figures say together.
    pub finding: String,
}

/// Executions of the same work.
#[derive(Default)]
struct SameWork {
    time_ps: f64,
    executions: f64,
    occurrences: u64,
    /// Sums of all executions; `None` as soon as one declares nothing.
    flops: Option<u64>,
    bytes: Option<u64>,
    is_begun: bool,
}

impl SameWork {
    fn add(&mut self, row: &OpRow) {
        let declared = |sum: Option<u64>, value: Option<u64>| {
            let value = value.filter(|&value| value > 0)?;
            if self.is_begun {
                sum?.checked_add(value)
            } else {
                Some(value)
            }
        };
        self.flops = declared(self.flops, row.costs.model_flops.or(row.costs.flops));
        self.bytes = declared(self.bytes, row.costs.bytes);
        self.is_begun = true;
        self.time_ps += row.total_time_ps.as_ps_f64();
        self.executions += row.executions;
        self.occurrences += row.occurrences;
    }
}

/// Declared operations and bytes of one execution, in three digits: ops that declare other costs are rows of their own.
fn declared_of_each(row: &OpRow) -> [Option<String>; 2] {
    let flops = row.costs.model_flops.or(row.costs.flops);
    [flops, row.costs.bytes].map(|all| Some(format!("{:.2e}", all? as f64 / row.executions)))
}

/// The work of one execution of an op that runs a kernel, if it is known; texts that are cut do not show all operands.
pub(super) fn of_op(cx: &Context<'_>, row: &OpRow, kernel: &str) -> Option<ShapeCost> {
    let op = row.op?;
    let in_text = || {
        let text = cx.model.str(cx.model.op(op).hlo_text?);
        let is_whole = HloText::parse(text).is_some_and(|text| !text.is_cut);
        is_whole.then(|| cx.instruction(op))?
    };
    let call = cx.instruction_of_program(op).or_else(in_text)?;
    let scope = row.framework_name.as_deref().unwrap_or_default();
    shapes::cost(kernel, scope, &call)
}

/// The costs of the kernels that are known, the longest first. `rows` have the names of their kernels; `counted` is the share
/// of time that the matrix units multiplied in a kernel of a program, by counters.
pub(super) fn costs(
    rows: Vec<(&OpRow, String, Option<ShapeCost>)>,
    (peaks, tile): (&Peaks, Option<u64>),
    counted: &dyn Fn(&str, &str) -> Option<Percent>,
) -> Vec<KernelCost> {
    let mut by_shape: BTreeMap<_, (ShapeCost, SameWork)> = BTreeMap::new();
    for (row, kernel, cost) in rows {
        let Some(cost) = cost else {
            continue;
        };
        let key = (
            kernel,
            &row.program,
            cost.kind,
            cost.formula.clone(),
            cost.types,
            cost.bytes,
            declared_of_each(row),
        );
        let (_, work) = by_shape
            .entry(key)
            .or_insert_with(|| (cost, SameWork::default()));
        work.add(row);
    }
    let sizes_of = summed(
        by_shape
            .keys()
            .map(|(kernel, program, ..)| ((kernel, *program), 1)),
    );
    // Counters are those of all executions: with several sizes they tell nothing of one.
    let counted = |kernel: &String, program: &Arc<str>| {
        let is_only = sizes_of.get(&(kernel, program)) == Some(&1);
        is_only.then(|| counted(kernel, program))?
    };
    let mut costs: Vec<(f64, KernelCost)> = by_shape
        .iter()
        .filter(|(_, (_, work))| work.executions > 0.0)
        .map(|((kernel, program, ..), (cost, work))| {
            let row = KernelCost::new(
                kernel,
                program,
                cost,
                work,
                (peaks, tile),
                counted(kernel, program),
            );
            (work.time_ps, row)
        })
        .collect();
    // Ties keep the order of names.
    costs.sort_by(|a, b| b.0.total_cmp(&a.0));
    costs.into_iter().map(|(_, cost)| cost).collect()
}

impl KernelCost {
    fn new(
        kernel: &str,
        program: &Arc<str>,
        cost: &ShapeCost,
        work: &SameWork,
        (peaks, tile): (&Peaks, Option<u64>),
        counted: Option<Percent>,
    ) -> Self {
        let seconds = work.time_ps / work.executions / 1e12;
        let each = |sum: Option<u64>| Some((sum? as f64 / work.executions).round() as u64);
        let (speedup, is_narrowed) = speedup(cost, seconds, peaks);
        let rate_of = |flops: f64| {
            let work = OpWork {
                flops: Some(flops / speedup),
                ..OpWork::default()
            };
            work.percent_of(BoundBy::Compute, seconds, peaks)
        };
        let rate = |flops: Option<u64>| rate_of(flops? as f64);
        let share = |flops| rate(flops).and_then(possible).map(Percent);
        let is_impossible = |flops| rate(flops).is_some_and(is_beyond_peak);
        let traffic = OpWork {
            hbm_bytes: cost.bytes.map(|bytes| bytes as f64),
            ..OpWork::default()
        };
        let padded_flops = tile.and_then(|tile| cost.padded_flops(tile));
        let hardware = rate(cost.flops)
            .map(|rate| {
                KnownWork {
                    cost,
                    tile,
                    rate,
                    padded_rate: padded_flops.and_then(rate_of),
                }
                .hardware(counted)
            })
            .unwrap_or_default();
        let of_hbm = traffic.percent_of(BoundBy::Hbm, seconds, peaks);
        let declared_flops = each(work.flops);
        let mut row = Self {
            kernel: kernel.to_owned(),
            kind: cost.kind,
            occurrences: work.occurrences,
            mean_time_ps: work.time_ps / work.executions,
            limit: cost.limit,
            flops: cost.flops,
            padded_flops: padded_flops.map(|flops| flops.round() as u64),
            causal_flops: cost.causal_flops,
            declared_flops,
            declared_of_shapes_percent: ratio(
                declared_flops.map(|flops| 100.0 * flops as f64),
                cost.flops.map(|flops| flops as f64),
            )
            .map(Percent),
            declared_fit: fit(cost, declared_flops),
            flops_percent: share(cost.flops),
            causal_percent: share(cost.causal_flops),
            declared_percent: share(declared_flops),
            hardware_percent: hardware.percent,
            hardware_from: hardware.from,
            hbm_bytes: cost.bytes,
            cache_bytes: cost.cache_bytes,
            declared_bytes: each(work.bytes),
            // Of a limit there is no share: a call need not read all pages.
            hbm_percent: of_hbm
                .filter(|_| cost.limit == CostLimit::Exact)
                .and_then(possible)
                .map(Percent),
            received_bytes: cost.received_bytes,
            types: cost.types.join(" × "),
            formula: cost.formula.clone(),
            program: Arc::clone(program),
            finding: String::new(),
        };
        let narrow_peak = peaks
            .flops
            .filter(|_| is_narrowed)
            .map(|peak| peak.per_second * speedup);
        row.finding = row.sentence(hardware.said.as_deref(), narrow_peak, is_impossible);
        row
    }

    /// What the figures say together, what the hardware does, the peak of narrow numbers if shares are of that, and which
    /// operations are more than the device can do.
    fn sentence(
        &self,
        hardware: Option<&str>,
        narrow_peak: Option<f64>,
        is_impossible: impl Fn(Option<u64>) -> bool,
    ) -> String {
        let mut text = self.in_words();
        if let Some(said) = hardware {
            text.push_str("; ");
            text.push_str(said);
        }
        if let Some(peak) = narrow_peak {
            let peak = value(peak, Unit::FlopPerSecond);
            let _ = write!(
                text,
                "; products of bf16 would take longer, so it multiplies narrow numbers, of whose peak ({peak}) these shares \
                 are"
            );
        }
        if is_impossible(self.declared_flops) {
            text.push_str("; declared are more operations than the device can do in that time");
        }
        if self.limit == CostLimit::Exact && is_impossible(self.flops) {
            text.push_str(if self.kind.is_masked() {
                "; all operations without a mask are more than it can do in that time, so it skips a part"
            } else {
                "; that is more than the device can do in that time, so that its name or the peak mislead"
            });
        }
        if self.limit == CostLimit::AtMost && is_impossible(self.flops) {
            text.push_str(
                "; that limit is more than the device can do in that time, so that there is no MFU",
            );
        }
        text
    }

    /// What the figures say together.
    fn in_words(&self) -> String {
        let flop = |flops: u64| value(flops as f64, Unit::Flop);
        let name = &self.kernel;
        let Some(flops) = self.flops else {
            return format!(
                "{name} is {} by its name and shapes: no product, {} received",
                self.kind.title(),
                self.received_bytes
                    .map_or_else(|| "an unknown amount".to_owned(), number::bytes),
            );
        };
        let of = |of: u64| {
            let declared = self.declared_flops.unwrap_or_default() as f64;
            format!("{:.2}", declared / of as f64)
        };
        let is_limit = self.limit == CostLimit::AtMost;
        let limit = if is_limit { "at most " } else { "" };
        let needs = format!("{name} needs {limit}{} by its shapes", flop(flops));
        let says = match (self.declared_fit, self.causal_flops) {
            (DeclaredFit::Nothing, Some(causal)) => format!(
                "without a mask and {} with a causal one; it declares nothing",
                flop(causal)
            ),
            (DeclaredFit::Nothing, None) => "and declares nothing".to_owned(),
            (DeclaredFit::Agrees, _) => "and declares the same".to_owned(),
            (DeclaredFit::WithoutMask, Some(_)) => {
                "without a mask, which is what it declares; with a causal mask it is half of that"
                    .to_owned()
            }
            (DeclaredFit::Causal, _) => {
                "without a mask and declares those with a causal one, half of that".to_owned()
            }
            (DeclaredFit::Possible, _) => {
                format!("and declares {} times that, which is possible", of(flops))
            }
            (DeclaredFit::TooMany, _) => {
                format!(
                    "and declares {} times that, which is more than they allow",
                    of(flops)
                )
            }
            (_, Some(causal)) => format!(
                "without a mask and declares {} times that, {} times those with a causal mask",
                of(flops),
                of(causal)
            ),
            (_, None) => format!("and declares {} times that", of(flops)),
        };
        let shares = [
            (
                self.flops_percent,
                limit,
                if self.kind.is_masked() {
                    "without a mask"
                } else {
                    "by shapes"
                },
            ),
            (self.causal_percent, "", "with a causal mask"),
            (self.declared_percent, "", "as declared"),
        ];
        let shares: Vec<String> = shares
            .into_iter()
            .filter_map(|(percent, limit, how)| Some(format!("{limit}{:.1} {how}", percent?)))
            .collect();
        if shares.is_empty() {
            format!("{needs} {says}")
        } else {
            format!("{needs} {says}; MFU is {}", shares.join(", "))
        }
    }
}

/// How much faster than bf16 the device multiplies the operands, and whether only the time shows it: a kernel with one narrow
/// operand may widen it or narrow the other one. If it is faster than bf16 can be, it did the latter.
pub(super) fn speedup(cost: &ShapeCost, seconds: f64, peaks: &Peaks) -> (f64, bool) {
    if let Some(narrow) = NarrowType::of_both(cost.types) {
        return (narrow.speedup(peaks).unwrap_or(1.0), false);
    }
    let work = OpWork {
        flops: cost.flops.map(|flops| flops as f64),
        ..OpWork::default()
    };
    let of_bf16 = work.percent_of(BoundBy::Compute, seconds, peaks);
    // A mask leaves fewer operations, which says nothing of their types.
    let is_whole = cost.limit == CostLimit::Exact && !cost.kind.is_masked();
    let is_faster = is_whole && of_bf16.is_some_and(is_beyond_peak);
    let narrow = if cost
        .types
        .iter()
        .any(|dtype| hlo::element_bits(dtype).is_some_and(|bits| bits <= 8))
        && is_faster
    {
        [peaks.fp8_speedup, peaks.int8_speedup]
            .into_iter()
            .flatten()
            .max_by(f64::total_cmp)
    } else {
        None
    };
    narrow
        .filter(|&faster| faster > 1.0)
        .map_or((1.0, false), |faster| (faster, true))
}

/// How `declared` operations of one execution fit the shapes.
fn fit(cost: &ShapeCost, declared: Option<u64>) -> DeclaredFit {
    let Some(declared) = declared else {
        return DeclaredFit::Nothing;
    };
    let Some(flops) = cost.flops else {
        return DeclaredFit::Differs;
    };
    let near = |flops: u64| (declared as f64 / flops as f64 - 1.0).abs() <= SAME;
    let is_limit = cost.limit == CostLimit::AtMost;
    if is_limit && declared as f64 > flops as f64 * (1.0 + SAME) {
        DeclaredFit::TooMany
    } else if near(flops) {
        match cost.causal_flops {
            Some(_) => DeclaredFit::WithoutMask,
            None => DeclaredFit::Agrees,
        }
    } else if is_limit {
        DeclaredFit::Possible
    } else if cost.causal_flops.is_some_and(near) {
        DeclaredFit::Causal
    } else {
        DeclaredFit::Differs
    }
}
