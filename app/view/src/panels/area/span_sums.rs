//! The sums of a span of time.
//!
//! The slices of a span are sorted by their start and added up: in that order the union of a row needs nothing but the end
//! of what is covered so far.

use crate::prelude::*;
use trace_model::SliceSpans;

use super::lengths::{ListPlace, SortedList, SortedLists};
use super::rows::AreaRows;
use crate::in_time;

/// On tracks of devices with more lanes, only children cover a slice: to search all lanes for each slice of a damaged file would
/// take quadratic time.
const MOST_LANES: usize = 64;
/// All of time: a slice inside it is counted as a whole.
pub(super) const ALWAYS: TimeRange = TimeRange {
    start: Timestamp::MIN,
    end: Timestamp::MAX,
};

/// What some tracks do in a span of time.
#[derive(Default)]
pub(super) struct SpanSums {
    /// Those of the rows with slices, in no order.
    pub(super) rows: Vec<RowSums>,
    lengths: SortedLists,
    /// Slices that begin in the span and reach beyond it; without sums for them, whose parts depend on an area.
    pub(super) beyond: Vec<SliceBeyond>,
    /// Time in which at least one slice runs.
    pub(super) busy: Picos,
}

impl SpanSums {
    /// Lengths of slices entirely inside the area, as they were measured.
    pub(super) fn lengths_of(&self, sums: &RowSums) -> SortedList<'_> {
        self.lengths.get(sums.lengths)
    }
}

/// The sums of a row. Slices count where they begin.
pub(super) struct RowSums {
    pub(super) row: u32,
    /// Slices cannot be more than 2^32.
    pub(super) slices: u32,
    pub(super) self_ps: Picos,
    /// The parts of slices in the span.
    pub(super) total_ps: Picos,
    /// Time in which at least one of its slices runs.
    pub(super) union_ps: Picos,
    lengths: ListPlace,
    pub(super) lengths_sum: i128,
}

#[derive(Clone, Copy)]
pub(super) struct SliceBeyond {
    pub(super) slice: SliceId,
    pub(super) row: u32,
    pub(super) shown: TimeRange,
    /// As it was measured.
    pub(super) length: Picos,
    /// If all of it is in the area.
    pub(super) self_ps: Picos,
}

/// The length of a union of ranges, which come in order of their starts. Computed without a branch, because which ranges
/// reach beyond those before them cannot be predicted.
#[derive(Clone, Copy)]
struct Union {
    time: Picos,
    /// Where the union so far ends.
    until: Timestamp,
}

impl Union {
    const EMPTY: Self = Self {
        time: Picos::ZERO,
        until: Timestamp::MIN,
    };

    #[inline]
    fn add(&mut self, range: TimeRange) {
        self.time += (range.end - self.until.max(range.start)).clamped();
        self.until = self.until.max(range.end);
    }
}

/// The part of a slice in a span.
#[derive(Clone, Copy)]
struct AreaPiece {
    range: TimeRange,
    row: u32,
}

/// A row while a span is added up.
#[derive(Clone)]
struct RowInSpan {
    slices: u32,
    self_ps: Picos,
    total_ps: Picos,
    union: Union,
    lengths: Vec<i64>,
    is_listed: bool,
}

/// Adds up spans, one after the other.
pub(super) struct SpanAdder<'a> {
    model: &'a TraceModel,
    rows: &'a AreaRows,
    tracks: &'a [TrackId],
    sums: Vec<RowInSpan>,
    /// Rows with slices in the current span.
    listed: Vec<u32>,
    /// Those of the current span, by lane and by time.
    pieces: Vec<AreaPiece>,
    sorted: Vec<AreaPiece>,
}

impl<'a> SpanAdder<'a> {
    pub(super) fn new(model: &'a TraceModel, rows: &'a AreaRows, tracks: &'a [TrackId]) -> Self {
        let empty = RowInSpan {
            slices: 0,
            self_ps: Picos::ZERO,
            total_ps: Picos::ZERO,
            union: Union::EMPTY,
            lengths: Vec::new(),
            is_listed: false,
        };
        Self {
            model,
            rows,
            tracks,
            sums: vec![empty; rows.len()],
            listed: Vec::new(),
            pieces: Vec::new(),
            sorted: Vec::new(),
        }
    }

    /// The sums of a span for areas around it, whose slices that begin before it are counted elsewhere.
    pub(super) fn block(&mut self, span: TimeRange) -> SpanSums {
        self.sums_of(span, ALWAYS, true)
    }

    /// The sums of a span of an area, with the slices that begin before the area if it is the first.
    pub(super) fn part(&mut self, span: TimeRange, area: TimeRange) -> SpanSums {
        self.sums_of(span, area, false)
    }

