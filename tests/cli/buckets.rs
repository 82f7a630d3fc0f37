//! Profiles in buckets and on web servers, through the built program and a server on this machine.

use std::path::PathBuf;
use std::process::Output;
use std::sync::Arc;
use std::time::{Duration, Instant};

use importers::{ImportError, ImportOptions, Progress, ProgressStage};
use sample_traces::write::gzip;
use serde_json::Value;

use crate::bucket_server::{BucketServer, Fault};
use crate::place::{Place, stderr, stdout};

const RUN: &str = "run/plugins/profile/2026_03_02_10_00_00";
const OLD: &str = "run/plugins/profile/2026_03_01_10_00_00";

/// A trace of `count` slices.
pub(super) fn trace(count: usize) -> Vec<u8> {
    let slice = |at: usize| {
        format!(
            r#"{{"ph":"X","name":"slice {at}","pid":1,"tid":1,"ts":{},"dur":5}}"#,
            at * 10
        )
    };
    let slices: Vec<String> = (0..count).map(slice).collect();
    format!("{{\"traceEvents\":[{}]}}", slices.join(",")).into_bytes()
}

/// A server with two runs, one of two hosts, and a place with a cache of its own.
pub(super) struct Remote {
    pub(super) server: BucketServer,
    pub(super) place: Place,
}

impl Remote {
    pub(super) fn new() -> Self {
        let (new, old) = (trace(3), trace(2));
        let server = BucketServer::with(&[
            (&format!("{RUN}/a.trace.json.gz"), &gzip(&new)),
            (&format!("{RUN}/b.trace.json"), &trace(4)),
            (&format!("{RUN}/a.op_stats.pb"), b"a cache of XProf"),
            (&format!("{OLD}/a.trace.json"), &old),
            (
                &format!("{RUN}/systole.run.json"),
                br#"{"schema":"systole.run/1","versions":{"jax":"2.7.18"}}"#,
            ),
            ("one.json", &trace(7)),
            ("notes/readme.txt", b"nothing to see"),
        ]);
        Self {
            server,
            place: Place::empty(),
        }
    }

    pub(super) fn run(&self, args: &[&str]) -> Output {
        let mut command = self.place.command();
        command
            .env_clear()
            .envs(self.server.variables())
            .env("HOME", self.place.dir.path());
        command
            .env("SYSTOLE_CACHE_DIR", self.place.path("cache"))
            .args(args)
            .output()
            .expect("it starts")
    }

    pub(super) fn web(&self, key: &str) -> String {
        format!("http://127.0.0.1:{}/logs/{key}", self.server.port)
    }

    /// The report of a path, and the requests for it.
    pub(super) fn doctor(&self, args: &[&str]) -> (Value, Vec<String>) {
        let all: Vec<&str> = ["doctor", "--format", "json"]
            .iter()
            .chain(args)
            .copied()
            .collect();
        let output = self.run(&all);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{args:?}: {}",
            stderr(&output)
        );
        (
            serde_json::from_str(stdout(&output)).expect("JSON"),
            self.server.seen(),
        )
    }

    /// The message of a failure.
    pub(super) fn refused(&self, args: &[&str]) -> String {
        let output = self.run(args);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{args:?}: {said}");
        assert!(
            stdout(&output).is_empty()
                && !said.contains("very-secret")
                && !said.contains("panicked"),
            "{said}"
        );
        said
    }
}

fn inputs(report: &Value) -> Vec<&str> {
    let inputs = report["input"].as_array().expect("the inputs");
    inputs
        .iter()
        .filter_map(|input| input["path"].as_str())
        .collect()
}

