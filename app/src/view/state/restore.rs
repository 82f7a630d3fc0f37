//! A saved view meets a trace that may not be the one it was saved for.

use std::sync::Arc;

use trace_model::TraceModel;

use super::ViewState;
use crate::view::history::History;

impl ViewState {
    /// The same without anything that the trace does not have.
    #[must_use]
    pub fn fitted_to(&self, model: &TraceModel) -> Self {
        let mut state = self.clone();
        let (tracks, groups, slices) = (model.tracks().len(), model.groups().len(), model.slice_count());
        state.place.time = state.place.time.clamped(model.extent());
        if !state.place.scroll.is_finite() {
            state.place.scroll = 0.0;
        }
        state.place.selection = state.place.selection.filter(|slice| slice.index() < slices);
        let marked = Arc::make_mut(&mut state.mark_tracks);
        for members in [&mut state.folded_tracks, &mut state.hidden_tracks, marked] {
            members.retain(|track| track.index() < tracks);
        }
        state.pinned.retain(|track| track.index() < tracks);
        state.folded_groups.retain(|group| group.index() < groups);
        state.hidden_groups.retain(|group| group.index() < groups);
        state.moved_tracks.retain(|track, _| track.index() < tracks);
        state.moved_groups.retain(|group, _| group.index() < groups);
        state.label_width = if state.label_width.is_finite() { state.label_width.clamp(80.0, 600.0) } else { 250.0 };
        state.forget_unknown_tabs();
        (state.history, state.reveal, state.flow) = (History::default(), None, 0);
        state
    }
}
