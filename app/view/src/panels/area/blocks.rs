//! Sums over blocks of time, kept for all areas of some tracks.
//!
//! Time is cut into blocks with about as many slices each. What a block between the ends of an area adds to the sums does
//! not depend on the area, apart from the few slices that reach beyond the block. It is found when an area first needs it;
//! the parts of blocks at the ends are added up each time.
//!
//! ```text
//! blocks   |         |         |         |         |
//! area          [------------------------------]
//!          part 1     2 blocks, kept        part 2
//! slice                     xxxxxxxxxxxxxxxxxxxxxxx    begins in a block, and counts with its part in the area
//! ```

use std::ops::Range;
use std::sync::OnceLock;

use crate::prelude::*;
use rayon::prelude::{
    IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _,
};
use trace_model::Lane;

use super::lengths::{SortedList, median_and_p95};
use super::marked::{AreaGrouping, MarkedArea};
use super::rows::AreaRows;
use super::span_sums::{ALWAYS, RowSums, SpanAdder, SpanSums, self_of_part};
use crate::in_time::{self, SAMPLES};
use crate::timeline::bands::StepBand;

/// About how many slices a block has, and how many of a part are added up at a time.
const BLOCK: usize = if cfg!(test) { 32 } else { 1 << 17 };
const PART: usize = if cfg!(test) { 8 } else { 1 << 15 };
/// Mean number of slices of a lane in such a span: below this, looking for them costs more than sorting.
const SHARE: usize = if cfg!(test) { 1 } else { 16 };

/// The sums of a row of an area.
#[derive(Debug, Default)]
pub(super) struct AreaRow {
    pub(super) slices: usize,
    pub(super) total_ps: Picos,
    pub(super) self_ps: Picos,
    /// Time in which at least one of its slices runs.
    pub(super) union_ps: Picos,
    /// Mean, median and 95th percentile of slices entirely inside the area, as they were measured; `None` without any.
    pub(super) lengths: [Option<f64>; 3],
}

/// The rows with slices and the sums of everything.
pub(super) struct AreaSums {
    pub(super) rows: Vec<(usize, AreaRow)>,
    pub(super) slices: usize,
    pub(super) tracks: usize,
    pub(super) union_ps: Picos,
}

/// Sums over areas of some tracks, grouped in one way.
pub(super) struct AreaBlocks {
    model: TraceModel,
    tracks_of_areas: Arc<BTreeSet<TrackId>>,
    steps: Arc<[StepBand]>,
    /// The tracks, by kind.
    tracks: Vec<TrackId>,
    rows: AreaRows,
    /// Between two of these is a block.
    cuts: Vec<Timestamp>,
    blocks: Vec<OnceLock<SpanSums>>,
}

impl AreaBlocks {
    /// For areas of these tracks, or of all if there are none. No block is known yet.
    pub(super) fn new(
        model: &TraceModel,
        classes: &OpClasses,
        steps: &Arc<[StepBand]>,
        pivot: AreaGrouping,
        tracks_of_areas: &Arc<BTreeSet<TrackId>>,
    ) -> Self {
        let wanted =
            |track: &TrackId| tracks_of_areas.is_empty() || tracks_of_areas.contains(track);
        let mut tracks: Vec<TrackId> = model.track_ids().filter(wanted).collect();
        tracks.sort_by_key(|&track| model.track(track).kind);
        let cuts = cuts_of(model, &tracks, ALWAYS, BLOCK);
        Self {
            model: model.clone(),
            tracks_of_areas: Arc::clone(tracks_of_areas),
            steps: Arc::clone(steps),
            rows: AreaRows::new(model, classes, steps, pivot, &tracks),
            blocks: cuts.iter().skip(1).map(|_| OnceLock::new()).collect(),
            tracks,
            cuts,
        }
    }

    /// Whether areas like this one can use the blocks.
    pub(super) fn are_of(&self, area: &MarkedArea, steps: &Arc<[StepBand]>) -> bool {
        let has_same_steps = area.pivot != AreaGrouping::Step || self.steps == *steps;
        self.rows.pivot == area.pivot && self.tracks_of_areas == area.tracks && has_same_steps
    }