#[test]
fn a_log_directory_in_any_bucket_is_read_like_one_on_this_machine() {
    let remote = Remote::new();
    for scheme in ["gs", "s3"] {
        let (report, _) = remote.doctor(&[&format!("{scheme}://logs/run")]);
        let path = |name: &str| format!("{scheme}://logs/{RUN}/{name}");
        assert_eq!(
            inputs(&report),
            [path("a.trace.json.gz"), path("b.trace.json")]
        );
        assert!(report["input"][0]["fingerprint"].is_string(), "{report}");
        let (report, _) = remote.doctor(&[
            "--run",
            "2026_03_01_10_00_00",
            &format!("{scheme}://logs/run/"),
        ]);
        assert_eq!(
            inputs(&report),
            [format!("{scheme}://logs/{OLD}/a.trace.json")]
        );
        let (report, _) =
            remote.doctor(&[&format!("{scheme}://logs/run/plugins/*/2026_03_02*/b.*")]);
        assert_eq!(inputs(&report), [path("b.trace.json")]);
    }
}

#[test]
fn the_environment_beside_a_profile_in_a_bucket_is_read() {
    let remote = Remote::new();
    let said = remote.run(&["environment", "gs://logs/run"]);
    assert!(stdout(&said).contains("2.7.18"), "{said:?}");
    let said = remote.run(&["environment", "gs://logs/one.json"]);
    assert!(
        stderr(&said).contains("nothing is known of the environment"),
        "{said:?}"
    );
    // What is refused or too large is said, and not the same as nothing.
    let says = |words: &str| {
        let said = remote.run(&["environment", "--no-cache", "gs://logs/run"]);
        let said = format!("{}{}", stdout(&said), stderr(&said));
        said.split_whitespace()
            .collect::<Vec<_>>()
            .join(" ")
            .contains(words)
    };
    // The last of the transfers is that of the environment.
    let is_refused = (1..9).any(|transfers| {
        remote.server.set(Fault::EndsAfter(transfers));
        says("systole.run.json cannot be read: access is denied (403 Forbidden)")
    });
    assert!(is_refused);
    remote.server.set(Fault::None);
    let large = vec![b' '; (1 << 20) + 1];
    let key = format!("{RUN}/systole.run.json");
    remote.server.put(&key, &large);
    remote.server.seen();
    assert!(says(
        "systole.run.json cannot be read: too large: it has more than 1048576 bytes"
    ));
    let asked = |line: &String| line.starts_with("GET") && line.contains("systole.run.json");
    assert!(!remote.server.seen().iter().any(asked), "nothing is copied");
    remote.server.put(&key, &gzip(&large));
    assert!(says("cannot be read: too large"), "packed");
}

#[test]
fn runs_of_a_bucket_are_listed() {
    let remote = Remote::new();
    let output = remote.run(&["runs", "gs://logs/run", "--verdicts", "1"]);
    let text = stdout(&output);
    let heads: Vec<&str> = text
        .lines()
        .filter(|line| line.starts_with("2026"))
        .collect();
    assert_eq!(heads.len(), 2, "{text} {}", stderr(&output));
    assert!(
        heads[0].starts_with("2026_03_02_10_00_00  2 hosts (a, b)"),
        "{text}"
    );
    let seen = remote.server.seen();
    let of_all = seen.iter().filter(|line| line.ends_with("/logs/run"));
    assert_eq!(of_all.count(), 1, "{seen:?}");
}

#[test]
fn one_file_is_read_from_a_bucket_or_a_web_server() {
    let remote = Remote::new();
    let signed = remote.web("one.json?X-Amz-Signature=very-secret");
    for (path, shown) in [
        ("gs://logs/one.json", "gs://logs/one.json"),
        ("s3://logs/one.json", "s3://logs/one.json"),
        (&signed, &remote.web("one.json")),
    ] {
        let output = remote.run(&["analyze", "--format", "json", path]);
        assert_eq!(output.status.code(), Some(0), "{path}: {}", stderr(&output));
        assert!(!stdout(&output).contains("very-secret"), "{path}");
        let report: Value = serde_json::from_str(stdout(&output)).expect("JSON");
        assert_eq!(inputs(&report), [shown]);
    }
}

