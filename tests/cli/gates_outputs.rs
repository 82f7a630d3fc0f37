//! The outputs of judged runs keep to the published schemas: `JUnit`, SARIF, and those of the program.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use serde_json::Value;

use crate::gates::place_with_runs;
use crate::json_schema;
use crate::place::{Place, corpus, json, stderr, stdout};

/// Every output of a failing run.
fn failing_outputs(place: &Place) {
    let files = [
        "junit=j.xml",
        "sarif=s.sarif",
        "md=m.md",
        "html=h.html",
        "json=r.json",
        "csv=t.csv",
    ];
    let mut args = vec![
        "analyze",
        "slow.xplane.pb",
        "--baseline",
        "base.xplane.pb",
        "--history",
        "h.jsonl",
        "--table",
        "gates",
    ];
    for file in files {
        args.extend(["-o", file]);
    }
    let mut command = place.command();
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", place.path("step.md"));
    let output = command.args(&args).output().unwrap();
    assert_eq!(output.status.code(), Some(10), "{}", stderr(&output));
    let annotations = stderr(&output)
        .lines()
        .filter(|line| line.starts_with("::error title="))
        .count();
    assert_eq!(annotations, 3, "{}", stderr(&output));
}

#[test]
fn outputs_of_a_failing_run_are_valid_and_deterministic() {
    let place = place_with_runs();
    failing_outputs(&place);
    let names = [
        "j.xml", "s.sarif", "m.md", "h.html", "r.json", "t.csv", "step.md", "h.jsonl",
    ];
    let first: Vec<String> = names.iter().map(|name| place.read(name)).collect();
    junit_is_valid(&first[0]);
    sarif_is_valid(&json(&first[1]));
    assert!(first[1].contains("hint/v1"), "{}", first[1]);
    assert!(
        first[2].contains("❌ Failed: 9 gates: 3 failed"),
        "{}",
        first[2]
    );
    assert!(first[6].starts_with("## ❌ Failed"), "{}", first[6]);
    assert!(first[3].starts_with("<!doctype html>") && !first[3].contains("<script"));
    for (schema, text) in [("report", &first[4]), ("history", &first[7])] {
        agrees_with_schema(&place, schema, &json(text));
    }
    failing_outputs(&place);
    for (name, before) in names.iter().zip(&first).take(6) {
        assert_eq!(&place.read(name), before, "{name}");
    }
    // These two are appended to.
    assert_eq!(place.read("h.jsonl"), first[7].repeat(2));
    assert_eq!(place.read("step.md"), first[6].repeat(2));
}

#[test]
fn compare_judges_and_reports_like_analyze() {
    let place = place_with_runs();
    place.write(
        "strict.toml",
        b"[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 1\n\
        [[budget]]\nmetric = \"step.time_ms\"\nmax = 11\n[[budget]]\nmetric = \"step.time_ms\"\nmin = 1\n\
        [[budget]]\nmetric = \"device_idle_percent\"\nmax = 100\n",
    );
    let files = [
        "junit=j.xml",
        "sarif=s.sarif",
        "md=m.md",
        "html=h.html",
        "json=r.json",
        "ndjson=t.ndjson",
    ];
    let mut args = vec![
        "compare",
        "base.xplane.pb",
        "slow.xplane.pb",
        "--budget",
        "strict.toml",
    ];
    for file in files {
        args.extend(["-o", file]);
    }
    let mut command = place.command();
    command
        .env("GITHUB_ACTIONS", "true")
        .env("GITHUB_STEP_SUMMARY", place.path("step.md"));
    let output = command
        .args(&args)
        .args(["--history", "h.jsonl"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(10), "{}", stderr(&output));
    assert_eq!(
        stderr(&output)
            .lines()
            .filter(|line| line.starts_with("::error title="))
            .count(),
        2
    );
    assert!(
        stdout(&output).starts_with("4 gates: 2 failed"),
        "{}",
        stdout(&output)
    );
    junit_is_valid(&place.read("j.xml"));
    let sarif = json(&place.read("s.sarif"));
    sarif_is_valid(&sarif);
    let runs = &sarif["runs"][0]["properties"];
    assert_eq!(runs["baselines"][0], "base.xplane.pb", "{runs}");
    let of_rule = |id: &str| {
        sarif["runs"][0]["results"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|result| result["ruleId"] == id)
            .count()
    };
    assert_eq!(
        (
            of_rule("budget"),
            of_rule("regression"),
            of_rule("op-slower")
        ),
        (1, 1, 1)
    );
    for name in ["m.md", "step.md"] {
        assert!(
            place.read(name).contains("❌ Failed: 4 gates: 2 failed"),
            "{name}"
        );
    }
    agrees_with_schema(&place, "comparison", &json(&place.read("r.json")));
    agrees_with_schema(&place, "history", &json(&place.read("h.jsonl")));
    assert!(place.read("t.ndjson").contains("FAIL") && place.read("h.html").contains("✗ fail"));
    // The same bytes every time.
    let (before, names) = (place.read("h.html"), ["--exit-zero", "--strict"]);
    assert_eq!(place.code(&[&args[..], &names[..1]].concat()), 0);
    assert_eq!(place.read("h.html"), before);
    // Without a budget there are no gates, but every output is still written.
    let plain: Vec<&str> = args
        .iter()
        .copied()
        .filter(|arg| !["--budget", "strict.toml"].contains(arg))
        .collect();
    assert_eq!(place.code(&plain), 0);
    assert!(
        place.read("j.xml").contains("tests=\"0\"") && !place.read("h.html").contains("✗ fail")
    );
    assert_eq!(
        place.code(&[
            "compare",
            "base.xplane.pb",
            "slower.xplane.pb",
            "--budget",
            "missing.toml"
        ]),
        3
    );
}

/// Name, parents, required attributes, optional ones.
type Element = (
    &'static str,
    &'static [&'static str],
    &'static [&'static str],
    &'static [&'static str],
);

