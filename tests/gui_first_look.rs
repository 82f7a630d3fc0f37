//! What a user sees first, on screens of each size: what limits the run, what to do about it, the figures behind it.

use std::path::Path;

use analysis::hints::Hints;
use analysis::reports::summary::targets::Targets;
use analysis::{Scope, sentence};
use egui_kittest::Node;
use egui_kittest::kittest::NodeT as _;
use window::file_loader;

use super::*;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/samples");
const SERIAL: &str = "synthetic_v5e_8chip_serial.xplane.pb";
const OVERLAP: &str = "synthetic_v5e_8chip_overlap.xplane.pb";
/// An export of a capture, which lacks the peaks of its devices.
const WITHOUT_PEAKS: &str = "synthetic_v5e_8chip_overlap.trace.json.gz";

fn sample(name: &str) -> PathBuf {
    Path::new(SAMPLES).join(name)
}

fn shown([width, height]: [f32; 2], path: &Path) -> Harness<'static, App> {
    let mut window = Harness::builder()
        .with_size(vec2(width, height))
        .build_eframe(|cc| {
            let loader = file_loader(
                importers::ImportOptions::default(),
                Arc::new(|| Ok(Options::default())),
            );
            app(&cc.egui_ctx, Settings::default(), loader)
        });
    window.state_mut().push(AppCommand::Open(path.to_owned()));
    window.step();
    settle(&mut window);
    window
}

fn click(window: &mut Harness<'static, App>, label: &str) {
    window.get_by_label(label).click();
    settle(window);
}

fn text_of(node: &Node<'_>) -> String {
    let node = node.accesskit_node();
    node.label().or_else(|| node.value()).unwrap_or_default()
}

fn captures() -> Vec<PathBuf> {
    let mut all: Vec<PathBuf> = std::fs::read_dir(SAMPLES)
        .expect("the samples are there")
        .map(|entry| entry.expect("it can be listed").path())
        .filter(|path| path.to_string_lossy().contains(".xplane.pb"))
        .collect();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/tpu");
    let real = [
        "v6e_x4_host_offload.xplane.pb",
        "v7x_vllm_tp2_a.trace.json.gz",
    ];
    all.extend(
        real.map(|name| corpus.join(name))
            .into_iter()
            .filter(|path| path.is_file()),
    );
    all
}

#[test]
fn what_limits_the_run_and_what_to_do_are_in_sight_and_missed_figures_come_first() {
    let mut missed_seen = 0;
    for path in captures() {
        let window = shown([1280.0, 800.0], &path);
        let trace = window.state().trace().expect("it is open");
        let hints = trace.session.report::<Hints>(Scope::WholeTrace).ok();
        let limit = hints.as_ref().and_then(|hints| hints.limit.as_ref());
        let verdict = limit.map(|limit| {
            let limit = sentence(&limit.sentence(|time| time.to_string()));
            window.get_by_label(&limit).rect()
        });
        let lines = verdict.map_or(0.0, |rect| rect.height() / 17.0);
        assert!(lines < 2.5, "{lines} lines of {}", path.display());
        let tracks = window.get_by_label("Timeline").rect().width();
        assert!(tracks >= 0.45 * 1280.0, "{tracks}");
        missed_seen += cards_of_missed_targets(&window, &path);

        let window = shown([900.0, 600.0], &path);
        let hints = window.query_all_by_label_contains("Hint K");
        let first = hints.map(|hint| hint.rect().bottom()).reduce(f32::min);
        assert!(
            first.is_none_or(|at| at < 500.0),
            "{first:?}: {}",
            path.display()
        );
    }
    assert!(missed_seen > 5, "{missed_seen}");
}

#[test]
fn reports_grow_with_the_window() {
    let mut window = shown([1280.0, 800.0], &sample(SERIAL));
    let beside = |window: &Harness<'static, App>, width: f32| {
        width - window.get_by_label("Timeline").rect().right()
    };
    let narrow = beside(&window, 1280.0);
    window.set_size(vec2(2560.0, 1440.0));
    settle(&mut window);
    let wide = beside(&window, 2560.0);
    // 29 % of the window, and the rail, which keeps its width.
    let grown = 0.29 * 1280.0;
    assert!((wide - narrow - grown).abs() < 4.0, "{narrow} {wide}");
}

/// Figures that miss their target come first.
fn cards_of_missed_targets(window: &Harness<'static, App>, path: &Path) -> usize {
    let trace = window.state().trace().expect("it is open");
    let Ok(report) = trace.session.report::<Targets>(Scope::WholeTrace) else {
        return 0;
    };
    let missed: Vec<_> = report
        .targets
        .iter()
        .filter(|target| target.is_missed())
        .take(4)
        .collect();
    for target in &missed {
        let title = match target.id {
            "mxu" if target.of.contains(" in step") => "Matrix FLOPs, steady steps",
            "mxu" => "FLOPs in matrix ops",
            _ => target.title,
        };
        let label = format!("{title}: ");
        let cards = window.query_all_by_label_contains(&label).count();
        assert_eq!(cards, 1, "{title} of {}", path.display());
    }
    missed.len()
}

