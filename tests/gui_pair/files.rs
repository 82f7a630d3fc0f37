//! Opening two profiles in one window, and saving them in sessions.

use view::sessions::SessionStore;

use super::*;

#[test]
fn cancelled_comparison_stays_cancelled() {
    let mut window = compared("a", "b");
    for command in [
        AppCommand::Dropped(vec![PathBuf::from("a"), PathBuf::from("b")]),
        AppCommand::CancelLoad,
        AppCommand::Open(PathBuf::from("late")),
    ] {
        window.state_mut().push(command);
    }
    window.run_steps(1);
    settle(&mut window);
    assert!(window.state().link().is_none());
    assert_eq!(
        window.state().trace().map(OpenTrace::name).as_deref(),
        Some("late")
    );
}

#[test]
fn of_more_than_two_dropped_files_the_first_are_opened() {
    let mut window = compared("late", "late");
    let files = ["a", "b", "late"].map(PathBuf::from);
    want(&mut window, AppCommand::Dropped(files.to_vec()));
    window.get_by_label_contains("Of 3 dropped files the first two are opened");
    settle(&mut window);
    let name = |side| window.state().trace_of(side).map(OpenTrace::name);
    let names = TraceSide::BOTH.map(name);
    assert_eq!(names, [Some("a".to_owned()), Some("b".to_owned())]);
}

#[test]
fn failed_second_file_keeps_the_first() {
    let window = compared("a", "/tmp/notes.txt");
    window.get_by_label("not a profile that this program reads: /tmp/notes.txt");
    assert!(window.state().link().is_none());
    assert_eq!(window.state().trace().unwrap().name(), "a");
}

#[test]
fn session_keeps_both_runs_and_their_lock() {
    let folder = tempfile::tempdir().unwrap();
    let empty = |folder: &std::path::Path| {
        let sessions = SessionStore::in_folder(folder);
        Harness::builder()
            .with_size(vec2(1500.0, 1000.0))
            .build_eframe(move |cc| {
                app(&cc.egui_ctx, Settings::default(), loader()).with_sessions(sessions)
            })
    };
    let mut window = empty(folder.path());
    open(&mut window, "a");
    want(&mut window, AppCommand::Compare(PathBuf::from("b")));
    want(
        &mut window,
        ComparisonCommand::Offset(trace_model::Picos::from_ps(3_000_000)),
    );
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Pan(0.2)),
    );
    let slice = execution(&window, TraceSide::B, "fusion.2", 3);
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Select(slice)),
    );
    let (link, before) = (window.state().link().unwrap().clone(), views(&window));
    let selected = both_selected(&window);
    assert_eq!((link.lock, link.focus), (ViewLock::Offset, TraceSide::B));
    want(&mut window, ComparisonCommand::Interleave);
    want(&mut window, AppCommand::SaveSession("night".to_owned()));

    let mut window = empty(folder.path());
    want(&mut window, AppCommand::OpenSession("night".to_owned()));
    settle(&mut window);
    assert_eq!(window.state().link(), Some(&link));
    assert_eq!(views(&window), before);
    assert_eq!(both_selected(&window), selected);
    window.get_by_label("Timeline B");
    // The details name the track too, further below.
    let mut ops: Vec<f32> = window
        .get_all_by_label("XLA Ops")
        .map(|node| node.rect().top())
        .collect();
    ops.sort_by(f32::total_cmp);
    assert!(
        ops[1] - ops[0] < 40.0,
        "tracks are interleaved as they were: {ops:?}"
    );
    // From now on they follow each other as before.
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Pan(0.1)),
    );
    let [a, b] = views(&window);
    assert_eq!(b.time_at(0.0) - a.time_at(0.0), link.offset);
}

/// The restored view of B may lie outside of its own trace.
#[test]
fn session_keeps_the_position_of_a_shorter_run() {
    let folder = tempfile::tempdir().unwrap();
    for (name, by) in [("offset", ViewLock::Offset), ("steps", ViewLock::Step)] {
        let empty = || {
            let sessions = SessionStore::in_folder(folder.path());
            Harness::builder()
                .with_size(vec2(1500.0, 1000.0))
                .build_eframe(move |cc| {
                    app(&cc.egui_ctx, Settings::default(), loader()).with_sessions(sessions)
                })
        };
        let mut window = empty();
        open(&mut window, "a");
        want(&mut window, AppCommand::Compare(PathBuf::from("late")));
        if by == ViewLock::Offset {
            want(
                &mut window,
                ComparisonCommand::Offset(trace_model::Picos::ZERO),
            );
        }
        // The end of the last step of B; the last step of A ended long before.
        let at = |us: i64| trace_model::Timestamp::from_ps(us * 1_000_000);
        let range = trace_model::TimeRange::new(at(167), at(169));
        want(
            &mut window,
            AppCommand::On(TraceSide::B, ViewCommand::Show(range)),
        );
        let before = views(&window);
        let extent = window
            .state()
            .trace_of(TraceSide::A)
            .unwrap()
            .model
            .extent();
        assert_ne!(
            before[0],
            before[0].clamped(extent),
            "A is where it could not go alone"
        );
        want(&mut window, AppCommand::SaveSession(name.to_owned()));

        let mut window = empty();
        want(&mut window, AppCommand::OpenSession(name.to_owned()));
        settle(&mut window);
        assert_eq!(lock(&window), by);
        assert_eq!(views(&window), before, "{name}");
    }
}

#[test]
fn a_dropped_file_is_opened_or_compared() {
    let mut window = compared("a", "/tmp/notes.txt");
    want(&mut window, AppCommand::Dropped(vec![PathBuf::from("b")]));
    window.get_by_label("Open instead");
    window.get_by_label("Compare with the open one").click();
    settle(&mut window);
    assert!(window.state().link().is_some());
    assert!(window.query_by_label("Open instead").is_none());
    want(&mut window, AppCommand::Dropped(vec![PathBuf::from("a")]));
    window.get_by_label("Open instead").click();
    settle(&mut window);
    assert!(window.state().link().is_none());
}
