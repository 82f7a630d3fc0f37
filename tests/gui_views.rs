//! Views of data beside the timeline: programs, heat map, icicle, memory, source, what-if.

use window::file_loader;

use super::*;

/// A program with its text.
const LAYER: &str = "synthetic_v5e_layer_predicted.txt";

/// A sample with its programs, steps and memory.
fn sample(name: &str, height: f32) -> Harness<'static, App> {
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, height))
        .build_eframe(|cc| {
            let loader = file_loader(
                importers::ImportOptions::default(),
                Arc::new(|| Ok(Options::default())),
            );
            app(&cc.egui_ctx, Settings::default(), loader)
        });
    open(
        &mut window,
        &format!("{}/../assets/samples/{name}", env!("CARGO_MANIFEST_DIR")),
    );
    window
}

/// A capture that is generated.
fn generated(
    session: &sample_traces::session::SampleSession,
    size: egui::Vec2,
) -> Harness<'static, App> {
    let bytes = sample_traces::write::xspace_bytes(session);
    let mut window = Harness::builder().with_size(size).build_eframe(|cc| {
        let loader: TraceLoader = Arc::new(move |path, _progress| {
            let source =
                importers::InputSource::from_bytes("capture.xplane.pb".to_owned(), bytes.clone());
            let source = source.expect("it is a profile");
            let model =
                importers::import(&source, &importers::Progress::new()).expect("it can be read");
            Ok(OpenTrace::new(
                path.to_owned(),
                Session::from_model(model, Options::default()),
            ))
        });
        app(&cc.egui_ctx, Settings::default(), loader)
    });
    open(&mut window, "generated");
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
    let slice = model
        .all_slices()
        .find(|slice| slice.name() == name)
        .expect("there is one")
        .id();
    want(window, ViewCommand::Select(slice));
}

#[test]
fn op_neighbourhood_is_shown_and_click_leads_to_slices() {
    let mut window = sample(LAYER, 1400.0);
    select(&mut window, "fusion.2");
    show(&mut window, "hlo");
    window.get_by_label("center fusion.2, self 100.0 µs");
    window.get_by_label("inside multiply.1, no time of its own");
    window.get_by_label_contains("user fusion.3, self ");
    assert!(
        window
            .query_by_label_contains("all-reduce.1, self ")
            .is_some(),
        "two steps away"
    );
    click(&mut window, "Smaller radius");
    assert!(
        window
            .query_by_label_contains("all-reduce.1, self ")
            .is_none()
    );
    click_containing(&mut window, "operand fusion.1, self ");
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"), "its slice");
    window.get_by_label_contains("center fusion.1, self ");
    click(&mut window, "operand x, no time of its own");
    window.get_by_label("center x, no time of its own");
    assert_eq!(
        selected(&window).as_deref(),
        Some("fusion.1"),
        "a parameter has no slice"
    );
    // Another selected op moves to the middle of the graph.
    select(&mut window, "fusion.3");
    window.get_by_label_contains("center fusion.3, self ");
}

#[test]
fn program_text_and_search_lead_to_ops() {
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
    // The field takes what is typed next.
    window.event(Event::Text("opcode:all-reduce".to_owned()));
    settle(&mut window);
    click(&mut window, "Row all-reduce.1");
    window.get_by_label_contains("center all-reduce.1, self ");
    assert_eq!(selected(&window).as_deref(), Some("all-reduce.1"));
}

#[test]
fn program_text_fills_its_panel() {
    let mut window = sample("synthetic_v5e_8chip_serial.xplane.pb", 900.0);
    show(&mut window, "hlo");
    click(&mut window, "Program text");
    let lowest = window
        .query_all_by_label_contains("Line of ")
        .map(|line| line.rect().bottom())
        .fold(0.0, f32::max);
    assert!(lowest > 780.0, "the last line ends at {lowest}");
}

#[test]
fn trace_without_programs_has_no_hlo_tab() {
    let mut window = empty_window();
    open(&mut window, "other trace");
    assert!(window.query_by_label("HLO").is_none());
    show(&mut window, "hlo");
    window.get_by_label("No op of a program is recorded here.");
}

