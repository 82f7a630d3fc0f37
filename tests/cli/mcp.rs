//! `systole mcp`: the built program as a server on standard input and output, spoken to in JSON-RPC.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

pub(super) const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/samples");
pub(super) const RECOMPILE: &str = "synthetic_v5e_8chip_recompile.xplane.pb";
const TRANSCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cli/mcp.golden.txt");

/// A client of a server of its own.
pub(crate) struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
    pub(super) notes: Vec<Value>,
}

impl Client {
    pub(super) fn below(root: &Path) -> Self {
        Self::with(root, &[])
    }

    pub(super) fn with(root: &Path, more: &[&str]) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_systole")), root, more)
    }

    /// By a command with an environment.
    pub(super) fn start(mut command: Command, root: &Path, more: &[&str]) -> Self {
        command
            .arg("mcp")
            .arg("--root")
            .arg(root)
            .args(["--keep", "2"])
            .args(more)
            .current_dir(root);
        let mut server = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            .spawn()
            .unwrap();
        let (stdin, stdout) = (
            server.stdin.take(),
            BufReader::new(server.stdout.take().unwrap()),
        );
        let mut client = Self {
            server,
            stdin,
            stdout,
            last: 0,
            notes: Vec::new(),
        };
        let hello = json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}});
        let answer = client.ask("initialize", &hello);
        assert_eq!(answer["result"]["serverInfo"]["name"], "systole");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    pub(super) fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    pub(super) fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}")
            .and_then(|()| stdin.flush())
            .unwrap();
    }

    pub(super) fn begin(&mut self, method: &str, params: &Value) -> u64 {
        self.last += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params}));
        self.last
    }

    fn answer(&mut self, id: u64) -> Value {
        loop {
            let mut line = String::new();
            assert!(
                self.stdout.read_line(&mut line).unwrap() > 0,
                "the server has ended"
            );
            let Ok(message) = serde_json::from_str::<Value>(&line) else {
                continue;
            };
            if message["id"].as_u64() == Some(id) {
                return message;
            }
            self.notes.push(message);
        }
    }

    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.begin(method, params);
        self.answer(id)
    }

    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(
            "tools/call",
            &json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 7}}),
        )
    }

    /// The answer of a tool that succeeds.
    pub(super) fn tool(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(tool, arguments);
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool} {arguments}: {answer}");
        // It is sent once, beside a short text.
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text.len() < 700 && text.contains(" rows"), "{text}");
        assert!(result["structuredContent"].is_object(), "{answer}");
        result["structuredContent"].clone()
    }

    /// The message of a tool that fails.
    pub(super) fn refused(&mut self, tool: &str, arguments: &Value) -> String {
        let answer = self.call(tool, arguments);
        assert_eq!(
            answer["result"]["isError"], true,
            "{tool} {arguments}: {answer}"
        );
        answer["result"]["content"][0]["text"]
            .as_str()
            .unwrap()
            .to_owned()
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.stdin.take());
        let _ = self.server.wait();
    }
}

pub(crate) fn at_samples() -> Client {
    Client::below(Path::new(SAMPLES))
}

pub(super) fn names(tools: &Value) -> Vec<&str> {
    tools
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool["name"].as_str().unwrap())
        .collect()
}

#[test]
fn every_tool_says_what_it_takes_and_answers() {
    let mut client = at_samples();
    let answer = client.ask("tools/list", &json!({}));
    let tools = &answer["result"]["tools"];
    // An agent pays for the list before its first question.
    let bytes = answer.to_string().len();
    assert!(bytes <= 15_000, "{bytes}");
    for name in [
        "open", "verdict", "hints", "explain", "report", "ops", "steps", "events", "hlo", "expect",
        "compare", "what_if", "doctor",
    ] {
        assert!(names(tools).contains(&name), "{name}");
    }
    // What several tools take is explained at one of them.
    let mut explained = std::collections::BTreeSet::new();
    let mut taken = std::collections::BTreeSet::new();
    for tool in tools.as_array().unwrap() {
        let (name, input) = (&tool["name"], &tool["inputSchema"]);
        assert!(tool["description"].as_str().unwrap().len() > 30, "{name}");
        assert_eq!(input["type"], "object", "{name}");
        for (property, schema) in input["properties"].as_object().unwrap() {
            taken.insert(property.clone());
            if schema["description"]
                .as_str()
                .is_some_and(|text| text.len() > 5)
            {
                explained.insert(property.clone());
            }
        }
        assert!(tool["outputSchema"].is_null(), "{name}");
    }
    assert_eq!(explained, taken);
}

