//! The selected slice: chosen with the mouse or by keys, and what its details say.

use super::*;

#[test]
fn click_selects_a_slice_and_escape_deselects() {
    let mut window = opened();
    // The extent is 20 µs: "B" runs from 10 to 17 in the first lane of the ops.
    let row = window.get_by_label("Fold XLA Ops").rect();
    let canvas = window.get_by_label("Timeline").rect();
    let at = on_canvas(&window, 0.65, row.top() - canvas.top() + 10.0);
    click_at(&mut window, at);
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("B"));
    assert!(state(&window).shows(Panel::Details));
    assert!(window.get_all_by_label("7.000 µs").count() >= 1);
    window.get_by_label("Zoom to it");
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert_eq!(selected(&window), None);
    assert!(!state(&window).shows(Panel::Details), "it would be empty");
}

#[test]
fn ctrl_click_highlights_all_slices_of_a_name() {
    let mut window = opened();
    let row = window.get_by_label("Fold XLA Ops").rect();
    let canvas = window.get_by_label("Timeline").rect();
    // "while.3" runs from 0 to 7, "B" from 10 to 17 of 20 µs.
    for (x, highlighted) in [(0.65, "B"), (0.2, "B, while.3"), (0.65, "while.3")] {
        let at = on_canvas(&window, x, row.top() - canvas.top() + 10.0);
        click_with(&mut window, at, Modifiers::COMMAND);
        settle(&mut window);
        assert_eq!(
            state(&window)
                .highlighted
                .as_ref()
                .map(|highlighted| highlighted.title.as_str()),
            Some(highlighted)
        );
    }
    assert_eq!(selected(&window), None, "nothing is selected by it");
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(state(&window).highlighted.is_none());
}

#[test]
fn op_costs_are_marked_as_static() {
    let mut window = opened();
    window
        .state_mut()
        .push(AppCommand::View(ViewCommand::Search("fusion.1".to_owned())));
    window.step();
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Slash);
    window.get_by_label("Next").click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"));
    assert!(window.get_all_by_label("2.000 GFLOP").count() >= 1);
    assert!(window.get_all_by_label("static").count() >= 1);
    // 2 GFLOP in 2 µs.
    assert!(window.get_all_by_label("1.000 PFLOP/s").count() >= 1);
}

#[test]
fn keys_move_between_slices() {
    let mut window = opened();
    press(&mut window, Modifiers::NONE, Key::Period);
    assert!(selected(&window).is_some(), "the first one in sight");
    let first = state(&window).place.selection;
    press(&mut window, Modifiers::NONE, Key::ArrowRight);
    assert_ne!(state(&window).place.selection, first);
    press(&mut window, Modifiers::NONE, Key::Comma);
    assert_eq!(state(&window).place.selection, first);
    press(&mut window, Modifiers::NONE, Key::F);
    let focused = state(&window).place.time;
    press(&mut window, Modifiers::NONE, Key::Num0);
    assert_ne!(state(&window).place.time, focused);
}

/// A trace of ten async ops that overlap, each on a lane of its own.
fn async_ops() -> TraceLoader {
    Arc::new(|path, _progress| {
        use trace_model::{GroupKind, Picos, SliceSpec, TimeRange, Timestamp, TrackKind};
        let mut builder = trace_model::TraceBuilder::new();
        let kind = GroupKind::TensorCore { ordinal: 0 };
        let core = builder.group(None, kind, "/device:TPU:0");
        let track = builder.track(core, TrackKind::AsyncOps, 0, "Async XLA Ops");
        for i in 0..10 {
            let label = builder.label(&format!("copy.{i}"), None);
            let start = Timestamp::from_ps(i * 1_000);
            let range = TimeRange::at(start, Picos::from_ps(100_000));
            builder.add_slice(track, SliceSpec::new(range, label));
        }
        let session = Session::from_model(builder.finish(), Options::default());
        Ok(OpenTrace::new(path.to_owned(), session))
    })
}

#[test]
fn what_leads_to_a_slice_of_a_hidden_lane_opens_its_track() {
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), async_ops()));
    open(&mut window, "async");
    window.get_by_label("Unfold Async XLA Ops");
    want(&mut window, ViewCommand::Search("copy.3".to_owned()));
    press(&mut window, Modifiers::NONE, Key::Slash);
    window.get_by_label("Next").click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("copy.3"));
    window.get_by_label("Unfold Async XLA Ops");
    want(&mut window, ViewCommand::Search("copy.8".to_owned()));
    window.get_by_label("Next").click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("copy.8"));
    window.get_by_label("Fold Async XLA Ops");
}
