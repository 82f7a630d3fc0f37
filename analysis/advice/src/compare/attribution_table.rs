//! Where the time of a step changed, as a table.

use engine::{Percent, Table};

use super::FamilyChange;
use super::attribution::Attribution;
use super::change::ChangeVerdict;

/// The mean step, or the share of a kind of ops in its change.
#[derive(Default, engine::Columns)]
#[columns(derived)]
struct ShareRow {
    #[column("Ops", id = "ops")]
    name: String,
    #[column("Part")]
    part: &'static str,
    /// `None` for the whole step.
    #[column("Base ops")]
    base_ops: Option<usize>,
    #[column("Cand ops")]
    cand_ops: Option<usize>,
    #[column("Base")]
    base_ps: f64,
    #[column("Cand")]
    cand_ps: f64,
    #[column("Change")]
    change_ps: f64,
    #[column("Of base step")]
    change_of_step_percent: Option<Percent>,
    #[column("Verdict")]
    verdict: &'static str,
    #[column("p")]
    p: Option<f64>,
}

pub(super) fn attribution_table(attribution: &Attribution) -> Table {
    let of_step = |change: f64| {
        (attribution.base_ps > 0.0).then(|| Percent(100.0 * change / attribution.base_ps))
    };
    let whole = ShareRow {
        name: "interquartile mean step".to_owned(),
        base_ps: attribution.base_ps,
        cand_ps: attribution.cand_ps,
        change_ps: attribution.change_ps,
        change_of_step_percent: of_step(attribution.change_ps),
        ..ShareRow::default()
    };
    let row = |family: &FamilyChange| {
        let has_ops = family.base_ops + family.cand_ops > 0;
        ShareRow {
            name: family.name.clone(),
            part: family.part.title(),
            base_ops: has_ops.then_some(family.base_ops),
            cand_ops: has_ops.then_some(family.cand_ops),
            base_ps: family.base_ps,
            cand_ps: family.cand_ps,
            change_ps: family.change_ps,
            change_of_step_percent: of_step(family.change_ps),
            verdict: family.verdict(),
            p: family
                .p
                .filter(|_| family.finding.is_some_and(ChangeVerdict::is_tested)),
        }
    };
    let rows: Vec<ShareRow> = std::iter::once(whole)
        .chain(attribution.families.iter().map(row))
        .collect();
    Table::of("attribution", "Where the time changed", &rows)
        .remaining()
        .note(
            "Rows add up to the first one. Ops whose names differ only in their number share a row; matched ops appear under their name in cand.",
        )
        .build()
}
