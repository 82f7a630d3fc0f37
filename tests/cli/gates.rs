//! Comparing and judging runs, by the built program.

#![expect(clippy::unwrap_used, reason = "helpers of tests may fail loudly too")]

use std::path::Path;

use sample_traces::fleet::FleetSpec;
use sample_traces::write::{trace_json, xspace_bytes};
use serde_json::Value;
use trace_model::Picos;

use crate::json_schema;
use crate::place::{Place, json, stderr, stdout};

/// A base of twelve steps, and runs whose matmul takes longer by 1.5 % and by 30 % of a step.
fn place_with_runs() -> Place {
    let place = Place::empty();
    let ms = |ms: f64| Picos::from_ps((ms * 1e9) as i64);
    let spec = |work: f64| FleetSpec {
        devices: 2,
        steps: 12,
        work: ms(work),
        ..FleetSpec::default()
    };
    for (name, work) in [("base", 7.0), ("slower", 7.15), ("slow", 10.0)] {
        place.write(
            &format!("{name}.xplane.pb"),
            &xspace_bytes(&spec(work).session()),
        );
    }
    place.write(
        "base.trace.json",
        trace_json(&spec(7.0).session()).as_bytes(),
    );
    place.write(
        "more.xplane.pb",
        &xspace_bytes(
            &FleetSpec {
                devices: 4,
                ..spec(7.0)
            }
            .session(),
        ),
    );
    place
}

