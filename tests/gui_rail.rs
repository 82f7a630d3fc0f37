//! The rail, the sizes of panels, narrow windows, and which tracks are shown.

use egui::accesskit::Role;
use trace_model::TrackId;
use window::PanelPart;

use super::*;

const TWO_DEVICES: &str = "
    @column 1us
    ops: AAAABBBB
    TPU:1 ops: AAAA....
    host python: PPPP
";

fn window_with(
    size: egui::Vec2,
    settings: Settings,
    picture: &'static str,
) -> Harness<'static, App> {
    let loader: TraceLoader = Arc::new(move |path, _progress| {
        Ok(OpenTrace::new(
            path.to_owned(),
            Session::from_model(text_trace(picture), Options::default()),
        ))
    });
    let mut window = Harness::builder()
        .with_size(size)
        .build_eframe(|cc| app(&cc.egui_ctx, settings, loader));
    open(&mut window, "trace");
    window
}

fn tab<'a>(window: &'a Harness<'_, App>, title: &'a str) -> Option<egui_kittest::Node<'a>> {
    window.query_by_role_and_label(Role::Tab, title)
}

fn drag(window: &mut Harness<'static, App>, from: Pos2, to: Pos2) {
    let button = |pos, pressed| Event::PointerButton {
        pos,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: Modifiers::NONE,
    };
    window.hover_at(from);
    window.step();
    window.event(button(from, true));
    window.step();
    window.hover_at(from.lerp(to, 0.5));
    window.step();
    window.hover_at(to);
    window.step();
    window.event(button(to, false));
    window.step();
    settle(window);
}

#[test]
fn tabs_without_data_keep_their_places() {
    let mut window = opened();
    until(&mut window, "kernels have no data", |window| {
        tab(window, "Kernels: no data").is_some()
    });
    let place = |title: &str| tab(&window, title).map(|tab| tab.rect());
    let titles = [
        "Memory: no data",
        "Kernels: no data",
        "Serving: no data",
        "Host",
    ];
    let places = titles.map(|title| place(title).expect(title));
    for pair in places.windows(2) {
        assert!((pair[1].top() - pair[0].bottom()).abs() < 1.0, "{places:?}");
    }
    tab(&window, "Kernels: no data")
        .expect("it is there")
        .click();
    settle(&mut window);
    assert_eq!(state(&window).tab, "kernels");
}

#[test]
fn clicking_the_open_tab_closes_reports() {
    let mut window = opened();
    let wide = window.get_by_label("Timeline").rect().width();
    tab(&window, "Overview").expect("it is open").click();
    settle(&mut window);
    assert!(!state(&window).shows(Panel::Reports));
    assert!(window.get_by_label("Timeline").rect().width() > wide + 300.0);
    tab(&window, "Ops").expect("the rail stays").click();
    settle(&mut window);
    assert!(state(&window).shows_tab("ops"));
    window.get_by_label("Close reports").click();
    settle(&mut window);
    assert!(!state(&window).shows(Panel::Reports));
}

#[test]
fn reports_overlay_the_timeline_in_a_narrow_window() {
    let mut window = window_with(vec2(900.0, 600.0), Settings::default(), TWO_DEVICES);
    let timeline = window.get_by_label("Timeline").rect();
    let over = window.get_by_label("Reports over the timeline").rect();
    assert!(
        over.left() < timeline.right() - 200.0,
        "{over:?} lies over {timeline:?}"
    );
    window.get_by_label("Close reports").click();
    settle(&mut window);
    assert_eq!(
        window.get_by_label("Timeline").rect(),
        timeline,
        "it has the same room"
    );
    show_op_table(&mut window);
    window.get_by_label("Row B").click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("B"));
    assert!(
        !state(&window).shows(Panel::Reports),
        "what the row leads to is in sight"
    );
    want(&mut window, ViewCommand::ShowTab("ops".to_owned()));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert_eq!(
        (selected(&window), state(&window).shows(Panel::Reports)),
        (None, true),
        "first the selection"
    );
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(
        !state(&window).shows(Panel::Reports),
        "then what lies over the timeline"
    );
}

#[test]
fn a_long_folder_of_a_source_stays_in_its_panel() {
    const LONG: &str = "
        @column 1us
        ops: AAAABBBB
        A = fusion.1 source=/home/somebody_with_a_long_name/a-repository/of_a_model/layers/common/model.py:335
        B = fusion.2 source=/home/somebody_with_a_long_name/a-repository/of_a_model/layers/common/model.py:385
    ";
    let mut window = window_with(vec2(900.0, 600.0), Settings::default(), LONG);
    want(&mut window, ViewCommand::ShowTab("source".to_owned()));
    let panel = window.get_by_label("Reports over the timeline").rect();
    let advice = window.get_by_label_contains("next time").rect();
    assert!(
        panel.left() <= advice.left() && advice.right() <= panel.right(),
        "{advice:?} is not in {panel:?}"
    );
}

