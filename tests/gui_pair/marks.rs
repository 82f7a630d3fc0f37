//! Highlights and marks that apply to both runs.

use super::*;

#[test]
fn highlights_carry_over_once_compared() {
    let mut window = compared("a", "b");
    let highlighted = |window: &Harness<'_, App>, side: TraceSide, name: &str| {
        let labels = window
            .state()
            .trace_of(side)
            .unwrap()
            .labels_named(name)
            .to_vec();
        view::state::HighlightedLabels::new(name, labels)
    };
    let first = highlighted(&window, TraceSide::A, "fusion.1");
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Highlight(Some(first))),
    );
    // After a new comparison, for example after a swap, earlier highlights in B are cleared.
    let next = highlighted(&window, TraceSide::A, "fusion.2");
    window.state_mut().push(ComparisonCommand::Resume);
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Highlight(Some(next))),
    );
    let other = window
        .state()
        .state_of(TraceSide::B)
        .unwrap()
        .highlighted
        .clone()
        .expect("B is highlighted too");
    assert_eq!(other, highlighted(&window, TraceSide::B, "fusion.2"));
}

/// The marks of both sides: their length in µs, and their number of tracks.
fn marks(window: &Harness<'_, App>) -> [Option<(i64, usize)>; 2] {
    TraceSide::BOTH.map(|side| {
        let state = window.state().state_of(side)?;
        Some((
            state.place.mark?.dur().ps() / 1_000_000,
            state.mark_tracks.len(),
        ))
    })
}

#[test]
fn marks_apply_to_both_runs() {
    let mut window = compared("a", "two devices");
    let slice = execution(&window, TraceSide::A, "fusion.1", 2);
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Select(slice)),
    );
    assert_eq!(marks(&window), [None, None]);
    want(&mut window, ViewCommand::MarkSelection(false));
    assert_eq!(marks(&window), [Some((4, 0)), Some((4, 0))]);
    // Its sums are those of the run in focus.
    window.get_by_label_contains("Marked in A: 4.000");
    want(&mut window, ComparisonCommand::Focus(TraceSide::B));
    window.get_by_label_contains("Marked in B: 4.000");
    want(&mut window, ComparisonCommand::Focus(TraceSide::A));
    let range = |window: &Harness<'_, App>| {
        window
            .state()
            .state_of(TraceSide::B)
            .unwrap()
            .place
            .mark
            .unwrap()
    };
    let tracks = |window: &Harness<'_, App>, own: &str| -> std::collections::BTreeSet<_> {
        let model = &window.state().trace_of(TraceSide::B).unwrap().model;
        let title = |id| {
            model
                .str(model.group(model.track(id).group).name)
                .to_owned()
        };
        model
            .track_ids()
            .filter(|&id| title(id).contains(own))
            .collect()
    };
    let (marked, only_b, both) = (
        range(&window),
        tracks(&window, "TPU:1"),
        tracks(&window, "TPU:0"),
    );
    assert!(!only_b.is_empty() && !both.is_empty());
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Mark(marked, both.clone())),
    );
    assert_eq!(
        marks(&window),
        [Some((4, both.len())), Some((4, both.len()))]
    );
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Show(marked)),
    );
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Mark(marked, only_b)),
    );
    assert_eq!(
        marks(&window),
        [None, Some((4, 1))],
        "A lacks that device: nothing of it is marked, and not all"
    );
    want(&mut window, AppCommand::On(TraceSide::B, ViewCommand::Undo));
    assert_eq!(
        marks(&window),
        [Some((4, both.len())), Some((4, both.len()))]
    );
    want(&mut window, AppCommand::On(TraceSide::B, ViewCommand::Redo));
    assert_eq!(marks(&window), [None, Some((4, 1))]);
    want(&mut window, ViewCommand::MarkAll);
    let whole = [80, 100].map(|us| Some((us, 0)));
    assert_eq!(marks(&window), whole, "the whole of either");
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Select(slice)),
    );
    assert_eq!(marks(&window), [None, None]);
}

#[test]
fn panels_say_which_run_they_are_about() {
    let mut window = compared("a", "b");
    assert!(window.query_by_label("About A: a").is_none(), "both");
    want(&mut window, ViewCommand::ShowTab("ops".to_owned()));
    window.get_by_label("About A: a");
    want(&mut window, ComparisonCommand::SwapFocus);
    settle(&mut window);
    window.get_by_label("About B: b");
    let slice = execution(&window, TraceSide::B, "fusion.2", 0);
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Select(slice)),
    );
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, true));
    let both = window.query_all_by_label("About B: b").count();
    assert_eq!(both, 2, "of reports and of details");
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, false));

    // Where the window is narrow, the bar keeps its result.
    window.get_by_label("Swap A and B");
    window.set_size(vec2(560.0, 500.0));
    settle(&mut window);
    assert!(window.query_by_label("Swap A and B").is_none());
    window.get_by_label("Runs").click();
    settle(&mut window);
    window.get_by_label("Swap A and B");
}
