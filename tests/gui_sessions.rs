//! Saving and restoring sessions.

use view::sessions::SessionStore;

use super::*;

/// Two runs of a host in files of the same name, and a third one that replaces the first.
fn runs(is_changed: bool) -> TraceLoader {
    Arc::new(move |path, _progress| {
        let picture = if is_changed {
            "@column 1us\nhost python: PPPPQQ\n"
        } else {
            PICTURE
        };
        let session = Session::from_model(text_trace(picture), Options::default());
        Ok(OpenTrace::new(path.to_owned(), session))
    })
}

fn window_in(folder: &std::path::Path, is_changed: bool) -> Harness<'static, App> {
    let sessions = SessionStore::in_folder(folder);
    Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(move |cc| {
            app(&cc.egui_ctx, Settings::default(), runs(is_changed)).with_sessions(sessions)
        })
}

fn note(window: &mut Harness<'static, App>, text: &str) {
    let range = window
        .state()
        .trace()
        .expect("a trace is open")
        .model
        .extent();
    want(
        window,
        ViewCommand::AddNote(view::state::Note {
            range,
            text: text.to_owned(),
        }),
    );
}

fn notes(window: &Harness<'_, App>) -> Vec<String> {
    state(window)
        .notes
        .iter()
        .map(|note| note.text.clone())
        .collect()
}

#[test]
fn second_run_of_a_host_keeps_the_first_session() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_in(folder.path(), false);
    for (path, kept) in [
        ("/run 1/host.xplane.pb", "host.xplane.pb"),
        ("/run 2/host.xplane.pb", "host.xplane.pb 2"),
    ] {
        open(&mut window, path);
        note(&mut window, path);
        press(&mut window, Modifiers::COMMAND, Key::S);
        window.get_by_label_contains(&format!("Saved the view as session “{kept}”"));
    }
    want(
        &mut window,
        AppCommand::OpenSession("host.xplane.pb".to_owned()),
    );
    settle(&mut window);
    assert_eq!(notes(&window), ["/run 1/host.xplane.pb"]);
}

#[test]
fn a_note_is_saved_while_it_is_typed() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_in(folder.path(), false);
    open(&mut window, "/run/host.xplane.pb");
    want(&mut window, ViewCommand::MarkAll);
    press(&mut window, Modifiers::SHIFT, Key::M);
    assert!(window.ctx.text_edit_focused());
    press(&mut window, Modifiers::COMMAND, Key::S);
    window.get_by_label_contains("Saved the view as session “host.xplane.pb”");
    assert!(window.ctx.text_edit_focused(), "it is typed on");
}

#[test]
fn opened_session_is_saved_under_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_in(folder.path(), false);
    open(&mut window, "/run/host.xplane.pb");
    want(&mut window, AppCommand::SaveSession("night".to_owned()));
    let mut window = window_in(folder.path(), false);
    want(&mut window, AppCommand::OpenSession("night".to_owned()));
    settle(&mut window);
    note(&mut window, "more");
    press(&mut window, Modifiers::COMMAND, Key::S);
    window.get_by_label("Saved the view as session “night”");
    assert_eq!(SessionStore::in_folder(folder.path()).names(), ["night"]);
    window.get_by_label("Dismiss").click();
    settle(&mut window);
    assert!(window.query_by_label_contains("Saved the view").is_none());
    // The session does not belong to another trace.
    open(&mut window, "/other/host.xplane.pb");
    press(&mut window, Modifiers::COMMAND, Key::S);
    assert_eq!(
        SessionStore::in_folder(folder.path()).names(),
        ["host.xplane.pb", "night"]
    );
    want(
        &mut window,
        AppCommand::RenameSession("host.xplane.pb".to_owned(), "a/b".to_owned()),
    );
    want(&mut window, AppCommand::DeleteSession("night".to_owned()));
    assert_eq!(SessionStore::in_folder(folder.path()).names(), ["a/b"]);
}

