//! Answers of `systole mcp`: short, and in the form that the client takes.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::mcp::{Client, RECOMPILE, SAMPLES, at_samples};
use crate::place::Place;

/// The four steps of the instructions, for each sample: what limits it, can it be trusted, the evidence, what to do.
#[test]
fn four_steps_from_the_question_to_the_cause_are_short() {
    let mut client = at_samples();
    let mut files: Vec<String> = fs::read_dir(SAMPLES)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| Path::new(name).extension().is_none_or(|end| end != "md"))
        .collect();
    files.sort();
    assert!(files.len() > 15, "{files:?}");
    let (mut table, mut wrong) = (String::new(), Vec::new());
    for file in &files {
        let mut steps = Vec::new();
        for tool in ["verdict", "doctor", "hints"] {
            let answer = client.call(tool, &json!({"path": file}));
            assert_eq!(
                answer["result"]["isError"], false,
                "{file} {tool}: {answer}"
            );
            steps.push(answer);
        }
        let of = |step: &Value, table: usize| {
            step["result"]["structuredContent"]["tables"][table]["rows"].clone()
        };
        let hint = of(&steps[2], 0)[0][0].clone();
        assert_eq!(
            of(&steps[0], 1)[0][0],
            hint,
            "{file}: the verdict names the first hint"
        );
        steps.push(client.call("explain", &json!({"hint": hint})));
        assert!(
            steps[3].to_string().contains("## Fix"),
            "{file}: {}",
            steps[3]
        );
        let bytes = steps.iter().map(|step| step.to_string().len());
        let bytes: Vec<usize> = bytes.collect();
        let sum: usize = bytes.iter().sum();
        let _ = writeln!(table, "{file} {hint} {sum} {bytes:?}");
        if sum > 10_000 {
            wrong.push(file);
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong:?}\n{table}");
}

#[test]
fn clients_that_take_text_get_the_answer_as_text() {
    let mut client = Client::with(Path::new(SAMPLES), &["--text"]);
    let arguments = json!({"path": RECOMPILE, "assume": {"warmup": 1}});
    let answer = client.call("steps", &arguments);
    let result = &answer["result"];
    assert!(result["structuredContent"].is_null(), "{answer}");
    let answer: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(answer["tables"][0]["id"], "step_time");
    // Assumptions hold the same beside the other arguments, but not twice.
    for (arguments, words) in [
        (
            json!({"path": RECOMPILE, "assume": {"warmup": 9}}),
            "warmup",
        ),
        (json!({"path": RECOMPILE, "warmup": 9}), "warmup"),
        (
            json!({"path": RECOMPILE, "warmup": 1, "assume": {"warmup": 1}}),
            "twice",
        ),
        (json!({"path": RECOMPILE, "assume": [1]}), "an object"),
        (
            json!({"path": RECOMPILE, "assume": {"colour": 1}}),
            "colour",
        ),
    ] {
        let said = client.refused("steps", &arguments);
        assert!(said.contains(words), "{arguments}: {said}");
    }
}

/// Some clients show only the text: it is whole, and says of which run it is.
#[test]
fn texts_are_whole_and_name_the_run() {
    let run = "2026_01_01_00_00_00";
    let place = Place::empty();
    let file = format!("logs/plugins/profile/{run}/host.xplane.pb");
    place.write(
        &file,
        &fs::read(Path::new(SAMPLES).join(RECOMPILE)).unwrap(),
    );
    let mut client = Client::with(&place.path("."), &[]);
    let answer = &client.call("verdict", &json!({"path": "logs"}))["result"];
    let content = &answer["structuredContent"];
    assert_eq!(content["trace"], format!("logs, run {run}"));
    let text = answer["content"][0]["text"].as_str().unwrap();
    assert!(
        text.starts_with(content["statement"].as_str().unwrap()),
        "{text}"
    );
    let asked = json!({"path": "logs", "sql": "SELECT slice_id FROM op_slices", "limit": 5});
    let answer = &client.call("query", &asked)["result"];
    assert_eq!(answer["structuredContent"]["total_is_at_least"], true);
    assert_eq!(answer["content"][0]["text"], "5 of at least 6 rows");
}
