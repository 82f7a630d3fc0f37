//! Level of detail: what to draw for a lane whose slices are narrower than a pixel.
//!
//! A [`LaneMipmap`] is a tree over blocks of 64 rows of a lane, with eight children per node. Each node holds the longest
//! slice below it, each block the time covered by slices before it. What some rows have in common takes a logarithmic
//! number of nodes, and the durations of at most two blocks: to read these in sequence takes less time than to wait for
//! memory a few times. A query walks the lane in buckets of the requested resolution. Buckets are aligned to multiples of
//! the resolution so that the image does not shimmer during panning:
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

/// Rows of a block.
const BLOCK: usize = 64;
/// Children of a node.
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

/// The longest of some slices; the first of equally long ones.
#[derive(Clone, Copy, Debug)]
struct Longest {
    row: u32,
    dur: i64,
}

impl Longest {
    /// Shorter than all slices.
    const NONE: Self = Self { row: 0, dur: -1 };

    /// The longer one of two, of which `later` comes after `self`.
    fn or(self, later: Self) -> Self {
        if later.dur > self.dur { later } else { self }
    }
}

/// The mipmap of one lane. It needs its model.
#[derive(Debug)]
pub struct LaneMipmap {
    /// `levels[0][i]` is the longest slice of block `i`, `levels[k + 1][i]` that of the nodes `8i ..` of `levels[k]`. All
    /// blocks and nodes are complete.
    levels: Vec<Vec<Longest>>,
    /// Time covered by slices before each block, and before what follows the last complete one.
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
                let nodes: usize = lane.levels.iter().map(Vec::capacity).sum();
                nodes * size_of::<Longest>() + lane.covered_before.capacity() * 8
            })
            .sum()
    }
}

impl LaneMipmap {
    /// Builds the mipmap of one lane.
    pub fn build(model: &TraceModel, lane: &Lane) -> Self {
        let blocks = lane.rows.len() / BLOCK;
        let mut covered_before = Vec::with_capacity(blocks + 1);
        let mut level = Vec::with_capacity(blocks);
        let mut covered = 0_i64;
        let mut pauses = Pauses::default();
        covered_before.push(covered);
        for block in 0..blocks as u32 {
            pauses.add(BLOCK as u32);
            let from = lane.rows.start + block * BLOCK as u32;
            let (longest, time) = scan(model, from..from + BLOCK as u32);
            covered = covered.saturating_add(time);
            covered_before.push(covered);
            level.push(longest);
        }
        let mut levels = Vec::new();
        while !level.is_empty() {
            let nodes = level.chunks_exact(ARITY);
            let above = nodes.filter_map(|nodes| nodes.iter().copied().reduce(Longest::or)).collect();
            levels.push(std::mem::replace(&mut level, above));
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
        // Buckets next to each other have about as many slices.
        let mut usual = 0;
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
            let mut stop = search_near(row + 1, rows.end, usual, |r| starts[r as usize] < bucket_end);
            usual = stop - row - 1;
            // Only the last slice of a bucket can be wide, because a wide one covers the rest of the bucket.
            if stop - row > 1 && end_of(stop - 1).saturating_sub(starts[stop as usize - 1]) >= res {
                stop -= 1;
            }
            if stop - row == 1 {
                out.push(single(row, start, end));
            } else {
                let (longest, occupied) = self.summary(model, lane, row..stop);
                out.push(LodSlice {
                    representative: SliceId(longest.row),
                    range: TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end_of(stop - 1))),
                    count: stop - row,
                    occupied: Picos::from_ps(occupied),
                });
            }
            row = stop;
        }
    }

    /// The longest slice of some rows, and the time that all of them cover.
    fn summary(&self, model: &TraceModel, lane: &Lane, rows: Range<u32>) -> (Longest, i64) {
        let in_lane = |row: u32| (row - lane.rows.start) as usize;
        let blocks = in_lane(rows.start).div_ceil(BLOCK)..in_lane(rows.end) / BLOCK;
        if blocks.is_empty() {
            return scan(model, rows);
        }
        let row = |block: usize| lane.rows.start + (block * BLOCK) as u32;
        let (first, before) = scan(model, rows.start..row(blocks.start));
        let (last, after) = scan(model, row(blocks.end)..rows.end);
        let inside = self.covered_before[blocks.end] - self.covered_before[blocks.start];
        (first.or(self.longest_of(blocks)).or(last), before.saturating_add(inside).saturating_add(after))
    }

    /// The longest slice of some blocks.
    fn longest_of(&self, blocks: Range<usize>) -> Longest {
        let mut longest = Longest::NONE;
        let mut at = blocks.start;
        while at < blocks.end {
            // The largest node that begins here and fits.
            let (mut level, mut width) = (0, 1);
            while at.is_multiple_of(width * ARITY) && at + width * ARITY <= blocks.end {
                (level, width) = (level + 1, width * ARITY);
            }
            longest = longest.or(self.levels[level][at / width]);
            at += width;
        }
        longest
    }
}

/// The longest slice of some rows, fewer than two blocks, and the time that all of them cover.
fn scan(model: &TraceModel, rows: Range<u32>) -> (Longest, i64) {
    let mut durs = [0; 2 * BLOCK];
    let durs = &mut durs[..rows.len()];
    model.slices.durs.read(rows.start as usize, durs);
    let Some(dur) = durs.iter().copied().max() else { return (Longest::NONE, 0) };
    let first = durs.iter().position(|&other| other == dur).unwrap_or_default();
    let time = match dur.checked_mul(durs.len() as i64) {
        // Cannot overflow, and additions side by side take a fraction of the time.
        Some(_) => durs.iter().sum(),
        None => durs.iter().fold(0, |sum: i64, &dur| sum.saturating_add(dur)),
    };
    (Longest { row: rows.start + first as u32, dur }, time)
}

fn single(row: u32, start: i64, end: i64) -> LodSlice {
    let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
    LodSlice { representative: SliceId(row), range, count: 1, occupied: range.dur() }
}

/// First row in `from..to` for which `before` is false, given that it is true for a prefix. Fast if the result is near
/// `from + guess`: steps that double lead away from there, then the last step is bisected.
fn search_near(from: u32, to: u32, guess: u32, before: impl Fn(u32) -> bool) -> u32 {
    let near = from.saturating_add(guess).min(to);
    let mut step = 1 + guess / 32;
    // The result is in low..=high.
    let (mut low, mut high) = (from, near);
    if near < to && before(near) {
        low = near + 1;
        loop {
            high = low.saturating_add(step).min(to);
            if high == to || !before(high) {
                break;
            }
            low = high + 1;
            step = step.saturating_mul(2);
        }
    } else {
        while high > from {
            let back = high.saturating_sub(step).max(from);
            if before(back) {
                low = back + 1;
                break;
            }
            high = back;
            step = step.saturating_mul(2);
        }
    }
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}
