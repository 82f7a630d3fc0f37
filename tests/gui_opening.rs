//! Opening a trace: what the empty window says, and what happens if it fails.

use super::*;

#[test]
fn empty_window_explains_how_to_open_a_trace() {
    let mut window = empty_window();
    settle(&mut window);
    window.get_by_label("Open a profile…");
    window.get_by_label("or drop a file or a log directory here");
    assert!(window.query_by_label("Fit").is_none());
}

#[test]
fn open_error_is_explained_and_can_be_dismissed() {
    let mut window = empty_window();
    open(&mut window, "/tmp/notes.txt");
    window.get_by_label("not a profile that this program reads: /tmp/notes.txt");
    window.get_by_label("Dismiss").click();
    settle(&mut window);
    assert!(window.query_by_label_contains("not a profile").is_none());
}

#[test]
fn failed_open_keeps_the_current_trace() {
    let mut window = opened();
    open(&mut window, "/tmp/notes.txt");
    window.get_by_label("Dismiss");
    assert!(window.state().trace().is_some());
}

/// A command about a slice must not apply to the trace that replaces its own.
#[test]
fn commands_apply_to_the_visible_trace() {
    let mut window = opened();
    let last = window
        .state()
        .trace()
        .expect("it is open")
        .model
        .all_slices()
        .last()
        .expect("it has slices")
        .id();
    window
        .state_mut()
        .push(AppCommand::Open(PathBuf::from("other trace")));
    window.step();
    // Long enough that the other trace is loaded but no frame has taken it over yet.
    std::thread::sleep(Duration::from_millis(300));
    window.state_mut().push(ViewCommand::Select(last));
    window.step();
    settle(&mut window);
    assert_eq!(
        window.state().trace().map(|trace| trace.path.clone()),
        Some(PathBuf::from("other trace"))
    );
    assert_eq!(state(&window).place.selection, None);
}
