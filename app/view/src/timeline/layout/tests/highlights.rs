//! Flows, the selection and highlighted slices.

use trace_model::FlowEnd;

use super::*;
use crate::timeline::highlighted::Highlighted;

#[test]
fn next_flow_is_highlighted() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let track = builder.track(host, TrackKind::HostThread, 1, "a");
    let mut add = |name: &str, start| {
        let label = builder.label(name, None);
        builder.add_slice(track, SliceSpec::new(range(start, start + 10), label))
    };
    let (from, to) = (add("launch", 0), [add("x", 20), add("y", 40), add("z", 60)]);
    for to in to {
        builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), 1);
    }
    let model = builder.finish();
    let launch = model
        .all_slices()
        .find(|slice| slice.name() == "launch")
        .unwrap()
        .id();
    for (times, end) in [(0, "20"), (1, "40"), (5, "60")] {
        let shown = picture(&model, range(0, 100), |state| {
            state.apply(&ViewCommand::Select(launch), &model);
            (0..times).for_each(|_| state.apply(&ViewCommand::CycleFlow(true), &model));
        });
        let chosen: Vec<&str> = shown
            .lines()
            .filter(|line| line.ends_with(" chosen"))
            .collect();
        assert!(
            matches!(chosen[..], [arrow] if arrow.contains(&format!("-> {end},"))),
            "{times}: {shown}"
        );
    }
}

#[test]
fn selection_and_flows_are_placed() {
    let mut builder = TraceBuilder::new();
    let host = builder.group(None, GroupKind::Host, "host");
    let (a, b) = (
        builder.track(host, TrackKind::HostThread, 1, "a"),
        builder.track(host, TrackKind::Ops, 2, "b"),
    );
    let label = builder.label("launch", None);
    let from = builder.add_slice(a, SliceSpec::new(range(10, 20), label));
    let label = builder.label("program", None);
    let to = builder.add_slice(b, SliceSpec::new(range(50, 70), label));
    builder.add_flow(FlowEnd::Slice(from), FlowEnd::Slice(to), 1);
    let model = builder.finish();
    let launch = model
        .all_slices()
        .find(|slice| slice.name() == "launch")
        .unwrap()
        .id();
    let shown = picture(&model, range(0, 100), |state| {
        state.apply(&ViewCommand::Select(launch), &model);
    });
    let rows: Vec<_> = shown
        .lines()
        .filter(|line| line.starts_with("row"))
        .collect();
    let (launch_top, program_top) = if rows[1].ends_with(" a") {
        (28.0, 56.0)
    } else {
        (56.0, 28.0)
    };
    let expected = format!(
        "selected 10..20 at {launch_top}\narrow 20,{} -> 50,{}\n",
        launch_top + 11.5,
        program_top + 11.5
    );
    assert!(shown.ends_with(&expected), "{shown}");
}

#[test]
fn highlighted_slices_show_in_merged_boxes() {
    let model = model(&[
        ("a", 0, 20),
        ("b", 30, 90),
        ("c", 100, 120),
        ("c", 150, 160),
        ("c", 6_000, 9_000),
    ]);
    let drawn = Drawn::new(&model);
    let mut state = ViewState::new(&model);
    state.pinned = model.track_ids().collect();
    let highlighted = model
        .all_slices()
        .filter(|slice| slice.name() == "c")
        .map(SliceRef::id)
        .collect();
    let highlighted = Highlighted::new(&model, highlighted);
    for pinned in [false, true] {
        let rows = if pinned {
            drawn.tree.rows(&state)
        } else {
            drawn.tree.rows(&ViewState::new(&model))
        };
        let window = drawn.window(range(0, 10_000), &rows, (100.0, 200.0));
        let window = LayoutWindow {
            highlighted: Some(&highlighted),
            ..window
        };
        let mut list = DrawList::default();
        list.fill(drawn.scene(), &window, &mut LaneTiles::default());
        let part = if pinned { &list.pinned } else { &list.scrolled };
        let shown: Vec<_> = part
            .highlighted
            .iter()
            .map(|b| (b.left.round(), b.right.round(), b.count))
            .collect();
        assert_eq!(shown, [(1.0, 3.0, 2), (60.0, 90.0, 1)]);
        let hit = list.hit(drawn.scene(), &window, 1.5, part.columns[0].top + 1.0);
        assert_eq!(
            hit.map(|hit| model.slice(hit.drawn.slice).name()),
            Some("c")
        );
    }
}