#[test]
fn details_lie_beside_reports_that_cover_the_timeline() {
    let mut window = window_with(vec2(900.0, 600.0), Settings::default(), TWO_DEVICES);
    show_op_table(&mut window);
    window.get_by_label("Row B").click();
    settle(&mut window);
    want(&mut window, ViewCommand::ShowTab("ops".to_owned()));
    let over = window.get_by_label("Reports over the timeline").rect();
    let are_beside = |window: &Harness<'_, App>, buttons: &[&str]| {
        for button in buttons {
            let rect = window.get_by_label(button).rect();
            assert!(
                rect.right() <= over.left(),
                "{button} at {rect:?} is below {over:?}"
            );
        }
    };
    are_beside(
        &window,
        &["Copy name", "Zoom to it", "Longest of this name"],
    );
    want(&mut window, ViewCommand::MarkAll);
    are_beside(&window, &["Close", "Zoom to it", "Note"]);
}

#[test]
fn panels_below_leave_room_for_tracks() {
    let mut window = window_with(vec2(1200.0, 600.0), Settings::default(), TWO_DEVICES);
    want(
        &mut window,
        ViewCommand::MoveTab {
            tab: "steps".to_owned(),
            below: true,
        },
    );
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, true));
    let timeline = window.get_by_label("Timeline").rect();
    assert!(timeline.height() > 120.0, "{timeline:?}");
}

#[test]
fn colours_without_room_are_left_out() {
    let window = window_with(vec2(420.0, 500.0), Settings::default(), PICTURE);
    let choice = window.get_by_label("Colour by").rect();
    for title in ["Matmul", "Collective", "Control flow"] {
        for swatch in window.query_all_by_label(title) {
            let rect = swatch.rect();
            let is_in_legend = (rect.center().y - choice.center().y).abs() < 10.0;
            assert!(
                !is_in_legend || rect.right() <= choice.left(),
                "{title} at {rect:?}, {choice:?}"
            );
        }
    }
    assert!(window.query_by_label("…").is_some());
}

#[test]
fn panels_keep_the_user_size() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gui.json");
    let mut window = window_with(vec2(1400.0, 900.0), Settings::load_from(&file), TWO_DEVICES);
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, true));
    let timeline = window.get_by_label("Timeline").rect();
    // The edges of the timeline: its scroll bar is 10 points wide.
    drag(
        &mut window,
        timeline.right_center() + vec2(11.0, 0.0),
        timeline.right_center() + vec2(-89.0, 0.0),
    );
    drag(
        &mut window,
        timeline.center_bottom() + vec2(0.0, 1.0),
        timeline.center_bottom() + vec2(0.0, -49.0),
    );
    let sizes = Settings::load_from(&file).sizes;
    assert!(
        (sizes.of(PanelPart::Reports, 1400.0) - 506.0).abs() < 6.0,
        "{sizes:?}"
    );
    assert!(
        (sizes.of(PanelPart::Details, 1400.0) - 280.0).abs() < 6.0,
        "{sizes:?}"
    );
    let again = window_with(vec2(1400.0, 900.0), Settings::load_from(&file), TWO_DEVICES);
    let width = again.get_by_label("Timeline").rect().width();
    assert!((width - (timeline.width() - 100.0)).abs() < 8.0, "{width}");
}

#[test]
fn one_track_is_pinned_on_all_devices() {
    let mut window = window_with(vec2(1400.0, 900.0), Settings::default(), TWO_DEVICES);
    let model = window.state().trace().expect("it is open").model.clone();
    let ops: Vec<TrackId> = model
        .track_ids()
        .filter(|&track| model.track(track).kind == trace_model::TrackKind::Ops)
        .collect();
    assert_eq!(ops.len(), 2);
    window
        .get_all_by_label("XLA Ops")
        .next()
        .expect("the ops of the first device")
        .click_secondary();
    settle(&mut window);
    window.get_by_label("Pin on all devices").click();
    settle(&mut window);
    assert_eq!(state(&window).pinned, ops);
    want(&mut window, ViewCommand::PinEverywhere(ops[1], false));
    assert!(state(&window).pinned.is_empty());
}

#[test]
fn tracks_without_visible_slices_are_hidden_with_their_group() {
    let mut window = window_with(vec2(1400.0, 900.0), Settings::default(), TWO_DEVICES);
    let at = |us: i64| trace_model::Timestamp::from_ps(us * 1_000_000);
    want(
        &mut window,
        ViewCommand::Show(trace_model::TimeRange::new(at(5), at(7))),
    );
    assert!(window.query_by_label("Fold TPU:1").is_some());
    window.get_by_label("View").click();
    settle(&mut window);
    window
        .get_by_label("Hide tracks without slices in sight")
        .click();
    settle(&mut window);
    assert!(
        window.query_by_label("Fold TPU:0").is_some()
            && window.query_by_label("Fold TPU:1").is_none()
    );
    assert!(state(&window).leaves_out());
    window.get_by_label("Show all").click();
    settle(&mut window);
    assert!(window.query_by_label("Fold TPU:1").is_some());
}

#[test]
fn isolating_hides_other_tracks() {
    let mut window = window_with(vec2(1400.0, 900.0), Settings::default(), TWO_DEVICES);
    want(&mut window, ViewCommand::Search("B".to_owned()));
    assert!(
        window.query_by_label("Fold TPU:1").is_some(),
        "others are dim"
    );
    want(&mut window, ViewCommand::Isolate(true));
    assert!(
        window.query_by_label("Fold TPU:0").is_some()
            && window.query_by_label("Fold TPU:1").is_none()
    );
    want(&mut window, ViewCommand::Search(String::new()));
    assert!(window.query_by_label("Fold TPU:1").is_some());
    assert!(!state(&window).leaves_out(), "nothing was hidden for good");
}
