//! Attacks on the doors of the built program that take a while: `scripts/attack-tests` runs them, the quick tests do not.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use sample_traces::big::{BigSpec, big_xspace};
use serde_json::json;

use crate::limits::{measured, peak_of};
use crate::outputs::{recompile, text};
use crate::place::{Place, stderr};
use crate::serve_client::{Answer, Server};

fn run_at(dir: &Path, name: &str, bytes: &[u8]) {
    let run = dir.join("plugins/profile").join(name);
    fs::create_dir_all(&run).unwrap();
    fs::write(run.join("host.xplane.pb"), bytes).unwrap();
}

/// Ten thousand runs whose names say no time, none of which holds anything.
#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn many_empty_runs_are_listed_soon() {
    let place = Place::empty();
    run_at(place.dir.path(), "there", &fs::read(recompile()).unwrap());
    for number in 0..10_000 {
        fs::create_dir(place.path(&format!("plugins/profile/empty{number}"))).unwrap();
    }
    let soon = |what: &str, work: &dyn Fn()| {
        let started = Instant::now();
        work();
        assert!(
            started.elapsed() < Duration::from_secs(20),
            "{what}: {:?}",
            started.elapsed()
        );
    };
    for args in [
        &["runs", ".", "--verdicts", "0"][..],
        &["analyze", ".", "--only", "steps"],
        &["doctor", "**"],
    ] {
        soon(args[0], &|| {
            let output = place.run(args);
            assert_eq!(
                output.status.code(),
                Some(0),
                "{args:?}: {}",
                stderr(&output)
            );
        });
    }
    let server = Server::of(place.dir.path(), &[]);
    soon("serve", &|| {
        assert_eq!(server.json("/api/v1/runs?limit=1")["total"], 1);
    });
    soon("serve again", &|| {
        (0..20).for_each(|_| drop(server.json("/api/v1/runs?limit=1")));
    });
}

/// More clients than connections that send bodies slowly, on all doors: others are answered meanwhile, and the slow ones
/// are told.
#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn slow_bodies_keep_nobody_out() {
    let dir = tempfile::tempdir().unwrap();
    run_at(dir.path(), "run", &fs::read(recompile()).unwrap());
    let server = Server::of(dir.path(), &[]);
    let id = server.ids().remove(0);
    let query = format!("/api/v1/runs/{id}/query");
    let mut slow: Vec<TcpStream> = (0..400).map(|_| server.connect()).collect();
    for (at, stream) in slow.iter_mut().enumerate() {
        let path = if at % 2 == 0 { "/mcp" } else { &query };
        let head = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        );
        let accepts =
            "Accept: application/json, text/event-stream\r\nContent-Length: 20000\r\n\r\n{";
        // Those that came first may have made room.
        let _ = stream.write_all(format!("{head}{accepts}").as_bytes());
    }
    let until = Instant::now() + Duration::from_secs(12);
    let mut answers = 0;
    while Instant::now() < until {
        let started = Instant::now();
        assert_eq!(
            server.json(&format!("/api/v1/runs/{id}/reports/steps"))["schema"],
            "systole.report/3"
        );
        assert!(
            started.elapsed() < Duration::from_secs(10),
            "{:?}",
            started.elapsed()
        );
        answers += 1;
        for stream in slow.iter_mut().rev().take(20) {
            let _ = stream.write_all(b" ");
        }
    }
    assert!(answers > 5, "{answers}");
    // The last one has sent a byte now and then.
    let mut last = slow.pop().unwrap();
    let mut said = String::new();
    let _ = last.read_to_string(&mut said);
    assert!(
        said.is_empty() || said.starts_with("HTTP/1.1 408"),
        "{said}"
    );
}

