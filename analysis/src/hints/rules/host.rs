//! Rules about the host: idle devices, dispatch, input, compilation.

use crate::hints::{Confidence, Evidence, Facts, Finding, Outcome, Rule, Saving, Threshold};
use crate::replay::Change;
use crate::report::Unit;

pub(super) static RULES: &[Rule] = &[Rule {
    id: "K31",
    title: "The device is idle",
    confidence: Confidence::High,
    thresholds: &[&IDLE],
    check: idle,
    page: include_str!("../pages/K31.md"),
}];

static IDLE: Threshold = Threshold {
    id: "K31.idle_percent",
    value: 10.0,
    unit: Unit::Percent,
    why: "a tenth is the limit of XProf's overview as well",
};

fn idle(facts: &Facts<'_>) -> Outcome {
    let ops = facts.ops()?;
    let limit = facts.limit(&IDLE);
    let share = if ops.total_time_ps > 0 { 100.0 * ops.idle_ps as f64 / ops.total_time_ps as f64 } else { 0.0 };
    if share < limit {
        return Ok(None);
    }
    Ok(Some(Finding {
        statement: format!("no op runs for {share:.1} % of device time"),
        evidence: vec![Evidence::percent("idle", share, "device time, from first op to last", Some(limit))],
        is_idle_time: true,
        saving: Saving::replay([Change::Idle(0.0)]),
        ..Finding::default()
    }))
}
