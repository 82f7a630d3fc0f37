//! `systole mcp`: the built program as a server on standard input and output, spoken to in JSON-RPC.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::mock_profiler::{MockProfiler, Reply, profile, response};

const SAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../assets/samples");
const RECOMPILE: &str = "synthetic_v5e_8chip_recompile.xplane.pb";
const TRANSCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/cli/mcp.golden.txt");

/// A client of a server of its own.
pub(crate) struct Client {
    server: Child,
    stdin: Option<ChildStdin>,
    stdout: BufReader<ChildStdout>,
    last: u64,
    notes: Vec<Value>,
}

impl Client {
    fn below(root: &Path) -> Self {
        Self::with(root, &[])
    }

    fn with(root: &Path, more: &[&str]) -> Self {
        Self::start(Command::new(env!("CARGO_BIN_EXE_systole")), root, more)
    }

    /// By a command with an environment.
    fn start(mut command: Command, root: &Path, more: &[&str]) -> Self {
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

    fn send(&mut self, message: &Value) {
        self.line(&message.to_string());
    }

    fn line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{line}")
            .and_then(|()| stdin.flush())
            .unwrap();
    }

    fn begin(&mut self, method: &str, params: &Value) -> u64 {
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

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask(
            "tools/call",
            &json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": 7}}),
        )
    }

    /// The answer of a tool that succeeds.
    fn tool(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.call(tool, arguments);
        let result = &answer["result"];
        assert_eq!(result["isError"], false, "{tool} {arguments}: {answer}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(text).unwrap(),
            result["structuredContent"]
        );
        result["structuredContent"].clone()
    }

