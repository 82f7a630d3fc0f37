//! Level of detail: what a lane does in spans of time that hold many slices.
//!
//! [`ClassSums`] hold, for each block of rows of a lane, the time that slices of each class cover before it. What a class
//! covers between two times is the difference of two such sums and of the slices between them and the nearest blocks, so
//! it is exact for any times, and takes the same time however many slices lie between them:
//!
//! ```text
//! slices  AAAABBBBBBAAABAAAAAAABBBBBBB
//! sums    |A0 B0    |A7 B7    |A13 B11
//! times        |-------------|          A(second) - A(first), B(second) - B(first)
//! ```
//!
//! A [`LaneMipmap`] is a tree over the rows of a lane with eight children per node, each with the longest slice below
//! it, which finds the slices that are long enough to be seen alone.

use std::mem::swap;
use std::ops::Range;

use rayon::prelude::{IntoParallelIterator as _, ParallelIterator as _};

use crate::model::TraceModel;
use crate::op::LabelId;
use crate::pause::{Pauses, may_pause};
use crate::slices::SliceId;
use crate::time::{Picos, TimeRange, Timestamp};
use crate::track::Lane;

const ARITY: usize = 8;
/// Rows between two entries of [`ClassSums`].
const BLOCK: usize = 64;

/// What is found once about all lanes of a model.
#[derive(Debug)]
pub struct LodIndex {
    lanes: Vec<(LaneMipmap, ClassSums)>,
}

impl LodIndex {
    /// For these classes of labels, on all CPU cores.
    pub fn build(model: &TraceModel, class_of: impl Fn(LabelId) -> u8 + Sync) -> Self {
        let of_lane = |lane| {
            (
                LaneMipmap::build(model, lane),
                ClassSums::build(model, lane, &class_of),
            )
        };
        Self {
            lanes: model.all_lanes().into_par_iter().map(of_lane).collect(),
        }
    }

    /// The mipmap of `lane`, by its index in [`TraceModel::all_lanes`](crate::TraceColumns::all_lanes).
    pub fn lane(&self, index: usize) -> &LaneMipmap {
        &self.lanes[index].0
    }

    /// The sums of a lane.
    pub fn sums(&self, index: usize) -> &ClassSums {
        &self.lanes[index].1
    }

    /// Bytes of heap memory in use.
    pub fn heap_bytes(&self) -> usize {
        let of_mipmap = |mipmap: &LaneMipmap| {
            mipmap
                .levels
                .iter()
                .map(|level| level.capacity() * 4)
                .sum::<usize>()
        };
        let of_sums = |sums: &ClassSums| sums.classes.len() + sums.before.capacity() * 8;
        self.lanes
            .iter()
            .map(|(mipmap, sums)| of_mipmap(mipmap) + of_sums(sums))
            .sum()
    }
}

/// The time that slices of each class cover before each block of rows of a lane. It stores no times of slices and needs
/// its model.
#[derive(Debug)]
pub struct ClassSums {
    /// Those that occur in the lane, ascending.
    classes: Box<[u8]>,
    /// By block and class.
    before: Vec<i64>,
}

/// A place in a lane while [`ClassSums::between`] walks along it.
struct SumCursor {
    row: u32,
    /// Covered by all slices before `row`.
    until_row: Vec<i64>,
    /// Covered before the time.
    until_time: Vec<i64>,
}

/// By class: its place among the classes of a lane.
type ClassPlaces = [u8; 256];

