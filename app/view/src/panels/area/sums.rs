//! The sums of an area, collected on all CPU cores.
//!
//! The first pass looks which labels occur, and names the rows ([`super::rows`]). The second one cuts time into spans, sorts
//! the slices of each by their start, and adds them up: in that order the union of a row needs nothing but the end of what
//! is covered so far. A slice that reaches from one span into the next counts once; its union is that of its parts.
//!
//! ```text
//! spans    |            |            |
//! lane 1     aaaa  bbbbbbbbbb  aaa
//! lane 2       aaaa       c cccccc         a: 2 slices, union until the end of the second one; b: cut into two parts
//! ```

use std::collections::BTreeSet;
use std::ops::Range;

use analysis::OpClasses;
use analysis::math::quantile::rising_in_place;
use importers::Progress;
use rayon::prelude::{
    IndexedParallelIterator as _, IntoParallelIterator as _, ParallelIterator as _,
};
use trace_model::{
    LabelId, Picos, SliceId, SliceRef, SliceSpans, TimeRange, Timestamp, TraceModel, TrackId,
};

use super::marked::MarkedArea;
use super::rows::{AreaRows, RowKeys};
use crate::in_time::{self, SAMPLES};
use crate::timeline::bands::StepBand;

/// About how many slices are sorted at a time.
const SPAN: usize = 1 << 16;
/// Mean number of slices of a lane in such a span: below this, looking for them costs more than sorting.
const SHARE: usize = 16;
/// On tracks of devices with more lanes, only children cover a slice: to search all lanes for each slice of a damaged file would
/// take quadratic time.
const MOST_LANES: usize = 64;

#[derive(Debug, Default)]
pub(super) struct AreaRow {
    pub(super) slices: usize,
    pub(super) total_ps: Picos,
    pub(super) self_ps: Picos,
    pub(super) labels: BTreeSet<LabelId>,
    /// Time in which at least one of its slices runs.
    pub(super) union_ps: Picos,
    /// Mean, median and 95th percentile of slices entirely inside the area; `None` without any.
    pub(super) lengths: [Option<f64>; 3],
}

