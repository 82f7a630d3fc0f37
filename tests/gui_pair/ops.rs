//! From an op of one run to the matched one of the other.

use super::*;

#[test]
fn op_leads_to_its_matched_op() {
    let mut window = compared("a", "b");
    let slice = execution(&window, TraceSide::A, "fusion.2", 4);
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Select(slice)),
    );
    assert_eq!(
        both_selected(&window),
        [Some("fusion.2".to_owned()), Some("fusion.2".to_owned())]
    );
    let partner = window
        .state()
        .state_of(TraceSide::B)
        .unwrap()
        .place
        .selection;
    assert_eq!(
        partner,
        Some(execution(&window, TraceSide::B, "fusion.2", 4)),
        "the one of the same step"
    );
    assert!(
        window
            .get_all_by_label_contains("2.000 µs in A, 4.000 µs in B: +2.000 µs (+100.0 %)")
            .count()
            >= 1
    );

    window.get_by_label("Lock: Ops").click();
    settle(&mut window);
    let slice = execution(&window, TraceSide::B, "fusion.2", 7);
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Select(slice)),
    );
    let x = TraceSide::BOTH.map(|side| {
        let state = window.state().state_of(side).unwrap();
        let start = window
            .state()
            .trace_of(side)
            .unwrap()
            .model
            .slice(state.place.selection.unwrap())
            .start();
        state.place.time.fraction(start)
    });
    assert!((x[0] - x[1]).abs() < 1e-6, "it stands above it: {x:?}");
    assert_eq!(window.state().link().unwrap().focus, TraceSide::B);

    let lone = execution(&window, TraceSide::B, "reduce.9", 3);
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Select(lone)),
    );
    assert_eq!(
        both_selected(&window),
        [None, Some("reduce.9".to_owned())],
        "A has no such op"
    );
    window.get_by_label("Only in B: A has no matching op.");
}

#[test]
fn comparison_row_shows_the_op_on_both_sides() {
    let mut window = compared("a", "b");
    window.get_by_label_contains("Table: ").click();
    settle(&mut window);
    window.get_by_label_contains("Ops by change").click();
    settle(&mut window);
    window.get_by_label("Row fusion.2").click();
    settle(&mut window);
    assert_eq!(
        both_selected(&window),
        [Some("fusion.2".to_owned()), Some("fusion.2".to_owned())]
    );
    for side in TraceSide::BOTH {
        let highlighted = window.state().state_of(side).unwrap().highlighted.as_ref();
        assert_eq!(
            highlighted.map(|highlighted| highlighted.title.as_str()),
            Some("fusion.2"),
            "{side:?}"
        );
    }
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert_eq!(both_selected(&window), [None, None]);
    window.get_by_label("Row reduce.9").click();
    settle(&mut window);
    assert_eq!(
        both_selected(&window),
        [None, Some("reduce.9".to_owned())],
        "the side that has it leads"
    );
}

#[test]
fn row_about_several_ops_leads_to_the_longest_where_they_take_more() {
    let mut window = compared("a", "b");
    // By change: `fusion.2` takes 2 µs more in B, a copy in A is gone, and B has a new reduction.
    want(&mut window, ComparisonCommand::ShowOps(vec![2, 1, 0]));
    assert_eq!(both_selected(&window)[1].as_deref(), Some("fusion.2"));
    let b = window.state().state_of(TraceSide::B).unwrap();
    let highlighted = b.highlighted.as_ref();
    let title = highlighted.map(|highlighted| highlighted.title.as_str());
    assert_eq!(title, Some("fusion.2 and 2 more"));
}

#[test]
fn go_to_op_shows_it_in_both_runs() {
    let mut window = compared("a", "late");
    let slice = execution(&window, TraceSide::A, "fusion.2", 5);
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::GoTo(slice)),
    );
    assert_eq!(
        lock(&window),
        ViewLock::Op,
        "steps would put it out of sight"
    );
    for side in TraceSide::BOTH {
        let state = window.state().state_of(side).unwrap();
        let model = &window.state().trace_of(side).unwrap().model;
        let range = model.slice(state.place.selection.unwrap()).range();
        assert!(state.place.time.range().encloses(range), "{side:?}");
    }
    // All of the same name, in both.
    let labels = window
        .state()
        .trace_of(TraceSide::A)
        .unwrap()
        .labels_named("fusion.1")
        .to_vec();
    let highlighted = view::state::HighlightedLabels::new("fusion.1", labels);
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Highlight(Some(highlighted))),
    );
    let other = window
        .state()
        .state_of(TraceSide::B)
        .unwrap()
        .highlighted
        .clone()
        .unwrap();
    let named = window
        .state()
        .trace_of(TraceSide::B)
        .unwrap()
        .labels_named("fusion.1");
    assert!(
        !named.is_empty() && other.labels.iter().eq(named),
        "{other:?}"
    );
}
