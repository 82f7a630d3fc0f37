//! The window, driven as users and screen readers do: by labels, mouse and keys.
//! No renderer is needed.

mod gui_capture;
mod gui_derived;
mod gui_dropped;
mod gui_early;
mod gui_figures;
mod gui_first_look;
mod gui_following;
mod gui_found;
mod gui_keys;
mod gui_navigation;
mod gui_opening;
mod gui_pair;
mod gui_panels;
mod gui_query;
mod gui_rail;
mod gui_runs;
mod gui_scope;
mod gui_selection;
mod gui_sessions;
mod gui_simulated;
mod gui_typing;
mod gui_views;
#[path = "cli/mock_profiler.rs"]
#[expect(dead_code, reason = "other tests ask it for more")]
mod mock_profiler;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use analysis::Options;
use egui::{Event, Key, Modifiers, Pos2, vec2};
use egui_kittest::Harness;
use egui_kittest::kittest::Queryable as _;
use sample_traces::text_trace;
use session::Session;
use view::state::{Panel, ViewCommand, ViewState};
use view::timeline::trace::{OpenTrace, TraceLoader};
use window::{App, AppCommand, Settings};

const PICTURE: &str = "
    @column 1us
    steps  : 00000000001111111111
    modules: MMMMMMMMM.MMMMMMMMM
    ops    : AAAAAAAsccBBBBBBBd
           : ..ff..............
    host python: PPPP

    M = jit_step(7)
    A = while.3 [while]
    f = fusion.1 [convolution fusion] flops=2e9 hbm_read=4096
    s = all-gather-start.1 done=all-gather-done.1
";

/// The window without animations, because tests check the destination of jumps, and without hinting of letters, which
/// takes long where code is not optimised.
fn app(ctx: &egui::Context, settings: Settings, loader: TraceLoader) -> App {
    let app = App::new(ctx, settings, loader);
    ctx.all_styles_mut(|style| {
        style.animation_time = 0.0;
        style.visuals.text_options.font_hinting = false;
    });
    app
}

/// Opens the text trace above for the path `trace`, and fails for all other paths.
fn loader() -> TraceLoader {
    Arc::new(|path, _progress| {
        if path.ends_with("other trace") {
            // Not in the frame of the request.
            std::thread::sleep(Duration::from_millis(100));
            let session = Session::from_model(
                text_trace("@column 1us\nhost python: PPPP\n"),
                Options::default(),
            );
            Ok(OpenTrace::new(path.to_owned(), session))
        } else if path.ends_with("trace") {
            let session = Session::from_model(text_trace(PICTURE), Options::default());
            Ok(OpenTrace::new(path.to_owned(), session))
        } else {
            Err(format!(
                "not a profile that this program reads: {}",
                path.display()
            ))
        }
    })
}

/// A trace of 450 ops, one after the other.
fn many_ops() -> TraceLoader {
    Arc::new(|path, _progress| {
        let mut builder = trace_model::TraceBuilder::new();
        let core = builder.group(
            None,
            trace_model::GroupKind::TensorCore { ordinal: 0 },
            "/device:TPU:0",
        );
        let track = builder.track(core, trace_model::TrackKind::Ops, 0, "XLA Ops");
        let category = builder.intern("loop fusion");
        for i in 0..450 {
            let name = builder.intern(&format!("op.{i}"));
            let op = trace_model::Op {
                name,
                category: Some(category),
                ..trace_model::Op::default()
            };
            let op = builder.op(op);
            let label = builder.label(&format!("op.{i}"), Some(op));
            let start = trace_model::Timestamp::from_ps(i * 10_000);
            let range = trace_model::TimeRange::at(start, trace_model::Picos::from_ps(10_000 - i));
            builder.add_slice(track, trace_model::SliceSpec::new(range, label));
        }
        Ok(OpenTrace::new(
            path.to_owned(),
            Session::from_model(builder.finish(), Options::default()),
        ))
    })
}