#[test]
fn a_copy_is_kept_until_the_object_changes() {
    let remote = Remote::new();
    let path = "gs://logs/one.json";
    // Whether the environment stands beside it is asked each time, which lists objects.
    let is_transfer = |line: &&String| line.starts_with("GET") && line.contains("one.json");
    let transfers = |seen: &[String]| seen.iter().filter(is_transfer).count();
    assert_eq!(transfers(&remote.doctor(&[path]).1), 1);
    assert_eq!(transfers(&remote.doctor(&[path]).1), 0, "from the cache");
    assert_eq!(transfers(&remote.doctor(&["--no-cache", path]).1), 1);
    remote.server.put("one.json", &trace(9));
    let (report, seen) = remote.doctor(&[path]);
    assert_eq!(transfers(&seen), 1);
    assert_eq!(report["input"][0]["bytes"], trace(9).len());
    let listed = remote.run(&["cache", "list", "--format", "json"]);
    let listed: Value = serde_json::from_str(stdout(&listed)).expect("JSON");
    assert_eq!(
        listed["objects"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    assert_eq!(listed["objects"][0]["url"], path);
    assert!(stdout(&remote.run(&["cache", "list"])).contains(path));
    assert!(stdout(&remote.run(&["cache", "clear"])).starts_with("removed 2 files"));
    assert_eq!(transfers(&remote.doctor(&[path]).1), 1);
}

#[test]
fn reports_and_summaries_are_written_to_buckets_and_compared_there() {
    let remote = Remote::new();
    let done = |args: &[&str]| {
        let output = remote.run(args);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{args:?}: {}",
            stderr(&output)
        );
        output
    };
    done(&[
        "analyze",
        "gs://logs/one.json",
        "-o",
        "json=gs://logs/out/report.json",
        "-o",
        "csv=gs://logs/out/tables/",
    ]);
    let report = remote.server.object("out/report.json").expect("the report");
    assert!(serde_json::from_slice::<Value>(&report).is_ok());
    done(&[
        "summarize",
        "gs://logs/one.json",
        "-o",
        "s3://logs/base.json",
    ]);
    assert!(remote.server.object("base.json").is_some());
    let compared = done(&[
        "compare",
        "--format",
        "json",
        "--force",
        "gs://logs/base.json",
        "s3://logs/one.json",
    ]);
    assert!(
        stdout(&compared).contains("gs://logs/base.json"),
        "{}",
        stdout(&compared)
    );
    done(&[
        "export",
        "gs://logs/one.json",
        "--to",
        "csv",
        "-o",
        "gs://logs/out/csv",
    ]);
    assert!(remote.server.object("out/csv/slices.csv").is_some());
    let refused = remote.refused(&[
        "analyze",
        "gs://logs/one.json",
        "-o",
        &format!("json={}", remote.web("r.json")),
    ]);
    assert!(refused.contains("not to web servers"), "{refused}");
}

#[test]
fn a_slow_transfer_can_be_stopped_and_counts_bytes() {
    let remote = Remote::new();
    remote.server.put("big.json", &trace(500));
    remote.server.set(Fault::Slow);
    let (path, progress) = (
        PathBuf::from(remote.web("big.json")),
        Arc::new(Progress::new()),
    );
    let options = ImportOptions {
        no_cache: true,
        ..ImportOptions::default()
    };
    let shared = Arc::clone(&progress);
    let import = std::thread::Builder::new()
        .spawn(move || importers::import_path(&path, &options, &shared).map(drop));
    while progress.bytes().0 == 0 {
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(progress.stage(), ProgressStage::Downloading);
    assert_eq!(progress.bytes().1, trace(500).len() as u64);
    progress.cancel();
    let started = Instant::now();
    let result = import.expect("a thread").join().expect("no panic");
    assert!(matches!(result, Err(ImportError::Cancelled)), "{result:?}");
    assert!(started.elapsed() < Duration::from_secs(5));
}

#[test]
fn archives_in_buckets_are_opened() {
    let remote = Remote::new();
    let mut archive = importers::ArchiveWriter::new(std::io::Cursor::new(Vec::new()));
    archive
        .add("run/w0.trace.json", &trace(5)[..])
        .expect("a file");
    let zip = archive.finish().expect("an archive").into_inner();
    remote.server.put("run.systole.zip", &zip);
    for args in [
        &["gs://logs/run.systole.zip"][..],
        &["s3://logs/run.systole.zip", "--no-cache"],
    ] {
        let (report, _) = remote.doctor(args);
        assert_eq!(report["input"][0]["bytes"], trace(5).len(), "{args:?}");
    }
    remote.server.put("no.zip", b"PK\x03\x04 and nothing else");
    let damaged = remote.run(&["doctor", "gs://logs/no.zip"]);
    assert_eq!(damaged.status.code(), Some(4));
    assert!(
        stderr(&damaged).contains("damaged ZIP archive"),
        "{}",
        stderr(&damaged)
    );
}

#[test]
fn run_folders_in_tar_archives_are_opened() {
    let remote = Remote::new();
    let run = "logs/plugins/profile/2026_03_02_10_00_00";
    let tar = tar_of(&[
        (&format!("./{run}/a.trace.json"), &trace(5)),
        (&format!("./{run}/b.trace.json"), &trace(6)),
    ]);
    remote.server.put("run.tgz", &gzip(&tar));
    let local = remote.place.path("run.tar");
    std::fs::write(&local, &tar).expect("a file");
    for path in ["gs://logs/run.tgz", &local.display().to_string()] {
        let (report, _) = remote.doctor(&[path]);
        let sizes: Vec<_> = report["input"]
            .as_array()
            .expect("inputs")
            .iter()
            .map(|one| one["bytes"].as_u64())
            .collect();
        assert_eq!(
            sizes,
            [Some(trace(5).len() as u64), Some(trace(6).len() as u64)],
            "{path}"
        );
        remote.doctor(&["--run", "2026_03_02_10_00_00", path]);
        let said = remote.refused(&["doctor", "--run", "2026", path]);
        assert!(said.contains("2026_03_02_10_00_00"), "{said}");
    }
}

/// A tar archive of these files.
fn tar_of(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut tar = tar::Builder::new(Vec::new());
    for (name, content) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(content.len() as u64);
        tar.append_data(&mut header, name, *content)
            .expect("a file");
    }
    tar.into_inner().expect("an archive")
}

/// Reports name no file but those of the run, so they are equal if the same files were read.
#[test]
fn simulated_runs_in_buckets_have_the_files_beside_them() {
    let remote = Remote::new();
    let fixture = |name: &str| {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../importers/tests/fixtures");
        std::fs::read(folder.join(name)).expect("a fixture")
    };
    for (name, file) in [
        ("scale/run/COMPUTE_REPORT.csv", "scale_sim_compute.csv"),
        (
            "scale/run/DETAILED_ACCESS_REPORT.csv",
            "scale_sim_access.csv",
        ),
        ("scale/configs/small.cfg", "scale_sim.cfg"),
        ("scale/topologies/small.csv", "scale_sim_topology.csv"),
        ("neusim/a.csv", "neusim.csv"),
        ("neusim/a.json", "neusim.json"),
        ("onnxim/run.log", "onnxim.log"),
        ("onnxim/chip.json", "onnxim.json"),
    ] {
        remote.server.put(name, &fixture(file));
        remote.place.write(name, &fixture(file));
    }
    let reports = |path: &str| {
        let output = remote.run(&["analyze", "--format", "json", path]);
        assert_eq!(output.status.code(), Some(0), "{path}: {}", stderr(&output));
        let report: Value = serde_json::from_str(stdout(&output)).expect("JSON");
        assert!(report["reports"].is_object(), "{report}");
        (report["reports"].clone(), report["import"].clone())
    };
    for path in ["scale/run", "neusim/a.csv", "onnxim/run.log"] {
        let local = reports(path);
        for scheme in ["gs", "s3"] {
            assert_eq!(
                reports(&format!("{scheme}://logs/{path}")),
                local,
                "{scheme} {path}"
            );
        }
        let beside: Vec<_> = [
            "scale/configs/small.cfg",
            "neusim/a.json",
            "onnxim/chip.json",
        ]
        .into_iter()
        .filter(|name| name.split('/').next() == path.split('/').next())
        .collect();
        std::fs::remove_file(remote.place.path(beside[0])).expect("it is there");
        assert_ne!(
            reports(path),
            local,
            "{path}: the files beside it say something"
        );
    }
}
