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

use std::ops::Range;

use crate::prelude::*;
use trace_model::{ClassSums, Lane};

use crate::palette::ColorKey;

/// Columns of a tile.
pub const TILE_COLUMNS: usize = 256;

/// A piece of a lane, or of several that share a row.
#[derive(Debug)]
pub struct ColumnTile {
    /// Unique among the tiles of a cache.
    pub id: u64,
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
#[derive(Clone, Copy, Debug)]
pub struct LongSlice {
    pub slice: SliceId,
    /// Its time, kept here because each frame needs it, and the model's columns are far from each other in memory.
    pub range: TimeRange,
    pub label: LabelId,
    /// Whether its length on the timeline is not the measured one.
    pub is_distorted: bool,
}

impl LongSlice {
    /// Lengths that differ by less than this share of the longer one look alike.
    const LEAST: f64 = 0.02;

    /// A slice, and whether it is distorted.
    pub fn new(model: &TraceModel, slice: SliceId) -> Self {
        let of_model = model.slice(slice);
        let [drawn, measured] =
            [of_model.dur(), measured_range(of_model, model).dur()].map(Picos::as_ps_f64);
        let is_distorted = (drawn - measured).abs() > drawn.max(measured) * Self::LEAST;
        Self {
            slice,
            range: of_model.range(),
            label: of_model.label_id(),
            is_distorted,
        }
    }
}

/// What a row of a column shows.
#[derive(Clone, Copy, Debug)]
pub enum ColumnCell {
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
        let shares = self
            .shares
            .get(column * count..(column + 1) * count)
            .unwrap_or_default();
        self.colors.iter().copied().zip(shares.iter().copied())
    }

    /// The columns as rows of pixels, counted from the top: for each column, calls `set` with rows that are alike until
    /// it has said all of them.
    pub fn draw_rows(&self, rows: usize, mut set: impl FnMut(usize, Range<usize>, ColumnCell)) {
        let mut stack = RowStack::new(rows);
        for column in 0..TILE_COLUMNS {
            let mut bottom = rows;
            for (color, count) in stack.rows_of(self.column(column)) {
                let top = bottom.saturating_sub(count);
                set(column, top..bottom, ColumnCell::Work(color));
                bottom = top;
            }
            if let Some(mark) = self
                .marks
                .get(column)
                .copied()
                .flatten()
                .filter(|_| bottom == rows)
            {
                bottom = rows.saturating_sub(MARK_ROWS);
                set(column, bottom..rows, ColumnCell::Mark(mark));
            }
            set(column, 0..bottom, ColumnCell::Empty);
        }
    }
}

/// Turns shares of columns into whole rows of pixels.
pub struct RowStack {
    rows: f32,
    /// By colour: rows that were owed to it in earlier columns.
    owed: Vec<f32>,
    colors: Vec<ColorRows>,
}

/// Rows of a colour in a column.
struct ColorRows {
    color: ColorKey,
    /// Its place in [`RowStack::owed`].
    place: usize,
    /// Its share, and what it was owed.
    wanted: f32,
    /// What it gets: a whole number.
    count: f32,
}

impl ColorRows {
    fn owed(&self) -> f32 {
        self.wanted - self.count
    }
}

impl RowStack {
    /// For columns of so many rows.
    pub fn new(rows: usize) -> Self {
        Self {
            rows: rows as f32,
            owed: Vec::new(),
            colors: Vec::new(),
        }
    }

