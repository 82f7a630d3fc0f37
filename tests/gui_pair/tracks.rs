//! The tracks of both runs in one list.

use super::*;

#[test]
fn tracks_of_both_are_interleaved_in_one_list() {
    let mut window = compared("a", "b");
    let tops = |window: &Harness<'_, App>, label: &str| -> Vec<f32> {
        let mut tops: Vec<f32> = window
            .get_all_by_label(label)
            .map(|node| node.rect().top())
            .collect();
        tops.sort_by(f32::total_cmp);
        tops
    };
    let apart = tops(&window, "XLA Ops");
    assert!(
        apart[1] - apart[0] > 200.0,
        "one timeline above the other: {apart:?}"
    );
    press(&mut window, Modifiers::SHIFT, Key::X);
    for track in ["XLA Modules", "XLA Ops"] {
        let [a, b] = tops(&window, track)[..] else {
            panic!("{track} is there twice")
        };
        assert!(
            (a - b).abs() < 40.0,
            "{track} of B is right below that of A: {a} {b}"
        );
    }
    let devices = window.query_all_by_label_contains("Fold TPU:0").count();
    assert_eq!(devices, 1, "what both have needs one heading");
    window.get_by_label("Changes of steps");

    // Mouse input goes to the track below the pointer.
    let ops = tops(&window, "XLA Ops");
    let canvas = window
        .get_all_by_label("Time ruler")
        .next()
        .expect("there are two")
        .rect();
    for (side, top) in TraceSide::BOTH.into_iter().zip(ops) {
        // The fourth step begins there; the matmul takes the first half of a step and more.
        let range = trace_model::TimeRange::at(
            trace_model::Timestamp::from_ps(if side == TraceSide::A { 24 } else { 30 } * 1_000_000),
            trace_model::Picos::from_ps(8_000_000),
        );
        want(&mut window, AppCommand::On(side, ViewCommand::Show(range)));
        let at = Pos2::new(canvas.left() + canvas.width() * 0.2, top + 10.0);
        window.hover_at(at);
        settle(&mut window);
        click_at(&mut window, at);
        assert_eq!(
            window.state().link().unwrap().focus,
            side,
            "it was clicked there"
        );
        assert_eq!(
            both_selected(&window),
            [Some("fusion.1".to_owned()), Some("fusion.1".to_owned())]
        );
    }
    // The interleaved list has one scroll position, even if the time axes are independent.
    press(&mut window, Modifiers::SHIFT, Key::C);
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::ScrollTo(33.0)),
    );
    let scrolls = TraceSide::BOTH.map(|side| window.state().state_of(side).unwrap().place.scroll);
    assert_eq!(scrolls[0].to_bits(), scrolls[1].to_bits());
    window.get_by_label("Interleave tracks").click();
    settle(&mut window);
    let apart = tops(&window, "XLA Ops");
    assert!(apart[1] - apart[0] > 200.0, "as before: {apart:?}");
}

#[test]
fn track_of_only_one_run_follows_without_repaint() {
    let mut window = compared("a", "two devices");
    want(&mut window, ComparisonCommand::Interleave);
    let top = |label: &str| window.get_by_label(label).rect().top();
    assert!(top("Fold TPU:1") > top("Fold TPU:0"));
    comes_to_rest(&mut window);
}
