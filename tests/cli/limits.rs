//! What hostile input and questions may cost: memory, and bytes of an answer.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::fs::{self, File};
use std::io::Write as _;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use sample_traces::write::{ProtoMessage, gzip};
use serde_json::Value;

use crate::place::{Place, json, stderr, stdout};

/// Most memory that a process had, in megabytes; 0 where the system does not tell.
pub fn peak_of(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let peak = status.lines().find_map(|line| {
        line.strip_prefix("VmHWM:")?
            .trim()
            .strip_suffix(" kB")?
            .parse()
            .ok()
    });
    peak.unwrap_or(0_u64) >> 10
}

/// Runs a command; its output, and the most memory that it had, in megabytes.
pub fn measured(mut command: Command, place: &Place) -> (ExitStatus, Vec<u8>, u64) {
    let out = place.path("measured.out");
    let mut child = command
        .stdout(File::create(&out).unwrap())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut peak = 0;
    let status = loop {
        peak = peak.max(peak_of(child.id()));
        match child.try_wait().unwrap() {
            Some(status) => break status,
            None => thread::sleep(Duration::from_millis(2)),
        }
    };
    (status, fs::read(out).unwrap(), peak)
}

const LONG: usize = 10 << 20;
const EVENTS: u64 = 150;

/// A profile in which many events have a name of ten megabytes.
fn long_names() -> Vec<u8> {
    let mut space = ProtoMessage::default();
    space.message(1, |plane| {
        plane.text(2, "/device:TPU:0");
        plane.message(3, |line| {
            line.text(2, "XLA Ops");
            for at in 0..EVENTS {
                line.message(4, |event| {
                    event.uint(1, 1);
                    event.uint(2, at * 2_000_000);
                    event.uint(3, 1_500_000);
                });
            }
        });
        plane.message(4, |entry| {
            entry.uint(1, 1);
            entry.message(2, |metadata| {
                metadata.uint(1, 1);
                metadata.text(2, &"n".repeat(LONG));
            });
        });
    });
    space.into_bytes()
}

#[test]
fn names_of_megabytes_are_cut_and_their_length_is_named() {
    let place = Place::empty();
    place.write("x.xplane.pb", &long_names());
    let ending = format!("… ({LONG} bytes)");
    let is_cut = |name: &str| name.len() < 66_000 && name.ends_with(&ending);
    let mut calls = vec![
        vec!["events", "x.xplane.pb", "--limit", "0", "--format", "json"],
        vec![
            "events",
            "x.xplane.pb",
            "--limit",
            "0",
            "--format",
            "ndjson",
        ],
        vec!["events", "x.xplane.pb", "--limit", "0", "--format", "csv"],
        vec![
            "events",
            "x.xplane.pb",
            "--limit",
            "0",
            "--group-by",
            "name,step",
            "--format",
            "ndjson",
        ],
    ];
    let sql = "SELECT name FROM slices";
    calls.extend(
        ["json", "ndjson", "csv"]
            .map(|format| vec!["query", "x.xplane.pb", sql, "--format", format]),
    );
    for call in calls {
        let mut command = place.command();
        command.args(&call);
        let (status, out, peak) = measured(command, &place);
        assert!(status.success() && peak < 300, "{call:?}: {peak} MB");
        let text = String::from_utf8(out).unwrap();
        let format = *call.last().unwrap();
        let names: Vec<String> = match format {
            "json" if call[0] == "query" => names_in(&json(&text)["rows"], &|row| &row[0]),
            "json" => {
                let events = &json(&text)["reports"]["events"]["report"]["events"];
                names_in(&events["rows"], &|row| {
                    row.as_array()
                        .unwrap()
                        .iter()
                        .find(|cell| cell.is_string())
                        .unwrap()
                })
            }
            "ndjson" => text
                .lines()
                .map(|line| json(line)["name"].as_str().unwrap().to_owned())
                .collect(),
            _ => text
                .lines()
                .skip(1)
                .flat_map(|line| line.split(','))
                .filter(|cell| cell.len() > 1000)
                .map(str::to_owned)
                .collect(),
        };
        let expected = if call.contains(&"--group-by") {
            1
        } else {
            EVENTS as usize
        };
        assert!(
            names.len() == expected && names.iter().all(|name| is_cut(name)),
            "{call:?}: {}",
            names.len()
        );
    }
    let shown = place.run(&["events", "x.xplane.pb"]);
    assert!(stdout(&shown).len() < 100_000, "{}", stdout(&shown).len());
}

fn names_in(rows: &Value, name: &dyn Fn(&Value) -> &Value) -> Vec<String> {
    rows.as_array()
        .unwrap()
        .iter()
        .map(|row| name(row).as_str().unwrap().to_owned())
        .collect()
}

/// A megabyte that unpacks to a gigabyte: a text between two parts of a file.
fn bomb(before: &[u8], after: &[u8]) -> Vec<u8> {
    let part = vec![b'A'; 16 << 20];
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&part).unwrap();
    let part = encoder.finish().unwrap();
    [gzip(before), part.repeat(64), gzip(after)].concat()
}

#[test]
fn a_packed_text_of_a_gigabyte_is_refused_with_little_memory() {
    let place = Place::empty();
    let json = bomb(
        br#"{"traceEvents":[{"ph":"X","pid":1,"tid":1,"ts":1,"dur":5,"name":""#,
        br#""}]}"#,
    );
    // A plane of 2^30 + 27 bytes with its name, and a line of 2^30 + 6 with its own.
    let head = b"\x0a\x9b\x80\x80\x80\x04\x12\x0d/device:TPU:0\x1a\x86\x80\x80\x80\x04\x12\x80\x80\x80\x80\x04";
    let xplane = bomb(head, b"");
    for (name, bytes) in [("x.trace.json.gz", json), ("x.xplane.pb.gz", xplane)] {
        assert!(bytes.len() < 2 << 20, "{name}: {}", bytes.len());
        place.write(name, &bytes);
        let mut command = place.command();
        command.args(["doctor", name]);
        let (status, _, peak) = measured(command, &place);
        assert!(
            !status.success() && peak < 500,
            "{name}: {status}, {peak} MB"
        );
        let said = stderr(&place.run(&["doctor", name]));
        assert!(said.contains("unpack to more than"), "{name}: {said}");
    }
}

/// As `sqlite3` does.
#[test]
fn a_query_of_nothing_has_no_answer() {
    let (place, path) = (Place::empty(), crate::outputs::recompile());
    for sql in [";", " ; ", "/* a comment */", "/* another */;"] {
        for (format, expected) in [
            ("text", ""),
            ("csv", ""),
            ("ndjson", ""),
            (
                "json",
                "{\"badge\":null,\"columns\":[],\"rows\":[],\"truncated\":false}\n",
            ),
        ] {
            let output = place.run(&["query", &path, sql, "--format", format]);
            assert_eq!(
                (output.status.code(), stdout(&output)),
                (Some(0), expected),
                "{sql} {}",
                stderr(&output)
            );
        }
    }
}