/// The rows, with names and kinds of their tracks, and the sums of everything.
pub(super) struct AreaSums {
    pub(super) rows: Vec<((String, &'static str), AreaRow)>,
    pub(super) slices: usize,
    pub(super) tracks: usize,
    pub(super) union_ps: Picos,
}

/// Collects the sums. The error is a sentence.
pub(super) fn collect(
    model: &TraceModel,
    classes: &OpClasses,
    steps: &[StepBand],
    area: &MarkedArea,
    progress: &Progress,
) -> Result<AreaSums, String> {
    let wanted = |track: &TrackId| area.tracks.is_empty() || area.tracks.contains(track);
    let mut tracks: Vec<TrackId> = model.track_ids().filter(wanted).collect();
    tracks.sort_by_key(|&track| model.track(track).kind);
    let keys = RowKeys {
        pivot: area.pivot,
        steps,
    };
    let rows = AreaRows::new(model, classes, area, keys, &tracks, progress)?;
    let spans = spans_of(model, &tracks, area.range);
    let empty = || SpanSums {
        model,
        area: area.range,
        keys,
        tracks: &tracks,
        of_rows: &rows,
        sums: (0..rows.rows.len())
            .map(|_| AreaRowSums::default())
            .collect(),
        unions: vec![Union::EMPTY; rows.rows.len()],
        busy: Union::EMPTY,
        pieces: Vec::new(),
        sorted: Vec::new(),
    };
    // Few groups of spans, because each has sums of its own.
    let at_least = spans.len().div_ceil(4 * rayon::current_num_threads());
    let found: Vec<SpanSums<'_>> = spans
        .into_par_iter()
        .with_min_len(at_least)
        .try_fold(empty, |mut sums, span| {
            progress.check().map_err(|error| error.to_string())?;
            sums.add(span);
            Ok(sums)
        })
        .collect::<Result<_, String>>()?;
    let union_ps = found.iter().map(|found| found.busy.time).sum();
    // The sums of each row.
    let mut parts: Vec<Vec<(AreaRowSums, Union)>> = rows
        .rows
        .iter()
        .map(|_| Vec::with_capacity(found.len()))
        .collect();
    for found in found {
        for (parts, sums) in parts
            .iter_mut()
            .zip(found.sums.into_iter().zip(found.unions))
        {
            parts.push(sums);
        }
    }
    let tracks = rows.tracks;
    let rows: Vec<_> = parts
        .into_par_iter()
        .zip(rows.rows)
        .map(|(parts, (name, kind, labels))| {
            (
                (name, kind),
                AreaRow {
                    labels,
                    ..AreaRow::of(&parts)
                },
            )
        })
        .collect();
    let slices = rows.iter().map(|(_, row)| row.slices).sum();
    Ok(AreaSums {
        rows,
        slices,
        tracks,
        union_ps,
    })
}

/// Spans of the area with about as many slices each, in order.
fn spans_of(model: &TraceModel, tracks: &[TrackId], area: TimeRange) -> Vec<TimeRange> {
    let rows = |lane| {
        let mut slices = model.slices_in(lane, area);
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
    let at_least = 2 * rayon::current_num_threads();
    let spans = (count / SPAN)
        .max(at_least)
        .min(count / (SHARE * lanes.len()).max(1));
    let every = (count / (spans * SAMPLES).max(1)).max(1);
    let starts = lanes
        .into_iter()
        .flatten()
        .step_by(every)
        .map(|row| model.slice(SliceId::from_index(row)).start());
    let cuts = in_time::cuts(starts.filter(|&start| start > area.start).collect());
    let starts = std::iter::once(area.start).chain(cuts.iter().copied());
    starts
        .zip(cuts.iter().copied().chain([area.end]))
        .map(|(start, end)| TimeRange::new(start, end))
        .collect()
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

/// The sums of a row in some spans.
#[derive(Clone, Default)]
struct AreaRowSums {
    slices: usize,
    total_ps: Picos,
    self_ps: Picos,
    /// Lengths of the slices entirely inside the area.
    lengths: Vec<f64>,
}

/// The part of a slice in a span.
#[derive(Clone, Copy)]
struct AreaPiece {
    range: TimeRange,
    row: u32,
}

/// What a thread has found in some spans.
struct SpanSums<'a> {
    model: &'a TraceModel,
    area: TimeRange,
    keys: RowKeys<'a>,
    tracks: &'a [TrackId],
    of_rows: &'a AreaRows,
    /// The sums of each row.
    sums: Vec<AreaRowSums>,
    unions: Vec<Union>,
    /// The time in which anything runs.
    busy: Union,
    /// Those of the current span, by lane and by time.
    pieces: Vec<AreaPiece>,
    sorted: Vec<AreaPiece>,
}

impl SpanSums<'_> {
    /// Adds a span that comes after those before.
    fn add(&mut self, span: TimeRange) {
        let (model, area) = (self.model, self.area);
        self.pieces.clear();
        for &track in self.tracks {
            let Some(rows) = self.of_rows.of_keys.get(&model.track(track).kind) else {
                continue;
            };
            for SliceSpans { slice, shown, .. } in model
                .lanes(track)
                .iter()
                .flat_map(|lane| model.spans_in(lane, span))
            {
                if !shown.overlaps(area) {
                    continue;
                }
                let inside = clipped(shown, area);
                let row = rows[self.keys.of(track, slice.label_id(), shown.start)];
                if inside.start >= span.start {
                    let sums = &mut self.sums[row as usize];
                    sums.slices += 1;
                    sums.total_ps += inside.dur();
                    sums.self_ps += self_inside(model, slice, inside, area);
                    if area.encloses(shown) {
                        sums.lengths.push(inside.dur().as_ps_f64());
                    }
                }
                self.pieces.push(AreaPiece {
                    range: clipped(inside, span),
                    row,
                });
            }
        }
        in_time::sort(&self.pieces, &mut self.sorted, |piece| piece.range.start);
        let mut busy = self.busy;
        for piece in &self.sorted {
            self.unions[piece.row as usize].add(piece.range);
            busy.add(piece.range);
        }
        self.busy = busy;
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

impl AreaRow {
    /// From the sums of all spans.
    fn of(parts: &[(AreaRowSums, Union)]) -> Self {
        let sum = |of: fn(&(AreaRowSums, Union)) -> Picos| parts.iter().map(of).sum();
        let mut lengths = parts
            .iter()
            .map(|(sums, _)| sums.lengths.as_slice())
            .collect::<Vec<_>>()
            .concat();
        let mean =
            (!lengths.is_empty()).then(|| lengths.iter().sum::<f64>() / lengths.len() as f64);
        let [median, p95] = rising_in_place(&mut lengths, [0.5, 0.95]);
        Self {
            slices: parts.iter().map(|(sums, _)| sums.slices).sum(),
            total_ps: sum(|(sums, _)| sums.total_ps),
            self_ps: sum(|(sums, _)| sums.self_ps),
            labels: BTreeSet::new(),
            union_ps: sum(|(_, union)| union.time),
            lengths: [mean, median, p95],
        }
    }
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
        .flatten();
    let children = children
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
