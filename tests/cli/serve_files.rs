//! Files, log directories and buckets that the server gives out.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::serve::{SAMPLE, logs};
use crate::serve_client::Server;

#[test]
fn files_are_sent_whole_in_part_or_not_again() {
    let dir = logs();
    let server = Server::of(dir.path(), &[]);
    let id = &server.ids()[1];
    let files = server.json(&format!("/api/v1/runs/{id}/files"));
    let bytes = fs::read(SAMPLE).unwrap();
    assert_eq!(files["files"][0]["name"], "host.xplane.pb");
    assert_eq!(files["files"][0]["bytes"], bytes.len());
    let facts = server.json(&format!("/api/v1/runs/{id}"));
    assert_eq!(facts["files"], files["files"]);
    let [devices, others] =
        ["devices", "others"].map(|kind| facts["events"][kind].as_u64().unwrap());
    assert!(
        others > 0 && devices > others && devices + others < bytes.len() as u64,
        "{devices} and {others}"
    );
    let broken = server.json(&format!("/api/v1/runs/{}", server.ids()[0]));
    assert_eq!(
        broken["events"],
        Value::Null,
        "what is no profile does not tell"
    );
    let path = format!("/api/v1/runs/{id}/files/0");
    let whole = server.get(&path, &["Accept-Encoding: gzip, br"]);
    assert!(
        whole.body == bytes && whole.status == 200 && whole.header("content-encoding").is_none()
    );
    assert_eq!(whole.header("accept-ranges"), Some("bytes"));
    let tag = whole.header("etag").unwrap().to_owned();
    let part = server.get(&path, &["Range: bytes=10-19"]);
    assert_eq!((part.status, &part.body[..]), (206, &bytes[10..20]));
    assert_eq!(
        part.header("content-range"),
        Some(&*format!("bytes 10-19/{}", bytes.len()))
    );
    let end = server.get(&path, &["Range: bytes=-5", &format!("If-Range: {tag}")]);
    assert_eq!(
        (end.status, &end.body[..]),
        (206, &bytes[bytes.len() - 5..])
    );
    let changed = server.get(&path, &["Range: bytes=0-1", "If-Range: \"other\""]);
    assert_eq!((changed.status, changed.body.len()), (200, bytes.len()));
    let beyond = server.get(&path, &["Range: bytes=99999999-"]);
    assert_eq!(
        (beyond.refused().0, beyond.header("content-range")),
        (416, Some(&*format!("bytes */{}", bytes.len())))
    );
    let known = server.get(&path, &[&format!("If-None-Match: {tag}")]);
    assert_eq!((known.status, known.body.len()), (304, 0));
    let head = server.ask("HEAD", &path, &[], "");
    assert_eq!((head.status, head.body.len()), (200, 0));
    assert_eq!(
        head.header("content-length"),
        Some(&*bytes.len().to_string())
    );
    // A file that is written again has another tag.
    fs::write(
        dir.path()
            .join("plugins/profile/2026_01_02_10_00_00/host.xplane.pb"),
        &bytes[..1000],
    )
    .unwrap();
    let again = server.get(&path, &[&format!("If-None-Match: {tag}")]);
    assert_eq!((again.status, again.body.len()), (200, 1000));
    for n in ["1", "-1", "x", "4294967296", "0x0"] {
        assert!(
            [400, 404].contains(
                &server
                    .get(&format!("/api/v1/runs/{id}/files/{n}"), &[])
                    .refused()
                    .0
            ),
            "{n}"
        );
    }
    // Texts are packed for clients that take it.
    let packed = server.get("/api/v1/openapi.json", &["Accept-Encoding: gzip"]);
    assert_eq!(
        (packed.header("content-encoding"), &packed.body[..2]),
        (Some("gzip"), &b"\x1f\x8b"[..])
    );
}

#[test]
fn log_directories_are_named_as_for_other_tools() {
    let dir = logs();
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command.args(["serve", "-l", dir.path().to_str().unwrap(), "-p", "0"]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap())
        .read_line(&mut line)
        .unwrap();
    let _ = child.kill();
    let _ = child.wait();
    assert!(line.starts_with("Systole at http://127.0.0.1:"), "{line}");
    // A run that appears later is found.
    let server = Server::of(dir.path(), &[]);
    let before = server.ids();
    let run = dir.path().join("plugins/profile/2026_02_01_10_00_00");
    fs::create_dir_all(&run).unwrap();
    fs::copy(SAMPLE, run.join("host.xplane.pb")).unwrap();
    let until = Instant::now() + Duration::from_secs(30);
    while server.ids().len() == before.len() {
        assert!(Instant::now() < until, "it is never listed");
        thread::sleep(Duration::from_millis(100));
    }
    assert_eq!(server.ids()[1..], before);
}

#[test]
fn runs_of_buckets_are_served_like_those_of_this_machine() {
    let bytes = fs::read(SAMPLE).unwrap();
    let bucket = crate::bucket_server::BucketServer::with(&[
        (
            "jobs/plugins/profile/2026_01_01_10_00_00/host.xplane.pb",
            &bytes,
        ),
        (
            "jobs/plugins/profile/2026_01_02_10_00_00/host.xplane.pb",
            b"no profile",
        ),
    ]);
    let cache = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command
        .env_clear()
        .envs(bucket.variables())
        .env("HOME", cache.path())
        .env("SYSTOLE_CACHE_DIR", cache.path());
    let server = Server::start(command, std::path::Path::new("gs://logs/jobs"), &[]);
    let ids = server.ids();
    assert_eq!(ids.len(), 2);
    let run = server.json(&format!("/api/v1/runs/{}", ids[1]));
    assert_eq!(
        (&run["run"]["is_remote"], &run["files"][0]["name"]),
        (&json!(true), &json!("host.xplane.pb"))
    );
    assert!(
        server
            .get(&format!("/api/v1/runs/{}/files/0", ids[1]), &[])
            .body
            == bytes,
        "the copy"
    );
    let report = server.json(&format!("/api/v1/runs/{}/reports/verdict", ids[1]));
    assert!(report["reports"]["verdict"]["report"].is_object());
    assert_eq!(
        server
            .get(&format!("/api/v1/runs/{}/reports/verdict", ids[0]), &[])
            .refused()
            .0,
        422
    );
}
