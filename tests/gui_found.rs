//! The list of search results; tabs and their places.

use egui_kittest::kittest::NodeT as _;

use egui::accesskit::Role;

use super::*;

/// Labels of the rows of the list, from top to bottom.
fn rows(window: &Harness<'static, App>) -> Vec<String> {
    let mut rows: Vec<(f32, String)> = window
        .query_all_by_label_contains("Found ")
        .map(|row| {
            (
                row.rect().top(),
                row.accesskit_node().label().unwrap_or_default(),
            )
        })
        .filter(|(_, label)| !label.is_empty() && !label.contains('('))
        .collect();
    rows.sort_by(|a, b| a.0.total_cmp(&b.0));
    rows.into_iter().map(|(_, label)| label).collect()
}

#[test]
fn search_results_are_sorted_and_navigable() {
    let mut window = opened();
    want(&mut window, ViewCommand::ShowPanel(Panel::Search, true));
    want(&mut window, ViewCommand::Search("track:ops".to_owned()));
    window.get_by_label("List").click();
    settle(&mut window);
    assert_eq!(state(&window).tab, "found");
    let by_time = rows(&window);
    assert_eq!(by_time.len(), 6, "{by_time:?}");
    assert_eq!(
        by_time[..3],
        [
            "Found while.3",
            "Found fusion.1",
            "Found all-gather-start.1"
        ]
    );
    window.get_by_role_and_label(Role::Tab, "Found (6)");

    window.get_by_label("Sort found by Duration").click();
    settle(&mut window);
    assert_eq!(
        rows(&window)[..2],
        ["Found while.3", "Found B"],
        "the longest first; of equals the earlier"
    );
    window.get_by_label("Sort found by Name").click();
    settle(&mut window);
    assert_eq!(rows(&window)[0], "Found B");

    window.get_by_label("Found fusion.1").click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"));
    assert_eq!(
        window.get_all_by_label("2 / 6").count(),
        2,
        "beside the box and above the list"
    );
    press(&mut window, Modifiers::NONE, Key::Escape);
    press(&mut window, Modifiers::NONE, Key::Escape);
    want(&mut window, ViewCommand::Search(String::new()));
    assert_eq!(
        state(&window).tab,
        "overview",
        "the list is closed with its search"
    );
    assert!(window.query_by_role_and_label(Role::Tab, "Found").is_none());
}

#[test]
fn selected_row_is_visible_in_a_long_list() {
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), many_ops()));
    open(&mut window, "many");
    want(&mut window, ViewCommand::Search("op.".to_owned()));
    want(&mut window, ViewCommand::ShowTab("found".to_owned()));
    let model = window.state().trace().expect("it is open").model.clone();
    for name in ["op.400", "op.30", "op.449", "op.432"] {
        let slice = model
            .all_slices()
            .find(|slice| slice.name() == name)
            .expect("there is one")
            .id();
        want(&mut window, ViewCommand::Select(slice));
        let row = window.get_by_label(&format!("Found {name}")).rect();
        assert!(
            row.top() > 40.0 && row.bottom() < 775.0,
            "{name} is at {row:?}"
        );
    }
}

#[test]
fn table_rows_fill_the_available_height() {
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), many_ops()));
    open(&mut window, "many");
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, false));
    show_op_table(&mut window);
    let rows = window.query_all_by_label_contains("Row op.");
    let lowest = rows.map(|row| row.rect().bottom()).fold(0.0, f32::max);
    // Notes take the rest.
    assert!(lowest > 660.0, "the lowest row ends at {lowest}");
}

#[test]
fn key_lists_highlighted_slices() {
    let mut window = opened();
    show_op_table(&mut window);
    window.get_by_label("Row fusion.1").click();
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::L);
    settle(&mut window);
    assert_eq!(rows(&window), ["Found fusion.1"]);
}

#[test]
fn tab_docks_below_by_drag_and_returns_by_menu() {
    let mut window = opened();
    let tab = window
        .get_by_role_and_label(Role::Tab, "Ops")
        .rect()
        .center();
    let button = egui::PointerButton::Primary;
    let press = |window: &mut Harness<'static, App>, pos: Pos2, pressed: bool| {
        window.event(Event::PointerButton {
            pos,
            button,
            pressed,
            modifiers: Modifiers::NONE,
        });
        window.step();
    };
    window.hover_at(tab);
    window.step();
    press(&mut window, tab, true);
    for step in 1..=5_u8 {
        window.hover_at(tab + vec2(-20.0, 8.0) * f32::from(step));
        window.step();
    }
    let place = window
        .get_by_label("Drop here to show it below the timeline")
        .rect()
        .center();
    window.hover_at(place);
    settle(&mut window);
    press(&mut window, place, false);
    settle(&mut window);
    assert_eq!(
        (state(&window).tab.as_str(), state(&window).tab_below()),
        ("overview", Some("ops"))
    );
    window.get_by_label("Ops of fusion [convolution fusion]");
    // In the rail and below the timeline.
    window
        .get_all_by_role_and_label(Role::Tab, "Ops")
        .next()
        .expect("the tab is there")
        .click_secondary();
    settle(&mut window);
    window.get_by_label("Move to the right").click();
    settle(&mut window);
    assert_eq!(
        (state(&window).tab.as_str(), state(&window).tab_below()),
        ("ops", None)
    );
}
