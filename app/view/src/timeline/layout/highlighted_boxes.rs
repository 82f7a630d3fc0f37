//! Boxes of slices that are highlighted.

use super::boxes::{LayoutWindow, MIN_WIDTH, SliceBox, SlicePiece, boxed};
use crate::timeline::highlighted::Highlighted;
use crate::timeline::scene::DrawnTrace;

/// Boxes of the highlighted slices of a lane; neighbours too narrow to distinguish are merged.
pub(super) fn highlighted_boxes(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    highlighted: &Highlighted,
    lane: usize,
    (top, height): (f32, f32),
    out: &mut Vec<SliceBox>,
) {
    let Some(lane) = scene.model.all_lanes().get(lane) else {
        return;
    };
    let rows = scene.model.lane_rows(lane);
    let before = |row: usize| highlighted.ids.partition_point(|slice| slice.index() < row);
    let (first, end) = (before(rows.start), before(rows.end));
    let range = |index: usize| scene.model.slice(highlighted.ids[index]).range();
    // Slices of a lane do not overlap, so the order of ids is also the order of starts and of ends.
    let until = |from: usize, is_before: &dyn Fn(usize) -> bool| {
        let (mut low, mut high) = (from, end);
        while low < high {
            let middle = usize::midpoint(low, high);
            if is_before(middle) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    };
    let visible = window.time.range();
    let bucket = window.point_ps() * f64::from(MIN_WIDTH);
    let mut index = until(first, &|i| range(i).end < visible.start);
    while index < end && range(index).start < visible.end {
        let begin = range(index).start;
        let next = until(index + 1, &|i| {
            (range(i).end - begin).as_ps_f64() <= bucket && range(i).start < visible.end
        });
        let longest = highlighted
            .longest
            .largest(index..next, |i| range(i).dur())
            .unwrap_or(index);
        let slice = scene.model.slice(highlighted.ids[longest]);
        let whole = trace_model::TimeRange::new(begin, range(next - 1).end);
        let occupied =
            trace_model::Picos::from_ps(highlighted.sums[next] - highlighted.sums[index]);
        let (id, label, count) = (slice.id(), slice.label_id(), (next - index) as u32);
        let piece = SlicePiece {
            range: whole,
            slice: id,
            label,
            count,
            occupied,
        };
        out.extend(boxed(window, &piece, top, height));
        index = next;
    }
}
