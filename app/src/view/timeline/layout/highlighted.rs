//! Slices that are highlighted while all others are dim.

use trace_model::{SliceId, TraceModel};

use super::{LayoutWindow, MIN_WIDTH, SliceBox, boxed};
use crate::view::timeline::peaks::MaximumIndex;
use crate::view::timeline::scene::DrawnTrace;
use crate::view::timeline::tiles::TilePiece;

/// Slices that are highlighted, prepared so that a frame looks at as many as there are boxes
/// and not at each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Highlighted {
    /// By id.
    ids: Vec<SliceId>,
    /// Before each how long all before it take together, in picoseconds.
    sums: Vec<i64>,
    longest: MaximumIndex,
}

impl Highlighted {
    /// Of slices by their ids.
    pub fn new(model: &TraceModel, ids: Vec<SliceId>) -> Self {
        let dur = |slice: SliceId| model.slice(slice).dur().ps();
        let mut sums = Vec::with_capacity(ids.len() + 1);
        sums.push(0_i64);
        for &slice in &ids {
            sums.push(sums.last().copied().unwrap_or(0).saturating_add(dur(slice)));
        }
        let longest = MaximumIndex::new(ids.len(), |i| ids.get(i).map(|&slice| dur(slice)));
        Self { ids, sums, longest }
    }

    /// By id.
    pub fn ids(&self) -> &[SliceId] {
        &self.ids
    }
}

/// Boxes of the slices of a lane that are highlighted, neighbours joined as far as pixels demand. Exact
/// where the pyramid is not: it knows only the longest slice of a bucket.
pub(super) fn highlighted_boxes(
    scene: DrawnTrace<'_>,
    window: &LayoutWindow<'_>,
    highlighted: &Highlighted,
    lane: usize,
    top: f32,
    out: &mut Vec<SliceBox>,
) {
    let Some(lane) = scene.model.all_lanes().get(lane) else { return };
    let rows = scene.model.lane_rows(lane);
    let before = |row: usize| highlighted.ids.partition_point(|slice| slice.index() < row);
    let (first, end) = (before(rows.start), before(rows.end));
    let range = |at: usize| scene.model.slice(highlighted.ids[at]).range();
    // Slices of a lane do not overlap: by id is by start and by end.
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
    let bucket = window.time.span_ps() * f64::from(MIN_WIDTH) / f64::from(window.width.max(1.0));
    let mut at = until(first, &|i| range(i).end < visible.start);
    while at < end && range(at).start < visible.end {
        let begin = range(at).start;
        let next = until(at + 1, &|i| (range(i).end - begin).ps() as f64 <= bucket && range(i).start < visible.end);
        let longest = highlighted.longest.largest(at..next, |i| range(i).dur()).unwrap_or(at);
        let slice = scene.model.slice(highlighted.ids[longest]);
        let whole = trace_model::TimeRange::new(begin, range(next - 1).end);
        let occupied = trace_model::Picos::from_ps(highlighted.sums[next] - highlighted.sums[at]);
        let (id, label, count) = (slice.id(), slice.label_id(), (next - at) as u32);
        let piece = TilePiece { range: whole, slice: id, label, count, occupied };
        out.extend(boxed(window, &piece, top));
        at = next;
    }
}
