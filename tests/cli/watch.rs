//! `systole watch`: each new run of a log directory is judged once.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;
use std::process::Output;

use sample_traces::fleet::FleetSpec;
use sample_traces::write::xspace_bytes;
use serde_json::Value;
use trace_model::Picos;

use crate::bucket_server::BucketServer;
use crate::outputs::{run, text};
use crate::place::Place;

/// A profile of steps with so much work; a field that no version knows makes its bytes those of this run alone.
fn profile(run: &str, work_ms: i64) -> Vec<u8> {
    let work = Picos::from_ps(work_ms * trace_model::time::PS_PER_MS);
    let session = FleetSpec {
        devices: 2,
        steps: 12,
        work,
        calls: true,
        ..FleetSpec::default()
    }
    .session();
    let unknown = [&[0x7a, run.len() as u8], run.as_bytes()].concat();
    [xspace_bytes(&session), unknown].concat()
}

fn add_run(logdir: &Path, name: &str, work_ms: i64) {
    let dir = logdir.join("plugins/profile").join(name);
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("host.xplane.pb"), profile(name, work_ms)).unwrap();
}

fn watch(logdir: &Path, more: &[&str]) -> (Output, Vec<Value>) {
    let args = [
        "watch",
        logdir.to_str().unwrap(),
        "--once",
        "--settle",
        "0",
        "--format",
        "json",
    ];
    let output = run(&[&args, more].concat());
    let lines = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    (output, lines)
}

fn of(lines: &[Value]) -> Vec<(&str, &str)> {
    lines
        .iter()
        .map(|line| {
            (
                line["run"].as_str().unwrap(),
                line["status"].as_str().unwrap(),
            )
        })
        .collect()
}

#[test]
fn each_run_is_judged_once_against_the_last_good_ones() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    let (output, lines) = watch(logs, &[]);
    assert!(
        output.status.success() && lines.is_empty(),
        "nothing is there yet: {}",
        text(&output.stderr)
    );
    add_run(logs, "2026_01_01_10_00_00", 7);
    add_run(logs, "2026_01_02_10_00_00", 7);
    let (output, lines) = watch(logs, &[]);
    assert_eq!(
        of(&lines),
        [
            ("2026_01_01_10_00_00", "not judged"),
            ("2026_01_02_10_00_00", "pass")
        ]
    );
    assert!(
        output.status.success() && lines[1]["change"].is_string() && lines[0]["change"].is_null()
    );
    assert!(
        lines
            .iter()
            .all(|line| line["step_ps"].as_f64().is_some_and(|ps| ps > 9e9)),
        "{lines:?}"
    );
    assert!(watch(logs, &[]).1.is_empty(), "nothing is new");

    add_run(logs, "2026_01_03_10_00_00", 9);
    add_run(logs, "2026_01_04_10_00_00", 7);
    let (output, lines) = watch(logs, &["--exit-on-regression"]);
    assert_eq!(
        of(&lines),
        [("2026_01_03_10_00_00", "FAIL")],
        "it stops there"
    );
    assert_eq!(output.status.code(), Some(10));
    assert!(!lines[0]["failed"].as_array().unwrap().is_empty());
    let (output, lines) = watch(logs, &["--exit-on-regression"]);
    assert_eq!(
        of(&lines),
        [("2026_01_04_10_00_00", "pass")],
        "the failed run is no baseline"
    );
    assert!(output.status.success());
    let history = fs::read_to_string(logs.join("systole.history.jsonl")).unwrap();
    assert_eq!(history.lines().count(), 4);
}

