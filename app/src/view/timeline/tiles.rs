//! A cache of the answers of pyramids, kept between frames.
//!
//! A pyramid computes a bucket in about 100 ns, mostly waiting for memory: too
//! slow for 100,000 buckets per frame, and the next frame needs nearly the same
//! ones. So buckets are kept by lane, resolution (a power of two) and tile of
//! `TILE_BUCKETS` buckets. A frame computes a limited number of new tiles; until
//! later frames compute the rest, tiles of another resolution replace them.

use std::collections::HashMap;

use trace_model::{LabelId, LodSlice, Picos, SliceId, TimeRange, Timestamp};

use crate::view::timeline::scene::DrawnTrace;

/// Buckets of a tile.
const TILE_BUCKETS: i64 = 256;
/// Coarsest resolution: a tile must fit into 64 bits.
pub const MAX_LEVEL: u32 = 54;
/// Number of tiles kept per lane and resolution.
const KEPT_TILES: usize = 24;
/// Number of frames for which an unused strip is kept.
const KEPT_FRAMES: u64 = 128;

/// One or several slices, ready to be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TilePiece {
    /// From the start of the first to the end of the last.
    pub range: TimeRange,
    /// The slice, or the longest of several.
    pub slice: SliceId,
    /// Its label.
    pub label: LabelId,
    /// How many slices.
    pub count: u32,
    /// The part of `range` that they cover.
    pub occupied: Picos,
}

/// Tiles of one lane at one resolution.
#[derive(Debug, Default)]
struct TileStrip {
    tiles: HashMap<i64, Box<[TilePiece]>>,
    used: u64,
}

/// All tiles of a trace.
#[derive(Debug)]
pub struct LaneTiles {
    strips: HashMap<(usize, u32), TileStrip>,
    frame: u64,
    budget: usize,
    is_incomplete: bool,
    found: Vec<LodSlice>,
}

impl Default for LaneTiles {
    fn default() -> Self {
        Self { strips: HashMap::new(), frame: 0, budget: usize::MAX, is_incomplete: false, found: Vec::new() }
    }
}

impl LaneTiles {
    /// Begins a frame that may compute `budget` new tiles.
    pub fn begin_frame(&mut self, budget: usize) {
        self.frame += 1;
        self.budget = budget;
        self.is_incomplete = false;
        if self.frame.is_multiple_of(KEPT_FRAMES) {
            let frame = self.frame;
            self.strips.retain(|_, strip| frame - strip.used < KEPT_FRAMES);
        }
    }

    /// Whether tiles of another resolution were used because of the limit of this frame.
    pub fn is_incomplete(&self) -> bool {
        self.is_incomplete
    }

    /// Appends to `out` what to draw of `range` of a lane in buckets of 2^`level` ps.
    pub fn pieces(
        &mut self,
        scene: DrawnTrace<'_>,
        lane: usize,
        range: TimeRange,
        level: u32,
        out: &mut Vec<TilePiece>,
    ) {
        let span = TILE_BUCKETS << level.min(MAX_LEVEL);
        let first = range.start.ps().div_euclid(span);
        let last = range.end.ps().saturating_sub(1).div_euclid(span).max(first);
        let mut strip = self.strips.remove(&(lane, level)).unwrap_or_default();
        strip.used = self.frame;
        for number in first..=last {
            let tile = TimeRange::at(Timestamp::from_ps(number.saturating_mul(span)), Picos::from_ps(span));
            let pieces = match strip.tiles.get(&number) {
                Some(pieces) => &pieces[..],
                None if self.budget == 0 => {
                    self.is_incomplete = true;
                    self.stand_in(lane, level, tile, out);
                    continue;
                }
                None => {
                    self.budget -= 1;
                    &*strip.tiles.entry(number).or_insert(self.compute(scene, lane, tile, level))
                }
            };
            // A slice that begins in an earlier tile was drawn with that tile.
            let reaching = if number == first { 0 } else { pieces.partition_point(|p| p.range.start < tile.start) };
            out.extend_from_slice(&pieces[reaching..]);
        }
        if strip.tiles.len() > KEPT_TILES {
            let kept = KEPT_TILES as i64 / 2;
            strip.tiles.retain(|&number, _| (first - kept..=last + kept).contains(&number));
        }
        self.strips.insert((lane, level), strip);
    }

