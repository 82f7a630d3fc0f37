//! Views of data beside the timeline: programs, heat map, icicle, memory, source, what-if.

use systole::gui::file_loader;

use super::*;

/// A program with its text.
const LAYER: &str = "synthetic_v5e_layer_predicted.txt";

/// A sample with its programs, steps and memory.
fn sample(name: &str, height: f32) -> Harness<'static, App> {
    let mut window = Harness::builder().with_size(vec2(1400.0, height)).build_eframe(|cc| {
        cc.egui_ctx.all_styles_mut(|style| style.animation_time = 0.0);
        let loader = file_loader(importers::ImportOptions::default(), Arc::new(|| Ok(Options::default())));
        App::new(&cc.egui_ctx, Settings::default(), loader)
    });
    open(&mut window, &format!("{}/../assets/samples/{name}", env!("CARGO_MANIFEST_DIR")));
    window
}

fn click(window: &mut Harness<'static, App>, label: &str) {
    window.get_by_label(label).click();
    settle(window);
}

fn click_containing(window: &mut Harness<'static, App>, label: &str) {
    window.get_by_label_contains(label).click();
    settle(window);
}

fn show(window: &mut Harness<'static, App>, tab: &str) {
    want(window, ViewCommand::ShowTab(tab.to_owned()));
}

fn select(window: &mut Harness<'static, App>, name: &str) {
    let model = window.state().trace().expect("it is open").model.clone();
    let slice = model.all_slices().find(|slice| slice.name() == name).expect("there is one").id();
    want(window, ViewCommand::Select(slice));
}

#[test]
fn what_is_around_an_op_is_seen_and_a_click_leads_to_its_slices() {
    let mut window = sample(LAYER, 1400.0);
    select(&mut window, "fusion.2");
    show(&mut window, "hlo");
    window.get_by_label("center fusion.2, self 100.0 µs");
    window.get_by_label("inside multiply.1, no time of its own");
    window.get_by_label_contains("user fusion.3, self ");
    assert!(window.query_by_label_contains("all-reduce.1, self ").is_some(), "two steps away");
    click(&mut window, "Smaller radius");
    assert!(window.query_by_label_contains("all-reduce.1, self ").is_none());
    click_containing(&mut window, "operand fusion.1, self ");
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"), "its slice");
    window.get_by_label_contains("center fusion.1, self ");
    click(&mut window, "operand x, no time of its own");
    window.get_by_label("center x, no time of its own");
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"), "a parameter has no slice");
    // Another selection takes the middle.
    select(&mut window, "fusion.3");
    window.get_by_label_contains("center fusion.3, self ");
}

#[test]
fn the_text_of_a_program_and_a_search_lead_to_ops() {
    let mut window = sample(LAYER, 900.0);
    show(&mut window, "hlo");
    click(&mut window, "Program text");
    window.get_by_label("Filter lines").click();
    window.step();
    window.event(Event::Text("fusion.2 =".to_owned()));
    settle(&mut window);
    assert!(window.query_by_label("Line of fusion.1").is_none());
    click(&mut window, "Line of fusion.2");
    assert_eq!(selected(&window).as_deref(), Some("fusion.2"));
    click(&mut window, "Find instructions");
    window.get_by_label("Search instructions").click();
    window.step();
    window.event(Event::Text("opcode:all-reduce".to_owned()));
    settle(&mut window);
    click(&mut window, "Row all-reduce.1");
    window.get_by_label_contains("center all-reduce.1, self ");
    assert_eq!(selected(&window).as_deref(), Some("all-reduce.1"));
}

#[test]
fn a_trace_without_programs_has_no_tab_for_them() {
    let mut window = empty_window();
    open(&mut window, "other trace");
    assert!(window.query_by_label("HLO").is_none());
    show(&mut window, "hlo");
    window.get_by_label("No op of a program is recorded here.");
}