#[test]
fn a_run_that_cannot_be_read_does_not_stop_the_watch() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    let broken = logs.join("plugins/profile/2026_01_01_10_00_00");
    fs::create_dir_all(&broken).unwrap();
    fs::write(broken.join("host.xplane.pb"), "no profile").unwrap();
    add_run(logs, "2026_01_02_10_00_00", 7);
    let (output, lines) = watch(logs, &[]);
    assert_eq!(
        of(&lines),
        [
            ("2026_01_01_10_00_00", "unreadable"),
            ("2026_01_02_10_00_00", "not judged")
        ]
    );
    assert_eq!(output.status.code(), Some(4), "a run is damaged");
    let why = lines[0]["error"].as_str().unwrap();
    assert!(
        why.ends_with("plugins/profile/2026_01_01_10_00_00/host.xplane.pb"),
        "the file is named: {why}"
    );
    assert!(lines[0]["steps"].is_null() && lines[1]["steps"] == 12);
    let lines = fs::read_to_string(logs.join("systole.history.jsonl")).unwrap();
    let kept: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert!(kept["steps"].is_null(), "{kept}");
    let one_line = run(&["watch", logs.to_str().unwrap(), "--once", "--settle", "0"]);
    assert_eq!(text(&one_line.stdout), "", "it is told of once");
    assert!(one_line.status.success(), "nothing is new");
    let history = run(&[
        "history",
        logs.join("systole.history.jsonl").to_str().unwrap(),
    ]);
    let table = text(&history.stdout);
    assert!(table.contains("unreadable"), "{table}");
    fs::write(broken.join("host.xplane.pb"), "no profile, again").unwrap();
    assert_eq!(
        of(&watch(logs, &[]).1),
        [("2026_01_01_10_00_00", "unreadable")],
        "it has changed"
    );
}

/// The first run is judged by budgets; what needs a baseline is inconclusive, and the line says so.
#[test]
fn the_first_run_says_which_gates_lack_a_baseline() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    add_run(logs, "2026_01_01_10_00_00", 7);
    let budget = logs.join("systole.toml");
    let gates = "version = 1\n[[budget]]\nmetric = \"step.time_ms\"\nmax = 50\n\
                 [[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\n";
    fs::write(&budget, gates).unwrap();
    let budget = ["--budget", budget.to_str().unwrap()];
    let (output, lines) = watch(logs, &budget);
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert_eq!(of(&lines), [("2026_01_01_10_00_00", "inconclusive")]);
    let why = lines[0]["inconclusive"][0].as_str().unwrap();
    assert!(
        why.starts_with("step.time_ms: there is no baseline"),
        "{why}"
    );
    fs::remove_file(logs.join("systole.history.jsonl")).unwrap();
    let again = ["watch", logs.to_str().unwrap(), "--once", "--settle", "0"];
    let said = run(&[&again[..], &budget].concat());
    assert!(text(&said.stdout).contains(why), "{}", text(&said.stdout));
}

#[test]
fn what_is_no_log_directory_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let missing = dir.path().join("no-such");
    assert_eq!(
        run(&["watch", missing.to_str().unwrap(), "--once"])
            .status
            .code(),
        Some(3)
    );
    fs::write(dir.path().join("a.xplane.pb"), "").unwrap();
    let output = run(&[
        "watch",
        dir.path().to_str().unwrap(),
        "--once",
        "--settle",
        "0",
    ]);
    assert_eq!(output.status.code(), Some(2), "{}", text(&output.stderr));
}

#[test]
fn log_directories_in_buckets_are_watched_like_those_on_this_machine() {
    let key = |name: &str| format!("runs/plugins/profile/{name}/host.xplane.pb");
    let server = BucketServer::with(&[
        (&key("2026_01_01_10_00_00"), &profile("1", 7)),
        (&key("2026_01_02_10_00_00"), &profile("2", 7)),
        ("empty/notes.txt", b"nothing to see"),
    ]);
    let place = Place::empty();
    let watch = |scheme: &str, more: &[&str]| {
        let path = format!("{scheme}://logs/runs");
        let args = [
            &[
                "watch", &path, "--once", "--settle", "0", "--format", "json",
            ],
            more,
        ]
        .concat();
        let mut command = place.command();
        command
            .env_clear()
            .envs(server.variables())
            .env("HOME", place.dir.path());
        let output = command
            .env("SYSTOLE_CACHE_DIR", place.path("cache"))
            .args(args)
            .output()
            .unwrap();
        let lines: Vec<Value> = text(&output.stdout)
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        (output, lines)
    };
    let (output, _) = watch("gs", &[]);
    assert_eq!(
        output.status.code(),
        Some(2),
        "there is no default for the history"
    );
    assert!(
        text(&output.stderr).contains("--history FILE"),
        "{}",
        text(&output.stderr)
    );

    let history = ["--history", "history.jsonl"];
    let (output, lines) = watch("gs", &history);
    assert_eq!(
        of(&lines),
        [
            ("2026_01_01_10_00_00", "not judged"),
            ("2026_01_02_10_00_00", "pass")
        ]
    );
    assert!(output.status.success(), "{}", text(&output.stderr));
    assert!(
        watch("gs", &history).1.is_empty(),
        "both are in the history"
    );

    server.put(&key("2026_01_03_10_00_00"), &profile("3", 9));
    let (output, lines) = watch("gs", &[&history[..], &["--exit-on-regression"]].concat());
    assert_eq!(of(&lines), [("2026_01_03_10_00_00", "FAIL")]);
    assert_eq!(output.status.code(), Some(10));
    server.seen();
    assert!(watch("gs", &history).1.is_empty());
    let asked = server.seen();
    assert_eq!(
        asked,
        ["HEAD /logs/runs", "GET /logs"],
        "what is known costs one list of the objects"
    );

    let (_, lines) = watch("s3", &["--history", "other.jsonl"]);
    assert_eq!(lines.len(), 3, "{lines:?}");
}

