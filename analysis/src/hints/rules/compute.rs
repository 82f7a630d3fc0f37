//! Rules about ops that compute, and how near they come to the roofline.

use trace_model::Picos;

use crate::bound::BoundBy;
use crate::category::OpGroup;
use crate::hints::{Confidence, Facts, Finding, Outcome, Rule, Saving, Threshold};
use crate::ops::OpRow;
use crate::report::Unit;
use crate::{AnalysisError, hints};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "K12",
        title: "Matmuls are far below the peak",
        confidence: Confidence::Medium,
        thresholds: &[&MATMUL_SHARE, &MATMUL_EFFICIENCY],
        check: slow_matmuls,
        page: include_str!("../pages/K12.md"),
    },
    Rule {
        id: "K13",
        title: "Ops are limited by HBM bandwidth",
        confidence: Confidence::Medium,
        thresholds: &[&MEMORY_BOUND_SHARE, &MEMORY_BOUND_USE],
        check: memory_bound,
        page: include_str!("../pages/K13.md"),
    },
    Rule {
        id: "K14",
        title: "Ops use neither memory nor compute well",
        confidence: Confidence::Medium,
        thresholds: &[&SLOW_SHARE, &SLOW_EFFICIENCY, &SLOW_LENGTH],
        check: slow_ops,
        page: include_str!("../pages/K14.md"),
    },
    Rule {
        id: "K15",
        title: "Many tiny ops",
        confidence: Confidence::Low,
        thresholds: &[&TINY_SHARE, &TINY_LENGTH],
        check: tiny_ops,
        page: include_str!("../pages/K15.md"),
    },
    Rule {
        id: "K22",
        title: "Loops cost time of their own",
        confidence: Confidence::High,
        thresholds: &[&LOOP_SHARE],
        check: loops,
        page: include_str!("../pages/K22.md"),
    },
    Rule {
        id: "K29",
        title: "Kernels do not say what they cost",
        confidence: Confidence::High,
        thresholds: &[&KERNEL_SHARE],
        check: kernels_without_costs,
        page: include_str!("../pages/K29.md"),
    },
    Rule {
        id: "K45",
        title: "Cores of a chip wait for each other",
        confidence: Confidence::Medium,
        thresholds: &[&MEGACORE_SHARE],
        check: megacore,
        page: include_str!("../pages/K45.md"),
    },
];

static MATMUL_SHARE: Threshold = Threshold {
    id: "K12.op_percent",
    value: 2.0,
    unit: Unit::Percent,
    why: "an op below a fiftieth of the time is not worth a look",
};
static MATMUL_EFFICIENCY: Threshold = Threshold {
    id: "K12.peak_percent",
    value: 50.0,
    unit: Unit::Percent,
    why: "large matmuls reach 70 to 90 % of the peak",
};
static MEMORY_BOUND_SHARE: Threshold = Threshold {
    id: "K13.op_percent",
    value: 5.0,
    unit: Unit::Percent,
    why: "fusing or shrinking an op pays only where it takes time",
};
static MEMORY_BOUND_USE: Threshold = Threshold {
    id: "K13.hbm_percent",
    value: 70.0,
    unit: Unit::Percent,
    why: "from here on the op is at its roof: only fewer bytes help",
};
static SLOW_SHARE: Threshold = Threshold {
    id: "K14.op_percent",
    value: 2.0,
    unit: Unit::Percent,
    why: "an op below a fiftieth of the time is not worth a look",
};
static SLOW_EFFICIENCY: Threshold = Threshold {
    id: "K14.roofline_percent",
    value: 50.0,
    unit: Unit::Percent,
    why: "streaming ops reach 70 to 90 % of the HBM bandwidth",
};
static SLOW_LENGTH: Threshold = Threshold {
    id: "K14.mean_us",
    value: 5.0,
    unit: Unit::None,
    why: "shorter ops are dominated by their start (K15)",
};
static TINY_SHARE: Threshold = Threshold {
    id: "K15.ops_percent",
    value: 10.0,
    unit: Unit::Percent,
    why: "a few tiny ops stand between any two large ones",
};
static TINY_LENGTH: Threshold = Threshold {
    id: "K15.mean_us",
    value: 2.0,
    unit: Unit::None,
    why: "below this the start of an op costs as much as its work",
};
static LOOP_SHARE: Threshold = Threshold {
    id: "K22.self_percent",
    value: 2.0,
    unit: Unit::Percent,
    why: "a loop around large bodies costs less than a thousandth",
};
static KERNEL_SHARE: Threshold = Threshold {
    id: "K29.kernel_percent",
    value: 5.0,
    unit: Unit::Percent,
    why: "utilization is wrong by that much at most",
};
static MEGACORE_SHARE: Threshold = Threshold {
    id: "K45.self_percent",
    value: 2.0,
    unit: Unit::Percent,
    why: "the halves of a chip are balanced where the compiler could split the work",
};

const PS_PER_US: f64 = 1e6;

fn is_plain(row: &OpRow) -> bool {
    row.is_leaf && !row.is_async && row.collective.is_none()
}

/// What the limits of the chip allow.
fn ideal(row: &OpRow) -> Option<Picos> {
    row.ideal_time_ps.map(|ps| Picos::from_ps(ps.round() as i64))
}