fn empty_window() -> Harness<'static, App> {
    window_of(800.0)
}

fn window_of(height: f32) -> Harness<'static, App> {
    Harness::builder()
        .with_size(vec2(1400.0, height))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader()))
}

fn open(window: &mut Harness<'static, App>, path: &str) {
    window
        .state_mut()
        .push(AppCommand::Open(PathBuf::from(path)));
    window.step();
    settle(window);
}

/// Runs frames until input is handled, background work is done and everything is drawn, however busy the machine is.
fn settle(window: &mut Harness<'_, App>) {
    window.run_steps(2);
    let start = Instant::now();
    let mut pause = Duration::from_millis(1);
    while !window.state().is_settled() {
        assert!(
            start.elapsed() < Duration::from_mins(5),
            "background work does not end"
        );
        window.step();
        // Frames of long work would take the processor from it.
        std::thread::sleep(pause);
        pause = (2 * pause).min(Duration::from_millis(30));
    }
    window.run_steps(4);
}

/// Runs frames until a condition holds. The time limit only ends a failing test.
fn until(window: &mut Harness<'_, App>, what: &str, holds: impl Fn(&Harness<'_, App>) -> bool) {
    let start = Instant::now();
    while !holds(window) {
        assert!(start.elapsed() < Duration::from_mins(1), "{what}");
        window.step();
    }
}

/// Runs frames until no further frame is requested.
fn comes_to_rest(window: &mut Harness<'_, App>) {
    let is_quiet = |window: &Harness<'_, App>| {
        window
            .output()
            .viewport_output
            .values()
            .all(|output| output.repaint_delay > Duration::from_secs(5))
    };
    window.step();
    until(window, "an idle window asks for no frames", is_quiet);
    window.step();
    assert!(is_quiet(window), "an idle window asks for no frames");
}

fn opened() -> Harness<'static, App> {
    let mut window = empty_window();
    open(&mut window, "trace");
    window
}

fn state<'a>(window: &'a Harness<'_, App>) -> &'a ViewState {
    window.state().state().expect("a trace is open")
}

fn selected(window: &Harness<'_, App>) -> Option<String> {
    let slice = state(window).place.selection?;
    Some(window.state().trace()?.model.slice(slice).name().to_owned())
}

/// The bar with this text covers neither the ruler nor the minimap.
fn hides_no_times(window: &Harness<'_, App>, text: &str) {
    let bar = window.get_by_label(text).rect();
    for part in ["Time ruler", "Minimap"] {
        let part = window.get_by_label(part).rect();
        assert!(!bar.intersects(part), "{text} at {bar:?} covers {part:?}");
    }
}

fn press(window: &mut Harness<'_, App>, modifiers: Modifiers, key: Key) {
    window.key_press_modifiers(modifiers, key);
    settle(window);
}

fn click_at(window: &mut Harness<'_, App>, at: Pos2) {
    click_with(window, at, Modifiers::NONE);
}

fn click_with(window: &mut Harness<'_, App>, at: Pos2, modifiers: Modifiers) {
    window.hover_at(at);
    window.step();
    for pressed in [true, false] {
        let button = egui::PointerButton::Primary;
        window.event_modifiers(
            Event::PointerButton {
                pos: at,
                button,
                pressed,
                modifiers,
            },
            modifiers,
        );
        window.step();
    }
    settle(window);
}

/// A point of the canvas: `x` is a share of its width, `y` is in points from the top.
fn on_canvas(window: &Harness<'_, App>, x: f32, y: f32) -> Pos2 {
    let rect = window.get_by_label("Timeline").rect();
    Pos2::new(rect.left() + rect.width() * x, rect.top() + y)
}

