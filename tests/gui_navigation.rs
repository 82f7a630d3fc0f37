//! Navigation in a trace: palette, keys, zooming into a box, the minimap, durations, counters.

use egui::accesskit::Role;
use view::state::{DeviceOrder, MouseMode};

use super::*;

const STEPS: &str = "
    @column 1us
    steps  : 0000000011111111
    modules: MMMMMMM.MMMMMMM.
    ops    : AABBAAA.AABBAAA.
    counter HBM in use: 1234567890123456
    host python: PPPP

    M = jit_step(7)
    A = fusion.1 [loop fusion] bytes=4000000
    B = fusion.2 [loop fusion]
";

fn steps_open() -> Harness<'static, App> {
    let loader: TraceLoader = Arc::new(|path, _progress| {
        Ok(OpenTrace::new(
            path.to_owned(),
            Session::from_model(text_trace(STEPS), Options::default()),
        ))
    });
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 900.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader));
    open(&mut window, "trace");
    window
}

/// Types into the palette and chooses the entry of this name.
fn choose(window: &mut Harness<'static, App>, typed: &str, entry: &str) {
    press(window, Modifiers::NONE, Key::F1);
    window.event(Event::Text(typed.to_owned()));
    settle(window);
    window.get_by_role_and_label(Role::Button, entry).click();
    settle(window);
    assert!(!state(window).shows(Panel::Palette));
}

fn us(at: i64) -> trace_model::Timestamp {
    trace_model::Timestamp::from_ps(at * 1_000_000)
}

fn dragged(window: &mut Harness<'static, App>, from: Pos2, to: Pos2) {
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
    for share in [0.3, 0.7, 1.0] {
        window.hover_at(from.lerp(to, share));
        window.step();
    }
    window.event(button(to, false));
    window.step();
    settle(window);
}

#[test]
fn palette_finds_steps_times_tracks_ops_and_reports() {
    let mut window = steps_open();
    choose(&mut window, "step 1", "Step 1");
    assert_eq!(
        state(&window).place.time.range(),
        trace_model::TimeRange::new(us(8), us(16))
    );
    assert!(state(&window).scope != view::state::ReportScope::Capture);
    choose(&mut window, "12us", "Go to 12.00 µs");
    let middle = state(&window).place.time.time_at(0.5);
    assert!((middle - us(12)).ps().abs() < 2_000_000, "{middle:?}");
    choose(&mut window, "fusion.2", "fusion.2");
    assert_eq!(selected(&window).as_deref(), Some("fusion.2"));
    choose(&mut window, "roofline", "Roofline");
    assert_eq!(state(&window).tab, "roofline");
    want(&mut window, ViewCommand::FoldAll(true));
    assert!(window.query_by_label("HBM in use").is_none());
    choose(&mut window, "hbm in use", "HBM in use");
    window.get_by_label("HBM in use");
}

#[test]
fn keys_step_through_the_slices_of_one_name() {
    let mut window = steps_open();
    let model = window.state().trace().expect("it is open").model.clone();
    let first = model
        .all_slices()
        .find(|slice| slice.name() == "fusion.1")
        .expect("there is one")
        .id();
    want(&mut window, ViewCommand::Select(first));
    let start = |window: &Harness<'_, App>| {
        model
            .slice(state(window).place.selection.expect("one is selected"))
            .start()
    };
    for expected in [4, 8, 12, 12] {
        press(&mut window, Modifiers::SHIFT, Key::ArrowRight);
        assert_eq!(start(&window), us(expected));
        assert_eq!(selected(&window).as_deref(), Some("fusion.1"));
    }
    press(&mut window, Modifiers::SHIFT, Key::ArrowLeft);
    assert_eq!(start(&window), us(8));
}

#[test]
fn dragging_a_box_zooms_into_it() {
    let mut window = steps_open();
    window.get_by_label("Drag: Zoom").click();
    settle(&mut window);
    assert_eq!(state(&window).mouse, MouseMode::Zoom);
    let before = state(&window).place.time;
    let (from, to) = (
        on_canvas(&window, 0.25, 60.0),
        on_canvas(&window, 0.5, 120.0),
    );
    dragged(&mut window, from, to);
    let after = state(&window).place.time;
    assert!(
        (after.span_ps() / before.span_ps() - 0.25).abs() < 0.02,
        "{after:?}"
    );
    assert!((after.start() - before.time_at(0.25)).ps().abs() < 200_000);
    assert!(state(&window).place.mark.is_none());
}

#[test]
fn minimap_drag_selects_or_moves_the_visible_range() {
    let mut window = steps_open();
    let extent = window_extent(&window);
    want(&mut window, ViewCommand::Show(extent));
    let map = window.get_by_label("Minimap").rect();
    let at = |share: f32| Pos2::new(map.left() + map.width() * share, map.center().y);
    dragged(&mut window, at(0.25), at(0.5));
    let shown = state(&window).place.time;
    assert!((shown.span_ps() - 4e6).abs() < 2e5, "{shown:?}");
    assert!((shown.start() - us(4)).ps().abs() < 200_000, "{shown:?}");
    dragged(&mut window, at(0.4), at(0.65));
    let moved = state(&window).place.time;
    assert!(
        (moved.span_ps() - shown.span_ps()).abs() < 1e3,
        "it keeps its length"
    );
    assert!((moved.start() - us(8)).ps().abs() < 300_000, "{moved:?}");
}

