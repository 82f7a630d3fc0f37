//! Reports cover the selected part of the trace.

use analysis::Scope;
use analysis::hints::Hints;
use analysis::sentence;
use egui::{Key, Modifiers};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use view::state::{ReportScope, ViewCommand};
use window::App;

use super::{on_canvas, opened, press, settle, show_op_table, state, want};

fn says(window: &Harness<'_, App>, text: &str) -> bool {
    window.query_all_by_label_contains(text).count() > 0
}

fn verdict(window: &Harness<'_, App>, scope: Scope) -> String {
    let trace = window.state().trace().expect("it is open");
    let report = trace.session.report::<Hints>(scope).expect("it has hints");
    let limit = report.limit.as_ref().expect("it has devices");
    sentence(&limit.statement)
}

fn show_tab(window: &mut Harness<'static, App>, tab: &str) {
    want(window, ViewCommand::ShowTab(tab.to_owned()));
}

#[test]
fn verdict_and_tables_follow_the_chosen_step() {
    let mut window = opened();
    let of_all = verdict(&window, Scope::WholeTrace);
    assert!(says(&window, &of_all));
    window.get_by_label("Reports cover: whole capture").click();
    settle(&mut window);
    window.get_by_label_contains("Slowest: step").click();
    settle(&mut window);
    let scope = state(&window).scope;
    let ReportScope::Steps { first, last } = scope else {
        panic!("{scope:?}")
    };
    assert_eq!(first, last);
    assert_eq!(
        window
            .query_all_by_label_contains(&format!("Reports cover: step {first}"))
            .count(),
        1
    );

    want(&mut window, ViewCommand::Scope(ReportScope::step(1)));
    let of_step = verdict(&window, Scope::Steps { first: 1, last: 1 });
    assert_ne!(of_step, of_all);
    assert!(says(&window, &of_step) && !says(&window, &of_all));
    show_op_table(&mut window);
    assert!(window.query_by_label("Row fusion.1").is_none());
    show_tab(&mut window, "steps");
    assert!(says(&window, "this tab always covers the whole capture"));

    window.get_by_label("Whole capture").click();
    settle(&mut window);
    assert_eq!(state(&window).scope, ReportScope::Capture);
    show_op_table(&mut window);
    window.get_by_label("Row fusion.1");
}

#[test]
fn reports_follow_a_dragged_range() {
    let mut window = opened();
    let (from, to) = (on_canvas(&window, 0.2, 60.0), on_canvas(&window, 0.6, 60.0));
    window.drag_at(from);
    window.step();
    window.hover_at(to);
    window.step();
    assert_eq!(
        state(&window).scope,
        ReportScope::Capture,
        "not before it is let go"
    );
    window.drop_at(to);
    settle(&mut window);
    let now = state(&window);
    assert_eq!(now.scope, ReportScope::Range(now.place.mark.unwrap()));
    press(&mut window, Modifiers::NONE, Key::Escape);
    settle(&mut window);
    assert_eq!(state(&window).scope, ReportScope::Capture);
    window.get_by_label("Reports cover: whole capture");
}

#[test]
fn unknown_step_or_new_mark_resets_the_scope() {
    let mut window = opened();
    want(&mut window, ViewCommand::Scope(ReportScope::step(99)));
    assert_eq!(
        state(&window).scope,
        ReportScope::Capture,
        "there is no step 99"
    );
    let range = state(&window).place.time.range();
    let half = trace_model::TimeRange::new(range.start, trace_model::Timestamp::from_ps(8_000_000));
    want(
        &mut window,
        ViewCommand::Mark(half, std::collections::BTreeSet::new()),
    );
    want(&mut window, ViewCommand::ScopeToMark);
    assert_eq!(state(&window).scope, ReportScope::Range(half));
    want(&mut window, ViewCommand::MarkAll);
    assert_eq!(
        state(&window).scope,
        ReportScope::Capture,
        "all of it is marked"
    );
}

#[test]
fn drag_over_a_folded_device_marks_its_tracks() {
    let mut window = opened();
    let model = window.state().trace().unwrap().model.clone();
    let core = model.tensor_cores()[0];
    want(&mut window, ViewCommand::FoldGroup(core, true));
    let heading = window.get_by_label("Unfold TPU:0").rect().center().y;
    let left = window.get_by_label("Timeline").rect().left();
    let (from, to) = (
        egui::pos2(left + 50.0, heading),
        egui::pos2(left + 300.0, heading),
    );
    window.drag_at(from);
    window.step();
    window.hover_at(to);
    window.step();
    window.drop_at(to);
    settle(&mut window);
    let tracks: Vec<_> = state(&window)
        .mark_tracks
        .iter()
        .map(|&track| model.track(track).group)
        .collect();
    assert!(
        !tracks.is_empty() && tracks.iter().all(|&group| group == core),
        "{tracks:?}"
    );
}
