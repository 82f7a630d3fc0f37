//! `systole history --html`: charts of numbers over the runs, with gates and the run from which a number is another one.

use serde_json::{Value, json};

use crate::place::{Place, stderr, stdout};

/// A line of a history: a run with a step of so many microseconds.
fn line(run: usize, step_us: f64, more: &Value) -> String {
    let mut metrics = json!({"step.time_ps": step_us * 1e6, "compile.wall_ps": 5e9});
    for (id, value) in more.as_object().into_iter().flatten() {
        metrics[id] = value.clone();
    }
    let status = if step_us > 110.0 { "fail" } else { "pass" };
    let line = json!({
        "schema": "systole.history/1", "tool": "systole", "commit": format!("{run:02}abcdef0123456789"),
        "inputs": [{"name": "host.xplane.pb", "path": format!("logs/run{run:02}/host.xplane.pb")}], "steps": 10, "metrics": metrics,
        "gates": [{"name": "step.time", "level": "error", "status": status, "actual": step_us, "base": 100.0}],
    });
    format!("{line}\n")
}

#[test]
fn the_run_with_which_a_number_changed_is_marked() {
    let place = Place::empty();
    let noise = |run: usize| (run * 7 % 5) as f64 * 0.1;
    let runs = (0..14).map(|run| {
        let step = if run < 8 { 100.0 } else { 120.0 };
        let mfu = (run % 3 != 0).then_some(40.0 + noise(run));
        line(run, step + noise(run), &json!({"mfu_steady_percent": mfu}))
    });
    place.write("h.jsonl", runs.collect::<String>().as_bytes());
    let output = place.run(&["history", "h.jsonl", "--html", "page.html"]);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("The last 14 runs"),
        "the table is printed as ever"
    );
    let page = place.read("page.html");
    let headline = "<h1>Step time rose by 19.9 % with run logs/run08 (commit 08abcdef01)</h1>";
    assert!(page.contains(headline), "{page}");
    for words in [
        "MFU",
        "Compile time",
        "rank sum test",
        "FAIL: step.time",
        "5 runs did not record it",
        "No change beyond noise",
    ] {
        assert!(page.contains(words), "{words}");
    }
    assert_eq!(
        page.matches("FAIL: step.time").count(),
        16,
        "six runs in three charts, as far as recorded"
    );
    assert!(
        !page.contains("http://") && !page.contains("https://") && !page.contains("<script"),
        "nothing is loaded"
    );
    // The page replaces no history, and nothing that another program wrote.
    assert_eq!(place.code(&["history", "h.jsonl", "--html", "h.jsonl"]), 2);
    place.write("notes.txt", b"mine");
    assert_ne!(
        place.code(&["history", "h.jsonl", "--html", "notes.txt"]),
        0
    );
    assert_eq!(place.read("notes.txt"), "mine");
}

#[test]
fn histories_without_a_change_say_so() {
    let place = Place::empty();
    for runs in [0, 1, 2, 30] {
        let lines: String = (0..runs).map(|run| line(run, 100.0, &json!({}))).collect();
        place.write("h.jsonl", lines.as_bytes());
        let args = ["history", "h.jsonl", "--last", "0", "--html", "page.html"];
        assert_eq!(place.code(&args), 0, "{runs}");
        let page = place.read("page.html");
        let said = if runs < 8 {
            "Too few runs to look for a change: it takes 8"
        } else {
            "No number changed by more than noise"
        };
        assert!(page.contains(said), "{runs}: {page}");
    }
}

#[test]
fn the_first_run_shown_is_compared_with_the_run_before_it() {
    let place = Place::empty();
    let lines = line(0, 50.0, &json!({})) + &line(1, 100.0, &json!({}));
    let text = |lines: &str| {
        place.write("h.jsonl", lines.as_bytes());
        stdout(&place.run(&["history", "h.jsonl", "--last", "1"])).to_owned()
    };
    let found = text(&lines);
    assert!(found.contains("+100.0 %"), "{found}");
    assert!(found.contains("Commit"), "{found}");
    let unknown: Vec<String> = lines
        .lines()
        .map(|line| {
            let mut line: Value = serde_json::from_str(line).unwrap();
            line.as_object_mut().unwrap().remove("commit");
            line.to_string()
        })
        .collect();
    let found = text(&unknown.join("\n"));
    assert!(!found.contains("Commit"), "{found}");
}