#[test]
fn long_tree_branch_shows_how_many_are_hidden() {
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 12_000.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), many_ops()));
    open(&mut window, "many");
    want(&mut window, ViewCommand::ShowTab("ops".to_owned()));
    window.get_by_label("by category").click();
    settle(&mut window);
    window.get_by_label("Ops of loop fusion").click();
    settle(&mut window);
    assert!(window.query_by_label("Ops of op.200").is_none());
    window
        .get_by_label("and 250 more, 54.99 % of op time")
        .click();
    settle(&mut window);
    window.get_by_label("Ops of op.200");
    window.get_by_label_contains("and 50 more");
}

#[test]
fn fit_shows_the_whole_trace_again() {
    let mut window = opened();
    let home = state(&window).place.time;
    let at = on_canvas(&window, 0.5, 200.0);
    window.hover_at(at);
    press(&mut window, Modifiers::NONE, Key::W);
    assert!(
        state(&window).place.time.span_ps() < home.span_ps(),
        "W zooms in"
    );
    window.get_by_label("Fit").click();
    settle(&mut window);
    assert_eq!(state(&window).place.time, home);
    window.get_by_label("Back").click();
    settle(&mut window);
    assert!(
        state(&window).place.time.span_ps() < home.span_ps(),
        "back is where W had led"
    );
}

#[test]
fn clicking_names_folds_groups_and_tracks() {
    let mut window = opened();
    window.get_by_label("XLA Modules");
    window.get_by_label("Fold TPU:0").click();
    settle(&mut window);
    assert!(window.query_by_label("XLA Modules").is_none());
    window.get_by_label("Unfold TPU:0").click();
    settle(&mut window);
    window.get_by_label("Fold XLA Ops").click();
    settle(&mut window);
    assert_eq!(state(&window).folded_tracks.len(), 1);
}

#[test]
fn the_help_lists_the_keys() {
    let mut window = opened();
    press(&mut window, Modifiers::NONE, Key::Questionmark);
    window.get_by_label("Zoom in at the pointer");
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(!state(&window).shows(Panel::Help));
}

#[test]
fn typing_into_the_search_does_not_move_the_view() {
    let mut window = opened();
    let before = state(&window).place.time;
    press(&mut window, Modifiers::NONE, Key::Slash);
    assert!(state(&window).shows(Panel::Search));
    for text in ["w", "h", "i"] {
        window.event(Event::Text(text.to_owned()));
        window.event(Event::Key {
            key: if text == "w" { Key::W } else { Key::H },
            physical_key: None,
            pressed: true,
            repeat: false,
            modifiers: Modifiers::NONE,
        });
        window.step();
    }
    settle(&mut window);
    assert_eq!(state(&window).search, "whi");
    assert_eq!(state(&window).place.time, before);
    window.get_by_label("1 slice");
}

#[test]
fn search_takes_focus_once() {
    let mut window = opened();
    window.event(Event::Text("/".to_owned()));
    press(&mut window, Modifiers::NONE, Key::Slash);
    window.event(Event::Text("cc".to_owned()));
    settle(&mut window);
    assert_eq!(
        state(&window).search,
        "cc",
        "the key that opens the box is none of the text"
    );
    let home = state(&window).place.time;
    let at = on_canvas(&window, 0.5, 300.0);
    click_at(&mut window, at);
    press(&mut window, Modifiers::NONE, Key::W);
    assert!(
        state(&window).place.time.span_ps() < home.span_ps(),
        "keys move the view again"
    );
    assert_eq!(
        state(&window).search,
        "cc",
        "and what was found stays highlighted"
    );
    assert!(state(&window).shows(Panel::Search));
    press(&mut window, Modifiers::NONE, Key::Slash);
    window.event(Event::Text("c".to_owned()));
    settle(&mut window);
    assert_eq!(
        state(&window).search.len(),
        3,
        "the keyboard goes back to it when asked to"
    );
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(state(&window).search.is_empty() && !state(&window).shows(Panel::Search));
    press(&mut window, Modifiers::NONE, Key::Slash);
    assert!(window.query_by_label("Isolate").is_some());
    want(&mut window, ViewCommand::Search("B".to_owned()));
    let at = on_canvas(&window, 0.5, 300.0);
    click_at(&mut window, at);
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(state(&window).search.is_empty(), "also from the canvas");
}