    /// The message of a tool that fails.
    fn refused(&mut self, tool: &str, arguments: &Value) -> String {
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

fn names(tools: &Value) -> Vec<&str> {
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
    assert!(
        tools.to_string().len() < 60_000,
        "{}",
        tools.to_string().len()
    );
    for name in [
        "open", "verdict", "hints", "explain", "report", "ops", "steps", "events", "hlo",
        "compare", "what_if", "doctor",
    ] {
        assert!(names(tools).contains(&name), "{name}");
    }
    for tool in tools.as_array().unwrap() {
        let (name, input) = (&tool["name"], &tool["inputSchema"]);
        assert!(tool["description"].as_str().unwrap().len() > 30, "{name}");
        assert_eq!(input["type"], "object", "{name}");
        for (property, schema) in input["properties"].as_object().unwrap() {
            assert!(
                schema["description"]
                    .as_str()
                    .is_some_and(|text| text.len() > 5),
                "{name}: {property}"
            );
        }
        assert!(
            tool["outputSchema"]["properties"]["truncated"].is_object() || name == "render",
            "{name}"
        );
    }
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
        ("hints", json!({"path": path, "max_bytes": 4000})),
        ("explain", json!({"hint": "k37", "max_bytes": 2000})),
        ("report", json!({"path": path, "report": "compile"})),
        (
            "ops",
            json!({"path": path, "steps": "2", "max_bytes": 3000}),
        ),
        ("steps", json!({"path": path, "max_bytes": 3000})),
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
            "compare",
            json!({"base": "synthetic_v5e_8chip_serial.xplane.pb", "cand": "synthetic_v5e_8chip_overlap.xplane.pb", "max_bytes": 5000}),
        ),
        ("what_if", json!({"path": path, "no_recompile": true})),
        ("doctor", json!({"path": path, "max_bytes": 3000})),
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
    let whole = client.tool("ops", &json!({"path": RECOMPILE, "max_bytes": 1_000_000}));
    assert_eq!(
        (whole["truncated"].as_bool(), &whole["shown"]),
        (Some(false), &whole["total"])
    );
    let (mut rows, mut cursor) = (0, None::<String>);
    loop {
        let mut arguments = json!({"path": RECOMPILE, "max_bytes": 2000});
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
    let none = client.tool("events", &json!({"path": RECOMPILE, "kind": ["threads"]}));
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
fn hostile_arguments_are_refused_by_name() {
    let mut client = at_samples();
    let path = RECOMPILE;
    for (tool, arguments, words) in [
        ("verdict", json!({}), "missing field `path`"),
        ("verdict", json!({"path": 5}), "expected a string"),
        (
            "verdict",
            json!({"path": path, "color": 1}),
            "no argument \"color\"",
        ),
        (
            "verdict",
            json!({"path": "/etc/passwd"}),
            "only files below",
        ),
        (
            "verdict",
            json!({"path": "../../Cargo.toml"}),
            "only files below",
        ),
        (
            "verdict",
            json!({"path": "no-such/../../../Cargo.toml"}),
            "only files below",
        ),
        ("verdict", json!({"path": "-"}), "name a file or directory"),
        (
            "verdict",
            json!({"path": "gs://bucket/run"}),
            "name a file or directory",
        ),
        (
            "verdict",
            json!({"path": "a\u{0}b"}),
            "name a file or directory",
        ),
        (
            "verdict",
            json!({"path": "no-such.xplane.pb"}),
            "No such file",
        ),
        ("verdict", json!({"path": path, "run": "../../.."}), "run"),
        (
            "verdict",
            json!({"path": path, "steps": "7..3"}),
            "the first not after the last",
        ),
        (
            "verdict",
            json!({"path": path, "steps": "4000"}),
            "the trace has steps",
        ),
        (
            "verdict",
            json!({"path": path, "range": "1..2"}),
            "with their units",
        ),
        (
            "verdict",
            json!({"path": path, "device": [99]}),
            "the trace has devices",
        ),
        (
            "verdict",
            json!({"path": path, "device_spec": "/etc/passwd"}),
            "known chips are",
        ),
        (
            "verdict",
            json!({"path": path, "max_bytes": 1}),
            "2000 to 1000000",
        ),
        (
            "verdict",
            json!({"path": path, "max_bytes": 4_000_000_000_u32}),
            "2000 to 1000000",
        ),
        (
            "verdict",
            json!({"path": path, "max_bytes": -1}),
            "max_bytes -1:",
        ),
        (
            "verdict",
            json!({"path": path, "cursor": "99999999"}),
            "has only",
        ),
        (
            "verdict",
            json!({"path": path, "cursor": "x"}),
            "the cursor of the last answer",
        ),
        ("explain", json!({"hint": "K99"}), "there is no hint"),
        (
            "report",
            json!({"path": path, "report": "x"}),
            "there is no report",
        ),
        (
            "report",
            json!({"path": path, "report": "ops", "table": "x"}),
            "there is no table",
        ),
        ("events", json!({"path": path, "name": ["re:("]}), "name ["),
        (
            "events",
            json!({"path": path, "group_by": ["--help"]}),
            "group_by [",
        ),
        (
            "events",
            json!({"path": path, "least": "--limit=0"}),
            "least \"",
        ),
        (
            "hlo",
            json!({"path": path, "op": "no-such-op"}),
            "no-such-op",
        ),
        (
            "hlo",
            json!({"path": path, "op": "a", "find": "b"}),
            "ask for one of",
        ),
        (
            "hlo",
            json!({"path": path, "program": "no-such-program"}),
            "no-such-program",
        ),
        ("events", json!({"path": path, "least": "-5us"}), "least: "),
        (
            "events",
            json!({"path": path, "group_by": ["name", "kind", "name"]}),
            "named twice",
        ),
        (
            "events",
            json!({"path": path, "offset": 1_000_000_000}),
            "has only",
        ),
        (
            "verdict",
            json!({"path": path, "warmup": 1_000_000}),
            "leave none",
        ),
        (
            "hlo",
            json!({"path": path, "diff": "/etc/passwd"}),
            "only files below",
        ),
        (
            "verdict",
            json!({"path": path, "hlo": ["/etc"]}),
            "only files below",
        ),
        (
            "verdict",
            json!({"path": path, "llo": "../.."}),
            "only files below",
        ),
        (
            "verdict",
            json!({"path": path, "roles": "/etc/passwd"}),
            "only files below",
        ),
        (
            "verdict",
            json!({"path": path, "clock": "fast"}),
            "clock \"fast\": write a clock",
        ),
        (
            "verdict",
            json!({"path": path, "topology": "0x2"}),
            "topology",
        ),
        (
            "verdict",
            json!({"path": path, "wait": 5}),
            "no argument \"wait\"",
        ),
        (
            "compare",
            json!({"base": path, "cand": "/etc/passwd"}),
            "only files below",
        ),
        (
            "compare",
            json!({"base": path, "cand": path, "alpha": 7}),
            "alpha: ",
        ),
        ("what_if", json!({"path": path}), "at least one change"),
        ("what_if", json!({"path": path, "ici": -1}), "above 0"),
    ] {
        let message = client.refused(tool, &arguments);
        assert!(message.contains(words), "{tool} {arguments}: {message}");
        assert!(
            message.len() < 2500 && !message.contains("root:x"),
            "{message}"
        );
    }
    for (arguments, word) in [
        (json!({"path": path, "clock": "fast"}), "bad_request"),
        (json!({"path": "no-such.xplane.pb"}), "not_found"),
        (json!({"path": path, "report": "dcn"}), "unusable"),
    ] {
        let tool = if arguments["report"].is_string() {
            "report"
        } else {
            "verdict"
        };
        assert_eq!(
            client.call(tool, &arguments)["result"]["_meta"]["systole/code"],
            word,
            "{arguments}"
        );
    }
    let unknown = client.call("no_such_tool", &json!({}));
    assert!(
        unknown["error"]["message"]
            .as_str()
            .unwrap()
            .contains("there is no tool"),
        "{unknown}"
    );
    assert_eq!(
        client.ask("no/such/method", &json!({}))["error"]["code"],
        -32601
    );
    client.line("this is no JSON");
    let huge = client.tool("events", &json!({"path": path, "limit": usize::MAX}));
    assert!(huge.to_string().len() <= 20_000 && huge["truncated"] == true);
}

#[test]
fn queries_cannot_write_and_end() {
    let mut client = at_samples();
    for (sql, words) in [
        ("SELEC 1", "syntax error"),
        ("DROP TABLE slices", "a trace can only be read"),
        ("ATTACH '/tmp/x.db' AS x", "a trace can only be read"),
        ("SELECT load_extension('x')", ""),
        ("SELECT * FROM no_such_table", "tables:"),
    ] {
        let message = client.refused("query", &json!({"path": RECOMPILE, "sql": sql}));
        assert!(message.contains(words), "{sql}: {message}");
    }
    let endless =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n";
    let message = client.refused(
        "query",
        &json!({"path": RECOMPILE, "sql": endless, "seconds": 1}),
    );
    assert!(message.contains("stopped after 1 s"), "{message}");
    // A call that the client does not want any more ends, and the server serves on.
    let id = client.begin(
        "tools/call",
        &json!({"name": "query", "arguments": {"path": RECOMPILE, "sql": endless}}),
    );
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}}));
    let counted = client.tool(
        "query",
        &json!({"path": RECOMPILE, "sql": "SELECT count(*) FROM slices"}),
    );
    assert!(counted["tables"][0]["rows"][0][0].as_i64().unwrap() > 100);
}

