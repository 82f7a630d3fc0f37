//! Captures that fail: errors of servers, idle programs, arguments that cannot work, no network.

use sample_traces::write::ProtoMessage;

use crate::capture::serves;
use crate::mock_profiler::{MockProfiler, Reply, profile};
use crate::place::{Place, stderr, stdout};

#[test]
fn server_errors_name_the_fix() {
    let place = Place::empty();
    for (code, why, said) in [
        (13, "Another profiling session active.", "--continuous stop"),
        (
            6,
            "A profiling session is already running.",
            "--continuous stop",
        ),
        (12, "unimplemented", "it has no profiler"),
        (8, "trace too large", "record less"),
        (3, "bad option", "the server refused"),
    ] {
        let server = MockProfiler::new(move |_, _| Reply::Status(code, why));
        let output = place.run(&["capture", &server.address(), "-o", "logs", "--ms", "20"]);
        let text = stderr(&output);
        assert_eq!(output.status.code(), Some(3), "{text}");
        assert!(text.contains(said) && text.contains(why), "{code}: {text}");
    }
    let mut empty = ProtoMessage::default();
    empty.bytes(8, b"");
    empty.uint(7, 1);
    let empty = empty.into_bytes();
    let nothing = MockProfiler::new(move |_, _| Reply::Message(empty.clone()));
    let output = place.run(&["capture", &nothing.address(), "-o", "logs", "--ms", "20"]);
    assert!(
        stderr(&output).contains("without a profile"),
        "{}",
        stderr(&output)
    );
    assert!(!place.path("logs").exists());
}

#[test]
fn an_idle_program_is_an_incomplete_capture() {
    let place = Place::empty();
    let mut idle = ProtoMessage::default();
    idle.message(1, |plane| {
        plane.text(2, "/host:CPU");
        plane.message(3, |line| line.text(2, "python"));
    });
    let server = serves(idle.into_bytes());
    let output = place.run(&["capture", &server.address(), "-o", "logs", "--ms", "20"]);
    assert_eq!(output.status.code(), Some(12), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("nothing was recorded: the program did nothing"),
        "{}",
        stderr(&output)
    );
    let text = stdout(&output);
    assert!(text.contains("nothing was recorded, 2"), "{text}");
    assert!(
        !text.contains("systole doctor"),
        "there is no verdict about nothing: {text}"
    );
}

#[test]
fn a_profile_that_arrives_damaged_is_said_to_be() {
    let whole = profile(1);
    let half = whole[..whole.len() / 2].to_vec();
    for (damaged, words) in [
        (vec![0xff; 1000], "cannot be read: "),
        (half, "arrived damaged"),
    ] {
        let place = Place::empty();
        let server = serves(damaged);
        let address = server.address();
        for more in [&[][..], &["--no-report"], &["--json"]] {
            let args = ["capture", &address, "-o", "logs", "--ms", "20"];
            let output = place.run(&[&args, more].concat());
            let said = stderr(&output) + stdout(&output);
            assert_eq!(output.status.code(), Some(12), "{said}");
            assert!(said.contains("arrived damaged"), "{said}");
            assert!(
                more.contains(&"--no-report") || said.contains(words),
                "{said}"
            );
            for wrong in ["nothing was recorded", "still being written", "option wait"] {
                assert!(!said.contains(wrong), "{said}");
            }
        }
        let output = place.run(&["capture", &address, "-o", "more", "--steps", "3"]);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(11), "{said}");
        assert!(!said.contains("systole-capture-"), "{said}");
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let from = format!("arrived damaged from {address}: ");
        assert!(
            said.contains(&from) && said.contains("a shorter time, or a lower level of the host"),
            "{said}"
        );
    }
}

