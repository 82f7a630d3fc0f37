//! From model and view to a list of boxes: what is drawn where, without colours
//! and independent of egui.
//!
//! Only visible rows are computed, and only at the resolution of the screen: the
//! cost of a frame grows with the window, not with the trace. Slices narrower
//! than [`MIN_WIDTH`] share a box whose height is the share of time that they cover:
//!
//! ```text
//! slices   ▌▌ ▌  ▌ ▌▌▌▌▌▌▌▌       zoomed out: one box per bucket, its height
//! boxes    ▂▂▂▁▁▁▃▃▃███████       is the share of time that is covered
//! ```

mod arrows;
mod boxes;
mod counters;
mod highlighted;
mod highlighted_boxes;
mod loads;

use trace_model::{SliceId, Timestamp, TraceModel, TrackKind};

pub use arrows::FlowArrow;
pub use boxes::{LayoutWindow, MIN_WIDTH, SliceBox};
pub use counters::{CounterBox, CounterStep};
pub use highlighted::Highlighted;
pub use loads::LoadBox;

use boxes::{boxed, heading_box};
use counters::counter_box;
use highlighted_boxes::highlighted_boxes;

use crate::view::state::TreeItem;
use crate::view::timeline::group_load::GroupLoad;
use crate::view::timeline::scene::DrawnTrace;
use crate::view::timeline::tiles::{LaneTiles, MAX_LEVEL, TilePiece};
use crate::view::timeline::tree::{GAP, LANE, TrackRow};

/// About the largest number of boxes of a frame. With more lanes in sight, wider slices share a box, so that a frame costs
/// no more: 20 lanes on 2,000 points need 20,000 boxes, 200 lanes would need 200,000.
const MOST_BOXES: f32 = 80_000.0;
/// Maximum number of arrows of a selection.
const MAX_ARROWS: usize = 64;

/// Draw list of the scrolled rows, or of the pinned rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawnRows {
    /// Visible rows, with tops relative to the canvas.
    pub rows: Vec<TrackRow>,
    /// Boxes by row and lane, left to right.
    pub boxes: Vec<SliceBox>,
    /// Boxes of slices that are highlighted.
    pub highlighted: Vec<SliceBox>,
    /// Visible counters.
    pub counters: Vec<CounterBox>,
    /// What folded groups show instead of their tracks.
    pub loads: Vec<LoadBox>,
}

impl DrawnRows {
    fn clear(&mut self) {
        self.rows.clear();
        self.boxes.clear();
        self.highlighted.clear();
        self.counters.clear();
        self.loads.clear();
    }

    /// The box at a point of the canvas: highlighted ones first; of boxes that touch, the later one.
    fn hit(&self, x: f32, y: f32) -> Option<&SliceBox> {
        let at = |b: &&SliceBox| b.top <= y && y < b.top + b.height && b.left <= x && x < b.right;
        self.highlighted.iter().rev().find(at).or_else(|| self.boxes.iter().rev().find(at))
    }
}

/// Everything to draw in the canvas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawList {
    /// Scrolled rows, below [`Self::pinned_height`].
    pub scrolled: DrawnRows,
    /// Pinned rows.
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
    pieces: Vec<TilePiece>,
    /// Resolution of boxes that stand for several slices.
    level: u32,
}

impl DrawList {
    /// Computes the draw list of `scene` for `window`, reusing memory and tiles.
    pub fn fill(&mut self, scene: DrawnTrace<'_>, window: &LayoutWindow<'_>, tiles: &mut LaneTiles) {
        self.scrolled.clear();
        self.pinned.clear();
        self.arrows.clear();
        self.is_dim = window.highlighted.is_some();
        self.pinned_height = window.rows.pinned_height();
        let first = window.rows.scrolled.partition_point(|row| row.y + row.height <= window.scroll);
        let scrolled = window.rows.scrolled[first..].iter().map(|row| {
            let y = row.y - window.scroll + self.pinned_height;
            TrackRow { y, ..*row }
        });
        let scrolled: Vec<TrackRow> = scrolled.take_while(|row| row.y < window.height).collect();
        self.level = level(window, scrolled.iter().chain(&window.rows.pinned).map(|row| row.lanes).sum());
        for row in scrolled {
            self.add_row(scene, window, tiles, row, false);
        }
        for row in window.rows.pinned.iter().take_while(|row| row.y < window.height) {
            self.add_row(scene, window, tiles, *row, true);
        }
        self.selected = window.selection.and_then(|slice| {
            place_of(scene, window, slice).filter(|place| place.right > 0.0 && place.left < window.width)
        });
        if let Some(slice) = window.selection.filter(|_| window.arrows) {
            self.add_arrows(scene, window, slice);
        }
    }

