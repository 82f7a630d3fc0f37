//! The window, the text and the JSON of `analyze` show the same figures for every sample.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::path::Path;
use std::process::{Command as Process, Stdio};

use analysis::{Percent, Unit};
use egui_kittest::kittest::NodeT as _;
use serde_json::Value;
use session::number;
use trace_model::Picos;
use window::file_loader;

use super::*;

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/samples");

fn samples() -> Vec<PathBuf> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(SAMPLES)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.retain(|path| path.extension().is_none_or(|extension| extension != "md"));
    paths.sort();
    assert!(paths.len() > 10);
    paths
}

fn analyze(path: &Path, more: &[&str]) -> String {
    let output = Process::new(env!("CARGO_BIN_EXE_systole"))
        .args(["analyze", path.to_str().unwrap()])
        .args(more)
        .env("COLUMNS", "200")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8(output.stdout).unwrap()
}

fn opening(path: &Path) -> Harness<'static, App> {
    let mut window = Harness::builder()
        .with_size(vec2(1800.0, 20_000.0))
        .build_eframe(|cc| {
            let loader = file_loader(
                importers::ImportOptions::default(),
                Arc::new(|| Ok(Options::default())),
            );
            app(&cc.egui_ctx, Settings::default(), loader)
        });
    window.state_mut().push(AppCommand::Open(path.to_owned()));
    window.step();
    window
}

fn shown(path: &Path) -> Harness<'static, App> {
    let mut window = opening(path);
    settle(&mut window);
    assert!(window.state().trace().is_some(), "{}", path.display());
    window
}

/// Labels that begin with one of these, from top to bottom.
fn labels(window: &Harness<'_, App>, beginnings: &[&str]) -> Vec<String> {
    let mut found: Vec<(f32, String)> = Vec::new();
    for beginning in beginnings {
        for node in window.query_all_by_label_contains(beginning) {
            let node = (node.rect().top(), node.accesskit_node());
            // Plain texts have a value instead of a label.
            let label = node
                .1
                .label()
                .or_else(|| node.1.value())
                .unwrap_or_default();
            if label.starts_with(beginning) {
                found.push((node.0, label));
            }
        }
    }
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    found.into_iter().map(|(_, label)| label).collect()
}

/// A hint: its id and what it saves.
type Said = (String, String);

/// The expected text of the saving of a hint.
fn of_json(hint: &Value, report: &Value) -> Said {
    let id = hint["id"].as_str().unwrap().to_owned();
    if hint["severity"] == "health" {
        return (id, "about the capture".to_owned());
    }
    let time = |name: &str| hint[name].as_i64().map(Picos::from_ps);
    let saving = match (
        time("saving_ps"),
        hint["saving_percent"].as_f64(),
        time("once_ps"),
    ) {
        (Some(ps), Some(percent), _) => {
            let step = Picos::from_ps(report["step_ps"].as_f64().unwrap() as i64);
            let (a_step, of) = match (&report["of"], &report["is_above_median"]) {
                (of, _) if of == "whole window" => ("", "the window, "),
                (_, Value::Bool(true)) => (" a step", "the mean step and what follows it, "),
                _ => (" a step", ""),
            };
            let by = hint["saved_by"].as_str();
            let by = by.map_or_else(String::new, |by| format!(" with {by}"));
            format!(
                "saves at most {ps}{a_step} ({:.1} of {of}{step}){by}",
                Percent(percent)
            )
        }
        (Some(ps), None, _) => format!("saves at most {ps}"),
        (None, _, Some(once)) => format!("saves {once} once, nothing in a warm step"),
        (None, ..) => "saving unknown".to_owned(),
    };
    (id, saving)
}

/// `K01  …` and the line below it.
fn of_text(text: &str) -> Vec<Said> {
    let lines: Vec<&str> = text.lines().collect();
    let is_head = |line: &str| {
        let mut bytes = line.bytes();
        matches!(bytes.next(), Some(b'K' | b'Q')) && bytes.take(2).all(|byte| byte.is_ascii_digit())
    };
    let heads = lines.windows(2).filter(|pair| is_head(pair[0]));
    heads
        .map(|pair| {
            (
                pair[0][..3].to_owned(),
                pair[1].trim().split(" · ").next().unwrap().to_owned(),
            )
        })
        .collect()
}

