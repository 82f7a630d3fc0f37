//! Behaviour of the view, without a window.

use super::*;
use crate::viewport::Viewport;
use trace_model::{GroupKind, SliceSpec, TimeRange, Timestamp, TraceBuilder, TrackKind};

/// One track: `a` 0..1000 contains `b` 100..200 and `c` 300..400; then `d` 2000..2000.
fn model() -> TraceModel {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Ops, 1, "ops");
    for (name, start, end) in [
        ("a", 0, 1_000),
        ("b", 100, 200),
        ("c", 300, 400),
        ("d", 2_000, 2_000),
    ] {
        let label = builder.label(name, None);
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(end));
        builder.add_slice(track, SliceSpec::new(range, label));
    }
    builder.finish()
}

fn named(model: &TraceModel, name: &str) -> SliceId {
    model
        .all_slices()
        .find(|slice| slice.name() == name)
        .unwrap()
        .id()
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
fn one_gesture_is_one_undo_step() {
    let model = model();
    let mut state = ViewState::new(&model);
    let home = state.place;
    for _ in 0..10 {
        state.apply(
            &ViewCommand::Zoom {
                factor: 1.1,
                anchor: 0.5,
            },
            &model,
        );
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
    // A new jump replaces the entries to go forward to.
    state.apply(&ViewCommand::Fit, &model);
    assert!(!state.can_redo());
}

#[test]
fn focus_shows_surroundings_then_the_slice_alone() {
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
    let first = model.all_slices().next().unwrap().id();
    state.apply(&ViewCommand::Select(first), &model);
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
fn focus_works_on_an_instant() {
    let model = model();
    let mut state = ViewState::new(&model);
    state.apply(&ViewCommand::GoTo(named(&model, "d")), &model);
    assert!(state.place.time.range().contains(Timestamp::from_ps(2_000)));
    assert_eq!(state.reveal, Some(named(&model, "d")));
}

#[test]
fn view_state_round_trips() {
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
fn tabs_can_be_docked_below_and_returned() {
    let model = model();
    let mut state = ViewState::new(&model).with_tabs(&["overview", "hints", "ops"]);
    let place = |tab: &str, below| ViewCommand::MoveTab {
        tab: tab.to_owned(),
        below,
    };
    state.apply(&place("overview", true), &model);
    assert_eq!(
        (state.tab.as_str(), state.tab_below()),
        ("hints", Some("overview")),
        "the next one is open at the right"
    );
    state.apply(&place("ops", true), &model);
    assert!(state.shows_tab("ops") && !state.shows_tab("overview") && state.shows_tab("hints"));
    state.apply(&ViewCommand::ShowTab("overview".to_owned()), &model);
    assert!(
        state.shows_tab("overview") && state.tab == "hints",
        "it opens where it is"
    );
    state.apply(&place("overview", false), &model);
    assert_eq!(
        (state.tab.as_str(), state.tab_below()),
        ("overview", Some("ops"))
    );
    state.apply(&place("of another version", true), &model);
    assert_eq!(state.below, ["ops"]);
    state.apply(&ViewCommand::ShowPanel(Panel::Reports, false), &model);
    assert!(!state.shows_tab("ops"));
    let window = ViewState::new(&model).with_tabs(&["hints", "overview"]);
    let restored = |tab: &str| {
        let (mut saved, mut window) = (state.clone(), window.clone());
        saved.tab = tab.to_owned();
        window.apply(&ViewCommand::Restore(Box::new(saved)), &model);
        (window.tab, window.below)
    };
    assert_eq!(restored("overview"), ("overview".to_owned(), Vec::new()));
    assert_eq!(
        restored("of another version"),
        ("hints".to_owned(), Vec::new())
    );
}

#[test]
fn undo_restores_the_tracks_of_the_mark() {
    let model = model();
    let mut state = ViewState::new(&model);
    let range = TimeRange::new(Timestamp::from_ps(100), Timestamp::from_ps(200));
    let tracks: BTreeSet<TrackId> = model.track_ids().collect();
    state.apply(&ViewCommand::Mark(range, tracks.clone()), &model);
    state.apply(&ViewCommand::Show(range), &model);
    state.apply(&ViewCommand::MarkAll, &model);
    assert!(state.mark_tracks.is_empty());
    state.apply(&ViewCommand::Undo, &model);
    assert_eq!(
        (state.place.mark, &*state.mark_tracks),
        (Some(range), &tracks)
    );
    state.apply(&ViewCommand::Redo, &model);
    assert!(state.mark_tracks.is_empty());
}

#[test]
fn a_note_belongs_to_its_mark() {
    let model = model();
    let at = Timestamp::from_ps;
    let range = TimeRange::new(at(100), at(200));
    let noted = ViewCommand::MarkAs(range, BTreeSet::new(), "a scope".to_owned());
    let note_after = |commands: &[&ViewCommand]| {
        let mut state = ViewState::new(&model);
        for command in commands {
            state.apply(command, &model);
        }
        state.mark_note.to_string()
    };
    let slice = SliceId::from_index(0);
    let (show, select) = (ViewCommand::Show(range), ViewCommand::Select(slice));
    let go_to = ViewCommand::GoTo(slice);
    let mark_slice = ViewCommand::MarkSelection(false);
    assert_eq!(note_after(&[&noted, &show]), "a scope");
    assert_eq!(note_after(&[&noted, &select]), "");
    assert_eq!(note_after(&[&noted, &go_to, &mark_slice]), "");
    assert_eq!(
        note_after(&[&show, &noted, &ViewCommand::Undo]),
        "",
        "the place before has no mark"
    );
    let back = [&noted, &go_to, &mark_slice, &ViewCommand::Undo];
    assert_eq!(note_after(&back), "a scope", "it returns with its mark");
    let empty = TimeRange::new(at(100), at(100));
    let noted = ViewCommand::MarkAs(empty, BTreeSet::new(), "nothing".to_owned());
    assert_eq!(note_after(&[&noted]), "", "without a mark there is no note");
}

#[test]
fn moving_the_view_does_not_copy_mark_tracks() {
    let model = model();
    let mut state = ViewState::new(&model);
    let range = TimeRange::new(Timestamp::from_ps(100), Timestamp::from_ps(200));
    state.apply(
        &ViewCommand::Mark(range, model.track_ids().collect()),
        &model,
    );
    let tracks = Arc::clone(&state.mark_tracks);
    state.apply(&ViewCommand::Pan(0.1), &model);
    state.apply(&ViewCommand::Fit, &model);
    state.apply(&ViewCommand::Undo, &model);
    assert!(Arc::ptr_eq(&tracks, &state.mark_tracks));
    // Dragging an edge of the mark keeps its tracks.
    state.apply(
        &ViewCommand::Mark(
            TimeRange::new(range.start, Timestamp::from_ps(300)),
            (*tracks).clone(),
        ),
        &model,
    );
    assert!(Arc::ptr_eq(&tracks, &state.mark_tracks));
}

#[test]
fn back_returns_from_a_followed_flow_and_no_op_commands_are_not_recorded() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Ops, 1, "ops");
    let mut slice = |name: &str, start: i64| {
        let label = builder.label(name, None);
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(start + 10));
        builder.add_slice(track, SliceSpec::new(range, label))
    };
    let (from, to) = (slice("launch", 0), slice("run", 1_000_000));
    builder.add_flow(
        trace_model::FlowEnd::Slice(from),
        trace_model::FlowEnd::Slice(to),
        1,
    );
    let model = builder.finish();
    let mut state = ViewState::new(&model);
    state.apply(&ViewCommand::Fit, &model);
    state.apply(&ViewCommand::Focus, &model);
    state.apply(&ViewCommand::FollowFlow(true), &model);
    state.apply(&ViewCommand::ScrollTo(0.0), &model);
    assert!(!state.can_undo(), "nothing has changed yet");
    state.apply(&ViewCommand::GoTo(named(&model, "launch")), &model);
    let there = state.place;
    state.apply(&ViewCommand::FollowFlow(true), &model);
    assert_eq!(selected(&state, &model), "run");
    state.apply(&ViewCommand::Undo, &model);
    assert_eq!((state.place, state.reveal), (there, None));
    state.apply(&ViewCommand::Fit, &model);
    state.apply(&ViewCommand::Fit, &model);
    state.apply(&ViewCommand::Undo, &model);
    assert_eq!(state.place, there, "one step back from what was done twice");
}

#[test]
fn view_moved_to_another_trace_keeps_only_notes_and_window() {
    let model = model();
    let mut state = ViewState::new(&model);
    let range = TimeRange::new(Timestamp::from_ps(100), Timestamp::from_ps(200));
    let tracks: BTreeSet<TrackId> = model.track_ids().collect();
    for command in [
        ViewCommand::Mark(range, tracks.clone()),
        ViewCommand::Pin(model.track_ids().next().unwrap(), true),
        ViewCommand::AddNote(Note {
            range,
            text: "here".to_owned(),
        }),
        ViewCommand::Color(ColorBy::Name),
        ViewCommand::Search("b".to_owned()),
        ViewCommand::Isolate(true),
        ViewCommand::Show(range),
    ] {
        state.apply(&command, &model);
    }
    assert!(state.may_be_of(&model));
    let same = state.fitted_to(&model);
    assert_eq!(
        (same.place, &*same.mark_tracks, same.pinned.len()),
        (state.place, &tracks, 1)
    );
    assert!(same.shows(Panel::Search) && same.isolate);

    // The same number of tracks and slices, but other ones.
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::Ops, 1, "ops");
    for start in [0, 10, 20, 30] {
        let label = builder.label("x", None);
        let range = TimeRange::new(Timestamp::from_ps(start), Timestamp::from_ps(start + 5));
        builder.add_slice(track, SliceSpec::new(range, label));
    }
    let other = builder.finish();
    assert!(!state.may_be_of(&other));
    let fitted = state.fitted_to(&other);
    assert_eq!(fitted.place, ViewState::new(&other).place);
    assert!(fitted.pinned.is_empty() && fitted.mark_tracks.is_empty());
    assert_eq!(
        (fitted.notes.len(), fitted.color_by, fitted.search.as_str()),
        (1, ColorBy::Name, "b")
    );

    // The session does not identify its trace: a mark on missing tracks must not become a mark on all tracks.
    let mut old = state.clone();
    old.shape = None;
    let empty = TraceBuilder::new().finish();
    let fitted = old.fitted_to(&empty);
    assert_eq!((fitted.place.mark, fitted.mark_tracks.len()), (None, 0));
    old.search.clear();
    assert!(!old.fitted_to(&model).isolate, "nothing is looked for");
}