/// What a client sees for each tool: reviewed as a diff. `UPDATE_GOLDEN=1` writes it again.
#[test]
fn a_transcript_of_each_tool() {
    let mut client = at_samples();
    let mut transcript = String::new();
    let path = json!(RECOMPILE);
    for (tool, arguments) in [
        ("open", json!({"path": path})),
        ("verdict", json!({"path": path})),
        ("hints", json!({"path": path})),
        ("explain", json!({"hint": "k37", "max_bytes": 2000})),
        ("report", json!({"path": path, "report": "compile"})),
        ("ops", json!({"path": path, "steps": "2", "top": 3})),
        ("steps", json!({"path": path})),
        (
            "events",
            json!({"path": path, "kind": ["ops"], "group_by": ["category"], "device": [0]}),
        ),
        (
            "events",
            json!({"path": path, "name": ["fusion*"], "sort": "duration", "limit": 2, "columns": ["start", "dur", "name"]}),
        ),
        ("hlo", json!({"path": path, "max_bytes": 3000})),
        (
            "expect",
            json!({"path": path, "max_bytes": 3000, "expect": [
                {"name": "gradients are summed", "collective": "all-reduce"},
                {"name": "steps compile nothing", "compiles_in_steps": false},
            ]}),
        ),
        (
            "compare",
            json!({"base": "synthetic_v5e_8chip_serial.xplane.pb", "cand": "synthetic_v5e_8chip_overlap.xplane.pb", "max_bytes": 5000}),
        ),
        ("what_if", json!({"path": path, "no_recompile": true})),
        ("doctor", json!({"path": path})),
    ] {
        let answer = client.tool(tool, &arguments);
        let size = answer.to_string().len() as u64;
        assert!(
            size <= arguments["max_bytes"].as_u64().unwrap_or(20_000),
            "{tool}: {size} bytes"
        );
        let _ = writeln!(transcript, "# {tool} {arguments}\n{answer:#}\n");
    }
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(TRANSCRIPT, &transcript).unwrap();
    }
    let expected = fs::read_to_string(TRANSCRIPT).unwrap();
    assert!(
        transcript == expected,
        "the transcript has changed: UPDATE_GOLDEN=1 writes it, git diff shows it"
    );
}

#[test]
fn parts_of_an_answer_follow_by_the_cursor() {
    let mut client = at_samples();
    let whole = client.tool(
        "ops",
        &json!({"path": RECOMPILE, "top": 0, "max_bytes": 1_000_000}),
    );
    assert_eq!(
        (whole["truncated"].as_bool(), &whole["shown"]),
        (Some(false), &whole["total"])
    );
    let (mut rows, mut cursor) = (0, None::<String>);
    loop {
        let mut arguments = json!({"path": RECOMPILE, "top": 0, "max_bytes": 2000});
        if let Some(cursor) = &cursor {
            arguments["cursor"] = json!(cursor);
        }
        let part = client.tool("ops", &arguments);
        assert!(part.to_string().len() <= 2000);
        rows += part["shown"].as_u64().unwrap();
        cursor = part["cursor"].as_str().map(str::to_owned);
        assert_eq!(part["truncated"].as_bool(), Some(cursor.is_some()));
        if cursor.is_none() {
            break;
        }
    }
    assert_eq!(Some(rows), whole["total"].as_u64());
}

