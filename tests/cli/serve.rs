//! `systole serve`: the built program, asked over plain connections.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::outputs::{printed, run, text};
use crate::serve_client::Server;

pub(super) const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../assets/samples/synthetic_v5e_8chip_recompile.xplane.pb"
);
pub(super) const TOKEN: &str = "0123456789abcdefXYZ";

/// A log directory with two runs that can be read and one that cannot.
pub(super) fn logs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    for (run, bytes) in [
        ("2026_01_01_10_00_00", fs::read(SAMPLE).unwrap()),
        ("2026_01_02_10_00_00", fs::read(SAMPLE).unwrap()),
        ("2026_01_03_10_00_00", b"no profile".to_vec()),
    ] {
        let run = dir.path().join("plugins/profile").join(run);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("host.xplane.pb"), bytes).unwrap();
    }
    dir
}

/// A document without the memory of its model: a command holds only what it reports.
fn without_memory(document: &Value) -> Value {
    let mut document = document.clone();
    let memory = document["trace"].as_object_mut().unwrap().remove("memory");
    assert!(memory.is_some_and(|memory| memory["slices"].is_u64()));
    document
}

fn without_memory_in(text: &str) -> Value {
    without_memory(&serde_json::from_str(text).unwrap())
}

#[test]
#[expect(clippy::too_many_lines, reason = "one visit of a server")]
fn runs_reports_tables_and_queries_are_those_of_the_commands() {
    let dir = logs();
    let server = Server::of(dir.path(), &[]);
    assert_eq!(server.json("/api/v1/health")["status"], "ok");
    let runs = server.json("/api/v1/runs");
    let names: Vec<&str> = runs["runs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|run| run["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "2026_01_03_10_00_00",
            "2026_01_02_10_00_00",
            "2026_01_01_10_00_00"
        ]
    );
    assert_eq!(runs["total"], 3);
    let page = server.json("/api/v1/runs?limit=1&offset=1");
    assert_eq!(
        (
            page["runs"].as_array().unwrap().len(),
            &page["runs"][0]["name"]
        ),
        (1, &json!(names[1]))
    );
    let ids = server.ids();
    assert_eq!(ids, server.ids(), "ids stay");
    let (broken, one, other) = (&ids[0], &ids[1], &ids[2]);

    let path = dir.path().to_str().unwrap();
    let report = server.json(&format!("/api/v1/runs/{one}/reports/steps"));
    let printed_report = printed(&[
        "analyze", path, "--run", names[1], "--only", "steps", "--format", "json",
    ]);
    assert_eq!(without_memory(&report), without_memory_in(&printed_report));
    let identified = server.json(&format!("/api/v1/runs/{one}/reports/steps?digest=true"));
    assert_eq!(
        identified["input"][0]["fingerprint"],
        report["input"][0]["fingerprint"]
    );
    assert!(identified["input"][0]["sha256"].is_string());
    let all = server.json(&format!("/api/v1/runs/{one}/reports"));
    assert_eq!(all["reports"]["steps"], report["reports"]["steps"]);
    assert!(all["reports"].as_object().unwrap().len() > 10);
    let part = server.json(&format!("/api/v1/runs/{one}/reports/steps?steps=1..2"));
    assert_ne!(part["scope"], report["scope"]);
    let empty = server.json(&format!(
        "/api/v1/runs/{one}/reports/steps?steps=&range=&top=121.0"
    ));
    assert_eq!(
        empty["scope"], report["scope"],
        "an empty part is the whole"
    );
    assert_eq!(
        server.json("/api/v1/runs?limit=1.0&offset=2.0")["runs"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let compared = server.json(&format!("/api/v1/compare?base={one}&new={other}"));
    assert!(compared["statement"].is_string(), "{compared}");
    let rows = server.json(&format!(
        "/api/v1/runs/{one}/tables/slices?limit=2&offset=1"
    ));
    let width = rows["columns"].as_array().unwrap().len();
    assert_eq!(
        (
            rows["rows"].as_array().unwrap().len(),
            rows["rows"][0].as_array().unwrap().len()
        ),
        (2, width)
    );
    assert_eq!(
        (&rows["rows"][0][0], &rows["offset"]),
        (&json!(1), &json!(1))
    );
    let tables = server.json(&format!("/api/v1/runs/{one}/tables"));
    let slices = tables["tables"]
        .as_array()
        .unwrap()
        .iter()
        .find(|table| table["name"] == "slices")
        .unwrap();
    assert_eq!(slices["rows"], rows["total"]);
    let by_address = server.json(&format!(
        "/api/v1/runs/{one}/query?sql=SELECT%20count(*)%20AS%20n%20FROM%20slices"
    ));
    assert_eq!(
        by_address,
        json!({"columns": ["n"], "rows": [[rows["total"]]], "truncated": false})
    );
    let path = format!("/api/v1/runs/{one}/query");
    let kind = "Content-Type: application/json";
    let body = json!({"sql": "SELECT slice_id FROM slices", "limit": 2.0, "steps": ""}).to_string();
    let by_body = server.ask("POST", &path, &[kind], &body).json();
    assert_eq!(
        (
            by_body["rows"].as_array().unwrap().len(),
            &by_body["truncated"]
        ),
        (2, &json!(true))
    );
    for (body, code) in [
        ("{\"sql\":\"DELETE FROM slices\"}", "bad_request"),
        ("{", "bad_request"),
        ("{}", "bad_request"),
    ] {
        assert_eq!(
            server.ask("POST", &path, &[kind], body).refused(),
            (400, code.to_owned()),
            "{body}"
        );
    }
    assert_eq!(
        server
            .ask("POST", &path, &["Content-Type: text/plain"], "{}")
            .refused()
            .0,
        415
    );
    assert_eq!(
        server
            .ask("POST", &path, &[kind], &" ".repeat(300_000))
            .refused()
            .0,
        413
    );
    let endless = "WITH%20RECURSIVE%20c(n)%20AS%20(VALUES(1)%20UNION%20ALL%20SELECT%20n%2B1%20FROM%20c)%20SELECT%20max(n)%20FROM%20c";
    let stopped = server.get(&format!("{path}?seconds=1&sql={endless}"), &[]);
    assert!(
        text(&stopped.body).contains("stopped after 1 s"),
        "{}",
        text(&stopped.body)
    );
    let page = server.get(&format!("/api/v1/runs/{one}/html?clock=940MHz"), &[]);
    assert!(text(&page.body).contains("clock changes nothing"));
    assert!(
        page.status == 200
            && text(&page.body)
                .to_ascii_lowercase()
                .starts_with("<!doctype html>")
    );
    assert!(
        page.header("content-security-policy")
            .unwrap()
            .contains("sandbox"),
        "{}",
        page.head
    );
    let model = server.get(&format!("/api/v1/runs/{one}/model?packed=false"), &[]);
    let reopened =
        trace_model::TraceModel::from_snapshot(&model.body, &|saved| Err(saved)).unwrap();
    assert_eq!(json!(reopened.slice_count()), rows["total"]);
    let first = server.get(&format!("/api/v1/runs/{one}/model?first=true"), &[]);
    assert_eq!(
        (first.status, first.body.len()),
        (200, 0),
        "it is read at once"
    );

    let (status, code) = server
        .get(&format!("/api/v1/runs/{broken}/reports"), &[])
        .refused();
    assert_eq!((status, &code[..]), (422, "unusable"), "a damaged run");
    for (path, expected) in [
        ("/api/v1/runs/0000000000000000", 404),
        ("/api/v1/nothing", 404),
        ("/nothing", 404),
        ("/api/v1/runs?limit=0", 400),
        ("/api/v1/runs?limt=3", 400),
        ("/api/v1/runs?limit=-1", 400),
        ("/api/v1/runs/%ff", 400),
    ] {
        assert_eq!(server.get(path, &[]).refused().0, expected, "{path}");
    }
    for (path, expected) in [
        ("reports/no-such", 404),
        ("tables/no-such", 404),
        ("reports?steps=9000..9001", 400),
    ] {
        assert_eq!(
            server
                .get(&format!("/api/v1/runs/{one}/{path}"), &[])
                .refused()
                .0,
            expected,
            "{path}"
        );
    }
    let wrong = server.ask("DELETE", "/api/v1/runs", &[], "");
    assert_eq!(
        (wrong.refused().0, wrong.header("allow")),
        (405, Some("get,head"))
    );
    // The page of programs with and without the window.
    let front = server.get("/", &[]);
    assert!(
        front.status == 200
            && text(&front.body)
                .to_ascii_lowercase()
                .starts_with("<!doctype html>")
    );
}

#[test]
fn summaries_say_what_the_list_of_runs_says_damaged_bytes_too() {
    let dir = logs();
    let run = |name: &str, bytes: &[u8]| {
        let run = dir.path().join("plugins/profile").join(name);
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("host.xplane.pb"), bytes).unwrap();
    };
    let whole = fs::read(SAMPLE).unwrap();
    run("2026_01_04_10_00_00", &whole[..whole.len() / 2]);
    // A conversion to text replaces bytes.
    run(
        "2026_01_05_10_00_00",
        String::from_utf8_lossy(&whole).as_bytes(),
    );
    let server = Server::of(dir.path(), &[]);
    let listed = printed(&["runs", dir.path().to_str().unwrap(), "--format", "json"]);
    let listed: Value = serde_json::from_str(&listed).unwrap();
    let listed = listed["runs"].as_array().unwrap();
    let (mut damaged, mut bytes) = (0, 0);
    for (id, listed) in server.ids().iter().zip(listed) {
        let answer = server
            .get(&format!("/api/v1/runs/{id}/summary"), &[])
            .json();
        if let Some(error) = listed["error"].as_str() {
            let said = answer["error"]["message"].as_str().unwrap();
            let what = |text: &str| text.split("; ").next().unwrap().to_owned();
            assert!(said.starts_with(&what(error)), "{said}: {error}");
            bytes += usize::from(said.contains(" at byte "));
            continue;
        }
        for field in ["devices", "steps", "step_ps", "verdict", "lost"] {
            assert_eq!(answer[field], listed[field], "{field} of {listed}");
        }
        damaged += usize::from(answer["lost"].is_string());
    }
    assert_eq!((damaged, bytes), (1, 1));
}