fn of_window(window: &Harness<'_, App>) -> Vec<Said> {
    let ids = labels(window, &["Show evidence for "]);
    let savings = labels(window, &["saves ", "saving unknown", "about the capture"]);
    assert_eq!(ids.len(), savings.len(), "{ids:?} {savings:?}");
    ids.iter()
        .map(|id| id.replace("Show evidence for ", ""))
        .zip(savings)
        .collect()
}

/// Both look at one window of each sample: opening it is most of the work.
#[test]
fn hints_and_headline_figures_are_the_same_in_text_json_and_window() {
    let (mut figures_seen, mut hints_seen) = (0, 0);
    let only = [
        "--only",
        "hints,steps,utilization,overlap",
        "--format",
        "json",
    ];
    for path in samples() {
        let screen = analyze(&path, &[]);
        let json: Value = serde_json::from_str(&analyze(&path, &only)).unwrap();
        let report = |id: &str| json["reports"][id]["report"].clone();
        let mut window = shown(&path);
        figures_seen += headline_figures_compared(&path, &screen, report, &mut window);
        let hints = report("hints");
        hints_seen += hints_and_savings_compared(&path, &screen, &hints, &mut window);
    }
    assert!(figures_seen > 50, "{figures_seen}");
    assert!(hints_seen > 20, "{hints_seen}");
}

fn hints_and_savings_compared(
    path: &Path,
    screen: &str,
    report: &Value,
    window: &mut Harness<'static, App>,
) -> usize {
    let expected: Vec<Said> = report["hints"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|hint| of_json(hint, report))
        .collect();
    assert_eq!(
        of_text(&analyze(path, &["--only", "hints"])),
        expected,
        "text of {}",
        path.display()
    );
    want(window, ViewCommand::ShowTab("hints".to_owned()));
    assert_eq!(of_window(window), expected, "window of {}", path.display());

    // The first screens show the first hints about the program.
    want(window, ViewCommand::ShowTab("overview".to_owned()));
    let on_overview: Vec<String> = labels(window, &["Hint K"])
        .iter()
        .map(|label| label[5..8].to_owned())
        .collect();
    // `1 K01 Communication is exposed: saves …`
    let is_head = |line: &&str| line.len() > 5 && line[1..].starts_with(" K");
    let ids: Vec<&str> = screen
        .lines()
        .filter(is_head)
        .map(|line| &line[2..5])
        .collect();
    assert_eq!(on_overview, ids, "first screen of {}", path.display());
    let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    for (id, saving) in expected.iter().filter(|(id, _)| ids.contains(&id.as_str())) {
        assert!(words.contains(saving.as_str()), "{id} {saving}: {screen}");
    }
    expected.len()
}

/// Reports come one after the other, and which figures come first is known with the last of them.
#[test]
fn figures_keep_their_places_while_reports_are_computed() {
    let path = Path::new(SAMPLES).join("synthetic_v5e_8chip_overlap.xplane.pb");
    let mut window = opening(&path);
    let titles = METRICS.map(|(_, title)| title);
    let mut seen = vec![Vec::new()];
    let end = Instant::now() + Duration::from_mins(1);
    while !window.state().is_settled() || seen.len() == 1 {
        assert!(Instant::now() < end, "{seen:?}");
        window.step();
        let figures = labels(&window, &titles);
        if seen.last() != Some(&figures) {
            seen.push(figures);
        }
    }
    assert_eq!(seen.len(), 2, "{seen:?}");
}

/// Figures of utilization on the first screens.
const METRICS: [(&str, &str); 6] = [
    ("mfu_steady_percent", "MFU, steady steps"),
    ("mfu_window_percent", "MFU, first op to last"),
    ("mxu_util_steady_percent", "Matrix FLOPs, steady steps"),
    ("mxu_hw_percent", "MXU by hardware counter"),
    ("hbm_util_steady_percent", "HBM, steady steps"),
    ("device_idle_percent", "Idle, first op to last"),
];

