//! Tracks that are derived from others: the critical path, scopes, source lines and queries.

use view::sessions::SessionStore;
use view::state::{DerivedRows, DerivedTrack, TreeItem};
use view::timeline::derived::DerivedData;

use egui_kittest::kittest::NodeT as _;

use super::*;

/// Two devices: the first waits for the second, whose ops are those of two layers.
const DEVICES: &str = "
    @column 1us
    TPU:0 steps  : 00000000001111111111
    TPU:0 modules: MMMMMMMMM.MMMMMMMMM.
    TPU:0 ops    : AABRRRRRC.AABRRRRRC.
    TPU:1 steps  : 00000000001111111111
    TPU:1 modules: MMMMMMMMM.MMMMMMMMM.
    TPU:1 ops    : DDDDDERRC.DDDDDERRC.
    host python  : PPPP

    M = jit_step(7)
    A = fusion.1 [loop fusion] tf=jit(step)/layer_0/add source=model.py:10
    B = fusion.2 [loop fusion] tf=jit(step)/layer_0/mul source=model.py:11
    C = fusion.3 [loop fusion] tf=jit(step)/layer_1/add source=model.py:11
    D = fusion.4 [convolution fusion] tf=jit(step)/layer_0/dot
    E = fusion.5 [loop fusion] tf=jit(step)/layer_0/max
    R = all-reduce.1 [all-reduce]
";

fn devices() -> TraceLoader {
    Arc::new(|path, _progress| {
        let session = Session::from_model(text_trace(DEVICES), Options::default());
        Ok(OpenTrace::new(path.to_owned(), session))
    })
}

fn devices_window(sessions: Option<&std::path::Path>) -> Harness<'static, App> {
    let sessions = sessions.map(SessionStore::in_folder);
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(move |cc| {
            let app = app(&cc.egui_ctx, Settings::default(), devices());
            match sessions {
                Some(sessions) => app.with_sessions(sessions),
                None => app,
            }
        });
    open(&mut window, "devices");
    window
}

fn data(window: &Harness<'_, App>, track: DerivedTrack) -> Option<Arc<DerivedData>> {
    window.state().trace()?.tree.derived(track).cloned()
}

fn derived_tracks(window: &Harness<'_, App>) -> Vec<DerivedTrack> {
    let trace = window.state().trace().expect("a trace is open");
    let rows = trace.tree.rows(state(window));
    let rows = rows.scrolled.iter();
    rows.filter_map(|row| trace.tree.node(row.node).item.derived())
        .collect()
}

/// Waits until a derived track is found.
fn found(window: &mut Harness<'static, App>, track: DerivedTrack) -> Arc<DerivedData> {
    until(window, "the track is found", |window| {
        data(window, track).is_some()
    });
    settle(window);
    data(window, track).expect("it was there")
}

/// The names of a lane with their times in µs.
fn lane(data: &DerivedData, number: usize) -> Vec<(String, i64)> {
    let slices = data.lanes[number].slices().iter();
    let named = slices.map(|slice| {
        let name = data.name(slice).expect("all have names").short();
        (name.to_owned(), slice.time.ps() / 1_000_000)
    });
    named.collect()
}

/// The height of the middle of a track's row, below the top of the canvas.
fn row(window: &Harness<'_, App>, label: &str) -> f32 {
    let canvas = window.get_by_label("Timeline").rect();
    window.get_by_label(label).rect().top() - canvas.top() + 12.0
}

#[test]
fn critical_path_is_a_track_above_the_devices() {
    let mut window = devices_window(None);
    assert!(derived_tracks(&window).is_empty(), "off at first");
    window
        .get_all_by_label("XLA Ops")
        .next()
        .unwrap()
        .click_secondary();
    settle(&mut window);
    window.get_by_label_contains("Critical path").click();
    settle(&mut window);
    let path = found(&mut window, DerivedTrack::CriticalPath);
    assert_eq!(derived_tracks(&window), [DerivedTrack::CriticalPath]);
    let name = |name: &str, us| (name.to_owned(), us);
    let step = [
        name("fusion.4 on TPU:1", 5),
        name("fusion.5 on TPU:1", 1),
        name("all-reduce.1", 2),
        name("fusion.3", 1),
        name("between programs: nothing recorded", 1),
    ];
    assert_eq!(lane(&path, 0)[..5], step);
    let canvas = window.get_by_label("Timeline").rect();
    assert!(row(&window, "Critical path") < row(&window, "Fold TPU:0"));
    // The second piece of the first step: what the other device did.
    let y = row(&window, "Critical path");
    let at = Pos2::new(
        canvas.left() + canvas.width() * 5.5 / 20.0,
        canvas.top() + y,
    );
    click_at(&mut window, at);
    assert_eq!(selected(&window).as_deref(), Some("fusion.5"));
    window.get_by_label("Critical path of its step");
    window.get_by_label("collectives");
    window.get_by_label_contains("(20.0 %)");
    window.get_by_label("Critical path").click_secondary();
    settle(&mut window);
    window.get_by_label("Hide on all devices").click();
    settle(&mut window);
    assert!(derived_tracks(&window).is_empty());
}