#[test]
fn evidence_and_code_are_one_click_away() {
    let mut window = shown([1280.0, 800.0], &sample(SERIAL));
    window.get_by_label_contains("saves at most 4.113 ms a step (35.0 % of 11.74 ms)");
    click(&mut window, "Show evidence for K01");
    assert!(state(&window).highlighted.is_some());
    assert_eq!(state(&window).tab, "overview");
    window.get_by_label("Copy code of K01").click();
    window.run_steps(2);
    window.get_by_label("copied of K01");
    let order = [
        "Hint K01: Communication is exposed",
        "Key figures",
        "capture is complete",
    ];
    let tops = order.map(|label| window.get_by_label(label).rect().top());
    assert!(tops.is_sorted(), "{tops:?}");
}

/// From a hint the keys go on: Tab comes to its buttons, not to all that is before them in the window.
#[test]
fn the_card_of_a_hint_has_the_focus_when_it_is_opened() {
    let mut window = shown([1280.0, 800.0], &sample(SERIAL));
    click(&mut window, "Hint K01: Communication is exposed");
    assert_eq!(state(&window).tab, "hints");
    assert!(window.get_by_label("Show evidence for K01").is_focused());
    press(&mut window, Modifiers::NONE, Key::Tab);
    assert!(window.get_by_label("Explanation of K01").is_focused());
}

#[test]
fn advice_names_controls_of_the_window() {
    let mut window = shown([1280.0, 2000.0], &sample(WITHOUT_PEAKS));
    for chip in [None, Some("v5e")] {
        if let Some(chip) = chip {
            want(&mut window, AppCommand::AssumeChip(chip.to_owned()));
        }
        for tab in window::TABS.iter().map(|tab| tab.id) {
            want(&mut window, ViewCommand::ShowTab(tab.to_owned()));
            let texts = window.query_all_by_label_contains("--device-spec");
            let texts: Vec<String> = texts.map(|node| text_of(&node)).collect();
            assert!(texts.is_empty(), "{tab}: {texts:?}");
        }
    }
    want(&mut window, ViewCommand::ShowTab("overview".to_owned()));
    assert!(
        window
            .query_all_by_label_contains("of the chip that you named")
            .count()
            > 0
    );
}

#[test]
fn ops_open_by_name_what_is_furthest_above_its_limit_first() {
    let mut window = shown([1280.0, 800.0], &sample(OVERLAP));
    want(&mut window, ViewCommand::ShowTab("ops".to_owned()));
    let trace = window.state().trace().expect("it is open");
    let ops = trace
        .session
        .report::<analysis::reports::Ops>(Scope::WholeTrace);
    let families = view::panels::op_families::families(&ops.expect("it has ops").rows).len();
    let rows = window.query_all_by_label_contains("Ops of ").count();
    assert!(rows > 3 && rows <= families, "{rows} of {families}");
    want(&mut window, ViewCommand::WideReports(true));
    window
        .get_by_label("Ops of fusion [convolution fusion]")
        .hover();
    window.run_steps(30);
    window.get_by_label_contains("above limit: ");
    window.get_by_label_contains("Rows without a known limit are sorted by their self time");
}

#[test]
fn columns_without_room_are_one_click_away() {
    let mut window = shown([1280.0, 800.0], &sample(SERIAL));
    show_op_table(&mut window);
    let headings = |window: &Harness<'static, App>| {
        let nodes = window.query_all_by_label_contains("Sort by ");
        nodes.map(|node| node.rect()).collect::<Vec<_>>()
    };
    let few = headings(&window);
    assert!(
        few.len() > 2 && few.iter().all(|rect| rect.right() < 1212.0),
        "{few:?}"
    );
    let more = window.get_by_label_contains(" more columns");
    more.click();
    settle(&mut window);
    window.get_by_label("Only the columns that have room");
    want(&mut window, ViewCommand::WideReports(true));
    assert!(headings(&window).len() > few.len());
}

#[test]
fn a_comparison_shows_both_sides_the_change_and_what_is_doubtful() {
    let mut window = shown([1280.0, 800.0], &sample(SERIAL));
    want(&mut window, AppCommand::Compare(sample(OVERLAP)));
    settle(&mut window);
    for column in ["What", "A", "B", "Change", "Verdict"] {
        let rect = window.get_by_label(&format!("Sort by {column}")).rect();
        assert!(rect.right() < 1212.0, "{column} at {rect:?}");
    }
    window.get_by_label_contains("?: not tested, because there are too few steps");
}
