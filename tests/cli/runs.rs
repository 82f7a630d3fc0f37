//! Which files of a log directory the built program reads, and its messages about them.
#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::place::{Place, stderr, stdout};

/// The JSON of `doctor`, and its messages on stderr.
fn doctor(path: &Path, more: &[&str]) -> (Value, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    let output = command
        .args(["doctor", "--format", "json"])
        .args(more)
        .arg(path)
        .stdin(Stdio::null())
        .output();
    let output = output.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    (
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}")),
        said,
    )
}

/// A log directory of samples: folder of the run, host, sample.
fn logs(files: &[(&str, &str, &str)]) -> TempDir {
    let samples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../assets/samples");
    let dir = tempfile::tempdir().unwrap();
    for (run, host, sample) in files {
        let folder = dir.path().join("plugins/profile").join(run);
        fs::create_dir_all(&folder).unwrap();
        fs::copy(
            samples.join(format!("{sample}.xplane.pb")),
            folder.join(format!("{host}.xplane.pb")),
        )
        .unwrap();
    }
    dir
}

fn files(json: &Value) -> usize {
    json["input"].as_array().unwrap().len()
}

const OVERLAP: &str = "synthetic_v5e_8chip_overlap";
const SERIAL: &str = "synthetic_v5e_8chip_serial";

#[test]
fn joined_hosts_of_sibling_runs_are_reported() {
    let dir = logs(&[
        ("2026_01_31_04_47_36", "host0", OVERLAP),
        ("2026_01_31_04_47_38", "host1", SERIAL),
    ]);
    let (json, said) = doctor(dir.path(), &[]);
    assert_eq!(files(&json), 2);
    assert!(
        said.contains("2026_01_31_04_47_38 with 2026_01_31_04_47_36"),
        "{said}"
    );
    let quiet = doctor(dir.path(), &["-q"]);
    assert_eq!((files(&quiet.0), quiet.1.as_str()), (2, ""));
}

#[test]
fn possibly_related_run_is_named_with_the_option_to_read_it() {
    let dir = logs(&[
        ("2026_01_31_04_46_36", "host0", OVERLAP),
        ("2026_01_31_04_47_38", "host1", SERIAL),
    ]);
    let (json, said) = doctor(dir.path(), &[]);
    assert_eq!(files(&json), 1);
    assert!(said.contains("--run 2026_01_31_04_46_36"), "{said}");
}

#[test]
fn capture_under_two_names_is_read_once() {
    let run = "2026_01_31_04_47_36";
    let dir = logs(&[(run, "host0", OVERLAP), (run, "host1", OVERLAP)]);
    let (json, said) = doctor(dir.path(), &[]);
    assert_eq!(files(&json), 1);
    assert!(
        said.contains("host1.xplane.pb is") && said.contains("host0.xplane.pb under another name"),
        "{said}"
    );
}

fn printed(args: &[&str]) -> String {
    let command = Command::new(env!("CARGO_BIN_EXE_systole"))
        .args(args)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(
        command.status.success(),
        "{args:?}: {}",
        String::from_utf8_lossy(&command.stderr)
    );
    String::from_utf8(command.stdout).unwrap()
}

/// A capture without a TPU may have other devices, and one of some devices is of a program on more.
#[test]
fn runs_say_which_tpus_are_there() {
    let dir = logs(&[("2026_01_31_04_47_36", "host0", "jax_cpu_small")]);
    let runs = dir.path().to_str().unwrap();
    let said = printed(&["runs", runs]);
    assert!(said.contains(" · no TPU · "), "{said}");
    let Some(corpus) = crate::place::corpus() else {
        return;
    };
    let run = dir.path().join("plugins/profile/2026_01_31_04_47_38");
    fs::create_dir_all(&run).unwrap();
    let name = "v6e_x4_host_offload.xplane.pb";
    fs::copy(corpus.join("tpu").join(name), run.join(name)).unwrap();
    let said = printed(&["runs", runs]);
    assert!(said.contains(" · 4 of 8 × TPU v6 Lite · "), "{said}");
}