#[test]
fn assumptions_are_parameters() {
    let dir = logs();
    let server = Server::of(dir.path(), &[]);
    let (one, path) = (&server.ids()[1], dir.path().to_str().unwrap());
    let mut assumed = server.json(&format!(
        "/api/v1/runs/{one}/reports/steps?warmup=1&device=0,1&device_spec=v6e"
    ));
    // A command says it on stderr.
    let notes = assumed.as_object_mut().unwrap().remove("notes").unwrap();
    assert!(
        notes[0].as_str().unwrap().starts_with("device_spec: "),
        "{notes}"
    );
    let words = [
        "--warmup",
        "1",
        "--device",
        "0,1",
        "--device-spec",
        "v6e",
        "--only",
        "steps",
        "--format",
        "json",
    ];
    let expected = printed(
        &[
            &["analyze", path, "--run", "2026_01_02_10_00_00"],
            &words[..],
        ]
        .concat(),
    );
    assert_eq!(without_memory(&assumed), without_memory_in(&expected));
    assert_ne!(
        assumed,
        server.json(&format!("/api/v1/runs/{one}/reports/steps")),
        "each has a session of its own"
    );
    for wrong in [
        "hlo=dump",
        "device_spec=/etc/passwd",
        "device=99",
        "clock=fast",
        "warmup=1&warmup=2",
    ] {
        assert_eq!(
            server
                .get(&format!("/api/v1/runs/{one}/reports?{wrong}"), &[])
                .refused()
                .0,
            400,
            "{wrong}"
        );
    }
}

