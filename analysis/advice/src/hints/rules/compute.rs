//! Rules about ops that compute, and how near they come to the roofline.

use super::prelude::*;
use device_reports::ops::loops::{LoopRow, Loops};
use device_reports::{DeclaredCosts, Kernels, KernelsReport, LikeOps};
use trace_model::{Caveat, IssueKind};

use super::arrays::{nearly_all, reads_narrow};
use super::kinds::{kinds, with_causes, with_fewer_bytes};

pub(super) static RULES: &[Rule] = &[
    rule!(
        "K12",
        "Matmuls are far below the peak",
        Medium,
        [MATMUL_SHARE, MATMUL_EFFICIENCY],
        slow_matmuls
    ),
    rule!(
        "K13",
        "Ops are limited by HBM bandwidth",
        Medium,
        [MEMORY_BOUND_SHARE, MEMORY_BOUND_USE],
        memory_bound
    ),
    rule!(
        "K14",
        "Ops use neither memory nor compute well",
        Medium,
        [SLOW_SHARE, SLOW_EFFICIENCY, START],
        slow_ops
    ),
    rule!(
        "K15",
        "Many tiny ops",
        Low,
        [TINY_SHARE, TINY_LENGTH],
        tiny_ops
    ),
    rule!(
        "K22",
        "Loops and branches have overhead",
        High,
        [LOOP_SHARE],
        loops
    ),
    rule!(
        "K23",
        "A loop has a short body and many iterations",
        Medium,
        [SHORT_LOOP_TRIPS, SHORT_LOOP_BODY, SHORT_LOOP_SHARE],
        short_loops
    ),
    rule!(
        "K29",
        "Kernels do not declare their costs",
        High,
        [KERNEL_SHARE],
        kernels_without_costs
    ),
    rule!(
        "K45",
        "Cores of a chip wait for each other",
        Medium,
        [MEGACORE_SHARE],
        megacore
    ),
];

static MATMUL_SHARE: Threshold = Threshold::percent(
    "K12.op_percent",
    2.0,
    "less than 2 % of the time is not worth examining",
);
static MATMUL_EFFICIENCY: Threshold = Threshold::percent(
    "K12.peak_percent",
    50.0,
    "large matmuls reach 70 to 90 % of the peak",
);
static MEMORY_BOUND_SHARE: Threshold = Threshold::percent(
    "K13.op_percent",
    5.0,
    "fusing or shrinking ops pays only where they take time",
);
static MEMORY_BOUND_USE: Threshold = Threshold::percent(
    "K13.hbm_percent",
    70.0,
    "from here on the op is at its limit: only fewer bytes help",
);
static SLOW_SHARE: Threshold = Threshold::percent(
    "K14.op_percent",
    2.0,
    "less than 2 % of the time is not worth examining",
);
static SLOW_EFFICIENCY: Threshold = Threshold::percent(
    "K14.roofline_percent",
    50.0,
    "streaming ops reach 70 to 90 % of the HBM bandwidth",
);
static START: Threshold = Threshold::new(
    "K14.start_us",
    1.0,
    Unit::None,
    "an op takes about so long to start, whatever its work (K15)",
);
static TINY_SHARE: Threshold = Threshold::percent(
    "K15.ops_percent",
    10.0,
    "a few tiny ops stand between any two large ones",
);
static TINY_LENGTH: Threshold = Threshold::new(
    "K15.mean_us",
    2.0,
    Unit::None,
    "below this the start of an op costs as much as its work",
);
static LOOP_SHARE: Threshold = Threshold::percent(
    "K22.self_percent",
    2.0,
    "a loop around large bodies costs less than a thousandth",
);
static SHORT_LOOP_TRIPS: Threshold = Threshold::new(
    "K23.trips",
    64.0,
    Unit::Count,
    "unrolling a few iterations gains little and makes the program longer",
);
static SHORT_LOOP_BODY: Threshold = Threshold::new(
    "K23.iteration_us",
    20.0,
    Unit::None,
    "an iteration costs about a microsecond of its own: a twentieth of this",
);
static SHORT_LOOP_SHARE: Threshold = Threshold::percent(
    "K23.own_percent",
    0.5,
    "below this a hint is not worth showing",
);
static KERNEL_SHARE: Threshold = Threshold::percent(
    "K29.kernel_percent",
    5.0,
    "utilization is wrong by that much at most",
);
static MEGACORE_SHARE: Threshold = Threshold::percent(
    "K45.self_percent",
    2.0,
    "the halves of a chip are balanced where the compiler could split the work",
);

