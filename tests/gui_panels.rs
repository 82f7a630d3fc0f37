//! Panels beside the timeline: visible tables, links of rows to the timeline, and going back.

use render::pictures::{self, PictureFormat, PictureStyle};

use egui_kittest::kittest::NodeT as _;

use super::*;

fn many() -> Harness<'static, App> {
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 1100.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), many_ops()));
    open(&mut window, "many");
    window
}

fn click(window: &mut Harness<'static, App>, label: &str) {
    window.get_by_label(label).click();
    settle(window);
}

fn select(window: &mut Harness<'static, App>, name: &str) {
    let model = window.state().trace().expect("it is open").model.clone();
    let slice = model
        .all_slices()
        .find(|slice| slice.name() == name)
        .expect("there is one")
        .id();
    want(window, ViewCommand::Select(slice));
}

#[test]
fn overview_data_is_available_as_tables() {
    let mut window = window_of(4_000.0);
    open(&mut window, "trace");
    for tab in ["overview", "hints"] {
        want(&mut window, ViewCommand::ShowTab(tab.to_owned()));
        assert!(
            window.query_by_label("Filter rows").is_none(),
            "the tables of {tab} are folded"
        );
        click(&mut window, "All tables");
        window.get_by_label("Filter rows");
    }
    want(&mut window, ViewCommand::ShowTab("overview".to_owned()));
    window.get_by_label_contains("Table: ").click();
    settle(&mut window);
    for table in ["Utilization", "Targets"] {
        assert!(
            window.query_all_by_label_contains(table).count() >= 1,
            "{table}"
        );
    }
}

#[test]
fn a_report_that_is_chosen_by_name_is_in_sight() {
    let mut window = window_of(600.0);
    open(&mut window, "trace");
    for (id, tab) in [
        ("utilization", "overview"),
        ("loops", "ops"),
        ("balance", "steps"),
    ] {
        want(&mut window, AppCommand::ShowReport(id));
        settle(&mut window);
        assert_eq!(state(&window).tab, tab);
    }
    want(&mut window, AppCommand::ShowReport("utilization"));
    settle(&mut window);
    let table = window.get_by_label_contains("Table: Utilization").rect();
    assert!(table.top() > 60.0 && table.bottom() < 560.0, "{table:?}");
    want(&mut window, AppCommand::ShowReport("verdict"));
    settle(&mut window);
    assert_eq!(state(&window).tab, "overview");
}

#[test]
fn code_of_a_hint_is_copied_with_one_click() {
    let mut window = many();
    want(&mut window, ViewCommand::ShowTab("hints".to_owned()));
    let labels: Vec<String> = window
        .query_all_by_label_contains("Copy code of ")
        .filter_map(|button| button.accesskit_node().label())
        .collect();
    let label = labels.first().expect("a hint has code").clone();
    window.get_by_label(&label).click();
    window.run_steps(1);
    let copied = |command: &egui::OutputCommand| match command {
        egui::OutputCommand::CopyText(text) => Some(text.clone()),
        _ => None,
    };
    let commands = &window.output().platform_output.commands;
    let text = commands
        .iter()
        .find_map(copied)
        .expect("something is copied");
    assert!(!text.is_empty());
    window.run_steps(1);
    let answer = label.replace("Copy code", "copied");
    window.get_by_label(&answer);
}

#[test]
fn every_target_has_a_gauge() {
    let mut window = window_of(2_000.0);
    open(&mut window, "trace");
    window.get_by_label("More figures").click();
    settle(&mut window);
    let unknown = window.query_all_by_label_contains("Not known: ").count();
    assert_eq!(unknown, 1, "what has no number is in one line");
    for target in ["Compiling", "Waiting for input", "Links during collectives"] {
        let gauge = window
            .query_all_by_label_contains(&format!("{target}: "))
            .count();
        let in_line = window
            .query_all_by_label_contains("Not known: ")
            .filter(|line| {
                line.accesskit_node()
                    .label()
                    .or(line.accesskit_node().value())
                    .is_some_and(|text| text.contains(target))
            });
        assert_eq!(gauge + in_line.count(), 1, "{target}");
    }
}

