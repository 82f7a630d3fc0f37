//! Rules about the sizes and types of matrix multiplications.

use std::collections::BTreeMap;

use trace_model::OpId;

use crate::hints::{Confidence, Evidence, Facts, Finding, Outcome, Rule, Saving, Threshold};
use crate::matmuls::{MatmulRow, Matmuls};
use crate::report::{Provenance, Unit};
use crate::{AnalysisError, stats};

pub(super) static RULES: &[Rule] = &[
    Rule {
        id: "K11",
        title: "Matmuls are padded",
        confidence: Confidence::Medium,
        thresholds: &[&PADDING_SHARE, &PADDING_EFFICIENCY],
        check: padding,
        page: include_str!("../pages/K11.md"),
    },
    Rule {
        id: "K17",
        title: "Matmuls are computed in several passes",
        confidence: Confidence::Medium,
        thresholds: &[&PASSES_SHARE],
        check: passes,
        page: include_str!("../pages/K17.md"),
    },
];

static PADDING_SHARE: Threshold = Threshold {
    id: "K11.op_percent",
    value: 1.0,
    unit: Unit::Percent,
    why: "an op below a hundredth of the time is not worth a look",
};
static PADDING_EFFICIENCY: Threshold = Threshold {
    id: "K11.useful_percent",
    value: 90.0,
    unit: Unit::Percent,
    why: "a dimension of nine tiles or more loses less than a tenth",
};
static PASSES_SHARE: Threshold = Threshold {
    id: "K17.op_percent",
    value: 1.0,
    unit: Unit::Percent,
    why: "an op below a hundredth of the time is not worth a look",
};

/// Some matmuls, most time first, with what would be left of each, and their share
/// of device time in percent.
type Shrinking = (Vec<OpId>, BTreeMap<OpId, f64>, f64);

/// The matmuls for which `factor` says what would be left of their time.
fn shrinking(
    facts: &Facts<'_>,
    rows: &[MatmulRow],
    share: f64,
    factor: impl Fn(&MatmulRow) -> Option<f64>,
) -> Result<Shrinking, AnalysisError> {
    let total = facts.ops()?.total_time_ps as f64;
    let percent = |row: &MatmulRow| if total > 0.0 { 100.0 * row.self_time_ps as f64 / total } else { 0.0 };
    let mut found: Vec<(&MatmulRow, OpId, f64)> =
        rows.iter().filter(|row| percent(row) >= share).filter_map(|row| Some((row, row.op?, factor(row)?))).collect();
    found.sort_by_key(|(row, ..)| std::cmp::Reverse(row.self_time_ps));
    let sum = found.iter().map(|(row, ..)| percent(row)).sum();
    let ops = found.iter().map(|&(_, op, _)| op).collect();
    Ok((ops, found.into_iter().map(|(_, op, factor)| (op, factor)).collect(), sum))
}

fn padding(facts: &Facts<'_>) -> Outcome {
    let matmuls = facts.report::<Matmuls>()?;
    let (share, limit) = (facts.limit(&PADDING_SHARE), facts.limit(&PADDING_EFFICIENCY));
    // Where memory limits the op, or its speed shows that the compiler found a better
    // way, padding costs nothing.
    let left = |row: &MatmulRow| {
        let useful = row.padding_efficiency_percent.filter(|&useful| useful < limit)?;
        row.padding_loss_ps.filter(|&loss| loss > 0.0)?;
        Some(useful / 100.0)
    };
    if matmuls.rows.iter().all(|row| row.padding_efficiency_percent.is_none()) {
        let why = "no matmul has known sizes: capture the HLO of the programs (an .xplane.pb holds it by default)";
        return Err(AnalysisError::NotApplicable(why.to_owned()));
    }
    let (ops, factors, percent) = shrinking(facts, &matmuls.rows, share, left)?;
    let Some(first) = ops.first() else { return Ok(None) };
    let row = matmuls.rows.iter().find(|row| row.op == Some(*first));
    let what = row
        .and_then(|row| Some((row, row.sizes.as_ref()?)))
        .map_or_else(String::new, |(row, sizes)| format!(": {} is {} × {} × {}", row.name, sizes.m, sizes.k, sizes.n));
    let least = factors.values().copied().fold(1.0, f64::min) * 100.0;
    Ok(Some(Finding {
        statement: format!("matmuls that take {percent:.1} % of device time fill the matrix units only in part{what}"),
        evidence: vec![
            Evidence::percent("useful work of the worst of them", least, "work with padding", Some(limit))
                .by(Provenance::Derived),
            Evidence::percent("padded matmuls", percent, "device time", Some(share)),
        ],
        ops,
        saving: Saving::ops("padded matmuls", factors),
        ..Finding::default()
    }))
}

fn passes(facts: &Facts<'_>) -> Outcome {
    let matmuls = facts.report::<Matmuls>()?;
    let counts: Vec<f64> = matmuls.rows.iter().filter_map(|row| row.passes).map(f64::from).collect();
    if stats::median(&counts).is_none() {
        let why = "how many passes a matmul takes is not recorded: capture the HLO of the programs";
        return Err(AnalysisError::NotApplicable(why.to_owned()));
    }
    let share = facts.limit(&PASSES_SHARE);
    let factor = |row: &MatmulRow| row.passes.filter(|&passes| passes > 1).map(|passes| 1.0 / f64::from(passes));
    let (ops, factors, percent) = shrinking(facts, &matmuls.rows, share, factor)?;
    if ops.is_empty() {
        return Ok(None);
    }
    let most = factors.values().copied().fold(1.0, f64::min).recip();
    Ok(Some(Finding {
        statement: format!(
            "matmuls that take {percent:.1} % of device time are computed in up to {most:.0} bfloat16 passes"
        ),
        evidence: vec![
            Evidence::percent("matmuls of several passes", percent, "device time", Some(share)),
            Evidence::count("passes", most, "of the one with most", Some(1.0)).by(Provenance::StaticCost),
        ],
        ops,
        saving: Saving::ops("matmuls in one pass", factors),
        ..Finding::default()
    }))
}
