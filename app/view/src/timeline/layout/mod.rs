//! From model and view to a list of boxes: what is drawn where, without colours
//! and independent of egui.
//!
//! Only visible rows are computed, and only at the resolution of the screen: the
//! cost of a frame grows with the window, not with the trace. A lane is drawn in
//! columns of pixels: of each, every colour fills the share of the time that slices of
//! the colour cover. Slices of at least [`SHORTEST_BOX`] have a box with their edges
//! and their name:
//!
//! ```text
//! slices   ▌▌ ▌  ▌ ▌▌▌▌▌▌▌▌       zoomed out: one column per pixel, its height
//! columns  ▂▂▂▁▁▁▃▃▃███████       is the share of time that is covered
//! ```

mod arrows;
mod boxes;
mod counters;
mod derived;
mod highlighted_boxes;
mod lanes;
mod loads;

use crate::prelude::*;

pub use arrows::FlowArrow;
pub use boxes::{LayoutWindow, MIN_WIDTH, SHORTEST_BOX, SliceBox};
pub use counters::{CounterBox, CounterStep};
pub use derived::{DerivedBox, DerivedRemark};
pub use lanes::{ColumnBar, DrawnColumns, LaneHit};
pub use loads::LoadBox;

use boxes::heading_box;
use counters::counter_box;
use derived::{DerivedRowsDrawn, derived_row};
use highlighted_boxes::highlighted_boxes;
use lanes::{add_lanes, hit_lane};

use crate::state::TreeItem;
use crate::timeline::columns::{RowLanes, TILE_COLUMNS};
use crate::timeline::group_load::GroupLoad;
use crate::timeline::scene::DrawnTrace;
use crate::timeline::tiles::{LaneTiles, ShownTile};
use crate::timeline::tree::{GAP, LANE, TrackRow};

/// About the largest number of columns of a frame. With more lanes in sight, columns are wider, so that a frame costs no
/// more: 40 lanes on 2,000 points need 80,000 columns, 200 lanes would need 400,000.
const MOST_COLUMNS: f32 = 100_000.0;
/// Maximum number of arrows of a selection.
const MAX_ARROWS: usize = 64;

/// Draw list of the scrolled rows, or of the pinned rows.
#[derive(Debug, Default)]
pub struct DrawnRows {
    /// Visible rows, with tops relative to the canvas.
    pub rows: Vec<TrackRow>,
    /// The columns of lanes, by row and lane, left to right.
    pub columns: Vec<DrawnColumns>,
    /// Boxes of long slices, likewise.
    pub boxes: Vec<SliceBox>,
    pub highlighted: Vec<SliceBox>,
    pub counters: Vec<CounterBox>,
    /// What folded groups show instead of their tracks.
    pub loads: Vec<LoadBox>,
    /// Slices of derived tracks, left to right.
    pub derived: Vec<DerivedBox>,
    /// Sentences in rows of derived tracks.
    pub remarks: Vec<DerivedRemark>,
}

impl DrawnRows {
    fn clear(&mut self) {
        self.rows.clear();
        self.columns.clear();
        self.boxes.clear();
        self.highlighted.clear();
        self.counters.clear();
        self.loads.clear();
        self.derived.clear();
        self.remarks.clear();
    }

    /// The highlighted box at a point of the canvas; of boxes that touch, the later one.
    fn highlighted_at(&self, x: f32, y: f32) -> Option<&SliceBox> {
        let is_under =
            |b: &&SliceBox| b.top <= y && y < b.top + b.height && b.left <= x && x < b.right;
        self.highlighted.iter().rev().find(is_under)
    }
}

/// Everything to draw in the canvas.
#[derive(Debug, Default)]
pub struct DrawList {
    /// Scrolled rows, below [`Self::pinned_height`].
    pub scrolled: DrawnRows,
    pub pinned: DrawnRows,
    /// Bottom of the pinned rows.
    pub pinned_height: f32,
    /// Whether slices that are not highlighted are dimmed.
    pub is_dim: bool,
    /// Position of the selected slice.
    pub selected: Option<SlicePlace>,
    /// Flow arrows of the selected slice.
    pub arrows: Vec<FlowArrow>,
    /// Buffer that is reused between frames.
    shown: Vec<ShownTile>,
}