/// Clients that ask for a large model and take nothing of it.
#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn models_that_nobody_takes_have_a_limit() {
    let dir = tempfile::tempdir().unwrap();
    run_at(
        dir.path(),
        "big",
        &big_xspace(BigSpec {
            slices: 1_500_000,
            tracks: 16,
        }),
    );
    run_at(dir.path(), "small", &fs::read(recompile()).unwrap());
    let server = Server::of(dir.path(), &[]);
    let ids = server.ids();
    let sizes = ids.iter().map(|id| {
        server.json(&format!("/api/v1/runs/{id}"))["files"][0]["bytes"]
            .as_u64()
            .unwrap()
    });
    let sizes: Vec<u64> = sizes.collect();
    let (big, small) = if sizes[0] > sizes[1] {
        (&ids[0], &ids[1])
    } else {
        (&ids[1], &ids[0])
    };
    server.json(&format!("/api/v1/runs/{big}/reports/verdict"));
    let before = peak_of(server.id());
    let ask = |stream: &mut TcpStream| {
        let head = format!(
            "GET /api/v1/runs/{big}/model?packed=false HTTP/1.1\r\nHost: localhost\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).unwrap();
    };
    let mut stuck: Vec<TcpStream> = (0..150).map(|_| server.connect()).collect();
    stuck.iter_mut().for_each(ask);
    let until = Instant::now() + Duration::from_secs(8);
    let mut answered = 0;
    while Instant::now() < until {
        // While the models are made, the server may say that it is busy; nobody waits.
        let answer = server.get(&format!("/api/v1/runs/{small}/reports/steps"), &[]);
        assert!([200, 503].contains(&answer.status), "{}", answer.head);
        answered += usize::from(answer.status == 200);
        thread::sleep(Duration::from_millis(200));
    }
    assert!(answered > 0, "no report in 8 s");
    let after = peak_of(server.id());
    assert!(after < before + 3000, "{before} MB, then {after} MB");
    drop(stuck);
    let answer = server.get(&format!("/api/v1/runs/{big}/model?packed=false"), &[]);
    assert!(
        answer.status == 200 && answer.body.len() > 1_000_000,
        "{}",
        answer.head
    );
}

/// One call of a function in SQL can take long: as many of them as there are places for queries.
#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn functions_that_take_long_keep_no_report_waiting() {
    let dir = tempfile::tempdir().unwrap();
    run_at(dir.path(), "run", &fs::read(recompile()).unwrap());
    let server = Server::of(dir.path(), &[]);
    let id = server.ids().remove(0);
    let long = "printf('%.*c', 120000, 'x')";
    let count = "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c)";
    let queries = [
        format!("{count} SELECT sum(instr({long}, printf('%.*c', 60000, 'x') || 'y')) FROM c"),
        format!(
            "{count} SELECT sum({long} LIKE '{}') FROM c",
            "%x".repeat(400) + "y"
        ),
        format!(
            "{count} SELECT sum({long} GLOB '{}') FROM c",
            "*x".repeat(400) + "y"
        ),
        format!("{count} SELECT sum(length(replace({long}, 'x', 'yy'))) FROM c"),
        format!("{count} SELECT sum(length(hex(zeroblob(60000)))) FROM c"),
        format!("{count} SELECT sum(length(json_group_array(n))) FROM c"),
    ];
    thread::scope(|scope| {
        for sql in queries.iter().cycle().take(16) {
            let (server, id) = (&server, &id);
            scope.spawn(move || {
                let body = json!({"sql": sql, "seconds": 2}).to_string();
                let path = format!("/api/v1/runs/{id}/query");
                let answer = server.ask("POST", &path, &["Content-Type: application/json"], &body);
                assert!(
                    [400, 503].contains(&answer.status),
                    "{sql:.100}: {}",
                    text(&answer.body)
                );
            });
        }
        for report in ["ops", "overlap", "roofline", "devices", "memory", "gaps"] {
            let started = Instant::now();
            server.json(&format!("/api/v1/runs/{id}/reports/{report}"));
            assert!(
                started.elapsed() < Duration::from_secs(15),
                "{report}: {:?}",
                started.elapsed()
            );
        }
    });
    assert_eq!(server.json("/api/v1/health")["status"], "ok");
}

#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn an_answer_has_at_most_a_gigabyte() {
    let place = Place::empty();
    let sql = "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c) SELECT n, printf('%.*c', 120000, 'x') FROM c";
    for format in ["json", "csv"] {
        let mut command = place.command();
        command.args([
            "query",
            &recompile(),
            sql,
            "--limit",
            "0",
            "--format",
            format,
        ]);
        let (status, out, peak) = measured(command, &place);
        assert!(
            status.success() && peak < 300,
            "{format}: {status}, {peak} MB"
        );
        assert!(
            (1 << 29..=(1 << 30) + 1000).contains(&out.len()),
            "{format}: {}",
            out.len()
        );
        let end = String::from_utf8_lossy(&out[out.len() - 30..]).into_owned();
        assert!(
            format != "json" || end.ends_with("],\"truncated\":true}\n"),
            "{end}"
        );
    }
}

