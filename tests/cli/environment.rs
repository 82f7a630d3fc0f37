//! The file that says what a run was built from: written, read, compared.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::place::{Place, json, stderr, stdout};
use crate::{json_schema, mock_profiler};

const SAMPLE: &str = "synthetic_v5e_8chip_overlap.xplane.pb";

/// A run with this file beside its profile.
fn run_with(place: &Place, name: &str, environment: Option<&str>) -> String {
    let sample = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../assets/samples")
        .join(SAMPLE);
    let folder = format!("{name}/plugins/profile/2027_01_31");
    place.write(
        &format!("{folder}/host.xplane.pb"),
        &fs::read(sample).unwrap(),
    );
    if let Some(text) = environment {
        place.write(&format!("{folder}/systole.run.json"), text.as_bytes());
    }
    name.to_owned()
}

fn manifest(libtpu: &str, flag: &str) -> String {
    format!(
        r#"{{"schema": "systole.run/1", "versions": {{"jax": "0.10.2", "libtpu": "{libtpu}"}},
        "flags": {{"xla_tpu_scoped_vmem_limit_kib": "{flag}"}},
        "git": {{"commit": "0123456789abcdef", "is_dirty": false}}}}"#
    )
}

fn schema_of(place: &Place, what: &str) -> Value {
    json(stdout(&place.run(&["schema", what])))
}

#[test]
fn differences_come_first_in_every_format() {
    let place = Place::empty();
    let base = run_with(&place, "base", Some(&manifest("0.0.24", "8192")));
    let cand = run_with(&place, "cand", Some(&manifest("0.0.25", "8192")));
    let text = place.run(&["compare", &base, &cand]);
    assert_eq!(text.status.code(), Some(0), "{}", stderr(&text));
    assert!(
        stdout(&text).contains("Environment:\n  libtpu 0.0.24 → 0.0.25\n"),
        "{}",
        stdout(&text)
    );
    assert!(
        !stdout(&text).contains("scoped_vmem"),
        "what is the same is not listed"
    );
    assert!(stdout(&text).lines().count() <= 30, "{}", stdout(&text));
    let formats = ["md", "html", "json"].map(|format| format!("{format}=out.{format}"));
    let outputs: Vec<&str> = formats
        .iter()
        .flat_map(|output| ["-o", output.as_str()])
        .collect();
    assert_eq!(
        place.code(&[&["compare", &base, &cand][..], &outputs].concat()),
        0
    );
    assert!(
        place
            .read("out.md")
            .contains("| libtpu | 0.0.24 | 0.0.25 |")
    );
    let html = place.read("out.html");
    assert!(html.find("0.0.24").unwrap() < html.find("Differences between the runs").unwrap());
    let comparison = json(&place.read("out.json"));
    assert_eq!(comparison["environment"][0]["id"], "version.libtpu");
    assert_eq!(
        json_schema::errors(&schema_of(&place, "comparison"), &comparison),
        [] as [&str; 0]
    );
}

#[test]
fn summaries_and_reports_hold_it_only_where_it_is_known() {
    let place = Place::empty();
    let known = run_with(&place, "known", Some(&manifest("0.0.24", "8192")));
    let unknown = run_with(&place, "unknown", None);
    for (command, at, schema) in [
        ("summarize", "/facts/environment", "summary"),
        ("analyze", "/environment", "report"),
    ] {
        let words: &[&str] = if command == "analyze" {
            &["--format", "json"]
        } else {
            &[]
        };
        let of = |path: &str| json(stdout(&place.run(&[&[command, path][..], words].concat())));
        let (with, without) = (of(&known), of(&unknown));
        assert_eq!(with.pointer(at).unwrap()["versions"]["libtpu"], "0.0.24");
        assert_eq!(without.pointer(at), None, "{command}");
        assert_eq!(
            json_schema::errors(&schema_of(&place, schema), &with),
            [] as [&str; 0]
        );
    }
    // A saved summary stands for the run.
    assert_eq!(place.code(&["summarize", &known, "-o", "known.json"]), 0);
    let text = place.run(&["compare", "known.json", &unknown]);
    let said = stdout(&text)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        said.contains("libtpu 0.0.24 → unknown: cand has no systole.run.json"),
        "{said}"
    );
    assert_eq!(place.code(&["environment", &unknown]), 11);
}

#[test]
fn broken_file_is_named_and_the_profile_is_read() {
    let place = Place::empty();
    let broken = run_with(&place, "broken", Some("{\"schema\": 7"));
    let good = run_with(&place, "good", Some(&manifest("0.0.24", "8192")));
    let output = place.run(&["compare", &good, &broken]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let said = stdout(&output)
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ");
    assert!(
        said.contains("cand: systole.run.json cannot be read"),
        "{said}"
    );
}

#[test]
fn recorded_environment_has_no_secrets_and_fits_its_schema() {
    const SECRET: &str = "hf_0123456789abcdef";
    let place = Place::empty();
    run_with(&place, "logs", None);
    place.write("uv.lock", b"abc");
    let command = |words: &[&str]| {
        place
            .command()
            .args(words)
            .env("HF_TOKEN", SECRET)
            .env("WANDB_API_KEY", SECRET)
            .env("XLA_FLAGS", format!("--xla_a=1 --xla_token={SECRET}"))
            .env("JAX_PLATFORMS", "tpu")
            .output()
            .unwrap()
    };
    let output = command(&["environment", "logs", "--write"]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let path = "logs/plugins/profile/2027_01_31/systole.run.json";
    let text = place.read(path);
    assert!(
        !text.contains(SECRET) && text.contains("\"xla_a\": \"1\""),
        "{text}"
    );
    let written = json(&text);
    assert_eq!(written["lock"]["name"], "uv.lock");
    assert_eq!(
        json_schema::errors(&schema_of(&place, "environment"), &written),
        [] as [&str; 0]
    );
    // What is there stays.
    let again = command(&["environment", "logs", "--write"]);
    assert!(
        stdout(&again).contains("is there already"),
        "{}",
        stdout(&again)
    );
    let shown = place.run(&["environment", "logs"]);
    assert!(stdout(&shown).contains("--xla_a"), "{}", stdout(&shown));

    // A capture from this machine records it, too.
    let server = mock_profiler::MockProfiler::new(|_, _| {
        mock_profiler::Reply::Message(mock_profiler::response(&mock_profiler::profile(1)))
    });
    let output = command(&[
        "capture",
        &server.address(),
        "-o",
        "captured",
        "--ms",
        "20",
        "--no-report",
        "--session",
        "s",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let text = place.read("captured/plugins/profile/s/systole.run.json");
    assert!(
        !text.contains(SECRET) && text.contains("JAX_PLATFORMS"),
        "{text}"
    );
}
