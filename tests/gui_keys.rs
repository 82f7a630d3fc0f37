//! Key bindings and formats of times.

use view::palette::Preset;
use view::time_format::TimeFormat;
use window::{Chord, Remap};

use super::*;

fn time(window: &Harness<'_, App>) -> view::viewport::Viewport {
    state(window).place.time
}

/// High enough for the whole dialog.
fn tall() -> Harness<'static, App> {
    let mut window = window_of(3_000.0);
    open(&mut window, "trace");
    window
}

fn key(window: &mut Harness<'static, App>, modifiers: Modifiers, key: Key) {
    for pressed in [true, false] {
        window.event_modifiers(
            Event::Key {
                key,
                physical_key: None,
                pressed,
                repeat: false,
                modifiers,
            },
            modifiers,
        );
        window.step();
    }
    settle(window);
}

#[test]
fn a_key_is_assigned_by_pressing_it() {
    let mut window = opened();
    want(&mut window, ViewCommand::ShowPanel(Panel::Keys, true));
    window.get_by_label("Remove 0: Show what the devices do, or the whole trace");
    let home = time(&window);
    want(
        &mut window,
        ViewCommand::Zoom {
            factor: 4.0,
            anchor: 0.5,
        },
    );
    let near = time(&window);

    window
        .get_by_label("Add a key: Show what the devices do, or the whole trace")
        .click();
    settle(&mut window);
    window.get_by_label("Press a key to assign");
    key(&mut window, Modifiers::COMMAND, Key::E);
    assert_eq!(time(&window), near, "the key was taken, not done");
    window.get_by_label("Remove Ctrl+E: Show what the devices do, or the whole trace");
    key(&mut window, Modifiers::COMMAND, Key::E);
    assert_eq!(time(&window), home);

    // A held key must not move the view while it is being assigned.
    window
        .get_by_label("Add a key: Show what the devices do, or the whole trace")
        .click();
    settle(&mut window);
    key(&mut window, Modifiers::NONE, Key::W);
    assert_eq!(time(&window), home);
    window.get_by_label("W is already used for: Zoom in at the pointer");
    window.get_by_label("Leave it there").click();
    settle(&mut window);
    assert!(
        window
            .query_by_label_contains("is already used for")
            .is_none()
    );
}

#[test]
fn button_with_the_focus_leaves_other_keys_to_the_timeline() {
    let mut window = opened();
    let before = time(&window).span_ps();
    window.get_by_label("Fit").focus();
    window.step();
    key(&mut window, Modifiers::NONE, Key::W);
    assert!(time(&window).span_ps() < before, "it zooms");
    key(&mut window, Modifiers::NONE, Key::Enter);
    assert!(
        (time(&window).span_ps() - before).abs() < 1.0,
        "Enter presses the button"
    );
    key(&mut window, Modifiers::NONE, Key::F1);
    window.get_by_label("Search commands");
}

#[test]
fn ctrl_leads_from_field_to_field_and_letters_are_typed() {
    let mut window = opened();
    let before = time(&window);
    key(&mut window, Modifiers::COMMAND, Key::F);
    let typed = |window: &mut Harness<'static, App>, text: &str| {
        window.event(Event::Text(text.to_owned()));
        settle(window);
    };
    typed(&mut window, "mul");
    assert_eq!(state(&window).search, "mul");
    key(&mut window, Modifiers::NONE, Key::W);
    assert_eq!(time(&window), before, "a letter belongs to the field");
    key(&mut window, Modifiers::COMMAND, Key::P);
    typed(&mut window, "XLA");
    assert_eq!(
        (
            state(&window).search.as_str(),
            state(&window).track_filter.as_str()
        ),
        ("mul", "XLA")
    );
    key(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    typed(&mut window, "color by");
    window.get_by_label("Colour by category");
    key(&mut window, Modifiers::COMMAND, Key::F);
    window.get_by_label("Search commands");
    click_at(&mut window, Pos2::new(10.0, 600.0));
    assert!(
        window.query_by_label("Search commands").is_none(),
        "a click elsewhere closes it"
    );
}