#[test]
fn servers_are_not_asked_where_nothing_can_be_written() {
    let place = Place::empty();
    std::fs::write(place.path("file"), "x").unwrap();
    let server = serves(profile(1));
    let address = server.address();
    for more in [&[][..], &["--continuous", "snapshot"], &["--steps", "2"]] {
        let args = ["capture", &address, "-o", "file/logs"];
        let output = place.run(&[&args, more].concat());
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("cannot write"),
            "{}",
            stderr(&output)
        );
    }
    assert!(server.calls().is_empty());
}

#[test]
fn arguments_that_cannot_work_are_refused_before_anything_is_recorded() {
    let place = Place::empty();
    let server = serves(profile(1));
    let address = server.address();
    let named = [
        "capture",
        &address,
        "-o",
        "logs",
        "--ms",
        "20",
        "--session",
        "before",
        "--no-report",
    ];
    assert_eq!(place.code(&named), 0);
    assert_eq!(place.code(&named), 2, "the run has this profile already");
    assert!(place.path("logs/plugins/profile/before").is_dir());
    let twice = format!("{address},{address}");
    for wrong in [
        &["capture", "localhost", "-o", "logs"][..],
        &["capture", &twice, "-o", "logs"],
        &["capture", &address, "-o", "gs://bucket/logs"],
        &["capture", &address, "-o", "logs", "--session", "../x"],
        &["capture", &address, "-o", "logs", "--option", "x"],
        &["capture", &address, "-o", "logs", "--ms", "0"],
    ] {
        assert_eq!(place.code(wrong), 2, "{wrong:?}");
    }
    assert_eq!(server.calls().len(), 1);
}

/// What forbids the network forbids all of it, also hosts that are named.
#[test]
fn no_server_is_asked_where_the_network_is_forbidden() {
    let (place, server) = (Place::empty(), serves(profile(1)));
    let address = server.address();
    for (network, host) in [
        ("off", &*address),
        ("loopback", "192.0.2.1:9012"),
        ("of", &address),
    ] {
        for args in [
            &["capture", host, "-o", "logs", "--ms", "50"][..],
            &["top", host, "--count", "1", "--ms", "20"],
        ] {
            let output = place
                .command()
                .args(args)
                .env("SYSTOLE_NETWORK", network)
                .output()
                .unwrap();
            let said = stderr(&output);
            assert!(
                said.contains("SYSTOLE_NETWORK forbids asking"),
                "{network} {args:?}: {said}"
            );
            assert_eq!(output.status.code(), Some(3), "{said}");
        }
    }
    assert!(server.calls().is_empty() && !place.path("logs").exists());
    let mut command = place.command();
    command
        .args(["capture", &address, "-o", "logs", "--ms", "50"])
        .env("SYSTOLE_NETWORK", "loopback");
    assert_eq!(command.output().unwrap().status.code(), Some(0));
}

#[test]
fn a_profile_has_a_place_and_a_length_by_default_and_by_another_name() {
    let (place, server) = (Place::empty(), serves(profile(1)));
    let address = server.address();
    let args = ["capture", &address, "--duration", "20", "--no-report"];
    assert_eq!(place.code(&args), 0);
    assert!(place.path("systole-logs/plugins/profile").is_dir());
    assert_eq!(server.calls()[0].numbers(&[1]), [20], "milliseconds");
}

/// A process that is stopped still has its port: the system accepts connections for it.
#[test]
fn a_server_that_hangs_is_called_so_within_the_timeout() {
    let place = Place::empty();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let begun = std::time::Instant::now();
    for args in [
        &["capture", &address, "--ms", "20", "--timeout", "1"][..],
        &[
            "capture",
            &address,
            "--continuous",
            "stop",
            "--timeout",
            "1",
        ],
    ] {
        let output = place.run(args);
        assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
        assert!(
            stderr(&output).contains("answers nothing within 1 s: the program hangs"),
            "{}",
            stderr(&output)
        );
    }
    assert!(begun.elapsed().as_secs_f64() < 8.0, "{:?}", begun.elapsed());
    assert!(!place.path("systole-logs").exists());
}