impl ClassSums {
    /// The sums of one lane.
    pub fn build(model: &TraceModel, lane: &Lane, class_of: impl Fn(LabelId) -> u8) -> Self {
        let mut occurs = [false; 256];
        for label in model.labels_of(model.lane_rows(lane)) {
            occurs[usize::from(class_of(label))] = true;
        }
        let classes: Box<[u8]> = (0..=u8::MAX)
            .filter(|&class| occurs[usize::from(class)])
            .collect();
        let mut sums = Self {
            before: Vec::with_capacity((lane.len() / BLOCK + 2) * classes.len()),
            classes,
        };
        let places = sums.places();
        let mut covered = vec![0; sums.classes.len()];
        let mut pauses = Pauses::default();
        for first in lane.rows.clone().step_by(BLOCK) {
            pauses.add(BLOCK as u32);
            sums.before.extend_from_slice(&covered);
            add_rows(
                model,
                first..lane.rows.end.min(first + BLOCK as u32),
                &class_of,
                &places,
                &mut covered,
            );
        }
        sums.before.extend_from_slice(&covered);
        // Most lanes are short, and there may be many.
        may_pause();
        sums
    }

    /// The classes that occur in the lane, ascending.
    pub fn classes(&self) -> &[u8] {
        &self.classes
    }

    /// For each two neighbours of `times`, which ascend, calls `each` with the time that every class covers between
    /// them, in picoseconds and in the order of [`Self::classes`], and the slices that begin there.
    pub fn between(
        &self,
        model: &TraceModel,
        lane: &Lane,
        class_of: impl Fn(LabelId) -> u8,
        times: impl IntoIterator<Item = Timestamp>,
        mut each: impl FnMut(&[i64], Range<SliceId>),
    ) {
        let places = self.places();
        let zero = vec![0; self.classes.len()];
        let mut cursor = SumCursor {
            row: lane.rows.start,
            until_row: zero.clone(),
            until_time: zero.clone(),
        };
        let (mut before, mut covered) = (zero.clone(), zero);
        let mut times = times.into_iter();
        if let Some(first) = times.next() {
            self.advance(model, lane, (&class_of, &places), &mut cursor, first.ps());
        }
        for time in times {
            let row = cursor.row;
            // It is overwritten next.
            swap(&mut before, &mut cursor.until_time);
            self.advance(model, lane, (&class_of, &places), &mut cursor, time.ps());
            for ((covered, before), until) in
                covered.iter_mut().zip(&before).zip(&cursor.until_time)
            {
                *covered = until.wrapping_sub(*before).max(0);
            }
            each(&covered, SliceId(row)..SliceId(cursor.row));
        }
    }

    /// Moves a cursor forward to a time.
    fn advance(
        &self,
        model: &TraceModel,
        lane: &Lane,
        (class_of, places): (&impl Fn(LabelId) -> u8, &ClassPlaces),
        cursor: &mut SumCursor,
        time: i64,
    ) {
        let starts = &model.slices.starts;
        let row = gallop(cursor.row, lane.rows.end, |row| starts[row as usize] < time);
        let block = (row - lane.rows.start) as usize / BLOCK;
        let of_block = lane.rows.start + (block * BLOCK) as u32;
        if of_block > cursor.row {
            let count = self.classes.len();
            cursor
                .until_row
                .copy_from_slice(&self.before[block * count..(block + 1) * count]);
            cursor.row = of_block;
        }
        add_rows(
            model,
            cursor.row..row,
            class_of,
            places,
            &mut cursor.until_row,
        );
        cursor.row = row;
        cursor.until_time.copy_from_slice(&cursor.until_row);
        // Only the last slice that begins before the time can reach beyond it.
        if row > lane.rows.start {
            let last = row as usize - 1;
            let beyond = starts[last]
                .saturating_add(model.slices.durs.get(last))
                .saturating_sub(time);
            let place =
                usize::from(places[usize::from(class_of(LabelId(model.slices.labels[last])))]);
            cursor.until_time[place] = cursor.until_time[place].wrapping_sub(beyond.max(0));
        }
    }

    fn places(&self) -> ClassPlaces {
        let mut places = [0; 256];
        for (place, &class) in (0..).zip(&self.classes) {
            places[usize::from(class)] = place;
        }
        places
    }
}

