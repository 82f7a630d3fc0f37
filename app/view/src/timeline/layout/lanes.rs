//! Lanes: their columns, the boxes of long slices, and what is at a point.

use crate::prelude::*;

use super::boxes::{LayoutWindow, MIN_WIDTH, SHORTEST_BOX, SliceBox, SlicePiece, boxed};
use crate::palette::ColorKey;
use crate::timeline::columns::{ColumnTile, MARK_ROWS, RowLanes, TILE_COLUMNS};
use crate::timeline::scene::DrawnTrace;
use crate::timeline::tiles::{LaneTiles, ShownTile};

/// A tile on the canvas.
#[derive(Debug)]
pub struct DrawnColumns {
    pub tile: Arc<ColumnTile>,
    /// Left edge of its first column.
    pub left: f32,
    /// Width of a column.
    pub column: f32,
    /// What is shown of it: left and right edge.
    pub shown: (f32, f32),
    pub top: f32,
    pub height: f32,
}

/// A colour in some neighbouring columns that are alike.
#[derive(Clone, Copy, Debug)]
pub struct ColumnBar {
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub bottom: f32,
    pub color: ColorKey,
    /// Whether it only marks slices that are too short to be seen.
    pub is_mark: bool,
}

impl DrawnColumns {
    /// As bars, whose heights are exact: for pictures that are not made of pixels.
    pub fn bars(&self) -> Vec<ColumnBar> {
        let tile = &*self.tile;
        let column_at = |x: f32| ((x - self.left) / self.column).clamp(0.0, TILE_COLUMNS as f32);
        let (first, end) = (
            column_at(self.shown.0) as usize,
            column_at(self.shown.1).ceil() as usize,
        );
        let x = |column: usize| {
            (self.left + column as f32 * self.column).clamp(self.shown.0, self.shown.1)
        };
        let alike = |a: usize, b: usize| {
            tile.marks[a] == tile.marks[b] && tile.column(a).eq(tile.column(b))
        };
        let mut bars = Vec::new();
        let mut column = first;
        while column < end {
            let next = (column + 1..end)
                .find(|&next| !alike(column, next))
                .unwrap_or(end);
            let (left, right) = (x(column), x(next));
            let mut bottom = self.top + self.height;
            let covered: f32 = tile.column(column).map(|(_, share)| share).sum();
            if let Some(color) = tile.marks[column].filter(|_| covered * self.height < 0.5) {
                let top = bottom - MARK_ROWS as f32;
                bars.push(ColumnBar {
                    left,
                    right,
                    top,
                    bottom,
                    color,
                    is_mark: true,
                });
            }
            for (color, share) in tile.column(column).filter(|(_, share)| *share > 0.0) {
                let top = bottom - share * self.height;
                bars.push(ColumnBar {
                    left,
                    right,
                    top,
                    bottom,
                    color,
                    is_mark: false,
                });
                bottom = top;
            }
            column = next;
        }
        bars
    }
}

/// What is at a point of a lane: a slice, or those of a column of pixels.
#[derive(Clone, Copy, Debug)]
pub struct LaneHit {
    /// The slice, or the longest of several.
    pub drawn: SliceBox,
    /// Its time, or that of the column.
    pub range: TimeRange,
    /// Index of the lane.
    pub lane: usize,
}

/// Adds the columns of a row, and the boxes of the long slices of its only lane.
pub(super) fn add_lanes(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    tiles: &mut LaneTiles,
    row: RowLanes<'_>,
    (top, height): (f32, f32),
    shown: &mut Vec<ShownTile>,
    (columns, boxes): (&mut Vec<DrawnColumns>, &mut Vec<SliceBox>),
) {
    shown.clear();
    tiles.tiles(scene, row, window.time.range(), shown);
    let mut last: Option<SliceId> = None;
    for (tile, part) in shown.drain(..) {
        let [left, right] = [part.start, part.end]
            .map(|edge| window.x_of(edge).clamp(-8.0, f64::from(window.width) + 8.0));
        if right <= left {
            continue;
        }
        // Slices of a lane are in order of time, and those at the end of a tile may reach into the next one.
        for long in &tile.long {
            if last.is_some_and(|last| long.slice <= last) {
                continue;
            }
            last = Some(long.slice);
            let drawn = boxed(window, &SlicePiece::from(long), top, height);
            let drawn = drawn.filter(|drawn| drawn.right - drawn.left >= SHORTEST_BOX);
            let is_distorted = long.is_distorted;
            boxes.extend(drawn.map(|drawn| SliceBox {
                beside_work: row.beside_work,
                is_distorted,
                ..drawn
            }));
        }
        let column =
            (tile.range.dur().as_ps_f64() / window.point_ps() / TILE_COLUMNS as f64) as f32;
        let tile_left = window.x_of(tile.range.start) as f32;
        let shown = (left as f32, right as f32);
        columns.push(DrawnColumns {
            tile,
            left: tile_left,
            column,
            shown,
            top,
            height,
        });
    }
}

/// What is at a point of a lane; of several slices in a column of pixels the longest.
pub(super) fn hit_lane(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    lane: usize,
    (top, height): (f32, f32),
    x: f32,
) -> Option<LaneHit> {
    let (of_model, mipmap) = (scene.model.all_lanes().get(lane)?, scene.lod.lane(lane));
    let within = |from: f32, to: f32| {
        let start = window.time_at(from);
        let range = TimeRange::new(start, window.time_at(to).max(start + Picos::from_ps(1)));
        Some((range, mipmap.slices(scene.model, of_model, range)?))
    };
    let single = |slice: SliceId| {
        let slice = scene.model.slice(slice);
        let drawn = boxed(window, &SlicePiece::from(slice), top, height)?;
        Some(LaneHit {
            drawn,
            range: slice.range(),
            lane,
        })
    };
    let is_long = |hit: &LaneHit| hit.drawn.right - hit.drawn.left >= SHORTEST_BOX;
    let exactly = within(x, x)
        .and_then(|(_, slices)| single(slices.longest))
        .filter(is_long);
    if exactly.is_some() {
        return exactly;
    }
    let left = x.floor();
    // A lone short slice can be pointed at, too.
    let (range, slices) =
        within(left, left + 1.0).or_else(|| within(left - 1.0, left + MIN_WIDTH))?;
    if slices.count == 1 {
        return single(slices.longest);
    }
    let piece = SlicePiece {
        count: slices.count,
        range,
        ..SlicePiece::from(scene.model.slice(slices.longest))
    };
    Some(LaneHit {
        drawn: boxed(window, &piece, top, height)?,
        range,
        lane,
    })
}