/// Checks the rules of Jenkins' `junit-10.xsd`: allowed parents and attributes of elements,
/// required attributes, and counts that match the cases.
fn junit_is_valid(xml: &str) {
    #[rustfmt::skip]
    const ELEMENTS: [Element; 8] = [
        ("testsuites", &[""], &[], &["name", "time", "tests", "failures", "disabled", "errors"]),
        ("testsuite", &["testsuites"], &["name", "tests", "failures", "errors"], &["group", "time", "skipped", "timestamp",
            "hostname", "id", "package", "file", "log", "url", "version"]),
        ("properties", &["testsuite"], &[], &[]),
        ("property", &["properties"], &["name", "value"], &[]),
        ("testcase", &["testsuite"], &["name", "classname"], &["time", "group"]),
        ("failure", &["testcase"], &[], &["type", "message"]),
        ("skipped", &["testcase"], &[], &["type", "message"]),
        ("system-out", &["testsuite", "testcase"], &[], &[]),
    ];
    assert!(xml.starts_with("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites "));
    let (mut open, mut counts) = (
        Vec::<String>::new(),
        std::collections::BTreeMap::<String, usize>::new(),
    );
    let mut said = std::collections::BTreeMap::new();
    for part in xml.split('<').skip(2) {
        let (tag, text) = part.split_once('>').unwrap();
        assert!(!text.contains(['>', '"']), "text is escaped: {text}");
        let name = tag
            .trim_start_matches('/')
            .split([' ', '/'])
            .next()
            .unwrap();
        if tag.starts_with('/') {
            assert_eq!(open.pop().as_deref(), Some(name));
            continue;
        }
        let parent = open.last().cloned().unwrap_or_default();
        let (_, parents, required, optional) = ELEMENTS
            .iter()
            .find(|element| element.0 == name)
            .expect(name);
        assert!(parents.contains(&parent.as_str()), "{name} in {parent:?}");
        let mut attributes = std::collections::BTreeMap::new();
        for pair in tag.split("\" ").filter_map(|pair| pair.split_once("=\"")) {
            let attribute = pair.0.rsplit(' ').next().unwrap();
            assert!(
                required.contains(&attribute) || optional.contains(&attribute),
                "{name} has no {attribute}"
            );
            let value = pair
                .1
                .trim_end_matches('/')
                .trim_end_matches('"')
                .to_owned();
            assert!(
                attributes.insert(attribute.to_owned(), value).is_none(),
                "{attribute} twice: {tag}"
            );
        }
        assert!(
            required
                .iter()
                .all(|required| attributes.contains_key(*required)),
            "{tag}"
        );
        if name == "testsuite" {
            said = attributes;
        }
        *counts.entry(name.to_owned()).or_default() += 1;
        if !tag.ends_with('/') {
            open.push(name.to_owned());
        }
    }
    assert!(open.is_empty(), "{open:?}");
    let count = |name: &str| counts.get(name).copied().unwrap_or(0).to_string();
    for (attribute, element) in [
        ("tests", "testcase"),
        ("failures", "failure"),
        ("skipped", "skipped"),
    ] {
        assert_eq!(said[attribute], count(element), "{attribute}");
    }
    assert_eq!(
        (said["errors"].as_str(), count("testsuite").as_str()),
        ("0", "1")
    );
}