    /// The box at a point of the canvas.
    pub fn hit(&self, x: f32, y: f32) -> Option<&SliceBox> {
        if y < self.pinned_height { self.pinned.hit(x, y) } else { self.scrolled.hit(x, y) }
    }

    /// The row at a height of the canvas.
    pub fn row_at(&self, y: f32) -> Option<&TrackRow> {
        let part = if y < self.pinned_height { &self.pinned } else { &self.scrolled };
        part.rows.iter().find(|row| row.y <= y && y < row.y + row.height)
    }

    /// The slice edge within `reach` points of `x`, in the row at height `y`.
    pub fn snap(&self, model: &TraceModel, x: f32, y: f32, reach: f32) -> Option<Timestamp> {
        let row = self.row_at(y)?;
        let part = if y < self.pinned_height { &self.pinned } else { &self.scrolled };
        let own = part.boxes.iter().filter(|b| b.count == 1 && row.y <= b.top && b.top < row.y + row.height);
        let edges = own.flat_map(|b| {
            let range = model.slice(b.slice).range();
            [(b.left, range.start), (b.right, range.end)]
        });
        let near = edges.filter(|(at, _)| (at - x).abs() <= reach);
        near.min_by(|a, b| (a.0 - x).abs().total_cmp(&(b.0 - x).abs())).map(|(_, time)| time)
    }

    /// All visible rows in a range of heights.
    pub fn rows_in(&self, top: f32, bottom: f32) -> impl Iterator<Item = &TrackRow> {
        let scrolled = self.scrolled.rows.iter().filter(move |row| row.y + row.height > self.pinned_height);
        self.pinned.rows.iter().chain(scrolled).filter(move |row| row.y < bottom && row.y + row.height > top)
    }

    fn add_row(
        &mut self,
        scene: DrawnTrace<'_>,
        window: &LayoutWindow<'_>,
        tiles: &mut LaneTiles,
        row: TrackRow,
        stays: bool,
    ) {
        let Self { scrolled, pinned, pieces, level, .. } = self;
        let part = if stays { pinned } else { scrolled };
        part.rows.push(row);
        let before = (part.boxes.len(), part.highlighted.len());
        let node = scene.tree.node(row.node);
        if let Some(bounds) = node.counter {
            part.counters.extend(counter_box(scene, window, row, bounds));
        }
        if row.folded
            && let TreeItem::Group(_) = node.item
        {
            match &node.load {
                GroupLoad::Cores(lanes) => {
                    loads::cores(scene, window, tiles, row, lanes, *level, pieces, &mut part.loads);
                }
                GroupLoad::Busy => loads::busy(scene, window, row, &mut part.loads),
                GroupLoad::Nothing | GroupLoad::Lane(_) => {}
            }
        }
        let (inset, height) = if matches!(node.item, TreeItem::Group(_)) { heading_box(row) } else { (0.0, LANE) };
        for lane in 0..row.lanes {
            let top = row.y + inset + lane as f32 * (LANE + GAP);
            if top + LANE > 0.0 && top < window.height {
                let lane = node.first_lane() + lane;
                pieces.clear();
                tiles.pieces(scene, lane, window.time.range(), *level, pieces);
                part.boxes.extend(pieces.iter().filter_map(|piece| boxed(window, piece, top)));
                if let Some(highlighted) = window.highlighted {
                    highlighted_boxes(scene, window, highlighted, lane, top, &mut part.highlighted);
                }
            }
        }
        let beside_work =
            matches!(node.item, TreeItem::Track(track) if scene.model.track(track).kind == TrackKind::AsyncOps);
        if beside_work || height < LANE {
            let new = part.boxes[before.0..].iter_mut().chain(&mut part.highlighted[before.1..]);
            new.for_each(|drawn| {
                drawn.beside_work = beside_work;
                drawn.height = height;
                drawn.has_text &= height >= LEAST_WITH_TEXT;
            });
        }
    }