impl DrawList {
    /// Computes the draw list of `scene` for `window`, reusing memory and tiles.
    pub fn fill(
        &mut self,
        scene: DrawnTrace<'_>,
        window: &LayoutWindow<'_>,
        tiles: &mut LaneTiles,
    ) {
        self.scrolled.clear();
        self.pinned.clear();
        self.arrows.clear();
        self.is_dim = window.highlighted.is_some();
        self.pinned_height = window.rows.pinned_height();
        let first = window
            .rows
            .scrolled
            .partition_point(|row| row.y + row.height <= window.scroll);
        let scrolled = window.rows.scrolled[first..].iter().map(|row| {
            let y = row.y - window.scroll + self.pinned_height;
            TrackRow { y, ..*row }
        });
        let scrolled: Vec<TrackRow> = scrolled.take_while(|row| row.y < window.height).collect();
        let lanes = scrolled
            .iter()
            .chain(&window.rows.pinned)
            .map(|row| row.lanes.max(1))
            .sum::<usize>();
        let pixels = (lanes as f32 * window.width / window.pixel / MOST_COLUMNS)
            .ceil()
            .max(1.0);
        let columns = window.width / window.pixel / pixels;
        let in_sight = lanes * (columns as usize / TILE_COLUMNS + 2);
        let pixel_ps = window.point_ps() * f64::from(window.pixel);
        tiles.scale(scene, window.colors, pixel_ps, f64::from(pixels), in_sight);
        for row in scrolled {
            self.add_row(scene, window, tiles, row, false);
        }
        for row in window
            .rows
            .pinned
            .iter()
            .take_while(|row| row.y < window.height)
        {
            self.add_row(scene, window, tiles, *row, true);
        }
        self.selected = window.selection.and_then(|slice| {
            place_of(scene, window, slice)
                .filter(|place| place.right > 0.0 && place.left < window.width)
        });
        if let Some(slice) = window.selection.filter(|_| window.arrows) {
            self.add_arrows(scene, window, slice);
        }
    }

    /// What is at a point of the canvas: highlighted slices first.
    pub fn hit(
        &self,
        scene: DrawnTrace<'_>,
        window: &LayoutWindow<'_>,
        x: f32,
        y: f32,
    ) -> Option<LaneHit> {
        let row = self.row_at(y)?;
        let node = scene.tree.node(row.node);
        if node.item.derived().is_some() {
            return None;
        }
        let place = |lane: usize| place_in(matches!(node.item, TreeItem::Group(_)), row, lane);
        let lane =
            (0..row.lanes).find(|&lane| place(lane).0 <= y && y < place(lane).0 + place(lane).1)?;
        let (of_model, place) = (node.first_lane() + lane, place(lane));
        match self.part_at(y).highlighted_at(x, y) {
            Some(drawn) => Some(LaneHit {
                drawn: *drawn,
                range: scene.model.slice(drawn.slice).range(),
                lane: of_model,
            }),
            None => hit_lane(scene, window, of_model, place, x),
        }
    }

    /// The slice of a derived track at a point, and the box that shows it.
    pub fn derived_at(&self, x: f32, y: f32) -> Option<&DerivedBox> {
        let is_under =
            |b: &&DerivedBox| b.top <= y && y < b.top + b.height && b.left <= x && x < b.right;
        self.part_at(y).derived.iter().find(is_under)
    }

    /// The rows that are drawn at a height of the canvas.
    fn part_at(&self, y: f32) -> &DrawnRows {
        if y < self.pinned_height {
            &self.pinned
        } else {
            &self.scrolled
        }
    }

    /// The row at a height of the canvas.
    pub fn row_at(&self, y: f32) -> Option<&TrackRow> {
        let rows = &self.part_at(y).rows;
        rows.iter().find(|row| row.y <= y && y < row.y + row.height)
    }

