//! `systole capture` and `systole top`, with servers that answer as no JAX on a CPU does.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use sample_traces::write::ProtoMessage;
use serde_json::Value;

use crate::mock_profiler::{Call, MockProfiler, Reply, profile, response, steps};
use crate::place::{Place, stderr, stdout};

/// A port on which nothing listens.
const CLOSED: &str = "127.0.0.1:1";

pub(super) fn serves(profile: Vec<u8>) -> MockProfiler {
    MockProfiler::new(move |_, _| Reply::Message(response(&profile)))
}

/// All profiles below the log directory, without it.
pub(super) fn files(place: &Place, logdir: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![place.path(logdir)];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if !path.ends_with("systole.run.json") {
                files.push(path);
            }
        }
    }
    files.sort();
    files
}

fn name(path: &std::path::Path) -> String {
    path.file_name().unwrap().to_string_lossy().into_owned()
}

#[test]
fn recording_of_less_than_half_the_time_is_told() {
    let place = Place::empty();
    let said = |recorded_ms, asked| {
        let host = serves(steps(recorded_ms, 100, 1, 10));
        let output = place.run(&["capture", &host.address(), "-o", "logs", "--ms", asked]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        stderr(&output)
    };
    let text = said(500, "2000");
    assert!(
        text.contains(
            "of 2.000 s were recorded: the program ended, or did nothing the rest of the time"
        ),
        "{text}"
    );
    assert!(!said(1500, "2000").contains("were recorded"));
    // In a second a program may have nothing to do.
    assert!(!said(300, "1000").contains("were recorded"));
}

#[test]
fn all_hosts_capture_the_same_time_into_one_run() {
    let place = Place::empty();
    let hosts = [serves(profile(1)), serves(profile(2))];
    let both = format!("{},{}", hosts[0].address(), hosts[1].address());
    let output = place.run(&[
        "capture",
        &both,
        "-o",
        "logs",
        "--ms",
        "50",
        "--delay",
        "20",
        "--host-level",
        "3",
        "--python-level",
        "1",
        "--option",
        "tpu_trace_mode=TRACE_ONLY_XLA",
        "--option",
        "n=2",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = stdout(&output);
    assert!(
        text.contains("1 device, ") && text.contains("2 devices, ") && text.contains("worker0"),
        "{text}"
    );
    assert!(
        text.contains("systole doctor"),
        "the verdict follows: {text}"
    );

    let requests: Vec<Call> = hosts.iter().flat_map(MockProfiler::calls).collect();
    assert_eq!(requests.len(), 2);
    for request in &requests {
        assert_eq!(request.method, "Profile");
        // Duration and levels of host, device and Python; version; the profile shall be in the response.
        for (path, number) in [
            (&[1][..], 50),
            (&[4, 9], 50),
            (&[4, 2], 3),
            (&[4, 3], 1),
            (&[4, 4], 1),
            (&[4, 5], 1),
            (&[9], 1),
        ] {
            assert_eq!(request.numbers(path), [number], "{path:?}");
        }
        assert_eq!(request.text(&[4, 12, 1]), "tpu_trace_mode");
        assert_eq!(request.text(&[4, 12, 2, 1]), "TRACE_ONLY_XLA");
        assert_eq!(request.numbers(&[4, 12, 2, 3]), [2]);
    }
    assert_eq!(
        requests[0].numbers(&[4, 8]),
        requests[1].numbers(&[4, 8]),
        "one start"
    );
    assert_eq!(requests[0].text(&[6]), requests[1].text(&[6]), "one run");

    let files = files(&place, "logs");
    let names: Vec<String> = files.iter().map(|file| name(file)).collect();
    let mut expected = hosts
        .each_ref()
        .map(|host| format!("127.0.0.1_{}.xplane.pb", host.port));
    expected.sort();
    assert_eq!(names, expected);
    assert!(
        files[0]
            .parent()
            .unwrap()
            .ends_with(format!("logs/plugins/profile/{}", requests[0].text(&[6])))
    );
    let sizes: Vec<u64> = files
        .iter()
        .map(|file| fs::metadata(file).unwrap().len())
        .collect();
    assert_eq!(
        sizes.iter().sum::<u64>() as usize,
        profile(1).len() + profile(2).len()
    );
    assert_eq!(place.code(&["analyze", "logs"]), 0);
}

#[test]
fn profiles_of_some_hosts_are_kept_if_others_fail() {
    let place = Place::empty();
    let good = serves(profile(1));
    let dies = MockProfiler::new(|_, _| Reply::Reset);
    let all = format!("{},{CLOSED},{}", good.address(), dies.address());
    let output = place.run(&["capture", &all, "-o", "logs", "--ms", "20", "--json"]);
    assert_eq!(output.status.code(), Some(12), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("2 of 3 hosts sent no profile"),
        "{}",
        stderr(&output)
    );
    let result: Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(result["hosts"][0]["devices"][0], "/device:TPU:0");
    assert!(
        result["hosts"][1]["error"]
            .as_str()
            .unwrap()
            .contains("cannot connect"),
        "{result}"
    );
    assert!(
        result["hosts"][2]["error"]
            .as_str()
            .unwrap()
            .contains("the connection broke"),
        "{result}"
    );
    assert_eq!(
        result["lacks"],
        serde_json::json!(["2 of 3 hosts sent no profile; the others are kept"])
    );
    assert_eq!(files(&place, "logs").len(), 1);

    let output = place.run(&["capture", CLOSED, "-o", "none", "--ms", "20"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr(&output).contains("jax.profiler.start_server(1)"),
        "{}",
        stderr(&output)
    );
    assert!(!place.path("none").exists(), "nothing is made for nothing");
}

#[test]
fn an_attempt_with_a_device_replaces_those_without() {
    let place = Place::empty();
    let slow_start = MockProfiler::new(|_, count| match count {
        1 => Reply::Status(13, "Another profiling session active."),
        2 => Reply::Message(response(&profile(0))),
        _ => Reply::Message(response(&profile(1))),
    });
    let address = slow_start.address();
    let output = place.run(&[
        "capture", &address, "-o", "logs", "--ms", "20", "--retry", "5", "--json",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(slow_start.calls().len(), 3);
    let files = files(&place, "logs");
    assert_eq!(files.len(), 1, "{files:?}");
    assert_eq!(fs::read(&files[0]).unwrap(), profile(1));
    assert_eq!(
        fs::read_dir(place.path("logs/plugins/profile"))
            .unwrap()
            .count(),
        1
    );

    let never = serves(profile(0));
    let output = place.run(&[
        "capture",
        &never.address(),
        "-o",
        "never",
        "--ms",
        "20",
        "--retry",
        "1",
        "--json",
    ]);
    assert_eq!(output.status.code(), Some(12));
    assert!(
        stderr(&output).contains("no device was recorded"),
        "{}",
        stderr(&output)
    );
    assert_eq!(
        (never.calls().len(), self::files(&place, "never").len()),
        (2, 1)
    );
    // Without --retry, a program without devices is fine.
    assert_eq!(
        place.code(&[
            "capture",
            &never.address(),
            "-o",
            "never",
            "--ms",
            "20",
            "--json"
        ]),
        0
    );
}

#[test]
fn profile_written_by_the_server_is_found() {
    let place = Place::empty();
    let writes = MockProfiler::new(|call, _| {
        let folder = PathBuf::from(call.text(&[5])).join(call.text(&[6]));
        fs::create_dir_all(&folder).unwrap();
        fs::write(
            folder.join(format!("{}.xplane.pb", call.text(&[7]))),
            profile(1),
        )
        .unwrap();
        Reply::Message(Vec::new())
    });
    assert_eq!(
        place.code(&[
            "capture",
            &writes.address(),
            "-o",
            "logs",
            "--ms",
            "20",
            "--json"
        ]),
        0
    );
    assert_eq!(files(&place, "logs").len(), 1);

    let elsewhere = MockProfiler::new(|_, _| Reply::Message(Vec::new()));
    let output = place.run(&["capture", &elsewhere.address(), "-o", "far", "--ms", "20"]);
    assert_eq!(output.status.code(), Some(3));
    let said = stderr(&output);
    assert!(
        said.contains("on its own machine") && said.contains("/far/plugins/profile/"),
        "{said}"
    );
}

#[test]
fn large_profiles_arrive_and_slow_servers_are_waited_for() {
    let place = Place::empty();
    let mut large = ProtoMessage::default();
    large.message(1, |plane| {
        plane.text(2, "/device:TPU:0");
        (0..300_000).for_each(|at| {
            plane.message(3, |line| {
                line.uint(1, at);
                line.message(4, |event| event.uint(1, 1));
            });
        });
    });
    let large = large.into_bytes();
    // Messages that follow each other are one message.
    let large = large.repeat(2);
    assert!(
        large.len() > 4 << 20,
        "gRPC allows 4 MiB unless told otherwise"
    );
    let server = serves(large.clone());
    let output = place.run(&[
        "capture",
        &server.address(),
        "-o",
        "logs",
        "--ms",
        "20",
        "--no-report",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        fs::metadata(&files(&place, "logs")[0]).unwrap().len() as usize,
        large.len()
    );

    let late =
        MockProfiler::new(|_, _| Reply::Late(Duration::from_millis(1500), response(&profile(1))));
    let capture = |timeout: &str| {
        place.run(&[
            "capture",
            &late.address(),
            "-o",
            "late",
            "--ms",
            "10",
            "--timeout",
            timeout,
            "--no-report",
        ])
    };
    let output = capture("1");
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr(&output).contains("give it more with --timeout"),
        "{}",
        stderr(&output)
    );
    assert_eq!(capture("60").status.code(), Some(0));
}

#[test]
fn continuous_profiling_is_started_kept_and_stopped() {
    let place = Place::empty();
    let server = MockProfiler::new(|call, count| match (call.method.as_str(), count) {
        ("StartContinuousProfiling", 1) | ("StopContinuousProfiling", 4) => {
            Reply::Message(Vec::new())
        }
        ("StartContinuousProfiling", _) => {
            Reply::Status(6, "A profiling session is already running.")
        }
        ("GetSnapshot", _) => Reply::Message(response(&profile(1))),
        ("StopContinuousProfiling", _) => {
            Reply::Status(5, "No continuous profiling session found.")
        }
        other => panic!("{other:?}"),
    });
    let address = server.address();
    let run = |what: &str| {
        let output = place.run(&[
            "capture",
            &address,
            "-o",
            "logs",
            "--continuous",
            what,
            "--no-report",
        ]);
        (
            output.status.code().unwrap(),
            format!("{}{}", stdout(&output), stderr(&output)),
        )
    };
    assert_eq!(run("start").0, 0);
    let (code, text) = run("start");
    assert!(code == 3 && text.contains("--continuous stop"), "{text}");
    let (code, text) = run("snapshot");
    assert!(code == 0 && text.contains("1 device"), "{text}");
    assert_eq!(files(&place, "logs").len(), 1);
    assert_eq!(run("stop").0, 0);
    let (code, text) = run("stop");
    assert!(code == 3 && text.contains("--continuous start"), "{text}");
    assert_eq!(
        server.calls()[0].numbers(&[4, 5]),
        [1],
        "options with their version"
    );

    let old = MockProfiler::new(|_, _| Reply::Status(12, ""));
    let output = place.run(&["capture", &old.address(), "--continuous", "start"]);
    assert!(
        stderr(&output).contains("jaxlib has it from 0.10.2"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn device_state_is_refreshed() {
    let place = Place::empty();
    let server = MockProfiler::new(|_, count| {
        let mut response = ProtoMessage::default();
        response.text(1, &format!("Utilization of TPU Matrix Units: {count}0.0%"));
        response.message(10, |result| {
            result.uint(1, 2);
            result.double(2, 12.5);
            result.double(3, 10.0 * count as f64);
        });
        Reply::Message(response.into_bytes())
    });
    let output = place.run(&[
        "top",
        &server.address(),
        "--json",
        "--count",
        "2",
        "--ms",
        "20",
        "--level",
        "1",
        "--timestamp",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let lines: Vec<Value> = stdout(&output)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let percents: Vec<_> = lines
        .iter()
        .map(|line| line["mxu_percent"].as_f64())
        .collect();
    assert_eq!(percents, [Some(10.0), Some(20.0)]);
    assert_eq!(
        (
            lines[0]["idle_percent"].as_f64(),
            lines[0]["step_ms"].as_f64()
        ),
        (Some(12.5), None)
    );
    let call = &server.calls()[0];
    assert_eq!(
        (call.numbers(&[1]), call.numbers(&[2]), call.numbers(&[3])),
        (vec![20], vec![1], vec![1])
    );

    let output = place.run(&["top", &server.address(), "--count", "1", "--ms", "20"]);
    assert!(
        stdout(&output).contains("\n  Utilization of TPU Matrix Units: 30.0%\n"),
        "{}",
        stdout(&output)
    );

    let cpu = MockProfiler::new(|_, _| Reply::Status(12, "unimplemented."));
    let output = place.run(&["top", &cpu.address(), "--count", "1"]);
    assert_eq!(output.status.code(), Some(3));
    assert!(
        stderr(&output).contains("that of JAX on CPU does not"),
        "{}",
        stderr(&output)
    );
}
