//! What can be assumed of a trace is declared once, and reaches all that ask.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use request::{AssumedFiles, AssumedValues, ReadingOptions, TraceRequest, known};
use serde_json::{Map, Value, json};

use crate::mcp::at_samples;
use crate::outputs::printed;
use crate::serve_client::Server;

type Names = BTreeSet<String>;

fn names(arguments: Map<String, Value>) -> Names {
    arguments.into_iter().map(|(name, _)| name).collect()
}

#[test]
fn every_assumption_reaches_the_command_line_and_python() {
    let all = names(known::<TraceRequest>());
    assert!(
        all.contains("clock") && all.contains("hlo") && all.contains("wait") && all.len() > 12,
        "{all:?}"
    );
    let help = printed(&["analyze", "--help"]);
    let source = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../python/systole_tpu/_open.py"
    );
    let source = fs::read_to_string(Path::new(source)).unwrap();
    let signature = source
        .split_once("def open(")
        .and_then(|(_, rest)| rest.split_once(") -> Run:"))
        .unwrap()
        .0;
    for name in &all {
        let option = format!("--{}", name.replace('_', "-"));
        assert!(
            help.split([' ', '[', '\n']).any(|word| word == option),
            "{option} of the command line"
        );
        assert!(
            signature.contains(&format!("\n    {name}: ")),
            "the argument {name} of Python"
        );
    }
}

/// Agents name files below the places that are served. Over HTTP clients name no files, and how a server reads is for it to
/// decide.
#[test]
fn every_assumption_reaches_agents_and_http() {
    let [values, files] = [
        names(known::<AssumedValues>()),
        names(known::<AssumedFiles>()),
    ];
    let not_for_clients = names(known::<ReadingOptions>());
    let answer = at_samples().ask("tools/list", &json!({}));
    let mut asked = 0;
    for tool in answer["result"]["tools"].as_array().unwrap() {
        let input = names(
            tool["inputSchema"]["properties"]
                .as_object()
                .unwrap()
                .clone(),
        );
        if !input.contains("path") && !input.contains("cand") {
            continue;
        }
        asked += 1;
        // Fields of `assume`, which are told at one tool; devices are a part of the trace.
        let assume = &tool["inputSchema"]["properties"]["assume"];
        assert_eq!(assume["type"], "object", "{}", tool["name"]);
        if tool["name"] == "verdict" {
            let mut told = names(assume["properties"].as_object().unwrap().clone());
            told.insert("device".to_owned());
            assert!(
                told.is_superset(&values) && told.is_superset(&files),
                "{told:?}"
            );
        }
        assert!(
            input.is_disjoint(&not_for_clients),
            "{}: {input:?}",
            tool["name"]
        );
    }
    assert!(asked > 9, "{asked}");

    let dir = tempfile::tempdir().unwrap();
    let document = Server::of(dir.path(), &[]).json("/api/v1/openapi.json");
    for path in [
        "/runs/{id}/reports",
        "/runs/{id}/html",
        "/runs/{id}/tables/{name}",
        "/compare",
    ] {
        let parameters = document["paths"][format!("/api/v1{path}")]["get"]["parameters"]
            .as_array()
            .unwrap();
        let parameters: Names = parameters
            .iter()
            .map(|one| one["name"].as_str().unwrap().to_owned())
            .collect();
        assert!(parameters.is_superset(&values), "{path}: {parameters:?}");
        assert!(
            parameters.is_disjoint(&files) && parameters.is_disjoint(&not_for_clients),
            "{path}: {parameters:?}"
        );
    }
}

/// What changes nothing says why, and what cannot be is refused.
#[test]
fn options_without_effect_say_so() {
    let path = &crate::outputs::recompile();
    let said = |options: &[&str]| {
        let output = crate::outputs::run(&[&["analyze", path], options].concat());
        assert_eq!(output.status.code(), Some(0), "{options:?}");
        crate::outputs::text(&output.stderr).to_owned()
    };
    for (options, words) in [
        (&["--clock", "940MHz"][..], "nothing here is in cycles"),
        (&["--serving", "decode=zzz"], "matches decode=zzz"),
        (&["--spreadsheet"], "it is for CSV"),
        (
            &["--steps", "1..4000000"],
            "of steps 1 to 4000000 the trace has step",
        ),
    ] {
        let message = said(options);
        assert!(message.contains(words), "{options:?}: {message}");
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("page.html");
    let written = format!("html={}", file.display());
    said(&["--clock", "940MHz", "-o", &written]);
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("--clock changes nothing"), "{page}");
    let csv = [
        "--spreadsheet",
        "--only",
        "steps",
        "--table",
        "steps",
        "--format",
        "csv",
    ];
    assert_eq!(said(&csv), "");
    for (grid, words) in [
        ("2x2x2", "2 axes"),
        ("2x1", "2 chips"),
        ("256x2", "at most 256"),
    ] {
        let message = crate::outputs::refused(&["analyze", path, "--topology", grid]);
        assert!(message.contains(words), "{grid}: {message}");
    }
    let steps = printed(&["analyze", path, "--steps", "1..4000000"]);
    assert!(!steps.contains("4000000"), "{steps}");
}
