//! Habits, without a window.

use super::*;
use trace_model::Timestamp;
use trace_model::{GroupKind, SliceSpec, TraceBuilder, TrackKind};

/// One track: `a` 0..1000 holds `b` 100..200 and `c` 300..400; then `d` 2000..2000.
fn model() -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Ops, 1, "ops");
    for (name, start, end) in [("a", 0, 1_000), ("b", 100, 200), ("c", 300, 400), ("d", 2_000, 2_000)] {
        let label = builder.label(name, None);
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        builder.add_slice(track, SliceSpec::new(range, label));
    }
    builder.finish()
}

fn named(model: &TraceModel, name: &str) -> SliceId {
    model.all_slices().find(|slice| slice.name() == name).unwrap().id()
}

fn selected<'a>(state: &ViewState, model: &'a TraceModel) -> &'a str {
    model.slice(state.place.selection.unwrap()).name()
}

#[test]
fn a_new_view_shows_everything() {
    let model = model();
    let state = ViewState::new(&model);
    assert!(state.place.time.range().encloses(model.extent()));
    assert!(!state.can_undo());
}

#[test]
fn one_gesture_is_one_step_of_the_history() {
    let model = model();
    let mut state = ViewState::new(&model);
    let home = state.place;
    for _ in 0..10 {
        state.apply(&ViewCommand::Zoom { factor: 1.1, anchor: 0.5 }, &model);
        state.apply(&ViewCommand::Pan(0.01), &model);
    }
    assert!(state.in_gesture());
    state.apply(&ViewCommand::EndGesture, &model);
    let zoomed = state.place;
    state.apply(&ViewCommand::Fit, &model);
    state.apply(&ViewCommand::Undo, &model);
    assert_eq!(state.place, zoomed);
    state.apply(&ViewCommand::Undo, &model);
    assert_eq!(state.place, home);
    state.apply(&ViewCommand::Redo, &model);
    assert_eq!(state.place, zoomed);
    // A new way replaces the old way forth.
    state.apply(&ViewCommand::Fit, &model);
    assert!(!state.can_redo());
}

#[test]
fn focus_shows_the_surroundings_first_and_then_the_slice_alone() {
    let model = model();
    let mut state = ViewState::new(&model);
    state.apply(&ViewCommand::Select(named(&model, "c")), &model);
    state.apply(&ViewCommand::Focus, &model);
    assert!((state.place.time.span_ps() - 250.0).abs() < 1e-6);
    state.apply(&ViewCommand::Focus, &model);
    assert!((state.place.time.span_ps() - 100.0).abs() < 1e-6);
    assert_eq!(state.place.time.start().ps(), 300);
    state.apply(&ViewCommand::Deselect, &model);
    state.apply(&ViewCommand::Focus, &model);
    assert!(state.place.time.range().encloses(model.extent()));
}

#[test]
fn stepping_walks_the_lane_and_the_nesting() {
    let model = model();
    let mut state = ViewState::new(&model);
    state.apply(&ViewCommand::Step(Neighbour::Next), &model);
    assert_eq!(selected(&state, &model), "a");
    assert!(state.shows(Panel::Details));
    for (step, name) in [
        (Neighbour::Child, "b"),
        (Neighbour::Next, "c"),
        (Neighbour::Next, "c"),
        (Neighbour::Previous, "b"),
        (Neighbour::Parent, "a"),
        (Neighbour::Next, "d"),
    ] {
        state.apply(&ViewCommand::Step(step), &model);
        assert_eq!(selected(&state, &model), name, "{step:?}");
    }
}

#[test]
fn an_instant_can_be_visited() {
    let model = model();
    let mut state = ViewState::new(&model);
    state.apply(&ViewCommand::GoTo(named(&model, "d")), &model);
    assert!(state.place.time.range().contains(Timestamp::from_ps(2_000)));
    assert_eq!(state.reveal, Some(named(&model, "d")));
}

#[test]
fn the_state_survives_serialisation() {
    let model = model();
    let mut state = ViewState::new(&model);
    state.apply(&ViewCommand::Select(named(&model, "c")), &model);
    state.apply(&ViewCommand::FoldAll(true), &model);
    state.apply(&ViewCommand::Paint(Preset::Perfetto), &model);
    let text = serde_json::to_string(&state).unwrap();
    let back: ViewState = serde_json::from_str(&text).unwrap();
    assert_eq!((back.place, back.colors), (state.place, Preset::Perfetto));
    assert_eq!(back.folded_tracks, state.folded_tracks);
    assert_eq!(state.folded_tracks.len(), 1);
}

#[test]
fn tabs_are_moved_below_and_back() {
    let model = model();
    let mut state = ViewState::new(&model);
    let place = |tab: &str, below| ViewCommand::MoveTab { tab: tab.to_owned(), below };
    state.apply(&place("overview", true), &model);
    assert_eq!(
        (state.tab.as_str(), state.tab_below()),
        ("hints", Some("overview")),
        "the next one is open at the right"
    );
    state.apply(&place("ops", true), &model);
    assert!(state.shows_tab("ops") && !state.shows_tab("overview") && state.shows_tab("hints"));
    state.apply(&ViewCommand::ShowTab("overview".to_owned()), &model);
    assert!(state.shows_tab("overview") && state.tab == "hints", "it opens where it is");
    state.apply(&place("overview", false), &model);
    assert_eq!((state.tab.as_str(), state.tab_below()), ("overview", Some("ops")));
    state.apply(&place("of another version", true), &model);
    assert_eq!(state.below, ["ops"]);
    state.apply(&ViewCommand::ShowPanel(Panel::Reports, false), &model);
    assert!(!state.shows_tab("ops"));
}

#[test]
fn undo_brings_back_the_tracks_of_the_mark() {
    let model = model();
    let mut state = ViewState::new(&model);
    let range = TimeRange::new(Timestamp::from_ps(100), Timestamp::from_ps(200));
    let tracks: BTreeSet<TrackId> = model.track_ids().collect();
    state.apply(&ViewCommand::Mark(range, tracks.clone()), &model);
    state.apply(&ViewCommand::Show(range), &model);
    state.apply(&ViewCommand::MarkAll, &model);
    assert!(state.mark_tracks.is_empty());
    state.apply(&ViewCommand::Undo, &model);
    assert_eq!((state.place.mark, &*state.mark_tracks), (Some(range), &tracks));
    state.apply(&ViewCommand::Redo, &model);
    assert!(state.mark_tracks.is_empty());
}

#[test]
fn moving_the_view_copies_no_tracks_of_the_mark() {
    let model = model();
    let mut state = ViewState::new(&model);
    let range = TimeRange::new(Timestamp::from_ps(100), Timestamp::from_ps(200));
    state.apply(&ViewCommand::Mark(range, model.track_ids().collect()), &model);
    let tracks = Arc::clone(&state.mark_tracks);
    state.apply(&ViewCommand::Pan(0.1), &model);
    state.apply(&ViewCommand::Fit, &model);
    state.apply(&ViewCommand::Undo, &model);
    assert!(Arc::ptr_eq(&tracks, &state.mark_tracks));
    // Dragging an edge of the mark keeps its tracks.
    state.apply(&ViewCommand::Mark(TimeRange::new(range.start, Timestamp::from_ps(300)), (*tracks).clone()), &model);
    assert!(Arc::ptr_eq(&tracks, &state.mark_tracks));
}
