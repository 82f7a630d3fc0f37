//! Tracks of async ops have as many lanes as ops ever overlap; where fewer do, the others would be blank and tall, and
//! where many do, they would fill the screen: until such a track is opened, it shows the first lanes only.

use crate::prelude::*;

use super::ViewState;

/// Lanes of async ops that are shown until their track is opened.
const AT_FIRST: usize = 6;

/// Whether a track has a lane for each op that overlaps others, and not for each level of calls.
pub fn is_async(kind: TrackKind) -> bool {
    matches!(kind, TrackKind::AsyncOps | TrackKind::Async)
}

/// Lanes to show of the tracks of async ops whose last lanes have no slice in a range; at least one each.
pub fn lanes_in_view(model: &TraceModel, time: TimeRange) -> BTreeMap<TrackId, usize> {
    let used = |track: TrackId| {
        let lanes = model.lanes(track);
        let has_slices = |lane| model.slices_in(lane, time).next().is_some();
        let last = lanes.iter().rposition(has_slices);
        let shown = last.map_or(1, |last| last + 1);
        (shown < lanes.len()).then_some((track, shown))
    };
    model
        .track_ids()
        .filter(|&track| is_async(model.track(track).kind))
        .filter_map(used)
        .collect()
}

impl ViewState {
    /// How many of its lanes a track shows, and how many it hides though they have slices in view or it is folded.
    pub fn lanes_of(&self, track: TrackId, all: usize, is_async: bool) -> (usize, usize) {
        let in_view = match self.lanes_in_view.get(&track) {
            Some(&lanes) => lanes.min(all),
            None => all,
        };
        let shown = if all > 1 && self.folded_tracks.contains(&track) {
            return (1, all - 1);
        } else if is_async && !self.open_tracks.contains(&track) {
            in_view.min(AT_FIRST)
        } else {
            in_view
        };
        (shown, in_view - shown)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use trace_model::{GroupKind, SliceSpec, Timestamp, TraceBuilder};

    use super::*;
    use crate::state::ViewCommand;
    use crate::timeline::tree::TrackTree;

    #[test]
    fn async_lanes_without_slices_in_view_take_no_room() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let tracks = [TrackKind::AsyncOps, TrackKind::HostThread]
            .map(|kind| builder.track(core, kind, kind as i64, "track"));
        let label = builder.label("copy", None);
        let range = |start, end| TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        for track in tracks {
            for (start, end) in [(0, 50), (10, 60), (20, 70), (80, 90), (85, 95)] {
                builder.add_slice(track, SliceSpec::new(range(start, end), label));
            }
        }
        let model = builder.finish();
        let shown = |start, end| lanes_in_view(&model, range(start, end));
        assert_eq!(shown(0, 100), BTreeMap::new());
        assert_eq!(shown(80, 100), BTreeMap::from([(tracks[0], 2)]));
        assert_eq!(shown(71, 79), BTreeMap::from([(tracks[0], 1)]));

        let tree = TrackTree::new(&model);
        let mut state = ViewState::new(&model);
        let all = tree.rows(&state).height();
        let lanes = Arc::new(shown(71, 79));
        state.apply(&ViewCommand::LanesInView { lanes, scroll: 0.0 }, &model);
        assert!(tree.rows(&state).height() < all - 40.0);
    }

    #[test]
    fn the_first_of_many_async_lanes_are_shown_until_the_track_is_opened() {
        let mut builder = TraceBuilder::new();
        let core = builder.group(None, GroupKind::TensorCore { ordinal: 0 }, "/device:TPU:0");
        let track = builder.track(core, TrackKind::AsyncOps, 0, "Async XLA Ops");
        let label = builder.label("copy", None);
        for at in 0..20 {
            let range = TimeRange::new(Timestamp::from_ps(at), Timestamp::from_ps(at + 100));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        let model = builder.finish();
        let tree = TrackTree::new(&model);
        let mut state = ViewState::new(&model);
        let mut shown = |command: Option<ViewCommand>| {
            if let Some(command) = command {
                state.apply(&command, &model);
            }
            let row = tree.row_of(&tree.rows(&state), track, 0.0).unwrap().0;
            (row.lanes, row.hidden)
        };
        assert_eq!(shown(None), (6, 14));
        let fold = |fold| Some(ViewCommand::FoldTrack(track, fold));
        assert_eq!(shown(fold(false)), (20, 0));
        assert_eq!(shown(fold(true)), (1, 19));
        assert_eq!(shown(Some(ViewCommand::FoldAll(false))), (20, 0));
    }
}