    /// Name of a row, and what its tracks contain.
    pub(super) fn title(&self, classes: &OpClasses, row: usize) -> (String, &'static str) {
        self.rows.title(&self.model, classes, row)
    }

    /// Whether a device has measured the slices of a track; it has all of a track or none.
    pub(super) fn are_timed_by_devices(&self) -> bool {
        let first = |&track: &TrackId| self.model.slices_on(track).next();
        let mut firsts = self.tracks.iter().filter_map(first);
        firsts.any(|slice| slice.device_range().is_some())
    }

    /// Finds all blocks that are not known yet.
    pub(super) fn fill_all(&self, progress: &Progress) -> Result<(), String> {
        self.fill(0..self.blocks.len(), progress)
    }

    fn fill(&self, blocks: Range<usize>, progress: &Progress) -> Result<(), String> {
        let is_unknown = |&block: &usize| self.blocks[block].get().is_none();
        let unknown: Vec<usize> = blocks.filter(is_unknown).collect();
        unknown.into_par_iter().try_for_each_init(
            || SpanAdder::new(&self.model, &self.rows, &self.tracks),
            |adder, block| {
                progress.check().map_err(|error| error.to_string())?;
                let span = TimeRange::new(self.cuts[block], self.cuts[block + 1]);
                // Another thread may have found it meanwhile.
                let _ = self.blocks[block].set(adder.block(span));
                Ok(())
            },
        )
    }

    /// The sums of an area, whose tracks these are. The error is a sentence.
    pub(super) fn sums(&self, area: TimeRange, progress: &Progress) -> Result<AreaSums, String> {
        let cuts_until = |time| self.cuts.partition_point(|&cut| cut <= time);
        let mut whole = cuts_until(area.start)..cuts_until(area.end).saturating_sub(1);
        let parts = if whole.is_empty() {
            whole = 0..0;
            vec![area]
        } else {
            let ends = (self.cuts[whole.start], self.cuts[whole.end]);
            vec![
                TimeRange::new(area.start, ends.0),
                TimeRange::new(ends.1, area.end),
            ]
        };
        let parts: Vec<TimeRange> = parts
            .into_iter()
            .flat_map(|part| spans_of(&self.model, &self.tracks, part))
            .collect();
        self.fill(whole.clone(), progress)?;
        let parts: Vec<SpanSums> = parts
            .into_par_iter()
            .map_init(
                || SpanAdder::new(&self.model, &self.rows, &self.tracks),
                |adder, span| {
                    progress.check().map_err(|error| error.to_string())?;
                    Ok(adder.part(span, area))
                },
            )
            .collect::<Result<_, String>>()?;
        let blocks = self.blocks[whole].iter().filter_map(OnceLock::get);
        let mut sums: Vec<RowOfSpans<'_>> = (0..self.rows.len())
            .map(|_| RowOfSpans::default())
            .collect();
        let mut union_ps = Picos::ZERO;
        for span in blocks.chain(&parts) {
            union_ps += span.busy;
            for row in &span.rows {
                sums[row.row as usize].add(row, span.lengths_of(row));
            }
            for slice in &span.beyond {
                let sums = &mut sums[slice.row as usize];
                sums.slices += 1;
                if area.encloses(slice.shown) {
                    sums.self_ps += slice.self_ps;
                    sums.of_beyond.push(slice.length.ps());
                } else {
                    sums.self_ps += self_of_part(&self.model, *slice, area);
                }
            }
        }
        let rows: Vec<(usize, AreaRow)> = sums
            .into_par_iter()
            .enumerate()
            .filter(|(_, sums)| sums.slices > 0)
            .map(|(row, sums)| (row, sums.row()))
            .collect();
        Ok(AreaSums {
            slices: rows.iter().map(|(_, row)| row.slices).sum(),
            rows,
            tracks: self
                .tracks
                .iter()
                .filter(|&&track| self.has_slices(track, area))
                .count(),
            union_ps,
        })
    }