#[test]
fn runs_are_listed_newest_first_with_their_verdicts() {
    let dir = logs(&[
        ("2026_01_31_04_47_36", "host0", OVERLAP),
        ("2026_01_31_04_47_38", "host1", SERIAL),
        ("2026_01_30_04_47_38", "host0", SERIAL),
    ]);
    let path = dir.path().to_str().unwrap();
    let text = printed(&["runs", path]);
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("2026"))
        .collect();
    assert_eq!(heads.len(), 2, "{text}");
    assert!(
        heads[0].starts_with("2026_01_31_04_47_38  2 hosts (host0, host1) · "),
        "{text}"
    );
    assert!(
        heads[1].contains("8 × TPU v5 Lite") && heads[1].contains("steps, median"),
        "{text}"
    );
    assert!(
        text.contains("with 2026_01_31_04_47_36") && text.contains("% of"),
        "{text}"
    );
    let json: Value = serde_json::from_str(&printed(&[
        "runs",
        path,
        "--format",
        "json",
        "--verdicts",
        "1",
    ]))
    .unwrap();
    assert_eq!(json["schema"], "systole.run-list/1");
    let [first, second] = &json["runs"].as_array().unwrap()[..] else {
        panic!("{json}")
    };
    assert!(
        first["verdict"].is_string() && second["verdict"].is_null() && second["bytes"].is_number(),
        "{json}"
    );
    // In the words of the first screen.
    let screen = printed(&["analyze", path]);
    let screen = screen.split_whitespace().collect::<Vec<_>>().join(" ");
    let said = first["verdict"].as_str().unwrap();
    assert!(screen.contains(said), "{said}: {screen}");
    assert!(printed(&["runs", path, "--verdicts", "0"]).contains("2 of 2 runs were not opened"));
    assert!(
        printed(&["runs", path, "--format", "csv", "--verdicts", "0"])
            .starts_with("run,hosts,bytes")
    );
}

/// However long it is.
#[test]
fn a_list_of_runs_is_told_from_a_trace() {
    let hosts: Vec<String> = (0..50).map(|host| format!("host-{host:0100}")).collect();
    let (run, sample) = ("2026_01_31_04_47_36", "synthetic_v5e_serving");
    let files: Vec<_> = hosts.iter().map(|host| (run, &**host, sample)).collect();
    for files in [&files[..1], &files] {
        let dir = logs(files);
        let path = dir.path().to_str().unwrap();
        let list = dir.path().join("list.json");
        let text = printed(&["runs", path, "--format", "json", "--verdicts", "0"]);
        assert_eq!(text.len() > 4096, files.len() > 1);
        fs::write(&list, text).unwrap();
        let output = crate::outputs::run(&["compare", list.to_str().unwrap(), path]);
        let said = crate::outputs::text(&output.stderr);
        assert!(said.contains("this is \"systole.run-list/1\""), "{said}");
    }
}

#[test]
fn lists_of_runs_fit_narrow_terminals_and_tell_runs_apart() {
    let dir = logs(&[
        (
            "2026_01_30_04_47_38",
            "a-very-long-name-of-a-host-0",
            SERIAL,
        ),
        (
            "2026_01_31_04_47_36",
            "a-very-long-name-of-a-host-0",
            SERIAL,
        ),
    ]);
    let narrow = |args: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
        command
            .args(args)
            .current_dir(dir.path())
            .env("COLUMNS", "80");
        let output = command.stdin(Stdio::null()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).unwrap();
        assert!(
            text.lines().all(|line| line.chars().count() <= 80),
            "{text}"
        );
        text
    };
    let listed = narrow(&["runs", ".", "--verdicts", "1"]);
    assert!(listed.contains("1 of 2 runs was not opened"), "{listed}");
    assert!(narrow(&["runs", ".", "--verdicts", "0"]).contains("2 of 2 runs were not opened"));
    for (count, run) in ["2026_01_30_04_47_38", "2026_01_31_04_47_36"]
        .iter()
        .enumerate()
    {
        narrow(&["analyze", ".", "--run", run, "--history", "h.jsonl"]);
        let trend = narrow(&["history", "h.jsonl"]);
        let title = ["The last run", "The last 2 runs"][count];
        assert!(trend.lines().next() == Some(title), "{trend}");
    }
    let trend = narrow(&["history", "h.jsonl"]);
    for run in ["2026_01_30_04_47_38", "2026_01_31_04_47_36"] {
        assert!(trend.contains(run), "{trend}");
    }
}