#[test]
fn changed_trace_reopens_with_notes_and_a_notice() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_in(folder.path(), false);
    open(&mut window, "/run/host.xplane.pb");
    note(&mut window, "look here");
    let tracks: Vec<_> = window.state().trace().unwrap().model.track_ids().collect();
    want(&mut window, ViewCommand::Pin(tracks[0], true));
    want(&mut window, ViewCommand::ShowPanel(Panel::Search, true));
    want(&mut window, ViewCommand::Search("PP".to_owned()));
    want(&mut window, AppCommand::SaveSession("night".to_owned()));
    for is_changed in [false, true] {
        let mut window = window_in(folder.path(), is_changed);
        want(&mut window, AppCommand::OpenSession("night".to_owned()));
        settle(&mut window);
        assert_eq!(
            (notes(&window), state(&window).search.as_str()),
            (vec!["look here".to_owned()], "PP")
        );
        assert!(
            window.query_all_by_value("PP").count() >= 1,
            "it is in the box"
        );
        assert_eq!(state(&window).pinned.len(), usize::from(!is_changed));
        assert_eq!(
            window
                .query_by_label_contains("has changed since")
                .is_some(),
            is_changed
        );
    }
}

#[test]
fn packed_session_comes_back_with_its_archive() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = window_in(folder.path(), false);
    open(&mut window, "/run/host.xplane.pb");
    note(&mut window, "look here");
    want(&mut window, AppCommand::SaveSession("night".to_owned()));
    let saved = SessionStore::in_folder(folder.path())
        .load("night")
        .unwrap()
        .for_archive()
        .unwrap();

    let archive = folder.path().join("run.systole.zip");
    let mut zip = importers::ArchiveWriter::new(std::fs::File::create(&archive).unwrap());
    zip.add(importers::PACK_FACTS, &b"{}"[..]).unwrap();
    zip.add(importers::PACKED_SESSION, &saved[..]).unwrap();
    zip.finish().unwrap();
    let others = tempfile::tempdir().unwrap();
    let mut window = window_in(others.path(), false);
    open(&mut window, archive.to_str().unwrap());
    assert_eq!(notes(&window), ["look here"]);
    // Saved again, it is a session of the archive.
    press(&mut window, Modifiers::COMMAND, Key::S);
    let kept = SessionStore::in_folder(others.path())
        .load("night")
        .unwrap();
    assert_eq!(kept.trace, archive.canonicalize().unwrap());
}

#[test]
fn a_copied_view_opens_elsewhere() {
    let mut window = opened();
    let slice = window
        .state()
        .trace()
        .unwrap()
        .model
        .all_slices()
        .nth(2)
        .unwrap()
        .id();
    want(&mut window, ViewCommand::GoTo(slice));
    want(&mut window, ViewCommand::ShowTab("ops".to_owned()));
    let track = window.state().trace().unwrap().model.slice(slice).track();
    want(&mut window, ViewCommand::Pin(track, true));
    window.input_mut().events.push(Event::Key {
        key: Key::Y,
        physical_key: None,
        pressed: true,
        repeat: false,
        modifiers: Modifiers::NONE,
    });
    window.run_steps(1);
    let commands = &window.output().platform_output.commands;
    let copied = commands.iter().find_map(|command| match command {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    });
    let copied = copied.expect("it was copied");
    settle(&mut window);
    window.get_by_label_contains("Copied systole open");
    let view = copied
        .split(" --view '")
        .nth(1)
        .unwrap()
        .trim_end_matches('\'')
        .to_owned();
    let mut other = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(|cc| {
            let app = app(&cc.egui_ctx, Settings::default(), loader());
            app.with_view(&view).expect(&view)
        });
    open(&mut other, "trace");
    settle(&mut other);
    let (own, copy) = (state(&window), state(&other));
    assert_eq!(copy.place.selection, own.place.selection);
    assert_eq!(copy.place.time, own.place.time);
    assert_eq!((&copy.tab, &copy.pinned), (&own.tab, &own.pinned));
    assert!(window::check_view("sel=all").is_err());
}