#[test]
fn only_explicit_requests_filter_the_op_table() {
    let mut window = opened();
    select(&mut window, "fusion.1");
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, true));
    show_op_table(&mut window);
    window.get_by_label("Row while.3");
    click(&mut window, "by category");
    assert!(
        window.query_by_label("Row fusion.1").is_none(),
        "a tree has other rows"
    );
    click(&mut window, "In Ops");
    window.get_by_label("Row fusion.1");
    assert!(window.query_by_label("Row while.3").is_none());
}

#[test]
fn lists_of_ops_follow_the_timeline() {
    let mut window = many();
    show_op_table(&mut window);
    for name in ["op.400", "op.30", "op.449"] {
        select(&mut window, name);
        let row = window.get_by_label(&format!("Row {name}")).rect();
        assert!(
            row.top() > 40.0 && row.bottom() < 1075.0,
            "{name} is at {row:?}"
        );
    }
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, false));
    want(&mut window, ViewCommand::ShowTab("overview".to_owned()));
    // The ops are the last part of the overview.
    window.set_size(vec2(1400.0, 1300.0));
    select(&mut window, "op.200");
    assert!(
        window.query_by_label("Op op.200").is_none(),
        "ops that differ in their number are one row"
    );
    click(&mut window, "Ops op ×450");
    select(&mut window, "op.201");
    assert_eq!(
        window.query_all_by_label("Op op.201").count(),
        1,
        "it is in sight of the most expensive ones"
    );
}

#[test]
fn unsavable_settings_are_not_reported_unreadable() {
    let mut window = opened();
    window
        .state_mut()
        .push(AppCommand::SaveSession("mine".to_owned()));
    let notice = "This file cannot be saved.";
    until(&mut window, notice, |window| {
        window.query_by_label(notice).is_some()
    });
    click(&mut window, "Dismiss");
    open(&mut window, "/tmp/notes.txt");
    hides_no_times(&window, "This cannot be opened.");
}

#[test]
fn an_error_covers_nothing_on_a_small_start_screen() {
    let mut window = Harness::builder()
        .with_size(vec2(900.0, 600.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader()));
    open(&mut window, &"/a/long/path".repeat(20));
    let rect = |label: &str| window.get_by_label(label).rect();
    let (error, dismiss) = (rect("This cannot be opened."), rect("Dismiss"));
    let shown = error.union(dismiss);
    for label in ["Systole", "Open a profile…", "Samples"] {
        assert!(
            !shown.intersects(rect(label)),
            "{label}: {shown:?} {:?}",
            rect(label)
        );
    }
}

#[test]
fn every_export_in_the_menu_works() {
    let mut window = opened();
    click(&mut window, "Save");
    window.get_by_label("Session name");
    window.get_by_label("Window as PNG…");
    let options = Options {
        device_spec: Some("v5e".to_owned()),
        ..Options::default()
    };
    let trace = OpenTrace::new(
        "a trace".into(),
        Session::from_model(text_trace(PICTURE), options),
    );
    let state = ViewState::new(&trace.model);
    for panel in pictures::PICTURES {
        let title = panel.title;
        for (name, format, begin) in [
            ("SVG", PictureFormat::Svg, &b"<svg"[..]),
            ("PNG", PictureFormat::Png, &b"\x89PNG\r\n\x1a\n"[..]),
        ] {
            window.get_by_label(&format!("{title} as {name}…"));
            let drawing =
                pictures::draw(panel, &trace, &state, None, PictureStyle::default()).expect(title);
            let bytes = drawing.encoded(format, 1.0).expect(title);
            assert!(
                bytes
                    .windows(begin.len())
                    .take(200)
                    .any(|part| part == begin),
                "{title} as {name}"
            );
            assert!(
                bytes.len() > 2_000,
                "{title} as {name} is empty: {} bytes",
                bytes.len()
            );
        }
    }
}