#[test]
fn idle_window_does_not_repaint() {
    let mut window = opened();
    comes_to_rest(&mut window);
}

/// Sends a command and waits until it has taken effect.
fn want(window: &mut Harness<'static, App>, command: impl Into<AppCommand>) {
    window.state_mut().push(command);
    window.step();
    settle(window);
}

/// The table of ops, beside the tree that its tab opens on.
fn show_op_table(window: &mut Harness<'static, App>) {
    want(window, ViewCommand::ShowTab("ops".to_owned()));
    window.get_by_label("Tables").click();
    settle(window);
}

#[test]
fn every_tab_opens_with_content() {
    let mut window = opened();
    for tab in window::TABS
        .iter()
        .filter(|tab| tab.subject != window::TabSubject::Other)
    {
        want(&mut window, ViewCommand::ShowTab(tab.id.to_owned()));
        assert_eq!(state(&window).tab, tab.id);
        assert!(
            window.query_by_label("Computing …").is_none(),
            "{} is still computing",
            tab.id
        );
    }
    window
        .get_by_role_and_label(egui::accesskit::Role::Tab, "Health")
        .click();
    settle(&mut window);
    assert_eq!(state(&window).tab, "health");
}

#[test]
fn table_row_moves_the_timeline_and_highlights() {
    let mut window = opened();
    show_op_table(&mut window);
    window.get_by_label("Row fusion.1").click();
    settle(&mut window);
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"));
    assert_eq!(
        state(&window)
            .highlighted
            .as_ref()
            .map(|highlighted| highlighted.title.as_str()),
        Some("fusion.1")
    );
    window.get_by_label("Highlighted");
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(state(&window).highlighted.is_none());
    for _ in 0..2 {
        window.get_by_label("Sort by Self time a step").click();
        settle(&mut window);
    }
    window.get_by_label("Row fusion.1");
}

#[test]
fn marked_area_is_summed_exactly() {
    let mut window = opened();
    press(&mut window, Modifiers::COMMAND, Key::A);
    settle(&mut window);
    window.get_by_label_contains("Marked: 20.00");
    window.get_by_label("Row B");
    press(&mut window, Modifiers::SHIFT, Key::M);
    assert_eq!(state(&window).notes.len(), 1);
    assert!(state(&window).shows(Panel::Notes));
    press(&mut window, Modifiers::NONE, Key::Escape);
    assert!(
        !state(&window).shows(Panel::Notes) && state(&window).place.mark.is_some(),
        "one thing at a time"
    );
}

#[test]
fn commands_are_found_by_name() {
    let mut window = opened();
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    assert!(state(&window).shows(Panel::Palette));
    window.event(Event::Text("roofline tab".to_owned()));
    settle(&mut window);
    window.get_by_label("Nothing matches.");
    for _ in 0..4 {
        press(&mut window, Modifiers::NONE, Key::Backspace);
    }
    window.get_by_label("Reports: Roofline").click();
    settle(&mut window);
    assert_eq!(state(&window).tab, "roofline");
    assert!(!state(&window).shows(Panel::Palette));
}

#[test]
fn filter_without_matches_says_so_and_hides_the_minimap() {
    let mut window = opened();
    want(
        &mut window,
        ViewCommand::ShowLayer(view::state::TimelineLayer::Minimap, false),
    );
    assert!(window.query_by_label("Filter tracks").is_none());
    press(&mut window, Modifiers::COMMAND, Key::P);
    window.get_by_label("Filter tracks");
    window.event(Event::Text("xyz".to_owned()));
    settle(&mut window);
    assert_eq!(state(&window).track_filter, "xyz");
    window.get_by_label("No track has “xyz” in its name.");
    window.get_by_label("Show all tracks").click();
    settle(&mut window);
    window.get_by_label("Fold XLA Ops");
}