#[test]
fn scopes_and_source_lines_are_rows_above_the_ops() {
    let mut window = devices_window(None);
    press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
    window.event(Event::Text("rows of scopes".to_owned()));
    settle(&mut window);
    press(&mut window, Modifiers::NONE, Key::Enter);
    let cores = window.state().trace().unwrap().model.tensor_cores();
    let tracks = cores.iter().map(|&core| DerivedTrack::Scopes(core));
    assert_eq!(derived_tracks(&window), tracks.collect::<Vec<_>>());
    let scopes = found(&mut window, DerivedTrack::Scopes(cores[0]));
    let name = |name: &str, us| (name.to_owned(), us);
    let step = |us| name("jit(step)", us);
    // The all-reduce has no scope.
    assert_eq!(lane(&scopes, 0), [step(3), step(1), step(3), step(1)]);
    assert_eq!(
        lane(&scopes, 1)[..2],
        [name("layer_0", 3), name("layer_1", 1)]
    );
    let canvas = window.get_by_label("Timeline").rect();
    let y = window
        .get_all_by_label("Scopes")
        .next()
        .unwrap()
        .rect()
        .top()
        + 34.0;
    click_at(
        &mut window,
        Pos2::new(canvas.left() + canvas.width() * 1.5 / 20.0, y),
    );
    window.get_by_label_contains("jit(step)/layer_0: 3.000 µs: self time of its ops on TPU:0");
    assert_eq!(
        state(&window).place.mark.map(|mark| mark.dur().ps()),
        Some(3_000_000)
    );
    want(
        &mut window,
        ViewCommand::ShowRows(DerivedRows::Sources, true),
    );
    let lines = found(&mut window, DerivedTrack::Sources(cores[0]));
    assert_eq!(
        lane(&lines, 0)[..3],
        [
            name("model.py:10", 2),
            name("model.py:11", 1),
            name("model.py:11", 1)
        ]
    );
    let other = found(&mut window, DerivedTrack::Sources(cores[1]));
    assert_eq!(lane(&other, 0).len(), 2, "others have no line");
}

fn query(window: &mut Harness<'static, App>, sql: &str) {
    want(window, ViewCommand::ShowTab("query".to_owned()));
    window.get_by_label("SQL").focus();
    window.step();
    press(window, Modifiers::COMMAND, Key::A);
    window.event(Event::Text(sql.to_owned()));
    settle(window);
    press(window, Modifiers::COMMAND, Key::Enter);
}

#[test]
fn rows_of_a_query_are_a_track_that_a_session_restores() {
    let folder = tempfile::tempdir().unwrap();
    let mut window = devices_window(Some(folder.path()));
    query(&mut window, "SELECT name, dur_ps FROM op_slices_of_nothing");
    assert!(window.query_by_label("Show as track").is_none());
    query(&mut window, "SELECT name FROM slices");
    let button = window.get_by_label("Show as track");
    assert!(button.accesskit_node().is_disabled(), "times are missing");
    query(
        &mut window,
        "SELECT name, start_ps, dur_ps FROM slices WHERE name LIKE 'fusion.4%'",
    );
    window.set_size(vec2(1400.0, 420.0));
    settle(&mut window);
    window.get_by_label("Show as track").click();
    settle(&mut window);
    let below = window.get_by_label("Timeline").rect().bottom();
    assert!(row(&window, "Query 1") < below, "it is scrolled to");
    window.set_size(vec2(1400.0, 800.0));
    settle(&mut window);
    let track = DerivedTrack::Query(0);
    let rows = found(&mut window, track);
    let name = |us| ("fusion.4".to_owned(), us);
    assert_eq!(lane(&rows, 0), [name(5), name(5)]);
    assert!(row(&window, "Query 1") > row(&window, "Fold TPU:1"));
    assert!(row(&window, "Query 1") < row(&window, "Fold Host threads"));
    want(&mut window, AppCommand::SaveSession("night".to_owned()));
    window.get_by_label("Remove the track").click();
    settle(&mut window);
    assert!(derived_tracks(&window).is_empty());
    assert!(window.query_by_label("Query 1").is_none());

    let mut window = devices_window(Some(folder.path()));
    want(&mut window, AppCommand::OpenSession("night".to_owned()));
    settle(&mut window);
    assert_eq!(lane(&found(&mut window, track), 0), [name(5), name(5)]);
    let item = TreeItem::Derived(track);
    want(&mut window, ViewCommand::Hide(item, true));
    assert!(state(&window).queries.is_empty());
}