    /// The rows of each colour in the next column. All columns have the same colours in the same order.
    ///
    /// Each colour gets the whole rows that are wanted for it, and those of the largest remainders one more. So none is
    /// owed more than about a row, whatever the others are owed.
    pub fn rows_of(
        &mut self,
        shares: impl Iterator<Item = (ColorKey, f32)>,
    ) -> impl Iterator<Item = (ColorKey, usize)> {
        let Self { rows, owed, colors } = self;
        colors.clear();
        for (place, (color, share)) in shares.enumerate() {
            if owed.len() <= place {
                owed.push(0.0);
            }
            if let Some(owed) = owed.get(place).filter(|_| share > 0.0) {
                let wanted = share * *rows + owed;
                colors.push(ColorRows {
                    color,
                    place,
                    wanted,
                    count: wanted.floor().max(0.0),
                });
            }
        }
        let wanted: f32 = colors.iter().map(|color| color.wanted).sum();
        let given: f32 = colors.iter().map(|color| color.count).sum();
        let left = (wanted.round().clamp(0.0, *rows) - given) as i32;
        for _ in 0..left.abs() {
            let by_owed = |a: &&mut ColorRows, b: &&mut ColorRows| a.owed().total_cmp(&b.owed());
            if left > 0 {
                colors
                    .iter_mut()
                    .max_by(by_owed)
                    .into_iter()
                    .for_each(|most| most.count += 1.0);
            } else {
                let with_rows = colors.iter_mut().filter(|color| color.count > 0.0);
                with_rows
                    .min_by(by_owed)
                    .into_iter()
                    .for_each(|least| least.count -= 1.0);
            }
        }
        for color in colors.iter() {
            owed[color.place] = color.owed();
        }
        colors
            .iter()
            .map(|color| (color.color, color.count as usize))
    }
}

/// The colour of each label as a class of [`trace_model::ClassSums`].
pub fn class_of(keys: &[ColorKey]) -> impl Fn(LabelId) -> u8 + Sync + Copy {
    |label| {
        keys.get(label.index())
            .map_or(ColorKey::of_group(OpGroup::Other).0, |key| key.0)
    }
}

/// The part of a piece of time that lies in a column.
struct ColumnPart {
    piece: usize,
    column: usize,
    /// 0 to 1.
    of_piece: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ColumnGrid {
    /// Where column 0 begins.
    origin: Timestamp,
    /// Length of a column in picoseconds times 2^32, so that columns far from zero are where they should be.
    length: i128,
}

impl ColumnGrid {
    const ONE: f64 = (1_u64 << 32) as f64;
    /// In columns shorter than this many picoseconds, a picosecond is a part that can be seen.
    const SHORT: f64 = 1_024.0;

    /// Columns of this length. If they are so short that they differ by whether they begin at a picosecond, tiles do.
    pub fn new(origin: Timestamp, length_ps: f64) -> Self {
        const OF_TILE: f64 = TILE_COLUMNS as f64;
        let length_ps = if length_ps < Self::SHORT {
            (length_ps * OF_TILE).round() / OF_TILE
        } else {
            length_ps
        };
        // 2^62 ps are two months; a longer trace needs no longer columns.
        Self {
            origin,
            length: (length_ps.clamp(1.0 / OF_TILE, (1_u64 << 62) as f64) * Self::ONE) as i128,
        }
    }

    /// Columns that are about three times as long: the next power of two.
    #[must_use]
    pub fn rough(self) -> Self {
        let least = 2 * self.length;
        Self {
            length: 1 << (i128::BITS - (least - 1).leading_zeros()),
            ..self
        }
    }

    /// Length of a column in picoseconds.
    pub fn length_ps(self) -> f64 {
        self.length as f64 / Self::ONE
    }

    /// Where a column begins: at this time, or before the next picosecond.
    pub fn start_of(self, column: i64) -> Timestamp {
        self.time_of(self.exact_start_of(column) >> 32)
    }

    /// The start of a column since the origin, in picoseconds times 2^32.
    fn exact_start_of(self, column: i64) -> i128 {
        i128::from(column) * self.length
    }

    fn time_of(self, since_origin: i128) -> Timestamp {
        let time_ps = since_origin + i128::from(self.origin.ps());
        Timestamp::from_ps(i64::try_from(time_ps).unwrap_or(if time_ps < 0 {
            i64::MIN
        } else {
            i64::MAX
        }))
    }