#[test]
fn keys_are_explained_before_anything_is_open() {
    let mut window = empty_window();
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Questionmark);
    window.get_by_label("Zoom in at the pointer");
    window.get_by_label("Change keys…").click();
    settle(&mut window);
    window.get_by_label("Filter keys");
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Filter keys").is_none());
    window.get_by_label("Help").click();
    settle(&mut window);
    window.get_by_label("Zoom in at the pointer");
}

#[test]
fn details_show_op_limit_and_exposed_time() {
    let loader: TraceLoader = Arc::new(|path, _progress| {
        let options = Options {
            device_spec: Some("v7x".to_owned()),
            ..Options::default()
        };
        Ok(OpenTrace::new(
            path.to_owned(),
            Session::from_model(text_trace(PICTURE), options),
        ))
    });
    let mut window = Harness::builder()
        .with_size(vec2(1800.0, 1_200.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader));
    open(&mut window, "trace");
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, true));
    select(&mut window, "fusion.1");
    for label in ["Bound by", "Compute", "  of that limit", "Step"] {
        assert!(window.query_all_by_label(label).count() >= 1, "{label}");
    }
    assert!(
        window.query_by_label("Exposed").is_none(),
        "it moves nothing"
    );
    select(&mut window, "all-gather-start.1");
    window.get_by_label("Exposed");
}

#[test]
fn tracks_are_filtered_pinned_and_hidden() {
    let mut window = opened();
    want(&mut window, ViewCommand::FilterTracks("modules".to_owned()));
    window.get_by_label("XLA Modules");
    assert!(window.query_by_label("Fold XLA Ops").is_none());
    window.get_by_label("Show all").click();
    settle(&mut window);
    window.get_by_label("Fold XLA Ops");
    let pinned = window
        .state()
        .trace()
        .unwrap()
        .model
        .track_ids()
        .next()
        .unwrap();
    want(&mut window, ViewCommand::Pin(pinned, true));
    assert_eq!(state(&window).pinned, [pinned]);
    window.get_by_label("Fold XLA Ops").click_secondary();
    settle(&mut window);
    window.get_by_label("Hide").click();
    settle(&mut window);
    assert!(
        window.query_by_label("Fold XLA Ops").is_none(),
        "it is left out"
    );
    window.get_by_label("Show all").click();
    settle(&mut window);
    window.get_by_label("Fold XLA Ops");
}

#[test]
fn details_panel_keeps_its_height() {
    let mut window = opened();
    let height = |window: &Harness<'_, App>| window.get_by_label("Timeline").rect().height();
    let at = on_canvas(&window, 0.3, 120.0);
    click_at(&mut window, at);
    let with_details = height(&window);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(
        height(&window) > with_details + 100.0,
        "an empty one is closed"
    );
    press(&mut window, Modifiers::NONE, Key::Q);
    window.get_by_label("Nothing is selected.");
    assert!((height(&window) - with_details).abs() < 0.5);
}

#[test]
fn details_do_not_cover_the_selected_slice() {
    let mut window = window_of(420.0);
    open(&mut window, "trace");
    // The thread of the host is the lowest track.
    let lowest = window
        .state()
        .trace()
        .unwrap()
        .model
        .all_slices()
        .last()
        .unwrap()
        .id();
    want(&mut window, ViewCommand::Select(lowest));
    assert!(state(&window).shows(Panel::Details));
    assert!(
        state(&window).place.scroll > 0.0,
        "it was scrolled into what the details leave of the timeline"
    );
}

