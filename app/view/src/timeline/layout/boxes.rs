//! Boxes of slices, and the visible part of the timeline.

use crate::prelude::*;

use crate::palette::ColorKey;
use crate::timeline::columns::LongSlice;
use crate::timeline::highlighted::Highlighted;
use crate::timeline::tiles::LONG;
use crate::timeline::tree::{GAP, LANE, TrackRow, VisibleRows};
use crate::viewport::Viewport;

/// Narrower slices have no box: neither edges nor a name.
pub const SHORTEST_BOX: f32 = LONG as f32;
/// Minimum width of a box.
pub const MIN_WIDTH: f32 = 2.0;
/// Minimum width of a box with text.
pub(super) const MIN_TEXT: f32 = 22.0;
/// Lower boxes have no text.
const LEAST_WITH_TEXT: f32 = 15.0;
/// The visible part of a trace.
#[derive(Clone, Copy)]
pub struct LayoutWindow<'a> {
    pub time: Viewport,
    pub rows: &'a VisibleRows,
    /// Points above the top.
    pub scroll: f32,
    /// Size of the canvas in points.
    pub width: f32,
    /// Height of the canvas in points.
    pub height: f32,
    pub selection: Option<SliceId>,
    /// Slices that are highlighted; all others are dim.
    pub highlighted: Option<&'a Highlighted>,
    /// Whether to draw the flow arrows of the selected slice.
    pub arrows: bool,
    /// Index of the chosen flow, modulo their number.
    pub flow: usize,
    /// The colour of each label.
    pub colors: &'a [ColorKey],
    /// Points that columns are a multiple of: whole pixels of the screen.
    pub pixel: f32,
}

impl LayoutWindow<'_> {
    /// Picoseconds of a point.
    pub(super) fn point_ps(&self) -> f64 {
        self.time.span_ps() / f64::from(self.width.max(1.0))
    }

    /// Position of a time, in points.
    pub(super) fn x_of(&self, time: Timestamp) -> f64 {
        self.time.fraction(time) * f64::from(self.width)
    }

    /// The time at a position.
    pub(super) fn time_at(&self, x: f32) -> Timestamp {
        self.time
            .time_at(f64::from(x) / f64::from(self.width.max(1.0)))
    }
}

/// One or several slices.
#[derive(Clone, Copy, Debug)]
pub struct SliceBox {
    /// Left edge, clipped to just outside of the canvas.
    pub left: f32,
    /// Right edge, clipped likewise.
    pub right: f32,
    pub top: f32,
    pub height: f32,
    /// The slice, or the longest of several.
    pub slice: SliceId,
    pub label: LabelId,
    /// How many slices.
    pub count: u32,
    /// Share of the time that is covered, 0 to 1.
    pub fill: f32,
    /// Whether to write its name into it.
    pub has_text: bool,
    /// Whether it is on a track with work in flight beside other work.
    pub beside_work: bool,
    /// Whether its length on the timeline is not the measured one.
    pub is_distorted: bool,
}

impl SliceBox {
    /// The corners of the notch in the upper right that marks a distorted slice, if there is room for it.
    pub fn notch(&self) -> Option<[(f32, f32); 3]> {
        const SIDE: f32 = 6.0;
        let has_room =
            self.is_distorted && self.right - self.left >= 2.0 * SIDE && self.height >= 2.0 * SIDE;
        let (right, top) = (self.right - 1.0, self.top);
        has_room.then_some([(right - SIDE, top), (right, top), (right, top + SIDE)])
    }
}

/// Some slices of a lane.
pub(super) struct SlicePiece {
    /// From the start of the first to the end of the last.
    pub range: TimeRange,
    /// The slice, or the longest of several.
    pub slice: SliceId,
    pub label: LabelId,
    /// How many slices.
    pub count: u32,
    /// The part of `range` that they cover.
    pub occupied: Picos,
}

impl From<SliceRef<'_>> for SlicePiece {
    fn from(slice: SliceRef<'_>) -> Self {
        Self {
            range: slice.range(),
            slice: slice.id(),
            label: slice.label_id(),
            count: 1,
            occupied: slice.dur(),
        }
    }
}

impl From<&LongSlice> for SlicePiece {
    fn from(long: &LongSlice) -> Self {
        Self {
            range: long.range,
            slice: long.slice,
            label: long.label,
            count: 1,
            occupied: long.range.dur(),
        }
    }
}

/// The box of some slices of a lane; `None` if it is outside the canvas.
pub(super) fn boxed(
    window: &LayoutWindow<'_>,
    piece: &SlicePiece,
    top: f32,
    height: f32,
) -> Option<SliceBox> {
    let width = f64::from(window.width);
    let (left, right) = (window.x_of(piece.range.start), window.x_of(piece.range.end));
    let drawn = (right - left).max(f64::from(MIN_WIDTH));
    if left > width || left + drawn < 0.0 {
        // Tiles reach past the edges.
        return None;
    }
    // The share refers to the drawn width: a box with few slices is nearly empty.
    let fill = if piece.count == 1 {
        1.0
    } else {
        (piece.occupied.as_ps_f64() / (drawn * window.point_ps())).clamp(0.0, 1.0)
    };
    let (left, right) = (
        left.max(-4.0) as f32,
        (left + drawn).min(width + 4.0) as f32,
    );
    let has_text = piece.count == 1
        && right.min(window.width) - left.max(0.0) >= MIN_TEXT
        && height >= LEAST_WITH_TEXT;
    let (slice, label, count, fill) = (piece.slice, piece.label, piece.count, fill as f32);
    Some(SliceBox {
        left,
        right,
        top,
        height,
        slice,
        label,
        count,
        fill,
        has_text,
        beside_work: false,
        is_distorted: false,
    })
}

/// Space above the box in the heading of a folded group, and the height of the box.
pub(super) fn heading_box(row: TrackRow) -> (f32, f32) {
    let height = (row.height - GAP).min(LANE);
    ((row.height - height) / 2.0, height)
}
