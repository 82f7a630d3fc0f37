//! Times that were not measured are marked in the window wherever they are shown.

use view::state::{TimelineLayer, ViewCommand};
use window::file_loader;

use super::*;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/samples");
const BADGE: &str = "PREDICTED by XLA's cost model";

fn window_of_samples(width: f32) -> Harness<'static, App> {
    Harness::builder()
        .with_size(vec2(width, 700.0))
        .build_eframe(|cc| {
            let loader = file_loader(
                importers::ImportOptions::default(),
                Arc::new(|| Ok(Options::default())),
            );
            app(&cc.egui_ctx, Settings::default(), loader)
        })
}

fn sample(name: &str) -> String {
    format!("{SAMPLES}/{name}")
}

/// The badge is visible and no button covers it.
fn assert_marked(window: &Harness<'_, App>, width: f32, when: &str) {
    let badge = window
        .query_by_label(BADGE)
        .unwrap_or_else(|| panic!("no badge: {when}"))
        .rect();
    assert!(
        badge.left() >= 0.0 && badge.right() <= width && badge.width() > 100.0,
        "{when}: {badge:?}"
    );
    for button in [
        "Open…", "Save", "Search", "Notes", "Reports", "Details", "Help",
    ] {
        // A button and a dialog or tab can have the same name.
        for other in window.query_all_by_label(button) {
            let other = other.rect();
            assert!(
                !badge.shrink(1.0).intersects(other),
                "{when}: {button} at {other:?} covers {badge:?}"
            );
        }
    }
}

#[test]
fn prediction_is_marked_on_every_tab_and_width() {
    for width in [640.0, 900.0, 1400.0] {
        let mut window = window_of_samples(width);
        open(&mut window, &sample("synthetic_v5e_layer_predicted.txt"));
        for tab in window::TABS.iter().map(|tab| tab.id) {
            for wide in [false, true] {
                want(&mut window, ViewCommand::ShowTab(tab.to_owned()));
                want(&mut window, ViewCommand::WideReports(wide));
                assert_marked(&window, width, &format!("{tab}, {width} wide"));
            }
        }
        want(&mut window, ViewCommand::ShowPanel(Panel::Reports, false));
        want(
            &mut window,
            ViewCommand::ShowLayer(TimelineLayer::Minimap, false),
        );
        assert_marked(&window, width, "the timeline alone");
    }
}

#[test]
fn measured_trace_is_not_marked() {
    let mut window = window_of_samples(1400.0);
    open(
        &mut window,
        &sample("synthetic_v5e_layer_measured.xplane.pb"),
    );
    for word in ["PREDICTED", "SIMULATED"] {
        assert!(window.query_by_label_contains(word).is_none(), "{word}");
    }
}

#[test]
fn predicted_run_is_marked_regardless_of_focus() {
    let mut window = window_of_samples(1400.0);
    open(
        &mut window,
        &sample("synthetic_v5e_layer_measured.xplane.pb"),
    );
    want(
        &mut window,
        AppCommand::Compare(PathBuf::from(sample("synthetic_v5e_layer_predicted.txt"))),
    );
    for _ in 0..2 {
        window.get_by_label("A: synthetic_v5e_layer_measured.xplane.pb");
        window.get_by_label(&format!("B: {BADGE} · synthetic_v5e_layer_predicted.txt"));
        press(&mut window, Modifiers::NONE, Key::C);
    }
}

#[test]
fn tooltips_say_that_predicted_times_were_not_measured() {
    for (name, origin) in [
        ("synthetic_v5e_layer_predicted.txt", BADGE),
        // Where its steps begin follows from executions of a program.
        ("synthetic_v5e_layer_measured.xplane.pb", "inferred"),
    ] {
        let mut window = window_of_samples(1400.0);
        // All figures are in sight.
        window.set_size(vec2(1400.0, 1200.0));
        open(&mut window, &sample(name));
        window.get_by_label("More figures").click();
        settle(&mut window);
        let shown = window.query_all_by_label(origin).count();
        window.get_by_label_contains("Step, median: ").hover();
        window.run_steps(30);
        assert_eq!(
            window.query_all_by_label(origin).count(),
            shown + 1,
            "{name}"
        );
        if origin == BADGE {
            assert!(window.query_by_label("measured").is_none(), "{name}");
        }
    }
}
