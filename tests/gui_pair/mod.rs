//! Two profiles side by side.

use view::compare::{TraceSide, ViewLock};
use view::state::ColorBy;
use window::ComparisonCommand;

use super::*;

mod files;
mod marks;
mod ops;
mod tracks;

/// Ten steps of a program, with the given ops and the given program id.
fn run((ops, program): (&str, u32)) -> String {
    let mut rows = [String::new(), String::new(), String::new()];
    for step in 0..10 {
        rows[0].push_str(&step.to_string().repeat(ops.len()));
        rows[1].push_str(&"M".repeat(ops.len() - 1));
        rows[1].push('.');
        rows[2].push_str(ops);
    }
    let [steps, modules, ops] = rows;
    format!(
        "@column 1us
        steps: {steps}
        modules: {modules}
        ops: {ops}
        M = jit_step({program})
        P = fusion.1 [convolution fusion]
        Q = fusion.2 [loop fusion]
        D = copy.3 [copy]
        E = reduce.9 [reduce]"
    )
}

/// In the second, `fusion.2` takes twice as long, and a copy has become a reduction.
const FIRST: (&str, u32) = ("PPPPQQD.", 7);
const SECOND: (&str, u32) = ("PPPPQQQQE.", 8);
/// Here `fusion.2` begins long after its end in the first.
const LATE: (&str, u32) = ("PPPPPPPPPPPPPPQQ.", 9);

fn loader() -> TraceLoader {
    Arc::new(|path, _progress| {
        let picture = match path.to_str() {
            Some("a") => run(FIRST),
            Some("b") => run(SECOND),
            Some("late") => run(LATE),
            Some("two devices") => format!("{}\nTPU:1 ops: PPPP", run(SECOND)),
            Some("bare") => "@column 1us\nhost python: PPPP.PPP\n".to_owned(),
            _ => {
                return Err(format!(
                    "not a profile that this program reads: {}",
                    path.display()
                ));
            }
        };
        Ok(OpenTrace::new(
            path.to_owned(),
            Session::from_model(text_trace(&picture), Options::default()),
        ))
    })
}

fn compared(first: &str, second: &str) -> Harness<'static, App> {
    let mut window = Harness::builder()
        .with_size(vec2(1500.0, 1000.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader()));
    open(&mut window, first);
    want(&mut window, AppCommand::Compare(PathBuf::from(second)));
    settle(&mut window);
    window
}

fn lock(window: &Harness<'_, App>) -> ViewLock {
    window.state().link().expect("two are open").lock
}

/// Names of the selected slices of A and B.
fn both_selected(window: &Harness<'_, App>) -> [Option<String>; 2] {
    TraceSide::BOTH.map(|side| {
        let slice = window.state().state_of(side)?.place.selection?;
        Some(
            window
                .state()
                .trace_of(side)?
                .model
                .slice(slice)
                .name()
                .to_owned(),
        )
    })
}

fn views(window: &Harness<'_, App>) -> [view::viewport::Viewport; 2] {
    TraceSide::BOTH.map(|side| {
        window
            .state()
            .state_of(side)
            .expect("two are open")
            .place
            .time
    })
}

/// The n-th execution of an op.
fn execution(
    window: &Harness<'_, App>,
    side: TraceSide,
    name: &str,
    n: usize,
) -> trace_model::SliceId {
    let model = &window.state().trace_of(side).expect("it is open").model;
    let id = model
        .all_slices()
        .filter(|slice| slice.name() == name)
        .nth(n)
        .map(trace_model::SliceRef::id);
    id.unwrap_or_else(|| panic!("no {name} number {n}"))
}

