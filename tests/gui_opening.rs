//! Opening a trace: what the empty window says, and what happens if it fails.

use window::{FileDialogs, TextToSave};

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

/// A window on a machine without file dialogs, with a trace.
fn without_dialogs() -> Harness<'static, App> {
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(|cc| {
            let dialogs = FileDialogs {
                open: |then| then(Err("There is no file dialog".to_owned())),
                save: |_| Err("There is no file dialog".to_owned()),
            };
            app(&cc.egui_ctx, Settings::default(), loader()).with_dialogs(dialogs)
        });
    open(&mut window, "trace");
    window
}

fn type_path(window: &mut Harness<'static, App>, path: &std::path::Path) {
    press(window, Modifiers::COMMAND, Key::A);
    window.event(Event::Text(path.display().to_string()));
    settle(window);
    press(window, Modifiers::NONE, Key::Enter);
}

#[test]
fn without_a_file_dialog_the_place_to_save_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("ops.csv");
    let mut window = without_dialogs();
    for (text, is_replaced) in [("old", false), ("new", true)] {
        window.state_mut().push(AppCommand::Save(TextToSave {
            name: "ops.csv".to_owned(),
            text: text.to_owned(),
        }));
        until(&mut window, "the place is asked for", |window| {
            window.query_by_label("Save as: a file").is_some()
        });
        settle(&mut window);
        window.get_by_label_contains("There is no file dialog");
        type_path(&mut window, &place);
        if is_replaced {
            window.get_by_label("There is a file of this name: save again to replace it.");
            assert_eq!(std::fs::read_to_string(&place).unwrap(), "old");
            press(&mut window, Modifiers::NONE, Key::Enter);
        }
        let saved = format!("Saved {}", place.display());
        until(&mut window, "it is saved", |window| {
            window.query_by_label(&saved).is_some()
        });
        window.get_by_label("Dismiss").click();
        settle(&mut window);
        assert_eq!(std::fs::read_to_string(&place).unwrap(), text);
    }
}

#[test]
fn every_save_says_that_there_is_no_file_dialog() {
    let mut window = without_dialogs();
    let timeline = render::pictures::PicturePanel::TIMELINE;
    for save in [
        AppCommand::SaveWindow,
        AppCommand::SavePicture(timeline, render::pictures::PictureFormat::Svg),
        AppCommand::SavePicture(timeline, render::pictures::PictureFormat::Png),
    ] {
        window.state_mut().push(save);
        until(&mut window, "the place is asked for", |window| {
            window
                .query_by_label_contains("There is no file dialog")
                .is_some()
        });
        window.get_by_label("Cancel").click();
        settle(&mut window);
        assert!(window.query_by_label("Save as: a file").is_none());
    }
}

#[test]
fn without_a_file_dialog_browse_says_so_and_leaves_the_field() {
    let mut window = without_dialogs();
    press(&mut window, Modifiers::COMMAND, Key::O);
    window.get_by_label("Browse…").click();
    until(&mut window, "it is said", |window| {
        window
            .query_by_label("There is no file dialog. Type the path here.")
            .is_some()
    });
    window.get_by_label("Open: a profile, a run, or a log directory");
}

#[test]
fn enter_on_an_ambiguous_path_asks_for_more() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["run_1", "run_2", "other trace"] {
        std::fs::create_dir(folder.path().join(name)).unwrap();
    }
    let mut window = empty_window();
    press(&mut window, Modifiers::COMMAND, Key::O);
    type_path(&mut window, &folder.path().join("run"));
    window.get_by_label("2 names here begin like this: choose one below, or type more.");
    window.get_by_label("Open: a profile, a run, or a log directory");
    type_path(&mut window, &folder.path().join("run_1"));
    assert!(
        window
            .query_by_label("Open: a profile, a run, or a log directory")
            .is_none(),
        "it is a whole name"
    );
}