    /// The edge of a box within `reach` points of `x`, in the row at height `y`.
    pub fn snap(&self, model: &TraceModel, x: f32, y: f32, reach: f32) -> Option<Timestamp> {
        let row = self.row_at(y)?;
        let of_track = self
            .part_at(y)
            .boxes
            .iter()
            .filter(|b| row.y <= b.top && b.top < row.y + row.height);
        let edges = of_track.flat_map(|b| {
            let range = model.slice(b.slice).range();
            [(b.left, range.start), (b.right, range.end)]
        });
        let near = edges.filter(|(edge, _)| (edge - x).abs() <= reach);
        near.min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs()))
            .map(|(_, time)| time)
    }

    /// All visible rows in a range of heights.
    pub fn rows_in(&self, top: f32, bottom: f32) -> impl Iterator<Item = &TrackRow> {
        let scrolled = self
            .scrolled
            .rows
            .iter()
            .filter(move |row| row.y + row.height > self.pinned_height);
        self.pinned
            .rows
            .iter()
            .chain(scrolled)
            .filter(move |row| row.y < bottom && row.y + row.height > top)
    }

    fn add_row(
        &mut self,
        scene: DrawnTrace<'_>,
        window: &LayoutWindow<'_>,
        tiles: &mut LaneTiles,
        row: TrackRow,
        stays: bool,
    ) {
        let Self {
            scrolled,
            pinned,
            shown,
            ..
        } = self;
        let part = if stays { pinned } else { scrolled };
        part.rows.push(row);
        let node = scene.tree.node(row.node);
        if let Some(track) = node.item.derived() {
            let data = scene.tree.derived_of(row.node).map(|data| &**data);
            let mut out = DerivedRowsDrawn {
                boxes: &mut part.derived,
                remarks: &mut part.remarks,
                counters: &mut part.counters,
            };
            return derived_row(window, track, data, (&row, node.counter), &mut out);
        }
        if let Some(bounds) = node.counter {
            part.counters
                .extend(counter_box(scene, window, row, bounds));
        }
        let is_group = matches!(node.item, TreeItem::Group(_));
        if row.folded && is_group {
            match &node.load {
                GroupLoad::Cores(lanes) => {
                    let (lanes, place) = (
                        RowLanes {
                            lanes,
                            beside_work: false,
                        },
                        place_in(true, &row, 0),
                    );
                    add_lanes(
                        scene,
                        window,
                        tiles,
                        lanes,
                        place,
                        shown,
                        (&mut part.columns, &mut part.boxes),
                    );
                }
                GroupLoad::Busy => loads::busy(scene, window, row, &mut part.loads),
                GroupLoad::Nothing | GroupLoad::Lane(_) => {}
            }
        }
        let beside_work = matches!(node.item, TreeItem::Track(track) if scene.model.track(track).kind == TrackKind::AsyncOps);
        let before = part.highlighted.len();
        for lane in 0..row.lanes {
            let place = place_in(is_group, &row, lane);
            if place.0 + LANE > 0.0 && place.0 < window.height {
                let lane = node.first_lane() + lane;
                let lanes = RowLanes {
                    lanes: &[lane],
                    beside_work,
                };
                add_lanes(
                    scene,
                    window,
                    tiles,
                    lanes,
                    place,
                    shown,
                    (&mut part.columns, &mut part.boxes),
                );
                if let Some(highlighted) = window.highlighted {
                    highlighted_boxes(
                        scene,
                        window,
                        highlighted,
                        lane,
                        place,
                        &mut part.highlighted,
                    );
                }
            }
        }
        part.highlighted[before..]
            .iter_mut()
            .for_each(|drawn| drawn.beside_work = beside_work);
    }

    fn add_arrows(&mut self, scene: DrawnTrace<'_>, window: &LayoutWindow<'_>, slice: SliceId) {
        let (leaving, arriving) = (
            scene.model.flows_from(slice),
            scene.model.flows_to(slice).count(),
        );
        let is_chosen = |i: usize, of: usize| of > 1 && window.flow % of == i;
        let outgoing = leaving
            .iter()
            .enumerate()
            .map(|(i, flow)| (flow.from, flow.to, true, is_chosen(i, leaving.len())));
        let incoming = scene
            .model
            .flows_to(slice)
            .enumerate()
            .map(|(i, flow)| (flow.from, flow.to, false, is_chosen(i, arriving)));
        for (i, (from, to, outgoing, is_chosen)) in outgoing.chain(incoming).enumerate() {
            if i >= MAX_ARROWS && !is_chosen {
                continue;
            }
            let (Some(a), Some(b)) = (place_of(scene, window, from), place_of(scene, window, to))
            else {
                continue;
            };
            // A launch may still run when its program begins: the arrow starts where both exist.
            let leaves = if a.right <= b.left { a.right } else { a.left };
            let slices = [from, to];
            let (from, to) = (
                (leaves, a.top + a.height / 2.0),
                (b.left, b.top + b.height / 2.0),
            );
            self.arrows.push(FlowArrow {
                from,
                to,
                slices,
                outgoing,
                is_chosen,
            });
        }
    }
}

/// Top and height of a lane of a row.
fn place_in(is_heading: bool, row: &TrackRow, lane: usize) -> (f32, f32) {
    let (inset, height) = if is_heading {
        heading_box(*row)
    } else {
        (0.0, LANE)
    };
    (row.y + inset + lane as f32 * (LANE + GAP), height)
}

/// Where the box of a slice is.
#[derive(Clone, Copy, Debug)]
pub struct SlicePlace {
    pub left: f32,
    pub right: f32,
    pub top: f32,
    pub height: f32,
}

/// The box of a slice; `None` if it is neither in a row nor in the heading of a folded group.
pub fn place_of(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    slice: SliceId,
) -> Option<SlicePlace> {
    let slice = scene.model.slice(slice);
    let row = scene.tree.row_of(window.rows, slice.track(), window.scroll);
    let (row, stays, (inset, height)) = if let Some((row, stays)) = row {
        (row, stays, (0.0, LANE))
    } else {
        let lane = scene.model.first_lane_index(slice.track()) + slice.depth() as usize;
        let (row, stays) =
            scene
                .tree
                .summary_of(window.rows, slice.track(), lane, window.scroll)?;
        (row, stays, heading_box(row))
    };
    let lane = (slice.depth() as usize).min(row.lanes.saturating_sub(1));
    let width = f64::from(window.width);
    let limit = width * 4.0;
    let left = (window.time.fraction(slice.start()) * width).clamp(-limit, limit);
    let right = (window.time.fraction(slice.range().end) * width)
        .clamp(-limit, limit)
        .max(left + f64::from(MIN_WIDTH));
    let top = row.y + inset + lane as f32 * (LANE + GAP);
    // Rows hidden behind the pinned rows cannot be pointed at.
    let top = if stays {
        top
    } else {
        top.max(window.rows.pinned_height() - LANE)
    };
    Some(SlicePlace {
        left: left as f32,
        right: right as f32,
        top,
        height,
    })
}

#[cfg(test)]
mod share_tests;
#[cfg(test)]
mod tests;
