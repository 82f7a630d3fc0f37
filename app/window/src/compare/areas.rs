//! Layout of the compared timelines and of the lane between them.

use crate::prelude::*;

use crate::timeline::canvas_x;

/// Height of the lane in a low window and in a tall one.
pub(super) const LANES: [f32; 2] = [26.0, 38.0];

/// From this height on, a window is tall.
const TALL: f32 = 900.0;

/// The lane of an area: its height.
fn height_of_lane(whole: Rect) -> f32 {
    LANES[usize::from(whole.height() >= TALL)]
}

/// The names of A and B: beside the lane, above each other.
fn heads(lane: Rect, label_width: f32) -> [Rect; 2] {
    let names = lane.with_max_x(canvas_x(lane, label_width).min);
    let middle = names.center().y;
    [names.with_max_y(middle), names.with_min_y(middle)]
}

/// Layout of the compared timelines.
pub struct ComparisonAreas {
    /// Headings of A and B.
    pub heads: [Rect; 2],
    /// Timelines of A and B. If their tracks are interleaved: only the parts above the tracks.
    pub timelines: [Rect; 2],
    /// The area of the tracks of both, if they are interleaved.
    pub body: Option<Rect>,
    /// The lane between the timelines.
    pub(super) lane: Rect,
    pub(super) whole: Rect,
}

impl ComparisonAreas {
    /// Divides a rectangle; A gets the share `split` of its height.
    pub fn of(rect: Rect, label_width: f32, split: f32) -> Self {
        let height = height_of_lane(rect);
        let upper = (rect.height() - height).max(0.0) * split;
        let top = rect.top() + upper;
        let lane = Rect::from_x_y_ranges(rect.x_range(), top..=top + height);
        let timelines = [rect.with_max_y(lane.top()), rect.with_min_y(lane.bottom())];
        Self {
            heads: heads(lane, label_width),
            timelines,
            body: None,
            lane,
            whole: rect,
        }
    }

    /// Divides a rectangle for interleaved tracks; `rulers` are the heights of ruler and minimap of both sides.
    pub fn interleaved(rect: Rect, label_width: f32, rulers: [f32; 2]) -> Self {
        let mut top = rect.top();
        let mut next = |height: f32| {
            let rect = Rect::from_x_y_ranges(rect.x_range(), top..=top + height);
            top += height;
            rect
        };
        let (a, lane, b) = (next(rulers[0]), next(height_of_lane(rect)), next(rulers[1]));
        let body = Some(rect.with_min_y(b.bottom().min(rect.bottom())));
        Self {
            heads: heads(lane, label_width),
            timelines: [a, b],
            body,
            lane,
            whole: rect,
        }
    }
}