#[test]
fn heat_map_shows_a_straggler_and_click_leads_to_it() {
    let mut window = sample("synthetic_v5e_8chip_straggler.xplane.pb", 1400.0);
    show(&mut window, "steps");
    click(&mut window, "time");
    assert!(
        window.query_by_label_contains("stands out").is_none(),
        "its steps are as long as those of the others"
    );
    click(&mut window, "work");
    window.get_by_label_contains("/device:TPU:5 stands out: median ");
    let map = window
        .get_by_label_contains("Heat map of work: 8 devices, ")
        .rect();
    // The sixth of eight rows, with a line of numbers below.
    let at = Pos2::new(
        map.left() + 80.0,
        map.top() + (map.height() - 16.0) * 5.5 / 8.0,
    );
    click_at(&mut window, at);
    let state = state(&window);
    assert!(
        matches!(state.scope, view::state::ReportScope::Steps { .. }),
        "{:?}",
        state.scope
    );
    assert!(state.place.mark.is_some());
    let trace = window.state().trace().expect("it is open");
    let groups = state
        .mark_tracks
        .iter()
        .map(|&track| trace.model.track(track).group);
    let names: std::collections::BTreeSet<String> =
        groups.map(|group| trace.model.device_name(group)).collect();
    assert_eq!(names.into_iter().collect::<Vec<_>>(), ["/device:TPU:5"]);
}

#[test]
fn requests_are_rows_that_lead_to_the_timeline() {
    let mut window = sample("synthetic_v5e_serving.xplane.pb", 1400.0);
    show(&mut window, "serving");
    let rows = window
        .get_by_label_contains("Requests over time: 24 requests")
        .rect();
    // The tenth of 24 rows, with a line of times below.
    let at = Pos2::new(
        rows.center().x,
        rows.top() + (rows.height() - 16.0) * 9.5 / 24.0,
    );
    click_at(&mut window, at);
    assert_eq!(selected(&window).as_deref(), Some("request"));
    let mark = state(&window).place.mark.expect("its time is marked");
    // Request 9 comes 31.5 ms after the first one, at 1 ms.
    assert_eq!(mark.start.ps(), 32_500_000_000);
}

#[test]
fn op_icicle_boxes_lead_to_slices() {
    let mut window = sample(LAYER, 1400.0);
    show(&mut window, "ops");
    click(&mut window, "by source");
    click(&mut window, "icicle");
    window.get_by_label_contains("Icicle All ops, 100.0 % of op time");
    click_containing(&mut window, "Icicle fusion.1, ");
    assert_eq!(selected(&window).as_deref(), Some("fusion.1"));
    let branch = window
        .get_by_label_contains("Icicle layer.py, ")
        .rect()
        .center();
    click_at(&mut window, branch);
    assert!(
        window.query_by_label_contains("Icicle All ops, ").is_none(),
        "the branch is seen alone"
    );
    click(&mut window, "All ops");
    window.get_by_label_contains("Icicle All ops, ");
    click(&mut window, "total time");
    window.get_by_label_contains("Icicle All ops, 100.0 % of total time");
}

#[test]
fn live_buffers_are_listed_at_the_peak_and_the_clicked_time() {
    let spec = sample_traces::synthetic::TrainingSpec {
        data: 1,
        model: 1,
        ..Default::default()
    };
    let run = sample_traces::synthetic::SyntheticRun::new(spec);
    let mut window = generated(
        &sample_traces::memory::session_with_memory(&run).0,
        vec2(1400.0, 1000.0),
    );
    show(&mut window, "memory");
    click(&mut window, "Use over time");
    window.get_by_label_contains("At the peak, ");
    let curve = window.get_by_label("Bytes in use over time").rect();
    click_at(
        &mut window,
        Pos2::new(curve.right() - 2.0, curve.center().y),
    );
    window.get_by_label_contains("At the cursor, ");
    click(&mut window, "Sort by Padding");
    click(&mut window, "At the peak");
    assert!(window.query_by_label_contains("At the cursor, ").is_none());
}

#[test]
fn ops_are_grouped_by_several_things_at_once() {
    let mut window = sample(LAYER, 1000.0);
    show(&mut window, "ops");
    click(&mut window, "by category");
    assert!(window.query_by_label_contains("Ops of layer.py").is_none());
    click(&mut window, "Level 2");
    let choices: Vec<_> = window.query_all_by_label("by source").collect();
    choices.last().expect("in the list").click();
    drop(choices);
    settle(&mut window);
    click(&mut window, "Ops of loop fusion");
    window.get_by_label_contains("Ops of layer.py");
}

