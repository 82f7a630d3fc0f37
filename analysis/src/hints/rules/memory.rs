//! Rules about copies and memory.

use crate::category::OpGroup;
use crate::hints::{Confidence, Evidence, Facts, Finding, Outcome, Rule, Saving, Threshold};
use crate::ops::Ops;
use crate::replay::Change;
use crate::report::Unit;

pub(super) static RULES: &[Rule] = &[Rule {
    id: "K25",
    title: "The core waits for copies",
    confidence: Confidence::High,
    thresholds: &[&COPY_WAIT],
    check: copy_wait,
    page: include_str!("../pages/K25.md"),
}];

static COPY_WAIT: Threshold = Threshold {
    id: "K25.wait_percent",
    value: 3.0,
    unit: Unit::Percent,
    why: "prefetches that are issued in time cost nothing",
};

fn copy_wait(facts: &Facts<'_>) -> Outcome {
    let ops = facts.report::<Ops>()?;
    let waits = facts.select(&ops, |row| row.group == OpGroup::AsyncWait);
    let (share, limit) = (waits.percent(), facts.limit(&COPY_WAIT));
    if share < limit {
        return Ok(None);
    }
    let top = waits.rows.first().map(|row| row.name.as_str()).unwrap_or_default();
    Ok(Some(Finding {
        statement: format!("{share:.1} % of device time is spent waiting for copies, most of it in {top}"),
        evidence: vec![Evidence::percent("waiting for copies", share, "device time", Some(limit))],
        ops: waits.ops(),
        saving: Saving::replay([Change::Copies(0.0)]),
        ..Finding::default()
    }))
}
