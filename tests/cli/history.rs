//! `systole history --html`: charts of numbers over the runs, with gates and the run from which a number is another one.

use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
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
    let headline = "<h1>Step time rose by 19.9 %, from 100.2 µs to 120.2 µs, with run run08 (commit 08abcdef01)</h1>";
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

/// The headline of the page of these lines.
fn headline(place: &Place, lines: &str) -> String {
    place.write("h.jsonl", lines.as_bytes());
    let args = ["history", "h.jsonl", "--last", "0", "--html", "page.html"];
    let output = place.run(&args);
    assert!(output.status.success(), "{}", stderr(&output));
    let page = place.read("page.html");
    let (_, after) = page.split_once("<h1>").expect("a headline");
    let (headline, _) = after.split_once("</h1>").expect("its end");
    headline.to_owned()
}

/// These lines with changes, by number of the run.
fn changed(lines: &str, change: impl Fn(usize, &mut Value)) -> String {
    let mut out = String::new();
    for (run, line) in lines.lines().enumerate() {
        let mut line: Value = serde_json::from_str(line).expect("a line of JSON");
        change(run, &mut line);
        out.push_str(&line.to_string());
        out.push('\n');
    }
    out
}

/// Lines of runs whose steps take so many microseconds, hardly more or less.
fn runs(steps: impl IntoIterator<Item = f64>) -> String {
    let noisy = |(run, step): (usize, f64)| {
        line(
            run,
            step * (1.0 + (run * 7 % 5) as f64 * 1e-4),
            &json!({"compile.wall_ps": null}),
        )
    };
    steps.into_iter().enumerate().map(noisy).collect()
}

fn repeated(levels: &[(usize, f64)]) -> Vec<f64> {
    let level = |&(runs, step): &(usize, f64)| std::iter::repeat_n(step, runs);
    levels.iter().flat_map(level).collect()
}

#[test]
fn every_change_is_told_in_order() {
    let place = Place::empty();
    for (levels, expected) in [
        (
            &[(15, 100.0), (15, 115.0), (15, 100.0)][..],
            "Step time rose by 15.0 %, from 100.0 µs to 115.0 µs, with run run15 (commit 15abcdef01), \
             then fell by 13.0 %, from 115.0 µs to 100.0 µs, with run run30 (commit 30abcdef01)",
        ),
        (
            &[(56, 100.0), (4, 200.0)],
            "Step time rose by 100.0 %, from 100.0 µs to 200.1 µs, with run run56 (commit 56abcdef01)",
        ),
        (
            &[(27, 100.0), (3, 200.0)],
            "Step time differs in the last 3 runs, at 200.1 µs: too few to tell",
        ),
        (&[(20, 100.0)], "No number changed by more than noise"),
    ] {
        assert_eq!(headline(&place, &runs(repeated(levels))), expected);
    }
    let drift = (0..40).map(|run| 100.0 + 0.5 * f64::from(run));
    let said = headline(&place, &runs(drift));
    assert!(
        said.starts_with("Step time rose by 1")
            && said.ends_with("between runs run00 and run39, not at one of them"),
        "{said}"
    );
}

#[test]
fn a_change_that_was_not_recorded_is_no_single_run() {
    let place = Place::empty();
    let steps = repeated(&[(10, 100.0), (10, 120.0), (10, 120.0)]);
    let lines = changed(&runs(steps), |run, line| {
        if (10..20).contains(&run) {
            line["metrics"]["step.time_ps"] = Value::Null;
        }
    });
    let said = headline(&place, &lines);
    assert!(
        said.ends_with("between runs run09 and run20, of which the 10 between did not record it"),
        "{said}"
    );
}

#[test]
fn runs_of_one_path_are_told_apart_by_their_numbers() {
    let place = Place::empty();
    let lines = runs(repeated(&[(8, 100.0), (8, 120.0)])).replace("logs/run", "logs/run/");
    let alike = changed(&lines, |_, line| {
        line["inputs"][0]["path"] = json!("/runs/host.xplane.pb");
    });
    let said = headline(&place, &alike);
    assert!(said.contains("with run 9 (host) (commit"), "{said}");
}

/// Twenty runs as `analyze` writes them, of which these change the last ten.
fn recorded(place: &Place, change: impl Fn(&mut Value)) -> String {
    let spec = FleetSpec {
        devices: 1,
        steps: 12,
        ..FleetSpec::default()
    };
    place.write("host.xplane.pb", &xspace_bytes(&spec.session()));
    place.write("one.jsonl", b"");
    place.run(&["analyze", "host.xplane.pb", "--history", "one.jsonl"]);
    changed(&place.read("one.jsonl").repeat(20), |run, line| {
        line["inputs"][0]["fingerprint"] = json!(format!("xxh3-128:{run:032x}"));
        if run >= 10 {
            let step = line["metrics"]["step.time_ps"].as_f64();
            line["metrics"]["step.time_ps"] = json!(step.expect("a step time") * 2.0);
            change(line);
        }
    })
}

#[test]
fn only_runs_of_the_work_of_the_newest_are_compared() {
    type Change = fn(&mut Value);
    let place = Place::empty();
    let same = headline(&place, &recorded(&place, |_| {}));
    assert!(same.starts_with("Step time rose by 100.0 %"), "{same}");
    let others: [(&str, Change); 4] = [
        ("devices (1 against 2)", |line| {
            line["summary"]["facts"]["devices"] = json!(2);
        }),
        ("device (", |line| {
            line["summary"]["facts"]["device_type"] = json!("TPU v9");
        }),
        ("steps (", |line| {
            line["summary"]["steps"]["class"] = json!("jit_eval_step");
        }),
        (
            "times (measured against computed by XLA cost model)",
            |line| {
                line["summary"]["facts"]["simulator"] = json!("XLA cost model");
            },
        ),
    ];
    for (what, change) in others {
        let said = headline(&place, &recorded(&place, change));
        assert_eq!(said, "No number changed by more than noise", "{what}");
        let page = place.read("page.html");
        let why = format!("10 runs left out: not the work of the newest run: other {what}");
        assert!(page.contains(&why), "{why}: {page}");
        let text = place.run(&["history", "h.jsonl", "--format", "json"]);
        assert!(text.status.success());
        let table = place.run(&["history", "h.jsonl"]);
        assert!(!stdout(&table).contains("+100.0 %"), "{}", stdout(&table));
    }
}

#[test]
fn a_capture_that_is_recorded_again_counts_once() {
    let place = Place::empty();
    let lines = recorded(&place, |_| {});
    let (first, last) = (lines.lines().next().unwrap(), lines.lines().last().unwrap());
    let twice = format!("{first}\n").repeat(6) + &format!("{last}\n").repeat(6);
    let said = headline(&place, &twice);
    assert!(said.starts_with("Too few runs"), "{said}");
    let page = place.read("page.html");
    assert!(
        page.contains("10 runs left out: the same captures as runs before"),
        "{page}"
    );
}
