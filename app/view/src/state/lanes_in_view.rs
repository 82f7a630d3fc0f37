//! Tracks of async ops have as many lanes as ops ever overlap; where fewer do, the others would be blank and tall.

use std::collections::BTreeMap;

use trace_model::{TimeRange, TraceModel, TrackId, TrackKind};

use super::ViewState;

/// Lanes to show of the tracks of async ops whose last lanes have no slice in a range; at least one each.
pub fn lanes_in_view(model: &TraceModel, time: TimeRange) -> BTreeMap<TrackId, usize> {
    let is_async = |track: &TrackId| {
        matches!(
            model.track(*track).kind,
            TrackKind::AsyncOps | TrackKind::Async
        )
    };
    let used = |track: TrackId| {
        let lanes = model.lanes(track);
        let has_slices = |lane| model.slices_in(lane, time).next().is_some();
        let last = lanes.iter().rposition(has_slices);
        let shown = last.map_or(1, |last| last + 1);
        (shown < lanes.len()).then_some((track, shown))
    };
    model
        .track_ids()
        .filter(is_async)
        .filter_map(used)
        .collect()
}

impl ViewState {
    /// How many of its lanes a track shows.
    pub fn lanes_of(&self, track: TrackId, all: usize) -> usize {
        self.lanes_in_view
            .get(&track)
            .map_or(all, |&lanes| lanes.min(all))
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
}
