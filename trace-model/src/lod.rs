//! Level of detail: what to draw for a lane whose slices are narrower than a pixel.
//!
//! A [`LaneMipmap`] is a tree over the rows of a lane with eight children per node. Each node holds the longest slice
//! below it and the time covered by slices before it, so a query over any range of rows takes logarithmic time. A query
//! walks the lane in buckets of the requested resolution. Buckets are aligned to multiples of the resolution so that
//! the image does not shimmer during panning:
//!
//! ```text
//! slices  AAAAAAAAAAAA b c  dd e        FFFFFFFFFF
//! buckets |.......|.......|.......|.......|.......|
//! out     A(1)         [b c dd e → longest dd, 4]  F(1)
//! ```

use std::ops::Range;

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};

use crate::model::TraceModel;
use crate::pause::{Pauses, may_pause};
use crate::slices::SliceId;
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::Lane;

const ARITY: usize = 8;

/// One thing to draw: a slice, or several that are too narrow to tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LodSlice {
    /// The longest of them.
    pub representative: SliceId,
    /// From the start of the first to the end of the last.
    pub range: TimeRange,
    /// Number of slices.
    pub count: u32,
    /// The part of `range` that slices cover.
    pub occupied: Picos,
}

/// The mipmap of one lane. It stores no times and needs its model.
#[derive(Debug)]
pub struct LaneMipmap {
    /// `levels[k][i]` is the row of the longest slice among rows
    /// `8^(k+1) · i ..` of the lane.
    levels: Vec<Vec<u32>>,
    /// Time covered by slices before block `i` of eight rows.
    covered_before: Vec<i64>,
}

/// The mipmaps of all lanes of a model.
#[derive(Debug)]
pub struct LodIndex {
    lanes: Vec<LaneMipmap>,
}

impl LodIndex {
    /// Builds all mipmaps, on all CPU cores.
    pub fn build(model: &TraceModel) -> Self {
        Self { lanes: model.all_lanes().into_par_iter().map(|lane| LaneMipmap::build(model, lane)).collect() }
    }

    /// The mipmap of `lane`, by its index in [`TraceModel::all_lanes`](crate::Columns::all_lanes).
    pub fn lane(&self, index: usize) -> &LaneMipmap {
        &self.lanes[index]
    }

    /// Bytes of heap memory in use.
    pub fn heap_bytes(&self) -> usize {
        self.lanes
            .iter()
            .map(|lane| {
                lane.levels.iter().map(|level| level.capacity() * 4).sum::<usize>() + lane.covered_before.capacity() * 8
            })
            .sum()
    }
}

impl LaneMipmap {
    /// Builds the mipmap of one lane.
    pub fn build(model: &TraceModel, lane: &Lane) -> Self {
        let dur = |row: u32| model.slices.durs.get(row as usize);
        let longest = |rows: &mut dyn Iterator<Item = u32>| {
            // The first of equally long slices, so that the result does not depend on the shape of the tree.
            rows.reduce(|best, row| if dur(row) > dur(best) { row } else { best })
        };
        let rows = lane.rows.clone();
        let mut covered_before = Vec::with_capacity(rows.len() / ARITY + 2);
        let mut covered = 0_i64;
        let mut pauses = Pauses::default();
        for block in (rows.start..rows.end).step_by(ARITY) {
            pauses.add(ARITY as u32);
            covered_before.push(covered);
            covered =
                (block..(block + ARITY as u32).min(rows.end)).fold(covered, |sum, row| sum.saturating_add(dur(row)));
        }
        covered_before.push(covered);

        let mut levels: Vec<Vec<u32>> = Vec::new();
        if rows.len() > ARITY {
            levels.push(
                (rows.start..rows.end)
                    .step_by(ARITY)
                    .inspect(|_| pauses.add(ARITY as u32))
                    .filter_map(|block| longest(&mut (block..(block + ARITY as u32).min(rows.end))))
                    .collect(),
            );
            while let Some(below) = levels.last().filter(|level| level.len() > ARITY) {
                let next = below.chunks(ARITY).filter_map(|nodes| longest(&mut nodes.iter().copied())).collect();
                levels.push(next);
            }
        }
        // Most lanes are short, and there may be many.
        may_pause();
        Self { levels, covered_before }
    }

