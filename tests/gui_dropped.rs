//! Files that are dragged over the window and dropped, as the system tells of them.

use std::path::Path;

use view::compare::TraceSide;

use super::*;

/// A file as the system drops it.
#[derive(Debug)]
struct DroppedPath(PathBuf);

impl egui::DroppedFile for DroppedPath {
    fn path(&self) -> &Path {
        &self.0
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        std::fs::read(&self.0).map_err(|error| error.to_string())
    }
}

/// Drags paths over the window, for a frame; what the window says then.
fn hover(window: &mut Harness<'static, App>, paths: &[&str]) -> String {
    let hovered = paths.iter().map(|path| egui::HoveredFile {
        path: Some(PathBuf::from(path)),
        ..egui::HoveredFile::default()
    });
    window.input_mut().hovered_files = hovered.collect();
    window.step();
    let shapes = window.output().shapes.iter();
    let texts = shapes.filter_map(|clipped| match &clipped.shape {
        egui::Shape::Text(text) if text.galley.text().starts_with("Drop to") => {
            Some(text.galley.text().to_owned())
        }
        _ => None,
    });
    texts.collect::<Vec<_>>().join("; ")
}

/// Drops them.
fn release(window: &mut Harness<'static, App>, paths: &[&str]) {
    let input = window.input_mut();
    input.hovered_files.clear();
    for path in paths {
        let file = DroppedPath(PathBuf::from(path));
        input.dropped_files.push(Arc::new(file));
    }
    window.step();
    settle(window);
}

/// The names of the open runs; empty without one.
fn names(window: &Harness<'_, App>) -> [String; 2] {
    TraceSide::BOTH.map(|side| {
        let trace = window.state().trace_of(side);
        trace.map(OpenTrace::name).unwrap_or_default()
    })
}

#[test]
fn a_file_or_a_folder_dropped_into_the_empty_window_is_opened() {
    let mut window = empty_window();
    assert_eq!(hover(&mut window, &["/runs/trace"]), "Drop to open");
    // It leaves the window again.
    assert_eq!(hover(&mut window, &[]), "");
    assert_eq!(names(&window), ["", ""]);
    hover(&mut window, &["/runs/trace"]);
    release(&mut window, &["/runs/trace"]);
    assert_eq!(names(&window), ["trace", ""]);
    assert_eq!(hover(&mut window, &[]), "", "nothing is dragged any more");

    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("trace");
    std::fs::create_dir(&run).unwrap();
    let mut window = empty_window();
    release(&mut window, &[run.to_str().unwrap()]);
    assert_eq!(names(&window), ["trace", ""]);
}

#[test]
fn a_file_dropped_on_an_open_run_asks_what_to_do() {
    let mut window = opened();
    assert_eq!(
        hover(&mut window, &["other trace"]),
        "Drop to open, or to compare with the open run"
    );
    release(&mut window, &["other trace"]);
    assert_eq!(names(&window), ["trace", ""], "it asks first");
    window.get_by_label("Cancel").click();
    settle(&mut window);
    assert!(window.query_by_label("Open instead").is_none());

    release(&mut window, &["other trace"]);
    window.get_by_label("Compare with the open one").click();
    settle(&mut window);
    assert_eq!(names(&window), ["trace", "other trace"]);

    release(&mut window, &["other trace"]);
    window.get_by_label("Open instead").click();
    settle(&mut window);
    assert_eq!(names(&window), ["other trace", ""]);
}

#[test]
fn two_dropped_files_are_compared_and_a_third_is_told() {
    let both = ["trace", "other trace"];
    let mut window = empty_window();
    assert_eq!(
        hover(&mut window, &both),
        "Drop to open the first two beside each other"
    );
    release(&mut window, &both);
    assert_eq!(names(&window), both);
    assert!(window.state().link().is_some());

    let mut window = empty_window();
    release(&mut window, &["trace", "other trace", "third trace"]);
    window.get_by_label_contains("Of 3 dropped files the first two are opened");
    assert_eq!(names(&window), both);
}

#[test]
fn a_dropped_file_that_cannot_be_read_is_explained() {
    let mut window = empty_window();
    release(&mut window, &["/tmp/notes.txt"]);
    window.get_by_label("not a profile that this program reads: /tmp/notes.txt");
    assert_eq!(names(&window), ["", ""]);
    // What follows works nevertheless.
    release(&mut window, &["trace"]);
    assert_eq!(names(&window), ["trace", ""]);
    assert!(window.query_by_label_contains("not a profile").is_none());

    release(&mut window, &["/tmp/notes.txt"]);
    window.get_by_label("Compare with the open one").click();
    settle(&mut window);
    window.get_by_label("not a profile that this program reads: /tmp/notes.txt");
    assert_eq!(names(&window), ["trace", ""]);
}

#[test]
fn dialogs_do_not_catch_dropped_files() {
    // The dialog that asks for a path has its answer.
    let mut window = empty_window();
    window.state_mut().push(AppCommand::OpenDialog);
    settle(&mut window);
    window.get_by_label("Browse…");
    release(&mut window, &["trace"]);
    assert_eq!(names(&window), ["trace", ""]);
    assert!(window.query_by_label("Browse…").is_none());

    // A second drop replaces the question about the first.
    release(&mut window, &["other trace"]);
    release(&mut window, &["/tmp/notes.txt"]);
    window.get_by_label("notes.txt");
    assert!(window.query_by_label("other trace").is_none());
    window.get_by_label("Cancel").click();
    settle(&mut window);

    press(&mut window, Modifiers::NONE, Key::F1);
    assert!(state(&window).shows(Panel::Palette));
    release(&mut window, &["other trace"]);
    window.get_by_label("Open instead").click();
    settle(&mut window);
    assert_eq!(names(&window), ["other trace", ""]);
}

#[test]
fn keys_are_for_the_dialog_that_asks_for_a_path() {
    let mut window = opened();
    window.state_mut().push(AppCommand::OpenDialog);
    settle(&mut window);
    for (modifiers, key) in [
        (Modifiers::NONE, Key::F1),
        (Modifiers::COMMAND | Modifiers::SHIFT, Key::P),
        (Modifiers::COMMAND, Key::F),
    ] {
        press(&mut window, modifiers, key);
    }
    assert!(!state(&window).shows(Panel::Palette));
    assert!(!state(&window).shows(Panel::Search));
    window.get_by_label("Browse…");
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Browse…").is_none());
    press(&mut window, Modifiers::NONE, Key::F1);
    assert!(state(&window).shows(Panel::Palette));
}
