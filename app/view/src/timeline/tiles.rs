//! A cache of the columns of lanes, kept between frames.
//!
//! The sums of a column take about 100 ns, mostly waiting for memory: too slow for 100,000 columns per frame, and the next
//! frame needs nearly the same ones. So they are kept in tiles of [`TILE_COLUMNS`] columns, by row and length of the
//! columns. A frame computes a limited number of tiles; until later frames compute the rest, others stand in for them.
//!
//! While the scale changes, columns are as long as a power of two, which serves many frames. Once it rests, they are as
//! long as the pixels of the screen.

use std::collections::HashMap;

use crate::prelude::*;
use trace_model::ClassSums;
use web_time::Instant;

use crate::palette::ColorKey;
use crate::timeline::columns::{
    ColumnGrid, ColumnTile, LongSlice, RowLanes, TILE_COLUMNS, class_of,
};
use crate::timeline::scene::DrawnTrace;

/// Number of tiles kept per row and length of columns.
const KEPT_TILES: usize = 24;
/// Lengths of columns kept per row.
const KEPT_LENGTHS: usize = 3;
/// Number of frames for which an unused strip is kept.
const KEPT_FRAMES: u64 = 128;
/// Pixels of slices that are drawn with their edges and names.
pub const LONG: f64 = 5.0;

/// A tile and the part of it that is shown.
pub type ShownTile = (Arc<ColumnTile>, TimeRange);

/// Tiles of one row with columns of one length.
#[derive(Debug)]
struct TileStrip {
    grid: ColumnGrid,
    tiles: HashMap<i64, Arc<ColumnTile>>,
    used: u64,
}

/// All tiles of a trace.
#[derive(Debug)]
pub struct LaneTiles {
    /// By first lane and number of lanes of a row.
    strips: HashMap<(usize, usize), Vec<TileStrip>>,
    /// What they are made for.
    keys: Vec<ColorKey>,
    /// Whether they are those that the trace has sums for, and the sums of lanes if they are not.
    is_usual: bool,
    sums: HashMap<usize, ClassSums>,
    frame: u64,
    /// Tiles that this frame may compute, and until when it may compute more.
    budget: usize,
    until: Option<Instant>,
    is_incomplete: bool,
    next_id: u64,
    /// Where columns begin.
    origin: Timestamp,
    /// Columns for the scale of the last frame, and whether they were used.
    exact: Option<(ColumnGrid, bool)>,
    /// The columns of this frame, and the length of slices that are long.
    grid: ColumnGrid,
    long: Picos,
}

impl Default for LaneTiles {
    fn default() -> Self {
        Self::with_columns_from(Timestamp::ZERO)
    }
}

impl LaneTiles {
    /// With columns that begin at a time, as the left edge of a picture.
    pub fn with_columns_from(origin: Timestamp) -> Self {
        Self {
            strips: HashMap::new(),
            keys: Vec::new(),
            is_usual: true,
            sums: HashMap::new(),
            frame: 0,
            budget: usize::MAX,
            until: None,
            is_incomplete: false,
            next_id: 0,
            origin,
            exact: None,
            grid: ColumnGrid::new(origin, 1.0),
            long: Picos::ZERO,
        }
    }

    /// Begins a frame that may compute `budget` new tiles, and more until some time.
    pub fn begin_frame(&mut self, budget: usize, until: Option<Instant>) {
        self.frame += 1;
        (self.budget, self.until) = (budget, until);
        if self.frame.is_multiple_of(KEPT_FRAMES) {
            let frame = self.frame;
            self.strips.retain(|_, strips| {
                strips.retain(|strip| frame - strip.used < KEPT_FRAMES);
                !strips.is_empty()
            });
        }
    }

