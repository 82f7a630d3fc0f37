//! A piece of a lane as columns: of each column, the share of its time that each colour has.
//!
//! ```text
//! slices   ▌▌ ▌  ▌ ▌▌▌▌▌▌▌▌        of a column, ▓ 60 %, ▒ 20 %, nothing 20 %:   ▒
//!                                   whatever the slices in it look like          ▓
//!                                                                                ▓
//! ```
//!
//! On a screen, a column is stacked from whole rows of pixels. What a column has more or less than its share is made up
//! for by the next columns with the same colour, so that the pixels of each colour are its share of the time, also where
//! it is less than a row.

use std::collections::BTreeSet;

use analysis::{OpGroup, measured_range};
use trace_model::{ClassSums, LabelId, Lane, SliceId, TimeRange, Timestamp, TraceModel};

use crate::palette::ColorKey;

/// Columns of a tile.
pub const TILE_COLUMNS: usize = 256;

/// A piece of a lane, or of several that share a row.
#[derive(Debug, PartialEq)]
pub struct ColumnTile {
    /// Unique among the tiles of a cache.
    pub id: u64,
    /// What it shows.
    pub range: TimeRange,
    /// The colours that occur, in the order in which they are stacked from the bottom.
    pub colors: Box<[ColorKey]>,
    /// By column and colour: its share of the time of the column, 0 to 1.
    pub shares: Box<[f32]>,
    /// By column: the colour of what is there, if anything.
    pub marks: Box<[Option<ColorKey>]>,
    /// The slices that are long enough to be told apart, in time order.
    pub long: Box<[LongSlice]>,
}

/// A slice that is long enough to be told apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LongSlice {
    /// The slice.
    pub slice: SliceId,
    /// Whether its length on the timeline is not the measured one.
    pub is_distorted: bool,
}

impl LongSlice {
    /// Lengths that differ by less than this share of the longer one look alike.
    const LEAST: f64 = 0.02;

    /// A slice, and whether it is distorted.
    pub fn new(model: &TraceModel, slice: SliceId) -> Self {
        let of_model = model.slice(slice);
        let [drawn, measured] = [of_model.dur(), measured_range(of_model, model).dur()].map(|dur| dur.ps() as f64);
        Self { slice, is_distorted: (drawn - measured).abs() > drawn.max(measured) * Self::LEAST }
    }
}

/// What a row of a column shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnCell {
    /// Nothing.
    Empty,
    /// The work of this colour.
    Work(ColorKey),
    /// Slices of this colour are here, but they are too short for a row.
    Mark(ColorKey),
}

/// Height of a mark, in rows.
pub const MARK_ROWS: usize = 2;

impl ColumnTile {
    /// By colour, the shares of the time of a column.
    pub fn column(&self, column: usize) -> impl Iterator<Item = (ColorKey, f32)> {
        let count = self.colors.len();
        let shares = self.shares.get(column * count..(column + 1) * count).unwrap_or_default();
        self.colors.iter().copied().zip(shares.iter().copied())
    }

    /// The columns as rows of pixels: for each column and row, from the top, calls `set`.
    pub fn draw_rows(&self, rows: usize, mut set: impl FnMut(usize, usize, ColumnCell)) {
        let mut stack = RowStack::new(rows);
        for column in 0..TILE_COLUMNS {
            let mut bottom = rows;
            for (color, count) in stack.rows_of(self.column(column)) {
                for row in bottom.saturating_sub(count)..bottom {
                    set(column, row, ColumnCell::Work(color));
                }
                bottom = bottom.saturating_sub(count);
            }
            let mark = self.marks.get(column).copied().flatten().filter(|_| bottom == rows);
            let mark = mark.map_or(ColumnCell::Empty, ColumnCell::Mark);
            for row in 0..bottom {
                set(column, row, if row + MARK_ROWS >= rows { mark } else { ColumnCell::Empty });
            }
        }
    }
}

/// Turns shares of columns into whole rows of pixels.
pub struct RowStack {
    rows: f32,
    /// By colour: rows that were owed to it in earlier columns.
    owed: Vec<f32>,
    counts: Vec<(ColorKey, usize)>,
}

impl RowStack {
    /// For columns of so many rows.
    pub fn new(rows: usize) -> Self {
        Self { rows: rows as f32, owed: Vec::new(), counts: Vec::new() }
    }

    /// The rows of each colour in the next column. All columns have the same colours in the same order.
    pub fn rows_of(
        &mut self,
        shares: impl Iterator<Item = (ColorKey, f32)>,
    ) -> impl Iterator<Item = (ColorKey, usize)> {
        self.counts.clear();
        // Where a colour ends in the stack, before and after it is rounded to whole rows.
        let (mut exact, mut rounded) = (0.0, 0.0);
        for (i, (color, share)) in shares.enumerate() {
            if self.owed.len() <= i {
                self.owed.push(0.0);
            }
            let Some(owed) = self.owed.get_mut(i).filter(|_| share > 0.0) else { continue };
            let wanted = share * self.rows + *owed;
            exact += wanted;
            let end = exact.round().clamp(rounded, self.rows);
            let count = end - rounded;
            *owed = wanted - count;
            rounded = end;
            self.counts.push((color, count as usize));
        }
        self.counts.iter().copied()
    }
}