    /// Appends to `out` the items to draw for `range` at `resolution` per pixel, in time order and without overlap.
    /// Every slice of the range is in exactly one item. Takes logarithmic time per item.
    pub fn query(&self, model: &TraceModel, lane: &Lane, range: TimeRange, resolution: Picos, out: &mut Vec<LodSlice>) {
        let res = resolution.ps().max(1);
        let starts = &model.slices.starts;
        let end_of = |row: u32| starts[row as usize].saturating_add(model.slices.durs.get(row as usize));
        let rows = model.rows_overlapping(lane, range);
        let mut row = rows.start;
        while row < rows.end {
            let start = starts[row as usize];
            let end = end_of(row);
            if end.saturating_sub(start) >= res {
                out.push(single(row, start, end));
                row += 1;
                continue;
            }
            // All slices that start in this bucket, up to the first that is wide enough to be drawn alone.
            let bucket_end = start.saturating_sub(start.rem_euclid(res)).saturating_add(res);
            let mut stop = gallop(row + 1, rows.end, |r| starts[r as usize] < bucket_end);
            // Only the last slice of a bucket can be wide, because a wide one covers the rest of the bucket.
            if stop - row > 1 && end_of(stop - 1).saturating_sub(starts[stop as usize - 1]) >= res {
                stop -= 1;
            }
            if stop - row == 1 {
                out.push(single(row, start, end));
            } else {
                out.push(LodSlice {
                    representative: SliceId(self.longest(model, lane, row..stop)),
                    range: TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end_of(stop - 1))),
                    count: stop - row,
                    occupied: Picos::from_ps(
                        self.covered_before(model, lane, stop) - self.covered_before(model, lane, row),
                    ),
                });
            }
            row = stop;
        }
    }

    /// Row of the longest slice among `rows`; the first of equally long ones.
    fn longest(&self, model: &TraceModel, lane: &Lane, rows: Range<u32>) -> u32 {
        let dur = |row: u32| model.slices.durs.get(row as usize);
        let better = |best: u32, row: u32| if dur(row) > dur(best) { row } else { best };
        let base = lane.rows.start;
        let mut best = rows.start;
        let (mut at, end) = ((rows.start - base) as usize, (rows.end - base) as usize);
        while at < end {
            // The largest aligned node that starts here and fits.
            let mut width = 1;
            let mut node = None;
            for level in &self.levels {
                let wider = width * ARITY;
                if !at.is_multiple_of(wider) || at + wider > end {
                    break;
                }
                width = wider;
                node = Some(level[at / width]);
            }
            best = better(best, node.unwrap_or(base + at as u32));
            at += width;
        }
        best
    }

    /// Time covered by the slices of the lane before `row`.
    fn covered_before(&self, model: &TraceModel, lane: &Lane, row: u32) -> i64 {
        let offset = (row - lane.rows.start) as usize;
        let block = offset / ARITY;
        let first = lane.rows.start + (block * ARITY) as u32;
        (first..row).fold(self.covered_before[block], |sum, r| sum.saturating_add(model.slices.durs.get(r as usize)))
    }
}

fn single(row: u32, start: i64, end: i64) -> LodSlice {
    let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
    LodSlice { representative: SliceId(row), range, count: 1, occupied: range.dur() }
}

/// First row in `from..to` for which `before` is false, given that it is true for a prefix: exponential steps, then
/// bisection, which is fast if the result is near.
fn gallop(from: u32, to: u32, before: impl Fn(u32) -> bool) -> u32 {
    let mut low = from;
    let mut step = 1;
    while low < to && before(low) {
        let next = low.saturating_add(step).min(to);
        if next == to || !before(next) {
            // The result is in low..=next.
            let (mut a, mut b) = (low + 1, next);
            while a < b {
                let mid = a + (b - a) / 2;
                if before(mid) { a = mid + 1 } else { b = mid }
            }
            return a;
        }
        low = next;
        step *= 2;
    }
    low
}