const PS_PER_US: f64 = 1e6;

fn is_plain(row: &OpRow) -> bool {
    row.is_leaf && !row.is_async && row.collective.is_none()
}

/// What the limits of the chip allow.
fn ideal(row: &OpRow) -> Option<Picos> {
    row.rates.ideal_time_ps.map(Picos::rounded)
}

/// Without peaks and costs nothing can be said about distances from the roofline.
fn needs_costs(facts: &HintFacts<'_>) -> Result<()> {
    if facts
        .ops()?
        .rows
        .iter()
        .any(|row| is_plain(row) && row.rates.efficiency_percent.is_some())
    {
        return Ok(());
    }
    let why = "no op has both costs and a peak to compare with; exported JSON needs the chip, named with \
               --device-spec, and a newer export with bytes_accessed";
    Err(why.into())
}

/// Like ops whose rate is known and below `limit` percent.
fn is_below(limit: f64, rate: Option<Percent>) -> bool {
    rate.is_some_and(|percent| percent.0 < limit)
}

/// A matmul that is limited by the matrix units, and by no memory.
fn is_compute_bound_matmul(row: &OpRow) -> bool {
    row.group == OpGroup::MatMul && row.rates.bound_by == Some(BoundBy::Compute)
}

fn slow_matmuls(facts: &HintFacts<'_>) -> RuleResult {
    needs_costs(facts)?;
    let limit = facts.limit(&MATMUL_EFFICIENCY);
    let kind = |row: &OpRow| is_plain(row) && is_compute_bound_matmul(row);
    let slow = |like: &LikeOps<'_>| is_below(limit, like.percent(|rates| rates.flops_percent));
    let selection = facts.heavy_alike(&MATMUL_SHARE, kind, slow)?;
    let saving = PossibleSaving::ops("matmuls", selection.shrink(ideal));
    let what = format!("matmuls below {limit} % of the peak");
    let finding = selection.finding(&what, saving);
    if !nearly_all(&selection, |row| reads_narrow(facts, row)) {
        return Ok(finding);
    }
    let advice = "They read 16 bits or fewer an element already: look at their sizes, their layout, and what is fused with \
                  them.";
    let of_float32 = ["Where operands are float32", "Multiply large bfloat16"];
    Ok(finding.advising(advice, &of_float32, None))
}

fn memory_bound(facts: &HintFacts<'_>) -> RuleResult {
    needs_costs(facts)?;
    let limit = facts.limit(&MEMORY_BOUND_USE);
    let kind = |row: &OpRow| is_plain(row) && row.rates.bound_by == Some(BoundBy::Hbm);
    let at_roof =
        |like: &LikeOps<'_>| like.percent(|rates| rates.hbm_percent) >= Some(Percent(limit));
    let selection = facts.heavy_alike(&MEMORY_BOUND_SHARE, kind, at_roof)?;
    let what = format!("ops at {limit} % or more of the HBM bandwidth");
    Ok(with_fewer_bytes(
        facts,
        selection.finding(&what, PossibleSaving::Unknown),
        &kinds(&selection),
    ))
}