    /// Whether the next frame will show more.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete || self.exact.is_some_and(|(_, is_used)| !is_used)
    }

    /// Chooses columns for a frame: as long as `pixels` pixels, each of `pixel_ps`, in the colours `keys`. About `tiles`
    /// tiles are in sight.
    pub fn scale(
        &mut self,
        scene: DrawnTrace<'_>,
        keys: &[ColorKey],
        pixel_ps: f64,
        pixels: f64,
        tiles: usize,
    ) {
        if self.keys != keys {
            self.keys = keys.to_vec();
            self.strips.clear();
            self.sums.clear();
        }
        self.is_usual = keys == scene.keys;
        let exact = ColumnGrid::new(self.origin, pixel_ps * pixels);
        let rests = self
            .exact
            .is_some_and(|(last, was_used)| last == exact && (was_used || !self.is_incomplete));
        // A frame whose columns are not yet as long as pixels was complete if it lacked no tile.
        let is_exact = rests || tiles <= self.budget;
        self.exact = Some((exact, is_exact));
        self.is_incomplete = false;
        self.grid = if is_exact { exact } else { exact.rough() };
        // Rough columns are at least two pixels wide, at most four.
        let long = if is_exact {
            pixel_ps
        } else {
            self.grid.length_ps() / 4.0 / pixels
        };
        self.long = Picos::from_ps((long * LONG) as i64).max(Picos::from_ps(1));
    }

    /// Appends to `out` what to draw of `range` of a row.
    pub fn tiles(
        &mut self,
        scene: DrawnTrace<'_>,
        row: RowLanes<'_>,
        range: TimeRange,
        out: &mut Vec<ShownTile>,
    ) {
        let Some(&lane) = row.lanes.first() else {
            return;
        };
        let grid = self.grid;
        let tile_at = |time| grid.column_at(time).div_euclid(TILE_COLUMNS as i64);
        let first = tile_at(range.start);
        let last = tile_at(range.end).max(first);
        let mut strips = self
            .strips
            .remove(&(lane, row.lanes.len()))
            .unwrap_or_default();
        let index = strips
            .iter()
            .position(|strip| strip.grid == grid)
            .unwrap_or_else(|| {
                strips.sort_by_key(|strip| Reverse(strip.used));
                strips.truncate(KEPT_LENGTHS - 1);
                strips.push(TileStrip {
                    grid,
                    tiles: HashMap::new(),
                    used: 0,
                });
                strips.len() - 1
            });
        let mut strip = strips.swap_remove(index);
        strip.used = self.frame;
        for number in first..=last {
            if let Some(tile) = strip.tiles.get(&number) {
                out.push((Arc::clone(tile), tile.range));
            } else if self.budget == 0 && self.until.is_none_or(|until| Instant::now() >= until) {
                self.is_incomplete = true;
                let column = number.saturating_mul(TILE_COLUMNS as i64);
                let end = column.saturating_add(TILE_COLUMNS as i64);
                stand_in(
                    &mut strips,
                    TimeRange::new(grid.start_of(column), grid.start_of(end)),
                    out,
                );
            } else {
                self.budget = self.budget.saturating_sub(1);
                let tile = Arc::new(self.compute(scene, row, number));
                out.push((Arc::clone(&tile), tile.range));
                strip.tiles.insert(number, tile);
            }
        }
        if strip.tiles.len() > KEPT_TILES {
            let kept = KEPT_TILES as i64 / 2;
            strip
                .tiles
                .retain(|&number, _| (first - kept..=last + kept).contains(&number));
        }
        strips.push(strip);
        self.strips.insert((lane, row.lanes.len()), strips);
    }

    fn compute(&mut self, scene: DrawnTrace<'_>, row: RowLanes<'_>, number: i64) -> ColumnTile {
        let model = scene.model;
        let is_usual = self.is_usual;
        let lanes = || {
            row.lanes
                .iter()
                .filter_map(|&lane| Some((lane, model.all_lanes().get(lane)?)))
        };
        for (lane, of_model) in lanes().filter(|_| !is_usual) {
            let sums = || ClassSums::build(model, of_model, class_of(&self.keys));
            self.sums.entry(lane).or_insert_with(sums);
        }
        let sums = |lane| {
            if is_usual {
                Some(scene.lod.sums(lane))
            } else {
                self.sums.get(&lane)
            }
        };
        let summed: Vec<_> = lanes()
            .filter_map(|(lane, of_model)| Some((of_model, sums(lane)?)))
            .collect();
        let first = number.saturating_mul(TILE_COLUMNS as i64);
        let mut tile = ColumnTile::new(model, &self.keys, &summed, self.grid, first);
        if row.beside_work {
            tile.colors
                .iter_mut()
                .for_each(|color| *color = color.beside_work());
            tile.marks
                .iter_mut()
                .flatten()
                .for_each(|color| *color = color.beside_work());
        }
        if let ([lane], [(of_model, _)]) = (row.lanes, &summed[..]) {
            let mut long = Vec::new();
            scene
                .lod
                .lane(*lane)
                .long_slices(model, of_model, tile.range, self.long, &mut long);
            tile.long = long
                .into_iter()
                .map(|slice| LongSlice::new(model, slice))
                .collect();
        }
        self.next_id += 1;
        tile.id = self.next_id;
        tile
    }
}

