//! The report on serving, through the built program.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::path::Path;

use serde_json::Value;

use crate::outputs::{printed, refused, sample};

fn report(args: &[&str]) -> Value {
    let text = printed(
        &[
            &[
                "analyze", "--only", "serving", "--format", "json", "--top", "0",
            ],
            args,
        ]
        .concat(),
    );
    let document: Value = serde_json::from_str(&text).unwrap();
    document["reports"]["serving"]["report"].clone()
}

#[test]
fn requests_phases_and_what_was_read_are_printed() {
    let path = sample("synthetic_v5e_serving.xplane.pb");
    let text = printed(&["analyze", &path, "--only", "serving", "--top", "0"]);
    for part in [
        "Latencies of requests",
        "time to first token",
        "Phases of serving",
        "Batches by size",
        "prefill",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let hints = printed(&["analyze", &path, "--only", "hints"]);
    assert!(hints.contains("K51") && hints.contains("K52"), "{hints}");
    let found = report(&[&path]);
    assert_eq!(found["requests"].as_array().unwrap().len(), 24);
    assert_eq!(found["latencies"][2]["time"]["count"], 24);
    assert!(
        found["latencies"][2]["time"]
            .get("p99_ps")
            .is_none_or(Value::is_null),
        "24 are too few"
    );
    let part = report(&[&path, "--range", "0..20ms"]);
    assert!(part["requests"].as_array().unwrap().len() < 10);
}

#[test]
fn names_of_annotations_can_be_told() {
    let path = sample("synthetic_v5e_serving.xplane.pb");
    let found = report(&[&path, "--serving", "batch=decode*"]);
    let names = found["annotations"].as_array().unwrap();
    let own = names
        .iter()
        .find(|annotation| annotation["name"] == "decode")
        .unwrap();
    assert_eq!(
        (&own["read_as"], &own["by"]),
        (&Value::from("batch"), &Value::from("pattern"))
    );
    for wrong in ["decode", "decode=", "speculate=x*", "=x"] {
        let said = refused(&["analyze", &path, "--serving", wrong]);
        assert!(
            said.contains("queue, prefill, decode, request, batch"),
            "{wrong}: {said}"
        );
    }
}

/// The batches of a simulator: 56 batches on two stages, requests with prompts of 512 tokens and one token each.
#[test]
fn batches_of_a_simulator_are_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../shared/corpus/simulators/vidur/chrome_trace.json");
    if !path.exists() {
        assert!(
            std::env::var_os("SYSTOLE_REQUIRE_CORPUS").is_none(),
            "no corpus: {}",
            path.display()
        );
        eprintln!("skipped: no {}", path.display());
        return;
    }
    let found = report(&[path.to_str().unwrap()]);
    let trace: Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    let events = trace["traceEvents"].as_array().unwrap();
    let mut batches: Vec<u64> = events
        .iter()
        .map(|event| event["args"]["batch_id"].as_u64().unwrap())
        .collect();
    let mut requests: Vec<u64> = events
        .iter()
        .flat_map(|event| {
            event["args"]["request_ids"]
                .as_array()
                .unwrap()
                .iter()
                .filter_map(Value::as_u64)
        })
        .collect();
    for list in [&mut batches, &mut requests] {
        list.sort_unstable();
        list.dedup();
    }
    assert_eq!(found["requests"].as_array().unwrap().len(), requests.len());
    let sizes = found["batches"].as_array().unwrap().iter();
    let count: usize = sizes
        .map(|size| size["time"]["count"].as_u64().unwrap() as usize)
        .sum();
    assert_eq!(count, batches.len(), "the stages of a batch are one");
    let names: Vec<&str> = found["latencies"]
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|one| one["name"].as_str())
        .collect();
    assert_eq!(
        names,
        ["prefill", "time per output token"],
        "arrivals are not in the file"
    );
}