fn window_extent(window: &Harness<'_, App>) -> trace_model::TimeRange {
    window.state().trace().expect("it is open").model.extent()
}

#[test]
fn dragging_over_histogram_bars_finds_durations() {
    let mut window = steps_open();
    let extent = window_extent(&window);
    want(&mut window, ViewCommand::Show(extent));
    let model = window.state().trace().expect("it is open").model.clone();
    let first = model
        .all_slices()
        .find(|slice| slice.name() == "fusion.1")
        .expect("there is one")
        .id();
    want(&mut window, ViewCommand::Select(first));
    let bars = window
        .get_by_label("Durations of all slices of this name")
        .rect();
    let at = |share: f32| Pos2::new(bars.left() + bars.width() * share, bars.top() + 20.0);
    dragged(&mut window, at(0.6), at(0.98));
    assert_eq!(
        state(&window).search,
        "/^fusion\\.1$/ dur>=2500000ps dur<=3000000ps"
    );
    window.get_by_label("2 slices");
}

#[test]
fn interface_scale_grows_and_persists() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("gui.json");
    let settings = Settings::load_from(&file);
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 900.0))
        .build_eframe(|cc| app(&cc.egui_ctx, settings, loader()));
    open(&mut window, "trace");
    window.get_by_label("View").click();
    settle(&mut window);
    window.get_by_label("Size: 125 %").click();
    settle(&mut window);
    assert!((window.ctx.zoom_factor() - 1.25).abs() < 1e-3);
    assert!((Settings::load_from(&file).scale - 1.25).abs() < 1e-3);
}

const COPIES: &str = "
    @column 1us
    modules: MMMMMMMMMM
    ops    : sAAAdBBBBB

    M = jit_step(7)
    s = copy-start.1 [copy-start] done=copy-done.1 shape=(f32[1000]{0:S(5)},f32[1000]{0},u32[])
    d = copy-done.1 [copy-done] shape=f32[1000]{0:S(5)}
    A = fusion.1 [loop fusion]
    B = fusion.2 [loop fusion]
";

#[test]
fn wait_links_to_its_transfer_and_back() {
    let loader: TraceLoader = Arc::new(|path, _progress| {
        Ok(OpenTrace::new(
            path.to_owned(),
            Session::from_model(text_trace(COPIES), Options::default()),
        ))
    });
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 900.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader));
    open(&mut window, "trace");
    let model = window.state().trace().expect("it is open").model.clone();
    let done = model
        .all_slices()
        .find(|slice| slice.name() == "copy-done.1")
        .expect("there is one")
        .id();
    want(&mut window, ViewCommand::Select(done));
    window.get_by_label("Waits for");
    // 4,000 bytes in 5 µs.
    window.get_by_label(
        "(4.000 kB, from HBM to host memory, 5.000 µs from start to end, 800.0 MB/s)",
    );
    window
        .get_all_by_role_and_label(Role::Link, "copy-start.1")
        .next()
        .expect("a link")
        .click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("copy-start.1"));
    window.get_by_label("Awaited by");
    window
        .get_all_by_role_and_label(Role::Link, "copy-done.1")
        .next()
        .expect("a link")
        .click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("copy-done.1"));
}

/// A run of four hosts with sixteen devices, of which two are late.
fn with_late_devices() -> Harness<'static, App> {
    let loader: TraceLoader = Arc::new(|path, _progress| {
        let mut work = [100_i64; 16];
        (work[6], work[13]) = (130, 131);
        let model = sample_traces::parallel(4, &[&work[..]; 4]);
        let session = Session::from_model(model, Options::default());
        Ok(OpenTrace::new(path.to_owned(), session))
    });
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 900.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader));
    open(&mut window, "pod");
    window
}

#[test]
fn one_click_lists_the_late_devices_first() {
    let mut window = with_late_devices();
    let top = |window: &Harness<'_, App>, label: &str| {
        window.query_by_label(label).map(|row| row.rect().top())
    };
    window.get_by_label("TPU:6 is late");
    assert!(window.query_by_label("TPU:5 is late").is_none());
    let first = top(&window, "Fold host0");
    window.get_by_label("Show the 2 late devices first").click();
    settle(&mut window);
    settle(&mut window);
    assert_eq!(
        top(&window, "Fold TPU:13"),
        first,
        "the latest is the first"
    );
    let second = top(&window, "Fold TPU:6").expect("it follows");
    assert!(second > first.unwrap());
    assert!(top(&window, "Fold TPU:0").is_none_or(|other| other > second));
    assert!(
        top(&window, "Fold host0").is_none(),
        "hosts without other groups have no heading"
    );
    window.get_by_label("Devices by host again").click();
    settle(&mut window);
    assert_eq!(top(&window, "Fold host0"), first);

    want(&mut window, ViewCommand::OrderDevices(DeviceOrder::Work));
    settle(&mut window);
    assert_eq!(top(&window, "Fold TPU:13"), first);
}

#[test]
fn a_single_device_has_no_order() {
    let mut window = opened();
    want(
        &mut window,
        ViewCommand::OrderDevices(DeviceOrder::Lateness),
    );
    window.get_by_label("The trace has one device or none: there is nothing to order");
}
