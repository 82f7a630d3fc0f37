//! Transfers from buckets that fail: what is tried again, what is refused, and what the message says.

use serde_json::Value;

use crate::bucket_server::Fault;
use crate::buckets::{Remote, trace};
use crate::place::stderr;

#[test]
fn failures_that_pass_are_tried_again() {
    let remote = Remote::new();
    for (fault, path) in [
        (Fault::FailsFirst(2), "gs://logs/one.json".to_owned()),
        (Fault::CutsFirst(2), "s3://logs/one.json".to_owned()),
        (Fault::CutsFirst(2), remote.web("one.json")),
        (Fault::FailsFirst(2), remote.web("one.json")),
        (Fault::NoRanges, remote.web("one.json")),
    ] {
        remote.server.set(fault);
        let (report, seen) = remote.doctor(&["--no-cache", &path]);
        assert_eq!(
            report["input"][0]["bytes"],
            trace(7).len(),
            "{fault:?} {path}"
        );
        if fault == Fault::CutsFirst(2) {
            let again: Vec<&String> = seen
                .iter()
                .filter(|line| line.contains("bytes=") && !line.contains("=0-"))
                .collect();
            assert!(
                !again.is_empty(),
                "what has come is not asked for again: {seen:?}"
            );
        }
    }
}

#[test]
fn what_cannot_be_read_says_why_and_names_the_address_last() {
    let remote = Remote::new();
    let says = |args: &[&str], words: &str| {
        let said = remote.refused(args);
        let shown = args[args.len() - 1].split('?').next().unwrap_or_default();
        assert!(
            said.contains(words) && said.trim_end().ends_with(shown),
            "{args:?}: {said}"
        );
    };
    says(
        &["doctor", "gs://logs/nothing"],
        "nothing is there: the bucket logs has no object of this name",
    );
    says(&["doctor", "s3://logs/nothing"], "nothing is there");
    says(&["doctor", "gs://lgos/run"], "there is no bucket lgos");
    says(&["doctor", "s3://lgos/run"], "there is no bucket lgos");
    says(&["doctor", "gs://logs/notes"], "no profile found");
    says(
        &["doctor", &remote.web("nothing.json?sig=very-secret")],
        "there is no such file (404 Not Found)",
    );
    says(
        &["doctor", "https://example.com/x.json"],
        "SYSTOLE_NETWORK forbids asking example.com",
    );
    remote.server.set(Fault::Status(403));
    says(
        &["doctor", "gs://logs/one.json"],
        "access is denied (403 Forbidden): the credentials need",
    );
    says(
        &["doctor", "s3://logs/one.json"],
        "access is denied (403 Forbidden)",
    );
    says(
        &["doctor", &remote.web("one.json?sig=very-secret")],
        "access is denied (403 Forbidden): a signed address may have",
    );
    remote.server.set(Fault::Status(401));
    says(
        &["doctor", "gs://logs/one.json"],
        "not signed in (401 Unauthorized): run gcloud auth application-default login",
    );
    remote.server.set(Fault::Changes);
    says(
        &["doctor", "gs://logs/one.json"],
        "it was changed while it was read",
    );
    says(
        &["doctor", &remote.web("one.json")],
        "it was changed while it was read",
    );
}

/// A status without a phrase is named, and what will not pass is asked for once.
#[test]
fn refusals_are_named_and_not_tried_again() {
    let remote = Remote::new();
    let web = remote.web("one.json");
    for (status, words, times) in [
        (401, "(401 Unauthorized)", 1),
        (403, "(403 Forbidden)", 1),
        (404, "(404 Not Found)", 1),
        (410, "(410 Gone)", 1),
        (500, "(500 Internal Server Error)", 1),
        (501, "(501 Not Implemented)", 1),
        (418, "418 I'm a teapot", 1),
        (599, "(599)", 1),
        (
            503,
            "(503 Service Unavailable), also after 4 more attempts",
            5,
        ),
    ] {
        for path in [&*web, "gs://logs/one.json", "s3://logs/one.json"] {
            let is_web = path == web;
            // Stores say what else was asked for, and their own words about what may pass.
            let is_theirs = !is_web && matches!(status, 404 | 410 | 418 | 503);
            remote.server.set(Fault::Bare(status));
            let said = remote.refused(&["doctor", path]);
            let seen = remote.server.seen();
            assert!(is_theirs || said.contains(words), "{status} {path}: {said}");
            assert!(
                seen.len() == times || is_theirs && seen.len() <= 2 * times,
                "{status} {path}: {seen:?}"
            );
        }
    }
}

#[test]
fn without_credentials_it_says_how_to_get_them() {
    let remote = Remote::new();
    for (path, how) in [
        ("gs://logs/x", "gcloud auth application-default login"),
        ("s3://logs/x", "aws configure"),
    ] {
        let mut command = remote.place.command();
        command
            .env_clear()
            .env("SYSTOLE_NETWORK", "loopback")
            .env("HOME", remote.place.dir.path());
        let output = command.args(["doctor", path]).output().expect("it starts");
        let said = stderr(&output);
        // The metadata server of a cloud would be asked for credentials: it is no host of this machine.
        assert!(
            said.contains("no credentials were found") && said.contains(how),
            "{path}: {said}"
        );
    }
}

#[test]
fn no_server_is_said_soon() {
    let remote = Remote::new();
    let output = remote.run(&["doctor", "http://127.0.0.1:9/x.json"]);
    assert!(
        stderr(&output).contains("no connection"),
        "{}",
        stderr(&output)
    );
}

/// Three ranges, of which the first process gets two.
#[test]
fn another_process_goes_on_with_a_transfer_that_broke_off() {
    let remote = Remote::new();
    // White space behind the end is valid, and soon read.
    let padded = |slices, len| [trace(slices), vec![b' '; len]].concat();
    let big = padded(3, 20 << 20);
    // One byte only tells the size.
    let is_transfer = |line: &String| line.contains("bytes=") && !line.ends_with("bytes=0-0");
    let transfers = |seen: Vec<String>| seen.into_iter().filter(is_transfer).count();
    for path in [
        "gs://logs/big.json",
        "s3://logs/big.json",
        &remote.web("big.json"),
    ] {
        remote.server.put("big.json", &big);
        remote.server.set(Fault::EndsAfter(2));
        remote.refused(&["doctor", path]);
        remote.server.seen();
        remote.server.set(Fault::None);
        let (report, seen) = remote.doctor(&[path]);
        assert_eq!(report["input"][0]["bytes"], big.len(), "{path}");
        assert_eq!(transfers(seen), 1, "{path}");
        let cache = std::fs::read_dir(remote.place.path("cache")).expect("the cache");
        let unfinished = cache
            .filter_map(Result::ok)
            .filter(|file| file.file_name().to_string_lossy().contains("unfinished"));
        assert_eq!(unfinished.count(), 0);
    }
    // A changed object is read anew.
    remote.server.put("big.json", &big);
    remote.server.set(Fault::EndsAfter(2));
    remote.refused(&["doctor", "gs://logs/big.json"]);
    remote.server.put("big.json", &padded(9, 21 << 20));
    remote.server.set(Fault::None);
    remote.server.seen();
    let (report, seen) = remote.doctor(&["gs://logs/big.json"]);
    assert_eq!(
        (report["input"][0]["bytes"].clone(), transfers(seen)),
        (Value::from(padded(9, 21 << 20).len()), 3)
    );
}