/// Checks the schema of SARIF 2.1.0 (OASIS), and the additional requirements of GitHub.
fn sarif_is_valid(log: &Value) {
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let driver = &run["tool"]["driver"];
    assert!(driver["name"].is_string());
    let rules = driver["rules"].as_array().unwrap();
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 2 && results.len() <= 5_000);
    for rule in rules {
        assert!(
            rule["id"].is_string()
                && rule["shortDescription"]["text"].is_string()
                && rule["help"]["text"].is_string()
        );
    }
    for result in results {
        assert!(
            result["message"]["text"]
                .as_str()
                .is_some_and(|text| !text.is_empty())
        );
        assert!(["none", "note", "warning", "error"].contains(&result["level"].as_str().unwrap()));
        let index = result["ruleIndex"].as_u64().unwrap() as usize;
        assert_eq!(rules[index]["id"], result["ruleId"]);
        let place = &result["locations"][0]["physicalLocation"];
        let uri = place["artifactLocation"]["uri"].as_str().unwrap();
        assert!(
            !uri.is_empty() && uri.bytes().all(|byte| byte.is_ascii_graphic()),
            "{uri}"
        );
        if let Some(region) = place.get("region") {
            assert!(region["startLine"].as_u64().unwrap() >= 1);
        }
        assert!(
            result["partialFingerprints"]
                .as_object()
                .unwrap()
                .values()
                .all(Value::is_string)
        );
    }
    assert!(results.iter().any(|result| result["level"] == "error"));
    // A hint is two sentences, and its title that of the rule.
    let title = |id: &Value| {
        let own = rules.iter().find(|rule| rule["id"] == *id).unwrap();
        own["shortDescription"]["text"].as_str().unwrap()
    };
    let is_hint = |result: &&Value| result["partialFingerprints"]["hint/v1"].is_string();
    for hint in results.iter().filter(is_hint) {
        let text = hint["message"]["text"].as_str().unwrap();
        assert!(text.contains(". ") && text.ends_with('.'), "{text}");
        assert!(
            !text.starts_with(&format!("{}:", title(&hint["ruleId"]))),
            "{text}"
        );
    }
}

#[test]
fn output_matches_published_schemas() {
    let place = place_with_runs();
    for (schema, args) in [
        ("summary", vec!["summarize", "slow.xplane.pb"]),
        (
            "comparison",
            vec![
                "compare",
                "base.xplane.pb",
                "slow.xplane.pb",
                "--format",
                "json",
            ],
        ),
        (
            "comparison",
            vec![
                "compare",
                "base.xplane.pb",
                "more.xplane.pb",
                "--format",
                "json",
            ],
        ),
        (
            "report",
            vec!["analyze", "base.xplane.pb", "--format", "json"],
        ),
    ] {
        agrees_with_schema(&place, schema, &json(stdout(&place.run(&args))));
    }
    let schema = json(stdout(&place.run(&["schema", "summary"])));
    let wrong = |value: &str| json_schema::errors(&schema, &json(value));
    assert!(
        !wrong("{\"schema\": \"systole.summary/2\"}").is_empty(),
        "the check itself works"
    );
}

/// What is not required may be left out.
#[test]
fn the_least_settings_match_the_published_schema() {
    let place = Place::empty();
    for settings in [
        "{}",
        r#"{"version": 1, "suppress": [{"hint": "K01", "reason": "known"}]}"#,
        r#"{"budget": [{"metric": "step.time_ms", "max": 4.0}], "regression": [{"metric": "step.time_ms"}]}"#,
        r#"{"expect": [{"name": "fused", "op": "fusion"}], "defaults": {"level": "warn"}}"#,
    ] {
        agrees_with_schema(&place, "budget", &json(settings));
    }
}

/// Numbers of simulators and of models have other provenances than those of captures.
#[test]
fn summaries_of_simulators_match_the_published_schemas() {
    let Some(corpus) = corpus() else { return };
    let place = Place::empty();
    let run = corpus.join("simulators/scalesim/v3.0.0_decoder_is");
    let run = run.to_str().unwrap();
    assert_eq!(place.code(&["summarize", run, "-o", "one.json"]), 0);
    agrees_with_schema(&place, "summary", &json(&place.read("one.json")));
    let other = corpus.join("simulators/scalesim/v3.0.0_decoder_os");
    let both = ["summarize", run, other.to_str().unwrap(), "-o", "both.json"];
    assert_eq!(place.code(&both), 0);
    agrees_with_schema(&place, "runs", &json(&place.read("both.json")));
    assert_eq!(place.code(&["analyze", run, "--history", "h.jsonl"]), 0);
    agrees_with_schema(&place, "history", &json(&place.read("h.jsonl")));
}

pub(super) fn agrees_with_schema(place: &Place, name: &str, value: &Value) {
    let schema = json(stdout(&place.run(&["schema", name])));
    assert_eq!(json_schema::errors(&schema, value), [""; 0], "{name}");
}
