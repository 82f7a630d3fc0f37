//! From model and view to a list of boxes: what is drawn where, without colours
//! and without egui.
//!
//! Only rows in sight are asked for, and only as finely as pixels can show: the
//! cost of a frame grows with the window, not with the trace. Slices narrower
//! than [`MIN_WIDTH`] share a box that is filled as far as slices cover it:
//!
//! ```text
//! slices   ▌▌ ▌  ▌ ▌▌▌▌▌▌▌▌       zoomed out: one box a bucket, its height
//! boxes    ▂▂▂▁▁▁▃▃▃███████       is the share of time that is covered
//! ```

use trace_model::{LabelId, LodIndex, SliceId, TraceModel};

use super::tiles::{MAX_LEVEL, Piece, Tiles};
use super::tree::{COUNTER, GAP, LANE, Row, TrackTree};
use super::viewport::Viewport;

/// Width below which slices share a box, and the narrowest box.
pub const MIN_WIDTH: f32 = 2.0;
/// Narrowest box that gets a text.
const MIN_TEXT: f32 = 22.0;
/// Most arrows drawn for a selection.
const MAX_ARROWS: usize = 64;

/// What there is to draw from.
#[derive(Clone, Copy)]
pub struct Scene<'a> {
    /// The trace.
    pub model: &'a TraceModel,
    /// Its pyramids.
    pub lod: &'a LodIndex,
    /// Its tracks.
    pub tree: &'a TrackTree,
}

/// What of it is in sight.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    /// The visible times.
    pub time: Viewport,
    /// All rows.
    pub rows: &'a [Row],
    /// Points above the top.
    pub scroll: f32,
    /// Size of the canvas in points.
    pub width: f32,
    /// Height of the canvas in points.
    pub height: f32,
    /// The selected slice.
    pub selection: Option<SliceId>,
}

/// One or several slices.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SliceBox {
    /// Left edge, clipped to just outside of the canvas.
    pub left: f32,
    /// Right edge, clipped likewise.
    pub right: f32,
    /// Top edge.
    pub top: f32,
    /// The slice, or the longest of several.
    pub slice: SliceId,
    /// Its label.
    pub label: LabelId,
    /// How many slices.
    pub count: u32,
    /// Share of the width that is covered, 0 to 1.
    pub fill: f32,
    /// Whether its name is to be written into it.
    pub has_text: bool,
}

/// A constant piece of a counter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Left edge.
    pub left: f32,
    /// Right edge.
    pub right: f32,
    /// Height as a share of the track, 0 to 1.
    pub level: f32,
    /// The value (the largest of several).
    pub value: f64,
}

/// A counter in sight.
#[derive(Clone, Debug, PartialEq)]
pub struct CounterBox {
    /// Index of its node.
    pub node: usize,
    /// Top edge.
    pub top: f32,
    /// Its pieces.
    pub steps: Vec<Step>,
    /// Value at full height.
    pub max: f64,
    /// Value at the bottom.
    pub min: f64,
}

/// An arrow between two slices, from right end to left end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrow {
    /// Where it leaves.
    pub from: (f32, f32),
    /// Where it arrives.
    pub to: (f32, f32),
    /// Whether the selected slice is where it leaves.
    pub outgoing: bool,
}

/// Everything to draw in the canvas.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DrawList {
    /// Rows in sight, tops relative to the canvas.
    pub rows: Vec<Row>,
    /// Boxes, row by row, lane by lane, left to right.
    pub boxes: Vec<SliceBox>,
    /// Counters in sight.
    pub counters: Vec<CounterBox>,
    /// Where the selected slice lies: left, right, top.
    pub selected: Option<(f32, f32, f32)>,
    /// Arrows of the selected slice.
    pub arrows: Vec<Arrow>,
    /// Kept to save allocations.
    pieces: Vec<Piece>,
}

impl DrawList {
    /// Lays out `scene` as seen through `window`, reusing the memory and the tiles
    /// of before.
    pub fn fill(&mut self, scene: Scene<'_>, window: &Window<'_>, tiles: &mut Tiles) {
        self.rows.clear();
        self.boxes.clear();
        self.counters.clear();
        self.arrows.clear();
        let first = window.rows.partition_point(|row| row.y + row.height <= window.scroll);
        let in_sight = window.rows[first..].iter().take_while(|row| row.y < window.scroll + window.height);
        for row in in_sight {
            let row = Row { y: row.y - window.scroll, ..*row };
            self.rows.push(row);
            let node = scene.tree.node(row.node);
            if let Some(bounds) = node.counter {
                self.add_counter(scene, window, row, bounds);
            }
            for lane in 0..row.lanes {
                let top = row.y + lane as f32 * (LANE + GAP);
                if top + LANE > 0.0 && top < window.height {
                    self.add_lane(scene, window, tiles, node.lanes.0 + lane, top);
                }
            }
        }
        self.selected = window.selection.and_then(|slice| {
            let (left, right, top) = place_of(scene, window, slice)?;
            (right > 0.0 && left < window.width).then_some((left, right, top))
        });
        if let Some(slice) = window.selection {
            self.add_arrows(scene, window, slice);
        }
    }