fn headline_figures_compared(
    path: &Path,
    text: &str,
    report: impl Fn(&str) -> Value,
    window: &mut Harness<'static, App>,
) -> usize {
    let mut figures_seen = 0;
    if let Some(fold) = window.query_by_label("More figures") {
        fold.click();
        settle(window);
    }
    let label = |title: &str| labels(window, &[&format!("{title}: ")]);

    let step = report("steps")["time"]["median_ps"]
        .as_f64()
        .map(|ps| number::value(ps, Unit::Picoseconds));
    let expected: Vec<String> = step
        .iter()
        .map(|step| format!("Step, median: {step}"))
        .collect();
    assert_eq!(label("Step, median"), expected, "{}", path.display());
    if let Some(step) = step {
        assert!(text.contains(&format!(" {step}")), "{step}: {text}");
        figures_seen += 1;
    }

    // Of a step, as the step beside it.
    let steps = report("overlap")["sums_over"]["steps"].as_f64();
    let exposed = report("overlap")["summary"]["exposed_mean_ps"]
        .as_f64()
        .map(|ps| ps / steps.unwrap_or(1.0));
    let exposed = exposed.map(|ps| number::value(ps, Unit::Picoseconds));
    let title = if steps.is_some() {
        "in a step"
    } else {
        "of a device"
    };
    let title = format!("Exposed communication {title}");
    let expected: Vec<String> = exposed
        .iter()
        .map(|time| format!("{title}: {time}"))
        .collect();
    assert_eq!(label(&title), expected, "{}", path.display());
    if let Some(exposed) = exposed {
        let line = text.lines().find(|line| line.starts_with(&title));
        let says = |line: &str| line[title.len()..].trim_start().starts_with(&exposed);
        assert!(line.is_none_or(says), "{exposed}: {text}");
        figures_seen += 1;
    }

    let combined = report("utilization")["combined"].clone();
    for (id, title) in METRICS {
        let metric = combined
            .as_array()
            .into_iter()
            .flatten()
            .find(|metric| metric["id"] == id);
        let value = metric.and_then(|metric| metric["value"].as_f64());
        let line = text.lines().find(|line| line.starts_with(title));
        let Some(value) = value.map(|value| number::value(value, Unit::Percent)) else {
            assert_eq!(line, None, "{title} of {}", path.display());
            assert!(
                label(title).iter().all(|label| label.ends_with(": –")),
                "{title}"
            );
            continue;
        };
        assert!(
            line.is_none_or(|line| line[title.len()..]
                .trim_start()
                .trim_start_matches("at least ")
                .starts_with(&value)),
            "{title}: {text}"
        );
        let exact = [format!("{title}: {value}")];
        let bound = [format!("{title}: at least {value}")];
        let seen = label(title);
        assert!(
            seen == exact || seen == bound,
            "{seen:?} of {}: {value}",
            path.display()
        );
        figures_seen += 1;
    }
    figures_seen
}

/// Reports and `--range` count from the origin of the trace, which may lie before the first event.
#[test]
fn window_and_reports_share_the_time_origin() {
    let loader: TraceLoader = Arc::new(|path, _progress| {
        let mut builder = trace_model::TraceBuilder::new();
        let core = builder.group(
            None,
            trace_model::GroupKind::TensorCore { ordinal: 0 },
            "/device:TPU:0",
        );
        let track = builder.track(core, trace_model::TrackKind::Ops, 0, "XLA Ops");
        for (at, name) in [(482_900_000, "first"), (600_000_000, "second")] {
            let label = builder.label(name, None);
            let range = trace_model::TimeRange::at(
                trace_model::Timestamp::from_ps(at),
                Picos::from_ps(7_000_000),
            );
            builder.add_slice(track, trace_model::SliceSpec::new(range, label));
        }
        Ok(OpenTrace::new(
            path.to_owned(),
            Session::from_model(builder.finish(), Options::default()),
        ))
    });
    let mut window = Harness::builder()
        .with_size(vec2(1800.0, 1_200.0))
        .build_eframe(|cc| app(&cc.egui_ctx, Settings::default(), loader));
    open(&mut window, "late");
    want(&mut window, ViewCommand::ShowPanel(Panel::Details, true));
    let model = window.state().trace().unwrap().model.clone();
    let second = model
        .all_slices()
        .find(|slice| slice.name() == "second")
        .unwrap()
        .id();
    want(&mut window, ViewCommand::Select(second));
    assert!(
        window.query_all_by_label("600.0 µs").count() >= 1,
        "when it begins"
    );
    assert_eq!(window.query_all_by_label("117.1 µs").count(), 0);
}
