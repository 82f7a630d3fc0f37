//! `systole capture --steps`: a short capture first, then one that holds the steps, taken again once if it lacks something.

#![expect(clippy::unwrap_used, reason = "a test says what is wrong by failing")]

use std::time::Duration;

use crate::capture::files;
use crate::mock_profiler::{Call, MockProfiler, Reply, response, steps};
use crate::place::{Place, stderr, stdout};

/// Length of the recording that a call asks for.
fn milliseconds(call: &Call) -> u64 {
    call.numbers(&[1])[0]
}

/// A program whose steps have 50 ms, on one device.
fn runs(call: &Call) -> Reply {
    Reply::Message(response(&steps(milliseconds(call), 50, 1, 10)))
}

fn lengths(server: &MockProfiler) -> Vec<u64> {
    server.calls().iter().map(milliseconds).collect()
}

/// The output of a capture of some steps after a short one of a second; its exit code; the recordings that were asked for.
fn taken(place: &Place, server: &MockProfiler, wanted: &str, more: &[&str]) -> (String, i32) {
    let address = server.address();
    let args = [
        "capture", &address, "-o", "logs", "--ms", "1000", "--steps", wanted,
    ];
    let output = place.run(&[&args[..], more].concat());
    let text = format!("{}{}", stdout(&output), stderr(&output));
    // Lines are cut for terminals.
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (text, output.status.code().unwrap())
}

#[test]
fn recording_is_as_long_as_its_steps() {
    let (place, server) = (Place::empty(), MockProfiler::new(|call, _| runs(call)));
    let (text, code) = taken(&place, &server, "4", &[]);
    assert_eq!(code, 0, "{text}");
    // Five steps of 50 ms, because a recording begins within one, and a tenth.
    assert_eq!(lengths(&server), [1000, 275]);
    for said in [
        "A short capture of 1.000 s has 20 complete steps of 50.00 ms, the mean from begin to begin",
        "4 steps: 275.0 ms, about",
        "1 device, 5 complete steps",
        "systole doctor",
    ] {
        assert!(text.contains(said), "{said}: {text}");
    }
    assert_eq!(files(&place, "logs").len(), 1, "the short capture is gone");

    let (json, code) = taken(&place, &server, "4", &["--json"]);
    assert_eq!(code, 0, "{json}");
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["hosts"][0]["complete_steps"], 5);
    assert_eq!(
        (json["done"].as_array().unwrap().len(), &json["lacks"]),
        (2, &serde_json::json!([]))
    );
}