#[test]
fn two_runs_are_stacked_and_locked_by_steps() {
    let mut window = compared("a", "b");
    for label in [
        "Timeline A",
        "Timeline B",
        "A: a",
        "B: b",
        "Changes of steps",
    ] {
        window.get_by_label(label);
    }
    window.get_by_role_and_label(egui::accesskit::Role::Tab, "Compare");
    assert!(
        window
            .get_all_by_label_contains("the median step is slower by 2.000 µs")
            .count()
            >= 1
    );
    assert_eq!(lock(&window), ViewLock::Step);
    let [a, b] = views(&window);
    assert!(
        (a.span_ps() - b.span_ps()).abs() < 1e-6,
        "both have one scale"
    );

    // Near the sixth step: 5 × 8 µs after the beginning of A, 5 × 10 µs after the beginning of B.
    let range = |start: i64| {
        let at = |us: i64| trace_model::Timestamp::from_ps(us * 1_000_000);
        trace_model::TimeRange::new(at(start), at(start + 6))
    };
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Show(range(39))),
    );
    let [a, b] = views(&window);
    assert_eq!((b.time_at(0.0) - a.time_at(0.0)).ps(), 10_000_000);
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Pan(0.1)),
    );
    let [a_after, b_after] = views(&window);
    assert!(
        a_after.start_after(a.start()) > 0.0 && b_after.start_after(b.start()) > 0.0,
        "A follows B"
    );
    want(
        &mut window,
        AppCommand::On(
            TraceSide::A,
            ViewCommand::Mark(range(41), std::collections::BTreeSet::new()),
        ),
    );
    let mark = window
        .state()
        .state_of(TraceSide::B)
        .unwrap()
        .place
        .mark
        .expect("the mark is linked");
    assert_eq!(mark.start.ps(), 51_000_000);
    press(&mut window, Modifiers::NONE, Key::Backspace);
    assert_eq!(
        views(&window)[0],
        TraceSide::BOTH.map(|_| a)[0],
        "undo takes A back"
    );
}

#[test]
fn tables_of_two_runs_name_the_sides_as_the_window_does() {
    use view::compare::TraceCorrespondence;
    let trace = |path: &str| {
        loader()(std::path::Path::new(path), &importers::Progress::new()).expect("it opens")
    };
    let both = TraceCorrespondence::new(&trace("a"), &trace("b"), &importers::Progress::new())
        .expect("they compare");
    let mut said = Vec::new();
    for table in &both.tables {
        said.extend(table.columns.iter().map(|column| column.title.to_owned()));
        said.extend(table.notes.iter().cloned());
        said.extend(table.rows.iter().flatten().filter_map(|cell| match cell {
            analysis::Cell::Text(text) => Some(text.clone()),
            _ => None,
        }));
    }
    let is_of_commands = |text: &&String| {
        let words = text.split(|c: char| !c.is_alphanumeric());
        words
            .map(str::to_lowercase)
            .any(|word| word == "base" || word == "cand")
    };
    assert_eq!(
        said.iter().filter(is_of_commands).collect::<Vec<_>>(),
        Vec::<&String>::new()
    );
    assert!(
        said.iter()
            .any(|own| own.starts_with("A:  (10 steady steps); B: ")),
        "{said:?}"
    );
}

#[test]
fn shift_c_frees_the_timelines_and_locks_them_again() {
    let mut window = compared("a", "b");
    press(&mut window, Modifiers::SHIFT, Key::C);
    assert_eq!(lock(&window), ViewLock::Free);
    let before = views(&window);
    want(
        &mut window,
        AppCommand::On(
            TraceSide::A,
            ViewCommand::Zoom {
                factor: 2.0,
                anchor: 0.5,
            },
        ),
    );
    assert_ne!(views(&window)[0], before[0]);
    assert_eq!(views(&window)[1], before[1], "B stays");
    press(&mut window, Modifiers::SHIFT, Key::C);
    assert_eq!(lock(&window), ViewLock::Step);
    let [a, b] = views(&window);
    assert!((a.span_ps() - b.span_ps()).abs() < 1e-6, "B has caught up");
    window.get_by_label("Lock: Offset").click();
    settle(&mut window);
    assert_eq!(lock(&window), ViewLock::Offset);
    window.get_by_label("Offset of B");
}