/// A limit bounds a part, not the answer: what it leaves out is counted, and follows by the cursor.
#[test]
fn events_beyond_a_limit_are_counted_and_follow() {
    let mut client = at_samples();
    let mut arguments =
        json!({"path": RECOMPILE, "kind": ["ops"], "columns": ["slice_id"], "limit": 300});
    let first = client.tool("events", &arguments);
    let total = first["total"].as_u64().unwrap();
    assert!(
        total > 300 && first["tables"][0]["total_rows"].as_u64() == Some(total),
        "{total}"
    );
    assert!(
        !first.to_string().contains("--"),
        "no options of the command line: {first}"
    );
    let mut ids = std::collections::BTreeSet::new();
    let mut part = first;
    loop {
        let rows = part["tables"][0]["rows"].as_array().unwrap();
        assert!(rows.len() <= 300 && part["total"].as_u64() == Some(total));
        ids.extend(rows.iter().map(|row| row[0].as_u64().unwrap()));
        if part["truncated"] == false {
            break;
        }
        arguments["cursor"] = part["cursor"].clone();
        part = client.tool("events", &arguments);
    }
    assert_eq!(ids.len() as u64, total, "nothing is lost or repeated");
    // Without a limit, a part has what fits.
    let part = client.tool(
        "events",
        &json!({"path": RECOMPILE, "kind": ["ops"], "offset": 10, "max_bytes": 3000}),
    );
    let shown = part["shown"].as_u64().unwrap();
    assert_eq!(
        (part["total"].as_u64(), part["cursor"].as_str()),
        (Some(total), Some(&*(10 + shown).to_string()))
    );
    let unknown = client.refused("events", &json!({"path": RECOMPILE, "kind": ["threads"]}));
    assert!(unknown.contains("kinds are steps, modules"), "{unknown}");
    let none = client.tool("events", &json!({"path": RECOMPILE, "kind": ["stream"]}));
    assert!(
        none["total"] == 0 && none.to_string().contains("there are async_ops"),
        "{none}"
    );
}

#[test]
fn rows_of_a_query_beyond_a_limit_follow() {
    let mut client = at_samples();
    let endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n";
    let first = client.tool(
        "query",
        &json!({"path": RECOMPILE, "sql": endless, "limit": 7}),
    );
    assert_eq!(
        (first["truncated"].as_bool(), first["cursor"].as_str()),
        (Some(true), Some("7")),
        "{first}"
    );
    let next = client.tool(
        "query",
        &json!({"path": RECOMPILE, "sql": endless, "limit": 7, "cursor": "7"}),
    );
    assert_eq!(next["tables"][0]["rows"][0][0], 8, "{next}");
    let arguments = json!({"path": RECOMPILE, "sql": endless, "cursor": "10000"});
    assert!(client.refused("query", &arguments).contains("OFFSET"));
    // Nothing is larger than the client allows, whatever it asks.
    for (sql, words) in [
        ("", "write a query"),
        (
            "SELECT printf('%.*c', 100000000, 'x')",
            "longer than 128 KB",
        ),
        (
            "SELECT printf('%.*c', 100000, 'x') FROM slices",
            "select fewer rows",
        ),
    ] {
        let message = client.refused("query", &json!({"path": RECOMPILE, "sql": sql}));
        assert!(message.contains(words), "{sql}: {message}");
    }
    let message = client.refused(
        "query",
        &json!({"path": RECOMPILE, "sql": "x".repeat(100_000)}),
    );
    assert!(message.len() < 2_000, "{}", message.len());
    let columns: Vec<_> = (0..50)
        .map(|at| format!("printf('%.*c', 600, 'x') AS c{at}"))
        .collect();
    let sql = format!("SELECT {}", columns.join(", "));
    let wide = client.tool(
        "query",
        &json!({"path": RECOMPILE, "sql": sql, "max_bytes": 2500}),
    );
    assert!(
        wide.to_string().len() <= 2_500 && wide["shown"] == 1,
        "{wide}"
    );
}

#[test]
fn a_picture_is_a_png_of_the_place() {
    let mut client = at_samples();
    let answer = client.call(
        "render",
        &json!({"path": RECOMPILE, "steps": "2", "width": 600, "height": 300}),
    );
    let content = &answer["result"]["content"];
    assert_eq!(
        (content[0]["type"].as_str(), content[0]["mimeType"].as_str()),
        (Some("image"), Some("image/png"))
    );
    // The signature of PNG in base64.
    assert!(
        content[0]["data"]
            .as_str()
            .unwrap()
            .starts_with("iVBORw0KGgo")
    );
    assert!(content[1]["text"].as_str().unwrap().contains("steps 2"));
    assert!(
        client
            .refused("render", &json!({"path": RECOMPILE, "width": 60_000}))
            .contains("200 to 2000")
    );
    assert!(
        client
            .refused("render", &json!({"path": RECOMPILE, "panel": "moon"}))
            .contains("roofline")
    );
}

#[test]
fn the_server_ends_with_its_client() {
    for input in ["", "not JSON\n"] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
        let mut server = command
            .arg("mcp")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        server
            .stdin
            .take()
            .unwrap()
            .write_all(input.as_bytes())
            .unwrap();
        assert!(server.wait().unwrap().success(), "{input:?}");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_systole"));
    let output = command
        .args(["mcp", "--root", "/no/such/directory"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(3));
}
