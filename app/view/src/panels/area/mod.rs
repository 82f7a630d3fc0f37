//! Sums over an area: a range of time on some tracks.
//!
//! Exact at every zoom, because it is computed from slices and not from what is drawn. A slice counts with its part
//! inside the range. Busy time is the time in which at least one slice of the row runs anywhere in the area: slices on
//! several tracks or inside each other count once. Tracks of different kinds cover the same time: a program runs while
//! its ops run, and asynchronous ops are in flight at the same time. Rows therefore never mix kinds of tracks, and a
//! share is of the self time on tracks of the row's kind.

mod marked;
mod rows;
mod sums;

use std::collections::{BTreeMap, BTreeSet};

use analysis::{OpClasses, Percent, Table, Unit};
use importers::Progress;
use trace_model::{LabelId, Picos, TraceModel};

pub use self::marked::{AreaGrouping, MarkedArea};
use self::sums::{AreaSums, collect};
use crate::timeline::bands::StepBand;

#[derive(Clone, Debug, PartialEq)]
pub struct AreaSummary {
    pub area: MarkedArea,
    /// Slices that overlap the area.
    pub slices: usize,
    /// Tracks with such slices.
    pub tracks: usize,
    /// Time in which at least one slice runs.
    pub union_ps: Picos,
    /// One row per name, category or program, by self time.
    pub table: Table,
    /// Labels of each row.
    pub labels: Vec<BTreeSet<LabelId>>,
}

/// Computes the sums; a slice belongs to the step of `steps` in which it begins. The error is a sentence.
pub fn summarise(
    model: &TraceModel,
    classes: &OpClasses,
    steps: &[StepBand],
    area: &MarkedArea,
    progress: &Progress,
) -> Result<AreaSummary, String> {
    let AreaSums {
        mut rows,
        slices,
        tracks,
        union_ps,
    } = collect(model, classes, steps, area, progress)?;
    let mut of_kinds: BTreeMap<&'static str, Picos> = BTreeMap::new();
    for ((_, kind), row) in &rows {
        *of_kinds.entry(*kind).or_default() += row.self_ps;
    }
    rows.sort_by(|a, b| b.1.self_ps.cmp(&a.1.self_ps).then_with(|| a.0.cmp(&b.0)));
    let share = |kind, time: Picos| Percent::of(time, *of_kinds.get(kind)?);
    let table = Table::of("area", "Marked area", rows.iter().map(|((name, kind), row)| (name, *kind, row)))
        .recorded("name", area.pivot.title(), Unit::None, |(name, ..)| name)
        .recorded("tracks", "On tracks of", Unit::None, |(_, kind, _)| kind)
        .measured("count", "Slices", Unit::Count, |(.., row)| row.slices)
        .measured("total_ps", "Total", Unit::Picoseconds, |(.., row)| row.total_ps)
        .measured("union_ps", "Union", Unit::Picoseconds, |(.., row)| row.union_ps)
        .measured("self_ps", "Self", Unit::Picoseconds, |(.., row)| row.self_ps)
        .measured("self_percent", "of self on such tracks", Unit::Percent, |(_, kind, row)| {
            share(kind, row.self_ps)
        })
        .measured("mean_ps", "Mean", Unit::Picoseconds, |(.., row)| row.lengths[0])
        .measured("median_ps", "Median", Unit::Picoseconds, |(.., row)| row.lengths[1])
        .measured("p95_ps", "p95", Unit::Picoseconds, |(.., row)| row.lengths[2])
        .note(
            "Total, busy and self time: the parts of slices inside the area. Mean, median and p95: slices entirely inside it. Share: of the self time on tracks of the same kind, because tracks of programs, ops and asynchronous ops cover the same time.",
        )
        .build();
    let labels = rows.into_iter().map(|(_, row)| row.labels).collect();
    Ok(AreaSummary {
        area: area.clone(),
        slices,
        tracks,
        union_ps,
        table,
        labels,
    })
}

#[cfg(test)]
mod tests;
