//! Sums over an area: a range of time on some tracks.
//!
//! Exact at every zoom, because it is computed from slices and not from what is drawn. A slice counts with its part
//! inside the range. Busy time is the time in which at least one slice of the row runs anywhere in the area: slices on
//! several tracks or inside each other count once. Tracks of different kinds cover the same time: a program runs while
//! its ops run, and asynchronous ops are in flight at the same time. Rows therefore never mix kinds of tracks, and a
//! share is of the self time on tracks of the row's kind.
//!
//! An area is a part of the timeline, and so are total, busy and self time: they are shares of it. How long the slices of a
//! row take on average is another question, which the clock of the device answers, as in all reports.

mod blocks;
mod counters;
mod lengths;
mod marked;
mod rows;
mod span_sums;

use std::sync::{Mutex, OnceLock};

use crate::prelude::*;
use trace_model::locked;

use self::blocks::{AreaBlocks, AreaSums};
use self::counters::counters_in;
pub use self::marked::{AreaGrouping, MarkedArea};
use crate::timeline::bands::StepBand;

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
    /// A sentence about each marked counter.
    pub counters: Vec<String>,
    blocks: Arc<AreaBlocks>,
    /// The row of the blocks that each row of the table is.
    rows: Vec<usize>,
}

/// Sums over the areas of a trace; what was found for one serves others.
pub struct AreaSummaries {
    model: TraceModel,
    classes: Arc<OpClasses>,
    /// Blocks of all tracks by name, as areas are grouped at first.
    by_name: OnceLock<Arc<AreaBlocks>>,
    /// For other tracks or another grouping, as of the last such area.
    latest: Mutex<Option<Arc<AreaBlocks>>>,
}

impl AreaSummaries {
    pub fn new(model: TraceModel, classes: Arc<OpClasses>) -> Self {
        Self {
            model,
            classes,
            by_name: OnceLock::new(),
            latest: Mutex::default(),
        }
    }

    /// Finds what areas of all tracks need, ahead of the first.
    pub fn prepare(&self, progress: &Progress) -> Result<(), String> {
        self.blocks_by_name().fill_all(progress)
    }

    /// The sums of an area; a slice belongs to the step of `steps` in which it begins. The error is a sentence.
    pub fn of(
        &self,
        steps: &Arc<[StepBand]>,
        area: &MarkedArea,
        progress: &Progress,
    ) -> Result<AreaSummary, String> {
        let blocks = self.blocks_of(steps, area);
        let sums = blocks.sums(area.range, progress)?;
        let counters = counters_in(&self.model, area);
        Ok(AreaSummary {
            counters,
            ..AreaSummary::new(&self.classes, area, blocks, sums)
        })
    }

    fn blocks_of(&self, steps: &Arc<[StepBand]>, area: &MarkedArea) -> Arc<AreaBlocks> {
        if area.pivot == AreaGrouping::Name && area.tracks.is_empty() {
            return self.blocks_by_name();
        }
        let latest = locked(&self.latest).clone();
        if let Some(latest) = latest.filter(|latest| latest.are_of(area, steps)) {
            return latest;
        }
        let blocks = AreaBlocks::new(&self.model, &self.classes, steps, area.pivot, &area.tracks);
        let blocks = Arc::new(blocks);
        *locked(&self.latest) = Some(Arc::clone(&blocks));
        blocks
    }

    fn blocks_by_name(&self) -> Arc<AreaBlocks> {
        let new = || {
            let (steps, tracks) = (Arc::default(), Arc::default());
            AreaBlocks::new(
                &self.model,
                &self.classes,
                &steps,
                AreaGrouping::Name,
                &tracks,
            )
        };
        Arc::clone(self.by_name.get_or_init(|| Arc::new(new())))
    }
}

impl AreaSummary {
    /// Labels of the slices of a row.
    pub fn labels_of(&self, row: usize) -> BTreeSet<LabelId> {
        let row = self.rows.get(row);
        row.map_or_else(BTreeSet::new, |&row| {
            self.blocks.labels_of(row, self.area.range)
        })
    }

    /// Which times are by which clock, where tracks of the area have times by that of a device, too.
    pub fn clocks(&self) -> Option<&'static str> {
        self.blocks.are_timed_by_devices().then_some(
            "Total, union and self: on the timeline. Mean, median and p95: by the clock of the device.",
        )
    }

    fn new(
        classes: &OpClasses,
        area: &MarkedArea,
        blocks: Arc<AreaBlocks>,
        sums: AreaSums,
    ) -> Self {
        let AreaSums {
            rows,
            slices,
            tracks,
            union_ps,
        } = sums;
        let titled = |(row, sums)| (blocks.title(classes, row), sums, row);
        let mut rows: Vec<_> = rows.into_iter().map(titled).collect();
        let mut of_kinds: BTreeMap<&'static str, Picos> = BTreeMap::new();
        for ((_, kind), row, _) in &rows {
            *of_kinds.entry(*kind).or_default() += row.self_ps;
        }
        rows.sort_by(|a, b| b.1.self_ps.cmp(&a.1.self_ps).then_with(|| a.0.cmp(&b.0)));
        let share = |kind, time: Picos| Percent::of(time, *of_kinds.get(kind)?);
        let table = Table::of("area", "Marked area", rows.iter().map(|((name, kind), row, _)| (name, *kind, row)))
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
            "Total, busy and self time: the parts of slices inside the area. Mean, median and p95: slices entirely inside it, as they were measured. Share: of the self time on tracks of the same kind, because tracks of programs, ops and asynchronous ops cover the same time.",
        )
        .build();
        let rows = rows.into_iter().map(|(.., row)| row).collect();
        Self {
            area: area.clone(),
            slices,
            tracks,
            union_ps,
            table,
            counters: Vec::new(),
            blocks,
            rows,
        }
    }
}

#[cfg(test)]
mod plain_loop_tests;
#[cfg(test)]
mod tests;