/// Adds the length of each of these rows to the sum of its class.
fn add_rows(
    model: &TraceModel,
    rows: Range<u32>,
    class_of: impl Fn(LabelId) -> u8,
    places: &ClassPlaces,
    sums: &mut [i64],
) {
    let mut durs = [0; BLOCK];
    let mut from = rows.start as usize;
    while from < rows.end as usize {
        let count = BLOCK.min(rows.end as usize - from);
        model.slices.durs.read(from, &mut durs[..count]);
        for (&dur, &label) in durs[..count]
            .iter()
            .zip(&model.slices.labels[from..from + count])
        {
            let sum = &mut sums[usize::from(places[usize::from(class_of(LabelId(label)))])];
            *sum = sum.wrapping_add(dur);
        }
        from += count;
    }
}

/// The longest slices of one lane. It stores no times and needs its model.
#[derive(Debug)]
pub struct LaneMipmap {
    /// `levels[k][i]` is the row of the longest slice among rows
    /// `8^(k+1) · i ..` of the lane.
    levels: Vec<Vec<u32>>,
}

/// Several slices of a lane.
#[derive(Clone, Copy, Debug)]
pub struct LodSlices {
    /// The longest of them; of equal ones the first.
    pub longest: SliceId,
    /// Number of slices.
    pub count: u32,
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
        let mut pauses = Pauses::default();
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
                let next = below
                    .chunks(ARITY)
                    .filter_map(|nodes| longest(&mut nodes.iter().copied()))
                    .collect();
                levels.push(next);
            }
        }
        Self { levels }
    }

    /// The slices of a range; `None` if there are none. Takes logarithmic time.
    pub fn slices(&self, model: &TraceModel, lane: &Lane, range: TimeRange) -> Option<LodSlices> {
        let rows = model.rows_overlapping(lane, range);
        let count = rows
            .end
            .checked_sub(rows.start)
            .filter(|&count| count > 0)?;
        Some(LodSlices {
            longest: SliceId(self.longest(model, lane, rows)),
            count,
        })
    }

    /// Appends to `out` the slices of a range that take at least `least`, in time order.
    pub fn long_slices(
        &self,
        model: &TraceModel,
        lane: &Lane,
        range: TimeRange,
        least: Picos,
        out: &mut Vec<SliceId>,
    ) {
        let is_long = |row: u32| model.slices.durs.get(row as usize) >= least.ps();
        let rows = model.rows_overlapping(lane, range);
        let base = lane.rows.start;
        let (mut offset, end) = ((rows.start - base) as usize, (rows.end - base) as usize);
        while offset < end {
            if let Some((_, width)) = self.widest_node(offset, end, |longest| !is_long(longest)) {
                offset += width;
            } else {
                let row = base + offset as u32;
                out.extend(is_long(row).then_some(SliceId(row)));
                offset += 1;
            }
        }
    }

    /// Row of the longest slice among `rows`; the first of equally long ones.
    fn longest(&self, model: &TraceModel, lane: &Lane, rows: Range<u32>) -> u32 {
        let dur = |row: u32| model.slices.durs.get(row as usize);
        let base = lane.rows.start;
        let mut best = rows.start;
        let (mut offset, end) = ((rows.start - base) as usize, (rows.end - base) as usize);
        while offset < end {
            let (row, width) = self
                .widest_node(offset, end, |_| true)
                .unwrap_or((base + offset as u32, 1));
            best = if dur(row) > dur(best) { row } else { best };
            offset += width;
        }
        best
    }

    /// The widest node that begins at row `offset` of the lane, ends by `end` and is wanted for its longest row, as all
    /// below it are: that row and the number of rows.
    fn widest_node(
        &self,
        offset: usize,
        end: usize,
        is_wanted: impl Fn(u32) -> bool,
    ) -> Option<(u32, usize)> {
        let (mut width, mut widest) = (1, None);
        for level in &self.levels {
            width *= ARITY;
            if !offset.is_multiple_of(width)
                || offset + width > end
                || !is_wanted(level[offset / width])
            {
                break;
            }
            widest = Some((level[offset / width], width));
        }
        widest
    }
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