/// Without peaks and costs nothing can be said about distances from the roofline.
fn needs_costs(facts: &Facts<'_>) -> Result<(), AnalysisError> {
    if facts.ops()?.rows.iter().any(|row| is_plain(row) && row.efficiency_percent.is_some()) {
        return Ok(());
    }
    let why = "no op has both costs and a peak to compare with; exported JSON needs --device-spec, and a newer export \
               with bytes_accessed";
    Err(AnalysisError::NotApplicable(why.to_owned()))
}

/// The ops that `found` selects, unless there are none.
fn of_ops(found: &hints::Selection<'_>, what: &str, limit: f64, saving: Saving) -> Option<Finding> {
    (!found.rows.is_empty()).then(|| found.finding(what, limit, saving))
}

fn slow_matmuls(facts: &Facts<'_>) -> Outcome {
    needs_costs(facts)?;
    let (share, limit) = (facts.limit(&MATMUL_SHARE), facts.limit(&MATMUL_EFFICIENCY));
    let found = facts.select(|row| {
        let compute_bound = row.bound_by == Some(BoundBy::Compute);
        let slow = row.flops_percent.is_some_and(|percent| percent < limit);
        row.group == OpGroup::MatMul && is_plain(row) && compute_bound && slow && facts.share(row) >= share
    })?;
    let saving = Saving::ops("matmuls", found.shrink(ideal));
    Ok(of_ops(&found, &format!("matmuls below {limit} % of the peak"), share, saving))
}

fn memory_bound(facts: &Facts<'_>) -> Outcome {
    needs_costs(facts)?;
    let (share, limit) = (facts.limit(&MEMORY_BOUND_SHARE), facts.limit(&MEMORY_BOUND_USE));
    let found = facts.select(|row| {
        let at_roof = row.hbm_percent.is_some_and(|percent| percent >= limit);
        is_plain(row) && row.bound_by == Some(BoundBy::Hbm) && at_roof && facts.share(row) >= share
    })?;
    Ok(of_ops(&found, &format!("ops at {limit} % or more of the HBM bandwidth"), share, Saving::Unknown))
}

fn slow_ops(facts: &Facts<'_>) -> Outcome {
    needs_costs(facts)?;
    let (share, limit) = (facts.limit(&SLOW_SHARE), facts.limit(&SLOW_EFFICIENCY));
    let least_ps = facts.limit(&SLOW_LENGTH) * PS_PER_US;
    let found = facts.select(|row| {
        let own_kind = !matches!(row.group, OpGroup::MatMul | OpGroup::CustomKernel | OpGroup::HostIo);
        let slow = row.efficiency_percent.is_some_and(|percent| percent < limit);
        is_plain(row) && own_kind && slow && row.mean_time_ps >= least_ps && facts.share(row) >= share
    })?;
    let saving = Saving::ops("slow ops", found.shrink(ideal));
    Ok(of_ops(&found, &format!("ops below {limit} % of their roofline"), share, saving))
}

fn tiny_ops(facts: &Facts<'_>) -> Outcome {
    let most_ps = facts.limit(&TINY_LENGTH) * PS_PER_US;
    let wanted = |row: &OpRow| is_plain(row) && row.mean_time_ps < most_ps;
    let Some(found) = facts.heavy(&TINY_SHARE, wanted)? else { return Ok(None) };
    // Fused, they still do their work: half is a guess, which is why confidence is low.
    let saving = Saving::ops("tiny ops", found.ops().into_iter().map(|op| (op, 0.5)));
    let what = format!("ops shorter than {} µs", facts.limit(&TINY_LENGTH));
    Ok(Some(found.finding(&what, facts.limit(&TINY_SHARE), saving)))
}

fn loops(facts: &Facts<'_>) -> Outcome {
    let own = |row: &OpRow| matches!(row.category.as_str(), "while" | "conditional" | "call");
    let Some(found) = facts.heavy(&LOOP_SHARE, own)? else { return Ok(None) };
    let saving = Saving::ops("loops", found.vanish());
    Ok(Some(found.finding("loops, branches and calls themselves", facts.limit(&LOOP_SHARE), saving)))
}

fn kernels_without_costs(facts: &Facts<'_>) -> Outcome {
    let silent = |row: &OpRow| {
        let none = |amount: Option<u64>| amount.is_none_or(|amount| amount == 0);
        row.group == OpGroup::CustomKernel && is_plain(row) && (none(row.flops) || none(row.bytes))
    };
    let Some(found) = facts.heavy(&KERNEL_SHARE, silent)? else { return Ok(None) };
    Ok(Some(found.finding("kernels without declared costs", facts.limit(&KERNEL_SHARE), Saving::Unknown)))
}

fn megacore(facts: &Facts<'_>) -> Outcome {
    let Some(found) = facts.heavy(&MEGACORE_SHARE, |row| row.category == "megacore fusion")? else { return Ok(None) };
    let saving = Saving::ops("megacore fusions", found.vanish());
    Ok(Some(found.finding("megacore fusions, inner ops left out,", facts.limit(&MEGACORE_SHARE), saving)))
}