#[test]
fn a_file_that_changes_is_read_again_and_links_do_not_lead_outside() {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    let (serial, overlap) = (
        "synthetic_v5e_8chip_serial.xplane.pb",
        "synthetic_v5e_8chip_overlap.xplane.pb",
    );
    fs::copy(Path::new(SAMPLES).join(serial), root.join("run.xplane.pb")).unwrap();
    fs::copy(
        Path::new(SAMPLES).join(serial),
        dir.path().join("outside.xplane.pb"),
    )
    .unwrap();
    let mut client = Client::below(&root);
    let before = client.tool("verdict", &json!({"path": "run.xplane.pb"}));
    assert!(
        client
            .notes
            .iter()
            .all(|note| note["method"] == "notifications/progress"),
        "{:?}",
        client.notes
    );
    assert_eq!(
        client.tool("verdict", &json!({"path": "run.xplane.pb"})),
        before
    );
    fs::copy(Path::new(SAMPLES).join(overlap), root.join("run.xplane.pb")).unwrap();
    assert_ne!(
        client.tool("verdict", &json!({"path": "run.xplane.pb"}))["statement"],
        before["statement"]
    );
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink(
            dir.path().join("outside.xplane.pb"),
            root.join("link.xplane.pb"),
        )
        .unwrap();
        assert!(
            client
                .refused("verdict", &json!({"path": "link.xplane.pb"}))
                .contains("only files below")
        );
        fs::create_dir(root.join("logs")).unwrap();
        std::os::unix::fs::symlink(
            dir.path().join("outside.xplane.pb"),
            root.join("logs/a.xplane.pb"),
        )
        .unwrap();
        fs::create_dir(root.join("dump")).unwrap();
        std::os::unix::fs::symlink(
            dir.path().join("outside.xplane.pb"),
            root.join("dump/a.hlo.pb"),
        )
        .unwrap();
        let message = client.refused(
            "verdict",
            &json!({"path": "run.xplane.pb", "hlo": ["dump"]}),
        );
        assert!(
            message.contains("only files below") && message.contains("a.hlo.pb"),
            "{message}"
        );
        let message = client.refused("verdict", &json!({"path": "logs"}));
        assert!(
            message.contains("only files below") || message.contains("leads outside"),
            "{message}"
        );
    }
}

