//! Large files that are written to buckets, in parts; transfers that stall.

use std::fs;

use sample_traces::write::ProtoMessage;

use crate::bucket_server::Fault;
use crate::buckets::Remote;
use crate::place::stderr;

/// Bytes of a part.
const PART: usize = 5 << 20;

/// A profile whose table of slices has more than 50 MB, because each of them has a long name.
fn profile() -> Vec<u8> {
    const EVENTS: u64 = 5_200;
    let mut space = ProtoMessage::default();
    space.message(1, |plane| {
        plane.text(2, "/host:CPU");
        plane.message(3, |line| {
            line.text(2, "python");
            for at in 0..EVENTS {
                line.message(4, |event| {
                    event.uint(1, 1);
                    event.uint(2, at * 2_000);
                    event.uint(3, 1_000);
                });
            }
        });
        plane.message(4, |entry| {
            entry.uint(1, 1);
            entry.message(2, |metadata| {
                metadata.uint(1, 1);
                metadata.text(2, &"a long name ".repeat(900));
            });
        });
    });
    space.into_bytes()
}

/// Files are sent in parts; parts that are lost are sent again, and no others.
#[test]
fn large_files_are_written_in_parts_of_which_only_lost_ones_are_sent_again() {
    let remote = Remote::new();
    fs::write(remote.place.path("long.xplane.pb"), profile()).unwrap();
    let export = |bucket: &str| {
        remote.run(&[
            "export",
            "long.xplane.pb",
            "--to",
            "csv",
            "--tables",
            "slices",
            "-o",
            bucket,
        ])
    };
    assert!(export("here").status.success());
    let expected = fs::read(remote.place.path("here/slices.csv")).unwrap();
    let parts = expected.len().div_ceil(PART);
    assert!(parts > 10, "{}", expected.len());
    for scheme in ["gs", "s3"] {
        for (fault, lost) in [(Fault::None, 0), (Fault::LosesParts(3), 3)] {
            remote.server.set(fault);
            remote.server.seen();
            let output = export(&format!("{scheme}://logs/{scheme}-{lost}"));
            assert!(output.status.success(), "{}", stderr(&output));
            let written = remote.server.object(&format!("{scheme}-{lost}/slices.csv"));
            assert!(
                written.as_ref() == Some(&expected),
                "the whole file is there"
            );
            let sent = remote
                .server
                .seen()
                .iter()
                .filter(|line| line.starts_with("PUT"))
                .count();
            assert_eq!(
                (sent, remote.server.unfinished()),
                (parts + lost, 0),
                "{scheme} {fault:?}"
            );
        }
        // Parts that nobody completes would be paid for.
        for taken in [0, 9] {
            remote.server.set(Fault::RefusesParts(taken));
            let output = export(&format!("{scheme}://logs/refused"));
            assert_eq!(output.status.code(), Some(3), "{}", stderr(&output));
            assert!(
                stderr(&output).contains("access is denied"),
                "{}",
                stderr(&output)
            );
            assert_eq!(remote.server.unfinished(), 0, "{scheme} {taken}");
            assert!(remote.server.object("refused/slices.csv").is_none());
        }
    }
}

/// A server that says nothing more is left after half a minute, and asked for the rest.
#[test]
fn transfers_that_stall_go_on_where_they_stopped() {
    let stalled = |scheme: &'static str| {
        move || {
            let remote = Remote::new();
            remote.server.set(Fault::StallsFirst(1));
            let path = match scheme {
                "http" => remote.web("one.json"),
                bucket => format!("{bucket}://logs/one.json"),
            };
            let (report, seen) = remote.doctor(&["--no-cache", &path]);
            assert_eq!(
                report["input"][0]["bytes"],
                crate::buckets::trace(7).len(),
                "{scheme}"
            );
            let rest = seen
                .iter()
                .filter(|line| line.contains("bytes=") && !line.contains("=0-"));
            assert_eq!(rest.count(), 1, "{scheme}: {seen:?}");
        }
    };
    let start = |scheme| std::thread::Builder::new().spawn(stalled(scheme)).unwrap();
    for one in ["gs", "s3", "http"].map(start) {
        one.join().unwrap();
    }
}