/// A run whose writer has gone long ago is read as it is, and what it lacks is said.
#[test]
fn a_cut_run_of_old_is_read_at_once_and_called_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let run_dir = dir.path().join("plugins/profile/2026_01_01_10_00_00");
    fs::create_dir_all(&run_dir).unwrap();
    let bytes = profile("1", 7);
    let file = run_dir.join("host.xplane.pb");
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let old = std::time::SystemTime::now() - std::time::Duration::from_hours(1);
    fs::File::options()
        .write(true)
        .open(&file)
        .unwrap()
        .set_modified(old)
        .unwrap();
    let logs = dir.path().to_str().unwrap();
    let listed = run(&["runs", logs]);
    assert!(
        text(&listed.stdout).contains("damaged: The file ends"),
        "{}",
        text(&listed.stdout)
    );
    let output = run(&["watch", logs, "--once"]);
    assert!(
        text(&output.stdout).contains("damaged: The file ends"),
        "{}",
        text(&output.stdout)
    );
    let said = text(&output.stderr);
    assert!(
        !said.contains("is not complete") && !said.contains("no new run"),
        "it is there, and not waited for: {said}"
    );
    let missing = run(&["watch", "no-such-directory", "--once"]);
    assert_eq!(missing.status.code(), Some(3));
    assert!(
        text(&missing.stderr).contains("No such file"),
        "{}",
        text(&missing.stderr)
    );
}

/// Whoever is to be told of a run gets its line: a command on standard input, a web server in a request.
#[test]
fn commands_and_web_servers_are_told_of_bad_runs_or_of_all() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    for (day, work) in [(1, 7), (2, 7), (3, 9)] {
        add_run(logs, &format!("2026_01_0{day}_10_00_00"), work);
    }
    let (hook, posted) = hook(200);
    let told = logs.join("told.jsonl");
    let exec = format!("cat >> {}; echo \"$SYSTOLE_RUN\"", told.display());
    let (output, lines) = watch(logs, &["--exec", &exec, "--webhook", &hook]);
    assert_eq!(
        lines.len(),
        3,
        "what a command prints is not among the lines"
    );
    assert!(text(&output.stderr).contains("2026_01_03_10_00_00"));
    let bad: Value = serde_json::from_str(fs::read_to_string(&told).unwrap().trim()).unwrap();
    assert_eq!(bad, lines[2]);
    let (head, body) = posted.recv().unwrap();
    assert!(
        head.starts_with("POST /hook?token=secret HTTP/1.1") && head.contains("application/json"),
        "{head}"
    );
    assert_eq!(serde_json::from_str::<Value>(&body).unwrap(), lines[2]);
    assert!(posted.try_recv().is_err(), "runs that pass alert nobody");

    fs::remove_file(logs.join("systole.history.jsonl")).unwrap();
    let (output, lines) = watch(
        logs,
        &["--exec", "exit 3", "--alert", "all", "--webhook", &hook],
    );
    assert_eq!((lines.len(), posted.iter().take(3).count()), (3, 3));
    let said = text(&output.stderr);
    assert!(
        said.matches("--exec: the command ended with").count() == 3,
        "{said}"
    );
}