/// The share of the roofline that like ops reach, besides the time that they need to start.
fn efficiency_once_started(facts: &HintFacts<'_>, like: &LikeOps<'_>) -> Option<Percent> {
    let starting = facts.limit(&START) * PS_PER_US * like.occurrences as f64;
    let time = like.total_time_ps.as_ps_f64();
    let working = time - starting;
    let efficiency = like.percent(|rates| rates.efficiency_percent)?;
    (working > 0.0).then(|| Percent(efficiency.0 * time / working))
}

fn slow_ops(facts: &HintFacts<'_>) -> RuleResult {
    needs_costs(facts)?;
    if facts.cx.model.has_caveat(Caveat::LeastBytes) {
        return Err(
            "bytes are the least that ops need: how close these come to the bandwidth is unknown"
                .into(),
        );
    }
    let limit = facts.limit(&SLOW_EFFICIENCY);
    let explained = super::memory::moved(facts);
    let is_other = |row: &OpRow| {
        matches!(row.group, OpGroup::CustomKernel | OpGroup::HostIo)
            || is_compute_bound_matmul(row)
            || row.op.is_some_and(|op| explained.contains(&op))
    };
    let kind = |row: &OpRow| is_plain(row) && !is_other(row);
    let slow = |like: &LikeOps<'_>| is_below(limit, efficiency_once_started(facts, like));
    let selection = facts.heavy_alike(&SLOW_SHARE, kind, slow)?;
    let saving = PossibleSaving::ops("slow ops", selection.shrink(ideal));
    let what = format!("ops below {limit} % of their roofline");
    Ok(with_causes(
        facts,
        selection.finding(&what, saving),
        &kinds(&selection),
    ))
}

/// The length of an op decides here because each one has to start; ops that are near their roofline lose nothing to it.
fn tiny_ops(facts: &HintFacts<'_>) -> RuleResult {
    if facts.cx.model.import_log().count(IssueKind::AssumedClock) > 0 {
        return Err("times are cycles of an assumed clock: how long an op takes is unknown".into());
    }
    let most_ps = facts.limit(&TINY_LENGTH) * PS_PER_US;
    let limit = facts.limit(&SLOW_EFFICIENCY);
    let kind = |row: &OpRow| is_plain(row) && row.mean_time_ps < most_ps;
    let loses = |like: &LikeOps<'_>| {
        like.percent(|rates| rates.efficiency_percent)
            .is_none_or(|percent| percent.0 < limit)
    };
    let selection = facts.heavy_alike(&TINY_SHARE, kind, loses)?;
    // Fused, they still do their work: half is a guess, which is why confidence is low.
    let saving = PossibleSaving::ops("tiny ops", selection.ops().into_iter().map(|op| (op, 0.5)));
    let what = format!("ops shorter than {} µs", facts.limit(&TINY_LENGTH));
    Ok(selection.finding(&what, saving))
}

/// Not where the bodies of loops are drawn elsewhere: what they cost besides is not known.
fn loops_hold_their_bodies(facts: &HintFacts<'_>) -> Result<()> {
    if !facts.cx.model.has_caveat(Caveat::LoopsApart) {
        return Ok(());
    }
    let why = "loop bodies appear as separate ops: the cost of a loop besides its body is unknown";
    Err(why.into())
}

fn loops(facts: &HintFacts<'_>) -> RuleResult {
    loops_hold_their_bodies(facts)?;
    let is_loop = |row: &OpRow| matches!(&*row.category, "while" | "conditional" | "call");
    let selection = facts.heavy(&LOOP_SHARE, is_loop)?;
    let saving = PossibleSaving::ops("loops", selection.vanish());
    Ok(selection.finding("loops, branches and calls themselves", saving))
}

/// Iterations that unrolling puts into one: what a loop costs itself shrinks by so much.
const UNROLL: f64 = 4.0;

