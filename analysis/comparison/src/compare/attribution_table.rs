//! Where the time of a step changed, as a table.

use facts::prelude::*;

use super::GroupChange;
use super::attribution::{Attribution, ShareOfBaseStep};

/// The mean step, or the share of ops that do the same in its change.
#[derive(Default, engine::Columns)]
#[columns(derived)]
struct ShareRow {
    #[column(id = "ops")]
    name: String,
    #[column("Part")]
    time_use: &'static str,
    /// `None` for the whole step.
    #[column]
    base_ops: Option<usize>,
    #[column]
    cand_ops: Option<usize>,
    #[column]
    base_ps: Option<f64>,
    #[column]
    cand_ps: Option<f64>,
    #[column]
    change_ps: f64,
    #[column(nested)]
    share: ShareOfBaseStep,
    #[column]
    verdict: &'static str,
    #[column("p")]
    p: Option<f64>,
    #[column]
    source: Option<String>,
}

pub(super) fn attribution_table(attribution: &Attribution) -> Table {
    let whole = ShareRow {
        name: "interquartile mean step".to_owned(),
        base_ps: Some(attribution.base_ps),
        cand_ps: Some(attribution.cand_ps),
        change_ps: attribution.change_ps,
        share: attribution.share_of_step(attribution.change_ps),
        ..ShareRow::default()
    };
    let row = |(time_use, group): (&'static str, &GroupChange)| ShareRow {
        name: group.name.clone(),
        time_use,
        base_ops: group.has_ops().then_some(group.base_ops),
        cand_ops: group.has_ops().then_some(group.cand_ops),
        base_ps: group.sides()[0],
        cand_ps: group.sides()[1],
        change_ps: group.times.change_ps,
        share: attribution.share_of_step(group.times.change_ps),
        verdict: group.verdict(),
        p: group.p.filter(|_| group.finding.is_tested()),
        source: group.source.clone(),
    };
    let groups = attribution
        .uses
        .iter()
        .flat_map(|one| one.groups.iter().map(move |group| (one.id.title(), group)));
    let mut rows: Vec<ShareRow> = std::iter::once(whole).chain(groups.map(row)).collect();
    rows[1..].sort_by(|a, b| b.change_ps.abs().total_cmp(&a.change_ps.abs()));
    Table::of("attribution", "Where the time changed", &rows)
        .remaining()
        .note(
            "Rows add up to the first one. Ops that do the same share a row, whatever their names.",
        )
        .build()
}