#[test]
fn many_clients_ask_at_once() {
    let dir = logs();
    let server = Server::of(dir.path(), &[]);
    let ids = server.ids();
    thread::scope(|scope| {
        for client in 0..12 {
            let (server, id) = (&server, &ids[1 + client % 2]);
            let ask = move || {
                let report = server.json(&format!("/api/v1/runs/{id}/reports/verdict"));
                assert!(report["reports"]["verdict"]["report"].is_object());
            };
            thread::Builder::new().spawn_scoped(scope, ask).unwrap();
        }
        // Those who go away before they have an answer, and those who never finish their question.
        for _ in 0..8 {
            let mut stream = server.connect();
            let head = format!(
                "GET /api/v1/runs/{}/reports HTTP/1.1\r\nHost: localhost\r\n\r\n",
                ids[1]
            );
            stream.write_all(head.as_bytes()).unwrap();
            drop(stream);
        }
        let mut slow: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
        for stream in &mut slow {
            stream.write_all(b"GET / HTTP/1.1\r\nHost:").unwrap();
        }
        assert_eq!(server.json("/api/v1/health")["status"], "ok");
    });
    // More connections than are served, of clients that send the head of a request or its body slowly, or nothing: the
    // oldest of them make room.
    let mut waiting: Vec<TcpStream> = (0..300).map(|_| server.connect()).collect();
    let body = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n{";
    for stream in waiting.iter_mut().skip(100) {
        // The oldest are gone.
        let _ = stream.write_all(body);
    }
    let mut last = server.connect();
    let mut answer = String::new();
    last.write_all(b"GET /api/v1/health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        .unwrap();
    last.read_to_string(&mut answer).unwrap();
    assert!(
        answer.starts_with("HTTP/1.1 200") && answer.ends_with('}'),
        "{answer}"
    );
    drop(waiting);
    let until = Instant::now() + Duration::from_secs(30);
    while server.get("/api/v1/health", &[]).status != 200 {
        assert!(Instant::now() < until, "the server does not recover");
        thread::sleep(Duration::from_millis(50));
    }
}

#[cfg(unix)]
#[test]
fn it_stops_when_told_and_says_when_it_cannot_start() {
    let dir = logs();
    let path = dir.path().to_str().unwrap();
    let server = Server::of(dir.path(), &[]);
    let port = server.port.to_string();
    let second = run(&["serve", path, "--port", &port]);
    let why = text(&second.stderr);
    assert!(
        why.contains(&format!("port {port} is in use")) && why.contains("--port 0"),
        "{why}"
    );
    assert_eq!(second.status.code(), Some(3));
    // A connection that is open and idle does not keep it.
    let idle = server.connect();
    assert_eq!(server.stop().code(), Some(0));
    drop(idle);
    let missing = run(&["serve", &format!("{path}/no-such")]);
    assert_eq!(missing.status.code(), Some(3), "{}", text(&missing.stderr));
    assert_eq!(run(&["serve"]).status.code(), Some(2));
}

#[test]
fn agents_have_the_same_tools_over_http() {
    let dir = logs();
    let server = Server::of(dir.path(), &[]);
    let kinds = [
        "Content-Type: application/json",
        "Accept: application/json, text/event-stream",
        "MCP-Protocol-Version: 2025-06-18",
    ];
    let ask = |method: &str, params: Value| {
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
        server.ask("POST", "/mcp", &kinds, &body)
    };
    let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
    assert_eq!(
        ask("initialize", hello).json()["result"]["serverInfo"]["name"],
        "systole"
    );
    let tools = ask("tools/list", json!({})).json();
    let names: Vec<&str> = tools["result"]["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect();
    assert!(
        names.contains(&"verdict") && names.contains(&"compare"),
        "{names:?}"
    );
    let arguments = json!({"path": ".", "run": "2026_01_02_10_00_00"});
    let verdict = ask(
        "tools/call",
        json!({"name": "verdict", "arguments": arguments}),
    )
    .json();
    assert!(
        verdict["result"]["structuredContent"]["statement"].is_string(),
        "{verdict}"
    );
    let outside = ask(
        "tools/call",
        json!({"name": "verdict", "arguments": {"path": "/etc/passwd"}}),
    )
    .json();
    assert_eq!(outside["result"]["isError"], true, "{outside}");
    assert_eq!(
        server
            .ask(
                "POST",
                "/mcp",
                &[&kinds[..], &["Origin: http://evil.example"]].concat(),
                "{}"
            )
            .status,
        403
    );
}