#[test]
fn too_few_steps_are_recorded_again_for_longer() {
    let place = Place::empty();
    // Steps take twice as long after the short capture.
    let slower = MockProfiler::new(|call, count| {
        let step = if count == 1 { 50 } else { 100 };
        Reply::Message(response(&steps(milliseconds(call), step, 1, 10)))
    });
    let (text, code) = taken(&place, &slower, "4", &["--session", "mine", "--no-report"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("has 2 complete steps of 4. It is taken again, with 440.0 ms"),
        "{text}"
    );
    assert_eq!(lengths(&slower), [1000, 275, 440]);
    let kept = files(&place, "logs");
    assert!(
        kept.len() == 1 && kept[0].parent().unwrap().ends_with("profile/mine"),
        "{kept:?}"
    );

    // One that ends has no more of them then.
    let ends = MockProfiler::new(|call, count| {
        let length = if count == 1 { milliseconds(call) } else { 150 };
        Reply::Message(response(&steps(length, 50, 1, 10)))
    });
    let (text, code) = taken(&place, &ends, "4", &["--no-report"]);
    assert_eq!((code, ends.calls().len()), (12, 3), "{text}");
    assert!(
        text.contains("the capture lacks something, and is kept: 127.0.0.1"),
        "{text}"
    );
    assert!(text.contains("has 3 complete steps of 4"), "{text}");
}

#[test]
fn devices_that_are_missing_are_recorded_again() {
    let place = Place::empty();
    let idle = MockProfiler::new(|call, count| {
        Reply::Message(response(&steps(
            milliseconds(call),
            50,
            if count == 2 { 1 } else { 2 },
            10,
        )))
    });
    let (text, code) = taken(&place, &idle, "4", &["--no-report"]);
    assert_eq!(code, 0, "{text}");
    assert!(
        text.contains("recorded 1 device, and 2 in the short capture. It is taken again"),
        "{text}"
    );
    assert!(text.contains("2 devices, 5 complete steps"), "{text}");
    assert_eq!(files(&place, "logs").len(), 1);
}

#[test]
fn steps_that_do_not_fit_are_not_recorded() {
    let place = Place::empty();
    // 100 kB a step: 21 thousand of them are 2 GB, and a recording has one step more than is asked for, and a tenth.
    let heavy = MockProfiler::new(|call, _| {
        Reply::Message(response(&steps(milliseconds(call) / 50, 1, 1, 100_000)))
    });
    let (text, code) = taken(&place, &heavy, "100000", &[]);
    assert_eq!((code, heavy.calls().len()), (11, 1), "{text}");
    assert!(
        text.contains("100,000 complete steps do not fit into the profile of a host: at most 19,"),
        "{text}"
    );
    assert!(text.contains("must stay below 2.147 GB"), "{text}");

    let long = MockProfiler::new(|call, _| runs(call));
    let (text, code) = taken(&place, &long, "100000", &[]);
    assert_eq!((code, long.calls().len()), (11, 1), "{text}");
    assert!(
        text.contains("take longer than the longest recording"),
        "{text}"
    );
    assert!(!place.path("logs").exists(), "nothing is made for nothing");
}

#[test]
fn programs_without_steps_are_recorded_for_longer_before_they_are_given_up() {
    let place = Place::empty();
    let none =
        MockProfiler::new(|_, _| Reply::Message(response(&crate::mock_profiler::profile(0))));
    let (text, code) = taken(&place, &none, "4", &[]);
    assert_eq!(
        (code, lengths(&none)),
        (11, vec![1000, 4000, 16000]),
        "{text}"
    );
    assert!(
        text.contains("A short capture of 16.00 s has no steps"),
        "{text}"
    );
    assert!(
        text.contains("Let the first capture take longer than that, or mark steps with jax.profiler.StepTraceAnnotation"),
        "{text}"
    );

    // Steps of three seconds are found by the second.
    let slow = MockProfiler::new(|call, _| {
        Reply::Late(
            Duration::from_millis(50),
            response(&steps(milliseconds(call), 1500, 1, 10)),
        )
    });
    let (text, code) = taken(&place, &slow, "2", &["--no-report"]);
    assert_eq!(
        (code, lengths(&slow)),
        (0, vec![1000, 4000, 4950]),
        "{text}"
    );
}

/// A server whose profiles are too large after the short capture.
fn too_large_afterwards() -> MockProfiler {
    MockProfiler::new(|call, count| {
        if count > 1 {
            Reply::Status(8, "large")
        } else {
            runs(call)
        }
    })
}

#[test]
fn profile_that_is_too_large_to_send_is_recorded_again_with_less() {
    let place = Place::empty();
    for too_large in [
        || Reply::Status(8, "trace too large"),
        || Reply::Announced(0xf000_0000),
    ] {
        let server =
            MockProfiler::new(move |call, count| if count == 2 { too_large() } else { runs(call) });
        let (text, code) = taken(&place, &server, "4", &["--no-report"]);
        assert_eq!(code, 0, "{text}");
        assert!(text.contains("too large to send"), "{text}");
        assert!(
            text.contains("It is taken again with host level 1 in place of 2."),
            "{text}"
        );
        let levels: Vec<_> = server
            .calls()
            .iter()
            .map(|call| call.numbers(&[4, 2])[0])
            .collect();
        assert_eq!(levels, [2, 2, 1]);
        let (text, code) = taken(&place, &server, "4", &["--host-level", "1"]);
        assert_eq!(code, 0, "{text}");
    }
    let never = too_large_afterwards();
    let (text, code) = taken(
        &place,
        &never,
        "4",
        &["--host-level", "1", "--session", "named"],
    );
    assert_eq!(
        (code, never.calls().len()),
        (3, 2),
        "there is nothing to leave out: {text}"
    );
    assert!(
        text.contains("too large to send") && !text.contains("taken again"),
        "{text}"
    );
    assert!(
        text.contains("A recording of fewer than 4 steps is smaller."),
        "{text}"
    );
    let (text, _) = taken(&place, &too_large_afterwards(), "1", &["--host-level", "1"]);
    assert!(
        text.contains("too large to send") && !text.contains("fewer"),
        "{text}"
    );
    assert!(!place.path("logs/plugins/profile/named").exists());
}

#[test]
fn profile_that_comes_back_empty_says_whether_it_can_be_too_large() {
    let place = Place::empty();
    let empty = |bytes: usize| {
        MockProfiler::new(move |call, count| {
            let trial = || steps(milliseconds(call), 50, 1, bytes);
            Reply::Message(response(&if count > 1 { vec![] } else { trial() }))
        })
    };
    // 20 steps of 500 kB; 2,400 of them are more than half of 2 GB.
    let large = empty(500_000);
    let (text, code) = taken(&place, &large, "2400", &["--python-level", "1"]);
    assert_eq!((code, large.calls().len()), (3, 3), "{text}");
    assert!(
        text.contains(
            "were expected: profilers send nothing of one above 2.147 GB. It is taken again with"
        ),
        "{text}"
    );
    let small = empty(10);
    let more = ["--session", "named"];
    let (text, code) = taken(&place, &small, "4", &more);
    assert_eq!((code, lengths(&small)), (3, vec![1000, 275, 275]), "{text}");
    assert!(
        text.contains("it is not too large to be sent, so the program has ended or did nothing"),
        "{text}"
    );
    assert!(!place.path("logs").exists(), "no folder is left behind");
    // The server's answer as JSON says it, too.
    let (json, code) = taken(&place, &empty(10), "4", &["--json"]);
    assert_eq!(code, 3, "{json}");
    assert!(
        json.contains("\"done\": [ \"A short capture of 1.000 s"),
        "{json}"
    );

    // Nothing is said of a host that sent nothing before, either.
    let (full, never) = (
        MockProfiler::new(|call, _| runs(call)),
        MockProfiler::new(|_, _| Reply::Message(response(&[]))),
    );
    let both = format!("{},{}", full.address(), never.address());
    let output = place.run(&[
        "capture",
        &both,
        "-o",
        "both",
        "--ms",
        "1000",
        "--steps",
        "4",
        "--no-report",
    ]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(12), "{text}");
    assert!(!text.contains("were expected"), "{text}");
}

#[test]
fn capture_that_cannot_have_its_name_stays() {
    let place = Place::empty();
    let folder = place.path("logs/plugins/profile/mine");
    let slower = MockProfiler::new(move |call, count| {
        if count == 3 {
            // A folder is in the place of the profile.
            for file in std::fs::read_dir(&folder).unwrap() {
                let file = file.unwrap().path();
                std::fs::remove_file(&file).unwrap();
                std::fs::create_dir_all(file.join("full")).unwrap();
            }
        }
        let step = if count == 1 { 50 } else { 100 };
        Reply::Message(response(&steps(milliseconds(call), step, 1, 10)))
    });
    let (text, code) = taken(&place, &slower, "4", &["--session", "mine", "--no-report"]);
    assert_eq!((code, slower.calls().len()), (0, 3), "{text}");
    assert!(
        text.contains("It cannot be given the name mine") && text.contains("1 device, 4 complete"),
        "{text}"
    );
}

#[test]
fn recordings_that_cannot_be_longer_are_not_advised() {
    let place = Place::empty();
    let none =
        MockProfiler::new(|_, _| Reply::Message(response(&crate::mock_profiler::profile(0))));
    let address = none.address();
    let longest = [
        "capture", &address, "-o", "logs", "--ms", "3600000", "--steps", "4",
    ];
    let output = place.run(&longest);
    assert_eq!(output.status.code(), Some(11), "{}", stderr(&output));
    let text = stderr(&output);
    assert!(
        text.contains("Mark steps with") && !text.contains("longer"),
        "{text}"
    );
}

#[test]
fn host_without_steps_has_none() {
    let place = Place::empty();
    let hosts = [
        MockProfiler::new(|call, _| runs(call)),
        MockProfiler::new(|_, _| Reply::Message(response(&crate::mock_profiler::profile(0)))),
    ];
    let both = format!("{},{}", hosts[0].address(), hosts[1].address());
    let output = place.run(&[
        "capture", &both, "-o", "logs", "--ms", "1000", "--steps", "4", "--json",
    ]);
    let json: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    assert_eq!(json["hosts"][1]["complete_steps"], 0, "{json}");
}

#[test]
fn environment_of_users_stays() {
    let place = Place::empty();
    let own = "logs/plugins/profile/mine/systole.run.json";
    place.write(own, b"{}");
    let slower = MockProfiler::new(|call, count| {
        let step = if count == 1 { 50 } else { 100 };
        Reply::Message(response(&steps(milliseconds(call), step, 1, 10)))
    });
    let (text, code) = taken(&place, &slower, "4", &["--session", "mine", "--no-report"]);
    assert_eq!((code, slower.calls().len()), (0, 3), "{text}");
    assert_eq!(place.read(own), "{}");
}

#[test]
fn steps_of_a_host_are_complete_where_another_host_lacks_them() {
    let place = Place::empty();
    // The second host records but the first two steps.
    let hosts = [
        MockProfiler::new(|call, _| runs(call)),
        MockProfiler::new(|call, count| {
            let length = if count == 1 { milliseconds(call) } else { 100 };
            Reply::Message(response(&steps(length, 50, 1, 10)))
        }),
    ];
    let both = format!("{},{}", hosts[0].address(), hosts[1].address());
    let output = place.run(&[
        "capture", &both, "-o", "logs", "--ms", "1000", "--steps", "4", "--json",
    ]);
    let json: serde_json::Value = serde_json::from_str(stdout(&output)).unwrap();
    let complete = |host: usize| json["hosts"][host]["complete_steps"].as_u64().unwrap();
    assert_eq!(complete(1), 2, "{json}");
    assert!(complete(0) >= 5, "{json}");
    assert_eq!(json["lacks"].as_array().unwrap().len(), 1, "{json}");
}

#[test]
fn server_that_dies_after_the_short_capture_leaves_nothing() {
    let place = Place::empty();
    let dies = MockProfiler::new(|call, count| if count > 1 { Reply::Reset } else { runs(call) });
    let (text, code) = taken(&place, &dies, "4", &[]);
    assert_eq!((code, dies.calls().len()), (3, 3), "{text}");
    assert!(text.contains("the connection broke"), "{text}");
    assert!(!place.path("logs").exists());

    // One of two hosts: the profile of the other is kept.
    let (lives, dies) = (
        MockProfiler::new(|call, _| runs(call)),
        MockProfiler::new(|call, count| if count > 1 { Reply::Reset } else { runs(call) }),
    );
    let both = format!("{},{}", lives.address(), dies.address());
    let output = place.run(&[
        "capture",
        &both,
        "-o",
        "logs",
        "--ms",
        "1000",
        "--steps",
        "4",
        "--no-report",
    ]);
    assert_eq!(output.status.code(), Some(12), "{}", stderr(&output));
    assert!(
        stdout(&output).contains("It is taken again"),
        "{}",
        stdout(&output)
    );
    assert_eq!(files(&place, "logs").len(), 1);
}

/// A plain capture says what each file holds, too.
#[test]
fn steps_of_a_plain_capture_are_counted() {
    let place = Place::empty();
    let hosts = [
        MockProfiler::new(|call, _| runs(call)),
        MockProfiler::new(|_, _| Reply::Message(response(&crate::mock_profiler::profile(2)))),
    ];
    let both = format!("{},{}", hosts[0].address(), hosts[1].address());
    let args = ["capture", &both, "-o", "logs", "--ms", "200"];
    let output = place.run(&args);
    let text = stdout(&output);
    assert!(
        text.contains("1 device, 4 complete steps, ") && text.contains("2 devices, no steps, "),
        "{text}"
    );
    let json = |more: &[&str]| -> serde_json::Value {
        let output = place.run(&[&args[..], &["--json"], more].concat());
        serde_json::from_str(stdout(&output)).unwrap()
    };
    let complete =
        |json: serde_json::Value| [0, 1].map(|host| json["hosts"][host]["complete_steps"].as_u64());
    assert_eq!(complete(json(&[])), [Some(4), Some(0)]);
    assert_eq!(complete(json(&["--no-report"])), [None; 2]);
}

/// The second capture has a host less: its reason is said.
#[test]
fn reason_of_a_failed_second_capture_is_said() {
    let place = Place::empty();
    // Steps get slower after the short capture, so that the first one lacks some.
    let slower = |call: &Call, count| {
        let step = if count == 1 { 50 } else { 100 };
        Reply::Message(response(&steps(milliseconds(call), step, 1, 10)))
    };
    let lives = MockProfiler::new(move |call, count| slower(call, count));
    let dies = MockProfiler::new(move |call, count| match count {
        3.. => Reply::Status(13, "the device is gone"),
        _ => slower(call, count),
    });
    let both = format!("{},{}", lives.address(), dies.address());
    let output = place.run(&[
        "capture",
        &both,
        "-o",
        "logs",
        "--ms",
        "1000",
        "--steps",
        "4",
        "--no-report",
    ]);
    let text = stdout(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert_eq!(output.status.code(), Some(12), "{text}");
    let said = format!(
        "That has less, and the first capture is kept. In the second capture, {}: ",
        dies.address()
    );
    assert!(
        text.contains(&said) && text.contains("the device is gone"),
        "{text}"
    );
    assert_eq!(files(&place, "logs").len(), 2, "of the first capture");
}