#[test]
fn empty_protobuf_beside_a_json_is_said_with_what_that_loses() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("host0.xplane.pb"), b"").unwrap();
    let event = br#"{"traceEvents":[{"ph":"X","name":"x","pid":1,"tid":1,"ts":0,"dur":1}]}"#;
    fs::write(dir.path().join("host0.trace.json"), event).unwrap();
    let (json, said) = doctor(dir.path(), &[]);
    assert_eq!(json["input"][0]["name"], "host0.trace.json");
    for words in [
        "could not write more than 2 GB",
        "host0.trace.json is read instead, which has no peaks",
    ] {
        assert!(said.contains(words), "{said}");
    }
}

#[test]
fn run_that_is_being_written_is_waited_for() {
    use std::io::{BufRead as _, BufReader, Read as _};

    let dir = logs(&[("2026_01_31_04_47_36", "host0", OVERLAP)]);
    let file = dir
        .path()
        .join("plugins/profile/2026_01_31_04_47_36/host0.xplane.pb");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    let (json, said) = doctor(dir.path(), &[]);
    assert!(
        json["import"].to_string().contains("still-written"),
        "{json}"
    );
    assert!(
        said.contains("host0.xplane.pb was written") && said.contains("--wait"),
        "{said}"
    );

    fs::write(&file, "").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command
        .args(["doctor", "--format", "json", "--wait=120"])
        .arg(dir.path());
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stderr = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    stderr.read_line(&mut line).unwrap();
    assert!(
        line.contains("waiting until") && line.contains("is written"),
        "{line}"
    );
    fs::write(&file, &whole).unwrap();
    let mut text = String::new();
    child
        .stdout
        .take()
        .unwrap()
        .read_to_string(&mut text)
        .unwrap();
    assert!(child.wait().unwrap().success());
    let json: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(json["input"][0]["bytes"].as_u64(), Some(whole.len() as u64));
    assert!(
        !json["import"].to_string().contains("still-written"),
        "{json}"
    );
}

#[test]
fn a_list_of_which_nothing_can_be_read_fails() {
    let place = Place::empty();
    place.write("logs/plugins/profile/a/host.xplane.pb", b"no profile");
    place.write("logs/plugins/profile/b/host.xplane.pb", b"no profile");
    let output = place.run(&["runs", "logs"]);
    assert_eq!(output.status.code(), Some(4), "{}", stderr(&output));
    let said = stderr(&output);
    for part in [
        "not a profile that this program reads (it looks like text",
        "systole formats lists all",
        "logs/plugins/profile/b/host.xplane.pb",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
    assert!(
        stdout(&output).contains("cannot be opened"),
        "it says why of each"
    );
    assert_eq!(
        place.code(&["runs", "logs", "--verdicts", "0"]),
        0,
        "nothing was tried"
    );
    assert_eq!(place.code(&["runs", "logs", "--verdicts", "1"]), 4);
    let said = stderr(&place.run(&["analyze", "logs", "--run", "b"]));
    assert!(
        said.trim_end()
            .ends_with(": logs/plugins/profile/b/host.xplane.pb"),
        "the file is named, not the log directory: {said}"
    );
    // The folder of a run of several files is named.
    place.write("logs/plugins/profile/b/other.xplane.pb", b"no profile");
    for args in [&["runs", "logs"][..], &["analyze", "logs", "--run", "b"]] {
        let output = place.run(args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{said}");
        for part in [
            "host.xplane.pb: not a",
            "other.xplane.pb: not a",
            ": logs/plugins/profile/b",
        ] {
            assert!(said.contains(part), "{part}: {said}");
        }
        assert!(!said.contains("logs/b"), "{said}");
    }
}