/// Configurations and tables beside the output of a simulator, some of them outside of the root or links that lead there.
#[test]
fn files_beside_a_run_are_read_below_the_root_only() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../importers/tests/fixtures");
    let dir = tempfile::tempdir().unwrap();
    let put = |name: &str, file: &str| {
        let to = dir.path().join(name);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(fixtures.join(file), to).unwrap();
    };
    let report = |root: &str, path: &str| {
        let mut client = Client::below(&dir.path().join(root));
        let asked = json!({"path": path, "max_bytes": 200_000});
        let text = format!(
            "{} {}",
            client.tool("doctor", &asked),
            client.tool("ops", &asked)
        );
        text.replace(&format!("{root}/"), "")
    };
    for (folder, main, file, beside) in [
        (
            "scale",
            "run/COMPUTE_REPORT.csv",
            "scale_sim_compute.csv",
            vec![
                ("configs/small.cfg", "scale_sim.cfg"),
                ("topologies/small.csv", "scale_sim_topology.csv"),
            ],
        ),
        (
            "neusim",
            "run/a.csv",
            "neusim.csv",
            vec![("run/a.json", "neusim.json")],
        ),
        (
            "onnxim",
            "run/run.log",
            "onnxim.log",
            vec![("run/chip.json", "onnxim.json")],
        ),
    ] {
        put(&format!("{folder}/all/{main}"), file);
        put(&format!("{folder}/alone/{main}"), file);
        put(&format!("{folder}/linked/{main}"), file);
        for (name, file) in &beside {
            put(&format!("{folder}/all/{name}"), file);
            put(&format!("{folder}/outside/{name}"), file);
            #[cfg(unix)]
            {
                let link = dir.path().join(format!("{folder}/linked/{name}"));
                fs::create_dir_all(link.parent().unwrap()).unwrap();
                std::os::unix::fs::symlink(
                    dir.path().join(format!("{folder}/outside/{name}")),
                    link,
                )
                .unwrap();
            }
        }
        let (run, name) = main.split_once('/').unwrap();
        let alone = report(&format!("{folder}/alone"), main);
        assert_ne!(
            report(&format!("{folder}/all"), main),
            alone,
            "{folder}: the files beside it say something"
        );
        assert_eq!(
            report(&format!("{folder}/linked"), main),
            alone,
            "{folder}: links"
        );
        if !beside[0].0.starts_with("run/") {
            let below = |place: &str| report(&format!("{folder}/{place}/{run}"), name);
            assert_eq!(
                below("all"),
                below("alone"),
                "{folder}: folders above the root"
            );
        }
    }
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