    /// The labels of the slices of a row that overlap a range.
    pub(super) fn labels_of(&self, row: usize, range: TimeRange) -> BTreeSet<LabelId> {
        let model = &self.model;
        let may_occur = model
            .label_ids()
            .filter(|&label| self.rows.may_have(row, label));
        let most = may_occur.count();
        let mut labels = BTreeSet::new();
        let kind = self.rows.kind(row);
        for &track in self
            .tracks
            .iter()
            .filter(|&&track| model.track(track).kind == kind)
        {
            let of_track = self.rows.of_track(model, track);
            for lane in model.lanes(track) {
                for slice in slices_inside(model, lane, range) {
                    if labels.len() == most {
                        return labels;
                    }
                    let label = slice.label_id();
                    if of_track.of(label, slice.start()) as usize == row {
                        labels.insert(label);
                    }
                }
            }
        }
        labels
    }

    fn has_slices(&self, track: TrackId, range: TimeRange) -> bool {
        self.model
            .lanes(track)
            .iter()
            .flat_map(|lane| slices_inside(&self.model, lane, range))
            .next()
            .is_some()
    }
}

/// The slices of a lane that overlap a range.
fn slices_inside<'a>(
    model: &'a TraceModel,
    lane: &'a Lane,
    range: TimeRange,
) -> impl Iterator<Item = SliceRef<'a>> {
    // Only the first ones may have no length, at the very start.
    let outside = move |slice: &SliceRef<'_>| slice.range().intersect(range).is_none();
    model.slices_in(lane, range).skip_while(outside)
}

/// A row of an area while the sums of its spans are added.
#[derive(Default)]
struct RowOfSpans<'a> {
    slices: usize,
    total_ps: Picos,
    self_ps: Picos,
    union_ps: Picos,
    lengths: Vec<SortedList<'a>>,
    /// Lengths of slices that reach from one span into another.
    of_beyond: Vec<i64>,
    /// The sum of all lengths in lists.
    sum: i128,
}

impl<'a> RowOfSpans<'a> {
    fn add(&mut self, sums: &RowSums, lengths: SortedList<'a>) {
        self.slices += sums.slices as usize;
        self.total_ps += sums.total_ps;
        self.self_ps += sums.self_ps;
        self.union_ps += sums.union_ps;
        self.sum += sums.lengths_sum;
        if lengths.len() > 0 {
            self.lengths.push(lengths);
        }
    }

    fn row(mut self) -> AreaRow {
        self.of_beyond.sort_unstable();
        self.sum += self.of_beyond.iter().copied().map(i128::from).sum::<i128>();
        let mut lists: Vec<SortedList<'_>> = self.lengths;
        lists.push(SortedList::Long(&self.of_beyond));
        let count: usize = lists.iter().map(|list| list.len()).sum();
        let mean = (count > 0).then(|| self.sum as f64 / count as f64);
        let [median, p95] = median_and_p95(&lists);
        AreaRow {
            slices: self.slices,
            total_ps: self.total_ps,
            self_ps: self.self_ps,
            union_ps: self.union_ps,
            lengths: [mean, median, p95],
        }
    }
}

/// Cuts a range into spans of about [`PART`] slices each, in order.
fn spans_of(model: &TraceModel, tracks: &[TrackId], range: TimeRange) -> Vec<TimeRange> {
    let cuts = cuts_of(model, tracks, range, PART);
    std::iter::once(range.start)
        .chain(cuts.iter().copied())
        .zip(cuts.iter().copied().chain([range.end]))
        .map(|(start, end)| TimeRange::new(start, end))
        .collect()
}

/// Times that cut a range into spans with about as many slices each.
fn cuts_of(
    model: &TraceModel,
    tracks: &[TrackId],
    range: TimeRange,
    slices_of_span: usize,
) -> Vec<Timestamp> {
    let rows = |lane| {
        let mut slices = model.slices_in(lane, range);
        let count = slices.size_hint().0;
        slices
            .next()
            .map_or(0..0, |first| first.id().index()..first.id().index() + count)
    };
    let lanes: Vec<Range<usize>> = tracks
        .iter()
        .flat_map(|&track| model.lanes(track))
        .map(rows)
        .collect();
    let count: usize = lanes.iter().map(Range::len).sum();
    let spans = (count / slices_of_span).min(count / (SHARE * lanes.len()).max(1));
    let every = (count / (spans * SAMPLES).max(1)).max(1);
    let starts = lanes
        .into_iter()
        .flatten()
        .step_by(every)
        .map(|row| model.slice(SliceId::from_index(row)).start());
    in_time::cuts(starts.filter(|&start| start > range.start).collect())
}