#[test]
fn closing_the_search_clears_results() {
    let model = model();
    let mut state = ViewState::new(&model);
    state.apply(&ViewCommand::ShowPanel(Panel::Search, true), &model);
    state.apply(&ViewCommand::Search("b".to_owned()), &model);
    state.apply(&ViewCommand::Isolate(true), &model);
    state.apply(&ViewCommand::ShowPanel(Panel::Search, false), &model);
    assert!(!state.is_searching() && !state.isolate);
}

#[test]
fn initial_view_shows_device_activity_then_the_whole_trace() {
    let model = sample_traces::text_trace(
        "@column 1us\nops: ........AA..\nhost python: PPPPPPPPPPPPPPPPPPPPPP\n",
    );
    let mut state = ViewState::new(&model);
    let shown = |state: &ViewState| {
        (
            state.place.time.start().since_origin().ps(),
            state.place.time.span_ps(),
        )
    };
    let (start, span) = shown(&state);
    assert!(
        (7_000_000..8_000_000).contains(&start) && (2e6..3e6).contains(&span),
        "{start} {span}"
    );
    state.apply(&ViewCommand::Fit, &model);
    assert_eq!(state.place.time, Viewport::fit(model.extent()));
    state.apply(&ViewCommand::Fit, &model);
    assert_eq!(shown(&state), (start, span));
    // If devices are busy most of the time, the whole trace is shown.
    let model = sample_traces::text_trace("@column 1us\nops: AAAAAAAA\nhost python: PPPPPPPPPP\n");
    assert_eq!(
        ViewState::new(&model).place.time,
        Viewport::fit(model.extent())
    );
}