    fn sums_of(&mut self, span: TimeRange, area: TimeRange, is_block: bool) -> SpanSums {
        let model = self.model;
        let mut out = SpanSums::default();
        self.pieces.clear();
        for &track in self.tracks {
            let rows = self.rows.of_track(model, track);
            for SliceSpans {
                slice,
                shown,
                measured,
                ..
            } in model
                .lanes(track)
                .iter()
                .flat_map(|lane| model.spans_in(lane, span))
            {
                if !shown.overlaps(area) {
                    continue;
                }
                let inside = clipped(shown, area);
                let row = rows.of(slice.label_id(), shown.start);
                let range = clipped(inside, span);
                self.pieces.push(AreaPiece { range, row });
                let sums = &mut self.sums[row as usize];
                sums.total_ps += range.dur();
                if !std::mem::replace(&mut sums.is_listed, true) {
                    self.listed.push(row);
                }
                if inside.start < span.start {
                    continue;
                }
                let self_ps = self_inside(model, slice, inside, area);
                if is_block && shown.end > span.end {
                    out.beyond.push(SliceBeyond {
                        slice: slice.id(),
                        row,
                        shown,
                        length: measured.dur(),
                        self_ps,
                    });
                    continue;
                }
                sums.slices += 1;
                sums.self_ps += self_ps;
                if area.encloses(shown) {
                    sums.lengths.push(measured.dur().ps());
                }
            }
        }
        out.busy = self.add_unions();
        for row in self.listed.drain(..) {
            let sums = &mut self.sums[row as usize];
            sums.is_listed = false;
            out.rows.push(RowSums {
                row,
                lengths_sum: sums.lengths.iter().copied().map(i128::from).sum(),
                slices: std::mem::take(&mut sums.slices),
                self_ps: std::mem::take(&mut sums.self_ps),
                total_ps: std::mem::take(&mut sums.total_ps),
                union_ps: std::mem::replace(&mut sums.union, Union::EMPTY).time,
                lengths: out.lengths.add(&mut sums.lengths),
            });
        }
        out.rows.shrink_to_fit();
        out.lengths.shrink();
        out
    }

    /// The time in which anything runs.
    fn add_unions(&mut self) -> Picos {
        in_time::sort(&self.pieces, &mut self.sorted, |piece| piece.range.start);
        let mut busy = Union::EMPTY;
        for piece in &self.sorted {
            self.sums[piece.row as usize].union.add(piece.range);
            busy.add(piece.range);
        }
        busy.time
    }
}

/// The part of a range inside another one that it overlaps or touches.
#[inline]
fn clipped(range: TimeRange, inside: TimeRange) -> TimeRange {
    TimeRange {
        start: range.start.max(inside.start),
        end: range.end.min(inside.end),
    }
}

/// [`self_inside`] of the part of a slice inside an area.
pub(super) fn self_of_part(model: &TraceModel, of: SliceBeyond, area: TimeRange) -> Picos {
    self_inside(model, model.slice(of.slice), clipped(of.shown, area), area)
}

/// The time of a slice inside the area in which no slice of its track runs that began later: see [`SliceRef::self_dur`].
fn self_inside(
    model: &TraceModel,
    slice: SliceRef<'_>,
    inside: TimeRange,
    area: TimeRange,
) -> Picos {
    if slice.children_dur() == Picos::ZERO {
        return inside.dur();
    }
    // An area refers to the timeline; durations by the device clock may differ, and so may what overlaps.
    let is_timed_by_device = slice.device_range().is_some();
    if area.encloses(slice.range()) && !is_timed_by_device {
        return slice.self_dur();
    }
    (inside.dur() - covered_inside(model, slice, inside)).clamped()
}

/// The time in `inside` in which slices of the same track run that began later, on the timeline or by the clock of the
/// device.
fn covered_inside(model: &TraceModel, slice: SliceRef<'_>, inside: TimeRange) -> Picos {
    let begins_later = |spans: &SliceSpans<'_>| {
        (spans.shown.start, spans.slice.id()) > (slice.start(), slice.id())
    };
    let is_timed_by_device = slice.device_range().is_some();
    let lanes = model.lanes(slice.track());
    // Here, every slice with others inside is asked about, not only those at the ends of the area.
    let lanes = if is_timed_by_device && lanes.len() > MOST_LANES {
        &[]
    } else {
        lanes
    };
    let later = lanes
        .iter()
        .flat_map(|lane| model.spans_in(lane, inside))
        .filter(begins_later);
    let children = is_timed_by_device
        .then(|| slice.children())
        .into_iter()
        .flatten()
        .map(SliceRef::range)
        .filter(|child| child.overlaps(inside));
    let ranges = later.map(|spans| spans.shown).chain(children);
    let mut ranges: Vec<TimeRange> = ranges.map(|range| clipped(range, inside)).collect();
    ranges.sort_unstable_by_key(|range| range.start);
    let mut union = Union::EMPTY;
    for range in ranges {
        union.add(range);
    }
    union.time
}