#[test]
fn run_is_unchanged_against_itself_in_both_formats_and_saved() {
    let place = place_with_runs();
    assert_eq!(
        place.code(&["summarize", "base.xplane.pb", "-o", "json=saved.json"]),
        0
    );
    for other in ["base.xplane.pb", "base.trace.json", "saved.json"] {
        let output = place.run(&["compare", "base.xplane.pb", other]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let text = stdout(&output).replace('\n', " ");
        assert!(
            text.starts_with("The loop of 12 steps is unchanged")
                && text.contains("median step is unchanged"),
            "{other}: {text}"
        );
    }
    // The same bytes every time.
    let twice = || place.run(&["summarize", "base.xplane.pb"]).stdout;
    assert_eq!(twice(), twice());
    assert_eq!(
        stdout(&place.run(&["summarize", "base.xplane.pb"])),
        place.read("saved.json")
    );
}

/// The directory of the real captures, if this machine has it.
#[test]
fn both_formats_of_a_real_session_are_unchanged() {
    let file = |name: &str| {
        format!(
            "{}/../../shared/corpus/tpu/v5e_matmul.{name}",
            env!("CARGO_MANIFEST_DIR")
        )
    };
    let (json, protobuf) = (file("trace.json.gz"), file("xplane.pb"));
    for base in [&json, &protobuf]
        .into_iter()
        .filter(|base| Path::new(base).is_file())
    {
        let output = place_with_runs().run(&["compare", base, &protobuf]);
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        assert!(
            stdout(&output)
                .replace('\n', " ")
                .contains("the median step is unchanged"),
            "{}",
            stdout(&output)
        );
        assert!(
            !["slower", "faster"]
                .iter()
                .any(|word| stdout(&output).contains(word)),
            "{}",
            stdout(&output)
        );
    }
}

#[test]
fn slower_run_is_found_with_its_op() {
    let place = place_with_runs();
    let output = place.run(&[
        "compare",
        "base.xplane.pb",
        "slow.xplane.pb",
        "--format",
        "json",
    ]);
    let compared = json(stdout(&output));
    let step = compared["steps"]
        .as_array()
        .unwrap()
        .iter()
        .find(|series| series["id"] == "step.time_ps")
        .unwrap();
    assert_eq!(
        (step["finding"].as_str(), step["change"].as_f64()),
        (Some("changed"), Some(3e9))
    );
    assert_eq!(compared["ops"][0]["change_ps"], 3e9);
    for format in ["text", "ndjson", "md"] {
        assert_eq!(
            place.code(&[
                "compare",
                "base.xplane.pb",
                "slow.xplane.pb",
                "--format",
                format
            ]),
            0,
            "{format}"
        );
    }
    // More runs of a side are pooled.
    let args = [
        "compare",
        "--base",
        "base.xplane.pb",
        "--base",
        "slower.xplane.pb",
        "--cand",
        "slow.xplane.pb",
    ];
    assert!(
        stdout(&place.run(&args))
            .replace('\n', " ")
            .contains("the median step is slower by")
    );
}

#[test]
fn incomparable_runs_say_why() {
    let place = place_with_runs();
    let output = place.run(&["compare", "base.xplane.pb", "more.xplane.pb"]);
    assert_eq!(output.status.code(), Some(11), "also without --strict");
    assert!(
        stdout(&output).starts_with("Not the same work: the runs differ in devices"),
        "{}",
        stdout(&output)
    );
    assert!(!stdout(&output).contains('%'), "{}", stdout(&output));
    assert_eq!(
        place.code(&["compare", "base.xplane.pb", "more.xplane.pb", "--strict"]),
        11
    );
    for told in ["--force", "--exit-zero"] {
        assert_eq!(
            place.code(&["compare", "base.xplane.pb", "more.xplane.pb", told]),
            0,
            "{told}"
        );
    }
    place.write("broken.json", b"{\"schema\": \"systole.summary/1\"");
    assert_eq!(place.code(&["compare", "base.xplane.pb", "broken.json"]), 4);
    assert_eq!(place.code(&["compare", "base.xplane.pb"]), 2);
    assert_eq!(place.code(&["compare", "base.xplane.pb", "missing.pb"]), 3);
}

#[test]
fn gates_decide_the_exit_code() {
    let place = place_with_runs();
    let with = |run: &str, more: &[&str]| {
        place.code(&[&["analyze", run, "--baseline", "base.xplane.pb"], more].concat())
    };
    assert_eq!(with("base.xplane.pb", &[]), 0);
    // 1.5 % is a real change, and below the allowed 5 %.
    assert_eq!(with("slower.xplane.pb", &[]), 0);
    assert_eq!(with("slow.xplane.pb", &[]), 10);
    assert_eq!(with("slow.xplane.pb", &["--exit-zero"]), 0);
    assert_eq!(with("slow.xplane.pb", &["--exit-code-on-fail", "1"]), 1);
    assert_eq!(with("more.xplane.pb", &[]), 0);
    assert_eq!(with("more.xplane.pb", &["--strict"]), 11);
    place.write(
        "strict.toml",
        b"[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 1\n",
    );
    assert_eq!(with("slower.xplane.pb", &["--budget", "strict.toml"]), 10);
    place.write(
        "warn.toml",
        b"[[budget]]\nmetric = \"step.time_ms\"\nmax = 1\nlevel = \"warn\"\n",
    );
    let output = place.run(&["analyze", "base.xplane.pb", "--budget", "warn.toml"]);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        stderr(&output).starts_with("warning: step.time_ms is "),
        "{}",
        stderr(&output)
    );
    place.write("wrong.toml", b"[[budget]]\nmetric = \"step.time_ms\"\n");
    assert_eq!(
        place.code(&["analyze", "base.xplane.pb", "--budget", "wrong.toml"]),
        2
    );
}

