//! The dialog that records running programs.

use std::path::Path;

use egui::accesskit::Role;
use importers::ImportOptions;
use window::file_loader;

use super::mock_profiler::{MockProfiler, Reply, profile, response};
use super::*;

/// A window that opens files.
fn window() -> Harness<'static, App> {
    Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(|cc| {
            let loader = file_loader(
                ImportOptions::default(),
                Arc::new(|| Ok(Options::default())),
            );
            app(&cc.egui_ctx, Settings::default(), loader)
        })
}

/// Opens the dialog and fills in the servers, which have the focus, and the log directory.
fn fill(window: &mut Harness<'static, App>, servers: &str, logdir: &Path) {
    window.get_by_label("Capture a running program…").click();
    settle(window);
    window.event(Event::Text(servers.to_owned()));
    settle(window);
    window
        .get_by_role_and_label(Role::TextInput, "Log directory")
        .focus();
    settle(window);
    press(window, Modifiers::COMMAND, Key::A);
    window.event(Event::Text(logdir.display().to_string()));
    settle(window);
}

fn start(window: &mut Harness<'static, App>) {
    window.get_by_label("Start the capture").click();
    settle(window);
}

#[test]
fn captured_profile_is_opened() {
    let logs = tempfile::tempdir().unwrap();
    let (space, other) = (profile(1), profile(2));
    let servers = [
        MockProfiler::new(move |_, _| Reply::Message(response(&space))),
        MockProfiler::new(move |_, _| Reply::Message(response(&other))),
    ];
    let mut window = window();
    settle(&mut window);
    fill(
        &mut window,
        &format!("{}, {}", servers[0].address(), servers[1].address()),
        logs.path(),
    );
    window
        .get_by_label("Python calls, which slows the program down")
        .click();
    settle(&mut window);
    start(&mut window);
    until(&mut window, "the profile is opened", |window| {
        window.state().trace().is_some()
    });
    settle(&mut window);
    assert!(
        window
            .state()
            .trace()
            .unwrap()
            .path
            .starts_with(logs.path())
    );
    assert_eq!(
        window.state().trace().unwrap().model.tensor_cores().len(),
        3
    );
    assert!(
        window.query_by_label("Start the capture").is_none(),
        "it is done"
    );
    let call = servers[0].calls().remove(0);
    // Levels of host, device and Python, and the length.
    assert_eq!(
        [2, 3, 4].map(|field| call.numbers(&[4, field])),
        [vec![2], vec![1], vec![1]]
    );
    assert_eq!(call.numbers(&[1]), [2000]);
}

#[test]
fn what_goes_wrong_is_said_in_the_dialog() {
    let logs = tempfile::tempdir().unwrap();
    let mut window = window();
    settle(&mut window);
    fill(&mut window, "worker0", logs.path());
    start(&mut window);
    window.get_by_label_contains("the port is missing");
    window.event(Event::Text("x".to_owned()));
    window.get_by_label("Close").click();
    settle(&mut window);
    assert!(window.query_by_label("Start the capture").is_none());

    let space = profile(1);
    let good = MockProfiler::new(move |_, _| Reply::Message(response(&space)));
    want(&mut window, AppCommand::CaptureDialog);
    press(&mut window, Modifiers::COMMAND, Key::A);
    window.event(Event::Text(format!("{} 127.0.0.1:1", good.address())));
    settle(&mut window);
    start(&mut window);
    until(&mut window, "what came is opened", |window| {
        window.state().trace().is_some()
    });
    settle(&mut window);
    window.get_by_label_contains("127.0.0.1:1: cannot connect");
}

#[test]
fn capture_can_be_stopped() {
    let logs = tempfile::tempdir().unwrap();
    let never = MockProfiler::new(|_, _| Reply::Late(Duration::from_hours(1), Vec::new()));
    let mut window = window();
    settle(&mut window);
    fill(&mut window, &never.address(), logs.path());
    start(&mut window);
    until(&mut window, "the server is asked", |_| {
        !never.calls().is_empty()
    });
    window.get_by_label("Stop the capture").click();
    until(&mut window, "it stops", |window| {
        window.query_by_label("Start the capture").is_some()
    });
    window.get_by_label_contains("stopped before it was complete");
    assert!(window.state().trace().is_none());
    assert_eq!(std::fs::read_dir(logs.path()).unwrap().count(), 0);
}