    fn add_arrows(&mut self, scene: DrawnTrace<'_>, window: &LayoutWindow<'_>, slice: SliceId) {
        let (leaving, arriving) = (scene.model.flows_from(slice), scene.model.flows_to(slice).count());
        let is_chosen = |i: usize, of: usize| of > 1 && window.flow % of == i;
        let outgoing =
            leaving.iter().enumerate().map(|(i, flow)| (flow.from, flow.to, true, is_chosen(i, leaving.len())));
        let incoming = scene.model.flows_to(slice).enumerate();
        let incoming = incoming.map(|(i, flow)| (flow.from, flow.to, false, is_chosen(i, arriving)));
        for (i, (from, to, outgoing, is_chosen)) in outgoing.chain(incoming).enumerate() {
            if i >= MAX_ARROWS && !is_chosen {
                continue;
            }
            let (Some(a), Some(b)) = (place_of(scene, window, from), place_of(scene, window, to)) else { continue };
            // A launch may still run when its program begins: the arrow starts where both exist.
            let leaves = if a.right <= b.left { a.right } else { a.left };
            let slices = [from, to];
            let (from, to) = ((leaves, a.top + a.height / 2.0), (b.left, b.top + b.height / 2.0));
            self.arrows.push(FlowArrow { from, to, slices, outgoing, is_chosen });
        }
    }
}

/// Picoseconds per bucket as a power of two, so that it changes rarely while zooming; large enough for the narrowest
/// box, and for so many lanes.
fn level(window: &LayoutWindow<'_>, lanes: usize) -> u32 {
    let narrowest = MIN_WIDTH.max(lanes as f32 * window.width / MOST_BOXES);
    let ps = window.time.span_ps() * f64::from(narrowest) / f64::from(window.width.max(1.0));
    if ps <= 1.0 { 0 } else { (ps.log2().ceil() as u32).min(MAX_LEVEL) }
}

/// Where the box of a slice is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SlicePlace {
    /// Left edge.
    pub left: f32,
    /// Right edge.
    pub right: f32,
    /// Top edge.
    pub top: f32,
    /// Height.
    pub height: f32,
}

/// Lower boxes have no text.
const LEAST_WITH_TEXT: f32 = 15.0;

/// The box of a slice; `None` if it is neither in a row nor in the heading of a folded group.
pub fn place_of(scene: DrawnTrace<'_>, window: &LayoutWindow<'_>, slice: SliceId) -> Option<SlicePlace> {
    let slice = scene.model.slice(slice);
    let row = scene.tree.row_of(window.rows, slice.track(), window.scroll);
    let (row, stays, (inset, height)) = if let Some((row, stays)) = row {
        (row, stays, (0.0, LANE))
    } else {
        let lane = scene.model.first_lane_index(slice.track()) + slice.depth() as usize;
        let (row, stays) = scene.tree.summary_of(window.rows, slice.track(), lane, window.scroll)?;
        (row, stays, heading_box(row))
    };
    let lane = (slice.depth() as usize).min(row.lanes.saturating_sub(1));
    let width = f64::from(window.width);
    let limit = width * 4.0;
    let left = (window.time.fraction(slice.start()) * width).clamp(-limit, limit);
    let right = (window.time.fraction(slice.range().end) * width).clamp(-limit, limit).max(left + f64::from(MIN_WIDTH));
    let top = row.y + inset + lane as f32 * (LANE + GAP);
    // Rows hidden behind the pinned rows cannot be pointed at.
    let top = if stays { top } else { top.max(window.rows.pinned_height() - LANE) };
    Some(SlicePlace { left: left as f32, right: right as f32, top, height })
}

#[cfg(test)]
mod tests;
