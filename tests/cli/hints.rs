//! Hints and what-if replays of the built program.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::process::{Command, Output, Stdio};

use sample_traces::synthetic::{SyntheticRun, TrainingSpec};
use sample_traces::write::xspace_bytes;
use serde_json::Value;
use tempfile::TempDir;

use crate::place::corpus;

fn run(args: &[&str]) -> Output {
    let output = Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        !String::from_utf8_lossy(&output.stderr).contains("panicked"),
        "{args:?}: {output:?}"
    );
    output
}

fn stdout(output: &Output) -> &str {
    std::str::from_utf8(&output.stdout).unwrap()
}

fn stderr(output: &Output) -> &str {
    std::str::from_utf8(&output.stderr).unwrap()
}

/// A run whose communication is exposed, in a directory of its own.
fn serial_run() -> (TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("serial.xplane.pb");
    fs::write(
        &path,
        xspace_bytes(&SyntheticRun::new(TrainingSpec::default()).session()),
    )
    .unwrap();
    (dir, path.to_str().unwrap().to_owned())
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The hints in a JSON report.
fn hints(path: &str, more: &[&str]) -> Vec<Value> {
    let output = run(&[
        &["analyze", path, "--only", "hints", "--format", "json"],
        more,
    ]
    .concat());
    assert!(output.status.success(), "{}", stderr(&output));
    json(&output)["reports"]["hints"]["report"]["hints"]
        .as_array()
        .unwrap()
        .clone()
}

#[test]
fn serial_run_has_exposed_communication_as_first_hint() {
    let (_dir, path) = serial_run();
    let found = hints(&path, &[]);
    assert_eq!(found[0]["id"], "K01", "{found:?}");
    assert_eq!(found[0]["severity"], "critical");
    assert!(found[0]["saving_ps"].as_i64().unwrap() > 0);
    let text = run(&["analyze", &path]);
    assert!(
        stdout(&text).contains("What to do") && stdout(&text).contains("K01"),
        "{}",
        stdout(&text)
    );
}

#[test]
fn doubling_link_speed_halves_synchronous_communication() {
    let (_dir, path) = serial_run();
    let parts = |args: &[&str]| {
        let output = run(&[&["whatif", &path, "--format", "json"], args].concat());
        assert!(output.status.success(), "{}", stderr(&output));
        let report = json(&output)["reports"]["whatif"]["report"].clone();
        let parts = report["parts"].as_array().unwrap().clone();
        let of = |group: &str| {
            parts.iter().find(|part| part["group"] == group).unwrap()["predicted_ps"].as_i64()
        };
        (of("collective").unwrap(), of("matmul").unwrap())
    };
    let (recorded, matmul) = parts(&["--op", "*", "1x"]);
    let (halved, same) = parts(&["--ici", "2x"]);
    assert!((recorded - 2 * halved).abs() <= 100, "{recorded} {halved}");
    assert_eq!(matmul, same);
    assert_eq!(parts(&["--hide-collectives"]).0, 0);
}

#[test]
fn invalid_what_if_questions_exit_with_2() {
    let (_dir, path) = serial_run();
    for (args, word) in [
        (&["whatif", &path][..], "another ICI bandwidth"),
        (&["whatif", &path, "--ici", "0x"], "0x"),
        (&["whatif", &path, "--op", "no-such", "2x"], "no-such"),
        (&["whatif", &path, "--op", "re:(", "2x"], "re:("),
        (&["explain", "K99"], "K99"),
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(
            stderr(&output).contains(word),
            "{args:?}: {}",
            stderr(&output)
        );
        assert!(stdout(&output).is_empty());
    }
}

#[test]
fn every_hint_has_an_explanation() {
    let list = json(&run(&["explain", "--format", "json"]));
    let rules = list["rules"].as_array().unwrap();
    assert!(rules.len() > 10);
    for rule in rules {
        let id = rule["id"].as_str().unwrap();
        let page = run(&["explain", id]);
        assert!(stdout(&page).starts_with(&format!("# {id} ")), "{id}");
        assert!(stdout(&page).contains("## Source"), "{id}");
    }
}

#[test]
fn settings_change_thresholds_and_suppress_hints() {
    let (dir, path) = serial_run();
    let config = dir.path().join("systole.toml");
    let with = |text: &str| {
        fs::write(&config, text).unwrap();
        hints(&path, &["--config", config.to_str().unwrap()])
    };
    let ids = |found: &[Value]| {
        found
            .iter()
            .map(|hint| hint["id"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert!(
        !ids(&with("[thresholds]\n\"K01.exposed_percent\" = 100\n")).contains(&"K01".to_owned())
    );
    let hidden = "[[suppress]]\nhint = \"K01\"\nreason = \"known\"\n";
    assert!(!ids(&with(hidden)).contains(&"K01".to_owned()));
    // The suppressed hint is still counted.
    let text = run(&[
        "analyze",
        &path,
        "--only",
        "hints",
        "--config",
        config.to_str().unwrap(),
    ]);
    assert!(
        stdout(&text).contains("Suppressed: K01 (known)"),
        "{}",
        stdout(&text)
    );
    // An expired suppression has no effect, and a message says so.
    fs::write(&config, format!("{hidden}until = 2020-01-01\n")).unwrap();
    let output = run(&[
        "analyze",
        &path,
        "--only",
        "hints",
        "--config",
        config.to_str().unwrap(),
    ]);
    assert!(
        stdout(&output).contains("K01") && stderr(&output).contains("expired"),
        "{}",
        stderr(&output)
    );
    fs::write(&config, "[[suppres]]\n").unwrap();
    let output = run(&["analyze", &path, "--config", config.to_str().unwrap()]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("suppres") && stderr(&output).contains("systole.toml"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn severe_hints_can_fail_a_build() {
    let (_dir, path) = serial_run();
    let code = |args: &[&str]| run(&[&["analyze", &path], args].concat()).status.code();
    assert_eq!(code(&[]), Some(0));
    assert_eq!(code(&["--fail-on", "critical"]), Some(10));
}

/// What is planted in each sample is the first hint. `padded` is left out: to read its operands takes longer than to multiply
/// with the padding, which therefore costs nothing, and its communication is exposed.
#[test]
fn causes_of_samples_are_their_first_hints() {
    let samples = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/samples");
    for (sample, hint) in [
        ("jax_cpu_small.xplane.pb", "K36"),
        ("synthetic_two_hosts", "K01"),
        ("synthetic_v5e_8chip_input_stall.xplane.pb", "K34"),
        ("synthetic_v5e_8chip_overlap.xplane.pb", "K01"),
        ("synthetic_v5e_8chip_recompile.xplane.pb", "K36"),
        ("synthetic_v5e_8chip_serial.xplane.pb", "K01"),
        ("synthetic_v5e_8chip_straggler.xplane.pb", "K06"),
        ("synthetic_v5e_decode.xplane.pb", "K16"),
        ("synthetic_v5e_serving.xplane.pb", "K52"),
        ("synthetic_v5p_ring_serial.xplane.pb", "K01"),
        ("synthetic_v6e_pallas_waits.xplane.pb", "K28"),
    ] {
        let found = hints(&format!("{samples}/{sample}"), &[]);
        assert_eq!(found[0]["id"], hint, "{sample}");
    }
}

/// Seven of eight devices wait as long for the last one, and all wait as long for input.
#[test]
fn of_equal_devices_the_first_by_name_is_named_or_none() {
    let Some(corpus) = corpus() else { return };
    let path = corpus.join("planted/mh_skew5");
    let path = path.to_str().unwrap();
    let found = hints(path, &[]);
    let statement = |id: &str| {
        let hint = found.iter().find(|hint| hint["id"] == id);
        hint.unwrap()["statement"].as_str().unwrap().to_owned()
    };
    assert!(
        statement("K06").contains("hostA TPU:0 waits longest"),
        "{}",
        statement("K06")
    );
    assert!(
        statement("K34").starts_with("every device waits"),
        "{}",
        statement("K34")
    );
    let table = run(&[
        "analyze", path, "--only", "balance", "--format", "csv", "--table", "balance",
    ]);
    let table = String::from_utf8(table.stdout).unwrap();
    let row = |id: &str| table.lines().find(|line| line.starts_with(id)).unwrap();
    assert!(row("Waits for others").contains("hostA TPU:0"), "{table}");
    assert!(
        !row("Step time").contains("host") && !row("Idle").contains("host"),
        "{table}"
    );
}
