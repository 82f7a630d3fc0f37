//! Files that cannot be read or hold no profile: exit codes, messages, bounded memory.

use std::fs::{self, File};
use std::process::Command;

use analysis::{Options, Scope};
use importers::{ImportOptions, Progress};
use request::{RequestError, answers};
use sample_traces::write::gzip;
use session::Session;

use crate::commands::{CHROME_TRACE, code, file, run, small_trace, stderr, stdout};
use crate::place::corpus;

/// The command fails with this code, names the reason and the object on stderr, and
/// prints no data.
fn assert_refused(path: &str, expected_code: i32, expected_words: &[&str]) {
    for command in ["analyze", "doctor"] {
        let output = run(&[command, path]);
        let said = stderr(&output);
        assert_eq!(code(&output), expected_code, "{command} {path}: {said}");
        assert!(stdout(&output).is_empty(), "{command} {path}");
        assert!(
            said.starts_with("error: ") && said.contains(path),
            "{command} {path}: {said}"
        );
        for word in expected_words {
            assert!(
                said.contains(word),
                "{command} {path}: no {word:?} in {said}"
            );
        }
    }
}

#[test]
fn missing_paths_exit_with_3() {
    let dir = tempfile::tempdir().unwrap();
    let below = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    assert_refused(&below("missing.xplane.pb"), 3, &["No such file"]);
    assert_refused(&below("no*match"), 3, &["pattern"]);
    fs::create_dir(dir.path().join("empty")).unwrap();
    assert_refused(
        &below("empty"),
        3,
        &["plugins/profile/<run>/", ".xplane.pb"],
    );
}

#[test]
fn a_file_without_a_command_is_told_the_commands_for_it() {
    let (_dir, path) = small_trace();
    let said = run(&[&path]);
    assert_eq!(code(&said), 2);
    for command in ["open", "analyze"] {
        let command = format!("systole {command} {path}");
        assert!(stderr(&said).contains(&command), "{}", stderr(&said));
    }
    assert!(!stderr(&run(&["no-such-file"])).contains("systole open"));
}

#[cfg(unix)]
#[test]
fn unreadable_files_exit_with_3() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_dir, path) = small_trace();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if File::open(&path).is_ok() {
        println!("skipped: this user may read everything");
        return;
    }
    assert_refused(&path, 3, &["ermission"]);
}

#[test]
fn files_that_are_no_profile_exit_with_4_and_are_named() {
    for (name, bytes, word) in [
        ("a.xplane.pb", &b""[..], "empty"),
        ("b.json", b"<!DOCTYPE html><html>login</html>", "HTML"),
        ("c.xplane.pb", b"\x7fELF\x02\x01\x01\0\0\0\0\0", "ELF"),
        ("d.trace.json.gz", b"PK\x03\x04\0\0\0\0", "ZIP"),
        ("e.pb", &[0; 10_000], "zeros"),
        ("f.xplane.pb", b"hello there", "text"),
    ] {
        let (_dir, path) = file(name, bytes);
        assert_refused(&path, 4, &[word]);
    }
}

#[test]
fn huge_sparse_file_is_rejected_without_reading() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("sparse.xplane.pb");
    File::create(&path).unwrap().set_len(10 << 30).unwrap();
    assert_refused(path.to_str().unwrap(), 4, &["zeros"]);
}

/// `head`, then `filler` until 8 GiB are reached, in a few megabytes.
fn bomb(head: &[u8], filler: u8) -> Vec<u8> {
    let part = gzip(vec![filler; 64 << 20]);
    let mut packed = gzip(head);
    for _ in 0..128 {
        packed.extend_from_slice(&part);
    }
    packed
}

#[cfg(unix)]
#[test]
fn gzip_bomb_is_rejected_with_bounded_memory() {
    // A field of planes with 8 GiB, and a list of events with 8 GiB.
    let protobuf = [
        &[0x0a, 0x80, 0x80, 0x80, 0x80, 0x20, 0x12, 0x04][..],
        b"/a:b",
    ]
    .concat();
    for (name, bytes) in [
        ("a.xplane.pb.gz", bomb(&protobuf, 0)),
        ("b.trace.json.gz", bomb(b"{\"traceEvents\":[", b' ')),
    ] {
        let (_dir, path) = file(name, &bytes);
        // A program that unpacked everything would exceed the limit of 4 GiB of address space.
        let script = "ulimit -v 4194304; exec \"$0\" analyze --jobs 2 \"$1\"";
        let output = Command::new("sh")
            .args(["-c", script, env!("CARGO_BIN_EXE_systole"), &path])
            .output()
            .unwrap();
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(4), "{name}: {said}");
        assert!(
            said.starts_with("error: ") && !said.contains("panicked"),
            "{name}: {said}"
        );
    }
}

#[test]
fn truncated_trace_never_panics() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cut.json");
    for len in (0..CHROME_TRACE.len()).step_by(7) {
        fs::write(&path, &CHROME_TRACE[..len]).unwrap();
        let (import, options) = (ImportOptions::default(), Options::default());
        let exit = match Session::open(&path, &import, options, &Progress::new()) {
            Ok(session) => {
                answers::analyze(&session, Scope::WholeTrace, &[]).unwrap();
                0
            }
            Err(error) => RequestError::import(error, &path).codes().exit,
        };
        assert!([0, 4].contains(&exit), "{len}: {exit}");
    }
    fs::write(&path, &CHROME_TRACE[..7]).unwrap();
    let output = run(&["analyze", path.to_str().unwrap()]);
    assert_eq!(code(&output), 4);
    assert!(
        stderr(&output).starts_with("error: "),
        "{}",
        stderr(&output)
    );
}

#[test]
fn corrupted_profile_error_names_the_fix() {
    let Some(corpus) = corpus() else { return };
    assert_refused(
        corpus
            .join("damaged/utf8_mangled.xplane.pb")
            .to_str()
            .unwrap(),
        4,
        &["UTF-8"],
    );
}