/// What other strips of the row know of a range.
fn stand_in(strips: &mut [TileStrip], range: TimeRange, out: &mut Vec<ShownTile>) {
    let holds = |strip: &TileStrip| strip.tiles.values().any(|tile| tile.range.overlaps(range));
    let best = strips
        .iter_mut()
        .filter(|strip| holds(strip))
        .max_by_key(|strip| strip.used);
    let Some(strip) = best else { return };
    let tiles = strip
        .tiles
        .values()
        .filter_map(|tile| Some((Arc::clone(tile), tile.range.intersect(range)?)));
    let before = out.len();
    out.extend(tiles);
    out[before..].sort_by_key(|(_, part)| part.start);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timeline::tree::TrackTree;
    use trace_model::{GroupKind, LodIndex, SliceSpec, TraceBuilder, TraceModel, TrackKind};

    fn range(start: i64, end: i64) -> TimeRange {
        TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end))
    }

    /// A long slice, then many short ones.
    fn model() -> TraceModel {
        let mut builder = TraceBuilder::new();
        let host = builder.group(None, GroupKind::Host, "host");
        let track = builder.track(host, TrackKind::Ops, 1, "ops");
        let label = builder.label("x", None);
        builder.add_slice(track, SliceSpec::new(range(0, 5_000), label));
        for i in 0..10_000 {
            builder.add_slice(
                track,
                SliceSpec::new(range(5_000 + i * 10, 5_000 + i * 10 + 7), label),
            );
        }
        builder.finish()
    }

    const ROW: RowLanes<'_> = RowLanes {
        lanes: &[0],
        beside_work: false,
    };

    #[test]
    fn tiles_of_a_row_follow_each_other() {
        let model = model();
        let keys = [ColorKey(0)];
        let lod = LodIndex::build(&model, class_of(&keys));
        let tree = TrackTree::new(&model);
        let scene = DrawnTrace {
            model: &model,
            lod: &lod,
            tree: &tree,
            keys: &keys,
        };
        for pixel_ps in [0.01, 1.0, 3.7, 40.0] {
            for view in [
                range(0, 105_000),
                range(3_000, 9_000),
                range(50_003, 50_400),
            ] {
                let mut tiles = LaneTiles::default();
                for _ in 0..2 {
                    let mut shown = Vec::new();
                    tiles.scale(scene, &keys, pixel_ps, 1.0, 1);
                    tiles.tiles(scene, ROW, view, &mut shown);
                    assert!(
                        shown
                            .windows(2)
                            .all(|pair| pair[0].1.end == pair[1].1.start),
                        "without gap or overlap"
                    );
                    let whole = shown[0].1.hull(shown[shown.len() - 1].1);
                    assert!(whole.start <= view.start && view.end <= whole.end);
                }
            }
        }
    }

    #[test]
    fn frame_over_budget_shows_other_tiles_and_the_scale_becomes_exact() {
        let model = model();
        let keys = [ColorKey(0)];
        let lod = LodIndex::build(&model, class_of(&keys));
        let tree = TrackTree::new(&model);
        let scene = DrawnTrace {
            model: &model,
            lod: &lod,
            tree: &tree,
            keys: &keys,
        };
        let view = range(0, 105_000);
        let mut tiles = LaneTiles::default();
        let mut frame = |budget: usize, pixel_ps: f64| {
            let mut shown = Vec::new();
            tiles.begin_frame(budget, None);
            tiles.scale(scene, &keys, pixel_ps, 1.0, 20);
            tiles.tiles(scene, ROW, view, &mut shown);
            assert!(
                shown
                    .windows(2)
                    .all(|pair| pair[0].1.end <= pair[1].1.start),
                "nothing comes twice"
            );
            let ids: Vec<u64> = shown.iter().map(|(tile, _)| tile.id).collect();
            let shares: Vec<f32> = shown
                .iter()
                .flat_map(|(tile, _)| tile.shares.to_vec())
                .collect();
            (shares, ids, tiles.is_incomplete())
        };
        let (_, wanted, is_incomplete) = frame(usize::MAX, 90.0);
        assert!(!is_incomplete);
        let (_, others, is_incomplete) = frame(0, 40.0);
        assert!(
            is_incomplete && wanted.iter().all(|id| others.contains(id)),
            "the tiles of another scale"
        );
        // With one tile per frame, all tiles are complete eventually, and as fine as the screen.
        let frames = (0..40)
            .map(|_| frame(1, 40.0))
            .take_while(|(.., is_incomplete)| *is_incomplete)
            .count();
        assert!((10..40).contains(&frames), "{frames} frames");
        let (shares, ..) = frame(0, 40.0);
        let exact = {
            let mut shown = Vec::new();
            let mut fresh = LaneTiles::default();
            fresh.scale(scene, &keys, 40.0, 1.0, 20);
            fresh.tiles(scene, ROW, view, &mut shown);
            shown
                .iter()
                .flat_map(|(tile, _)| tile.shares.to_vec())
                .collect::<Vec<_>>()
        };
        assert_eq!(shares, exact);
    }
}