/// The colour of each label as a class of [`trace_model::ClassSums`].
pub fn class_of(keys: &[ColorKey]) -> impl Fn(LabelId) -> u8 + Sync + Copy {
    |label| keys.get(label.index()).map_or(ColorKey::of_group(OpGroup::Other).0, |key| key.0)
}

/// Where columns lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnGrid {
    /// Where column 0 begins.
    origin: Timestamp,
    /// Length of a column in picoseconds times 2^32: so exact that columns far from zero are where they should be.
    length: i128,
}

impl ColumnGrid {
    const ONE: f64 = (1_u64 << 32) as f64;

    /// Columns of this length. Short ones are whole picoseconds long, as no slice begins or ends between these.
    pub fn new(origin: Timestamp, length_ps: f64) -> Self {
        const SHORT: f64 = 64.0;
        let length_ps = if length_ps < SHORT { length_ps.ceil() } else { length_ps };
        // 2^62 ps are two months; a longer trace needs no longer columns.
        Self { origin, length: (length_ps.clamp(1.0, (1_u64 << 62) as f64) * Self::ONE) as i128 }
    }

    /// Columns that are about three times as long: the next power of two.
    #[must_use]
    pub fn rough(self) -> Self {
        let least = 2 * self.length;
        Self { length: 1 << (i128::BITS - (least - 1).leading_zeros()), ..self }
    }

    /// Length of a column in picoseconds.
    pub fn length_ps(self) -> f64 {
        self.length as f64 / Self::ONE
    }

    /// Where a column begins.
    pub fn start_of(self, column: i64) -> Timestamp {
        let at = ((i128::from(column) * self.length) >> 32) + i128::from(self.origin.ps());
        Timestamp::from_ps(i64::try_from(at).unwrap_or(if column < 0 { i64::MIN } else { i64::MAX }))
    }

    /// The column at a time.
    pub fn column_at(self, at: Timestamp) -> i64 {
        let since = i128::from(at.ps()).saturating_sub(i128::from(self.origin.ps()));
        i64::try_from((since << 32).div_euclid(self.length)).unwrap_or(i64::MAX)
    }
}

/// The lanes of a row.
#[derive(Clone, Copy, Debug)]
pub struct RowLanes<'a> {
    /// By index in the model. Of several, the row shows the mean.
    pub lanes: &'a [usize],
    /// Whether they show work in flight beside other work.
    pub beside_work: bool,
}

impl ColumnTile {
    /// From the sums of lanes, which are those of the colours `keys`: the columns from `first` on.
    pub fn new<'a>(
        model: &'a TraceModel,
        keys: &[ColorKey],
        lanes: &[(&'a Lane, &'a ClassSums)],
        grid: ColumnGrid,
        first: i64,
    ) -> Self {
        let class_of = class_of(keys);
        let classes: BTreeSet<u8> = lanes.iter().flat_map(|(_, sums)| sums.classes()).copied().collect();
        let count = classes.len();
        let mut place_of = [0; 256];
        for (place, &class) in classes.iter().enumerate() {
            place_of[usize::from(class)] = place;
        }
        let ends: Vec<Timestamp> =
            (0..=TILE_COLUMNS as i64).map(|column| grid.start_of(first.saturating_add(column))).collect();
        let mut shares = vec![0.0; TILE_COLUMNS * count];
        let mut marks = vec![None; TILE_COLUMNS];
        for (lane, sums) in lanes {
            let mut column = 0;
            sums.between(model, lane, class_of, ends.iter().copied(), |covered, begin| {
                let whole = (ends[column + 1] - ends[column]).ps().max(1) as f64 * lanes.len() as f64;
                let mut most = (0, None);
                for (&class, &ps) in sums.classes().iter().zip(covered) {
                    shares[column * count + place_of[usize::from(class)]] += (ps as f64 / whole) as f32;
                    if ps > most.0 {
                        most = (ps, Some(ColorKey(class)));
                    }
                }
                let without_length = || ColorKey(class_of(model.slice(begin.start).label_id()));
                let mark = most.1.or_else(|| (begin.start < begin.end).then(without_length));
                marks[column] = marks[column].or(mark);
                column += 1;
            });
        }
        let occurs = |place: &usize| shares.iter().skip(*place).step_by(count).any(|&share| share > 0.0);
        let places: Vec<usize> = (0..count).filter(occurs).collect();
        let color = |&place: &usize| classes.iter().nth(place).map(|&class| ColorKey(class));
        Self {
            id: 0,
            range: TimeRange::new(ends[0], ends[TILE_COLUMNS]),
            colors: places.iter().filter_map(color).collect(),
            shares: shares.chunks(count.max(1)).flat_map(|column| places.iter().map(|&place| column[place])).collect(),
            marks: marks.into(),
            long: Box::default(),
        }
    }
}