/// The tool that asks other machines and writes files is there on demand only, and writes below the root only.
#[test]
fn captures_are_allowed_explicitly_and_stay_below_the_root() {
    let dir = tempfile::tempdir().unwrap();
    let server = MockProfiler::new(|_, _| Reply::Message(response(&profile(2))));
    let ask = |output: &str| json!({"addresses": [server.address()], "output": output, "ms": 50});
    let mut plain = Client::below(dir.path());
    assert!(!names(&plain.ask("tools/list", &json!({}))["result"]["tools"]).contains(&"capture"));
    assert!(
        plain.call("capture", &ask("logs"))["error"]["message"]
            .as_str()
            .unwrap()
            .contains("no tool")
    );
    assert!(server.calls().is_empty());

    let mut offline = Command::new(env!("CARGO_BIN_EXE_systole"));
    offline.env("SYSTOLE_NETWORK", "off");
    let mut offline = Client::start(offline, dir.path(), &["--allow-capture"]);
    assert!(
        offline
            .refused("capture", &ask("logs"))
            .contains("SYSTOLE_NETWORK forbids asking")
    );
    assert!(server.calls().is_empty());

    let mut client = Client::with(dir.path(), &["--allow-capture"]);
    let tools = client.ask("tools/list", &json!({}))["result"]["tools"].clone();
    let tool = tools
        .as_array()
        .unwrap()
        .iter()
        .find(|tool| tool["name"] == "capture")
        .unwrap();
    assert_eq!(
        (
            &tool["annotations"]["readOnlyHint"],
            &tool["annotations"]["openWorldHint"]
        ),
        (&json!(false), &json!(true))
    );
    #[cfg(unix)]
    {
        fs::create_dir_all(dir.path().join("linked")).unwrap();
        std::os::unix::fs::symlink("/tmp", dir.path().join("linked/plugins")).unwrap();
        client.refused("capture", &ask("linked"));
    }
    for wrong in ["../elsewhere", "/tmp/elsewhere", "gs://bucket/logs", ""] {
        client.refused("capture", &ask(wrong));
    }
    assert!(
        client
            .refused("capture", &json!({"addresses": [], "output": "logs"}))
            .contains("at least one address")
    );
    assert!(
        client
            .refused(
                "capture",
                &json!({"addresses": ["--help"], "output": "logs"})
            )
            .contains("--help")
    );
    assert!(
        client
            .refused(
                "capture",
                &json!({"addresses": ["a:1"], "output": "logs", "ms": 600_000})
            )
            .contains("60000")
    );
    let closed = client.refused(
        "capture",
        &json!({"addresses": ["127.0.0.1:1"], "output": "logs", "ms": 50}),
    );
    assert!(closed.contains("127.0.0.1:1"), "{closed}");
    assert!(
        server.calls().is_empty() && !dir.path().join("logs").exists(),
        "nothing was asked, nothing written"
    );

    let answer = client.tool("capture", &ask("logs"));
    let said = answer["statement"].as_str().unwrap();
    assert!(
        said.starts_with("captured logs/plugins/profile/") && said.contains("1 of 1 host"),
        "{said}"
    );
    let row = &answer["tables"][0]["rows"][0];
    let file = dir.path().join(row[1].as_str().unwrap());
    assert_eq!(
        fs::metadata(&file).unwrap().len().to_string(),
        row[2].as_str().unwrap(),
        "{row}"
    );
    assert_eq!(row[3], "/device:TPU:0 /device:TPU:1", "{row}");
    assert_eq!(answer["tables"][1]["id"], "findings", "{answer}");
    assert_eq!(server.calls()[0].numbers(&[1]), [50]);
    let opened = client.tool("open", &json!({"path": "logs"}));
    assert!(
        opened["statement"].as_str().unwrap().contains('2'),
        "the new run is there: {opened}"
    );
    let part = client.tool(
        "capture",
        &json!({"addresses": [server.address()], "output": "more", "ms": 50, "max_bytes": 2000}),
    );
    assert!(part.to_string().len() <= 2000, "{}", part.to_string().len());
}