fn short_loops(facts: &HintFacts<'_>) -> RuleResult {
    loops_hold_their_bodies(facts)?;
    let report = facts.report::<Loops>()?;
    let trips = facts.limit(&SHORT_LOOP_TRIPS);
    let body = facts.limit(&SHORT_LOOP_BODY) * PS_PER_US;
    let known = |row: &LoopRow| {
        row.measured_trip_count
            .or(row.known_trip_count.map(|count| count as f64))
    };
    if report.rows.iter().all(|row| known(row).is_none()) {
        let why = "trip counts of loops are neither recorded nor visible from the ops inside them";
        return Err(why.into());
    }
    let short: Vec<&LoopRow> = report
        .rows
        .iter()
        .filter(|row| {
            known(row).is_some_and(|count| count >= trips)
                && row.iteration_time_ps.is_some_and(|time| time < body)
        })
        .collect();
    let ops: BTreeSet<OpId> = short.iter().filter_map(|row| row.op).collect();
    let selection = facts.heavy(&SHORT_LOOP_SHARE, |row| {
        row.op.is_some_and(|op| ops.contains(&op))
    })?;
    let first = short
        .iter()
        .find(|row| row.op == selection.ops().first().copied())
        .ok_or(Nothing)?;
    let count = known(first).unwrap_or(0.0);
    let time = first.iteration_time_ps.unwrap_or(0.0);
    Ok(Finding {
        statement: format!(
            "{} repeats {count:.0} times for {} each, and such loops themselves take {:.1} of {}",
            short_name(&first.name),
            Picos::from_ps(time as i64),
            Percent(selection.percent()),
            selection.devices.time()
        ),
        evidence: vec![
            HintEvidence::count("iterations", count, "one execution", Some(trips)),
            HintEvidence {
                threshold: Some(body),
                ..HintEvidence::time("an iteration", time, "mean of iterations")
            },
            selection.evidence("time of such loops without the ops inside"),
        ],
        ops: selection.ops(),
        saving: PossibleSaving::ops(
            "short loops, four iterations in one",
            selection.ops().into_iter().map(|op| (op, 1.0 / UNROLL)),
        ),
        ..Finding::default()
    })
}

fn kernels_without_costs(facts: &HintFacts<'_>) -> RuleResult {
    let silent = |row: &OpRow| {
        let none = |amount: Option<u64>| amount.is_none_or(|amount| amount == 0);
        row.group == OpGroup::CustomKernel
            && is_plain(row)
            && (none(row.costs.flops) || none(row.costs.bytes))
    };
    let selection = facts.heavy(&KERNEL_SHARE, silent)?;
    let mut finding = selection.finding("kernels without declared costs", PossibleSaving::Nothing);
    // One kernel is often an op in each layer: people know it by its name.
    if let Some(names) = facts
        .report::<Kernels>()
        .ok()
        .and_then(|report| kernel_names(&report))
    {
        finding.statement = format!(
            "{}: {names}",
            selection.take("kernels without declared costs")
        );
    }
    Ok(finding)
}

/// Kernels that do not say what they cost, the longest first; `None` if none takes a percent.
fn kernel_names(report: &KernelsReport) -> Option<String> {
    const SHOWN: usize = 3;
    let names: Vec<String> = report
        .kernels
        .iter()
        .filter(|kernel| {
            kernel.declared != DeclaredCosts::Yes && kernel.of_op_time_percent >= Some(Percent(1.0))
        })
        .map(|kernel| {
            format!(
                "{} ({:.1})",
                short_name(&kernel.kernel),
                kernel.of_op_time_percent.unwrap_or_default()
            )
        })
        .collect();
    let (shown, others) = names.split_at(names.len().min(SHOWN));
    (!names.is_empty()).then(|| shown.join(", ") + &engine::and_more(others.len()))
}

fn megacore(facts: &HintFacts<'_>) -> RuleResult {
    let selection = facts.heavy(&MEGACORE_SHARE, |row| &*row.category == "megacore fusion")?;
    let saving = PossibleSaving::ops("megacore fusions", selection.vanish());
    Ok(selection.finding("megacore fusions, inner ops left out,", saving))
}