#[test]
fn ctrl_and_plus_or_minus_zoom_a_little() {
    let mut window = opened();
    let home = time(&window);
    for (sign, is_nearer) in [(Key::Equals, true), (Key::Plus, true), (Key::Minus, false)] {
        let before = time(&window).span_ps();
        key(&mut window, Modifiers::COMMAND, sign);
        assert_eq!(time(&window).span_ps() < before, is_nearer, "{sign:?}");
        assert!((time(&window).span_ps() - before).abs() > 1.0, "{sign:?}");
    }
    assert!(time(&window).span_ps() < home.span_ps());
}

fn wheel(window: &mut Harness<'static, App>, y: f32, modifiers: Modifiers) {
    let at = on_canvas(window, 0.5, 60.0);
    window.hover_at(at);
    window.step();
    let (unit, phase) = (egui::MouseWheelUnit::Point, egui::TouchPhase::Move);
    let event = Event::MouseWheel {
        unit,
        delta: vec2(0.0, y),
        phase,
        modifiers,
        source: egui::MouseWheelSource::Wheel,
    };
    window.event_modifiers(event, modifiers);
    comes_to_rest(window);
}

#[test]
fn wheel_follows_its_setting_and_ctrl_inverts_it() {
    let mut window = window_of(330.0);
    open(&mut window, "trace");
    want(&mut window, ViewCommand::ShowPanel(Panel::Reports, false));
    let home = time(&window);
    for zooms in [false, true] {
        want(&mut window, AppCommand::WheelZooms(zooms));
        for modifiers in [Modifiers::NONE, Modifiers::COMMAND] {
            want(&mut window, ViewCommand::Fit);
            want(&mut window, ViewCommand::ScrollTo(0.0));
            wheel(&mut window, -30.0, modifiers);
            let does_zoom = zooms != (modifiers == Modifiers::COMMAND);
            assert_eq!(
                time(&window) != home,
                does_zoom,
                "zooms {zooms}, {modifiers:?}"
            );
            assert_eq!(
                state(&window).place.scroll > 0.0,
                !does_zoom,
                "zooms {zooms}, {modifiers:?}"
            );
        }
    }
}

#[test]
fn nothing_is_asked_about_the_wheel_and_help_changes_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gui.json");
    let settings = Settings::load_from(&file);
    assert!(!settings.wheel_zooms, "it scrolls at first");
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(move |cc| app(&cc.egui_ctx, settings, loader()));
    open(&mut window, "trace");
    assert!(window.query_by_label_contains("wheel").is_none());
    want(&mut window, ViewCommand::ShowPanel(Panel::Help, true));
    window.get_by_label_contains("The wheel zooms").click();
    settle(&mut window);
    assert!(Settings::load_from(&file).wheel_zooms);
}

#[test]
fn help_shows_its_texts_whole() {
    let mut window = tall();
    want(&mut window, ViewCommand::ShowPanel(Panel::Help, true));
    let right = window.get_by_label("Close window").rect().right();
    for text in ["Zoom in at the pointer", "Mark an area and show its sums"] {
        let label = window.get_by_label_contains(text).rect();
        assert!(
            label.width() > 100.0 && label.right() < right,
            "{text}: {label:?} beyond {right}"
        );
    }
}

#[test]
fn held_actions_cannot_use_ctrl_keys() {
    let mut window = tall();
    want(&mut window, ViewCommand::ShowPanel(Panel::Keys, true));
    window
        .get_by_label("Add a key: Zoom in at the pointer")
        .click();
    settle(&mut window);
    key(&mut window, Modifiers::COMMAND, Key::E);
    window.get_by_label("Press a key to assign");
    key(&mut window, Modifiers::NONE, Key::E);
    window.get_by_label("Remove E: Zoom in at the pointer");
    assert!(
        window
            .query_by_label("Remove Ctrl+E: Zoom in at the pointer")
            .is_none()
    );
}

