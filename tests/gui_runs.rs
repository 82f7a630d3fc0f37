//! The runs of the server that a page comes from.

use std::path::Path;
use std::sync::Mutex;

use view::compare::TraceSide;

use super::*;

type Answer = Result<Option<String>, String>;

const RUNS: &str = r#"{"runs": [
    {"id": "a1", "name": "trace", "place": "logs", "hosts": ["h0", "h1"], "bytes": 28000000, "modified_s": 0},
    {"id": "b2", "name": "other trace", "place": "logs", "hosts": [], "bytes": null, "modified_s": null},
    {"id": "c3", "name": "third", "place": "logs", "hosts": [], "bytes": null, "modified_s": null,
     "summary": {"devices": "8 × TPU v5 Lite", "steps": 4, "step_ps": 11740000000.0,
                 "verdict": "63.5 % of device time is communication", "lost": "The file ends too early"}},
    {"id": "d4", "name": "fourth", "place": "logs", "hosts": [], "bytes": null, "modified_s": null,
     "error": "damaged XLA profile (XPlane protobuf) at byte 27"}
], "total": 4, "offset": 0, "errors": [{"place": "away", "message": "it cannot be read"}]}"#;

/// A window with a server that gives these answers, the last one again and again.
fn window_of(answers: Vec<Answer>) -> Harness<'static, App> {
    let answers = Mutex::new(answers);
    let next = move || {
        let mut answers = answers.lock().expect("no test fails while it is locked");
        if answers.len() > 1 {
            answers.remove(0)
        } else {
            answers[0].clone()
        }
    };
    let mut window = Harness::builder()
        .with_size(vec2(1400.0, 800.0))
        .build_eframe(move |cc| {
            app(&cc.egui_ctx, Settings::default(), loader())
                .with_runs(Arc::new(move |then| then(next())))
        });
    settle(&mut window);
    window
}

fn path(window: &Harness<'_, App>) -> PathBuf {
    window
        .state()
        .trace()
        .expect("a trace is open")
        .path
        .clone()
}

#[test]
fn runs_are_listed_with_what_is_known_of_them() {
    let mut window = window_of(vec![Ok(Some(RUNS.to_owned()))]);
    window.get_by_label_contains("2 hosts");
    window.get_by_label("it cannot be read: away");
    for said in [
        "8 × TPU v5 Lite · 4 steps, median 11.74 ms",
        "63.5 % of device time is communication",
        "damaged: The file ends too early",
        "cannot be opened: damaged XLA profile (XPlane protobuf) at byte 27",
    ] {
        window.get_by_label(said);
    }
    window.get_by_label("other trace").click();
    settle(&mut window);
    assert_eq!(path(&window), Path::new("run/b2/other trace"));
}

#[test]
fn another_run_is_found_and_compared() {
    let mut window = window_of(vec![Ok(Some(RUNS.to_owned()))]);
    want(&mut window, AppCommand::Open(PathBuf::from("run/a1/trace")));
    settle(&mut window);
    window.get_by_label("Compare with…").click();
    settle(&mut window);
    window.get_by_label("third");
    let names = window.query_all_by_label("trace").count();
    assert_eq!(
        names, 1,
        "the title names it; it is not compared with itself"
    );
    window.get_by_label("Choose a run or a file…").click();
    settle(&mut window);
    window.event(Event::Text("OTHER".to_owned()));
    window.run_steps(2);
    assert!(window.query_by_label("third").is_none(), "it does not fit");
    window.get_by_label("other trace").click();
    settle(&mut window);
    assert_eq!(
        window
            .state()
            .trace_of(TraceSide::B)
            .map(|trace| trace.path.clone()),
        Some("run/b2/other trace".into())
    );
}

#[test]
fn without_a_server_there_is_no_list() {
    let window = window_of(vec![Ok(None)]);
    assert!(window.query_by_label("Runs of this server").is_none());
}

#[test]
fn damaged_answers_are_said_and_empty_lists_explained() {
    let window = window_of(vec![Ok(Some("{".to_owned()))]);
    window.get_by_label_contains("list of runs cannot be read");
    let window = window_of(vec![Ok(Some(
        r#"{"runs": [], "total": 0, "errors": []}"#.to_owned(),
    ))]);
    window.get_by_label_contains("No runs yet");
}