#[test]
fn planned_buffers_are_boxes_with_a_live_list() {
    let mut window = sample("jax_cpu_small.xplane.pb", 1400.0);
    show(&mut window, "memory");
    click(&mut window, "Planned buffers");
    window.get_by_label_contains("Buffers by program order and offset: ");
    window.get_by_label_contains("Live at the peak, ");
    let curve = window.get_by_label("Live bytes over the program").rect();
    click_at(
        &mut window,
        Pos2::new(curve.right() - 2.0, curve.center().y),
    );
    window.get_by_label_contains("Live at the cursor, ");
    window.get_by_label("Sort by Padding");
    click(&mut window, "At the peak");
    window.get_by_label_contains("Live at the peak, ");
}

#[test]
fn programs_of_compared_runs_are_diffed() {
    let mut window = sample(LAYER, 1400.0);
    let other = format!(
        "{}/../assets/samples/synthetic_v5e_layer_measured.xplane.pb",
        env!("CARGO_MANIFEST_DIR")
    );
    show(&mut window, "hlo");
    assert!(
        window.query_by_label("Changes from A to B").is_none(),
        "one run alone"
    );
    want(&mut window, AppCommand::Compare(PathBuf::from(other)));
    settle(&mut window);
    show(&mut window, "hlo");
    click(&mut window, "Changes from A to B");
    window.get_by_label_contains("1 instruction is the same, 10 differ");
    show(&mut window, "ops");
    click(&mut window, "by category");
    click(&mut window, "icicle");
    window.get_by_label_contains("orange is slower in B");
}

#[test]
fn source_lines_have_times_and_lead_to_ops() {
    let mut window = sample(LAYER, 1000.0);
    select(&mut window, "fusion.2");
    want(&mut window, ViewCommand::ShowTab("source".to_owned()));
    window.get_by_label_contains("Source file: ");
    window.get_by_label_contains("is not on this machine; the lines with ops:");
    window.get_by_label_contains("--src-prefix");
    let shares = window.query_all_by_label_contains(" of op time");
    assert!(shares.count() > 0, "times say of what they are a part");
    let lines = window.query_all_by_label_contains("Line ").count();
    assert!(lines > 0, "the lines of the ops");
    let first = window
        .query_all_by_label_contains("Line ")
        .next()
        .expect("there are lines")
        .rect()
        .center();
    click_at(&mut window, first);
    assert!(state(&window).highlighted.is_some(), "the ops of the line");
}

/// A file that lies elsewhere is found by its folder, or by the file itself.
#[test]
fn sources_that_lie_elsewhere_are_found() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("layer.py");
    std::fs::write(&file, "import jax\n".repeat(30)).unwrap();
    let answer = |window: &mut Harness<'static, App>, path: &std::path::Path| {
        press(window, Modifiers::COMMAND, Key::A);
        window.event(Event::Text(path.display().to_string()));
        window.step();
        settle(window);
        press(window, Modifiers::NONE, Key::Enter);
        settle(window);
    };
    for chosen in [folder.path(), &file] {
        let mut window = sample(LAYER, 1000.0);
        select(&mut window, "fusion.2");
        want(&mut window, ViewCommand::ShowTab("source".to_owned()));
        click(&mut window, "Find it…");
        window.get_by_label_contains("Recorded as layer.py");
        answer(&mut window, std::path::Path::new("/"));
        window.get_by_label_contains("is a file of its name");
        answer(&mut window, chosen);
        assert!(window.query_by_label_contains("Recorded as").is_none());
        assert!(
            window
                .query_by_label_contains("is not on this machine")
                .is_none()
        );
        window.get_by_label("Open in editor");
    }
}

#[test]
fn hint_sliders_change_only_its_ops() {
    let mut window = sample("synthetic_v5e_8chip_serial.xplane.pb", 1400.0);
    show(&mut window, "hints");
    let button = window
        .query_all_by_label_contains("What if without ")
        .next()
        .expect("a hint")
        .rect()
        .center();
    click_at(&mut window, button);
    assert!(window.query_all_by_label_contains("Time of ").count() > 0);
    click(&mut window, "collectives take no time");
    window.get_by_label_contains("Median step of ");
    assert_eq!(window.query_all_by_label_contains("predicted ").count(), 1);
}