    /// Times that divide the tile of a column into pieces, and which part of a piece lies in which column. Pieces are as
    /// long as columns; short columns also share pieces of a picosecond, in which nothing begins or ends.
    fn parts(self, first: i64) -> (Vec<Timestamp>, Vec<ColumnPart>) {
        let starts = (0..=TILE_COLUMNS as i64)
            .map(|column| self.exact_start_of(first.saturating_add(column)));
        let starts: Vec<i128> = starts.collect();
        if self.length_ps() >= Self::SHORT {
            let parts = (0..TILE_COLUMNS).map(|column| ColumnPart {
                piece: column,
                column,
                of_piece: 1.0,
            });
            return (
                starts
                    .iter()
                    .map(|start| self.time_of(start >> 32))
                    .collect(),
                parts.collect(),
            );
        }
        let mut times: Vec<i128> = starts
            .iter()
            .flat_map(|start| [start >> 32, -(-start >> 32)])
            .collect();
        times.sort_unstable();
        times.dedup();
        let (mut parts, mut column) = (Vec::new(), 0);
        for (piece, ends) in times.windows(2).enumerate() {
            let [from, to] = [ends[0] << 32, ends[1] << 32];
            while column < TILE_COLUMNS && starts[column] < to {
                let inside = starts[column + 1].min(to) - starts[column].max(from);
                parts.push(ColumnPart {
                    piece,
                    column,
                    of_piece: inside as f64 / (to - from) as f64,
                });
                if starts[column + 1] > to {
                    break;
                }
                column += 1;
            }
        }
        (
            times.into_iter().map(|time| self.time_of(time)).collect(),
            parts,
        )
    }

    /// The column at a time.
    pub fn column_at(self, time: Timestamp) -> i64 {
        let since = i128::from(time.ps()).saturating_sub(i128::from(self.origin.ps()));
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
        let classes: BTreeSet<u8> = lanes
            .iter()
            .flat_map(|(_, sums)| sums.classes())
            .copied()
            .collect();
        let count = classes.len();
        let mut place_of = [0; 256];
        for (place, &class) in classes.iter().enumerate() {
            place_of[usize::from(class)] = place;
        }
        let (times, parts) = grid.parts(first);
        let whole = grid.length_ps() * lanes.len() as f64;
        let mut shares = vec![0.0; TILE_COLUMNS * count];
        let mut marks = vec![None; TILE_COLUMNS];
        for (lane, sums) in lanes {
            let mut parts = parts.chunk_by(|a, b| a.piece == b.piece);
            sums.between(
                model,
                lane,
                class_of,
                times.iter().copied(),
                |covered, begin| {
                    let parts = parts.next().unwrap_or_default();
                    let mut most = (0, None);
                    for (&class, &ps) in sums
                        .classes()
                        .iter()
                        .zip(covered)
                        .filter(|(_, ps)| **ps > 0)
                    {
                        for part in parts {
                            let share = ps as f64 * part.of_piece / whole;
                            shares[part.column * count + place_of[usize::from(class)]] +=
                                share as f32;
                        }
                        most = most.max((ps, Some(ColorKey(class))));
                    }
                    let without_length = || ColorKey(class_of(model.slice(begin.start).label_id()));
                    let mark = most
                        .1
                        .or_else(|| (begin.start < begin.end).then(without_length));
                    for part in parts.iter().take(if most.0 > 0 { parts.len() } else { 1 }) {
                        marks[part.column] = marks[part.column].or(mark);
                    }
                },
            );
        }
        let occurs = |place: &usize| {
            shares
                .iter()
                .skip(*place)
                .step_by(count)
                .any(|&share| share > 0.0)
        };
        let places: Vec<usize> = (0..count).filter(occurs).collect();
        let color = |&place: &usize| classes.iter().nth(place).map(|&class| ColorKey(class));
        Self {
            id: 0,
            range: TimeRange::new(
                grid.start_of(first),
                grid.start_of(first.saturating_add(TILE_COLUMNS as i64)),
            ),
            colors: places.iter().filter_map(color).collect(),
            shares: shares
                .chunks(count.max(1))
                .flat_map(|column| places.iter().map(|&place| column[place]))
                .collect(),
            marks: marks.into(),
            long: Box::default(),
        }
    }
}
