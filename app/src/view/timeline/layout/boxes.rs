//! Boxes of slices, and the visible part of the timeline.

use trace_model::{LabelId, SliceId};

use super::highlighted::Highlighted;
use crate::view::timeline::tiles::TilePiece;
use crate::view::timeline::tree::{GAP, LANE, TrackRow, VisibleRows};
use crate::view::viewport::Viewport;

/// Slices narrower than this share a box; also the minimum width of a box.
pub const MIN_WIDTH: f32 = 2.0;
/// Minimum width of a box with text.
const MIN_TEXT: f32 = 22.0;
/// The visible part of a trace.
#[derive(Clone, Copy)]
pub struct LayoutWindow<'a> {
    /// The visible times.
    pub time: Viewport,
    /// All rows.
    pub rows: &'a VisibleRows,
    /// Points above the top.
    pub scroll: f32,
    /// Size of the canvas in points.
    pub width: f32,
    /// Height of the canvas in points.
    pub height: f32,
    /// The selected slice.
    pub selection: Option<SliceId>,
    /// Slices that are highlighted; all others are dim.
    pub highlighted: Option<&'a Highlighted>,
    /// Whether to draw the flow arrows of the selected slice.
    pub arrows: bool,
    /// Index of the chosen flow, modulo their number.
    pub flow: usize,
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
    /// Height.
    pub height: f32,
    /// The slice, or the longest of several.
    pub slice: SliceId,
    /// Its label.
    pub label: LabelId,
    /// How many slices.
    pub count: u32,
    /// Share of the width that is covered, 0 to 1.
    pub fill: f32,
    /// Whether to write its name into it.
    pub has_text: bool,
    /// Whether it is on a track with work in flight beside other work.
    pub beside_work: bool,
}

/// The box of some slices of a lane; `None` if it is outside the canvas.
pub(super) fn boxed(window: &LayoutWindow<'_>, piece: &TilePiece, top: f32) -> Option<SliceBox> {
    let width = f64::from(window.width);
    let left = window.time.fraction(piece.range.start) * width;
    let right = window.time.fraction(piece.range.end) * width;
    let drawn = (right - left).max(f64::from(MIN_WIDTH));
    if left > width || left + drawn < 0.0 {
        // Tiles reach past the edges.
        return None;
    }
    // The share refers to the drawn width: a bucket with few slices is nearly empty.
    let fill = if piece.count == 1 {
        1.0
    } else {
        let bucket = drawn * window.time.span_ps() / width;
        (piece.occupied.ps() as f64 / bucket).clamp(0.0, 1.0)
    };
    let (left, right) = (left.max(-4.0) as f32, (left + drawn).min(width + 4.0) as f32);
    Some(SliceBox {
        left,
        right,
        top,
        height: LANE,
        slice: piece.slice,
        label: piece.label,
        count: piece.count,
        fill: fill as f32,
        has_text: piece.count == 1 && right.min(window.width) - left.max(0.0) >= MIN_TEXT,
        beside_work: false,
    })
}

/// Space above the box in the heading of a folded group, and the height of the box.
pub(super) fn heading_box(row: TrackRow) -> (f32, f32) {
    let height = (row.height - GAP).min(LANE);
    ((row.height - height) / 2.0, height)
}