#[test]
fn a_pod_is_folded_and_a_click_on_the_load_of_a_host_unfolds_it() {
    let pod = sample_traces::fleet::FleetSpec {
        devices: 64,
        steps: 4,
        ..Default::default()
    };
    let mut window = generated(&pod.session(), vec2(1280.0, 800.0));
    let first = window.get_by_label("Unfold TPU:0").rect();
    let last = window.get_by_label("Unfold TPU:63").rect();
    assert!(
        first.top() > 60.0 && last.bottom() < 760.0,
        "{first:?} {last:?}"
    );
    click(&mut window, "Fold Host threads");
    let threads = window.get_by_label("Unfold Host threads").rect();
    let canvas = window.get_by_label("Timeline").rect();
    click_at(
        &mut window,
        Pos2::new(canvas.left() + 60.0, threads.center().y),
    );
    window.get_by_label("Fold Host threads");
}

#[test]
fn what_if_shows_the_predicted_step() {
    let mut window = sample("synthetic_v5e_8chip_serial.xplane.pb", 1400.0);
    show(&mut window, "hints");
    click(&mut window, "What if");
    window.get_by_label_contains("Move a slider: ");
    click(&mut window, "collectives take no time");
    window.get_by_label_contains("Median step of ");
    assert_eq!(
        window.query_all_by_label_contains("predicted ").count(),
        1,
        "a bar below that of the recorded step"
    );
    click(&mut window, "collectives take no time");
    window.get_by_label_contains("Move a slider: ");
}

#[test]
fn capture_without_peaks_can_use_a_named_chip() {
    let mut window = opened();
    select(&mut window, "fusion.1");
    window.get_by_label(
        "The capture records no peaks: shares of a limit are not known. Assume those of",
    );
    window
        .state_mut()
        .push(AppCommand::AssumeChip("v5e".to_owned()));
    window.step();
    settle(&mut window);
    window.get_by_label("Peaks that the capture does not record are assumed to be those of");
    assert_eq!(
        selected(&window).as_deref(),
        Some("fusion.1"),
        "the view stays"
    );
    let trace = window.state().trace().expect("it is open");
    assert_eq!(trace.session.options().device_spec.as_deref(), Some("v5e"));
}

#[test]
fn hints_about_the_capture_alone_promise_no_savings() {
    let mut window = empty_window();
    open(&mut window, "other trace");
    show(&mut window, "hints");
    window.get_by_label_contains("These findings are about the capture");
    assert!(
        window
            .query_by_label_contains("Savings are upper bounds")
            .is_none()
    );
}

#[test]
fn pointer_on_an_arrow_tells_where_it_leads() {
    let mut window = sample("synthetic_v5e_8chip_overlap.xplane.pb", 1400.0);
    let model = window.state().trace().expect("it is open").model.clone();
    let flow = *model
        .flows()
        .iter()
        .find(|flow| model.slice(flow.from).track() == model.slice(flow.to).track())
        .unwrap();
    let [from, to] = [flow.from, flow.to].map(|slice| model.slice(slice));
    want(&mut window, ViewCommand::GoTo(flow.to));
    want(
        &mut window,
        ViewCommand::Show(trace_model::TimeRange::new(from.start(), to.range().end)),
    );
    let middle =
        from.range().end + trace_model::Picos::from_ps((to.start() - from.range().end).ps() / 2);
    let x = state(&window).place.time.fraction(middle) as f32;
    let names = format!("{} → {}", from.name(), to.name());
    // Somewhere below the middle of their lane.
    let found = (0..120).any(|row| {
        window.hover_at(on_canvas(&window, x, 6.0 * row as f32));
        window.run_steps(2);
        window.query_by_label(&names).is_some()
    });
    assert!(found, "{names}");
    window.get_by_label_contains("after the end");
    window.get_by_label_contains("Show the other end (");
}

#[test]
fn slice_of_a_step_is_headed_as_a_step() {
    let mut window = sample("synthetic_v5e_8chip_serial.xplane.pb", 1400.0);
    select(&mut window, "2");
    assert_eq!(window.query_all_by_label("Step 2").count(), 2); // The heading, and the link.
}
