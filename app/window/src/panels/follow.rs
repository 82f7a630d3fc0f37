//! Scrolls a list so that the selected slice stays visible.

use std::ops::Range;

use crate::prelude::*;

/// State of a list between frames.
#[derive(Default)]
pub struct ScrollToSelection {
    selected: Option<SliceId>,
    in_sight: Range<usize>,
}

impl ScrollToSelection {
    /// The scroll offset that centres the row of a slice that was selected elsewhere; `None` if there is none, or if
    /// its row is already visible.
    pub fn offset(
        &mut self,
        selected: Option<SliceId>,
        row: impl FnOnce(SliceId) -> Option<usize>,
        height: f32,
    ) -> Option<f32> {
        if !self.replace_selection(selected) {
            return None;
        }
        let row = row(selected?)?;
        let middle = row as f32 - self.in_sight.len() as f32 / 2.0;
        (!self.in_sight.contains(&row)).then_some((middle * height).max(0.0))
    }

    /// Takes over the selection of this frame; returns whether the previous frame had another one.
    pub fn replace_selection(&mut self, selected: Option<SliceId>) -> bool {
        std::mem::replace(&mut self.selected, selected) != selected
    }

    /// Records which rows are entirely visible; `rows` were drawn, the first at `top`.
    pub fn saw(&mut self, rows: &Range<usize>, top: f32, clip: Rect, height: f32) {
        let rows_to = |y: f32| ((y - top) / height).max(0.0);
        let (first, end) = (
            rows_to(clip.top()).ceil() as usize,
            rows_to(clip.bottom()).floor() as usize,
        );
        let end = (rows.start + end).min(rows.end);
        self.in_sight = (rows.start + first).min(end)..end;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scrolls_once_and_only_to_hidden_rows() {
        let mut follow = ScrollToSelection::default();
        let clip = Rect::from_min_max(pos2(0.0, 100.0), pos2(50.0, 205.0));
        // The first row is half above the edge; four fit below it.
        follow.saw(&(10..20), 90.0, clip, 20.0);
        let model = sample_traces::text_trace("@column 1us\nops: ABCD\n");
        let slice = |number: usize| model.all_slices().nth(number).map(SliceRef::id);
        assert_eq!(
            follow.offset(slice(1), |_| Some(12), 20.0),
            None,
            "it is in sight"
        );
        assert_eq!(
            follow.offset(slice(2), |_| Some(10), 20.0),
            Some(160.0),
            "it is cut"
        );
        assert_eq!(
            follow.offset(slice(2), |_| Some(10), 20.0),
            None,
            "the user may scroll away"
        );
        assert_eq!(follow.offset(slice(3), |_| None, 20.0), None);
        assert_eq!(follow.offset(None, |_| Some(40), 20.0), None);
    }
}