#[test]
fn pinned_track_shows_its_owner_and_groups_stay_visible() {
    let mut window = window_of(260.0);
    open(&mut window, "trace");
    let title = |window: &Harness<'_, App>| window.query_all_by_label("Fold TPU:0").count();
    assert_eq!(title(&window), 1);
    want(&mut window, ViewCommand::ScrollTo(70.0));
    assert_eq!(
        title(&window),
        1,
        "the heading stays while tracks of its group are in sight"
    );
    let top = window.get_by_label("Fold TPU:0").rect().top();
    assert!((top - window.get_by_label("Timeline").rect().top()).abs() < 1.0);
}

#[test]
fn path_can_be_typed_completed_and_opened() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("trace")).unwrap();
    std::fs::write(folder.path().join("a.xplane.pb"), "").unwrap();
    let mut window = empty_window();
    press(&mut window, Modifiers::COMMAND, Key::O);
    window.get_by_label("Open: a profile, a run, or a log directory");
    press(&mut window, Modifiers::COMMAND, Key::A);
    window.event(Event::Text(format!("{}/", folder.path().display())));
    settle(&mut window);
    window.get_by_label("a.xplane.pb");
    let can_follow = |window: &Harness<'_, App>| {
        let button = window.get_by_label("Follow");
        !button.accesskit_node().is_disabled()
    };
    assert!(can_follow(&window));
    window.event(Event::Text("tr".to_owned()));
    settle(&mut window);
    assert!(!can_follow(&window), "it is no directory yet");
    assert!(
        window.query_by_label("a.xplane.pb").is_none(),
        "it begins otherwise"
    );
    press(&mut window, Modifiers::NONE, Key::Tab);
    window.get_by_label("Nothing here begins like this.");
    press(&mut window, Modifiers::NONE, Key::Enter);
    assert_eq!(
        window.state().trace().unwrap().path,
        folder.path().join("trace/")
    );

    press(&mut window, Modifiers::COMMAND, Key::O);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Browse…").is_none());

    press(&mut window, Modifiers::COMMAND, Key::O);
    press(&mut window, Modifiers::COMMAND, Key::A);
    window.event(Event::Text(format!("{}/", folder.path().display())));
    settle(&mut window);
    window.get_by_label("Follow").click();
    window.run_steps(3);
    assert!(window.state().following().is_some());
    assert!(window.query_by_label("Browse…").is_none());
}

/// What is drawn of an expanded explanation ends at the right edge of its panel.
#[test]
fn explanations_are_not_cut_and_their_button_stays() {
    let sample = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../assets/samples/synthetic_v5e_8chip_straggler.xplane.pb");
    let mut window = Harness::builder()
        .with_size(vec2(1280.0, 3000.0))
        .build_eframe(|cc| {
            let options = || Ok(Options::default());
            let loader =
                window::file_loader(importers::ImportOptions::default(), Arc::new(options));
            app(&cc.egui_ctx, Settings::default(), loader)
        });
    open(&mut window, &sample.display().to_string());
    want(&mut window, ViewCommand::ShowTab("hints".to_owned()));
    let names = window.query_all_by_label_contains("Explanation of").count();
    assert!(names > 0);
    let first = window
        .get_all_by_label_contains("Explanation of")
        .next()
        .unwrap();
    let before = first.rect();
    first.click();
    settle(&mut window);
    let first = window
        .get_all_by_label_contains("Explanation of")
        .next()
        .unwrap();
    assert_eq!(first.rect(), before, "it says the same");
    window.get_by_label("Check");
    let edge = window.get_by_label("Close reports").rect().right() + 4.0;
    let texts = window.query_all_by_label_contains(" ");
    let cut: Vec<_> = texts
        .filter(|text| text.rect().left() > 800.0 && text.rect().left() < edge)
        .filter(|text| text.rect().right() > edge)
        .filter_map(|text| text.value())
        // Code has its own scroll bar.
        .filter(|text| !text.contains('='))
        .collect();
    assert!(cut.is_empty(), "{cut:?}");
}
