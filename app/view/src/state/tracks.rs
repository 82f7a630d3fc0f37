//! Commands about many tracks at once.

use crate::prelude::*;

use super::ViewState;

impl ViewState {
    /// Folds all tracks and groups but the topmost, or unfolds everything.
    pub(super) fn fold_all(&mut self, fold: bool, model: &TraceModel) {
        self.folded_groups.clear();
        let (all, none) = if fold {
            (&mut self.folded_tracks, &mut self.open_tracks)
        } else {
            (&mut self.open_tracks, &mut self.folded_tracks)
        };
        all.extend(model.track_ids().filter(|&id| model.lanes(id).len() > 1));
        none.clear();
        if fold {
            // The top groups stay open, because an empty window would be no overview.
            self.folded_groups.extend(
                model
                    .group_ids()
                    .filter(|&id| model.group(id).parent.is_some()),
            );
        }
    }

    /// Pins or unpins the tracks with the name and kind of `track`, of every device, in the order of the trace.
    pub(super) fn pin_everywhere(&mut self, track: TrackId, pin: bool, model: &TraceModel) {
        let like = model.track(track);
        let is_alike = |&other: &TrackId| {
            let other = model.track(other);
            (other.name, other.kind) == (like.name, like.kind)
        };
        self.pinned.retain(|other| !is_alike(other));
        if pin {
            self.pinned.extend(model.track_ids().filter(is_alike));
        }
    }

    /// Hides the tracks that have neither slices nor samples in the visible time.
    pub(super) fn hide_empty(&mut self, model: &TraceModel) {
        let time = self.place.time.range();
        let is_empty = |&track: &TrackId| {
            let has_slices = model
                .lanes(track)
                .iter()
                .any(|lane| model.slices_in(lane, time).next().is_some());
            let has_samples = model
                .counter(track)
                .is_some_and(|series| series.samples_in(time).next().is_some());
            !has_slices && !has_samples && !self.pinned.contains(&track)
        };
        let empty: Vec<TrackId> = model.track_ids().filter(is_empty).collect();
        self.hidden_tracks.extend(empty);
    }
}