    fn compute(&mut self, scene: DrawnTrace<'_>, lane: usize, tile: TimeRange, level: u32) -> Box<[TilePiece]> {
        let Some(model_lane) = scene.model.all_lanes().get(lane) else { return Box::default() };
        self.found.clear();
        let resolution = Picos::from_ps(1 << level.min(MAX_LEVEL));
        scene.lod.lane(lane).query(scene.model, model_lane, tile, resolution, &mut self.found);
        let piece = |found: &LodSlice| TilePiece {
            range: found.range,
            slice: found.representative,
            label: scene.model.slice(found.representative).label_id(),
            count: found.count,
            occupied: found.occupied,
        };
        self.found.iter().map(piece).collect()
    }

    /// The content of `tile` at the nearest other resolution.
    fn stand_in(&mut self, lane: usize, level: u32, tile: TimeRange, out: &mut Vec<TilePiece>) {
        let near = [level + 1, level.wrapping_sub(1), level + 2, level.wrapping_sub(2), level + 3];
        let Some(level) = near.into_iter().find(|&near| self.strips.contains_key(&(lane, near))) else { return };
        let Some(strip) = self.strips.get_mut(&(lane, level)) else { return };
        strip.used = self.frame;
        let span = TILE_BUCKETS << level.min(MAX_LEVEL);
        for number in tile.start.ps().div_euclid(span)..=tile.end.ps().saturating_sub(1).div_euclid(span) {
            let pieces = strip.tiles.get(&number).map_or(&[][..], |pieces| pieces);
            out.extend(pieces.iter().filter(|piece| piece.range.overlaps(tile)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::view::timeline::tree::TrackTree;
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
            builder.add_slice(track, SliceSpec::new(range(5_000 + i * 10, 5_000 + i * 10 + 7), label));
        }
        builder.finish()
    }

    #[test]
    fn tiles_equal_the_mipmap() {
        let model = model();
        let (lod, tree) = (LodIndex::build(&model), TrackTree::new(&model));
        let scene = DrawnTrace { model: &model, lod: &lod, tree: &tree };
        for level in [0, 2, 5, 9] {
            for view in [range(0, 105_000), range(3_000, 9_000), range(50_003, 50_400)] {
                let (mut tiles, mut pieces) = (LaneTiles::default(), Vec::new());
                for _ in 0..2 {
                    pieces.clear();
                    tiles.pieces(scene, 0, view, level, &mut pieces);
                    let starts: Vec<_> = pieces.iter().map(|piece| piece.range.start).collect();
                    assert!(starts.is_sorted_by(|a, b| a < b), "nothing comes twice");
                    let slices: u32 =
                        pieces.iter().filter(|piece| piece.range.overlaps(view)).map(|piece| piece.count).sum();
                    let lane = &model.all_lanes()[0];
                    assert!(slices as usize >= model.slices_in(lane, view).count(), "nothing is lost");
                }
            }
        }
    }

    #[test]
    fn frame_over_budget_shows_another_resolution() {
        let model = model();
        let (lod, tree) = (LodIndex::build(&model), TrackTree::new(&model));
        let scene = DrawnTrace { model: &model, lod: &lod, tree: &tree };
        let view = range(0, 105_000);
        let (mut tiles, mut pieces) = (LaneTiles::default(), Vec::new());
        tiles.begin_frame(usize::MAX);
        tiles.pieces(scene, 0, view, 9, &mut pieces);
        assert!(!tiles.is_incomplete());
        pieces.clear();
        tiles.begin_frame(0);
        tiles.pieces(scene, 0, view, 8, &mut pieces);
        assert!(tiles.is_incomplete() && !pieces.is_empty());
        let wanted = {
            let (mut fresh, mut pieces) = (LaneTiles::default(), Vec::new());
            fresh.pieces(scene, 0, view, 8, &mut pieces);
            pieces
        };
        // With one tile per frame, all tiles are complete eventually.
        for _ in 0..8 {
            pieces.clear();
            tiles.begin_frame(1);
            tiles.pieces(scene, 0, view, 8, &mut pieces);
        }
        assert!(!tiles.is_incomplete());
        assert_eq!(pieces, wanted);
    }
}