#[test]
fn idle_comparison_does_not_repaint() {
    let mut window = compared("a", "b");
    let canvas = window.get_by_label("Timeline B").rect();
    window.hover_at(canvas.center());
    // A gesture in B ends, although the views were locked in the meantime and A leads.
    press(&mut window, Modifiers::SHIFT, Key::C);
    want(
        &mut window,
        AppCommand::On(TraceSide::B, ViewCommand::Pan(0.1)),
    );
    press(&mut window, Modifiers::SHIFT, Key::C);
    comes_to_rest(&mut window);
    for side in TraceSide::BOTH {
        assert!(
            !window.state().state_of(side).unwrap().in_gesture(),
            "{side:?}"
        );
    }
}

#[test]
fn clicking_a_step_shows_it_in_both_timelines() {
    let mut window = compared("a", "b");
    let lane = window.get_by_label("Changes of steps").rect();
    let canvas = window.get_by_label("Timeline A").rect();
    // Both views show all steps: the middle of A's is that of the fifth or sixth.
    click_at(
        &mut window,
        Pos2::new(canvas.left() + canvas.width() * 0.3, lane.center().y),
    );
    let [a, b] = views(&window);
    assert!(
        a.span_ps() < 12e6 && b.span_ps() < 12e6,
        "one step is in view: {}",
        a.span_ps()
    );
}

#[test]
fn x_swaps_the_runs_and_c_the_focus() {
    let mut window = compared("a", "b");
    assert_eq!(window.state().trace().unwrap().name(), "a");
    press(&mut window, Modifiers::NONE, Key::C);
    assert_eq!(
        window.state().trace().unwrap().name(),
        "b",
        "keys and panels are about B now"
    );
    press(&mut window, Modifiers::NONE, Key::X);
    settle(&mut window);
    let names = TraceSide::BOTH.map(|side| window.state().trace_of(side).unwrap().name());
    assert_eq!(names, ["b", "a"]);
    assert_eq!(
        window.state().trace().unwrap().name(),
        "b",
        "the focus stays on the run"
    );
    assert!(
        window
            .get_all_by_label_contains("the median step is faster")
            .count()
            >= 1
    );
}

#[test]
fn held_key_continues_across_runs() {
    let mut window = compared("a", "b");
    want(&mut window, ComparisonCommand::Interleave);
    let range = trace_model::TimeRange::at(
        trace_model::Timestamp::ZERO,
        trace_model::Picos::from_ps(20_000_000),
    );
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Show(range)),
    );
    let mut ops: Vec<_> = window
        .get_all_by_label("XLA Ops")
        .map(|node| node.rect())
        .collect();
    ops.sort_by(|a, b| a.top().total_cmp(&b.top()));
    let over = |window: &mut Harness<'_, App>, row: usize| {
        window.hover_at(Pos2::new(ops[row].right() + 200.0, ops[row].top() + 10.0));
        window.run_steps(2);
    };
    let key = |window: &mut Harness<'_, App>, pressed| {
        let event = Event::Key {
            key: Key::D,
            physical_key: None,
            pressed,
            repeat: false,
            modifiers: Modifiers::NONE,
        };
        window.event(event);
        window.run_steps(2);
    };
    over(&mut window, 0);
    let start = views(&window)[0].start();
    key(&mut window, true);
    over(&mut window, 1);
    let between = views(&window)[0].start();
    assert!(between > start, "it pans");
    window.run_steps(3);
    let after = views(&window)[0].start();
    assert!(after > between, "and goes on");
    key(&mut window, false);
    let end = views(&window)[0].start();
    window.run_steps(3);
    assert_eq!(views(&window)[0].start(), end, "until the key is up");
}

