//! Rules about communication between devices.

use trace_model::Picos;

use crate::hints::{Confidence, Evidence, Facts, Finding, Outcome, Rule, Saving, Threshold};
use crate::overlap::Overlap;
use crate::replay::Change;
use crate::report::Unit;

pub(super) static RULES: &[Rule] = &[Rule {
    id: "K01",
    title: "Communication is exposed",
    confidence: Confidence::High,
    thresholds: &[&EXPOSED],
    check: exposed,
    page: include_str!("../pages/K01.md"),
}];

static EXPOSED: Threshold = Threshold {
    id: "K01.exposed_percent",
    value: 10.0,
    unit: Unit::Percent,
    why: "below a tenth of the step, other things are worth more",
};

fn exposed(facts: &Facts<'_>) -> Outcome {
    let overlap = facts.report::<Overlap>()?;
    let limit = facts.limit(&EXPOSED);
    let Some(worst) = overlap.cores.iter().max_by(|a, b| a.exposed_ps.cmp(&b.exposed_ps)) else { return Ok(None) };
    let Some(share) = worst.exposed_share_percent.filter(|&share| share >= limit) else { return Ok(None) };
    let step = facts.step()?;
    // Only compute that hides nothing yet can hide more.
    let free = (worst.compute_ps - worst.overlapped_ps.unwrap_or(0)).max(0) as f64 / step.count.max(1) as f64;
    let collectives = facts.select(|row| row.collective.is_some())?;
    let hidden = worst.overlap_ratio_percent.map_or_else(
        || "how much is hidden is not recorded".to_owned(),
        |part| format!("compute hides {part:.1} % of all communication"),
    );
    Ok(Some(Finding {
        statement: format!("communication is exposed for {share:.1} % of the window on {}; {hidden}", worst.core),
        evidence: vec![
            Evidence::percent("exposed communication", share, format!("window of {}", worst.core), Some(limit)),
            Evidence::time("compute that hides nothing yet", free, "step, on the same device"),
        ],
        ops: collectives.ops(),
        saving: Saving::Replay { changes: vec![Change::Collectives(0.0)], at_most: Some(Picos::from_ps(free as i64)) },
        ..Finding::default()
    }))
}
