//! Real captures: each is analyzed, and the first sentence names the cause that is known for it.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::ffi::OsStr;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::commands::{code, run, stderr, stdout};
use crate::place::corpus;

/// The part of the text report below the header: the verdict.
fn verdict(path: &Path) -> String {
    let output = run(&["analyze", path.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let paragraphs: Vec<_> = stdout(&output).split("\n\n").collect();
    assert!(
        stdout(&output).lines().count() <= 30,
        "more than a screen:\n{}",
        stdout(&output)
    );
    assert!(
        stdout(&output)
            .lines()
            .all(|line| line.chars().count() <= 100),
        "{}",
        stdout(&output)
    );
    paragraphs[1]
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
}

#[test]
fn every_real_trace_is_analyzed() {
    let Some(corpus) = corpus() else { return };
    for folder in ["tpu", "host", "gpu", "big"] {
        for entry in fs::read_dir(corpus.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            let name = path.to_str().unwrap();
            let ending = path.extension().and_then(OsStr::to_str).unwrap_or_default();
            if !["pb", "gz"].contains(&ending) {
                continue;
            }
            let output = run(&["analyze", name, "--format", "json"]);
            assert_eq!(code(&output), 0, "{name}: {}", stderr(&output));
            let json: Value = serde_json::from_slice(&output.stdout).unwrap();
            assert!(json["trace"]["slices"].as_u64().unwrap() > 1000, "{name}");
        }
    }
}

#[test]
fn the_size_of_a_capture_tells_how_many_steps_fit() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v6e_x4_host_offload_steps_added.xplane.pb");
    let path = path.to_str().unwrap();
    let output = run(&["doctor", path, "--size", "--format", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let size = &json["size"];
    let parts = size["parts"].as_array().unwrap();
    let bytes: u64 = parts
        .iter()
        .map(|part| part["bytes"].as_u64().unwrap())
        .sum();
    assert_eq!(bytes, fs::metadata(path).unwrap().len());
    let fitting = size["steps_that_fit"].as_u64().unwrap();
    let step: u64 = parts
        .iter()
        .filter_map(|part| part["step_bytes"].as_u64())
        .sum();
    let most = fitting * step;
    assert!(most > 2_000_000_000 && most < 2_150_000_000, "{size}");
    let text = run(&["doctor", path, "--size"]);
    let text = stdout(&text);
    assert!(text.contains("255,260 steps of this kind fit"), "{text}");
    assert!(text.lines().count() <= 30, "{text}");
    let json = corpus.join("tpu/v5e_matmul.trace.json.gz");
    let refused = run(&["doctor", json.to_str().unwrap(), "--size"]);
    assert!(stderr(&refused).contains("*.xplane.pb"), "{refused:?}");
}

#[test]
fn rows_of_a_capture_stand_beside_those_that_it_can_hold() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v5e_matmul.xplane.pb");
    let path = path.to_str().unwrap();
    let output = run(&["doctor", path, "--rows", "--format", "json"]);
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        (&json["schema"], &json["rows"]["chip"]),
        (&"systole.rows/1".into(), &"v5e".into())
    );
    let rows = json["rows"]["rows"].as_array().unwrap();
    let here: Vec<_> = rows
        .iter()
        .filter(|row| row["events"] != 0)
        .map(|row| {
            (
                row["row"].as_str().unwrap(),
                row["events"].as_u64().unwrap(),
            )
        })
        .collect();
    let expected = [
        ("XLA Modules", 20),
        ("XLA Ops", 60),
        ("Async XLA Ops", 20),
        ("XLA TraceMe", 20),
    ];
    assert_eq!(here, expected);
    let text = run(&["doctor", path, "--rows"]);
    let text = stdout(&text);
    assert!(
        text.contains("temperature: tpu_e2e_enable_fw_thermal_event"),
        "{text}"
    );
    // Without a TPU there are none to expect, but for a chip that is named.
    let gpu = corpus.join("gpu/tf2_8xV100.xplane.pb");
    let gpu = gpu.to_str().unwrap();
    let refused = run(&["doctor", gpu, "--rows"]);
    assert_eq!(refused.status.code(), Some(11), "{refused:?}");
    assert!(
        stderr(&refused).contains("no TPU is in this capture"),
        "{refused:?}"
    );
    let named = run(&["doctor", gpu, "--rows", "--device-spec", "v5e"]);
    assert!(stdout(&named).contains("XLA Modules"), "{named:?}");
    let health = run(&["doctor", gpu]);
    let health = stdout(&health);
    assert!(
        health.contains("The checks that apply found nothing.")
            && health.contains("checks of TPUs do not apply"),
        "{health}"
    );
    // The chip has no SparseCore.
    assert!(!text.contains("tpu_num_sparse_cores_to_trace"), "{text}");
}

#[test]
fn examples_of_the_import_log_are_said_in_full() {
    let Some(corpus) = corpus() else { return };
    let cut = corpus.join("host/jax_cpu_transformer_recompiles.xplane.pb");
    let output = run(&["doctor", cut.to_str().unwrap()]);
    let words: Vec<&str> = stdout(&output).split_whitespace().collect();
    let said = words.join(" ");
    assert!(
        said.contains("a field of no known type; reading continues at byte 1427441"),
        "{said}"
    );
}

/// The facts are those of the capture's README and of XProf's answers for it.
#[test]
fn first_sentence_names_the_dominant_cause() {
    let Some(corpus) = corpus() else { return };
    for name in ["v6e_x4_host_offload", "v6e_x4_host_offload_steps_added"] {
        let offload = verdict(&corpus.join("tpu").join(name).with_extension("xplane.pb"));
        assert!(
            offload.starts_with("The loop waits for host memory 96.9 % of each step: 760.1 ms of"),
            "{offload}"
        );
    }
    for ending in ["xplane.pb", "trace.json.gz"] {
        let matmul = verdict(&corpus.join("tpu/v5e_matmul").with_extension(ending));
        assert!(
            matmul.starts_with("The device is idle 98.2 % of each step")
                && matmul.contains("compiling 166.6 ms"),
            "{matmul}"
        );
        let recompiles = verdict(
            &corpus
                .join("host/jax_cpu_transformer_recompiles")
                .with_extension(ending),
        );
        assert!(
            recompiles.starts_with("Compiling takes 29."),
            "{recompiles}"
        );
        assert!(
            recompiles.ends_with("all 3 compilations are recompilations."),
            "{recompiles}"
        );
    }
}

#[test]
fn a_part_says_what_is_not_in_it() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("tpu/v5e_matmul.xplane.pb");
    let first = |words: &[&str]| {
        let output = run(&[&["analyze", path.to_str().unwrap()], words].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        let words: Vec<_> = stdout(&output).split_whitespace().collect();
        words.join(" ")
    };
    let range = first(&["--range", "210ms..220ms"]);
    assert!(
        range.contains("Nothing was compiled in this range"),
        "{range}"
    );
    let steps = first(&["--steps", "0..1"]);
    assert!(steps.contains("1 step of 372.6 µs"), "{steps}");
    assert!(
        steps.contains("steps 0 to 1 without step 0 (warm-up: compiles for "),
        "{steps}"
    );
}
