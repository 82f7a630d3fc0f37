//! Restores a saved view, also for a trace that may differ from the saved one.

use crate::prelude::*;

use super::{Panel, ViewState};
use crate::state::history::ViewHistory;

/// Fingerprint of a trace: if it differs, ids of tracks and slices have another meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TraceShape {
    slices: usize,
    tracks: usize,
    groups: usize,
    extent: TimeRange,
}

impl TraceShape {
    /// The fingerprint of a trace.
    pub fn of(model: &TraceModel) -> Self {
        Self {
            slices: model.slice_count(),
            tracks: model.tracks().len(),
            groups: model.groups().len(),
            extent: model.extent(),
        }
    }
}

impl ViewState {
    /// Whether it can be a view of this trace. Old sessions do not identify their trace.
    pub fn may_be_of(&self, model: &TraceModel) -> bool {
        self.shape
            .is_none_or(|shape| shape == TraceShape::of(model))
    }

    /// The view without anything that the trace does not have; for another trace only window settings, notes and
    /// search.
    #[must_use]
    pub fn fitted_to(&self, model: &TraceModel) -> Self {
        let mut state = if self.may_be_of(model) {
            self.within(model)
        } else {
            self.carried_over(model)
        };
        state.isolate &= state.is_searching();
        if !state.search.is_empty() {
            // If slices are dimmed, the reason must be visible.
            state.panels.insert(Panel::Search);
        }
        state.label_width = if state.label_width.is_finite() {
            state.label_width.clamp(80.0, 600.0)
        } else {
            250.0
        };
        state
    }

    /// The parts that are valid for another trace.
    fn carried_over(&self, model: &TraceModel) -> Self {
        let mut state = Self::new(model);
        state.share_window(self);
        state.notes.clone_from(&self.notes);
        state.search.clone_from(&self.search);
        state.track_filter.clone_from(&self.track_filter);
        state.derived.clone_from(&self.derived);
        state.queries.clone_from(&self.queries);
        state.isolate = self.isolate;
        state
    }

    fn within(&self, model: &TraceModel) -> Self {
        let mut state = self.clone();
        let (tracks, groups, slices) = (
            model.tracks().len(),
            model.groups().len(),
            model.slice_count(),
        );
        state.shape = Some(TraceShape::of(model));
        state.place.time = state.place.time.clamped(model.extent());
        if !state.place.scroll.is_finite() {
            state.place.scroll = 0.0;
        }
        state.place.selection = state.place.selection.filter(|slice| slice.index() < slices);
        let marked = Arc::make_mut(&mut state.mark_tracks);
        for members in [
            &mut state.folded_tracks,
            &mut state.open_tracks,
            &mut state.hidden_tracks,
            marked,
        ] {
            members.retain(|track| track.index() < tracks);
        }
        if state.mark_tracks.is_empty() && !self.mark_tracks.is_empty() {
            // An empty list would mean all tracks.
            state.place.mark = None;
        }
        state.pinned.retain(|track| track.index() < tracks);
        state.folded_groups.retain(|group| group.index() < groups);
        state.hidden_groups.retain(|group| group.index() < groups);
        state.moved_tracks.retain(|track, _| track.index() < tracks);
        state
            .track_heights
            .retain(|track, _| track.index() < tracks);
        state.moved_groups.retain(|group, _| group.index() < groups);
        (state.history, state.reveal, state.flow) = (ViewHistory::default(), None, 0);
        state
    }
}