#[test]
fn colours_by_change_are_offered_while_two_are_open() {
    let mut window = compared("a", "b");
    window.get_by_label("change").click();
    settle(&mut window);
    assert_eq!(state(&window).color_by, ColorBy::Change);
    window.get_by_label("twice or more");
    window.get_by_label("Close").click();
    settle(&mut window);
    window.get_by_label("Close A and continue with B").click();
    settle(&mut window);
    assert!(window.state().link().is_none());
    assert_eq!(window.state().trace().unwrap().name(), "b");
    assert_eq!(
        (state(&window).color_by, state(&window).tab.as_str()),
        (ColorBy::Category, "overview")
    );
    assert!(
        window.query_by_label("change").is_none() && window.query_by_label("Compare").is_none()
    );
    window.get_by_label("Timeline");
}

#[test]
fn timelines_without_steps_are_unlocked_with_a_reason() {
    for (first, second, who) in [
        ("a", "bare", "B has no steps"),
        ("bare", "a", "A has no steps"),
    ] {
        let mut window = compared(first, second);
        assert_eq!(lock(&window), ViewLock::Free);
        assert!(window.get_all_by_label_contains(who).count() >= 1);
        // There is no counterpart to align with.
        for command in [
            ViewCommand::Fit,
            ViewCommand::MarkAll,
            ViewCommand::Step(view::state::Neighbour::Next),
        ] {
            want(&mut window, AppCommand::View(command));
        }
        for key in [Key::C, Key::X] {
            press(&mut window, Modifiers::NONE, key);
            settle(&mut window);
        }
        press(&mut window, Modifiers::SHIFT, Key::C);
        assert_eq!(
            lock(&window),
            ViewLock::Offset,
            "what stands side by side can be locked"
        );
    }
}

#[test]
fn whether_the_work_is_the_same_is_said_before_what_changed() {
    let window = compared("a", "b");
    let top = |said: &str| {
        let found = window.query_all_by_label_contains(said);
        let tops = found.map(|node| node.rect().top());
        tops.fold(f32::INFINITY, f32::min)
    };
    let work = top("the work is the same").min(top("he same work"));
    assert!(work < top("The median step is "), "{work}");
}

#[test]
fn incomparable_runs_show_their_differences() {
    let mut window = compared("a", "two devices");
    assert!(
        window
            .get_all_by_label_contains("Not the same work: the runs differ in devices")
            .count()
            >= 1
    );
    window.get_by_label("Row Devices");
    window.get_by_label("Timeline B");
    assert_eq!(
        lock(&window),
        ViewLock::Step,
        "steps are aligned all the same"
    );
    press(&mut window, Modifiers::NONE, Key::X);
    settle(&mut window);
    window.get_by_label("Row Devices");
}

#[test]
fn comparison_uses_the_common_time_format() {
    let mut window = compared("a", "b");
    want(
        &mut window,
        AppCommand::Times(view::time_format::TimeFormat::Nanoseconds),
    );
    let slice = execution(&window, TraceSide::A, "fusion.2", 4);
    want(
        &mut window,
        AppCommand::On(TraceSide::A, ViewCommand::Select(slice)),
    );
    let about = "2000.000 ns in A, 4000.000 ns in B: +2000.000 ns (+100.0 %)";
    assert!(window.get_all_by_label_contains(about).count() >= 1);
}

#[test]
fn comparison_commands_are_listed_only_with_two_runs() {
    let mut window = compared("a", "b");
    for (two, shown) in [(true, true), (false, false)] {
        if !two {
            want(&mut window, ComparisonCommand::Keep(TraceSide::A));
        }
        press(&mut window, Modifiers::COMMAND | Modifiers::SHIFT, Key::P);
        window.event(Event::Text("swap".to_owned()));
        settle(&mut window);
        assert_eq!(
            window.query_by_label("Compare: swap A and B").is_some(),
            shown
        );
        press(&mut window, Modifiers::NONE, Key::Escape);
        settle(&mut window);
    }
}