    /// The box at a point of the canvas. Of boxes that touch, the later one.
    pub fn hit(&self, x: f32, y: f32) -> Option<&SliceBox> {
        self.boxes.iter().rev().find(|b| b.top <= y && y < b.top + LANE && b.left <= x && x < b.right)
    }

    /// The row at a height of the canvas.
    pub fn row_at(&self, y: f32) -> Option<&Row> {
        self.rows.iter().find(|row| row.y <= y && y < row.y + row.height)
    }

    fn add_lane(&mut self, scene: Scene<'_>, window: &Window<'_>, tiles: &mut Tiles, lane: usize, top: f32) {
        self.pieces.clear();
        tiles.pieces(scene, lane, window.time.range(), level(window), &mut self.pieces);
        let width = f64::from(window.width);
        for found in &self.pieces {
            let left = window.time.fraction(found.range.start) * width;
            let right = window.time.fraction(found.range.end) * width;
            let drawn = (right - left).max(f64::from(MIN_WIDTH));
            if left > width || left + drawn < 0.0 {
                // Tiles reach past the edges.
                continue;
            }
            // Shares are of what is drawn: a bucket of few slices is nearly empty.
            let fill = if found.count == 1 {
                1.0
            } else {
                let bucket = drawn * window.time.span_ps() / width;
                (found.occupied.ps() as f64 / bucket).clamp(0.0, 1.0)
            };
            let (left, right) = (left.max(-4.0) as f32, (left + drawn).min(width + 4.0) as f32);
            self.boxes.push(SliceBox {
                left,
                right,
                top,
                slice: found.slice,
                label: found.label,
                count: found.count,
                fill: fill as f32,
                has_text: found.count == 1 && right.min(window.width) - left.max(0.0) >= MIN_TEXT,
            });
        }
    }

    fn add_counter(&mut self, scene: Scene<'_>, window: &Window<'_>, row: Row, (min, max): (f64, f64)) {
        let super::tree::Item::Track(track) = scene.tree.node(row.node).item else { return };
        let Some(series) = scene.model.counter(track) else { return };
        let height = if max > min { max - min } else { 1.0 };
        let mut steps: Vec<Step> = Vec::new();
        let visible = window.time.range();
        for (range, value) in series.samples().skip(series.first_after(visible.start)) {
            if range.start >= visible.end {
                break;
            }
            let left = (window.time.fraction(range.start) * f64::from(window.width)).max(-4.0) as f32;
            let right =
                (window.time.fraction(range.end) * f64::from(window.width)).min(f64::from(window.width) + 4.0) as f32;
            let step = Step { left, right, level: ((value - min) / height) as f32, value };
            match steps.last_mut() {
                // Pieces too narrow to see keep the largest, so that peaks stay.
                Some(last) if right - last.left < MIN_WIDTH => {
                    last.right = right;
                    if value > last.value {
                        (last.level, last.value) = (step.level, value);
                    }
                }
                _ => steps.push(step),
            }
        }
        self.counters.push(CounterBox { node: row.node, top: row.y, steps, max, min });
    }

    fn add_arrows(&mut self, scene: Scene<'_>, window: &Window<'_>, slice: SliceId) {
        let outgoing = scene.model.flows_from(slice).iter().map(|flow| (flow.from, flow.to, true));
        let incoming = scene.model.flows_to(slice).map(|flow| (flow.from, flow.to, false));
        for (from, to, outgoing) in outgoing.chain(incoming).take(MAX_ARROWS) {
            let (Some(a), Some(b)) = (place_of(scene, window, from), place_of(scene, window, to)) else { continue };
            let middle = LANE / 2.0;
            // A launch may still run when what it launched begins: leave where both exist.
            let leaves = if a.1 <= b.0 { a.1 } else { a.0 };
            self.arrows.push(Arrow { from: (leaves, a.2 + middle), to: (b.0, b.2 + middle), outgoing });
        }
    }
}

/// Picoseconds per bucket as a power of two, so that it changes rarely while one
/// zooms: wide enough for the narrowest box.
fn level(window: &Window<'_>) -> u32 {
    let ps = window.time.span_ps() * f64::from(MIN_WIDTH) / f64::from(window.width.max(1.0));
    if ps <= 1.0 { 0 } else { (ps.log2().ceil() as u32).min(MAX_LEVEL) }
}

/// Left, right and top of a slice's box; `None` where its row is folded away.
fn place_of(scene: Scene<'_>, window: &Window<'_>, slice: SliceId) -> Option<(f32, f32, f32)> {
    let slice = scene.model.slice(slice);
    let row = scene.tree.row_of(window.rows, slice.track())?;
    let lane = (slice.depth() as usize).min(row.lanes.saturating_sub(1));
    let width = f64::from(window.width);
    let limit = width * 4.0;
    let left = (window.time.fraction(slice.start()) * width).clamp(-limit, limit);
    let right = (window.time.fraction(slice.range().end) * width).clamp(-limit, limit).max(left + f64::from(MIN_WIDTH));
    Some((left as f32, right as f32, row.y - window.scroll + lane as f32 * (LANE + GAP)))
}

/// Height at which a counter's level is drawn, from the top of its row.
pub fn counter_y(level: f32) -> f32 {
    COUNTER - 1.0 - level.clamp(0.0, 1.0) * (COUNTER - 8.0)
}

#[cfg(test)]
mod tests;
