//! Hostile arguments of agents, and SQL that writes or does not end.

use serde_json::json;

use crate::mcp::{RECOMPILE, at_samples};

#[test]
#[expect(clippy::too_many_lines, reason = "one list of wrong requests")]
fn hostile_arguments_are_refused_by_name() {
    let mut client = at_samples();
    let path = RECOMPILE;
    for (tool, arguments, words) in [
        ("verdict", json!({}), "path is missing"),
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
            "is not a length of time",
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
            json!({"path": path, "group_by": ["name"], "columns": ["start"]}),
            "columns: only a list of events has it",
        ),
        (
            "events",
            json!({"path": path, "group_by": ["name"], "reverse": true}),
            "reverse: only a list of events has it",
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