#[test]
fn assigned_key_can_be_taken_over_and_restored() {
    let mut window = tall();
    press(&mut window, Modifiers::NONE, Key::Questionmark);
    window.get_by_label("Change keys…").click();
    settle(&mut window);
    assert!(state(&window).shows(Panel::Keys) && !state(&window).shows(Panel::Help));
    window.get_by_label("Add a key: Notes").click();
    settle(&mut window);
    key(&mut window, Modifiers::NONE, Key::G);
    window.get_by_label("G is already used for: Grid");
    window.get_by_label("Move it here").click();
    settle(&mut window);
    window.get_by_label("Remove G: Notes");
    assert!(window.query_by_label("Remove G: Grid").is_none());
    let grid = |window: &Harness<'_, App>| state(window).draws(view::state::TimelineLayer::Grid);
    let before = grid(&window);
    key(&mut window, Modifiers::NONE, Key::G);
    assert!(state(&window).shows(Panel::Notes) && grid(&window) == before);

    window.get_by_label("Reset keys: Grid").click();
    settle(&mut window);
    window.get_by_label("Remove G: Grid");
    window.get_by_label("Remove N: Notes");
    window.get_by_label("Remove N: Notes").click();
    settle(&mut window);
    window.get_by_label("Reset all").click();
    settle(&mut window);
    window.get_by_label("Remove N: Notes");
    assert!(
        window.query_by_label_contains("Reset keys").is_none(),
        "nothing is changed any more"
    );
}

#[test]
fn lost_key_can_be_restored() {
    let mut settings = Settings::default();
    // The action of the grid is not changed itself, but it has lost its key.
    settings
        .keys
        .insert("notes".to_owned(), vec!["G".to_owned()]);
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 3_000.0))
        .build_eframe(move |cc| app(&cc.egui_ctx, settings, loader()));
    open(&mut window, "trace");
    want(&mut window, ViewCommand::ShowPanel(Panel::Keys, true));
    window.get_by_label("Reset keys: Notes");
    window.get_by_label("Reset keys: Grid").click();
    settle(&mut window);
    window.get_by_label("Remove G: Grid");
    assert!(window.query_by_label("Remove G: Notes").is_none());
    assert!(window.query_by_label("Reset keys: Grid").is_none());
}

#[test]
fn legend_follows_the_chosen_colours() {
    let mut window = opened();
    let colors = |window: &Harness<'_, App>| state(window).colors;
    assert_eq!(colors(&window), Preset::Systole);
    window.get_by_label("View").click();
    settle(&mut window);
    window.get_by_label("Colours").click();
    settle(&mut window);
    window.get_by_label("Colours: Catapult").click();
    settle(&mut window);
    assert_eq!(colors(&window), Preset::Catapult);
    press(&mut window, Modifiers::NONE, Key::Escape);
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    window.event(Event::Text("colours perf".to_owned()));
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Enter);
    settle(&mut window);
    assert_eq!(colors(&window), Preset::Perfetto);
    let fill = view::palette::Palette::of(true, Preset::Perfetto).group(analysis::OpGroup::MatMul);
    let drawn = window
        .output()
        .shapes
        .iter()
        .any(|shape| match &shape.shape {
            egui::Shape::Rect(rect) => {
                rect.fill == egui::Color32::from_rgb(fill.0[0], fill.0[1], fill.0[2])
            }
            _ => false,
        });
    assert!(drawn, "the swatch of the legend");
    // The next trace has the same bindings.
    open(&mut window, "other trace");
    assert_eq!(colors(&window), Preset::Perfetto);
}

#[test]
fn escape_cancels_assignment_and_filter_finds_actions_and_keys() {
    let mut window = tall();
    want(&mut window, ViewCommand::ShowPanel(Panel::Keys, true));
    window.get_by_label("Add a key: Notes").click();
    settle(&mut window);
    key(&mut window, Modifiers::NONE, Key::Escape);
    assert!(window.query_by_label("Press a key to assign").is_none());
    assert!(state(&window).shows(Panel::Keys), "it only left the choice");
    key(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!state(&window).shows(Panel::Keys));
    want(&mut window, ViewCommand::ShowPanel(Panel::Keys, true));
    window.get_by_label("Filter keys").focus();
    window.event(Event::Text("ctrl+s".to_owned()));
    settle(&mut window);
    window.get_by_label("Add a key: Save view and notes as a session");
    assert!(window.query_by_label("Add a key: Notes").is_none());
}

