//! `systole watch`: each new run of a log directory is judged once.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;
use std::process::Output;

use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
use serde_json::Value;
use trace_model::Picos;

use crate::outputs::{run, text};

fn add_run(logdir: &Path, name: &str, work_ms: i64) {
    let dir = logdir.join("plugins/profile").join(name);
    fs::create_dir_all(&dir).unwrap();
    let work = Picos::from_ps(work_ms * trace_model::time::PS_PER_MS);
    let session = FleetSpec { devices: 2, steps: 12, work, calls: true, ..FleetSpec::default() }.session();
    fs::write(dir.join("host.xplane.pb"), xspace_bytes(&session)).unwrap();
}

fn watch(logdir: &Path, more: &[&str]) -> (Output, Vec<Value>) {
    let args = ["watch", logdir.to_str().unwrap(), "--once", "--settle", "0", "--format", "json"];
    let output = run(&[&args, more].concat());
    let lines = text(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    (output, lines)
}

fn of(lines: &[Value]) -> Vec<(&str, &str)> {
    lines.iter().map(|line| (line["run"].as_str().unwrap(), line["status"].as_str().unwrap())).collect()
}

#[test]
fn each_run_is_judged_once_against_the_last_good_ones() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    let (output, lines) = watch(logs, &[]);
    assert!(output.status.success() && lines.is_empty(), "nothing is there yet: {}", text(&output.stderr));
    add_run(logs, "2026_01_01_10_00_00", 7);
    add_run(logs, "2026_01_02_10_00_00", 7);
    let (output, lines) = watch(logs, &[]);
    assert_eq!(of(&lines), [("2026_01_01_10_00_00", "not judged"), ("2026_01_02_10_00_00", "pass")]);
    assert!(output.status.success() && lines[1]["change"].is_string() && lines[0]["change"].is_null());
    assert!(lines.iter().all(|line| line["step_ps"].as_f64().is_some_and(|ps| ps > 9e9)), "{lines:?}");
    assert!(watch(logs, &[]).1.is_empty(), "nothing is new");

    add_run(logs, "2026_01_03_10_00_00", 9);
    add_run(logs, "2026_01_04_10_00_00", 7);
    let (output, lines) = watch(logs, &["--exit-on-regression"]);
    assert_eq!(of(&lines), [("2026_01_03_10_00_00", "FAIL")], "it stops there");
    assert_eq!(output.status.code(), Some(10));
    assert!(!lines[0]["failed"].as_array().unwrap().is_empty());
    let (output, lines) = watch(logs, &["--exit-on-regression"]);
    assert_eq!(of(&lines), [("2026_01_04_10_00_00", "pass")], "the failed run is no baseline");
    assert!(output.status.success());
    let history = fs::read_to_string(logs.join("systole.history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 4);
}

#[test]
fn a_run_that_cannot_be_read_does_not_stop_the_watch() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    let broken = logs.join("plugins/profile/2026_01_01_10_00_00");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("host.xplane.pb"), "no profile").unwrap();
    add_run(logs, "2026_01_02_10_00_00", 7);
    let (output, lines) = watch(logs, &[]);
    assert_eq!(of(&lines), [("2026_01_01_10_00_00", "unreadable"), ("2026_01_02_10_00_00", "not judged")]);
    assert!(output.status.success() && lines[0]["error"].is_string());
    let one_line = run(&["watch", logs.to_str().unwrap(), "--once", "--settle", "0"]);
    assert_eq!(text(&one_line.stdout).lines().count(), 1, "the unreadable one again, for want of a history");
}

#[test]
fn what_is_no_log_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("no-such");
    assert_eq!(run(&["watch", missing.to_str().unwrap(), "--once"]).status.code(), Some(3));
    fs::write(dir.path().join("a.xplane.pb"), "").unwrap();
    let output = run(&["watch", dir.path().to_str().unwrap(), "--once", "--settle", "0"]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}