/// A watch that is ended takes the command that it runs with it, and what the command started. What shells start in the
/// background ignores the signal of Ctrl+C, so that another one stands for it.
#[cfg(unix)]
#[test]
fn commands_end_with_the_watch() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    add_run(logs, "2026_01_01_10_00_00", 7);
    let beats = logs.join("beats");
    let exec = format!(
        "(while :; do echo beat >> {}; sleep 0.05; done) & wait",
        beats.display()
    );
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_systole"));
    command.args(["watch", "--once", "--settle", "0", "--alert", "all"]);
    let command = command.args(["--exec", &exec]).arg(logs);
    let mut watch = command.stdout(std::process::Stdio::null()).spawn().unwrap();
    let begun = std::time::Instant::now();
    let waits = || begun.elapsed() < std::time::Duration::from_mins(1);
    let pause = || std::thread::sleep(std::time::Duration::from_millis(500));
    while waits() && !beats.exists() {
        pause();
    }
    let mut kill = std::process::Command::new("kill");
    let status = kill.args(["-TERM", &watch.id().to_string()]).status();
    assert!(status.unwrap().success() && !watch.wait().unwrap().success());
    let (mut before, mut now) = (0, fs::metadata(&beats).unwrap().len());
    while waits() && before < now {
        pause();
        (before, now) = (now, fs::metadata(&beats).unwrap().len());
    }
    assert_eq!(before, now, "what the command started has ended");
}

/// What fails to be told is a warning, without the secrets of an address; the watch goes on.
#[test]
fn alerts_that_fail_are_warnings() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    add_run(logs, "2026_01_01_10_00_00", 7);
    let (hook, _posted) = hook(500);
    let (output, lines) = watch(logs, &["--alert", "all", "--webhook", &hook]);
    let said = text(&output.stderr);
    assert!(output.status.success() && lines.len() == 1, "{said}");
    assert!(
        said.contains("--webhook: 127.0.0.1 answers with status 500") && !said.contains("secret"),
        "{said}"
    );
    fs::remove_file(logs.join("systole.history.jsonl")).unwrap();
    let closed = "http://127.0.0.1:1/hook?token=secret";
    let (output, _) = watch(logs, &["--alert", "all", "--webhook", closed]);
    let said = text(&output.stderr);
    assert!(
        said.contains("--webhook: ") && !said.contains("secret"),
        "{said}"
    );
    let (output, _) = watch(logs, &["--webhook", "ftp://x"]);
    assert_eq!(output.status.code(), Some(2));
}

/// What holds at each look is said at the first.
#[test]
fn warnings_are_not_repeated() {
    let dir = tempfile::tempdir().unwrap();
    let logs = dir.path();
    for day in 1..4 {
        add_run(logs, &format!("2026_01_0{day}_10_00_00"), 7);
    }
    let (output, _) = watch(logs, &[]);
    assert!(output.status.success());
    let history = logs.join("systole.history.jsonl");
    let lines = fs::read_to_string(&history).unwrap();
    fs::write(&history, lines.replacen('\n', "\nno entry\n", 1)).unwrap();
    add_run(logs, "2026_01_04_10_00_00", 7);
    let (output, lines) = watch(logs, &[]);
    assert_eq!(lines.len(), 1);
    let said = text(&output.stderr);
    assert_eq!(said.matches("damaged line").count(), 1, "{said}");
}

/// A web server that answers each request with this status, its address, and what was posted: head and body.
fn hook(status: u16) -> (String, std::sync::mpsc::Receiver<(String, String)>) {
    use std::io::{Read as _, Write as _};
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!(
        "http://{}/hook?token=secret",
        listener.local_addr().unwrap()
    );
    let (send, posted) = std::sync::mpsc::sync_channel(100);
    std::thread::Builder::new()
        .name("hook".to_owned())
        .spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let (mut bytes, mut part) = (Vec::new(), [0; 4096]);
                let (head, body) = loop {
                    let read = stream.read(&mut part).unwrap();
                    bytes.extend_from_slice(&part[..read]);
                    let text = String::from_utf8_lossy(&bytes).into_owned();
                    let Some((head, body)) = text.split_once("\r\n\r\n") else {
                        continue;
                    };
                    let length = head.lines().find_map(|line| {
                        let (name, value) = line.split_once(':')?;
                        name.eq_ignore_ascii_case("content-length")
                            .then(|| value.trim().parse::<usize>().unwrap())
                    });
                    if body.len() >= length.unwrap_or(0) {
                        break (head.to_owned(), body.to_owned());
                    }
                };
                let answer = format!(
                    "HTTP/1.1 {status} x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                );
                stream.write_all(answer.as_bytes()).unwrap();
                if send.send((head, body)).is_err() {
                    return;
                }
            }
        })
        .unwrap();
    (address, posted)
}