#[test]
fn config_written_from_a_run_passes_that_run() {
    let place = place_with_runs();
    assert_eq!(
        place.code(&["init", "base.xplane.pb", "-o", "systole.toml"]),
        0
    );
    assert_eq!(
        place.code(&["init", "base.xplane.pb", "-o", "systole.toml"]),
        2,
        "it is not overwritten"
    );
    let judged = [
        "--budget",
        "systole.toml",
        "--baseline",
        "base.xplane.pb",
        "--strict",
    ];
    let output = place.run(&[&["analyze", "base.xplane.pb"], &judged[..]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert_eq!(
        place.code(&[&["analyze", "slow.xplane.pb"], &judged[..]].concat()),
        10
    );
}

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

#[test]
fn steps_can_be_chosen_for_both_sides() {
    let place = place_with_runs();
    let output = place.run(&[
        "compare",
        "base.xplane.pb",
        "slow.xplane.pb",
        "--steps",
        "2..9",
        "--format",
        "json",
    ]);
    let compared = json(stdout(&output));
    assert_eq!(
        (
            compared["base"]["steps"].as_u64(),
            compared["cand"]["steps"].as_u64()
        ),
        (Some(8), Some(8))
    );
    assert_eq!(
        place.code(&[
            "compare",
            "base.xplane.pb",
            "slow.xplane.pb",
            "--steps",
            "90..99"
        ]),
        2
    );
    assert_eq!(
        place.code(&["summarize", "base.xplane.pb", "-o", "saved.json"]),
        0
    );
    let output = place.run(&["compare", "saved.json", "slow.xplane.pb", "--steps", "2..9"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("saved summary"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn every_common_step_class_is_compared() {
    let place = place_with_runs();
    let ms = |ms: i64| Picos::from_ps(ms * 1_000_000_000);
    for (name, evaluation) in [("eval", 3), ("eval_slow", 5)] {
        let spec = FleetSpec {
            devices: 2,
            steps: 40,
            evaluation: Some((4, ms(evaluation))),
            ..FleetSpec::default()
        };
        place.write(&format!("{name}.xplane.pb"), &xspace_bytes(&spec.session()));
    }
    let output = place.run(&[
        "compare",
        "eval.xplane.pb",
        "eval_slow.xplane.pb",
        "--format",
        "json",
    ]);
    let compared = json(stdout(&output));
    agrees_with_schema(&place, "comparison", &compared);
    let step = |comparison: &Value| {
        let steps = comparison["steps"].as_array().unwrap();
        let step = steps
            .iter()
            .find(|series| series["id"] == "step.time_ps")
            .unwrap();
        (
            step["finding"].as_str().unwrap().to_owned(),
            step["change"].as_f64().unwrap(),
        )
    };
    // Only evaluation changed; the headline is about the class with the most time.
    assert_eq!(step(&compared), ("noise".to_owned(), 0.0), "{compared}");
    assert_eq!(compared["classes"].as_array().unwrap().len(), 1);
    assert_eq!(step(&compared["classes"][0]), ("changed".to_owned(), 2e9));
    assert!(
        stdout(&place.run(&["compare", "eval.xplane.pb", "eval_slow.xplane.pb"]))
            .contains("steps of ")
    );
    // A saved summary has all of them, too.
    assert_eq!(
        place.code(&["summarize", "eval.xplane.pb", "-o", "saved.json"]),
        0
    );
    agrees_with_schema(&place, "summary", &json(&place.read("saved.json")));
    let output = place.run(&[
        "compare",
        "saved.json",
        "eval_slow.xplane.pb",
        "--format",
        "json",
    ]);
    assert_eq!(
        step(&json(stdout(&output))["classes"][0]),
        ("changed".to_owned(), 2e9)
    );
    // Only one side evaluates.
    let spec = FleetSpec {
        devices: 2,
        steps: 40,
        ..FleetSpec::default()
    };
    place.write("train.xplane.pb", &xspace_bytes(&spec.session()));
    let compared = json(stdout(&place.run(&[
        "compare",
        "eval.xplane.pb",
        "train.xplane.pb",
        "--format",
        "json",
    ])));
    assert_eq!(step(&compared), ("noise".to_owned(), 0.0), "{compared}");
    assert!(
        compared["notes"]
            .to_string()
            .contains("only base has steady steps of"),
        "{compared}"
    );
    // A gate with `module` evaluates the steps of that program.
    let program = json(&place.read("saved.json"))["classes"][0]["programs"][0]["name"]
        .as_str()
        .unwrap()
        .to_owned();
    let gate = format!(
        "[[regression]]\nmetric = \"step.time_ms\"\nmax_increase_pct = 5\nmodule = {program:?}\n"
    );
    place.write("eval.toml", gate.as_bytes());
    let judged =
        |run: &str| place.code(&["compare", "eval.xplane.pb", run, "--budget", "eval.toml"]);
    assert_eq!(
        (judged("eval_slow.xplane.pb"), judged("eval.xplane.pb")),
        (10, 0)
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

fn agrees_with_schema(place: &Place, name: &str, value: &Value) {
    let schema = json(stdout(&place.run(&["schema", name])));
    assert_eq!(json_schema::errors(&schema, value), [""; 0], "{name}");
}