#[test]
fn help_and_tooltips_show_current_keys() {
    let mut window = opened();
    want(
        &mut window,
        AppCommand::Remap(Remap::Assign(
            "fit",
            Chord::read("Ctrl+J").expect("it is a key"),
        )),
    );
    press(&mut window, Modifiers::NONE, Key::Questionmark);
    window.get_by_label("0  Z  Ctrl+J");
    press(&mut window, Modifiers::NONE, Key::Escape);
    window.get_by_label("Fit").hover();
    let hint = "Show what the devices do; again: the whole trace (0, Z, Ctrl+J)";
    until(&mut window, hint, |window| {
        window.query_by_label(hint).is_some()
    });
}

#[test]
fn p_pins_the_track_below_the_pointer() {
    let mut window = opened();
    let row = window.get_by_label("Fold XLA Ops").rect();
    window.hover_at(row.center());
    window.step();
    press(&mut window, Modifiers::NONE, Key::P);
    assert_eq!(state(&window).pinned.len(), 1);
    window.hover_at(window.get_by_label("Fold XLA Ops").rect().center());
    window.step();
    press(&mut window, Modifiers::NONE, Key::P);
    assert!(
        state(&window).pinned.is_empty(),
        "the same again lets go of it"
    );
}

#[test]
fn track_behind_a_dialog_is_not_pinned() {
    let mut window = opened();
    let row = window.get_by_label("Fold XLA Ops").rect();
    let canvas = window.get_by_label("Timeline").rect();
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    let palette = window.get_by_label("Search commands").rect();
    assert!(
        window.query_by_label_contains("Pin the track").is_none(),
        "the pointer is at the palette"
    );
    let at = Pos2::new(palette.left() + 10.0, row.center().y);
    assert!(canvas.contains(at) && at.y > palette.bottom());
    window.hover_at(at);
    settle(&mut window);
    want(&mut window, AppCommand::PinHovered);
    assert!(state(&window).pinned.is_empty());
    press(&mut window, Modifiers::NONE, Key::Escape);
    window.hover_at(at);
    settle(&mut window);
    want(&mut window, AppCommand::PinHovered);
    assert_eq!(state(&window).pinned.len(), 1, "it lies there");
}

#[test]
fn overview_uses_the_common_time_format() {
    let mut window = opened();
    let holds =
        |window: &Harness<'_, App>, text: &str| window.query_all_by_label_contains(text).count();
    assert!(
        holds(&window, "2 complete steps of 10.00 µs each") == 1
            && holds(&window, "20.00 µs captured  ·  ") == 1
    );
    want(&mut window, AppCommand::Times(TimeFormat::Nanoseconds));
    assert!(
        holds(&window, "2 complete steps of 10000.000 ns each") == 1
            && holds(&window, "20000.000 ns captured  ·  ") == 1
    );
    assert_eq!(holds(&window, " µs"), 0, "all of them");
}

#[test]
fn times_use_the_chosen_format() {
    let mut window = opened();
    want(&mut window, ViewCommand::ShowTab("ops".to_owned()));
    let model = window.state().trace().expect("it is open").model.clone();
    let slice = model
        .all_slices()
        .find(|slice| slice.name() == "B")
        .expect("it is in the picture")
        .id();
    want(&mut window, ViewCommand::Select(slice));
    assert!(window.get_all_by_label("7.000 µs").count() >= 1);
    key(&mut window, Modifiers::NONE, Key::T);
    assert!(window.get_all_by_label("7 µs").count() >= 1, "exact");
    want(&mut window, AppCommand::Times(TimeFormat::Nanoseconds));
    assert!(window.get_all_by_label("7000.000 ns").count() >= 1);
    // Except for the details, nothing shows another unit.
    want(&mut window, ViewCommand::ShowPanel(Panel::Reports, false));
    assert!(
        window
            .get_all_by_label_contains("7000.000 ns together")
            .count()
            == 1,
        "as the histogram says"
    );
    assert_eq!(window.query_all_by_label_contains(" µs").count(), 0);
    window.get_by_label("View").click();
    settle(&mut window);
    window.get_by_label("Times: four digits").click();
    settle(&mut window);
    assert!(window.get_all_by_label("7.000 µs").count() >= 1);
}