/// Requests that are no requests, and more of them than anybody asks.
#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn hostile_messages_end_no_server_of_agents() {
    let place = Place::empty();
    place.write("x.xplane.pb", &fs::read(recompile()).unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    command
        .args(["mcp", "--root", "."])
        .current_dir(place.dir.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut server = command.spawn().unwrap();
    let (mut stdin, mut stdout) = (server.stdin.take().unwrap(), server.stdout.take().unwrap());
    let read = move || {
        let mut said = String::new();
        stdout.read_to_string(&mut said).map(|_| said).unwrap()
    };
    let reader = thread::Builder::new()
        .name("reader".into())
        .spawn(read)
        .unwrap();
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    let mut line = |text: &str| {
        stdin
            .write_all(text.as_bytes())
            .and_then(|()| stdin.write_all(b"\n"))
            .unwrap();
    };
    line(&json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).to_string());
    line(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    line(&"[".repeat(100_000));
    line(&format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"{}\"}}",
        "x".repeat(20 << 20)
    ));
    line("\u{0}\u{1}\u{2}");
    let endless =
        "WITH RECURSIVE c(n) AS (VALUES(1) UNION ALL SELECT n + 1 FROM c) SELECT max(n) FROM c";
    for id in 10..60 {
        let arguments = json!({"path": "x.xplane.pb", "sql": endless, "seconds": 1});
        let call = json!({"name": "query", "arguments": arguments});
        line(
            &json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": call})
                .to_string(),
        );
    }
    let call = json!({"name": "verdict", "arguments": {"path": "x.xplane.pb"}});
    line(&json!({"jsonrpc": "2.0", "id": 99, "method": "tools/call", "params": call}).to_string());
    let started = Instant::now();
    // Its answers are complete when it ends: the end of the input does not drop those that were asked for.
    thread::sleep(Duration::from_secs(1));
    let peak = peak_of(server.id());
    drop(stdin);
    let said = reader.join().unwrap();
    assert!(server.wait().unwrap().success() && peak < 1500, "{peak} MB");
    assert!(
        started.elapsed() < Duration::from_secs(90),
        "{:?}",
        started.elapsed()
    );
    assert!(
        said.contains("\"id\":1,") || said.contains("\"id\":1}"),
        "{said:.300}"
    );
}

/// Lines of a history from many processes at once.
#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn parallel_writers_of_a_history_lose_no_line() {
    let place = Place::empty();
    place.write("x.xplane.pb", &fs::read(recompile()).unwrap());
    thread::scope(|scope| {
        for _ in 0..50 {
            scope.spawn(|| {
                let output = place.run(&[
                    "analyze",
                    "x.xplane.pb",
                    "--only",
                    "steps",
                    "--history",
                    "h.jsonl",
                ]);
                assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
            });
        }
    });
    let lines = place.read("h.jsonl");
    assert_eq!(
        lines
            .lines()
            .filter(|line| serde_json::from_str::<serde_json::Value>(line).is_ok())
            .count(),
        50
    );
    assert!(lines.ends_with('\n') && !place.path("h.jsonl.damaged").exists());
}

/// Random bytes, and requests of the wrong kind, to the port of a server.
#[test]
#[ignore = "takes long: scripts/attack-tests"]
fn random_bytes_end_no_server() {
    let dir = tempfile::tempdir().unwrap();
    run_at(dir.path(), "run", &fs::read(recompile()).unwrap());
    let server = Server::of(dir.path(), &[]);
    let mut seed = 7_u64;
    let mut random = move || {
        seed = seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as u8
    };
    for round in 0..300 {
        let mut stream = server.connect();
        let bytes: Vec<u8> = (0..round * 7).map(|_| random()).collect();
        let head: &[u8] = match round % 4 {
            0 => b"",
            1 => b"GET ",
            2 => b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
            _ => b"GET /api/v1/runs HTTP/1.1\r\nHost: localhost\r\nRange: bytes=",
        };
        let _ = stream.write_all(&[head, &bytes].concat());
    }
    let answer: Answer = server.get("/api/v1/health", &[]);
    assert_eq!(answer.status, 200);
}
